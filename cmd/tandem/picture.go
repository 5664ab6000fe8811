package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tandem/protocol"
)

// picture is a session as the terminal shows it: what was told so far, and from each new thing
// the lines that tell it to a person. It reads no clock and writes nowhere.
type picture struct {
	session protocol.Session // mode, initiative, plan, pause and questions as they stand
	running []protocol.Operation
	spoken  words
	hinted  map[string]bool                  // operations that were shown at their start
	choices map[string]protocol.Decision     // those that are open
	known   map[string]protocol.Decision     // those that were shown
	steers  map[string]protocol.Steer        // by id, as they stand
	files   map[string][]protocol.FileChange // what each operation changed
	seq     int64
}

// words are those of the answer that is being given.
type words struct {
	op   string
	text string // of the paragraph that is not over
	any  bool   // the answer has had words
}

// newPicture is the picture of a session as it stands.
func newPicture(s protocol.Session) *picture {
	p := &picture{session: s, hinted: map[string]bool{}, choices: map[string]protocol.Decision{}, known: map[string]protocol.Decision{},
		steers: map[string]protocol.Steer{}, files: map[string][]protocol.FileChange{}, seq: s.Seq}
	for _, op := range s.Operations {
		if over(op) {
			continue
		}
		p.hinted[op.ID] = op.Status != protocol.OpQueued
		p.track(op)
	}
	for _, d := range s.Decisions {
		p.known[d.ID] = d
		if d.Status == protocol.DecisionOpen {
			p.choices[d.ID] = d
		}
	}
	return p
}

// over says that an operation has ended.
func over(op protocol.Operation) bool {
	switch op.Status {
	case protocol.OpDone, protocol.OpFailed, protocol.OpCancelled, protocol.OpLost:
		return true
	}
	return false
}

// show takes a notification in and gives the lines that tell it. The error is that it cannot be read.
func (p *picture) show(n note) ([]line, error) {
	switch n.Method {
	case protocol.NoteText:
		return read(p, n, p.text)
	case protocol.NoteProgress:
		return read(p, n, p.progress)
	case protocol.NotePlanChanged:
		return read(p, n, p.planned)
	case protocol.NoteDecision:
		return read(p, n, p.decided)
	case protocol.NoteModeChanged:
		return read(p, n, p.turned)
	case protocol.NoteSteered:
		return read(p, n, p.steered)
	case protocol.NoteFilesChanged:
		return read(p, n, p.changed)
	case protocol.NoteWatched:
		return read(p, n, p.watched)
	case protocol.NoteScenarioRan:
		return read(p, n, p.compared)
	case protocol.NoteUsage:
		return read(p, n, p.used)
	}
	return nil, nil
}

// read decodes the params of a notification for the one that shows them.
func read[P any](p *picture, n note, show func(P) []line) ([]line, error) {
	var params P
	if err := json.Unmarshal(n.Params, &params); err != nil {
		return nil, fmt.Errorf("read %s: %w", n.Method, err)
	}
	var head protocol.Event
	if err := json.Unmarshal(n.Params, &head); err != nil {
		return nil, fmt.Errorf("read %s: %w", n.Method, err)
	}
	p.seq = max(p.seq, head.Seq)
	return show(params), nil
}

// used takes the usage; it is shown with the status, not as a line. That it is no count is said once.
func (p *picture) used(n protocol.UsageParams) []line {
	news := n.Usage.Estimated && !p.session.Usage.Estimated
	p.session.Usage = n.Usage
	if news {
		return []line{{mark: "!", text: "The model's server reports no tokens; what is counted is an estimate from the length of the words.", tone: careful}}
	}
	return nil
}

// tokens is what a session has used.
func tokens(u protocol.Usage) string {
	about := ""
	if u.Estimated {
		about = "about "
	}
	cached := ""
	if u.CachedInputTokens > 0 {
		cached = fmt.Sprintf(" (%d cached)", u.CachedInputTokens)
	}
	return fmt.Sprintf("%d requests · %s%d tokens in%s, %d out", u.Requests, about, u.InputTokens, cached, u.OutputTokens)
}

