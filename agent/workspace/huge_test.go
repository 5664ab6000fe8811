package workspace

import (
	"fmt"
	"os/exec"
	"path/filepath"
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

func gitIn(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		tb.Skip("git is not there")
	}
	c := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false", "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0", "-c", "maintenance.auto=false"}, args...)...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		tb.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// BenchmarkHundredThousand is what two looks around a command cost that changes one file of 100,000.
func BenchmarkHundredThousand(b *testing.B) {
	for _, git := range []bool{true, false} {
		b.Run(map[bool]string{true: "git", false: "plain"}[git], func(b *testing.B) {
			w, _ := open(b, Options{})
			huge(b, w, 100_000, git)
			start := time.Now()
			snap(b, w)
			b.ReportMetric(float64(time.Since(start).Milliseconds()), "ms-first")
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				before := snap(b, w)
				b.StopTimer()
				write(b, filepath.Join(w.Dir(), hugeName(7)), fmt.Sprintf("package changed\n\nconst round = %d\n", i))
				b.StartTimer()
				if c := w.Diff(t0, before, snap(b, w)).Changes; len(c) != 1 {
					b.Fatal(len(c))
				}
			}
		})
	}
}
