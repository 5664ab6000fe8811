package server

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tandem/protocol"
	"tandem/server/document"
)

// An editor is a client that holds documents open and changes them when it is asked to, as LSP
// says. Its manner says how it takes the next edits; "" is as it should.
type coder struct {
	*peer
	enc protocol.PositionEncoding

	mu     sync.Mutex
	docs   map[string]document.Document
	asked  []protocol.ApplyEditParams
	manner string
}

// edits connects an editor that works in the workspace, by a name of its own.
func (h *house) edits(name string, encodings ...protocol.PositionEncoding) *coder {
	h.t.Helper()
	return h.editsIn(name, params{"general": params{"positionEncodings": encodings},
		"workspace": params{"applyEdit": true, "workspaceEdit": params{"documentChanges": true}}}, h.dir)
}

func (h *house) editsIn(name string, can params, dirs ...string) *coder {
	h.t.Helper()
	e := &coder{peer: h.guest(), docs: map[string]document.Document{}}
	e.peer.edits = e.edit
	var folders []params
	for _, dir := range dirs {
		folders = append(folders, params{"uri": fileURI(dir), "name": filepath.Base(dir)})
	}
	var r protocol.InitializeResult
	e.ok(protocol.LSPInitialize, params{"rootUri": fileURI(dirs[0]), "workspaceFolders": folders, "capabilities": can,
		"initializationOptions": params{"tandem": params{"trusted": true, "client": name}}}, &r)
	e.enc = r.Capabilities.PositionEncoding
	return e
}

// opens opens a document with a text, at version 7.
func (e *coder) opens(uri, text string) {
	e.t.Helper()
	e.mu.Lock()
	e.docs[uri] = document.Document{Version: 7, Text: text}
	e.mu.Unlock()
	e.note(protocol.LSPDidOpen, params{"textDocument": params{"uri": uri, "languageId": "go", "version": 7, "text": text}})
	e.settles()
}

// types replaces a piece of a document, as a developer does, and tells it as one change.
func (e *coder) types(uri, old, with string) {
	e.t.Helper()
	e.change(uri, func(text string) string {
		if !strings.Contains(text, old) {
			e.t.Errorf("%s does not hold %q", text, old)
		}
		return strings.Replace(text, old, with, 1)
	})
	e.settles()
}

func (e *coder) change(uri string, to func(string) string) {
	e.t.Helper()
	e.mu.Lock()
	was := e.docs[uri]
	now := document.Document{Version: was.Version + 1, Text: to(was.Text)}
	e.docs[uri] = now
	e.mu.Unlock()
	var changes []params
	for _, c := range slices.Backward(document.Edits(was.Text, now.Text, e.enc)) { // the last first: each is for the text before it
		changes = append(changes, params{"range": c.Range, "text": c.NewText})
	}
	e.note(protocol.LSPDidChange, params{"textDocument": params{"uri": uri, "version": now.Version}, "contentChanges": changes})
}

func (e *coder) closes(uri string) {
	e.t.Helper()
	e.note(protocol.LSPDidClose, params{"textDocument": params{"uri": uri}})
	e.settles()
}

func (e *coder) saves(uri string) {
	e.t.Helper()
	e.note(protocol.LSPDidSave, params{"textDocument": params{"uri": uri}})
	e.settles()
}

func (e *coder) text(uri string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.docs[uri].Text
}

// settles waits until the daemon has taken what was told: a request is begun behind it.
func (e *coder) settles() {
	e.t.Helper()
	e.ok(protocol.MethodList, params{}, nil)
}

