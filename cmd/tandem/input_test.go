package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"tandem/protocol"
)

func TestKeys(t *testing.T) {
	for _, c := range []struct {
		name   string
		pieces []string
		want   []key
	}{
		{"text", []string{"aß"}, []key{{text: "a"}, {text: "ß"}}},
		{"a rune in pieces", []string{"\xc3", "\x9f"}, []key{{text: "ß"}}},
		{"broken bytes", []string{"\xffa"}, []key{{text: "a"}}},
		{"enter", []string{"\r"}, []key{{kind: keyEnter}}},
		{"alt and enter", []string{"\x1b\r"}, []key{{kind: keyAltEnter}}},
		{"an arrow in pieces", []string{"\x1b", "[", "D"}, []key{{kind: keyLeft}}},
		{"an arrow with control", []string{"\x1b[1;5C"}, []key{{kind: keyWordRight}}},
		{"an unknown sequence", []string{"\x1b[38;5;9Zx"}, []key{{text: "x"}}},
		{"escape twice", []string{"\x1b\x1b[A"}, []key{{kind: keyEscape}, {kind: keyUp}}},
		{"pasted", []string{"\x1b[200~a\nb", "\x1b[201~c"}, []key{{keyPaste, "a\nb"}, {text: "c"}}},
		{"controls", []string{"\x03\x04\x15\x7f\x00"}, []key{{kind: keyInterrupt}, {kind: keyEOF}, {kind: keyKillLine}, {kind: keyBackspace}}},
	} {
		var r keyReader
		var got []key
		for _, piece := range c.pieces {
			got = append(got, r.feed([]byte(piece))...)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestALoneEscapeIsKnownByWaiting(t *testing.T) {
	var r keyReader
	if got := r.feed([]byte("a\x1b")); len(got) != 1 || !r.waiting() {
		t.Errorf("before the wait: %v", got)
	}
	if got := r.flush(); !slices.Equal(got, []key{{kind: keyEscape}}) || r.waiting() {
		t.Errorf("after the wait: %v", got)
	}
	if r.feed([]byte("\x1b[200~half")); r.waiting() {
		t.Error("a paste that takes long is given up")
	}
}

func FuzzKeys(f *testing.F) {
	f.Add([]byte("a\x1b[200~x\x1b[201~\x1b[1;5C\xc3"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var whole, pieces keyReader
		want := whole.feed(b)
		var got []key
		for i := range b {
			got = append(got, pieces.feed(b[i:i+1])...)
		}
		if !slices.Equal(got, want) || whole.rest != pieces.rest {
			t.Errorf("in pieces %v, at once %v", got, want)
		}
		var l inputLine
		for _, k := range want {
			l.press(k)
			if l.at < 0 || l.at > len(l.text) {
				t.Fatalf("after %v the cursor is at %d of %d", k, l.at, len(l.text))
			}
		}
		if _, cursor := l.draw(20); cursor > 20 {
			t.Errorf("the cursor is at column %d of 20", cursor)
		}
	})
}

func TestTheInputLine(t *testing.T) {
	for _, c := range []struct{ keys, text string }{
		{"hello\x7f\x7fp", "help"},
		{"\x7f\x04\x1b[D\x1b[Cx", "x"},
		{"one two\x17three", "one three"},
		{"one two\x01\x0bx", "x"},
		{"one two\x1b[D\x1b[D\x15", "wo"},
		{"one two\x1bb\x1bb\x1bf!", "one! two"},
		{"ab\x1b[D\x1b[3~c", "ac"},
		{"日本\x7fx", "日x"},
		{"e\u0301\x7fx", "x"},
		{"a👩\u200d💻\x7fx", "ax"},
		{"a👍🏽\x1b[D!", "a!👍🏽"},
		{"\x1b[200~two\r\nlines\x1b[201~", "two\nlines"},
	} {
		var r keyReader
		var l inputLine
		for _, k := range r.feed([]byte(c.keys)) {
			l.press(k)
		}
		if got := string(l.text); got != c.text {
			t.Errorf("%q gives %q, want %q", c.keys, got, c.text)
		}
	}
}

func TestTheInputLineRemembers(t *testing.T) {
	var l inputLine
	for _, text := range []string{"first", "second", "second"} {
		l.set(text)
		if got := l.take(); got != text || !l.empty() {
			t.Errorf("took %q of %q", got, text)
		}
	}
	l.set("third")
	var seen []string
	for _, k := range []keyKind{keyUp, keyUp, keyUp, keyDown, keyDown, keyDown} {
		l.press(key{kind: k})
		seen = append(seen, string(l.text))
	}
	if got, want := strings.Join(seen, " "), "second first first second third third"; got != want {
		t.Errorf("looked at %q, want %q", got, want)
	}
}

func TestALongLineShowsItsCursor(t *testing.T) {
	var l inputLine
	l.set(strings.Repeat("日", 30) + "end")
	text, cursor := l.draw(20)
	if cursor > 19 || !strings.HasSuffix(text, "end") || !strings.HasPrefix(text, "…") {
		t.Errorf("drawn as %q with the cursor at %d", text, cursor)
	}
	l.press(key{kind: keyHome})
	if text, cursor = l.draw(20); cursor != 0 || !strings.HasSuffix(text, "…") {
		t.Errorf("at its start it is drawn as %q with the cursor at %d", text, cursor)
	}
}

func TestTheBottomIsDrawnAnewBelowTheLines(t *testing.T) {
	var out bytes.Buffer
	s := &screen{out: &out, size: func() (int, int) { return 40, 10 }, live: true}
	b := bottom{words: "I am saying something that takes two rows here.", status: "● working", prompt: "steer › ", input: "no", cursor: 2}
	if err := s.print(nil, b); err != nil {
		t.Fatal(err)
	}
	want := "\r\x1b[J  I am saying something that takes two\r\n  rows here.\r\n● working\r\nsteer › no\r\x1b[10C"
	if out.String() != want {
		t.Errorf("drawn as %q, want %q", out.String(), want)
	}
	out.Reset()
	b.words = ""
	if err := s.print([]line{{text: "a line"}}, b); err != nil {
		t.Fatal(err)
	}
	want = "\r\x1b[3A\x1b[Ja line\r\n● working\r\nsteer › no\r\x1b[10C"
	if out.String() != want {
		t.Errorf("drawn as %q, want %q", out.String(), want)
	}
	if got := s.erase(); got != "\r\x1b[1A\x1b[J" {
		t.Errorf("erased by %q", got)
	}
}

func TestCleanTakesOutWhatSteersATerminal(t *testing.T) {
	got := clean("a\x1b]0;title\ab\u202ec\td\r\n\u009be\xff\x1b[31;1mf\x1b[0m\x1b\n")
	if want := "abc    d\ne\uFFFDf"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestChoose(t *testing.T) {
	actions := []protocol.Action{{Title: "Take"}, {Title: "Say…", Ask: &protocol.ActionAsk{Param: "text"}}, {Title: "Resume"}}
	for _, c := range []struct{ text, title, words string }{
		{"1", "Take", ""}, {"2", "Resume", ""}, {"no, deeper", "Say…", "no, deeper"},
	} {
		a, words, err := choose(actions, c.text)
		if err != nil || a.Title != c.title || words != c.words {
			t.Errorf("%q takes %q with %q, %v", c.text, a.Title, words, err)
		}
	}
	for _, text := range []string{"0", "3"} {
		if a, _, err := choose(actions, text); err == nil {
			t.Errorf("%q takes %q", text, a.Title)
		}
	}
	if a, _, err := choose(actions[:1], "words"); err == nil {
		t.Errorf("words take %q", a.Title)
	}
}

func TestALineStaysWhatItWasBegunAs(t *testing.T) {
	f := &follower{pic: newPicture(sessionIn(protocol.Executing))}
	f.meaning()
	f.typed.set("rename")
	if len(f.meaning()) != 0 {
		t.Error("with nothing to answer the line is no steer")
	}
	if _, err := f.pic.show(decisionStory(t)[0]); err != nil {
		t.Fatal(err)
	}
	if len(f.meaning()) != 0 {
		t.Error("a steer that was begun answers a decision that came later")
	}
	f.typed.set("")
	if len(f.meaning()) != 3 || f.prompt() != "1–2, or your words › " {
		t.Errorf("an empty line answers %v", f.meaning())
	}
	f.typed.set("other")
	if _, err := f.pic.show(decisionStory(t)[1]); err != nil {
		t.Fatal(err)
	}
	if len(f.meaning()) != 3 {
		t.Error("an answer that was begun becomes a steer")
	}
}

func TestSlash(t *testing.T) {
	for _, c := range []struct {
		text, name, rest string
		ok               bool
	}{
		{"/pause it hurts", "pause", "it hurts", true}, {"/nonsense", "nonsense", "", true},
		{"/etc/hosts is wrong", "", "", false}, {"/srv/x.go", "", "", false}, {"no", "", "", false}, {"/foo is a route", "", "", false},
	} {
		name, rest, ok := slash(c.text)
		if ok != c.ok || ok && (name != c.name || rest != c.rest) {
			t.Errorf("%q is %q, %q, %v", c.text, name, rest, ok)
		}
	}
}
