package server

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tandem/protocol"
	"tandem/server/face"
)

// stock connects an editor that knows LSP and nothing of Tandem. Without says what of LSP it does
// not know.
func (h *house) stock(without ...string) *peer {
	h.t.Helper()
	p := h.guest()
	text, workspace, window := params{}, params{"codeLens": params{"refreshSupport": true}}, params{"workDoneProgress": true}
	text["publishDiagnostics"] = params{}
	text["codeAction"] = params{"codeActionLiteralSupport": params{"codeActionKind": params{"valueSet": []string{"quickfix"}}}}
	for _, name := range without {
		delete(text, name)
		delete(workspace, name)
		delete(window, name)
	}
	p.ok(protocol.LSPInitialize, params{"rootUri": fileURI(h.dir), "clientInfo": params{"name": "stock"},
		"capabilities": params{"textDocument": text, "workspace": workspace, "window": window}}, nil)
	p.note(protocol.LSPInitialized, params{})
	return p
}

// note sends a notification.
func (p *peer) note(method string, params any) {
	p.t.Helper()
	raw, err := json.Marshal(params)
	if err != nil {
		p.t.Fatal(err)
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, raw)
	if _, err := fmt.Fprintf(p.conn, "Content-Length: %d\r\n\r\n%s", len(body), body); err != nil {
		p.t.Fatalf("send %s: %v", method, err)
	}
}

func (h *house) uri(name string) string { return fileURI(h.dir) + "/" + name }

// bulb asks for the code actions at a range, as line and character of both ends.
func (p *peer) bulb(uri string, at ...int) []protocol.CodeAction {
	p.t.Helper()
	var out []protocol.CodeAction
	p.ok(protocol.LSPCodeAction, params{"textDocument": params{"uri": uri}, "context": params{"diagnostics": []any{}},
		"range": params{"start": params{"line": at[0], "character": at[1]}, "end": params{"line": at[2], "character": at[3]}}}, &out)
	return out
}

func titled(list []protocol.CodeAction, says string) (protocol.CodeAction, bool) {
	i := slices.IndexFunc(list, func(a protocol.CodeAction) bool { return strings.Contains(a.Title, says) })
	if i < 0 {
		return protocol.CodeAction{}, false
	}
	return list[i], true
}

// choose takes the action with a title, as an editor does.
func (p *peer) choose(list []protocol.CodeAction, says string) answer {
	p.t.Helper()
	a, ok := titled(list, says)
	if !ok {
		p.t.Fatalf("no action says %q: %+v", says, list)
	}
	return p.call(protocol.LSPExecuteCommand, a.Command)
}

func (p *peer) lenses(uri string) []string {
	p.t.Helper()
	var list []protocol.CodeLens
	p.ok(protocol.LSPCodeLens, params{"textDocument": params{"uri": uri}}, &list)
	var out []string
	for _, l := range list {
		out = append(out, fmt.Sprintf("%d %s", l.Range.Start.Line, l.Command.Title))
	}
	return out
}

// heard are the methods that came unasked, those of the face alone.
func (p *peer) heard(prefix string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, a := range p.told {
		if strings.HasPrefix(a.Method, prefix) {
			out = append(out, a.Method)
		}
	}
	return out
}