// edit answers an edit that the daemon asks for.
func (e *coder) edit(id int, p protocol.ApplyEditParams) {
	e.mu.Lock()
	e.asked = append(e.asked, p)
	manner := e.manner
	e.mu.Unlock()
	switch manner {
	case "hangs":
		return
	case "dies":
		e.conn.Close()
		return
	case "refuses":
		e.answers(id, `{"applied":false,"failureReason":"the buffer is locked"}`)
		return
	case "fails":
		e.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32603,"message":"out of order"}}`, id))
		return
	case "is typed into instead":
		for uri := range editsByURI(p) {
			e.change(uri, func(text string) string { return text + "// typed\n" })
		}
		fallthrough
	case "pretends":
		e.answers(id, `{"applied":true}`)
		return
	case "answers first":
		e.answers(id, `{"applied":true}`)
	}
	for uri, edits := range editsByURI(p) {
		e.change(uri, func(text string) string {
			for _, c := range slices.Backward(edits) {
				start, end := document.Span(text, c.Range, e.enc)
				text = text[:start] + c.NewText + text[end:]
			}
			return e.also(manner, text)
		})
	}
	if manner != "answers first" {
		e.answers(id, `{"applied":true}`)
	}
}

// also is what an editor of a manner makes of a text beside an edit.
func (e *coder) also(manner, text string) string {
	switch manner {
	case "ends lines its own way":
		return strings.ReplaceAll(text, "\n", "\r\n")
	case "is typed into":
		return "// typed\n" + text
	}
	return text
}

func editsByURI(p protocol.ApplyEditParams) map[string][]protocol.TextEdit {
	out := map[string][]protocol.TextEdit{}
	for uri, edits := range p.Edit.Changes {
		out[string(uri)] = edits
	}
	for _, c := range p.Edit.DocumentChanges {
		out[string(c.TextDocument.URI)] = c.Edits
	}
	return out
}

func (e *coder) answers(id int, result string) {
	e.raw(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":%s}`, id, result))
}

func (e *coder) raw(body string) {
	if _, err := fmt.Fprintf(e.conn, "Content-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		e.t.Errorf("answer: %v", err)
	}
}

// The calls of the scripted model in these tests.
func reads(path string) reply {
	return work("read_file", fmt.Sprintf(`{"intent":"I read.","step":"s1","path":%q}`, path))
}

func changes(path, old, new string) reply {
	return work("edit_file", fmt.Sprintf(`{"intent":"I edit.","step":"s1","path":%q,"edits":[{"old":%q,"new":%q}]}`, path, old, new))
}

// later is a reply that takes its time, in which the developer can do something.
func later(r reply) reply { return reply{slow: time.Minute, rest: r.body} }

// last is what the latest question adds.
func (m *scripted) last(n int) string {
	before := ""
	if n > 0 {
		before = m.question(n - 1)
	}
	return strings.TrimPrefix(m.question(n), before)
}

func (h *house) disk(name string) string {
	h.t.Helper()
	data, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(data)
}

const unsaved = "package a\n\n/* \U0001F600 */ func unsaved() {}\n"

// The agent reads what is not saved yet, and edits it where it stands: in the editor, in the
// editor's positions, at the editor's version, and no more of it than changes.
func TestUnsavedTextIsReadAndEdited(t *testing.T) {
	for _, encodings := range [][]protocol.PositionEncoding{nil, {protocol.UTF16}, {protocol.UTF16, protocol.UTF8}} {
		for _, manner := range []string{"", "answers first"} {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, map[string]string{"a.go": "package a\n"})
				h.model.will(reads("a.go"), changes("a.go", "func unsaved() {}", "func renamed() {}"), says("Done."))
				e := h.edits("vim", encodings...)
				e.manner = manner
				e.opens(h.uri("a.go"), unsaved)
				e.start(params{})
				e.untilHas(protocol.NoteModeChanged, "waiting")
				if got := h.model.last(1); !strings.Contains(got, "func unsaved()") {
					t.Errorf("the agent read: %s", got)
				}
				if got := h.model.last(2); !strings.Contains(got, "commands see the file as it is on disk") || strings.Contains(got, "[edited]") {
					t.Errorf("the agent is told: %s", got)
				}
				if got := e.text(h.uri("a.go")); got != strings.Replace(unsaved, "unsaved", "renamed", 1) || h.disk("a.go") != "package a\n" {
					t.Errorf("%v: the document is %q, the file %q", encodings, got, h.disk("a.go"))
				}
				if len(e.asked) != 1 || len(e.asked[0].Edit.DocumentChanges) != 1 || *e.asked[0].Edit.DocumentChanges[0].TextDocument.Version != 7 {
					t.Fatalf("the editor was asked for %+v", e.asked)
				}
				if c := e.asked[0].Edit.DocumentChanges[0].Edits; len(c) != 1 || c[0].NewText != "renam" {
					t.Errorf("the edit is %+v", c)
				}
			})
		}
	}
}

