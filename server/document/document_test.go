package document

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"pgregory.net/rapid"

	"tandem/protocol"
)

var encodings = []protocol.PositionEncoding{protocol.UTF8, protocol.UTF16, protocol.UTF32}

func at(line, character uint32) protocol.Position {
	return protocol.Position{Line: line, Character: character}
}

func TestOffset(t *testing.T) {
	text := "aé😀b\r\n\rzwei\n"
	for _, c := range []struct {
		enc  protocol.PositionEncoding
		at   protocol.Position
		want int
	}{
		{protocol.UTF16, at(0, 0), 0},
		{protocol.UTF16, at(0, 2), 3},
		{protocol.UTF16, at(0, 3), 3}, // between the surrogates: the rune's beginning
		{protocol.UTF16, at(0, 4), 7},
		{protocol.UTF16, at(0, 5), 8},
		{protocol.UTF16, at(0, 6), 8}, // behind the line's end, before its "\r\n"
		{protocol.UTF8, at(0, 2), 1},  // within é
		{protocol.UTF8, at(0, 7), 7},
		{protocol.UTF32, at(0, 3), 7},
		{protocol.UTF16, at(1, 9), 10},
		{protocol.UTF16, at(2, 4), 15},
		{protocol.UTF16, at(3, 0), 16},
		{protocol.UTF16, at(3, 1), 16},
		{protocol.UTF16, at(99, 1), 16},
		{protocol.UTF16, at(1<<32-1, 1<<32-1), 16},
		{"", at(0, 4), 7}, // an encoding that nobody named is utf-16
	} {
		if got := Offset(text, c.at, c.enc); got != c.want {
			t.Errorf("%s %v: offset %d, want %d", c.enc, c.at, got, c.want)
		}
	}
}

func TestPosition(t *testing.T) {
	text := "aé😀b\r\nc"
	for _, c := range []struct {
		enc    protocol.PositionEncoding
		offset int
		want   protocol.Position
	}{
		{protocol.UTF16, 7, at(0, 4)},
		{protocol.UTF8, 7, at(0, 7)},
		{protocol.UTF32, 7, at(0, 3)},
		{protocol.UTF16, 5, at(0, 2)}, // within the rune
		{protocol.UTF16, 9, at(0, 5)}, // within "\r\n"
		{protocol.UTF16, 10, at(1, 0)},
		{protocol.UTF16, 99, at(1, 1)},
		{protocol.UTF16, -1, at(0, 0)},
	} {
		if got := Position(text, c.offset, c.enc); got != c.want {
			t.Errorf("%s %d: position %v, want %v", c.enc, c.offset, got, c.want)
		}
	}
	if got := Position("a\n", 2, protocol.UTF8); got != at(1, 0) {
		t.Errorf("behind the last line end: %v", got)
	}
}

// document draws texts of few lines that are alike, so that ranges and diffs meet every case.
func document(t *rapid.T, label string) string {
	pieces := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", " ", "é", "😀", "\u2028", "\n", "\r\n", "\r", "\n\n", "func f() {\n", "}\n"}), 0, 24)
	return strings.Join(pieces.Draw(t, label), "")
}

// TestRoundTrip holds that the position of each offset that one can name leads back to it, that
// characters count as the encoding says, and that any position has an offset between two runes.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := document(t, "text")
		enc := rapid.SampledFrom(encodings).Draw(t, "encoding")
		for i := 0; i <= len(text); i++ {
			p := Position(text, i, enc)
			if back := Offset(text, p, enc); back != boundary(text, i) {
				t.Fatalf("%q: offset %d is %v, which is offset %d", text, i, p, back)
			}
			line := text[lineStart(text, int(p.Line)):boundary(text, i)]
			if want := count(line, enc); int(p.Character) != want {
				t.Fatalf("%q: offset %d is %v, but %q counts %d", text, i, p, line, want)
			}
		}
		p := at(rapid.Uint32Range(0, 30).Draw(t, "line"), rapid.Uint32Range(0, 30).Draw(t, "character"))
		if i := Offset(text, p, enc); boundary(text, i) != i {
			t.Fatalf("%q: %v is offset %d, within a rune or a line end", text, p, i)
		}
	})
}