// A stock editor steers a session that a terminal started, by a comment in text that it has not
// saved, and is told nothing that it does not know.
func TestSteerFromTheCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a.go": "package a\n"})
		h.model.will(sse{saying("working")}.hanging(), work("finish", `{"intent":"i","summary":"done"}`))
		terminal := h.client()
		s := terminal.start(params{})
		h.model.question(0)
		editor := h.stock()
		editor.note(protocol.LSPDidOpen, params{"textDocument": params{"uri": h.uri("a.go"), "languageId": "go", "version": 1,
			"text": "package a\n\n\t// tandem: ä😀 return an error,\n\t// do not panic\nfunc f() { panic(1) }\n"}})
		actions := editor.bulb(h.uri("a.go"), 3, 4, 3, 4)
		for _, want := range []string{"Steer: ä😀 return an error, do not panic", "Pause"} {
			if _, ok := titled(actions, want); !ok {
				t.Errorf("no action says %q: %+v", want, actions)
			}
		}
		if _, ok := titled(editor.bulb(h.uri("a.go"), 4, 11, 4, 19), "Steer: panic(1)"); !ok {
			t.Error("no action steers by the selected words")
		}
		if a := editor.choose(actions, "return an error"); a.Error != nil {
			t.Fatalf("it was refused: %+v", a.Error)
		}
		var p protocol.SteeredParams
		if err := json.Unmarshal(terminal.untilHas(protocol.NoteSteered, "do not panic").Params, &p); err != nil {
			t.Fatal(err)
		}
		if p.Steer.By != "stock" || p.Steer.Scope.Location.URI != h.uri("a.go") || p.Steer.Scope.Location.Range.End != (protocol.Position{Line: 3, Character: 16}) {
			t.Errorf("the steer is %+v at %+v", p.Steer, p.Steer.Scope)
		}
		if q := h.model.question(1); !strings.Contains(q, "a.go lines 3–4") {
			t.Errorf("the model is not told where: %s", q)
		}
		terminal.untilHas(protocol.NoteModeChanged, `"mode":"done"`)
		editor.untilHas(protocol.LSPShowMessage, "is done")
		if told := editor.heard("tandem/"); len(told) > 0 {
			t.Errorf("a stock editor was told %q of session %s", told, s.ID)
		}
	})
}

// A stock editor starts a session, sees what it is at, and pauses it by cancelling the progress.
func TestStartFromTheCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a.py": "# tandem: sort the names\nnames = []\n"})
		h.model.will(work(), sse{saying("working")}.hanging(), sse{saying("working")}.hanging())
		h.model.first = time.Second
		editor := h.stock()
		if a := editor.choose(editor.bulb(h.uri("a.py"), 0, 0, 0, 0), "Start: sort the names"); a.Error != nil {
			t.Fatalf("it was refused: %+v", a.Error)
		}
		var begun protocol.WorkDoneParams
		if err := json.Unmarshal(editor.untilHas(protocol.LSPProgress, `"begin"`).Params, &begun); err != nil {
			t.Fatal(err)
		}
		if begun.Value.Title != "Tandem: sort the names" || !begun.Value.Cancellable {
			t.Errorf("the progress begins with %+v", begun.Value)
		}
		editor.untilHas(protocol.LSPProgress, "step 1 «Work»")
		editor.note(protocol.LSPProgressCancel, protocol.ProgressTokenParams{Token: begun.Token})
		editor.untilHas(protocol.LSPProgress, "Paused: it is your turn.")
		actions := editor.bulb(h.uri("a.py"), 1, 0, 1, 0)
		if _, ok := titled(actions, "Start"); ok {
			t.Errorf("a session lives, and another can be started: %+v", actions)
		}
		editor.choose(actions, "Resume")
		editor.untilHas(protocol.LSPProgress, `"begin"`)
		editor.choose(editor.bulb(h.uri("a.py"), 1, 0, 1, 0), "End the session")
		editor.untilHas(protocol.LSPProgress, `"end"`)
		if told := editor.heard("tandem/"); len(told) > 0 {
			t.Errorf("a stock editor was told %q", told)
		}
		if q := h.model.question(0); !strings.Contains(q, "sort the names") || !strings.Contains(q, "a.py lines 1–1") {
			t.Errorf("the model is not told the task and where: %s", q)
		}
		editor.note(protocol.LSPProgressCancel, protocol.ProgressTokenParams{Token: begun.Token}) // it has ended
		editor.note(protocol.LSPProgressCancel, protocol.ProgressTokenParams{Token: protocol.NumberToken(7)})
	})
}

