//go:build unix

package workspace

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestEditKeepsTheOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only the superuser may give a file away")
	}
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"f": "a\n"})
	at := filepath.Join(w.Dir(), "f")
	if err := os.Chown(at, 12345, 23456); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Edit(t0, "f", []Edit{{Old: "a", New: "b"}}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(at)
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Uid != 12345 || st.Gid != 23456 {
		t.Fatalf("owned by %d:%d", st.Uid, st.Gid)
	}
}
