package tripwire

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"tandem/protocol"
)

// story is one section of the page: conditions, files, and what is said.
type story struct {
	title         string
	specs         []Spec
	before, files map[string]string
	stop          string
}

var block = regexp.MustCompile("(?s)\n(### ([a-z]+)|```([a-z]+) ?(before )?([^\n]*)\n(.*?)```)")

// stories reads the page.
func stories(t *testing.T) []story {
	t.Helper()
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	kinds, _, _ := strings.Cut(string(page), "\n## Where values come from")
	var out []story
	for _, m := range block.FindAllStringSubmatch(kinds, -1) {
		if m[2] != "" {
			out = append(out, story{title: m[2], before: map[string]string{}, files: map[string]string{}})
			continue
		}
		s := &out[len(out)-1]
		switch language, before, path, text := m[3], m[4], m[5], m[6]; {
		case language == "yaml":
			s.specs = specs(t, text)
		case language == "stop":
			s.stop = text
		case before != "":
			s.before[path] = text
		default:
			s.files[path] = text
		}
	}
	return out
}

func specs(t *testing.T, text string) []Spec {
	t.Helper()
	var c struct {
		Tripwires []Spec `json:"tripwires"`
	}
	b, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c.Tripwires
}

// TestPage runs the examples of the page «Stop conditions», of which there is one for each kind.
func TestPage(t *testing.T) {
	all := stories(t)
	var titles []string
	for _, s := range all {
		titles = append(titles, s.title)
		t.Run(s.title, func(t *testing.T) { s.run(t) })
	}
	if !slices.Equal(titles, Kinds) {
		t.Errorf("the page has examples for %v; the kinds are %v", titles, Kinds)
	}
}

func (s story) run(t *testing.T) {
	conditions, err := Compile(s.specs)
	if err != nil || len(conditions) == 0 {
		t.Fatalf("%d conditions: %v", len(conditions), err)
	}
	if key, _, err := s.specs[0].one(); err != nil || key != s.title {
		t.Errorf("the example is of the kind %q: %v", key, err)
	}
	env := world(t, s.before)
	env.Baseline = TakeBaseline(context.Background(), conditions, env)
	op := Operation{Effect: protocol.EffectWrite}
	for name, text := range s.files {
		put(t, env, name, text)
		op.Wrote = append(op.Wrote, name)
	}
	findings := append(Before(conditions, op), After(context.Background(), conditions, env, op)...)
	if s.title == "paths" { // once before the write, once after it
		findings = findings[:1]
	}
	if got := said(env, findings); got != s.stop {
		t.Errorf("it says:\n%s\nthe page says:\n%s", got, s.stop)
	}
}

// said is what findings say, as the page shows it.
func said(env Env, findings []Finding) string {
	var b strings.Builder
	for _, f := range Tripped(findings) {
		for _, fact := range f.Facts {
			fmt.Fprintf(&b, "%s\n  expected %s, observed %s", fact.Text, fact.Source.Expected, fact.Source.Observed)
			if u, err := url.Parse(fact.Source.URI); err == nil && u.Scheme == "file" {
				fmt.Fprintf(&b, ", in %s", strings.TrimPrefix(u.Path, filepath.ToSlash(env.Dir)+"/"))
			}
			if r := fact.Source.Range; r != nil {
				fmt.Fprintf(&b, " line %d", r.Start.Line+1)
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}