// A document that was saved is saved after the edit of the agent too: its commands would see the
// old text otherwise. What one editor shows, another that reads the file again has too, and none
// of it is told as the developer's doing.
func TestSavedDocumentIsSavedAgain(t *testing.T) {
	for _, manner := range []string{"", "ends lines its own way"} {
		synctest.Test(t, func(t *testing.T) {
			h := newHouse(t, map[string]string{"a.go": "package a\n"})
			h.model.will(reads("a.go"), later(changes("a.go", "package a", "package b")), later(changes("a.go", "package b", "package c")), later(says("Done.")))
			e, other := h.edits("vim"), h.edits("code")
			other.opens(h.uri("a.go"), "package a\n")
			e.opens(h.uri("a.go"), "package a\n")
			e.manner = manner
			e.start(params{})
			h.model.question(2)
			other.types(h.uri("a.go"), other.text(h.uri("a.go")), h.disk("a.go"))
			e.untilHas(protocol.NoteModeChanged, "waiting")
			want := e.text(h.uri("a.go"))
			if len(other.asked) == 1 { // it told last
				want = other.text(h.uri("a.go"))
			}
			if h.disk("a.go") != want || !strings.HasPrefix(want, "package c") {
				t.Errorf("the file is %q, the document %q", h.disk("a.go"), want)
			}
			if got := h.model.question(3); strings.Contains(got, "[edited]") || strings.Contains(got, "unsaved text") {
				t.Errorf("the agent is told: %s", got)
			}
			if len(e.asked)+len(other.asked) != 2 {
				t.Errorf("%d edits went to one editor, %d to the other", len(e.asked), len(other.asked))
			}
		})
	}
}

// An edit counts when the editor's text shows it, whatever it answers. Else it has failed, in
// words, soon, and nothing was changed.
func TestEditThatTheEditorDoesNotMake(t *testing.T) {
	for manner, why := range map[string]string{
		"refuses": "the buffer is locked", "pretends": "does not show the change", "is typed into instead": "does not show the change", "hangs": "did not answer within 10s",
		"fails": "out of order", "dies": "did not make the change",
	} {
		t.Run(manner, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, map[string]string{"a.go": "package a\n"})
				h.model.will(changes("a.go", "package a", "package b"), says("It did not work."))
				p, e := h.client(), h.edits("vim")
				e.opens(h.uri("a.go"), unsaved)
				e.manner = manner
				p.start(params{})
				begun, most := time.Now(), time.Second
				switch manner {
				case "hangs":
					most = 11 * time.Second
				case "pretends", "is typed into instead":
					most = 4 * time.Second
				}
				p.untilHas(protocol.NoteModeChanged, "waiting")
				if took := time.Since(begun); took > most {
					t.Errorf("it took %s", took)
				}
				got := h.model.last(1)
				if !strings.Contains(got, why) || !strings.Contains(got, "vim") || !strings.Contains(got, "Refused") {
					t.Errorf("the agent is told: %s", got)
				}
				if h.disk("a.go") != "package a\n" {
					t.Errorf("the file is %q", h.disk("a.go"))
				}
			})
		})
	}
}

// An editor that cannot be asked for edits keeps its unsaved text; what it has saved is changed on
// disk, where it finds it. One that knows no versions gets edits without.
func TestEditorsThatCanDoLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a.go": "package a\n", "b.go": "package a\n"})
		h.model.will(changes("a.go", "package a", "package b"), changes("b.go", "package a", "package b"), says("Done."))
		e := h.editsIn("ed", params{}, h.dir)
		e.opens(h.uri("a.go"), unsaved)
		e.opens(h.uri("b.go"), "package a\n")
		e.start(params{})
		e.untilHas(protocol.NoteModeChanged, "waiting")
		if got := h.model.last(1); !strings.Contains(got, "ask the developer to save") {
			t.Errorf("the agent is told: %s", got)
		}
		if h.disk("a.go") != "package a\n" || h.disk("b.go") != "package b\n" || len(e.asked) != 0 {
			t.Errorf("files %q and %q, %d edits", h.disk("a.go"), h.disk("b.go"), len(e.asked))
		}

		h.model.will(changes("c.go", "package a", "package b"), says("Done."))
		plain := h.editsIn("plain", params{"workspace": params{"applyEdit": true}}, h.dir)
		plain.opens(h.uri("c.go"), "package a // new\n")
		plain.start(params{})
		plain.untilHas(protocol.NoteModeChanged, "waiting")
		if plain.text(h.uri("c.go")) != "package b // new\n" || plain.asked[0].Edit.DocumentChanges != nil {
			t.Errorf("%q, by %+v", plain.text(h.uri("c.go")), plain.asked)
		}
	})
}

