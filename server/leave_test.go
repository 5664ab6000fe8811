package server

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tandem/protocol"
)

// networked are run_command calls that want the network.
func networked(line string) []string {
	return []string{"run_command", fmt.Sprintf(`{"intent":"I install it.","step":"s1","command":%q,"network":true}`, line)}
}

// asksLeave waits until leave is asked for and the session is handed over, and gives the decision.
func (p *peer) asksLeave(id string) protocol.Decision {
	p.t.Helper()
	p.untilHas(protocol.NoteDecision, `"kind":"permission"`)
	p.untilHas(protocol.NoteModeChanged, `"mode":"waiting"`)
	s := p.session(id)
	d := s.Decisions[len(s.Decisions)-1]
	if s.Mode != protocol.Waiting || s.Initiative != protocol.DeveloperInitiative || d.Kind != protocol.Permission || d.Status != protocol.DecisionOpen || d.Deadline != nil {
		p.t.Fatalf("leave is asked for in mode %s, it is the turn of the %s, by %+v", s.Mode, s.Initiative, d)
	}
	return d
}

// holding are the files below a folder in which a text stands.
func holding(t *testing.T, dir, text string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if strings.Contains(string(b), text) {
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A file with secrets is read when the developer takes an option that allows it, and by nothing else: no
// word, no bare «keep», no level of autonomy, no time and no restart. Before that nothing of it is anywhere.
func TestASecretFileIsAskedFor(t *testing.T) {
	h := newHouse(t, map[string]string{".env": "MODE=quiet-as-a-mouse\n"})
	if err := os.Symlink(".env", filepath.Join(h.dir, "notes.txt")); err != nil {
		t.Skip(err)
	}
	h.model.will(work("read_file", `{"intent":"I read the notes.","step":"s1","path":"notes.txt"}`), says("I have read it."))
	p := h.client()
	id := p.start(params{"autonomy": "high"}).ID
	d := p.asksLeave(id)
	if d.Summary != "Read .env" || d.Location == nil || d.Location.URI != h.uri(".env") || len(d.Actions) != 4 {
		t.Errorf("the decision is %+v", d)
	}
	p.refused(protocol.MethodDecide, at(id, "decisionId", d.ID), -32602, "invalidParams", "option: take one of once, session, no")
	p.refused(protocol.MethodDecide, at(id, "decisionId", d.ID, "option", "once", "text", "yes"), -32602, "invalidParams", "words are no leave")
	p.ok(protocol.MethodAutonomy, at(id, "level", "close"), nil)
	p.ok(protocol.MethodAutonomy, at(id, "level", "high"), nil)
	h.again()
	p = h.client()
	if s := p.session(id); s.Mode != protocol.Waiting || s.Decisions[0].Status != protocol.DecisionOpen || len(h.model.asked()) != 1 {
		t.Fatalf("after a restart it is %s, the decision %s, the model was asked %d times", s.Mode, s.Decisions[0].Status, len(h.model.asked()))
	}
	if found := holding(t, h.opts.State, "quiet-as-a-mouse"); len(found) > 0 {
		t.Errorf("before there was leave the content stands in %q", found)
	}
	p.ok(protocol.MethodDecide, at(id, "decisionId", d.ID, "option", "once"), nil)
	if q := h.model.question(1); !strings.Contains(q, "quiet-as-a-mouse") {
		t.Errorf("with leave the model is told\n%s", q)
	}
	strictly(t, h.model.asked())
}

// «No» is an answer: the agent is told, with the way on, and with words it is a steer.
func TestLeaveIsRefused(t *testing.T) {
	for name, with := range map[string][]any{"option": {"option", "no"}, "reject": {"reject", true}, "words": {"text", "use the example beside it"}} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, map[string]string{".env": "MODE=quiet-as-a-mouse\n"})
			h.model.will(work("write_file", `{"intent":"I switch it on.","step":"s1","path":".env","content":"MODE=loud\n"}`), says("So be it."))
			p := h.client()
			id := p.start(params{}).ID
			d := p.asksLeave(id)
			p.ok(protocol.MethodDecide, at(id, append([]any{"decisionId", d.ID}, with...)...), nil)
			q := h.model.question(1)
			if !strings.Contains(q, "refused: the developer does not allow this with .env") || strings.Contains(q, "mouse") || name == "words" != strings.Contains(q, "use the example beside it") {
				t.Errorf("the model is told\n%s", q)
			}
			if s := p.session(id); s.Decisions[0].Status != protocol.DecisionOverridden {
				t.Errorf("the decision is %s", s.Decisions[0].Status)
			}
			if h.disk(".env") != "MODE=quiet-as-a-mouse\n" {
				t.Error("the file was changed")
			}
			strictly(t, h.model.asked())
		})
	}
}

