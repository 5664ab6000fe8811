package config

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/goccy/go-yaml/ast"

	"tandem/agent/secretfile"
	"tandem/agent/tripwire"
	"tandem/protocol"
)

// Watch is a value that is shown beside the work. Its value source stands beside its name.
type Watch struct {
	Name string `json:"name"`
	protocol.Source
}

// Scenario is what reruns after a decision. Inputs and outputs are globs.
type Scenario struct {
	Name    string   `json:"name"`
	Run     string   `json:"run"`
	Inputs  []string `json:"inputs,omitempty"`
	Outputs []string `json:"outputs,omitempty"`
}

// add adds the conditions, watches and scenarios of a further file, which stands in node, to those
// of the files before it, and checks them. A workspace's file takes nothing of the user's away.
func (c *Config) add(more Config, node ast.Node) error {
	err := errors.Join(
		unique("scenarios", names(c.Scenarios, Scenario.name), names(more.Scenarios, Scenario.name)),
		unique("watches", names(c.Watches, Watch.name), names(more.Watches, Watch.name)),
		unique("tripwires", names(c.Tripwires, nameOf), names(more.Tripwires, nameOf)))
	c.Scenarios = append(slices.Clip(c.Scenarios), more.Scenarios...)
	c.Watches = append(slices.Clip(c.Watches), more.Watches...)
	c.Tripwires = append(slices.Clip(c.Tripwires), more.Tripwires...)
	if err == nil {
		err = errors.Join(checkGlobs("secrets.files", more.Secrets.Files), checkGlobs("secrets.allow", more.Secrets.Allow), checkTripwires(more.Tripwires, c.Scenarios), checkWatches(more.Watches), checkScenarios(more.Scenarios))
	}
	return atLine(node, err)
}

// checkGlobs refuses what is no glob: a rule that fits nothing would guard nothing.
func checkGlobs(key string, globs []string) error {
	for i, glob := range globs {
		if _, err := secretfile.New([]string{glob}, nil); err != nil {
			return &tripwire.SpecError{Key: fmt.Sprintf("%s[%d]", key, i), Text: err.Error()}
		}
	}
	return nil
}

// atLine names the line of the first thing that is wrong.
func atLine(node ast.Node, err error) error {
	var e *tripwire.SpecError
	if !errors.As(err, &e) {
		return err
	}
	return wrong(e.Key, nodeAt(node, e.Key), "%s", e.Text)
}

func (s Scenario) name() string     { return s.Name }
func (w Watch) name() string        { return w.Name }
func nameOf(s tripwire.Spec) string { return s.Name }

func names[T any](all []T, name func(T) string) []string {
	var out []string
	for _, v := range all {
		out = append(out, name(v))
	}
	return out
}

// unique refuses a name that stands twice, in one file or in two.
func unique(key string, before, now []string) error {
	for i, name := range now {
		where := ""
		if slices.Contains(before, name) {
			where = " in the user's configuration"
		}
		if where != "" || slices.Contains(now[:i], name) {
			return &tripwire.SpecError{Key: fmt.Sprintf("%s[%d].name", key, i), Text: fmt.Sprintf("there is another %q%s already; give each a name of its own", name, where)}
		}
	}
	return nil
}

func checkTripwires(specs []tripwire.Spec, scenarios []Scenario) error {
	for i, s := range specs {
		key := fmt.Sprintf("tripwires[%d]", i)
		if _, err := s.Compile(); err != nil {
			return under(key, err)
		}
		known := names(scenarios, Scenario.name)
		if s.Scenario != "" && !slices.Contains(known, s.Scenario) {
			return &tripwire.SpecError{Key: key + ".scenario", Text: fmt.Sprintf("there is no scenario %q; there are: %s", s.Scenario, orNone(known))}
		}
	}
	return nil
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// under puts the key of a place in front of that of an error.
func under(key string, err error) error {
	var e *tripwire.SpecError
	if !errors.As(err, &e) {
		return err
	}
	return &tripwire.SpecError{Key: strings.TrimSuffix(key+"."+e.Key, "."), Text: e.Text}
}

func checkWatches(watches []Watch) error {
	for i, w := range watches {
		if _, err := tripwire.CompileSource(w.Source); err != nil {
			return under(fmt.Sprintf("watches[%d]", i), err)
		}
	}
	return nil
}

func checkScenarios(scenarios []Scenario) error {
	for i, s := range scenarios {
		for _, list := range []struct {
			key   string
			globs []string
		}{{"inputs", s.Inputs}, {"outputs", s.Outputs}} {
			for j, g := range list.globs {
				if path.IsAbs(g) || !doublestar.ValidatePattern(g) || slices.Contains(strings.Split(g, "/"), "..") {
					return &tripwire.SpecError{Key: fmt.Sprintf("scenarios[%d].%s[%d]", i, list.key, j),
						Text: fmt.Sprintf(`%q is no glob in the workspace; give one relative to its folder, such as "data/**"`, g)}
				}
			}
		}
	}
	return nil
}