func count(text string, enc protocol.PositionEncoding) int {
	switch enc {
	case protocol.UTF8:
		return len(text)
	case protocol.UTF32:
		return utf8.RuneCountInString(text)
	}
	return len(utf16.Encode([]rune(text)))
}

// TestEdits holds that edits lead from one text to another as an editor makes them, that they are
// in order and apart, and that each changes something.
func TestEdits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, new := document(t, "old"), document(t, "new")
		enc := rapid.SampledFrom(encodings).Draw(t, "encoding")
		edits := Edits(old, new, enc)
		if got := made(t, old, edits, enc); got != new {
			t.Fatalf("%q with %v is %q, want %q", old, edits, got, new)
		}
		if old == new && len(edits) > 0 {
			t.Fatalf("%q: edits of nothing: %v", old, edits)
		}
	})
}

// made makes edits all at once, as LSP says.
func made(t interface{ Fatalf(string, ...any) }, old string, edits []protocol.TextEdit, enc protocol.PositionEncoding) string {
	var b strings.Builder
	done := 0
	for _, e := range edits {
		start, end := Span(old, e.Range, enc)
		if start < done {
			t.Fatalf("edits of %q overlap: %v", old, edits)
		}
		if old[start:end] == e.NewText {
			t.Fatalf("%q: an edit of nothing: %v", old, e)
		}
		b.WriteString(old[done:start] + e.NewText)
		done = end
	}
	return b.String() + old[done:]
}

// TestEditsAreMinimal holds what a cursor needs: a word that changes in a long text is one edit
// of that word.
func TestEditsAreMinimal(t *testing.T) {
	old := strings.Repeat("line\n", 500) + "/* 😀 */ func unsaved() {}\n" + strings.Repeat("line\n", 500)
	edits := Edits(old, strings.Replace(old, "unsaved", "renamed", 1), protocol.UTF16)
	want := protocol.TextEdit{Range: protocol.Range{Start: at(500, 14), End: at(500, 19)}, NewText: "renam"}
	if len(edits) != 1 || edits[0] != want {
		t.Errorf("%v, want %v", edits, want)
	}
	two := strings.Replace(strings.Replace(old, "line", "LINE", 1), "unsaved", "renamed", 1)
	if edits := Edits(old, two, protocol.UTF16); len(edits) != 2 {
		t.Errorf("two changes far apart are %d edits", len(edits))
	}
}

// TestChanged holds that a document which follows the changes of an editor is the editor's text.
func TestChanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		enc := rapid.SampledFrom(encodings).Draw(t, "encoding")
		d := Document{Text: document(t, "text"), Version: 1}
		want := d.Text
		var changes []protocol.ContentChange
		for range rapid.IntRange(0, 5).Draw(t, "changes") {
			with := document(t, "with")
			if rapid.IntRange(0, 4).Draw(t, "whole") == 0 {
				changes, want = append(changes, protocol.ContentChange{Text: with}), with
				continue
			}
			i := boundary(want, rapid.IntRange(0, len(want)).Draw(t, "start"))
			j := boundary(want, rapid.IntRange(i, len(want)).Draw(t, "end"))
			r := Range(want, i, j, enc)
			if rapid.Bool().Draw(t, "swapped") {
				r.Start, r.End = r.End, r.Start
			}
			changes = append(changes, protocol.ContentChange{Range: &r, Text: with})
			want = want[:i] + with + want[max(i, j):]
		}
		if d = d.Changed(7, changes, enc); d.Text != want || d.Version != 7 {
			t.Fatalf("%q at %d, want %q", d.Text, d.Version, want)
		}
	})
}

