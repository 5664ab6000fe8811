package workspace

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Report B119: two who write one file at once, each as a process of its own would, publish whole
// files only: what stands there in the end is one writer's, and nothing is left beside it.
func TestReportWritersPublishWholeFiles(t *testing.T) {
	first, _ := open(t, Options{})
	second, err := Open(first.Dir(), Options{Store: filepath.Join(t.TempDir(), "store")})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	text := func(letter string) string { return strings.Repeat(letter+"\n", 500) }
	whole := map[string]bool{text("a"): true, text("b"): true}
	lay(t, first, map[string]string{"f": text("a")})
	var all sync.WaitGroup
	for letter, w := range map[string]*Workspace{"a": first, "b": second} {
		all.Go(func() {
			for range 25 {
				_, err := w.Read("f", 0, 0)
				if err == nil {
					_, err = w.Write(t0, "f", text(letter))
				}
				if err != nil && !errors.Is(err, ErrChanged) { // the other was faster, and this one is told so
					t.Error(err)
				}
				if f, err := w.load("f"); err != nil || !whole[string(f.data)] {
					t.Errorf("a half-written file was read, %v", err)
				}
			}
		})
	}
	all.Wait()
	noTemp(t, first)
}
