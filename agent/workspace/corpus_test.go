package workspace

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tandem/agent/patch"
)

// corpusCase is one case of the corpus of edits, in its own notation.
type corpusCase struct {
	ID, Name, Path, Edit, Setup string
	Kind                        string `json:"edit_kind"`
	Files                       map[string]string
	ExpectedFiles               map[string]string `json:"expected_files"`
	Original                    *string
	OriginalB64                 string `json:"original_b64"`
	Expected                    *string
	ExpectedB64                 string  `json:"expected_b64"`
	ExpectedAlt                 *string `json:"expected_alt"`
	ExpectMode                  string  `json:"expect_mode"`
	Refuse                      string
	Accept                      []string
}

func TestCorpus(t *testing.T) {
	dir := os.Getenv("TANDEM_CORPUS")
	if dir == "" {
		t.Skip("TANDEM_CORPUS does not name the folder of the corpus")
	}
	names, err := filepath.Glob(filepath.Join(dir, "edits", "[0-9]*.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no cases below %s: %v", dir, err)
	}
	ran := map[string]int{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var c corpusCase
		if err := json.Unmarshal(data, &c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		ran[c.Kind]++
		t.Run(c.ID, func(t *testing.T) { c.run(t) })
	}
	for _, kind := range []string{"old_new", "search_replace", "unified_diff", "apply_patch"} {
		if ran[kind] == 0 {
			t.Errorf("no case is a %s", kind)
		}
	}
}

func (c *corpusCase) run(t *testing.T) {
	w, home := open(t, Options{})
	c.prepare(t, w)
	before := tree(t, home)
	err := c.apply(w)
	after := tree(t, home)
	t.Logf("%s: %v", c.Name, err)
	if err != nil {
		if strings.Join(before, "\n") != strings.Join(after, "\n") {
			t.Fatalf("refused, and yet the files changed\nbefore %q\nafter  %q", before, after)
		}
		if !c.allows("refuse") && !(c.allows("no-op")) {
			t.Fatalf("refused: %v", err)
		}
		return
	}
	if c.Path == "" || c.ExpectedFiles != nil {
		c.compare(t, w)
		return
	}
	at := filepath.Join(w.Dir(), c.Path)
	got, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(c.results(), string(got)) {
		t.Fatalf("got  %q\nwant %q (refuse: %q)", got, c.results(), c.Refuse)
	}
	if c.ExpectMode == "" {
		return
	}
	info, err := os.Stat(at)
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := strconv.ParseUint(c.ExpectMode, 8, 32); info.Mode().Perm() != os.FileMode(want) {
		t.Fatalf("mode %o, want %s", info.Mode().Perm(), c.ExpectMode)
	}
}

// compare holds all the files against those that the case wants.
func (c *corpusCase) compare(t *testing.T, w *Workspace) {
	got := map[string]string{}
	listed, err := w.List(t0, "", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range listed.Entries {
		got[name] = read(t, w, name)
	}
	if !c.allows("expected") || !maps.Equal(got, c.ExpectedFiles) {
		t.Fatalf("got  %q\nwant %q (refuse: %q)", got, c.ExpectedFiles, c.Refuse)
	}
}

// prepare lays out the case. A file that the setup replaces by a link is not written.
func (c *corpusCase) prepare(t *testing.T, w *Workspace) {
	dir, at := w.Dir(), filepath.Join(w.Dir(), c.Path)
	lay(t, w, c.Files)
	data := []byte(nil)
	if c.OriginalB64 != "" {
		data, _ = base64.StdEncoding.DecodeString(c.OriginalB64)
	} else if c.Original != nil {
		data = []byte(*c.Original)
	}
	if data != nil && !strings.Contains(c.Setup, "ln -s") {
		write(t, at, string(data))
	}
	if c.Setup == "" {
		return
	}
	cmd := exec.Command("sh", "-c", c.Setup)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("setup: %v: %s", err, out)
	}
}

// allows tells whether an outcome is one of those that the case takes.
func (c *corpusCase) allows(outcome string) bool {
	if c.Accept != nil {
		return slices.Contains(c.Accept, outcome)
	}
	return outcome == "refuse" && c.Refuse != "" || outcome == "expected" && c.Refuse == ""
}

// results are the contents that the case takes. Where applying is allowed beside a refusal
// that is preferred, expected_alt says what it gives.
func (c *corpusCase) results() []string {
	var all []string
	if c.allows("expected") && c.Expected != nil {
		all = append(all, *c.Expected)
	}
	if c.allows("expected") && c.ExpectedB64 != "" {
		data, _ := base64.StdEncoding.DecodeString(c.ExpectedB64)
		all = append(all, string(data))
	}
	if (c.allows("expected_alt") || c.allows("expected") && c.Refuse != "") && c.ExpectedAlt != nil {
		all = append(all, *c.ExpectedAlt)
	}
	return all
}

func (c *corpusCase) apply(w *Workspace) error {
	switch c.Kind {
	case "whole_file":
		_, err := w.Write(t0, c.Path, c.Edit)
		return err
	case "old_new":
		var e struct {
			Old string `json:"old_string"`
			New string `json:"new_string"`
			All bool   `json:"replace_all"`
		}
		if err := json.Unmarshal([]byte(c.Edit), &e); err != nil {
			return err
		}
		_, err := w.Edit(t0, c.Path, []Edit{{Old: e.Old, New: e.New, ReplaceAll: e.All}})
		return err
	}
	files, err := patch.Parse(c.Edit, c.Path)
	if err == nil {
		_, err = w.Patch(t0, files)
	}
	return err
}