// FuzzChanged holds that no change of any peer panics or leaves half a rune.
func FuzzChanged(f *testing.F) {
	f.Add("aé😀b\r\nc", uint32(0), uint32(3), uint32(0), uint32(4), "x", 1)
	f.Add("", uint32(1<<32-1), uint32(1<<32-1), uint32(0), uint32(0), "\r", 0)
	f.Add("\r\n", uint32(0), uint32(1), uint32(1), uint32(0), "\n", 2)
	f.Fuzz(func(t *testing.T, text string, a, b, c, d uint32, with string, enc int) {
		if !utf8.ValidString(text) || !utf8.ValidString(with) {
			t.Skip("a frame's JSON holds no other text")
		}
		r := protocol.Range{Start: at(a, b), End: at(c, d)}
		e := encodings[uint(enc)%3]
		got := Document{Text: text}.Changed(1, []protocol.ContentChange{{Range: &r, Text: with}}, e)
		if !utf8.ValidString(got.Text) || !strings.Contains(got.Text, with) {
			t.Errorf("%q %v %q: %q", text, r, with, got.Text)
		}
	})
}

func TestConvert(t *testing.T) {
	text := "aé😀b\n"
	r := protocol.Range{Start: at(0, 3), End: at(0, 7)}
	if got := Convert(text, r, protocol.UTF8, protocol.UTF16); got != (protocol.Range{Start: at(0, 2), End: at(0, 4)}) {
		t.Errorf("%v", got)
	}
	far := protocol.Range{Start: at(70, 0), End: at(71, 0)} // of a text that is not known any more
	if got := Convert(text, far, protocol.UTF8, protocol.UTF16); got != far {
		t.Errorf("%v", got)
	}
}

func TestHolds(t *testing.T) {
	old := "one\ntwo\nthree\nfour\nfive\n"
	new := "one\nTWO\nthree\nfour\nfive\n"
	for _, c := range []struct {
		text string
		want bool
	}{
		{new, true},
		{strings.ReplaceAll(new, "\n", "\r\n"), true},
		{strings.TrimSuffix(new, "\n"), true},
		{"one\nTWO\nthree\nfour\nfive typed\n", true},
		{"typed\none\nTWO\nthree\nfour\nfive\n", true},
		{old, false},
		{"one\ntwo\nthree\nfour\nfive typed\n", false},
		{"typed\r\none\r\nTWO\r\nthree\r\nfour\r\nfive\r\n", true},
		{"one\nTWO typed\nthree\nfour\nfive\n", true},
		{"one\ntyped\nTWO\nthree\nfour\nfive\n", true},
		{"one\ntyped\ntwo\nthree\nfour\nfive\n", false},
		{"one\nTxWO\nthree\nfour\nfive\n", false},
		{"", false},
	} {
		if got := Holds(c.text, old, new); got != c.want {
			t.Errorf("%q: %v", c.text, got)
		}
	}
	if Holds("a\n", "a\n", "a") || !Holds("a", "a\n", "a") {
		t.Error("a change of the form alone is not told from none")
	}
}

// TestHoldsAlways holds that a change is found in its own outcome, and, unless the texts are the
// same but for their form, not in what stood before it.
func TestHoldsAlways(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, new := document(t, "old"), document(t, "new")
		if !Holds(new, old, new) {
			t.Fatalf("%q is not in its own outcome", new)
		}
		if !Same(old, new) && Holds(old, old, new) {
			t.Fatalf("%q is said to hold %q", old, new)
		}
	})
}

func BenchmarkEdits(b *testing.B) {
	old := strings.Repeat("func f() { return 1 } // a line of code\n", 5000)
	new := strings.Replace(old, "return 1", "return 2", 1)
	for b.Loop() {
		if len(Edits(old, new, protocol.UTF16)) != 1 {
			b.Fatal("edits")
		}
	}
}

func BenchmarkKeystroke(b *testing.B) {
	d := Document{Text: strings.Repeat("func f() { return 1 } // a line of code\n", 5000)}
	r := protocol.Range{Start: at(4990, 3), End: at(4990, 3)}
	changes := []protocol.ContentChange{{Range: &r, Text: "x"}}
	for b.Loop() {
		if got := d.Changed(2, changes, protocol.UTF16); len(got.Text) != len(d.Text)+1 {
			b.Fatal("text")
		}
	}
}

func ExampleEdits() {
	for _, e := range Edits("a\n/* 😀 */ b\n", "a\n/* 😀 */ c\n", protocol.UTF16) {
		fmt.Println(e.Range.Start.Line, e.Range.Start.Character, slices.Collect(strings.Lines(e.NewText)))
	}
	// Output: 1 9 [c]
}
