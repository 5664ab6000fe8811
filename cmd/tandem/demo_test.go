package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// leftovers are the demo's folders that are there now.
func leftovers(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(os.TempDir(), "tandem-demo-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestTheDemoPlaysByItself(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	keep := filepath.Join(t.TempDir(), "kept")
	c := &console{}
	demo := &demoCommand{Story: "pair", Keep: keep}
	if err := demo.play(t.Context(), std{in: strings.NewReader(""), out: c, err: &c.err, getenv: os.Getenv}, 0); err != nil {
		t.Fatalf("%v\n%s", err, c.text())
	}
	out := c.text()
	contains(t, out, "› Don't go through the provider", "steer applied in revision 2", "- Extend Provider with State and OnChange",
		"! A hook bound to Provider", "✓ DONE", "+++ auth/hook.go", "+type Source interface {", "BEFORE YOUR STEER  revision 1", "AFTER IT  revision 2",
		"✓ 2  Put the logic into a hook behind an interface  · done", "The tests are green: go test ./...", "example.com/desk/auth",
		"tandem run \"what shall be done\"", "The workspace is kept in ")
	if left := leftovers(t); len(left) > 0 {
		t.Errorf("the demo left %v", left)
	}
	if _, err := os.Stat(filepath.Join(keep, "auth", "hook.go")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(keep, "auth", "state_test.go")); err == nil {
		t.Error("what the first plan would write is there")
	}
	if err := demo.play(t.Context(), std{in: strings.NewReader(""), out: c, err: &c.err, getenv: os.Getenv}, 0); err == nil || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("a folder that is in use is taken: %v", err)
	}
}

func TestTheDemoEndsWhenItsCallerDoes(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, at := range []string{"PLAN  revision 1", "steer received"} {
		c := &console{}
		ctx, stop := contextOf(t)
		c.seen = map[string]func(){at: stop}
		err := (&demoCommand{Story: "pair"}).play(ctx, std{in: strings.NewReader(""), out: c, err: &c.err, getenv: os.Getenv}, 0)
		if e, ok := err.(*exitError); ok && e.code != exitWaiting || err == nil {
			t.Errorf("ended at %q with %v", at, err)
		}
		if left := leftovers(t); len(left) > 0 {
			t.Errorf("ended at %q, the demo left %v", at, left)
		}
	}
}

func contextOf(t *testing.T) (context.Context, func()) {
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	return ctx, stop
}
