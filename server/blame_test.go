package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/agent"
	"tandem/protocol"
)

// blamed is what is said of lines of a file, in short: 2-3 op4 s1 d1 t1.
func (p *peer) blamed(h *house, name string, more ...any) string {
	p.t.Helper()
	with := params{"uri": fileURI(filepath.Join(h.dir, name))}
	for i := 0; i < len(more); i += 2 {
		with[more[i].(string)] = more[i+1]
	}
	var r protocol.BlameResult
	p.ok(protocol.MethodBlame, with, &r)
	var out []string
	for _, l := range r.Lines {
		if l.Range.Start.Character != 0 || l.Range.End.Character != 0 || l.SessionID == "" {
			p.t.Errorf("the lines are %+v", l)
		}
		out = append(out, strings.Join(strings.Fields(fmt.Sprintf("%d-%d %s %s %s %s", l.Range.Start.Line, l.Range.End.Line,
			strings.Replace(l.OperationID, "op000000", "op", 1), l.StepID, l.DecisionID, l.SteerID)), " "))
	}
	return strings.Join(out, ", ")
}

func TestBlame(t *testing.T) {
	h, p, id, steer := edited(t)
	const first, second = "2-3 op3 s1", "7-9 op9 s2 d1 t1"
	if got := p.blamed(h, "a.txt"); got != first+", "+second || steer != "t1" {
		t.Errorf("a.txt is by %q", got)
	}
	if got := p.blamed(h, "new.txt"); got != "0-1 op4 s1" {
		t.Errorf("new.txt is by %q", got)
	}
	for _, in := range []struct {
		from, to uint32
		want     string
	}{{2, 2, first}, {0, 2, ""}, {2, 3, first}, {8, 20, "8-9 op9 s2 d1 t1"}, {90, 91, ""}} {
		lines := protocol.Range{Start: protocol.Position{Line: in.from}, End: protocol.Position{Line: in.to}}
		if got := p.blamed(h, "a.txt", "range", lines); got != in.want {
			t.Errorf("lines %d to %d are by %q, want %q", in.from, in.to, got, in.want)
		}
	}

	h.byHand("a.txt", "line 1\n", "mine\nline 1\n")
	h.byHand("a.txt", "LINE 8b\n", "")
	if got := p.blamed(h, "a.txt"); got != "3-4 op3 s1, 8-9 op9 s2 d1 t1" {
		t.Errorf("after the developer's edits it is by %q", got)
	}

	p.ok(protocol.MethodRevert, at(id, "stepId", "s1"), nil)
	if got := p.blamed(h, "a.txt"); got != "8-9 op9 s2 d1 t1" {
		t.Errorf("after a revert it is by %q", got)
	}
	if got := p.blamed(h, "new.txt"); got != "" {
		t.Errorf("a file that is gone is by %q", got)
	}

	p.hangUp()
	h.again()
	if got := h.client().blamed(h, "a.txt"); got != "8-9 op9 s2 d1 t1" {
		t.Errorf("after a restart it is by %q", got)
	}
}

// The text that counts is the editor's, saved or not.
func TestBlameFollowsTheEditor(t *testing.T) {
	h, p, _, _ := edited(t)
	uri := fileURI(filepath.Join(h.dir, "a.txt"))
	text := strings.ReplaceAll("typed\n"+h.disk("a.txt"), "\n", "\r\n")
	p.note(protocol.LSPDidOpen, params{"textDocument": params{"uri": uri, "languageId": "text", "version": 1, "text": text}})
	if got := p.blamed(h, "a.txt"); got != "3-4 op3 s1, 8-10 op9 s2 d1 t1" {
		t.Errorf("it is by %q", got)
	}
}

// A later session's lines are its own, also where an earlier one had written.
func TestBlameAcrossSessions(t *testing.T) {
	h, p, id, _ := edited(t)
	h.model.will(
		does(append(plans("s1 active Other"), "edit_file", `{"intent":"I edit.","step":"s1","path":"a.txt","edits":[{"old":"LINE 8\n","new":"other 8\n"}]}`,
			"move_file", `{"intent":"I move.","step":"s1","from":"a.txt","to":"sub/b.txt"}`)...),
		does("finish", `{"intent":"It is done.","step":"","summary":"done"}`))
	other := p.start(params{"autonomy": "high"}).ID
	p.until("the other session's end", func(method, text string) bool {
		return method == protocol.NoteModeChanged && strings.Contains(text, other) && strings.Contains(text, `"mode":"done"`)
	})
	var r protocol.BlameResult
	p.ok(protocol.MethodBlame, params{"uri": fileURI(filepath.Join(h.dir, "sub", "b.txt"))}, &r)
	var by []string
	for _, l := range r.Lines {
		by = append(by, l.SessionID)
	}
	if want := []string{id, other, id}; fmt.Sprint(by) != fmt.Sprint(want) {
		t.Errorf("the moved file is by %q, want %q", by, want)
	}
}

