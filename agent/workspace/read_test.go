package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{
		"f": "a\r\nb\r\n\tc", "bom": bom + "x\n", "latin": "caf\xe9\n", "utf16": "\xff\xfea\x00\n\x00", "utf16be": "\xfe\xff\x00a\x00\n", "empty": "", "damaged": "é ü \xff\n", "bin": "a\x00",
	})
	for _, c := range []struct {
		path        string
		first, last int
		want        string
		note        string
	}{
		{"f", 0, 0, "a\nb\n\tc", ""},
		{"f", 2, 2, "b\n", ""},
		{"f", 2, 99, "b\n\tc", ""},
		{"bom", 0, 0, "x\n", ""},
		{"latin", 0, 0, "café\n", "Latin-1"},
		{"utf16", 0, 0, "a\n", "UTF-16"},
		{"utf16be", 0, 0, "a\n", "UTF-16"},
		{"empty", 0, 0, "", ""},
		{"damaged", 0, 0, "é ü \ufffd\n", "no UTF-8"},
	} {
		text, err := w.Read(c.path, c.first, c.last)
		if err != nil || text.Text != c.want || !strings.Contains(text.Note, c.note) || c.note == "" && text.Note != "" {
			t.Errorf("%s %d–%d: %+v %v", c.path, c.first, c.last, text, err)
		}
	}
	for path, says := range map[string]string{"bin": "binary", ".": "is a folder", "nope": "there is no nope"} {
		if _, err := w.Read(path, 0, 0); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := w.Read("f", 7, 9); err == nil || !strings.Contains(err.Error(), "3 lines") {
		t.Errorf("%v", err)
	}
}

// A long file is read in parts that make up the whole, each within the bounds.
func TestReadInParts(t *testing.T) {
	var whole strings.Builder
	for i := range 9_000 {
		fmt.Fprintf(&whole, "%d %s\n", i, strings.Repeat("x", i%60))
	}
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"f": whole.String()})
	var got strings.Builder
	parts := 0
	for at := 1; ; {
		text, err := w.Read("f", at, 0)
		if err != nil {
			t.Fatal(err)
		}
		parts++
		got.WriteString(text.Text)
		if len(text.Text) > maxText || text.Last-text.First >= maxLines || text.Total != 9_000 {
			t.Fatalf("out of bounds: %d bytes, %d–%d of %d", len(text.Text), text.First, text.Last, text.Total)
		}
		if at = text.Last + 1; text.Note == "" {
			break
		}
		if want := fmt.Sprintf("start_line %d", at); !strings.Contains(text.Note, want) {
			t.Fatalf("the note %q does not say %s", text.Note, want)
		}
	}
	if got.String() != whole.String() || parts < 5 {
		t.Fatalf("%d parts make up %d bytes of %d", parts, got.Len(), whole.Len())
	}
}

func TestReadOfOneLongLine(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"f": strings.Repeat("é", 3_000_000) + "\nnext\n"})
	text, err := w.Read("f", 1, 0)
	if err != nil || len(text.Text) > maxText || text.Last != 1 || !strings.Contains(text.Note, "6000000 bytes") || !strings.Contains(text.Note, "start_line 2") {
		t.Fatalf("%d bytes, %+v %v", len(text.Text), text.Note, err)
	}
	if text, err = w.Read("f", 2, 0); err != nil || text.Text != "next\n" {
		t.Fatalf("%q %v", text.Text, err)
	}
}

func TestReadOfAFileThatIsTooLarge(t *testing.T) {
	w, _ := open(t, Options{})
	lay(t, w, map[string]string{"f": ""})
	if err := os.Truncate(filepath.Join(w.Dir(), "f"), maxFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Read("f", 1, 1); err == nil || !strings.Contains(err.Error(), "too large") {
		t.Fatal(err)
	}
}

func TestInstructions(t *testing.T) {
	w, home := open(t, Options{})
	write(t, filepath.Join(home, "AGENTS.md"), "outside")
	lay(t, w, map[string]string{"AGENTS.md": "root\n", "a/b/AGENTS.md": "near\n", "a/b/c/f.go": "", "long/AGENTS.md": strings.Repeat("word word\n", 5_000)})
	for dir, want := range map[string]string{"": "root\n", ".": "root\n", "a/b/c": "near\n|root\n", "a/b/c/f.go": "near\n|root\n", "a": "root\n", "not/there": "root\n"} {
		all, err := w.Instructions(t0, dir)
		var texts []string
		for _, i := range all {
			texts = append(texts, i.Text)
		}
		if got := strings.Join(texts, "|"); err != nil || got != want {
			t.Errorf("%q: %q, want %q (%v)", dir, got, want, err)
		}
	}
	all, err := w.Instructions(t0, "long")
	if err != nil || len(all) != 2 || all[0].Path != "long/AGENTS.md" || len(all[0].Text) > maxInstructions+64 || !strings.Contains(all[0].Text, "bytes more were cut") {
		t.Fatalf("%v", err)
	}
	if err := os.Remove(filepath.Join(w.Dir(), "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../AGENTS.md", filepath.Join(w.Dir(), "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	if all, err := w.Instructions(t0, "."); err == nil {
		t.Fatalf("instructions from outside: %v", all)
	}
}