// An open decision is a lens whose seconds go down, and can be decided in its place.
func TestDecideFromTheCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"auth.ts": "one\nexport const a = 1\n"})
		h.model.will(work("announce_decision", `{"intent":"i","step":"s1","summary":"Extend the provider","rationale":"it is there","significance":"major","path":"auth.ts","line":2,
			"alternatives":[{"id":"hook","title":"Reusable hook"}]}`, "write_file", `{"intent":"i","step":"s1","path":"b","content":"b"}`), work(), says("Done."))
		terminal, editor := h.client(), h.stock()
		terminal.start(params{})
		terminal.untilHas(protocol.NoteDecision, `"open"`)
		editor.untilHas(protocol.LSPCodeLensRefresh, "")
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		refreshed := len(editor.heard(protocol.LSPCodeLensRefresh))
		if got := editor.lenses(h.uri("auth.ts")); len(got) < 3 || got[0] != "1 ◆ Extend the provider · 9 s left" && got[0] != "1 ◆ Extend the provider · 8 s left" || got[1] != "1 Keep" {
			t.Errorf("the lenses are %q", got)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := len(editor.heard(protocol.LSPCodeLensRefresh)) - refreshed; n != 2 {
			t.Errorf("in two seconds the lenses were drawn again %d times", n)
		}
		if _, ok := titled(editor.bulb(h.uri("auth.ts"), 0, 0, 0, 0), "Keep"); ok {
			t.Error("the decision is offered where it is not")
		}
		actions := editor.bulb(h.uri("auth.ts"), 1, 3, 1, 3)
		if _, ok := titled(actions, "Say otherwise"); ok {
			t.Error("a stock editor is offered what needs words")
		}
		editor.choose(actions, "Take Reusable hook · «Extend the provider»")
		terminal.untilHas(protocol.NoteDecision, `"chosen":"hook"`)
		if got := editor.lenses(h.uri("auth.ts")); len(got) != 0 {
			t.Errorf("the decision is taken, and its lenses are %q", got)
		}
		terminal.untilHas(protocol.NoteModeChanged, `"mode":"waiting"`)
		synctest.Wait()
		refreshed = len(editor.heard(protocol.LSPCodeLensRefresh))
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(editor.heard(protocol.LSPCodeLensRefresh)); n != refreshed {
			t.Errorf("nothing happens, and the lenses are drawn again %d times", n-refreshed)
		}
	})
}

// What a plan conflicts with stands in the file until the next plan, and a pause is said once.
func TestConflictsAndPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a.go": "package a\n"})
		plan := func(conflicts string) string {
			return `{"intent":"i","step":"","explanation":"e","steps":[{"id":"s1","status":"active","title":"Work","intent":"i","files":["a.go"]}],"conflicts":[` + conflicts + `]}`
		}
		h.model.will(does("update_plan", plan(`"a.go moved on"`)), does("call_pause", `{"intent":"i","step":"s1","facts":["two keys"],"likely_cause":"the join","options":[{"title":"Rename it"}]}`),
			says("The change is made."), does("update_plan", strings.Replace(plan(""), "Work", "Work anew", 1)), says("Done."))
		editor := h.stock()
		terminal := h.client()
		terminal.start(params{})
		editor.untilHas(protocol.LSPPublishDiagnostics, `"severity":3,"source":"tandem","message":"a.go moved on"`)
		editor.untilHas(protocol.LSPShowMessage, "two keys Likely cause: the join")
		actions := editor.bulb(h.uri("a.go"), 0, 0, 0, 0)
		for _, want := range []string{"Take: Rename it", "Resume"} {
			if _, ok := titled(actions, want); !ok {
				t.Errorf("no action says %q: %+v", want, actions)
			}
		}
		editor.choose(actions, "Take: Rename it")
		terminal.untilHas(protocol.NoteText, "The change is made.")
		synctest.Wait()
		editor.choose(actions, "Resume")
		editor.untilHas(protocol.LSPPublishDiagnostics, `"diagnostics":[]`)
		terminal.untilHas(protocol.NoteModeChanged, `"waiting"`)
		synctest.Wait()
		if n := len(editor.heard(protocol.LSPShowMessage)); n > 3 { // the pause, that the change is made, the end
			t.Errorf("it was said %d times whose turn it is", n)
		}
	})
}