// text takes words of the agent; a paragraph is a line once it is over.
func (p *picture) text(n protocol.TextParams) []line {
	var out []line
	if p.spoken.op != n.OperationID {
		out = p.hush("")
		p.spoken = words{op: n.OperationID}
	}
	p.spoken.any = true
	p.spoken.text += n.Delta
	for {
		said, rest, ok := strings.Cut(p.spoken.text, "\n")
		if !ok {
			return out
		}
		p.spoken.text = rest
		if strings.TrimSpace(said) != "" {
			out = append(out, speech(said))
		}
	}
}

func speech(text string) line { return line{indent: 2, text: text} }

// hush ends the paragraph; behind says how, where it was cut.
func (p *picture) hush(behind string) []line {
	said := strings.TrimSpace(p.spoken.text)
	p.spoken.text = ""
	if said == "" {
		return nil
	}
	return []line{speech(said + behind)}
}

// progress shows an operation that began or ended.
func (p *picture) progress(n protocol.ProgressParams) []line {
	op := n.Operation
	i := slices.IndexFunc(p.running, func(o protocol.Operation) bool { return o.ID == op.ID })
	if i >= 0 && p.running[i].Status == op.Status && p.hinted[op.ID] {
		p.track(op) // only its output has grown
		return nil
	}
	p.track(op)
	if op.Kind == protocol.Think {
		return p.thinking(op)
	}
	var out []line
	if op.Status != protocol.OpQueued && !over(op) && !p.hinted[op.ID] {
		p.hinted[op.ID] = true
		out = append(out, p.hush("")...)
		return append(out, p.intent(op)...)
	}
	return append(out, p.outcome(op)...)
}

// track keeps the list of what runs.
func (p *picture) track(op protocol.Operation) {
	i := slices.IndexFunc(p.running, func(o protocol.Operation) bool { return o.ID == op.ID })
	switch {
	case i >= 0 && over(op):
		p.running = slices.Delete(p.running, i, i+1)
	case i >= 0:
		p.running[i] = op
	case !over(op):
		p.running = append(p.running, op)
	}
}

// thinking shows how an answer of the model ended. Words that nobody heard as they came are
// shown now.
func (p *picture) thinking(op protocol.Operation) []line {
	if !over(op) {
		return nil
	}
	heard := p.spoken.op == op.ID && p.spoken.any
	switch {
	case op.Status == protocol.OpCancelled && heard:
		return p.hush(" … (cut)")
	case op.Status == protocol.OpFailed:
		return p.hush(" … (cut)") // why, and what comes of it, the change of mode behind it says
	case heard:
		return p.hush("")
	case op.Status == protocol.OpDone && strings.TrimSpace(op.Output) != "":
		return []line{speech(op.Output)}
	}
	return nil
}

// silent are tools whose work shows by itself: as a plan, a decision, a card.
var silent = []string{"update_plan", "announce_decision", "call_pause", "ask_developer", "check_in", "finish"}

// intent is the line that an operation begins with.
func (p *picture) intent(op protocol.Operation) []line {
	if slices.Contains(silent, op.Tool) {
		return nil
	}
	return []line{{indent: 2, mark: "·", text: op.Intent, side: op.Target}}
}

// outcome shows how an operation goes on or ends, as far as it does not go without saying.
func (p *picture) outcome(op protocol.Operation) []line {
	name := op.Target
	if name == "" {
		name = op.Tool
	}
	switch op.Status {
	case protocol.OpFrozen:
		return []line{{indent: 4, mark: "⏸", text: "frozen: " + name, tone: quiet}}
	case protocol.OpRunning:
		return []line{{indent: 4, mark: "▶", text: "goes on: " + name, tone: quiet}}
	case protocol.OpDone:
		if op.Effect != protocol.EffectExecute {
			return nil
		}
		return []line{{indent: 4, mark: "✓", text: ending("passed", op), side: name, tone: good}}
	case protocol.OpFailed:
		return append([]line{{indent: 4, mark: "✗", text: ending("failed", op), side: name, tone: bad}}, tail(op.Output)...)
	case protocol.OpCancelled:
		return []line{{indent: 4, mark: "–", text: cancelled(op, name), tone: quiet}}
	case protocol.OpLost:
		return []line{{indent: 4, mark: "✗", text: "lost, its outcome is unknown; look before you act again: " + name, tone: bad}}
	}
	return nil
}