func TestBlameRefusals(t *testing.T) {
	h, p, _, _ := edited(t)
	outside := t.TempDir()
	write(t, outside, map[string]string{"a.txt": "one\n"})
	for _, test := range []struct{ uri, says string }{
		{"untitled:a", "no file URI"},
		{"", "no file URI"},
		{fileURI(filepath.Join(outside, "a.txt")), "lies in no workspace"},
		{fileURI(h.dir), "lies in no workspace"},
	} {
		p.refused(protocol.MethodBlame, params{"uri": test.uri}, -32602, protocol.InvalidParams, test.says)
	}
	write(t, h.dir, map[string]string{"a.txt": strings.Repeat("x", largestBlamed+1)})
	p.refused(protocol.MethodBlame, params{"uri": fileURI(filepath.Join(h.dir, "a.txt"))}, -32602, protocol.InvalidParams, "1048576")
	write(t, h.dir, map[string]string{"a.txt": "bin\x00ary"})
	p.refused(protocol.MethodBlame, params{"uri": fileURI(filepath.Join(h.dir, "a.txt"))}, -32602, protocol.InvalidParams, "no text")
	if err := os.Remove(filepath.Join(h.dir, "a.txt")); err != nil {
		t.Fatal(err)
	}
	if got := p.blamed(h, "a.txt"); got != "" {
		t.Errorf("no file is by %q", got)
	}
	if got := p.blamed(h, "never.txt"); got != "" {
		t.Errorf("a file that nobody touched is by %q", got)
	}
}

func TestEditsOfAFile(t *testing.T) {
	image := func(digest string) *agent.Image {
		if digest == "" {
			return nil
		}
		return &agent.Image{Digest: digest, Size: 1}
	}
	write := func(op string, changes ...string) agent.Write {
		w := agent.Write{Op: op}
		for _, c := range changes {
			part := strings.Split(c, ":")
			w.Changes = append(w.Changes, agent.Change{Path: part[0], Before: image(part[1]), After: image(part[2])})
		}
		return w
	}
	unknown := write("2", "a:x:y")
	unknown.Changes[0].After.Digest = ""
	for _, test := range []struct {
		name   string
		writes []agent.Write
		want   string
	}{
		{"its own", []agent.Write{write("1", "a:x:y", "b:x:z"), write("2", "a:y:z")}, "1 xy, 2 yz"},
		{"twice in one", []agent.Write{write("1", "a:x:y", "a:y:z")}, "1 xy, 1 yz"},
		{"moved here", []agent.Write{write("1", "old:x:y"), write("2", "old:y:", "a::y"), write("3", "a:y:z")}, "1 xy, 3 yz"},
		{"made where another went away", []agent.Write{write("1", "old:y:", "a::z")}, "1 z"},
		{"not known", []agent.Write{write("1", "a:x:y"), unknown}, "1 xy"},
		{"of another", []agent.Write{write("1", "b:x:y")}, ""},
	} {
		var got []string
		for _, e := range editsOf(test.writes, "a") {
			got = append(got, e.by.op+" "+e.before+e.after)
		}
		if strings.Join(got, ", ") != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// BenchmarkBlame asks for the lines of a file of 900 KB that was edited 50 times, while the
// developer types in it.
func BenchmarkBlame(b *testing.B) {
	var text strings.Builder
	for i := range 27_000 {
		fmt.Fprintf(&text, "a line of usual length, %d.\n", i)
	}
	h := newHouse(b, map[string]string{"a.txt": text.String()})
	work := plans("s1 active First")
	for i := range 50 {
		work = append(work, "edit_file", fmt.Sprintf(`{"intent":"I edit.","step":"s1","path":"a.txt","edits":[{"old":"usual length, %d.","new":"no length, %d."}]}`, 500*i, i))
	}
	h.model.will(does(work...), does("finish", `{"intent":"It is done.","step":"","summary":"done"}`))
	p := h.client()
	p.start(params{"autonomy": "high"})
	p.untilHas(protocol.NoteModeChanged, `"mode":"done"`)
	uri := fileURI(filepath.Join(h.dir, "a.txt"))
	p.note(protocol.LSPDidOpen, params{"textDocument": params{"uri": uri, "languageId": "text", "version": 1, "text": "typed\n" + h.disk("a.txt")}})
	var r protocol.BlameResult
	for b.Loop() {
		p.ok(protocol.MethodBlame, params{"uri": uri}, &r)
	}
	if len(r.Lines) != 50 {
		b.Errorf("%d runs of lines", len(r.Lines))
	}
}
