package server

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"tandem/agent"
	"tandem/agent/session"
	"tandem/protocol"
	"tandem/server/face"
)

var (
	seed  = flag.Uint64("seed", 0, "the one seed that the random requests are made from; 0: those of every day")
	steps = flag.Int("steps", 300, "how many random requests are sent for a seed")
)

// TestTwoClientsAtRandom lets two clients send whatever there is to send to sessions whose model does
// whatever there is to do, while two others look on. Each request is answered once, in the words of
// the protocol; who looks on is told the same, without a gap, also over a reconnection, as who comes
// when all is over; each operation ends once; and the journal gives the sessions again as they were.
func TestTwoClientsAtRandom(t *testing.T) {
	needsShell(t)
	seeds := []uint64{1, 2}
	if *seed != 0 {
		seeds = []uint64{*seed}
	}
	for _, n := range seeds {
		t.Run(fmt.Sprintf("seed=%d", n), func(t *testing.T) {
			c := newCrowd(t, n)
			for range *steps {
				c.step()
			}
			c.goHome()
		})
	}
}

// crowd is a daemon with two clients that do anything, and two that look on.
type crowd struct {
	*testing.T
	rnd      *rand.Rand
	house    *house
	clients  [2]*rowdy
	watchers [2]*witness
	sessions []string
	// What there was of it.
	events, took, refused int
	acts                  []map[string]any // actions that sessions have offered
}

// rowdy is a client that does anything.
type rowdy struct {
	*peer
	sent []int // requests, some of them answered
	said map[int]string
}

// witness is a client that is told of every session.
type witness struct {
	*peer          // nil while it is away
	past  []answer // what earlier connections of it were told
}

func newCrowd(t *testing.T, n uint64) *crowd {
	c := &crowd{T: t, rnd: rand.New(rand.NewPCG(n, 1)), house: newHouse(t, randomFiles(), configured(t, "decisions: {window_s: 1}\n"))}
	c.house.model.beyond = (&moody{rnd: rand.New(rand.NewPCG(n, 2)), left: 150}).reply
	for i := range c.clients {
		c.clients[i] = c.newRowdy()
		c.watchers[i] = &witness{peer: c.house.client()}
	}
	c.begin(c.clients[0])
	return c
}

// randomFiles are those of the hostile tests, with waits that pass soon.
func randomFiles() map[string]string {
	files := maps.Clone(hostileFiles)
	files[".tandem/config.yaml"] += "model: {idle_s: 1}\n"
	return files
}

func (c *crowd) newRowdy() *rowdy {
	p := c.house.guest()
	p.ok(protocol.LSPInitialize, params{"rootUri": fileURI(c.house.dir), "initializationOptions": params{"tandem": params{"trusted": true, "client": "test"}},
		"capabilities": params{"general": params{"positionEncodings": []string{pick(c.rnd, "utf-8", "utf-16", "utf-32")}}, "window": params{"workDoneProgress": true}}}, nil)
	p.post(protocol.LSPInitialized, params{})
	return &rowdy{peer: p, said: map[int]string{}}
}

func pick[T any](rnd *rand.Rand, of ...T) T { return of[rnd.IntN(len(of))] }

// mostSessionsAtRandom bounds what a run costs.
const mostSessionsAtRandom = 4

// begin starts a session, with those who look on.
func (c *crowd) begin(r *rowdy) {
	if len(c.sessions) == mostSessionsAtRandom {
		return
	}
	var s protocol.SessionResult
	c.watchers[0].ok(protocol.MethodStart, params{"task": "work", "workspace": fileURI(c.house.dir), "autonomy": pick(c.rnd, "close", "balanced", "high")}, &s)
	if c.watchers[1].peer != nil {
		c.watchers[1].ok(protocol.MethodAttach, at(s.Session.ID, "since", 0), nil)
	}
	c.sessions = append(c.sessions, s.Session.ID)
	r.send(protocol.MethodAttach, at(s.Session.ID, "since", 0))
}