// The network is asked for once a session where the developer says so, and never where the configuration
// allows it.
func TestTheNetworkIsAskedFor(t *testing.T) {
	needsShell(t)
	h := newHouse(t, nil)
	h.model.will(work(networked("echo one >> ran")...), does(networked("echo two >> ran")...), says("Both ran."))
	p := h.client()
	id := p.start(params{"autonomy": "high"}).ID
	d := p.asksLeave(id)
	if _, err := os.Stat(filepath.Join(h.dir, "ran")); err == nil {
		t.Fatal("the command ran before there was leave")
	}
	p.ok(protocol.MethodDecide, at(id, "decisionId", d.ID, "option", "session"), nil)
	h.model.question(2)
	p.idle()
	s := p.session(id)
	if text := h.disk("ran"); text != "one\ntwo\n" || len(s.Decisions) != 1 {
		t.Errorf("the commands have made %q, there are %d decisions", text, len(s.Decisions))
	}
	if a := s.Decisions[0].Actions; len(a) != 1 || a[0].Title != "Take it back" {
		t.Errorf("with leave for the session there is %+v", a)
	}
	strictly(t, h.model.asked())

	h = newHouse(t, map[string]string{".tandem/config.yaml": "commands: {network: true}\n"})
	h.model.will(work(networked("echo one >> ran")...), says("It ran."))
	p = h.client()
	id = p.start(params{}).ID
	h.model.question(1)
	if s := p.session(id); h.disk("ran") != "one\n" || len(s.Decisions) != 0 {
		t.Errorf("where it is configured there are %d decisions", len(s.Decisions))
	}
}

// Which files hold secrets is the developer's to say.
func TestSecretsOfTheConfiguration(t *testing.T) {
	h := newHouse(t, map[string]string{".tandem/config.yaml": "secrets: {files: [plans.md]}\n", "plans.md": "hush\n", "testdata/server.pem": "open\n"},
		configured(t, "secrets: {allow: [\"testdata/**\"]}\n"))
	h.model.will(work("read_file", `{"intent":"I read.","step":"s1","path":"testdata/server.pem"}`, "read_file", `{"intent":"I read.","step":"s1","path":"plans.md"}`))
	p := h.client()
	id := p.start(params{}).ID
	if d := p.asksLeave(id); d.Summary != "Read plans.md" {
		t.Errorf("asked is %s", d.Summary)
	}
	if ops := p.operations(id); !slices.ContainsFunc(ops, func(o protocol.Operation) bool {
		return o.Target == "testdata/server.pem" && o.Status == protocol.OpDone
	}) {
		t.Errorf("the operations are %+v", ops)
	}
}

// In a workspace that is not trusted nobody is asked: it stays unread.
func TestSecretsWithoutTrust(t *testing.T) {
	h := newHouse(t, map[string]string{".env": "MODE=quiet-as-a-mouse\n"})
	h.model.will(work("read_file", `{"intent":"I read.","step":"s1","path":".env"}`), says("Then not."))
	p := h.guest()
	p.initialize(h.dir, false)
	id := p.start(params{}).ID
	if q := h.model.question(1); !strings.Contains(q, "has not trusted this workspace") || strings.Contains(q, "mouse") {
		t.Errorf("the model is told\n%s", q)
	}
	if s := p.session(id); len(s.Decisions) != 0 {
		t.Errorf("there is %+v", s.Decisions)
	}
}
