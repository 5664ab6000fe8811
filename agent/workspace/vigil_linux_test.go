package workspace

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Whatever happens between two looks, a glance sees what a look at everything sees.
func TestAGlanceMissesNothing(t *testing.T) {
	w, _ := open(t, Options{})
	if w.vigil == nil {
		t.Skip("the file system here does not tell of what happens in it")
	}
	at := func(rnd *rand.Rand) string {
		return filepath.Join(w.Dir(), fmt.Sprintf("d%d/e%d", rnd.IntN(3), rnd.IntN(3)))
	}
	happens := []func(rnd *rand.Rand){
		func(rnd *rand.Rand) {
			_ = os.WriteFile(filepath.Join(at(rnd), fmt.Sprint(rnd.IntN(4))), fmt.Append(nil, rnd.Uint64()), 0o644)
		},
		func(rnd *rand.Rand) { _ = os.MkdirAll(at(rnd), 0o755) },
		func(rnd *rand.Rand) { _ = os.Remove(filepath.Join(at(rnd), fmt.Sprint(rnd.IntN(4)))) },
		func(rnd *rand.Rand) { _ = os.RemoveAll(at(rnd)) },
		func(rnd *rand.Rand) { _ = os.Rename(at(rnd), at(rnd)) },
		func(rnd *rand.Rand) { _ = os.Rename(filepath.Dir(at(rnd)), filepath.Dir(at(rnd))) },
		func(rnd *rand.Rand) { _ = os.Symlink("x", filepath.Join(at(rnd), fmt.Sprint(rnd.IntN(4)))) },
		func(rnd *rand.Rand) { _ = os.Chmod(filepath.Join(at(rnd), fmt.Sprint(rnd.IntN(4))), 0o600) },
		func(rnd *rand.Rand) {
			_ = os.WriteFile(filepath.Join(filepath.Dir(at(rnd)), ".gitignore"), fmt.Appendf(nil, "%d\n", rnd.IntN(4)), 0o644)
		},
		func(rnd *rand.Rand) { // two folders in each other's place
			a, b, aside := at(rnd), at(rnd), filepath.Join(w.Dir(), "aside")
			_ = os.Rename(a, aside)
			_ = os.Rename(b, a)
			_ = os.Rename(aside, b)
		},
		func(rnd *rand.Rand) { _ = os.Link(filepath.Join(at(rnd), "0"), filepath.Join(at(rnd), "1")) },
	}
	for seed := range uint64(40) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		for range 15 {
			for range rnd.IntN(6) {
				happens[rnd.IntN(len(happens))](rnd)
			}
			glance, err := w.Glance(t0)
			if err != nil {
				t.Fatal(err)
			}
			if d := w.Diff(t0, glance, snap(t, w)); len(d.Changes)+len(d.Unseen) > 0 {
				t.Fatalf("seed %d: a glance has missed %+v", seed, d)
			}
		}
	}
}

// A glance does not look where nothing was heard of: what went through mapped memory alone it does
// not see, and the look after it does.
func TestAGlanceGoesByWhatItHears(t *testing.T) {
	w, _ := open(t, Options{})
	if w.vigil == nil {
		t.Skip("the file system here does not tell of what happens in it")
	}
	lay(t, w, map[string]string{"d/f": "one\n", "e/g": "two\n"})
	f, err := os.OpenFile(filepath.Join(w.Dir(), "d/f"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	memory, err := unix.Mmap(int(f.Fd()), 0, 4, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(memory) }()
	snap(t, w)
	before := snap(t, w) // the clock for files is coarse: now it is settled
	copy(memory, "ONE\n")
	if err := unix.Msync(memory, unix.MS_SYNC); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(w.Dir(), "e/g"), "TWO\n")
	glance, err := w.Glance(t0)
	if err != nil {
		t.Fatal(err)
	}
	if d := w.Diff(t0, before, glance).Changes; len(d) != 1 || d[0].Path != "e/g" {
		t.Errorf("the glance sees %+v", d)
	}
	if d := w.Diff(t0, glance, snap(t, w)).Changes; len(d) != 1 || d[0].Path != "d/f" {
		t.Errorf("the look after it sees %+v", d)
	}
}

// Where there is no room for watches, all is looked at.
func TestAGlanceWithoutRoom(t *testing.T) {
	w, _ := open(t, Options{})
	if w.vigil == nil {
		t.Skip("the file system here does not tell of what happens in it")
	}
	w.vigil.room.Store(1)
	lay(t, w, map[string]string{"a/f": "one\n", "b/f": "one\n"})
	snap(t, w)
	for round := range 3 {
		for _, name := range []string{"a/f", "b/f"} {
			write(t, filepath.Join(w.Dir(), name), fmt.Sprintf("%s %d\n", name, round))
		}
		glance, err := w.Glance(t0)
		if err != nil {
			t.Fatal(err)
		}
		if d := w.Diff(t0, glance, snap(t, w)).Changes; len(d) > 0 {
			t.Errorf("the glance has missed %+v", d)
		}
	}
}