// step is one thing that one of the two does.
func (c *crowd) step() {
	i := c.rnd.IntN(2)
	r := c.clients[i]
	switch n := c.rnd.IntN(100); {
	case n < 2:
		c.begin(r)
	case n < 4: // it goes away in the middle of all that it asked
		r.hangUp()
		c.settled(r, false)
		c.clients[i] = c.newRowdy()
	case n < 7:
		c.turns(c.watchers[1])
	case n < 13 && len(r.sent) > 0:
		r.post(protocol.LSPCancelRequest, params{"id": pick(c.rnd, r.sent...)})
	case n < 20:
		c.look()
	case n < 35 && len(c.acts) > 0:
		c.act(r)
	case n < 60:
		method := c.method()
		c.sends(r, method, pick(c.rnd, bad(method, c.known())...).params)
	default:
		method := c.method()
		c.sends(r, method, c.some(method))
	}
	c.drain(r)
}

// mostPending is how many requests a client lets wait before it gives up the oldest.
const mostPending = 10

// drain gives up the oldest requests of a client, where many wait: they are answered at once.
func (c *crowd) drain(r *rowdy) {
	waiting := slices.DeleteFunc(slices.Clone(r.sent), func(id int) bool { _, ok := r.answered(id); return ok })
	for len(waiting) > mostPending {
		r.post(protocol.LSPCancelRequest, params{"id": waiting[0]})
		r.answer(waiting[0])
		waiting = waiting[1:]
	}
}

// method is any that the daemon answers. What ends a connection or a session comes seldom.
func (c *crowd) method() string {
	all := slices.Sorted(maps.Keys(taken))
	for {
		switch m := pick(c.rnd, all...); m {
		case protocol.LSPExit:
		case protocol.MethodEnd, protocol.MethodStart, protocol.LSPInitialize, protocol.LSPDidChangeFolders:
			if c.rnd.IntN(10) == 0 {
				return m
			}
		default:
			return m
		}
	}
}

// sends sends a request or a notification.
func (c *crowd) sends(r *rowdy, method string, params any) {
	if slices.Contains(untold, method) {
		r.post(method, params)
		return
	}
	id := r.send(method, params)
	text, _ := json.Marshal(params) // it was just sent
	r.said[id] = fmt.Sprintf("%s %.300s", method, text)
	r.sent = append(r.sent, id)
}

// look learns what the sessions offer to do now.
func (c *crowd) look() {
	var list any
	c.watchers[0].ok(protocol.MethodList, params{}, &list)
	c.acts = nil
	places(list, "", func(any) any { return nil }, func(_ string, v any, _ func(any) any) {
		if act, ok := v.(map[string]any); ok && act["method"] != nil && act["params"] != nil {
			c.acts = append(c.acts, act)
		}
	})
}

// act does what a session offered, perhaps some time ago.
func (c *crowd) act(r *rowdy) {
	a := pick(c.rnd, c.acts...)
	with := maps.Clone(a["params"].(map[string]any))
	if ask, ok := a["ask"].(map[string]any); ok {
		with[ask["param"].(string)] = c.words()
	}
	c.sends(r, a["method"].(string), with)
}

func (c *crowd) words() string {
	return pick(c.rnd, "yes", "call it right", "words\nand more words", "🙂 \u202e", strings.Repeat("long ", 300))
}