// What is drawn depends on what the editor can draw, and one that answers nothing hurts nobody.
func TestWhatEditorsCanDraw(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a.go": "package a\n"})
		h.model.will(sse{saying("working")}.hanging())
		plain, bare, sullen := h.stock("publishDiagnostics", "codeLens", "workDoneProgress"), h.stock("codeAction"), h.guest()
		sullen.sullen = true
		sullen.ok(protocol.LSPInitialize, params{"rootUri": fileURI(h.dir), "capabilities": params{"window": params{"workDoneProgress": true},
			"workspace": params{"codeLens": params{"refreshSupport": true}}}}, nil)
		sullen.note(protocol.LSPInitialized, params{})
		ours := h.client()
		s := ours.start(params{})
		bare.untilHas(protocol.LSPProgress, `"begin"`)
		time.Sleep(3 * patience)
		synctest.Wait()
		if told := plain.heard(""); len(told) > 0 {
			t.Errorf("an editor that draws nothing was told %q", told)
		}
		if told := sullen.heard(""); !slices.Equal(told, []string{protocol.LSPCodeLensRefresh, protocol.LSPCancelRequest, protocol.LSPProgressCreate, protocol.LSPCancelRequest}) {
			t.Errorf("an editor that does not answer was told %q", told)
		}
		var commands []protocol.Command
		bare.ok(protocol.LSPCodeAction, params{"textDocument": params{"uri": h.uri("a.go")}, "context": params{"diagnostics": []any{}}, "range": protocol.Range{}}, &commands)
		i := slices.IndexFunc(commands, func(c protocol.Command) bool { return c.Title == "Tandem: Pause" && c.Command == face.Do })
		if i < 0 {
			t.Fatalf("an editor without literals gets %+v", commands)
		}
		bare.ok(protocol.LSPExecuteCommand, commands[i], nil)
		ours.untilHas(protocol.NoteModeChanged, `"paused"`)
		sullen.ok(protocol.MethodResume, at(s.ID), nil)
	})
}

// A client of Tandem's own is offered what has to be typed, by a command that it knows itself.
func TestOwnClientsAsk(t *testing.T) {
	h := newHouse(t, map[string]string{"a.go": "package a\n"})
	p := h.guest()
	p.ok(protocol.LSPInitialize, params{"rootUri": fileURI(h.dir), "capabilities": params{"textDocument": params{"codeAction": params{"codeActionLiteralSupport": params{}}}},
		"initializationOptions": params{"tandem": params{"trusted": true, "client": "nvim"}}}, nil)
	h.model.will(sse{saying("working")}.hanging())
	p.start(params{})
	a, ok := titled(p.bulb(h.uri("a.go"), 0, 0, 0, 0), "Steer…")
	if !ok || a.Command.Command != face.Ask {
		t.Fatalf("the steer is %+v", a)
	}
	raw, err := json.Marshal(a.Command.Arguments)
	if err != nil || !strings.Contains(string(raw), `"ask":{"param":"text"`) {
		t.Errorf("its argument is %s, %v", raw, err)
	}
}

// What is refused is refused in a sentence, which a stock editor is shown besides.
func TestCommandsThatAreRefused(t *testing.T) {
	h := newHouse(t, nil)
	p := h.stock()
	for command, says := range map[string]string{
		`{"command":""}`:           "this daemon runs tandem.do, tandem.look",
		`{"command":"tandem.ask"}`: "it does not know",
		`{"command":"tandem.do"}`:  "takes one",
		`{"command":"tandem.do","arguments":[{"method":"shutdown"}]}`:                                          "no request of tandem/",
		`{"command":"tandem.do","arguments":[{"method":"tandem/nothing"}]}`:                                    "does not answer tandem/nothing",
		`{"command":"tandem.do","arguments":[{"method":"tandem/session/start","params":{"task":[]}}]}`:         "task: want a string",
		`{"command":"tandem.do","arguments":[{"method":"tandem/steer","params":{"sessionId":"","text":"x"}}]}`: "sessionId",
		`{"command":"tandem.look","arguments":[7]}`:                                                            "arguments[0]",
	} {
		p.refused(protocol.LSPExecuteCommand, json.RawMessage(command), -32602, protocol.InvalidParams, says)
	}
	p.untilHas(protocol.LSPShowMessage, `"type":1,"message":"Tandem: `)
	p.ok(protocol.LSPExecuteCommand, json.RawMessage(`{"command":"tandem.look","arguments":[{"uri":"u","sessionId":"s","operationId":"o"}]}`), nil)
}

