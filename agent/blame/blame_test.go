package blame

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// text is letters as lines of a text: "abc" is a, b and c.
func text(letters string) string {
	var b strings.Builder
	for _, l := range letters {
		b.WriteString(string(l) + "\n")
	}
	return b.String()
}

// shown is authors as digits; a dot is nobody.
func shown(authors []int) string {
	var b strings.Builder
	for _, a := range authors {
		if a == Nobody {
			b.WriteString(".")
		} else {
			fmt.Fprint(&b, a)
		}
	}
	return b.String()
}

func TestLines(t *testing.T) {
	for _, test := range []struct{ edits, now, want, why string }{
		{"", "abc", "...", "no edit"},
		{"abc>abXc", "abXc", "..0.", "a new line"},
		{"abc>abXc", "abXYc", "..0..", "the developer's line behind it"},
		{"abc>abXc", "12abXc", "....0.", "lines above it"},
		{"abc>abXc", "abc", "...", "the developer took it out"},
		{"abc>abXc abXc>abYc", "abYc", "..1.", "another edit over it"},
		{"abc>abXc abXc>aYbXc", "aYbXc", ".1.0.", "two edits"},
		{"abc>aXc 1aXc>1aXcY", "1aXcY", "..0.1", "the developer between two edits"},
		{">ab", "ab", "00", "a new file"},
		{"abc>aXc aXc>", "", "", "deleted"},
		{"abc>aXc aXc> >abc", "abc", "222", "deleted and made anew"},
		{"abc>aXc aXc<abc", "abc", "...", "taken back: the developer's line is theirs again"},
		{"abc>aXc aXc>aYc aYc<aXc", "aXc", ".0.", "taken back: the first edit's line is its own again"},
		{"abc>aXc aXc>aXcZ aXcZ<abcZ", "abcZ", "...1", "taken back below a later edit"},
		{"abc>aXc aXc<abc abc<aXc", "aXc", ".0.", "the revert taken back"},
		{"abc>aXc aXc<aQc", "aQc", "...", "a revert that leaves what nobody knows"},
		{"aaaa>aaXaa", "aaXaa", "..0..", "lines that are all the same"},
		{"abab>ababab", "ababab", "....00", "a repeated block"},
	} {
		var edits []Edit
		for _, e := range strings.Fields(test.edits) {
			before, after, _ := strings.Cut(strings.Replace(e, "<", ">", 1), ">")
			edits = append(edits, Edit{text(before), text(after), strings.Contains(e, "<")})
		}
		if got := shown(Of(edits).Lines(text(test.now))); got != test.want {
			t.Errorf("%q then %q is %q, want %q: %s", test.edits, test.now, got, test.want, test.why)
		}
	}
}

func TestFormOfLinesDoesNotCount(t *testing.T) {
	h := Of([]Edit{{"\ufeffone\r\ntwo\r\n", "\ufeffone\r\nnew\r\ntwo\r\n", false}})
	if got := shown(h.Lines("one\nnew\ntwo")); got != ".0." {
		t.Errorf("as the editor has it: %q", got)
	}
	if got := Split("a\r\nb\rc\n\nd"); !slices.Equal(got, []string{"a", "b", "c", "", "d"}) {
		t.Errorf("lines %q", got)
	}
}

// TestTruth edits a text in which no line is written twice, so that it is known who wrote each.
func TestTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type line struct {
			text string
			by   int
		}
		var now []line
		written := 0
		change := func(by int) {
			at := rapid.IntRange(0, len(now)).Draw(t, "at")
			gone := rapid.IntRange(0, len(now)-at).Draw(t, "gone")
			var fresh []line
			for range rapid.IntRange(0, 4).Draw(t, "new") {
				written++
				fresh = append(fresh, line{fmt.Sprintf("line %d", written), by})
			}
			now = slices.Concat(now[:at:at], fresh, now[at+gone:])
		}
		whole := func() string {
			var b strings.Builder
			for _, l := range now {
				b.WriteString(l.text + "\n")
			}
			return b.String()
		}
		change(Nobody)
		var edits []Edit
		var left [][]line
		for i := range rapid.IntRange(0, 12).Draw(t, "edits") {
			if rapid.Bool().Draw(t, "developer") {
				change(Nobody)
			}
			before := whole()
			left = append(left, now)
			restores := rapid.IntRange(0, 3).Draw(t, "restores") == 0
			if restores {
				now = rapid.SampledFrom(left).Draw(t, "to")
			} else {
				change(i)
			}
			edits = append(edits, Edit{before, whole(), restores})
		}
		change(Nobody)
		got := Of(edits).Lines(whole())
		for i, l := range now {
			if got[i] != l.by {
				t.Fatalf("line %d, %q, is by %d, said is %d\nof %v", i, l.text, l.by, got[i], edits)
			}
		}
	})
}

// TestAlign holds any alignment against what it promises: equal lines, in the same order.
func TestAlign(t *testing.T) {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", ""}), 0, 30)
	rapid.Check(t, func(t *rapid.T) {
		a, b := words.Draw(t, "a"), words.Draw(t, "b")
		last := -1
		for i, from := range align(a, b) {
			if from < 0 {
				continue
			}
			if from <= last || a[from] != b[i] {
				t.Fatalf("%q to %q: %v", a, b, align(a, b))
			}
			last = from
		}
		same := align(a, a)
		for i, from := range same {
			if from != i {
				t.Fatalf("%q to itself: %v", a, same)
			}
		}
	})
}

func BenchmarkLines(b *testing.B) {
	var old, now strings.Builder
	for i := range 30_000 { // about 1 MB
		fmt.Fprintf(&old, "a line of usual length, number %d\n", i)
		if i%50 == 0 {
			fmt.Fprintf(&now, "the agent's line %d\n", i)
		}
		fmt.Fprintf(&now, "a line of usual length, number %d\n", i)
	}
	h := Of([]Edit{{Before: old.String(), After: now.String()}})
	typed := strings.Replace(now.String(), "line 500\n", "line 500, typed\n", 1)
	for b.Loop() {
		h.Lines(typed)
	}
}