// known are names that a request may bear, most of them of something that is there, or soon will be.
func (c *crowd) known() map[string]any {
	numbered := func(letter string, most int) string { return fmt.Sprintf("%s%d", letter, 1+c.rnd.IntN(most)) }
	file := fileURI(c.house.dir) + "/" + pick(c.rnd, "a.txt", "b.txt", "n.json", "none.txt", ".tandem/config.yaml", "../up.txt")
	return map[string]any{"sessionId": pick(c.rnd, c.sessions...), "stepId": numbered("s", 4), "operationId": fmt.Sprintf("%s%07d", pick(c.rnd, "op", "op", "th"), 1+c.rnd.IntN(30)), "steerId": numbered("t", 9),
		"decisionId": numbered("d", 5), "questionId": numbered("q", 5), "pauseId": numbered("p", 5), "remove": numbered("w", 3), "runs": []any{numbered("r", 3), numbered("r", 3)},
		"option": pick(c.rnd, "left", "right", "o1", "keep"), "uri": file, "workspace": fileURI(c.house.dir), "rootUri": fileURI(c.house.dir), "rootPath": c.house.dir,
		"workspaceFolders": []any{map[string]any{"uri": fileURI(c.house.dir), "name": "words"}}, "scenario": "smoke", "when": pick(c.rnd, "now", "stepEnd", "idle"),
		"level": pick(c.rnd, "close", "balanced", "high"), "autonomy": "high", "against": pick(c.rnd, "lastRun", "snapshot"), "op": pick(c.rnd, "add", "drop", "move", "change"),
		"after": numbered("s", 4), "id": numbered("s", 9), "clientId": "c", "requestKey": numbered("k", 50), "json": "n.json", "at": "/n", "text": c.words(), "title": c.words(),
		"question": c.words(), "seenSeq": c.rnd.IntN(100), "since": c.rnd.IntN(100), "baseRevision": 1 + c.rnd.IntN(4), "revision": 1 + c.rnd.IntN(4), "limit": c.rnd.IntN(50),
		"dependsOn[]": numbered("s", 4), "token": "token", "workDoneToken": "token", "partialResultToken": "token", "line": c.rnd.IntN(4), "character": c.rnd.IntN(9),
		"verify": map[string]any{"command": pick(c.rnd, "true", "exit 3", "printf x >>log.txt")}, "command": pick(c.rnd, face.Do, face.Look, "printf 7"),
		"arguments": []any{map[string]any{"title": "words", "method": pick(c.rnd, protocol.MethodPlan, protocol.MethodAsk, protocol.MethodPause), "params": at(pick(c.rnd, c.sessions...))}}}
}

// some are params of a method with some of the fields that may be absent.
func (c *crowd) some(method string) any {
	typ := reflect.TypeOf(taken[method])
	out := sample(typ, "", c.known()).(map[string]any)
	for _, f := range reflect.VisibleFields(typ) {
		name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
		if rest != "" && c.rnd.IntN(3) > 0 {
			delete(out, name)
		}
	}
	return out
}

// settled holds that no request of a connection was answered twice, and none left without an answer
// unless the connection has ended. Each refusal is one of the protocol.
func (c *crowd) settled(r *rowdy, lives bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	times := map[string]int{}
	for _, what := range r.order {
		times[what]++
	}
	for _, id := range r.sent {
		switch n := times[fmt.Sprintf("= %d", id)]; {
		case n > 1 || n == 0 && lives:
			c.Errorf("answered %d times: %s", n, r.said[id])
		case n == 1 && r.answers[id].Error == nil:
			c.took++
		case n == 1:
			c.refused++
			if why := clearRefusal(r.answers[id]); why != "" {
				c.Errorf("%s: %s: %d %s", r.said[id], why, r.answers[id].Error.Code, r.answers[id].Error.Message)
			}
		}
	}
}

// turns has one who looks on go away, or, when it has, come again from where it was.
func (c *crowd) turns(o *witness) {
	if o.peer != nil {
		o.hangUp()
		o.past = append(o.past, o.told...)
		o.peer = nil
		return
	}
	last := map[string]int64{}
	for _, n := range o.past {
		if e := eventOf(n); n.Method != protocol.NoteText && e.SessionID != "" {
			last[e.SessionID] = e.Seq
		}
	}
	o.peer = c.house.client()
	for _, id := range c.sessions {
		o.ok(protocol.MethodAttach, at(id, "since", last[id]), nil)
	}
}

func eventOf(a answer) (e protocol.Event) {
	_ = json.Unmarshal(a.Params, &e) // what is no event has no session
	return e
}

