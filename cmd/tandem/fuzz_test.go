package main

import (
	"strings"
	"testing"
	"unicode"

	"github.com/mattn/go-runewidth"
)

// FuzzLines holds that no text of a model, a file or a command steers the terminal, and that no row
// is wider than it is.
func FuzzLines(f *testing.F) {
	for _, s := range []string{"\x1b[31mred\x1b[0m", "\x1b]0;title\x07x", "a\u202eb\u2066c", "\u009b31m", "a\tb\r\nc\rd", "日本語 text that is long enough to be broken", "\x1b[\x1b[31m", "e\u0301👩\u200d💻", "\xff\x1b", "  indented"} {
		f.Add(s, 20)
	}
	f.Fuzz(func(t *testing.T, text string, width int) {
		if len(text) > 4096 {
			return
		}
		width = 4 + int(uint(width)%100)
		c := clean(text)
		if i := strings.IndexFunc(c, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }); i >= 0 || clean(c) != c {
			t.Errorf("%q becomes %q, and then %q", text, c, clean(c))
		}
		for line := range strings.SplitSeq(c, "\n") {
			rows := wrap(line, width)
			for _, row := range rows {
				if runewidth.StringWidth(row) > width {
					t.Errorf("%q has the row %q, which is wider than %d", line, row, width)
				}
			}
			if bare(strings.Join(rows, "")) != bare(line) {
				t.Errorf("%q lost something in %q", line, rows)
			}
		}
		if row := clip(text, width); strings.Contains(row, "\n") || runewidth.StringWidth(row) > width {
			t.Errorf("%q is clipped to %q, which is wider than %d", text, row, width)
		}
	})
}

// bare is a text without its spaces, at which rows are broken.
func bare(text string) string { return strings.Join(strings.Fields(text), "") }