// What the developer types while an edit is on its way, in one change with it, is no conflict; the
// agent is told of it.
func TestTypingWhileAnEditIsMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a.go": "package a\n"})
		h.model.will(reads("a.go"), changes("a.go", "unsaved()", "renamed()"),
			work("write_file", `{"intent":"I write.","step":"s1","path":"a.go","content":"package b\n"}`), says("Done."))
		e := h.edits("vim")
		e.opens(h.uri("a.go"), unsaved)
		e.manner = "is typed into"
		e.start(params{})
		e.untilHas(protocol.NoteModeChanged, "waiting")
		if got := h.model.last(2); !strings.Contains(got, "Edited a.go") || !strings.Contains(got, "[edited] The text of a.go was changed in vim") {
			t.Errorf("the agent is told: %s", got)
		}
		if got := h.model.last(3); !strings.Contains(got, "changed since you read it") || !strings.HasPrefix(e.text(h.uri("a.go")), "// typed\n") {
			t.Errorf("it writes over what it has not seen: %s", got)
		}
	})
}

// Of two editors with one file, unsaved text counts before saved text, then what changed last; an
// edit goes there alone. What goes with an editor, or is closed, does not count any more.
func TestTwoEditorsWithOneFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a.go": "saved\n"})
		a, b := h.edits("vim"), h.edits("code")
		at := h.uri("a.go")
		counts := func(want string) {
			t.Helper()
			synctest.Wait()
			if now, open := h.documents.text(filepath.Join(h.dir, "a.go")); now.Text != want || open != (want != "") {
				t.Errorf("%q counts (open %v), want %q", now.Text, open, want)
			}
		}
		a.opens(at, "saved\n")
		a.types(at, "saved", "a's")
		b.opens(at, "saved\n")
		counts("a's\n")
		b.types(at, "saved", "b's")
		counts("b's\n")
		a.types(at, "a's", "a's again")
		counts("a's again\n")
		write(t, h.dir, map[string]string{"a.go": "a's again\n"})
		a.saves(at)
		counts("b's\n")
		h.model.will(changes("a.go", "b's", "the agent's"), says("Done."))
		a.start(params{})
		a.untilHas(protocol.NoteModeChanged, "waiting")
		if len(a.asked) != 0 || len(b.asked) != 1 || b.text(at) != "the agent's\n" || h.disk("a.go") != "a's again\n" {
			t.Errorf("%d edits went to one, %d to the other: %q; the file is %q", len(a.asked), len(b.asked), b.text(at), h.disk("a.go"))
		}
		b.hangUp()
		counts("a's again\n")
		a.closes(at)
		counts("")
	})
}

// Where a file changes on disk under a document that was saved, the file is the truer copy, until
// the editor has read it again; that is not told as the developer's doing where the agent knows it.
func TestFileThatChangesUnderItsDocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a.go": "one\n"})
		at := h.uri("a.go")
		h.model.will(reads("a.go"), later(reads("a.go")), later(changes("a.go", "two", "three")), later(changes("a.go", "three", "four")), later(says("Done.")))
		e := h.edits("vim")
		e.opens(at, "one\n")
		e.start(params{})
		h.model.question(1)
		write(t, h.dir, map[string]string{"a.go": "two\n"})
		if got := h.model.last(2); !strings.Contains(got, "two") {
			t.Errorf("the agent read: %s", got)
		}
		h.model.question(3)
		if h.disk("a.go") != "three\n" || len(e.asked) != 0 {
			t.Errorf("the file is %q after %d edits in the editor", h.disk("a.go"), len(e.asked))
		}
		e.types(at, "one", "three") // it has read the file again
		h.model.question(4)
		if h.disk("a.go") != "four\n" || e.text(at) != "four\n" || len(e.asked) != 1 {
			t.Errorf("the file is %q, the document %q, after %d edits in the editor", h.disk("a.go"), e.text(at), len(e.asked))
		}
		if got := h.model.question(4); strings.Contains(got, "[edited]") {
			t.Errorf("the agent is told: %s", got)
		}
	})
}

