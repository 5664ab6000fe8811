package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tandem/agent/rehearsal"
)

// An editor that has no plugin, Emacs with eglot, starts a session by a comment in the code,
// steers it by another one that is not saved, gets the edit in its buffer, and is told what led to
// it. The program is the one that a user has; the model is a rehearsal.
func TestStockEditor(t *testing.T) {
	emacs, err := exec.LookPath("emacs")
	if err != nil {
		t.Skip("emacs is not installed: install it with eglot (Debian: emacs-nox elpa-eglot)")
	}
	if err := exec.Command(emacs, "--batch", "--load", "eglot").Run(); err != nil {
		t.Skip("emacs has no eglot: install it (Debian: elpa-eglot)")
	}
	temp := t.TempDir()
	exe, dir := filepath.Join(temp, "bin", "tandem"), filepath.Join(temp, "ws")
	if out, err := exec.Command("go", "build", "-o", exe, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	archive, err := os.ReadFile("testdata/stock.txtar")
	if err != nil {
		t.Fatal(err)
	}
	story, err := rehearsal.Parse("stock.txtar", archive)
	if err != nil {
		t.Fatal(err)
	}
	if err := story.Unpack(dir); err != nil {
		t.Fatal(err)
	}
	model, err := rehearsal.Serve(t.Context(), story, rehearsal.Options{Steers: steersIn})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()

	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, emacs, "--batch", "--load", "testdata/stock.el", exe, dir)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + temp, "LANG=C.UTF-8", "XDG_STATE_HOME=" + temp, "XDG_CONFIG_HOME=" + temp,
		"XDG_RUNTIME_DIR=" + temp, "OPENAI_BASE_URL=" + model.URL, "TANDEM_MODEL=rehearsal"}
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Tandem: Start: greet the world", "Tandem: Steer: greet the moon instead | ", "| Tandem: Pause",
		"came: the edit, in the buffer", "hover: Tandem · step 1 «Greet the moon»", "from your steer «greet the moon instead»"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the editor did not show %q", want)
		}
	}
}
