package main

import (
	"strings"
	"testing"

	"tandem/protocol"
)

func TestTheBottomIsErasedAtEveryWidth(t *testing.T) {
	width := 80
	c := &console{}
	s := &screen{out: c, size: func() (int, int) { return width, 24 }, live: true}
	b := bottom{words: "said", status: strings.Repeat("s", 70), prompt: "steer › ", input: strings.Repeat("i", 60), cursor: 60}
	for _, step := range []struct {
		width int
		want  string
	}{
		{80, "\r\x1b[J"},        // nothing was drawn
		{80, "\r\x1b[2A\x1b[J"}, // words and status
		{40, "\r\x1b[4A\x1b[J"}, // the status and the line that is typed have become two rows each
	} {
		width = step.width
		before := len(c.text())
		if err := s.print(nil, b); err != nil {
			t.Fatal(err)
		}
		if got := c.text()[before:]; !strings.HasPrefix(got, step.want) {
			t.Errorf("at %d columns %q is written, want %q first", width, got, step.want)
		}
	}
}

func TestAKeyThatSuspendsNeedsATerminal(t *testing.T) {
	c := &console{}
	f := &follower{pic: newPicture(sessionIn(protocol.Executing)), scr: &screen{out: c, size: func() (int, int) { return 80, 24 }, live: true}, mine: true}
	if left, err := f.press(t.Context(), f.keys.feed([]byte("keep it\x1a"))); left || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
	if err := f.resumed(); err != nil || f.wake != nil {
		t.Errorf("resumed: %v", err)
	}
	if !strings.HasSuffix(string(f.typed.text), "keep it") {
		t.Errorf("typed is %q", string(f.typed.text))
	}
}

func TestRowsKeepTheirGaps(t *testing.T) {
	for text, want := range map[string][]string{
		"1  Put it into a hook":     {"1  Put it", "into a", "hook"},
		"a   b":                     {"a   b"},
		"  a longer text":           {"a longer", "text"},
		"abcdefghijklmno  p q r st": {"abcdefghij", "klmno  p q", "r st"},
	} {
		got := wrap(text, 10)
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
