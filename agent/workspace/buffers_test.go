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

func (b buffers) Base(string) (string, bool) { return "", false }

func (b buffers) Saved(string) {}

// editor takes edits of a document that has the version they were made for.
func (b buffers) apply(_ context.Context, path string, version int32, old, new string) (string, error) {
	d, open := b[path]
	if !open || d.version != version || d.text != old {
		return "", errors.New("the document has another version")
	}
	d.text, d.version = new, version+1
	b[path] = d
	return new, nil
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
	refuse := func(context.Context, string, int32, string, string) (string, error) {
		return "", errors.New("applied: false")
	}
	for name, apply := range map[string]func(context.Context, string, int32, string, string) (string, error){"refuses": refuse, "cannot": nil} {
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

// What was saved before stays saved: a command of the agent would see the old text otherwise.
func TestSavedDocumentStaysSaved(t *testing.T) {
	for name, c := range map[string]struct{ disk, text, after string }{
		"plain":       {"package a\n", "package a\n", "package b\n"},
		"mark":        {bom + "package a\n", "package a\n", bom + "package b\n"},
		"latin1":      {"package a // \xe9\n", "package a // \u00e9\n", "package b // \xe9\n"},
		"editor's":    {"package a\n\r\n", "package a\n\n", "package b\n\n"},
		"no file yet": {"", "", "package b\n"},
	} {
		t.Run(name, func(t *testing.T) {
			b := buffers{"a.go": {c.text, 7}}
			w, _ := open(t, Options{Buffers: b, Apply: b.apply})
			if c.disk != "" {
				lay(t, w, map[string]string{"a.go": c.disk})
			}
			r, err := w.Edit(t0, "a.go", []Edit{{Old: strings.TrimSuffix(strings.SplitAfter(c.text, " a")[0], "\n"), New: "package b"}})
			if c.disk == "" {
				r, err = w.Write(t0, "a.go", "package b\n")
			}
			if err != nil || len(r.Notes) != 0 {
				t.Fatal(err, r.Notes)
			}
			if read(t, w, "a.go") != c.after {
				t.Errorf("disk %q, want %q", read(t, w, "a.go"), c.after)
			}
		})
	}
}

// Unsaved text of the developer is not written to disk by an edit of the agent, who is told so.
func TestUnsavedDocumentStaysUnsaved(t *testing.T) {
	b := buffers{"a.go": {"package a // unsaved\n", 7}}
	w, _ := open(t, Options{Buffers: b, Apply: b.apply})
	lay(t, w, map[string]string{"a.go": "package a\n"})
	r, err := w.Edit(t0, "a.go", []Edit{{Old: "package a", New: "package b"}})
	if err != nil || read(t, w, "a.go") != "package a\n" || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "unsaved text") {
		t.Fatalf("%v %v, disk %q", err, r.Notes, read(t, w, "a.go"))
	}
}

// An editor that gives the text another form is believed: the image is what it has.
func TestEditorsFormIsTheImage(t *testing.T) {
	b := buffers{"a.go": {"a\r\nb\r\n", 1}}
	w, _ := open(t, Options{Buffers: b, Apply: func(_ context.Context, _ string, _ int32, _, new string) (string, error) {
		return new + "\r\n", nil // as an editor that ends every text with a line end
	}})
	lay(t, w, map[string]string{"a.go": "a\r\nb\r\n"})
	r, err := w.Edit(t0, "a.go", []Edit{{Old: "b\n", New: "c"}})
	if err != nil {
		t.Fatal(err)
	}
	wantImages(t, w, r.Changes, "a\r\nb\r\n", "a\r\nc\r\n")
	if got := read(t, w, "a.go"); got != "a\r\nc\r\n" {
		t.Errorf("disk %q", got)
	}
}

// A file that changes on disk just then keeps its bytes; the change in the editor stands and says so.
func TestFileThatChangesUnderTheEditor(t *testing.T) {
	b := buffers{"a.go": {"package a\n", 1}}
	var w *Workspace
	w, _ = open(t, Options{Buffers: b, Apply: func(ctx context.Context, path string, version int32, old, new string) (string, error) {
		lay(t, w, map[string]string{"a.go": "package other\n"})
		return b.apply(ctx, path, version, old, new)
	}})
	lay(t, w, map[string]string{"a.go": "package a\n"})
	r, err := w.Edit(t0, "a.go", []Edit{{Old: "package a", New: "package b"}})
	if err != nil || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "not written") || read(t, w, "a.go") != "package other\n" {
		t.Fatalf("%v %v, disk %q", err, r.Notes, read(t, w, "a.go"))
	}
}

// An editor that saves what it changed has done what is to be done.
func TestEditorThatSavesByItself(t *testing.T) {
	b := buffers{"a.go": {"package a\n", 1}}
	var w *Workspace
	w, _ = open(t, Options{Buffers: b, Apply: func(ctx context.Context, path string, version int32, old, new string) (string, error) {
		lay(t, w, map[string]string{"a.go": new})
		return b.apply(ctx, path, version, old, new)
	}})
	lay(t, w, map[string]string{"a.go": "package a\n"})
	r, err := w.Edit(t0, "a.go", []Edit{{Old: "package a", New: "package b"}})
	if err != nil || len(r.Notes) != 0 || read(t, w, "a.go") != "package b\n" {
		t.Fatalf("%v %v, disk %q", err, r.Notes, read(t, w, "a.go"))
	}
}
