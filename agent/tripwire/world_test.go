package tripwire

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"tandem/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a workspace in a folder of its own, with files by their paths. The text of a file that
// ends in .db is SQL that makes it.
func world(t testing.TB, files map[string]string) Env {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	env := Env{Dir: dir, Files: root.FS(), Run: shell(dir)}
	for name, text := range files {
		put(t, env, name, text)
	}
	return env
}

func put(t testing.TB, env Env, name, text string) {
	t.Helper()
	path := filepath.Join(env.Dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if filepath.Ext(name) == ".db" {
		execute(t, path, text)
		return
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func execute(t testing.TB, path, statements string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statements); err != nil {
		t.Fatal(err)
	}
}

func shell(dir string) func(context.Context, string) (Ran, error) {
	return func(ctx context.Context, line string) (Ran, error) {
		cmd := exec.CommandContext(ctx, "sh", "-c", line)
		cmd.Dir = dir
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			return Ran{}, err
		}
		return Ran{Code: cmd.ProcessState.ExitCode(), Output: out.String()}, nil
	}
}

// compiled is the condition that a JSON text describes.
func compiled(t testing.TB, text string) Condition {
	t.Helper()
	var s Spec
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if s.Name == "" {
		s.Name = "it"
	}
	c, err := s.Compile()
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c
}

func wrote(paths ...string) Operation {
	return Operation{Effect: protocol.EffectWrite, Wrote: paths}
}

func ran(paths ...string) Operation {
	return Operation{Effect: protocol.EffectExecute, Wrote: paths}
}

func link(t testing.TB, env Env, to, name string) {
	t.Helper()
	if err := os.Symlink(to, filepath.Join(env.Dir, name)); err != nil {
		t.Fatal(err)
	}
}

func remove(t testing.TB, env Env, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(env.Dir, name)); err != nil {
		t.Fatal(err)
	}
}