// ending is how an operation ended: the word, the exit code, and the time where it was long.
func ending(word string, op protocol.Operation) string {
	if op.ExitCode != nil {
		word += fmt.Sprintf(" · exit %d", *op.ExitCode)
	}
	if took := took(op); took >= time.Second {
		word += " · " + seconds(took)
	}
	return word
}

func took(op protocol.Operation) time.Duration {
	if op.StartedAt == nil || op.EndedAt == nil {
		return 0
	}
	return op.EndedAt.Sub(*op.StartedAt)
}

// seconds is a time as people say it.
func seconds(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
}

// cancelled says what kept an operation from its end, and what it had done by then.
func cancelled(op protocol.Operation, name string) string {
	by := map[protocol.CancelKind]string{protocol.BySteer: "by your steer", protocol.ByPause: "by the pause",
		protocol.ByReplan: "by the new plan", protocol.ByEnd: "by the end"}
	text := "cancelled"
	if op.CancelledBy != nil {
		text += " " + by[op.CancelledBy.Kind]
	}
	if !op.Partial {
		return text + " before it began: " + name
	}
	return text + ", partly done: " + name
}

// lastLines is how many lines of a failed command's output are shown.
const lastLines = 10

// tail is the end of an output.
func tail(output string) []line {
	all := strings.Split(strings.TrimRight(output, "\n"), "\n")
	if len(all) == 1 && strings.TrimSpace(all[0]) == "" {
		return nil
	}
	var out []line
	if cut := len(all) - lastLines; cut > 0 {
		out = append(out, line{indent: 6, text: fmt.Sprintf("… %d lines before", cut), tone: quiet})
		all = all[cut:]
	}
	for _, text := range all {
		out = append(out, line{indent: 6, text: text, tone: quiet, as: true})
	}
	return out
}

// changed shows the files that an operation changed, with how many lines came and went.
func (p *picture) changed(n protocol.FilesChangedParams) []line {
	p.files[n.OperationID] = append(p.files[n.OperationID], n.Files...)
	var out []line
	for _, f := range n.Files {
		added, gone := 0, 0
		for _, h := range f.Hunks {
			added, gone = added+h.NewLines, gone+h.OldLines
		}
		text := string(f.Change) + " " + relative(p.session.Workspace, f.URI)
		if added+gone > 0 {
			text += fmt.Sprintf("  +%d −%d", added, gone)
		}
		out = append(out, line{indent: 4, mark: "~", text: text, tone: quiet})
	}
	return out
}

// steered shows how far a steer has come.
func (p *picture) steered(n protocol.SteeredParams) []line {
	before := p.steers[n.Steer.ID]
	p.steers[n.Steer.ID] = n.Steer
	if before.Status == n.Steer.Status {
		return nil
	}
	behind := " …"
	if n.Steer.When == protocol.Now && n.Steer.Status == protocol.SteerReceived {
		behind = " … (cut)"
	}
	out := p.hush(behind)
	switch n.Steer.Status {
	case protocol.SteerReceived:
		return append(out, line{mark: "›", text: n.Steer.Text, side: when("steer received", n.Steer.When), tone: mine})
	case protocol.SteerHeard:
		return append(out, line{indent: 2, mark: "›", text: "steer heard: «" + clip(n.Steer.Text, 50) + "»", tone: quiet})
	case protocol.SteerApplied:
		return append(out, line{indent: 2, mark: "›", text: fmt.Sprintf("steer applied in revision %d", n.Steer.PlanRevision), tone: quiet})
	case protocol.SteerWithdrawn:
		return append(out, line{indent: 2, mark: "›", text: "steer withdrawn: «" + clip(n.Steer.Text, 50) + "»", tone: quiet})
	}
	return out
}

func when(what string, w protocol.When) string {
	switch w {
	case protocol.StepEnd:
		return what + ", for the end of this step"
	case protocol.Idle:
		return what + ", for the end of the agent's turn"
	}
	return what
}