// What the developer edits by hand is told before the next step, once a file, where it concerns
// the agent; also when text that the agent has read is given up.
func TestEditsByHandAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a.go": "one\n", "b.go": "one\n"})
		h.model.will(reads("a.go"), later(reads("a.go")), later(reads("a.go")), later(says("Done.")))
		e := h.edits("vim")
		e.opens(h.uri("a.go"), "one\n")
		e.opens(h.uri("b.go"), "one\n")
		e.start(params{})
		h.model.question(1)
		for range 3 {
			e.types(h.uri("a.go"), "one", "one, two")
			e.types(h.uri("b.go"), "one", "one, two")
		}
		got := h.model.last(2)
		if strings.Count(got, "[edited]") != 1 || !strings.Contains(got, "[edited] The text of a.go was changed in vim") || !strings.Contains(got, "one, two, two, two") {
			t.Errorf("the agent is told: %s", got)
		}
		e.closes(h.uri("a.go"))
		if got := h.model.last(3); strings.Count(got, "[edited]") != 1 || !strings.Contains(got, "one\\n") {
			t.Errorf("after the text was given up: %s", got)
		}
		e.untilHas(protocol.NoteModeChanged, "waiting")
		e.hangUp()
		p := h.client()
		var r protocol.HistoryResult
		p.ok(protocol.MethodHistory, at(h.only(p)), &r)
		if n := len(slices.DeleteFunc(r.Events, func(ev protocol.HistoryEvent) bool { return ev.Kind != "fileEdited" })); n != 2 {
			t.Errorf("%d edits by hand are remembered", n)
		}
	})
}

// Text that goes with its editor is no news to an agent that has never seen it.
func TestTextThatNobodySaw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a.go": "one\n", "b.go": "one\n"})
		h.model.will(reads("a.go"), later(reads("b.go")), later(reads("b.go")), says("Done."))
		e := h.edits("vim")
		e.start(params{})
		h.model.question(1)
		e.opens(h.uri("a.go"), "unsaved\n")
		if got := h.model.last(2); !strings.Contains(got, "[edited]") {
			t.Errorf("of the text that was opened the agent is told: %s", got)
		}
		e.closes(h.uri("a.go"))
		if got := h.model.last(3); strings.Contains(got, "[edited]") {
			t.Errorf("of the text that was closed the agent is told: %s", got)
		}
	})
}

// What an editor reads again while a command of the agent runs may be that command's doing.
func TestFileThatACommandChanges(t *testing.T) {
	needsShell(t)
	h := newHouse(t, map[string]string{"a.go": "one\n"})
	h.model.will(reads("a.go"), work("run_command", `{"intent":"I format.","step":"s1","command":"echo two > a.go; echo two > done; until [ -e go ]; do sleep 0.02; done"}`),
		changes("a.go", "two", "three"), says("Done."))
	e := h.edits("vim")
	e.opens(h.uri("a.go"), "one\n")
	id := e.start(params{}).ID
	e.untilHas(protocol.NoteProgress, `"tool":"run_command"`)
	for e.disk(h, "done") != "two\n" {
		e.settles()
	}
	e.types(h.uri("a.go"), "one", "two")
	write(t, h.dir, map[string]string{"go": ""})
	e.untilHas(protocol.NoteModeChanged, "waiting")
	var r protocol.HistoryResult
	e.ok(protocol.MethodHistory, at(id), &r)
	if slices.ContainsFunc(r.Events, func(ev protocol.HistoryEvent) bool { return ev.Kind == "fileEdited" }) {
		t.Error("the command's change is told as the developer's")
	}
	if h.disk("a.go") != "three\n" || e.text(h.uri("a.go")) != "three\n" {
		t.Errorf("the file is %q, the document %q", h.disk("a.go"), e.text(h.uri("a.go")))
	}
}

