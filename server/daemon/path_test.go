//go:build unix

package daemon

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPath(t *testing.T) {
	work := home(t)
	runtime := filepath.Dir(work)
	link := filepath.Join(runtime, "link")
	if err := os.Symlink(work, link); err != nil {
		t.Fatal(err)
	}
	path := mustPath(t, work)
	if filepath.Dir(path) != filepath.Join(runtime, "tandem") || !strings.HasSuffix(path, ".sock") {
		t.Errorf("the socket is %s", path)
	}
	if other := mustPath(t, link+"/../link/."); other != path {
		t.Errorf("one folder by two names has two sockets: %s, %s", path, other)
	}
	t.Chdir(runtime)
	if other := mustPath(t, "work"); other != path {
		t.Errorf("one folder by a relative name has another socket: %s", other)
	}
	if other, _ := Path(work, "b2"); other == path || other == "" {
		t.Errorf("another build has the socket %q", other)
	}
	if other := mustPath(t, runtime); other == path {
		t.Error("two folders have one socket")
	}
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Path made something: %v", err)
	}
	if err := os.WriteFile(filepath.Join(runtime, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for bad, want := range map[string]string{"nowhere": "no such file", "file": "a workspace is a folder"} {
		if _, err := Path(bad, "b1"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("workspace %s: %v", bad, err)
		}
	}
}

func TestRuntimeFolder(t *testing.T) {
	work := home(t)
	long := filepath.Join(filepath.Dir(work), strings.Repeat("x", 90))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", filepath.Dir(work))
	for _, runtime := range []string{"", "relative", long} {
		t.Setenv("XDG_RUNTIME_DIR", runtime)
		path := mustPath(t, work)
		if !strings.HasPrefix(path, filepath.Join(filepath.Dir(work), "tandem-")) || len(path) > maxSocketPath {
			t.Errorf("XDG_RUNTIME_DIR=%s: %s", runtime, path)
		}
	}
	t.Setenv("TMPDIR", long)
	if _, err := Path(work, "b1"); err == nil || !strings.Contains(err.Error(), "set XDG_RUNTIME_DIR") {
		t.Errorf("no place short enough: %v", err)
	}
	t.Setenv("XDG_RUNTIME_DIR", filepath.Join(work, "none"))
	if _, err := Path(work, "b1"); err == nil || !strings.Contains(err.Error(), "unset") {
		t.Errorf("a runtime folder that is not there: %v", err)
	}
	if os.Getuid() == 0 {
		stranger := filepath.Join(work, "theirs")
		if err := errors.Join(os.Mkdir(stranger, 0o700), os.Chown(stranger, 12345, -1)); err != nil {
			t.Fatal(err)
		}
		t.Setenv("XDG_RUNTIME_DIR", stranger)
		if _, err := Path(work, "b1"); err == nil || !strings.Contains(err.Error(), "not a folder of yours") {
			t.Errorf("another's runtime folder: %v", err)
		}
	}
}

func TestListen(t *testing.T) {
	work := home(t)
	path := mustPath(t, work)
	if _, err := Dial(t.Context(), path); !absent(err) {
		t.Errorf("dial where nothing is: %v", err)
	}
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{path: 0o600, path + ".lock": 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Lstat(name); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if _, err := Listen(path); !errors.Is(err, ErrRunning) {
		t.Errorf("the second to listen: %v", err)
	}
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			conn.Close() // the end of a client is not the end of the daemon
		}
	}()
	for range 3 {
		conn, err := Dial(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("it talks")
		}
		conn.Close()
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left behind: %v", err)
	}
	next, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	next.Close()
}

func TestUnfitFolders(t *testing.T) {
	work := home(t)
	path := mustPath(t, work)
	dir := filepath.Dir(path)
	refused := func(what, want string) {
		t.Helper()
		_, lerr := Listen(path)
		_, derr := Dial(t.Context(), path)
		for _, err := range []error{lerr, derr} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	if err := os.Symlink(work, dir); err != nil {
		t.Fatal(err)
	}
	refused("a link", "not a folder of yours")
	if err := errors.Join(os.Remove(dir), os.Mkdir(dir, 0o700), os.Chmod(dir, 0o750)); err != nil {
		t.Fatal(err)
	}
	refused("an open folder", "run: chmod 700 "+dir)
	if os.Getuid() == 0 {
		if err := errors.Join(os.Chmod(dir, 0o700), os.Chown(dir, 12345, -1)); err != nil {
			t.Fatal(err)
		}
		refused("another's folder", "not a folder of yours")
		if err := os.Chown(dir, 0, -1); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(dir, 0o700), os.WriteFile(path, []byte("keep"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(path); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Errorf("a file in the place of the socket: %v", err)
	}
	if kept, _ := os.ReadFile(path); string(kept) != "keep" {
		t.Error("a file that is not a socket was removed")
	}
}

// Another user's process is refused even with the folder open. Only root can play two users.
func TestStranger(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to be two users at once")
	}
	work := home(t)
	path := mustPath(t, work)
	l, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		conn, _ := l.Accept()
		accepted <- conn
	}()
	if err := errors.Join(os.Chmod(filepath.Dir(filepath.Dir(path)), 0o777), os.Chmod(filepath.Dir(path), 0o777), os.Chmod(path, 0o777)); err != nil {
		t.Fatal(err)
	}
	conn := asStranger(t, func() (net.Conn, error) { return net.Dial("unix", path) })
	defer conn.Close()
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("a stranger was spoken to")
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if conn := <-accepted; conn != nil {
		t.Error("a stranger's connection was accepted")
	}
}
