package workspace

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// buffers are the open documents of an editor.
type buffers map[string]struct {
	text    string
	version int32
}

func (b buffers) Text(path string) (string, int32, bool) {
	d, open := b[path]
	return d.text, d.version, open
}

// editor takes edits of a document that has the version they were made for.
func (b buffers) apply(_ context.Context, path string, version int32, old, new string) error {
	d, open := b[path]
	if !open || d.version != version || d.text != old {
		return errors.New("the document has another version")
	}
	d.text, d.version = new, version+1
	b[path] = d
	return nil
}

func TestOpenDocuments(t *testing.T) {
	b := buffers{"a.go": {"package a\r\n\r\n/* \U0001F600 */ func unsaved() {}\r\n", 7}}
	w, _ := open(t, Options{Buffers: b, Apply: b.apply})
	lay(t, w, map[string]string{"a.go": "package a\n"})
	text, err := w.Read("a.go", 0, 0)
	if err != nil || !strings.Contains(text.Text, "func unsaved()") || strings.Contains(text.Text, "\r") {
		t.Fatalf("%+v %v", text, err)
	}
	before := b["a.go"].text
	r, err := w.Edit(t0, "a.go", []Edit{{Old: "func unsaved() {}\n", New: "func renamed() {}\n\n"}})
	if err != nil {
		t.Fatal(err)
	}
	after := "package a\r\n\r\n/* \U0001F600 */ func renamed() {}\r\n\r\n"
	if b["a.go"].text != after || read(t, w, "a.go") != "package a\n" {
		t.Fatalf("document %q, disk %q", b["a.go"].text, read(t, w, "a.go"))
	}
	wantImages(t, w, r.Changes, before, after)
	if _, err := w.Write(t0, "a.go", "package b\n"); err != nil || b["a.go"].text != "package b\r\n" {
		t.Fatalf("%q %v", b["a.go"].text, err)
	}
}

func TestOpenDocumentThatTheEditorDoesNotChange(t *testing.T) {
	b := buffers{"a.go": {"package a\n", 7}}
	refuse := func(context.Context, string, int32, string, string) error { return errors.New("applied: false") }
	for name, apply := range map[string]func(context.Context, string, int32, string, string) error{"refuses": refuse, "cannot": nil} {
		w, home := open(t, Options{Buffers: b, Apply: apply})
		lay(t, w, map[string]string{"a.go": "package a\n"})
		before := tree(t, home)
		r, err := w.Edit(t0, "a.go", []Edit{{Old: "package a", New: "package b"}})
		if err == nil || len(r.Changes) != 0 || strings.Join(before, "") != strings.Join(tree(t, home), "") {
			t.Fatalf("%s: %+v %v", name, r, err)
		}
	}
}

func TestUnsavedTextIsNotDeletedOrMoved(t *testing.T) {
	b := buffers{"a.go": {"unsaved\n", 1}, "same.go": {"saved\n", 1}}
	w, _ := open(t, Options{Buffers: b, Apply: b.apply})
	lay(t, w, map[string]string{"a.go": "saved\n", "same.go": "saved\n"})
	if _, err := w.Delete(t0, "a.go"); err == nil {
		t.Fatal("deleted")
	}
	if _, err := w.Move(t0, "a.go", "b.go"); err == nil {
		t.Fatal("moved")
	}
	if _, err := w.Delete(t0, "same.go"); err != nil {
		t.Fatal(err)
	}
}

func TestWholeDocumentChangedSinceRead(t *testing.T) {
	b := buffers{"a.go": {"one\n", 1}}
	w, _ := open(t, Options{Buffers: b, Apply: b.apply})
	lay(t, w, map[string]string{"a.go": "disk\n"})
	if _, err := w.Read("a.go", 0, 0); err != nil {
		t.Fatal(err)
	}
	b["a.go"] = struct {
		text    string
		version int32
	}{"two\n", 2}
	if _, err := w.Write(t0, "a.go", "mine\n"); !errors.Is(err, ErrChanged) || b["a.go"].text != "two\n" {
		t.Fatalf("%v, %q", err, b["a.go"].text)
	}
}
