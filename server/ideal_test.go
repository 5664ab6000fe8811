package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/agent/rehearsal"
	"tandem/protocol"
)

// A ride is one steering scenario: a rehearsal of testdata/rehearsals/scenarios in the place of the
// model, a whole daemon with real files and real commands, and a developer who acts by hand. What
// is ideal about it is looked at by one checker, ten checks for each ride.
type ride struct {
	*peer
	t      *testing.T
	house  *house
	editor *coder // the same client as peer, where it is an editor's
	stage  *rehearsal.Server
	id     string
	gate   string // a folder outside of the workspace: commands wait there for files
	mark   string // stands in the environment of every command of this ride

	want   ideal
	words  []*word
	still  map[string]string // the workspace as it was at a stop that holds
	typed  map[string][]string
	atWord map[string]string // the workspace when the first word was said
	faults []string          // what the checker has found
}

// ideal is what is to hold at the end of a ride.
type ideal struct {
	kept   []piece  // of the agent's work before the first word
	undone []piece  // of the agent's work before the first word
	never  []piece  // meant before the first word and made obsolete by it
	passes []string // command lines for the task and for each word: the hidden tests
	told   []string // consequences and reasons that the developer was told, in the agent's words or the daemon's
}

// A piece is a text in a file.
type piece struct{ file, text string }

// A word is a steer and what became of it.
type word struct {
	text         string
	when         protocol.When
	receipt      protocol.SteerResult
	said         time.Time
	status       protocol.SteerStatus
	took, waited time.Duration // until it was acknowledged; until a request bore it
	how          string
	withdrawn    bool
}

// setOut starts the session of a ride.
func setOut(t *testing.T, name string, want ideal, editor bool) *ride {
	t.Helper()
	needsShell(t)
	path := filepath.Join("..", "testdata", "rehearsals", "scenarios", name+".txtar")
	archive, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	script, err := rehearsal.Parse(path, archive)
	if err != nil {
		t.Fatal(err)
	}
	stage, err := rehearsal.Serve(context.Background(), script, rehearsal.Options{Pace: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stage.Close(); err != nil {
			t.Error(err)
		}
	})
	files := map[string]string{}
	for _, f := range script.Files {
		files[f.Path] = string(f.Data)
	}
	r := &ride{t: t, stage: stage, gate: t.TempDir(), want: want, typed: map[string][]string{}}
	r.mark = "RIDE=" + r.gate
	r.house = newHouse(t, files, r.mark, "GATE="+r.gate, "OPENAI_BASE_URL="+stage.URL)
	there := make(chan struct{})
	way := &carrier{Transport: &http.Transport{}, there: there}
	t.Cleanup(way.CloseIdleConnections)
	r.house.opts.HTTP = way
	r.house.Registry = NewRegistry(r.house.opts)
	if editor {
		r.editor = r.house.edits("vim")
		r.peer = r.editor.peer
	} else {
		r.peer = r.house.client()
	}
	r.id = r.start(params{"task": script.Task}).ID
	r.untilHas(protocol.NoteProgress, r.id)
	close(there)
	return r
}

// A carrier carries requests to the model once the developer's client is there: words are ephemeral, and
// a developer who waits for some must not miss them.
type carrier struct {
	*http.Transport
	there <-chan struct{}
}

func (c *carrier) RoundTrip(q *http.Request) (*http.Response, error) {
	select {
	case <-c.there:
		return c.Transport.RoundTrip(q)
	case <-q.Context().Done():
		return nil, q.Context().Err()
	}
}

// says is what the developer says, with further params.
func (r *ride) says(text string, with ...any) *word {
	r.t.Helper()
	if r.atWord == nil {
		r.atWord = r.files()
	}
	w := &word{text: text, when: protocol.Now, said: time.Now()}
	p := at(r.id, append([]any{"text", text}, with...)...)
	if when, ok := p["when"]; ok {
		w.when = protocol.When(when.(string))
	}
	r.ok(protocol.MethodSteer, p, &w.receipt)
	w.took = time.Since(w.said)
	r.words = append(r.words, w)
	return w
}