// disk is a file as it is, "" while it is not there.
func (e *coder) disk(h *house, name string) string {
	data, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil && !os.IsNotExist(err) {
		e.t.Fatal(err)
	}
	return string(data)
}

// only is the id of the one session.
func (h *house) only(p *peer) string {
	h.t.Helper()
	var r protocol.ListResult
	p.ok(protocol.MethodList, params{}, &r)
	if len(r.Sessions) != 1 {
		h.t.Fatalf("%d sessions", len(r.Sessions))
	}
	return r.Sessions[0].ID
}

// An editor that goes away takes its documents with it, also while it is asked for an edit.
func TestDeadEditor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a.go": "one\n"})
		h.model.will(reads("a.go"), later(reads("a.go")), later(says("Done.")))
		p, e := h.client(), h.edits("vim")
		e.opens(h.uri("a.go"), "unsaved\n")
		e.opens(h.uri("a.go"), "unsaved\n")
		p.start(params{})
		h.model.question(1)
		e.hangUp()
		got := h.model.last(2)
		if !strings.Contains(h.model.question(1), "unsaved") || strings.Contains(got, "unsaved") || !strings.Contains(got, "[edited]") {
			t.Errorf("the agent is told: %s", got)
		}
		p.untilHas(protocol.NoteModeChanged, "waiting")
		h.documents.mu.Lock()
		defer h.documents.mu.Unlock()
		if len(h.documents.open) != 0 {
			t.Errorf("%d documents are kept", len(h.documents.open))
		}
	})
}

// What is no file of this machine is passed over, and so is what makes no sense.
func TestDocumentsThatAreNoFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a.go": "one\n"})
		e := h.edits("vim")
		for _, uri := range []string{"untitled:Untitled-1", "vscode-remote://ssh-remote%2Bhost/home/x/a.go", "git:/home/x/a.go?%7B%7D", "file://host/share/a.go",
			"file:", "file://", "", "%zz", "a.go", "file:///\x00", "file:///%00/a.go", "vscode-notebook-cell:/x.ipynb#a", strings.Repeat("file:///a", 500)} {
			e.opens(uri, "text")
			e.change(uri, func(string) string { return "other" })
			e.saves(uri)
			e.closes(uri)
		}
		for _, method := range []string{protocol.LSPDidOpen, protocol.LSPDidChange, protocol.LSPDidSave, protocol.LSPDidClose, protocol.LSPDidChangeFolders} {
			for _, p := range []any{params{}, params{"textDocument": nil}, params{"textDocument": 7}, params{"textDocument": params{"uri": 7}}, []int{1}, params{"event": params{"added": 7}}} {
				e.note(method, p)
			}
		}
		e.note(protocol.LSPDidChange, params{"textDocument": params{"uri": h.uri("never-opened.go"), "version": nil}, "contentChanges": []params{{"text": "x"}}})
		e.opens(h.uri("a.go"), "one\n")
		e.note(protocol.LSPDidChange, params{"textDocument": params{"uri": h.uri("a.go"), "version": nil}, "contentChanges": []params{
			{"range": params{"start": params{"line": 1 << 30, "character": 1 << 30}, "end": params{"line": 0, "character": 0}}, "text": "all of it"}}})
		synctest.Wait()
		if now, _ := h.documents.text(filepath.Join(h.dir, "a.go")); now.Text != "all of it" {
			t.Errorf("the text is %q", now.Text)
		}
		e.ok(protocol.MethodList, params{}, nil)
	})
}

// However an editor spells the name of a file, it is the one document.
func TestReportSpellingsOfADocument(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"sub/ä b.go": "one\n"})
		if err := os.Symlink(filepath.Join(h.dir, "sub"), filepath.Join(h.dir, "link")); err != nil {
			t.Skipf("there are no links here: %v", err)
		}
		for _, spelled := range []string{"sub/ä b.go", "sub/%C3%A4%20b.go", "sub/%c3%a4%20b.go", "link/%C3%A4%20b.go", "sub/../sub/%C3%A4%20b.go"} {
			h.model.will(reads("sub/ä b.go"), says("Done."))
			e := h.edits("vim")
			uri := "file://" + h.dir + "/" + spelled
			e.opens(uri, "unsaved\n")
			e.note(protocol.LSPDidChange, params{"textDocument": params{"uri": "file://" + h.dir + "/sub/%C3%A4 b.go", "version": 8}, "contentChanges": []params{{"text": "typed\n"}}})
			synctest.Wait()
			e.start(params{})
			e.untilHas(protocol.NoteModeChanged, "waiting")
			asked := len(h.model.asked())
			if got := h.model.last(asked - 1); !strings.Contains(got, "typed") {
				t.Errorf("%s: the agent read: %s", spelled, got)
			}
			e.hangUp()
		}
	})
}