// Nothing is shown in what is no file of the client's folders.
func TestDocumentsWithoutSessions(t *testing.T) {
	h := newHouse(t, map[string]string{"a.go": "package a\n", "d/x": ""})
	outside := t.TempDir()
	write(t, outside, map[string]string{"b.go": "// tandem: x\n"})
	if err := os.Symlink(filepath.Join(outside, "b.go"), filepath.Join(h.dir, "link.go")); err != nil {
		t.Skip("there are no links here")
	}
	p := h.stock()
	for _, uri := range []string{fileURI(outside) + "/b.go", "untitled:x", "vscode-remote://h/a.go", "file://", "%zz", "", h.uri("no.go"), h.uri("d"), h.uri("link.go")} {
		if got := p.bulb(uri, 0, 0, 0, 9); len(got) > 0 {
			t.Errorf("%q: %+v", uri, got)
		}
		if got := p.lenses(uri); len(got) > 0 {
			t.Errorf("%q: %q", uri, got)
		}
		a := p.call(protocol.LSPHover, params{"textDocument": params{"uri": uri}, "position": params{"line": 0, "character": 0}})
		if a.Error != nil || string(a.Result) != "null" {
			t.Errorf("%q: %s %+v", uri, a.Result, a.Error)
		}
	}
	if _, ok := titled(p.bulb(h.uri("a.go"), 0, 0, 0, 7), "Start: package"); !ok {
		t.Error("in a file of the folder nothing can be started")
	}
}

// A session that waits on disk for its developer is there again when the editor comes back.
func TestFaceRemembers(t *testing.T) {
	h := newHouse(t, map[string]string{"a.go": "package a\n"})
	h.model.will(work("ask_developer", `{"intent":"i","step":"s1","questions":[{"text":"Which name?","options":["left","right"]}]}`), sse{saying("hm")}.hanging())
	p := h.client()
	p.start(params{})
	p.untilHas(protocol.NoteModeChanged, `"mode":"waiting"`)
	p.hangUp()
	h.again()
	editor := h.stock()
	editor.untilHas(protocol.LSPShowMessage, "Which name?")
	editor.choose(editor.bulb(h.uri("a.go"), 0, 0, 0, 0), "Answer «Which name?»: left")
	editor.untilHas(protocol.LSPProgress, `"begin"`)
}

