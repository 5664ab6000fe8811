//go:build unix

package workspace

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hugeIgnores are about as many rules as a large repository has.
const hugeIgnores = "*.o\n*.a\n*.so\n*.log\n*.tmp\n*~\n.DS_Store\n/dist\n/build/\nnode_modules/\n__pycache__/\n*.py[cod]\n.venv/\ncoverage.out\n!keep.log\n/tools/bin\nvendor/cache/**\n.idea/\n*.swp\ntarget/\n"

// huge lays a repository of n small files; with git they are committed.
func huge(tb testing.TB, w *Workspace, n int, git bool) {
	tb.Helper()
	lay(tb, w, map[string]string{".gitignore": hugeIgnores})
	for i := range n {
		write(tb, filepath.Join(w.Dir(), hugeName(i)), fmt.Sprintf("package d%d\n\nconst number = %d\n", i%50, i))
	}
	if git {
		gitIn(tb, w.Dir(), "init", "-q")
		gitIn(tb, w.Dir(), "add", "-A")
		gitIn(tb, w.Dir(), "commit", "-q", "-m", "all")
	}
}

// hugeName puts a hundred files into each folder, four folders deep.
func hugeName(i int) string { return fmt.Sprintf("d%d/e%d/f%d/g%d.go", i%10, i/10%10, i/100%20, i) }

// BenchmarkTwoLooks is what two looks around a command cost that changes one file, in a repository of
// 100,000 files and in a plain folder of 10,000: the time, and the time of the processor, which does not
// depend on what else the machine does.
func BenchmarkTwoLooks(b *testing.B) {
	for _, c := range []struct {
		name  string
		files int
		git   bool
	}{{"git-100000", 100_000, true}, {"plain-10000", 10_000, false}} {
		b.Run(c.name, func(b *testing.B) {
			w, _ := open(b, Options{})
			huge(b, w, c.files, c.git)
			start := time.Now()
			snap(b, w)
			first := time.Since(start)
			b.ReportAllocs()
			var spent time.Duration
			for i := 0; b.Loop(); i++ {
				at := processorTime(b)
				before, err := w.Glance(t0)
				if err != nil {
					b.Fatal(err)
				}
				spent += processorTime(b) - at
				b.StopTimer()
				write(b, filepath.Join(w.Dir(), hugeName(7)), fmt.Sprintf("package changed\n\nconst round = %d\n", i))
				b.StartTimer()
				at = processorTime(b)
				if c := w.Diff(t0, before, snap(b, w)).Changes; len(c) != 1 {
					b.Fatal(len(c))
				}
				spent += processorTime(b) - at
			}
			b.ReportMetric(float64(first.Milliseconds()), "ms-first")
			b.ReportMetric(float64(spent.Milliseconds())/float64(b.N), "ms-cpu/op")
		})
	}
}

// processorTime is what this process has had of the processors.
func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkKeptEdit is what an edit of a file of 100 KB costs with its checkpoint and without one.
func BenchmarkKeptEdit(b *testing.B) {
	for _, kept := range []bool{true, false} {
		b.Run(map[bool]string{true: "kept", false: "not-kept"}[kept], func(b *testing.B) {
			w, _ := open(b, Options{})
			if !kept {
				if err := w.store.Close(); err != nil {
					b.Fatal(err)
				}
				w.store = nil
			}
			lay(b, w, map[string]string{"f": strings.Repeat("a line of some length, as there are many\n", 2500) + "const round = 0\n"})
			for i := 0; b.Loop(); i++ {
				edit := []Edit{{Old: fmt.Sprintf("round = %d\n", i), New: fmt.Sprintf("round = %d\n", i+1)}}
				if _, err := w.Edit(t0, "f", edit); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRevert takes back, and takes that back, what a command did to 1,000 files.
func BenchmarkRevert(b *testing.B) {
	w, _ := open(b, Options{})
	huge(b, w, 1_000, false)
	changes := ran(b, w, func(at func(string) string) error {
		for i := range 1_000 {
			write(b, at(hugeName(i)), fmt.Sprintf("package changed\n\nconst number = %d\n", -i))
		}
		return nil
	})
	for b.Loop() {
		done := revertAll(b, w, changes)
		if len(done.Changes) != 1_000 {
			b.Fatal(len(done.Changes))
		}
		changes = newest(done.Changes)
	}
}