// Of an editor with several folders each is a workspace of its own: a session sees the documents in
// its own, all that initialize named are trusted, and later ones are not.
func TestSeveralFolders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"one/a.go": "one\n", "two/a.go": "two\n", "late/a.go": "late\n"})
		one, two, late := filepath.Join(h.dir, "one"), filepath.Join(h.dir, "two"), filepath.Join(h.dir, "late")
		e := h.editsIn("code", params{}, one, two)
		for _, dir := range []string{one, two, late} {
			e.opens(fileURI(dir)+"/a.go", "unsaved in "+filepath.Base(dir)+"\n")
		}
		sees := func(p params, base string, trusted bool) {
			t.Helper()
			h.model.will(reads("a.go"), says("Done."))
			e.start(p)
			e.untilHas(protocol.NoteModeChanged, "waiting")
			asked := h.model.asked()
			text := h.model.question(len(asked) - 1)
			if !strings.Contains(text, "unsaved in "+base) || strings.Contains(text, "has not trusted") == trusted {
				t.Errorf("%v: the agent is told: %s", p, text)
			}
		}
		sees(params{}, "one", true)
		sees(params{"workspace": fileURI(two)}, "two", true)
		e.note(protocol.LSPDidChangeFolders, params{"event": params{"added": []params{{"uri": fileURI(late), "name": "late"}, {"uri": "vscode-remote://x/y", "name": "y"}},
			"removed": []params{{"uri": fileURI(one), "name": "one"}}}})
		synctest.Wait()
		sees(params{}, "two", true)
		sees(params{"workspace": fileURI(late)}, "late", false)
		sees(params{"workspace": fileURI(one)}, "one", false)
	})
}

// Places are told to each client in the positions that it counts, however the one who named them did.
func TestPlacesInEveryEncoding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a.go": "é😀 func old() {}\n"})
		wide, bytes := h.edits("vim"), h.edits("helix", protocol.UTF8)
		id := wide.start(params{}).ID
		bytes.ok(protocol.MethodAttach, at(id, "since", 0), nil)
		place := func(from, to int) params {
			return params{"location": params{"uri": h.uri("a.go"), "range": params{"start": params{"line": 0, "character": from}, "end": params{"line": 0, "character": to}}}}
		}
		bytes.ok(protocol.MethodSteer, at(id, "text", "this one", "scope", place(12, 15)), nil)
		wide.ok(protocol.MethodSteer, at(id, "text", "and this", "scope", place(9, 12)), nil)
		for _, c := range []struct {
			editor   *coder
			from, to int
		}{{wide, 9, 12}, {bytes, 12, 15}} {
			for _, text := range []string{"this one", "and this"} {
				got := string(c.editor.untilHas(protocol.NoteSteered, text).Params)
				want := fmt.Sprintf(`"range":{"end":{"character":%d,"line":0},"start":{"character":%d,"line":0}}`, c.to, c.from)
				plain := fmt.Sprintf(`"range":{"start":{"line":0,"character":%d},"end":{"line":0,"character":%d}}`, c.from, c.to)
				if !strings.Contains(got, want) && !strings.Contains(got, plain) {
					t.Errorf("%s: %s, want %d to %d", text, got, c.from, c.to)
				}
			}
		}
		var r protocol.HistoryResult
		bytes.ok(protocol.MethodHistory, at(id), &r)
		for _, e := range r.Events {
			if e.Kind == "steered" && !strings.Contains(string(e.Data), `"character":12`) {
				t.Errorf("history: %s", e.Data)
			}
		}
	})
}