// goHome ends it all, and holds what has come of it against what has to.
func (c *crowd) goHome() {
	if c.watchers[1].peer == nil {
		c.turns(c.watchers[1])
	}
	boss := c.house.client()
	for _, id := range c.sessions {
		boss.call(protocol.MethodEnd, at(id)) // one that has ended is refused
	}
	for _, r := range c.clients {
		for _, id := range r.sent {
			r.answer(id)
		}
		c.settled(r, true)
	}
	for _, id := range c.sessions { // what has to end needs a moment
		if s, ok := c.house.running(id); ok {
			if _, err := s.Await(c.Context(), func(now agent.State) bool { return len(now.Open) == 0 }); err != nil {
				c.Fatal(err)
			}
		}
	}
	late := &witness{peer: c.house.client()}
	now := map[string]string{}
	for _, id := range c.sessions {
		for _, o := range []*witness{c.watchers[0], c.watchers[1], late} {
			var s protocol.SessionResult
			if o == late {
				o.ok(protocol.MethodAttach, at(id, "since", 0), &s)
				now[id] = quoted(s.Session)
			}
			o.ok(protocol.MethodPlan, at(id), nil) // is begun when all is told that attach has to tell
		}
		c.sameStory(id, late)
		c.wholeHistory(boss, id)
	}
	c.Logf("%d sessions, %d events, %d things told; %d requests taken, %d refused", len(c.sessions), c.events, len(late.told), c.took, c.refused)
	c.house.close()
	for _, id := range c.sessions {
		loaded, err := session.Load(c.house.path(c.house.dir, id))
		if got := quoted(loaded.View()); err != nil || got != now[id] {
			c.Errorf("session %s was\n%s\nand its journal gives, %v,\n%s", id, now[id], err, got)
		}
	}
}

// sameStory holds that all who look on were told the same of a session, in order, and that in it each
// operation ends once.
func (c *crowd) sameStory(id string, late *witness) {
	want := late.story(id)
	for i, o := range c.watchers {
		if got := o.story(id); !slices.Equal(got, want) {
			c.Errorf("session %s: the one that looked on from the start as number %d was told %d things, who came last %d: %s", id, i, len(got), len(want), firstOther(got, want))
		}
	}
	ends, last := map[string]int{}, int64(0)
	for _, n := range late.told {
		e := eventOf(n)
		if e.SessionID != id || n.Method == protocol.NoteText {
			continue
		}
		if e.Seq <= last {
			c.Errorf("session %s: event %d is told behind %d", id, e.Seq, last)
		}
		last = e.Seq
		var p protocol.ProgressParams
		if n.Method != protocol.NoteProgress || json.Unmarshal(n.Params, &p) != nil {
			continue
		}
		over := slices.Contains([]protocol.OperationStatus{protocol.OpDone, protocol.OpFailed, protocol.OpCancelled, protocol.OpLost}, p.Operation.Status)
		if over {
			ends[p.Operation.ID]++
		} else if ends[p.Operation.ID] == 0 {
			ends[p.Operation.ID] = 0
		}
	}
	for op, n := range ends {
		if n != 1 {
			c.Errorf("session %s: %s has ended %d times", id, op, n)
		}
	}
}

// story are the things of a session that outlast the moment.
func (o *witness) story(id string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []string
	for _, n := range append(slices.Clone(o.past), o.told...) {
		if n.Method != protocol.NoteText && eventOf(n).SessionID == id {
			out = append(out, n.Method+" "+string(n.Params))
		}
	}
	return out
}

func firstOther(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("at %d\n%s\n%s", i, got[i], want[i])
		}
	}
	return "one has more"
}

// wholeHistory holds that every event is listed, in pages, without a gap.
func (c *crowd) wholeHistory(p *peer, id string) {
	last := int64(0)
	for {
		var page protocol.HistoryResult
		p.ok(protocol.MethodHistory, at(id, "since", last, "limit", 50), &page)
		for _, e := range page.Events {
			if e.Seq != last+1 {
				c.Errorf("session %s: event %d is listed behind %d", id, e.Seq, last)
			}
			last = e.Seq
		}
		c.events += len(page.Events)
		if !page.More {
			return
		}
	}
}

// moody is a model that does anything, some hundred times; then it has nothing more to do.
type moody struct {
	mu   sync.Mutex
	rnd  *rand.Rand
	left int
}

