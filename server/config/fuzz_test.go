package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzLoad holds that a file either is refused, by its name and in one sentence, or sets what stands
// when it is read again, and nothing that points elsewhere or cannot be compiled.
func FuzzLoad(f *testing.F) {
	for _, s := range []string{"", "model: {name: m, context: 7}\nautonomy: high\n", "scenarios:\n  - {name: a, run: x, inputs: [\"db/*.csv\"], outputs: [o]}\n",
		"tripwires:\n  - name: t\n    command: {run: go test, after: [\"**/*.go\"]}\n", "watches:\n  - {name: n, json: a.json, at: /x}\n", "model: &a {name: *a}\n", "a: 1\n---\nb: 2\n",
		"model: {base_url: http://x}\n", "tripwires: [{name: b, budget: {tokens: 1e3}}]", "\xff", "model:\n\tname: x", "? [a]\n: b", "autonomy: !!binary aGlnaA==", "<<: {autonomy: high}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 4096 {
			return
		}
		s := sources(t, "", "", nil)
		path := filepath.Join(s.Workspace, ".tandem", "config.yaml")
		write(t, path, text)
		c, err := Load(s)
		if err != nil {
			if !strings.Contains(err.Error(), filepath.Join(".tandem", "config.yaml")) {
				t.Errorf("%q is refused without its name: %v", text, err)
			}
			return
		}
		if c.Model.BaseURL != "" {
			t.Errorf("%q says where the key is sent", text)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != text {
			t.Fatalf("it was changed: %q, %v", data, err)
		}
		first, err := json.Marshal(c)
		again, aerr := Load(s)
		second, serr := json.Marshal(again)
		if err != nil || aerr != nil || serr != nil || string(first) != string(second) {
			t.Errorf("%q gives %s, then %s (%v, %v, %v)", text, first, second, err, aerr, serr)
		}
	})
}