// takesBack withdraws a word.
func (r *ride) takesBack(w *word) {
	r.t.Helper()
	var result protocol.WithdrawResult
	r.ok(protocol.MethodWithdraw, at(r.id, "steerId", w.receipt.SteerID), &result)
	if w.withdrawn = result.Withdrawn; !w.withdrawn {
		r.t.Errorf("«%s» cannot be taken back any more", w.text)
	}
}

// halts is the developer's brake: from now on the workspace has to stay as it is.
func (r *ride) halts(with ...any) protocol.Pause {
	r.t.Helper()
	var result protocol.PauseResult
	r.ok(protocol.MethodPause, at(r.id, with...), &result)
	r.stands()
	return result.Pause
}

// stands takes the workspace as it is at a stop. What was frozen or ended is waited for: the
// acknowledgement is the daemon's, and that of a command is its end.
func (r *ride) stands() {
	r.t.Helper()
	r.mu.Lock()
	from := r.from
	r.mu.Unlock()
	for _, op := range r.operations(r.id) {
		if op.Effect == protocol.EffectExecute && op.Status == protocol.OpRunning {
			r.reachesFromStart(op.Target, protocol.OpCancelled)
		}
	}
	r.mu.Lock()
	r.from = from // what came meanwhile is not lost to whoever waits for it
	r.mu.Unlock()
	r.still = r.files()
}

// stood holds the workspace against what it was at the stop.
func (r *ride) stood() {
	r.t.Helper()
	if r.still == nil {
		return
	}
	if now := r.files(); !maps.Equal(now, r.still) {
		r.fault("check 1: after the stop the workspace has become %v, it was %v", names(now), names(r.still))
	}
	r.still = nil
}

// decides answers a pause, and so lets what was decided be changed.
func (r *ride) decides(pairs ...any) {
	r.t.Helper()
	r.stood()
	r.ok(protocol.MethodDecide, at(r.id, pairs...), nil)
}

// resumes ends a pause.
func (r *ride) resumes(with ...any) {
	r.t.Helper()
	r.stood()
	r.ok(protocol.MethodResume, at(r.id, with...), nil)
}

// opens lets the commands go on that wait for a file.
func (r *ride) opens(name string) {
	r.t.Helper()
	write(r.t, r.gate, map[string]string{name: ""})
}

// types is the developer's own edit in the editor.
func (r *ride) types(file, old, with string) {
	r.t.Helper()
	r.editor.types(r.house.uri(file), old, with)
	r.typed[file] = append(r.typed[file], with)
}

// reachesMode waits until the session is in a mode and it is somebody's turn.
func (r *ride) reachesMode(mode protocol.Mode, turn protocol.Initiative) protocol.ModeChangedParams {
	r.t.Helper()
	var m protocol.ModeChangedParams
	r.until(fmt.Sprintf("%s, turn of the %s", mode, turn), func(method, text string) bool {
		if method != protocol.NoteModeChanged {
			return false
		}
		m = protocol.ModeChangedParams{}
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			r.t.Fatal(err)
		}
		return m.Mode == mode && m.Initiative == turn
	})
	return m
}

// hears waits until the agent has said words, which come in pieces.
func (r *ride) hears(words string) {
	r.t.Helper()
	said := ""
	r.until("the words "+words, func(method, text string) bool {
		if method != protocol.NoteText {
			return false
		}
		var p protocol.TextParams
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			r.t.Fatal(err)
		}
		said += p.Delta
		return strings.Contains(said, words)
	})
}