// What the agent wrote is a lens until it was looked at, a hover that says why, and can be taken back.
func TestChangesInTheCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a.txt": "one\ntwo\nthree\n"})
		h.model.will(sse{saying("working")}.hanging(), work("edit_file", `{"intent":"I say it\nlouder.","step":"s1","path":"a.txt","edits":[{"old":"two\n","new":"TWO\nTWO AND A HALF\n"}]}`), says("Done."))
		editor := h.stock()
		terminal := h.client()
		s := terminal.start(params{})
		h.model.question(0)
		terminal.ok(protocol.MethodSteer, at(s.ID, "text", "say it loud"), nil)
		terminal.untilHas(protocol.NoteModeChanged, `"waiting"`)
		synctest.Wait()
		uri := h.uri("a.txt")
		if got := editor.lenses(uri); !slices.Equal(got, []string{"1 agent changed 2 lines · step 1 «Work»"}) {
			t.Errorf("the lenses are %q", got)
		}
		hover := func(line int) string {
			var out *protocol.Hover
			editor.ok(protocol.LSPHover, params{"textDocument": params{"uri": uri}, "position": params{"line": line, "character": 1}}, &out)
			if out == nil {
				return ""
			}
			return out.Contents.Value
		}
		if got := hover(2); got != "Tandem · step 1 «Work»\nI say it louder.\nfrom your steer «say it loud»" {
			t.Errorf("the hover says %q", got)
		}
		if got := hover(0) + hover(3); got != "" {
			t.Errorf("the hover of the developer's lines says %q", got)
		}
		if _, ok := titled(editor.bulb(uri, 3, 0, 3, 0), "Revert"); ok {
			t.Error("the developer's lines can be reverted")
		}
		var lenses []protocol.CodeLens
		editor.ok(protocol.LSPCodeLens, params{"textDocument": params{"uri": uri}}, &lenses)
		refreshed := len(editor.heard(protocol.LSPCodeLensRefresh))
		editor.ok(protocol.LSPExecuteCommand, lenses[0].Command, nil)
		synctest.Wait()
		if got := editor.lenses(uri); len(got) != 0 || len(editor.heard(protocol.LSPCodeLensRefresh)) == refreshed {
			t.Errorf("it was looked at, and the lenses are %q", got)
		}
		if a := editor.choose(editor.bulb(uri, 1, 0, 1, 0), "Revert this change"); a.Error != nil {
			t.Fatalf("it was refused: %+v", a.Error)
		}
		editor.untilHas(protocol.LSPShowMessage, "Tandem: reverted 1 file.")
		if b, err := os.ReadFile(filepath.Join(h.dir, "a.txt")); err != nil || string(b) != "one\ntwo\nthree\n" {
			t.Errorf("the file is %q, %v", b, err)
		}
	})
}

// An editor that counts bytes gets and gives places in bytes.
func TestFaceCountsAsTheEditorDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a.go": "package a\n// tandem: äöü😀\n"})
		h.model.will(sse{saying("working")}.hanging(), sse{saying("working")}.hanging())
		p := h.guest()
		p.ok(protocol.LSPInitialize, params{"rootUri": fileURI(h.dir), "capabilities": params{"general": params{"positionEncodings": []string{"utf-8", "utf-16"}}}}, nil)
		terminal := h.client()
		terminal.start(params{})
		h.model.question(0)
		if got := p.call(protocol.LSPCodeAction, params{"textDocument": params{"uri": h.uri("a.go")}, "context": params{"diagnostics": []any{}},
			"range": params{"start": params{"line": 1, "character": 11}, "end": params{"line": 1, "character": 17}}}); !strings.Contains(string(got.Result), `"character":21}`) || !strings.Contains(string(got.Result), "Steer: äöü\"") {
			t.Errorf("the steers in bytes are %s", got.Result)
		}
		var steer protocol.Command
		var list []protocol.Command
		p.ok(protocol.LSPCodeAction, params{"textDocument": params{"uri": h.uri("a.go")}, "context": params{"diagnostics": []any{}},
			"range": params{"start": params{"line": 1, "character": 0}, "end": params{"line": 1, "character": 0}}}, &list)
		steer = list[0]
		p.ok(protocol.LSPExecuteCommand, steer, nil)
		if a := terminal.untilHas(protocol.NoteSteered, "äöü"); !strings.Contains(string(a.Params), `"end":{"line":1,"character":16}`) {
			t.Errorf("the steer in UTF-16 is %s", a.Params)
		}
	})
}

