package document

import (
	"testing"
	"unicode/utf8"
)

// FuzzEdits holds that edits lead from one text to another in the units of every encoding, and that
// each place of a text is found again by its position.
func FuzzEdits(f *testing.F) {
	f.Add("a\r\nb\n", "a\nb\n", 0)
	f.Add("x😀y\nz", "x😁y\nz\n", 1)
	f.Add("\r\r\n\n", "\n\r", 2)
	f.Add("e\u0301\u2028\x00", "", 1)
	f.Fuzz(func(t *testing.T, old, new string, enc int) {
		if !utf8.ValidString(old) || !utf8.ValidString(new) || len(old)+len(new) > 8192 {
			return // a frame's JSON holds no other text
		}
		e := encodings[uint(enc)%3]
		if got := made(t, old, Edits(old, new, e), e); got != new {
			t.Errorf("%q became %q, want %q", old, got, new)
		}
		for i := range old {
			if p := Position(old, i, e); boundary(old, i) == i && Offset(old, p, e) != i {
				t.Errorf("byte %d of %q is at %v, which is byte %d", i, old, p, Offset(old, p, e))
			}
		}
	})
}
