package session

import (
	"fmt"
	"strings"
	"testing"

	"tandem/agent/workspace"
)

// change is a change of the file f, in letters: "-x" made it, "x-" deleted it.
func change(text string) workspace.Change {
	return workspace.Change{Path: "f", Before: letter(text[:1]), After: letter(text[1:])}
}

func letter(l string) *workspace.Image {
	if l == "-" {
		return nil
	}
	return &workspace.Image{Digest: l, Size: 1}
}

func letters(changes []workspace.Change) string {
	var out []string
	for _, c := range changes {
		text := ""
		for _, i := range []*workspace.Image{c.Before, c.After} {
			if i == nil {
				text += "-"
			} else {
				text += i.Digest
			}
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

func TestChangesWithoutThoseOfOthers(t *testing.T) {
	for _, test := range []struct{ diff, others, own, why string }{
		{"ab", "", "ab", "nobody else was there"},
		{"ab", "ab", "", "it was the other's"},
		{"-a", "-a", "", "the other made it"},
		{"a-", "a-", "", "the other deleted it"},
		{"ac", "ab", "bc", "the command went on from the other's"},
		{"ac", "bc", "ab", "the other went on from the command's"},
		{"ad", "bc", "ab cd", "the other came between"},
		{"ad", "ab bc cd", "", "others, one after the other"},
		{"ad", "ab cd", "bc", "between two others"},
		{"ab", "bc", "ab", "the other came after the second look"},
		{"ab", "ab bc cd", "", "one before and two after the second look"},
		{"-b", "-a a-", "-b", "made and deleted by the other, then made by the command"},
	} {
		var entries []*entry
		for _, o := range strings.Fields(test.others) {
			e := &entry{done: make(chan struct{})}
			e.end([]workspace.Change{change(o), {Path: "another", After: letter("z")}})
			entries = append(entries, e)
		}
		if got := letters(without([]workspace.Change{change(test.diff)}, entries)); got != test.own {
			t.Errorf("%s less %q is %q, want %q: %s", test.diff, test.others, got, test.own, test.why)
		}
	}
}

func TestLedgerForgets(t *testing.T) {
	l := NewLedger()
	l.enter().end(nil) // nobody looks
	first := l.begin()
	l.enter().end([]workspace.Change{change("ab")})
	second := l.begin()
	l.enter().end([]workspace.Change{change("bc")})
	if got := seen(l.since(first)); got != "ab bc" {
		t.Errorf("the first saw %q", got)
	}
	l.enter().end([]workspace.Change{change("cd")})
	if got := seen(l.since(second)); got != "bc cd" {
		t.Errorf("the second saw %q", got)
	}
	p := <-l.page
	if p.commands != 0 || p.entries != nil {
		t.Errorf("it keeps %+v", p)
	}
}

func seen(entries []*entry) string {
	var out []string
	for _, e := range entries {
		out = append(out, letters(e.changes))
	}
	return strings.Join(out, " ")
}

func TestImagesOfTheSameContent(t *testing.T) {
	link := func(to string) *workspace.Image { return &workspace.Image{Link: to} }
	large := func(size int64) *workspace.Image { return &workspace.Image{Size: size} }
	for i, test := range []struct {
		a, b *workspace.Image
		want bool
	}{
		{nil, nil, true},
		{nil, letter("a"), false},
		{letter("a"), letter("a"), true},
		{letter("a"), letter("b"), false},
		{link("a"), link("a"), true},
		{link("a"), link("b"), false},
		{large(5), large(5), true},
		{large(5), large(6), false},
		{large(1), letter("a"), true}, // the content of one is not known
	} {
		if got := fmt.Sprint(same(test.a, test.b), same(test.b, test.a)); got != fmt.Sprint(test.want, test.want) {
			t.Errorf("%d: %s", i, got)
		}
	}
}
