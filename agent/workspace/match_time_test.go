package workspace

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// A long text that is repeated all over a file and stands nowhere is refused in the time that the file takes to be read,
// not in one that grows with both: a write that runs cannot be ended.
func TestARepetitiveTextIsSoonRefused(t *testing.T) {
	at := time.Now()
	raw := strings.Repeat("a\n", 20_000)
	if _, _, err := rewrite(raw, []Edit{{Old: strings.Repeat("a\n", 2_000) + "b", New: "x"}}); err == nil {
		t.Error("it was found")
	}
	if took := time.Since(at); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

// Runs that overlap, or begin within one that failed, are all found.
func TestRuns(t *testing.T) {
	for _, c := range []struct {
		lines, want string
		at          []int
	}{
		{"aaaa", "aa", []int{0, 1, 2}}, {"aabaabaaab", "aab", []int{0, 3, 7}}, {"ababac", "abac", []int{2}}, {"abc", "abcd", nil}, {"xyz", "z", []int{2}}, {"", "a", nil},
	} {
		got := newText(strings.Join(strings.Split(c.lines, ""), "\n")).runs(strings.Split(c.want, ""), same)
		if !slices.Equal(got, c.at) {
			t.Errorf("%q in %q at %v, not %v", c.want, c.lines, got, c.at)
		}
	}
}