// files are the workspace's files with their contents.
func (r *ride) files() map[string]string {
	r.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(r.house.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Type()&fs.ModeSocket != 0 { // a sandbox keeps a place by a socket
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(r.house.dir, path)
		out[filepath.ToSlash(name)] = string(data)
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

// names are files with the beginnings of their digests, for a message.
func names(files map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		out = append(out, fmt.Sprintf("%s %.4x", name, sha256.Sum256([]byte(files[name]))))
	}
	return out
}

// arrives ends a ride: the task is done after the last word, and the ten checks are made.
func (r *ride) arrives() {
	r.t.Helper()
	last := int64(0)
	for _, w := range r.words {
		last = max(last, w.receipt.Seq)
	}
	r.mu.Lock()
	r.from = 0 // it may have come while something else was waited for
	r.mu.Unlock()
	r.until("the end", func(method, text string) bool {
		var m protocol.ModeChangedParams
		if method != protocol.NoteModeChanged {
			return false
		}
		if err := json.Unmarshal([]byte(text), &m); err != nil {
			r.t.Fatal(err)
		}
		return m.Mode == protocol.Done && m.Seq > last
	})
	r.checks()
	for _, fault := range r.faults {
		r.t.Error(fault)
	}
}

// fault is one thing that is not ideal.
func (r *ride) fault(format string, args ...any) {
	r.faults = append(r.faults, fmt.Sprintf(format, args...))
}

func (r *ride) checks() {
	r.t.Helper()
	r.stood()              // 1. No write after a stop was acknowledged.
	end := r.files()       //
	r.noneIsLeft()         // 2. No process is left but those that are shown to run.
	r.validHistory()       // 3. Each request is one that a strict server takes.
	r.developersBytes(end) // 4. What the developer typed is there.
	r.everyWord()          // 5. Each word ended in exactly one way. 6. In time. 8. Nothing was done for the old goal.
	r.keptAndUndone(end)   // 7. What was valid is kept. 9. What was obsolete is undone.
	r.goal()               // 10. The task and all words hold.
	r.consequences()
}

// noneIsLeft looks for processes of the ride. What the session shows as running may run until the
// session ends; then nothing may.
func (r *ride) noneIsLeft() {
	r.t.Helper()
	shown := slices.ContainsFunc(r.operations(r.id), func(o protocol.Operation) bool {
		return o.Effect == protocol.EffectExecute && (o.Status == protocol.OpRunning || o.Status == protocol.OpFrozen)
	})
	if left := r.processes(); !shown && len(left) > 0 {
		r.fault("check 2: no command runs, and %q are left", left)
	}
	r.ok(protocol.MethodEnd, at(r.id), nil)
	for _, op := range r.operations(r.id) {
		if op.Status == protocol.OpRunning {
			r.reachesFromStart(op.Target, protocol.OpCancelled)
		}
	}
	if left := r.processes(); len(left) > 0 {
		r.fault("check 2: the session has ended, and %q are left", left)
	}
}

// processes are those whose environment bears the mark of the ride. Where there is no /proc they
// cannot be looked for, which the table of results says.
func (r *ride) processes() []string {
	var out []string
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range paths {
		if b, err := os.ReadFile(path); err == nil && bytes.Contains(b, []byte(r.mark)) {
			line, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
			if len(line) > 0 {
				out = append(out, strings.ReplaceAll(string(line), "\x00", " "))
			}
		}
	}
	return out
}

// requests are those that were sent to the model, without those beside the work.
func (r *ride) requests() []request {
	r.t.Helper()
	var out []request
	for _, q := range r.stage.Requests() {
		if q.Status != 200 && !q.Left {
			r.fault("check 3: a request was answered with %d: %.300s", q.Status, q.Body)
		}
		var m request
		if err := json.Unmarshal(q.Body, &m); err != nil {
			r.t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

func (r *ride) validHistory() {
	r.t.Helper()
	requests := r.requests()
	if len(requests) == 0 {
		r.fault("check 3: the model was never asked")
	}
	for i, q := range requests {
		if err := refusedByAServer(q.Messages); err != nil {
			r.fault("check 3: request %d: %v", i, err)
		}
	}
}

func (r *ride) developersBytes(end map[string]string) {
	r.t.Helper()
	for file, texts := range r.typed {
		for _, text := range texts {
			in := end[file]
			if r.editor != nil {
				in = r.editor.text(r.house.uri(file))
			}
			if !strings.Contains(in, text) {
				r.fault("check 4: the developer typed %q; %s reads %q", text, file, in)
			}
		}
	}
}

// promptness is how long a word may take to be acknowledged, and to be in a request where nothing is
// waited for. The median is far below it: the machines of tests are busy.
const promptness = 3 * time.Second

// everyWord follows each word to its end.
func (r *ride) everyWord() {
	r.t.Helper()
	told := r.notes()
	requests := r.requests()
	times := r.stage.Requests()
	for i, w := range r.words {
		r.fate(w, told)
		in := slices.IndexFunc(requests, func(q request) bool { return bearsWord(q, w) > 0 })
		if !r.ended(w, in) {
			continue
		}
		for n, q := range requests[in:] {
			if times := bearsWord(q, w); times != 1 {
				r.fault("check 5: «%s» stands %d times in request %d", w.text, times, in+n)
			}
		}
		w.waited = times[in].At.Sub(w.said)
		w.how = r.manner(w, i)
		if w.took > promptness || w.when == protocol.Now && w.waited > promptness {
			r.fault("check 6: «%s» was acknowledged after %v and in a request after %v", w.text, w.took, w.waited)
		}
		if w.when == protocol.Now {
			r.nothingForTheOldGoal(w, told)
		}
		r.t.Logf("«%s»: %s; acknowledged after %v, in a request after %v", w.text, w.how, w.took.Round(time.Microsecond), w.waited.Round(time.Microsecond))
	}
}

// ended says that a word was heard and answered; first is the first request that bears it. One that
// was taken back is in none.
func (r *ride) ended(w *word, first int) bool {
	switch {
	case w.withdrawn && (first >= 0 || w.status != protocol.SteerWithdrawn):
		r.fault("check 5: «%s» was taken back, is %s, and stands in request %d", w.text, w.status, first)
	case w.withdrawn:
		w.how = "withdrawn"
	case w.status != protocol.SteerApplied:
		r.fault("check 5: «%s» ended as %s", w.text, w.status)
	case first < 0:
		r.fault("check 5: «%s» is in no request", w.text)
	default:
		return true
	}
	return false
}

// bearsWord counts how often a request bears a word.
func bearsWord(q request, w *word) int {
	n := 0
	for _, raw := range q.Messages {
		var m struct{ Role, Content string }
		if json.Unmarshal(raw, &m) == nil && m.Role == "user" {
			n += strings.Count(m.Content, "[steer "+w.receipt.SteerID+"] ")
		}
	}
	return n
}

// fate finds out what became of a word, which may only move forward.
func (r *ride) fate(w *word, told []string) {
	r.t.Helper()
	order := []protocol.SteerStatus{protocol.SteerReceived, protocol.SteerHeard, protocol.SteerApplied}
	for _, note := range told {
		body, is := strings.CutPrefix(note, protocol.NoteSteered+" ")
		if !is {
			continue
		}
		var p protocol.SteeredParams
		if err := json.Unmarshal([]byte(body), &p); err != nil {
			r.t.Fatal(err)
		}
		if p.Steer.ID != w.receipt.SteerID {
			continue
		}
		if w.status != "" && slices.Index(order, p.Steer.Status) == slices.Index(order, w.status) {
			r.fault("check 5: «%s» became %s twice", w.text, w.status)
		}
		w.status = p.Steer.Status
	}
}

// manner is how a word was taken.
func (r *ride) manner(w *word, i int) string {
	switch {
	case w.when != protocol.Now:
		return "queued as a follow-up"
	case i+1 < len(r.words) && r.words[i+1].when == protocol.Now && r.words[i+1].said.Sub(w.said) < w.waited:
		return "applied, together with the next"
	case len(w.receipt.Cancelled) > 0:
		return "applied by interrupt"
	}
	return "applied at once"
}

// nothingForTheOldGoal sees that between a word and the plan that answers it nothing with an effect
// has begun.
func (r *ride) nothingForTheOldGoal(w *word, told []string) {
	r.t.Helper()
	since := false
	for _, note := range told {
		method, body, _ := strings.Cut(note, " ")
		switch {
		case method == protocol.NoteSteered && strings.Contains(body, `"id":"`+w.receipt.SteerID+`"`):
			since = strings.Contains(body, `"status":"received"`) || since && strings.Contains(body, `"status":"heard"`)
		case since && method == protocol.NoteProgress:
			var p protocol.ProgressParams
			if err := json.Unmarshal([]byte(body), &p); err != nil {
				r.t.Fatal(err)
			}
			o := p.Operation
			if o.Status == protocol.OpRunning && (o.Effect == protocol.EffectWrite || o.Effect == protocol.EffectExecute) && !slices.Contains(w.receipt.Running, o.ID) {
				r.fault("check 8: after «%s» and before its plan %s %s began", w.text, o.Tool, o.Target)
			}
		}
	}
}

func (r *ride) keptAndUndone(end map[string]string) {
	r.t.Helper()
	for _, p := range r.want.kept {
		if r.atWord != nil && !strings.Contains(r.atWord[p.file], p.text) {
			r.fault("check 7: %s did not have %q before the first word, so nothing is shown", p.file, p.text)
		}
		if !strings.Contains(end[p.file], p.text) {
			r.fault("check 7: %q of %s was valid and is lost: %q", p.text, p.file, end[p.file])
		}
	}
	for _, p := range r.want.undone {
		if !strings.Contains(r.atWord[p.file], p.text) {
			r.fault("check 9: %s did not have %q before the first word, so nothing is shown", p.file, p.text)
		}
	}
	for _, p := range slices.Concat(r.want.undone, r.want.never) {
		if strings.Contains(end[p.file], p.text) {
			r.fault("check 9: %q of %s is obsolete and still there", p.text, p.file)
		}
	}
}

func (r *ride) goal() {
	r.t.Helper()
	standing := slices.DeleteFunc(slices.Clone(r.words), func(w *word) bool { return w.withdrawn })
	if len(r.want.passes) <= len(standing) {
		r.fault("check 10: %d hidden tests do not cover the task and %d words", len(r.want.passes), len(standing))
	}
	for _, line := range r.want.passes {
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir = r.house.dir
		if out, err := cmd.CombinedOutput(); err != nil {
			r.fault("check 10: %s: %v: %s", line, err, out)
		}
	}
}

func (r *ride) consequences() {
	r.t.Helper()
	told := strings.Join(r.notes(), "\n")
	for _, text := range r.want.told {
		if !strings.Contains(told, text) {
			r.fault("the developer was not told %q", text)
		}
	}
}

// The checker notices what is not ideal: after a ride that is, each of its checks is given something
// to find.
func TestIdealNotices(t *testing.T) {
	r := setOut(t, "s12", ideal{}, false)
	r.hears("Next I run the migration")
	r.says("No migrations this week, cache it instead.")
	r.reachesMode(protocol.Done, protocol.DeveloperInitiative)
	r.still = map[string]string{"measure.txt": "another"}
	r.stood()
	left := exec.Command("sh", "-c", "echo begun; while :; do sleep 0.05; done")
	left.Env = append(os.Environ(), r.mark)
	out, err := left.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = left.Wait() }) // it was killed
	t.Cleanup(func() { _ = left.Process.Kill() })
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	r.typed["measure.txt"] = []string{"what nobody typed"}
	r.words[0].took = time.Minute
	lost := &word{text: "a word that is lost", when: protocol.Now, receipt: protocol.SteerResult{SteerID: "t9"}}
	r.words = append(r.words, lost)
	r.want = ideal{kept: []piece{{"migrations/7.sql", "create index"}}, undone: []piece{{"measure.txt", "2,140 ms"}},
		passes: []string{"false"}, told: []string{"what nobody said"}}
	r.checks()
	found := strings.Join(r.faults, "\n")
	for _, fault := range []string{"check 1: ", "check 2: no command runs", "check 2: the session has ended", "check 4: ", "check 5: «a word that is lost»", "check 6: ",
		"check 7: \"create index\"", "check 9: \"2,140 ms\"", "check 10: 1 hidden tests", "check 10: false", "was not told"} {
		if !strings.Contains(found, fault) && (runtime.GOOS == "linux" || !strings.HasPrefix(fault, "check 2")) {
			t.Errorf("%q is not found in\n%s", fault, found)
		}
	}
	r.faults = nil
	r.nothingForTheOldGoal(r.words[0], []string{
		protocol.NoteSteered + ` {"steer":{"id":"t1","status":"received"}}`, protocol.NoteProgress + ` {"operation":{"id":"op9","effect":"write","status":"running"}}`})
	if len(r.faults) != 1 || !strings.Contains(r.faults[0], "check 8") {
		t.Errorf("of work for the old goal it says %q", r.faults)
	}
}