// What a stop condition observed stands where it was observed, under the condition's name, until
// the pause ends; the developer is told once.
func TestStopConditionsInTheCode(t *testing.T) {
	needsShell(t)
	h := newHouse(t, map[string]string{"out.json": "{\n \"rows\": 1}\n",
		".tandem/config.yaml": "tripwires:\n  - name: fields\n    require: {file: out.json, fields: [/rows]}\n"})
	h.model.will(work("write_file", `{"intent":"i","step":"s1","path":"out.json","content":"{\n \"no\": 1}\n"}`),
		does("call_pause", `{"intent":"i","step":"s1","facts":["no rows"],"likely_cause":"I forgot them","options":[{"title":"Put them back"}]}`),
		does("write_file", `{"intent":"i","step":"s1","path":"out.json","content":"{\n \"rows\": 2}\n"}`), says("They are back."), sse{saying("I go on.")}.hanging())
	editor := h.stock()
	terminal := h.client()
	terminal.start(params{})
	var told protocol.PublishDiagnosticsParams
	if err := json.Unmarshal(editor.untilHas(protocol.LSPPublishDiagnostics, `"fields"`).Params, &told); err != nil {
		t.Fatal(err)
	}
	d := told.Diagnostics[0]
	if string(told.URI) != h.uri("out.json") || d.Code != "fields" || d.Source != "tandem" || d.Severity != protocol.SeverityError || !strings.Contains(d.Message, "expected a field /rows") {
		t.Errorf("in %s stands %+v", told.URI, d)
	}
	editor.untilHas(protocol.LSPShowMessage, "Likely cause: I forgot them")
	editor.choose(editor.bulb(h.uri("out.json"), 0, 0, 0, 0), "Take: Put them back")
	terminal.untilHas(protocol.NoteText, "They are back.")
	a := editor.choose(editor.bulb(h.uri("out.json"), 0, 0, 0, 0), "Resume")
	if a.Error != nil {
		t.Fatalf("it was refused: %+v", a.Error)
	}
	editor.untilHas(protocol.LSPPublishDiagnostics, `"diagnostics":[]`)
}

// A question beside the work, which takes its time, holds up no steer; the answer is shown.
func TestWhyFromTheCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a.txt": "one\n"})
		h.model.will(work("announce_decision", `{"intent":"i","step":"s1","summary":"Take a hook","rationale":"r","significance":"notable","path":"a.txt","line":1,"alternatives":[{"id":"p","title":"A provider"}]}`),
			sse{saying("working")}.hanging(), reply{body: sse{saying("Since ")}.hanging().body, slow: time.Minute, rest: says("it is short.").body}, sse{saying("again")}.hanging())
		editor := h.stock()
		terminal := h.client()
		s := terminal.start(params{})
		h.model.question(1)
		why, ok := titled(editor.bulb(h.uri("a.txt"), 0, 0, 0, 3), "Why? · «Take a hook»")
		if !ok {
			t.Fatal("nobody can ask why")
		}
		asked := editor.send(protocol.LSPExecuteCommand, why.Command)
		h.model.question(2)
		editor.choose(editor.bulb(h.uri("a.txt"), 0, 0, 0, 3), "Steer: one")
		terminal.untilHas(protocol.NoteSteered, `"text":"one"`)
		if len(editor.heard(protocol.LSPShowMessage)) > 0 {
			t.Error("the steer waited for the answer")
		}
		if a := editor.answer(asked); a.Error != nil {
			t.Fatalf("session %s does not answer: %+v", s.ID, a.Error)
		}
		editor.untilHas(protocol.LSPShowMessage, "Tandem: Since it is short.")
	})
}

// Lines tell where they come from also when their session was done before the daemon began.
func TestHoverOfAnEarlierDay(t *testing.T) {
	h := newHouse(t, map[string]string{"a.txt": "one\n"})
	h.model.will(work("write_file", `{"intent":"I say it louder.","step":"s1","path":"a.txt","content":"ONE\n"}`, "finish", `{"intent":"i","step":"s1","summary":"done"}`))
	p := h.client()
	p.start(params{})
	p.untilHas(protocol.NoteModeChanged, `"mode":"done"`)
	p.hangUp()
	h.again()
	editor := h.stock()
	var out *protocol.Hover
	editor.ok(protocol.LSPHover, params{"textDocument": params{"uri": h.uri("a.txt")}, "position": params{"line": 0, "character": 1}}, &out)
	if out == nil || out.Contents.Value != "Tandem · step 1 «Work»\nI say it louder." {
		t.Errorf("the hover says %+v", out)
	}
	if got := editor.lenses(h.uri("a.txt")); len(got) > 0 {
		t.Errorf("what was done before has the lenses %q", got)
	}
}