// deeds are arguments of tools; each %s is a small number.
var deeds = []struct{ tool, args string }{
	{"update_plan", `{"intent":"I plan.","step":"","explanation":"so","steps":[{"id":"s1","title":"One","intent":"i","status":"active"},{"id":"s%s","title":"Two","intent":"i","status":"pending","verify":{"command":"true"}}]}`},
	{"update_plan", `{"intent":"I plan.","step":"","explanation":"so","steps":[{"id":"s1","title":"One","intent":"i","status":"done","verify":{"command":"exit %s"}}],"cancel_operations":["op000000%s"],"revert_steps":["s%s"]}`},
	{"announce_decision", `{"intent":"I say it.","step":"s1","summary":"Number %s","rationale":"near","significance":"major","alternatives":[{"id":"right","title":"Right"}],"path":"a.txt","line":%s}`},
	{"announce_decision", `{"intent":"I say it.","step":"s1","summary":"Number %s","rationale":"near","significance":"minor","alternatives":[]}`},
	{"ask_developer", `{"intent":"I ask.","step":"s1","questions":[{"text":"Number %s?","options":["left","right"]}]}`},
	{"call_pause", `{"intent":"I stop.","step":"s1","facts":["it is %s"],"likely_cause":"me","options":[{"title":"Left","touches":["code"]},{"title":"Right"}]}`},
	{"read_file", `{"intent":"I read.","step":"s1","path":"a.txt","start_line":%s}`},
	{"search", `{"intent":"I search.","step":"s1","pattern":"o%s"}`},
	{"list_files", `{"intent":"I list.","step":"s1"}`},
	{"write_file", `{"intent":"I write.","step":"s1","path":"b.txt","content":"one\n%s\n"}`},
	{"write_file", `{"intent":"I write.","step":"s%s","path":"n.json","content":"{\"n\": %s}"}`},
	{"edit_file", `{"intent":"I edit.","step":"s1","path":"b.txt","edits":[{"old":"one","new":"one\n%s"}]}`},
	{"move_file", `{"intent":"I move.","step":"s1","from":"b.txt","to":"c%s.txt"}`},
	{"delete_file", `{"intent":"I delete.","step":"s1","path":"c%s.txt"}`},
	{"run_command", `{"intent":"I run.","step":"s1","command":"printf %s >>log.txt; cat a.txt"}`},
	{"run_command", `{"intent":"I run.","step":"s1","command":"exit %s"}`},
	{"run_command", `{"intent":"I serve.","step":"s1","command":"exec cat /dev/zero >/dev/null","background":true}`},
	{"stop_command", `{"intent":"I stop it.","step":"s1","operation":"op000000%s"}`},
	{"check_in", `{"intent":"I answer.","verdict":"continue","next_steps":[],"questions":[],"brief":{"goal":"it","done":[{"text":"did %s","evidence_operation":"op000000%s"}],"remaining":[],"assumptions":[],"risks":[]}}`},
	{"finish", `{"intent":"I end.","summary":"done %s"}`},
	{"edit_file", `{"path":["b.txt"],"edits":{"old":1%s}`},
	{"no_tool", `null`},
}

// reply is the next answer of the model.
func (m *moody) reply() reply {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.left--; m.left < 0 {
		return says("I have nothing more to do.")
	}
	switch m.rnd.IntN(20) {
	case 0:
		return says("I wait for you.")
	case 1:
		return sse{saying("I think")}.hanging()
	case 2:
		return reply{body: "data: " + saying("I am cut") + "\n\n", cut: true}
	case 3:
		return reply{status: 500, body: `{"error":{"message":"boom"}}`}
	case 4:
		return reply{body: "data: {\"choices\":[{\"delta\":7}]}\n\n<html>"}
	}
	var pairs []string
	for range 1 + m.rnd.IntN(3) {
		d := pick(m.rnd, deeds...)
		args := d.args
		for strings.Contains(args, "%s") {
			args = strings.Replace(args, "%s", fmt.Sprint(1+m.rnd.IntN(6)), 1)
		}
		pairs = append(pairs, d.tool, args)
	}
	return does(pairs...)
}