// receipt shows what a steer cost: nothing, where it came to nothing that ran.
func (p *picture) receipt(r protocol.SteerResult) []line {
	var parts []string
	if len(r.Cancelled) > 0 {
		parts = append(parts, fmt.Sprintf("cancelled %d that had not begun or that you named", len(r.Cancelled)))
	}
	for _, id := range r.Running {
		i := slices.IndexFunc(p.running, func(o protocol.Operation) bool { return o.ID == id })
		if i >= 0 {
			parts = append(parts, "runs on: "+clip(p.running[i].Target, 40))
		}
	}
	var files []string
	for _, u := range r.Unseen {
		for _, f := range u.Files {
			files = append(files, relative(p.session.Workspace, f))
		}
	}
	if len(files) > 0 {
		parts = append(parts, "had already changed: "+strings.Join(files, ", "))
	}
	if len(parts) == 0 {
		return nil
	}
	return []line{{indent: 2, mark: "›", text: strings.Join(parts, " · "), tone: quiet}}
}

// watched shows a value that changed.
func (p *picture) watched(n protocol.WatchedParams) []line {
	w := n.Watch
	value := fmt.Sprint(w.Value)
	if w.Error != "" {
		value = "cannot be read: " + w.Error
	} else if w.Previous != nil {
		value += fmt.Sprintf("  (was %v)", w.Previous)
	}
	return []line{{indent: 4, mark: "=", text: w.Name + ": " + value}}
}

// compared shows a before and after: of a run by hand, or of the same case in a pause.
func (p *picture) compared(n protocol.ScenarioRanParams) []line {
	if p.session.Pause != nil && p.session.Pause.Decision != "" {
		return beforeAndAfter(decidedTitle, n.Comparison)
	}
	return comparison(n.Comparison)
}

// now is what happens at a time, in one line.
func (p *picture) now(at time.Time) string {
	switch p.session.Mode {
	case protocol.Paused:
		if p.session.Initiative == protocol.AgentInitiative {
			return "⏸ paused · the agent looks into it" + p.busy(at)
		}
		return "⏸ paused · your turn"
	case protocol.Waiting:
		return "● waiting · your turn" + p.busy(at)
	case protocol.Done:
		return "✓ done · Enter steers on, Ctrl-C leaves"
	}
	return "● working" + p.busy(at) + p.veto(at)
}

// veto says how long an open decision still waits.
func (p *picture) veto(at time.Time) string {
	d := p.openDecision()
	switch {
	case d.ID == "":
		return ""
	case d.Deadline == nil:
		return " · a decision waits for your word"
	}
	return fmt.Sprintf(" · the decision stands in %d s", max(int(d.Deadline.Sub(at).Seconds()+0.5), 0))
}

// busy names what runs, and for how long where it is long.
func (p *picture) busy(at time.Time) string {
	op, n := protocol.Operation{}, 0
	for _, o := range p.running {
		if o.Status != protocol.OpRunning {
			continue
		}
		if n++; n == 1 || op.Kind == protocol.Think && o.Kind == protocol.Tool {
			op = o
		}
	}
	if n == 0 {
		return ""
	}
	text := " · thinking"
	if op.Kind == protocol.Tool {
		text = " · " + clip(strings.TrimSpace(op.Target), 60)
		if op.Target == "" {
			text = " · " + op.Tool
		}
	}
	if op.StartedAt != nil {
		if long := at.Sub(*op.StartedAt); long >= 2*time.Second {
			text += fmt.Sprintf(" · %d s", int(long.Seconds()))
		}
	}
	return text
}

// firstWord and its doubles are when a pipe is told that something takes long.
const firstWord = 30 * time.Second

// overdue tells, where no status line is seen, what has been running for long: at 30 s, 1 min,
// 2 min and so on. Said holds what was told already.
func (p *picture) overdue(at time.Time, said map[string]time.Duration) []line {
	var out []line
	for _, op := range p.running {
		if op.Status != protocol.OpRunning || op.StartedAt == nil {
			continue
		}
		next := max(firstWord, 2*said[op.ID])
		if long := at.Sub(*op.StartedAt); long >= next {
			said[op.ID] = next
			name := "the model has been thinking"
			if op.Kind == protocol.Tool {
				name = clip(op.Target, 60) + " has been running"
			}
			out = append(out, line{indent: 2, mark: "…", text: fmt.Sprintf("%s for %s", name, seconds(long)), tone: quiet})
		}
	}
	maps.DeleteFunc(said, func(id string, _ time.Duration) bool {
		return !slices.ContainsFunc(p.running, func(o protocol.Operation) bool { return o.ID == id })
	})
	return out
}