func TestWhatIsOfferedForDocuments(t *testing.T) {
	h := newHouse(t, nil)
	r := h.guest().initialize(h.dir, true)
	s := r.Capabilities.TextDocumentSync
	if s == nil || !s.OpenClose || s.Change != protocol.SyncIncremental || s.Save == nil || s.Save.IncludeText || !r.Capabilities.Workspace.Folders.ChangeNotifications {
		t.Errorf("offered: %+v", r.Capabilities)
	}
}

// An edit that an editor makes when nobody waits for it any more is one of the developer's: the
// agent was told that it may come, and is told when it has.
func TestEditThatComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a.go": "package a\n"})
		h.model.will(reads("a.go"), changes("a.go", "unsaved()", "renamed()"), later(reads("a.go")), says("Done."))
		e := h.edits("vim")
		e.opens(h.uri("a.go"), unsaved)
		e.manner = "hangs"
		e.start(params{})
		if got := h.model.last(2); !strings.Contains(got, "not known") {
			t.Errorf("the agent is told: %s", got)
		}
		e.types(h.uri("a.go"), "unsaved()", "renamed()")
		if got := h.model.last(3); !strings.Contains(got, "[edited]") || !strings.Contains(got, "renamed()") {
			t.Errorf("the agent is told: %s", got)
		}
	})
}

// TestEditsAtRandom lets an editor of every manner be typed into while the agent edits. The daemon
// has the editor's text at each moment, and an edit is done exactly when the text shows it.
func TestEditsAtRandom(t *testing.T) {
	manners := []string{"", "", "answers first", "refuses", "pretends", "is typed into instead", "is typed into", "hangs", "fails"}
	for seed := range uint64(12) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			var text strings.Builder
			for i := range 12 {
				fmt.Fprintf(&text, "k%02d: old 😀\nfree\n", i)
			}
			h := newHouse(t, map[string]string{"a.txt": text.String()})
			e := h.edits("vim", []protocol.PositionEncoding{protocol.UTF16, protocol.UTF8}[seed%2])
			uri, path := h.uri("a.txt"), filepath.Join(h.dir, "a.txt")
			e.opens(uri, text.String())
			for i := range 12 {
				h.model.will(later(changes("a.txt", fmt.Sprintf("k%02d: old", i), fmt.Sprintf("k%02d: new", i))))
			}
			h.model.will(says("Done."))
			id := e.start(params{}).ID
			for i := range 12 {
				h.model.question(i)
				for range random.IntN(4) {
					e.types(uri, "free", []string{"free 😀", "fre\r\ne free", "free\nfree"}[random.IntN(3)])
					if now, _ := h.documents.text(path); now.Text != e.text(uri) {
						t.Fatalf("seed %d: the daemon has %q, the editor %q", seed, now.Text, e.text(uri))
					}
				}
				e.mu.Lock()
				e.manner = manners[random.IntN(len(manners))]
				e.mu.Unlock()
			}
			e.untilHas(protocol.NoteModeChanged, "waiting")
			var r protocol.SessionResult
			e.ok(protocol.MethodAttach, at(id), &r)
			n := 0
			for _, op := range r.Session.Operations {
				if op.Tool != "edit_file" {
					continue
				}
				done := op.Status == protocol.OpDone
				if shows := strings.Contains(e.text(uri), fmt.Sprintf("k%02d: new", n)); shows != done {
					t.Errorf("seed %d: edit %d is %s, and the text shows it: %v", seed, n, op.Status, shows)
				}
				n++
			}
			if now, _ := h.documents.text(path); now.Text != e.text(uri) || n != 12 {
				t.Errorf("seed %d: after %d edits the daemon has %q, the editor %q", seed, n, now.Text, e.text(uri))
			}
		})
	}
}

// A document that was saved behind an edit is a saved one: what changes on disk from then on counts.
func TestFileThatChangesBehindAnEdit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a.go": "one\n"})
		h.model.will(changes("a.go", "one", "two"), later(reads("a.go")), says("Done."))
		e := h.edits("vim")
		e.opens(h.uri("a.go"), "one\n")
		e.start(params{})
		h.model.question(1)
		write(t, h.dir, map[string]string{"a.go": "formatted\n"})
		if got := h.model.last(2); !strings.Contains(got, "formatted") || e.text(h.uri("a.go")) != "two\n" {
			t.Errorf("the agent read: %s; the editor has %q", got, e.text(h.uri("a.go")))
		}
	})
}
