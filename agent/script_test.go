package agent

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"tandem/protocol"
)

var update = flag.Bool("update", false, "rewrite what the scripts and golden files of testdata expect")

// TestScripts plays each script of testdata. Lines at column 0 go in, what is indented comes
// out: the facts with their numbers, then what is started and stopped. With -update what comes
// out is rewritten: read the difference. A cut after every record can still be finished.
func TestScripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no scripts: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			p := &player{t: t, world: newWorld(), jobs: map[string]Work{}}
			p.play(string(want))
			if err := p.world.check(); err != nil {
				t.Error(err)
			}
			cutAnywhere(t, p.world)
			compareGolden(t, path, string(want), p.out.String())
		})
	}
}

func compareGolden(t *testing.T, path, want, got string) {
	t.Helper()
	if want == got {
		return
	}
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Errorf("%s, got:\n%s", path, got)
}

// cutAnywhere restarts after each record, as after a crash, and finishes the session.
func cutAnywhere(t *testing.T, w *world) {
	t.Helper()
	for n := range len(w.records) + 1 {
		after := replayed(w.records[:n], w.now)
		if n > 0 {
			if _, err := after.post(Reopened{}); err != nil {
				t.Fatalf("reopen after record %d: %v", n, err)
			}
		}
		if err := after.finish(200); err != nil {
			t.Errorf("cut after record %d: %v", n, err)
		}
		if err := after.check(); err != nil {
			t.Errorf("cut after record %d: %v", n, err)
		}
	}
}

// A player reads a script's lines as inputs and writes what comes of them.
type player struct {
	t     *testing.T
	world *world
	out   strings.Builder
	jobs  map[string]Work
	shown int // messages of the conversation that were shown
}

func (p *player) play(script string) {
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "    ") {
			continue
		}
		fmt.Fprintln(&p.out, line)
		if line == "" || line[0] == '#' {
			continue
		}
		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "talk":
			p.showTalk()
		case "view":
			p.showView()
		case "saying":
			op, text, _ := strings.Cut(rest, " ")
			p.world.partial = append(p.world.partial, Partial{Op: long(op), Text: text})
		default:
			p.input(p.read(verb, rest))
		}
	}
}

func (p *player) input(in Input) {
	from := p.world.state.Seq
	events, err := p.world.post(in)
	if err != nil {
		fmt.Fprintf(&p.out, "    refused: %v\n", err)
	}
	for i, e := range events {
		fmt.Fprintf(&p.out, "    %-4d %s\n", from+int64(i)+1, short(showEvent(e)))
	}
	if _, ok := in.(Reopened); ok {
		clear(p.jobs)
	}
	now := map[string]Work{}
	work := p.world.state.Work()
	for _, w := range work {
		now[w.ID] = w
	}
	for _, id := range sorted(p.jobs) {
		if _, ok := now[id]; !ok && p.world.closed[id] == 0 && !answered(events, id) {
			fmt.Fprintf(&p.out, "    stop   %s\n", short(id))
		}
	}
	for _, w := range work {
		before, ran := p.jobs[w.ID]
		switch {
		case !ran:
			fmt.Fprintf(&p.out, "    start  %s\n", short(p.showWork(w)+leave(w.Job)))
		case w.Frozen && !before.Frozen:
			fmt.Fprintf(&p.out, "    freeze %s\n", short(w.ID))
		case !w.Frozen && before.Frozen:
			fmt.Fprintf(&p.out, "    thaw   %s\n", short(w.ID))
		}
	}
	p.jobs = now
}

// answered says that a question or a wait ended by itself, so that nobody stops it.
func answered(events []Event, id string) bool {
	if strings.HasPrefix(id, "wait ") {
		return true
	}
	for _, e := range events {
		switch e := e.(type) {
		case Answered:
			if e.Question == id {
				return true
			}
		case AskedInVain:
			if e.Question == id {
				return true
			}
		}
	}
	return false
}

func (p *player) showWork(w Work) string {
	switch job := w.Job.(type) {
	case Ask:
		text := w.ID + " ask"
		if job.Silent {
			text += " silent"
		}
		if job.Force != "" {
			text += " force=" + job.Force
		}
		if job.Attempt > 0 {
			text += fmt.Sprintf(" attempt=%d", job.Attempt)
		}
		return text
	case Verify:
		return w.ID + " verify " + job.Command
	case Commit:
		text := fields(w.ID, job.Step.ID, named("after", nonEmpty(job.Tip)), named("ops", job.Ops))
		for _, c := range job.Changes {
			text += " " + c.Path
		}
		return text
	case Revert:
		text := w.ID + " revert"
		for _, e := range job.Edits {
			text += " " + e.Op.ID
		}
		return text
	case Wait:
		return "wait until +" + job.Until.Sub(morning).String()
	case Check:
		return fields(w.ID, strings.Join(idsOf(job.After), ","))
	case KeepInputs, RunBefore:
		return w.ID
	case Rerun:
		return fields(w.ID, job.Scenario, named("snapshot", nonEmpty(job.Snapshot)))
	}
	c, _ := p.world.state.call(w.ID)
	return strings.TrimSpace(w.ID + " " + c.Op.Tool + " " + c.Op.Target)
}

// leave is what a job may touch by the developer's word.
func leave(job Job) string {
	var network bool
	var needs []Need
	switch job := job.(type) {
	case Run:
		network, needs = job.Network, job.Leave
	case Verify:
		network, needs = job.Network, job.Leave
	}
	text := flagged(" network", network)
	for _, n := range needs {
		text += flagged(" may="+n.File, n.File != "")
	}
	return text
}

// showTalk shows the messages that were not shown before.
func (p *player) showTalk() {
	talk := p.world.state.Conversation()
	if len(talk) < p.shown {
		p.shown = 0 // it was compacted
	}
	for _, raw := range talk[p.shown:] {
		var m message
		if err := json.Unmarshal(raw, &m); err != nil {
			p.t.Fatal(err)
		}
		who := strings.TrimSpace(m.Role + " " + m.ToolCallID)
		if m.Content != nil && *m.Content != systemWords {
			for i, line := range strings.Split(strings.TrimRight(*m.Content, "\n"), "\n") {
				if i > 0 {
					who = strings.Repeat(" ", len(short(who)))
				}
				fmt.Fprintln(&p.out, strings.TrimRight("    "+short(who+": "+line), " "))
			}
		}
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&p.out, "    %s calls %s\n", m.Role, short(c.ID+" "+c.Function.Name))
		}
	}
	p.shown = len(talk)
}

// showView shows the session as a client sees it.
func (p *player) showView() {
	v := p.world.state.View(p.world.now)
	fmt.Fprintf(&p.out, "    %s, turn of the %s, autonomy %s\n", v.Mode, v.Initiative, v.Autonomy)
	if v.Plan != nil {
		fmt.Fprintf(&p.out, "    %s\n", showPlan(*v.Plan))
	}
	for _, o := range v.Operations {
		if o.Kind == protocol.Tool {
			fmt.Fprintf(&p.out, "    %s\n", short(strings.TrimSpace(fmt.Sprintf("%s %s %s %s", o.ID, o.Tool, o.Status, o.StepID))))
		}
	}
	if v.Pause != nil {
		fmt.Fprintf(&p.out, "    %s\n", short(showPause(*v.Pause)))
	}
	for _, d := range v.Decisions {
		for _, a := range d.Actions {
			if d.Kind == protocol.Permission {
				fmt.Fprintf(&p.out, "    %s %s «%s»: %s\n", d.ID, d.Status, d.Summary, a.Title)
			}
		}
	}
	for _, a := range v.Actions {
		fmt.Fprintf(&p.out, "    can: %s\n", a.Title)
	}
}

// read is the input that a line stands for.
func (p *player) read(verb, rest string) Input {
	options, text := bracketed(rest)
	first, after, _ := strings.Cut(text, " ")
	switch verb {
	case "start":
		return Start{ID: "session", Workspace: "file:///w", Task: text, Autonomy: protocol.Autonomy(options["autonomy"]),
			Model: "m", Trusted: options["untrusted"] == "", Guards: guards(options), Habits: habits(options["habit"]), By: "me"}
	case "reply":
		return p.reply(options, text)
	case "stale":
		return Replied{Question: long(first), Text: after}
	case "fail":
		wait, _ := time.ParseDuration(options["wait"])
		return AskFailed{Question: p.question(), Why: Failure(first), Text: after, Wait: wait}
	case "done", "failed", "cancelled":
		return outcome(verb, options, first, after)
	case "time":
		d, err := time.ParseDuration(first)
		if err != nil {
			p.t.Fatal(err)
		}
		p.world.now = p.world.now.Add(d)
		return TimePassed{}
	case "clock":
		d, err := time.ParseDuration(first)
		if err != nil {
			p.t.Fatal(err)
		}
		p.world.now = p.world.now.Add(d)
		return ClockSet{By: d}
	case "reopen":
		return Reopened{}
	case "edited":
		return Edited{Path: text, By: options["by"]}
	case "prints":
		op, words, _ := strings.Cut(text, " ")
		return Said{Op: long(op), Text: words}
	}
	if in := p.guarding(verb, options, text); in != nil {
		return in
	}
	return p.request(verb, options, text)
}

// request is what the developer says.
func (p *player) request(verb string, options map[string]string, text string) Input {
	first, after, _ := strings.Cut(text, " ")
	switch verb {
	case "steer":
		in := Steer{Text: text, When: protocol.When(options["when"]), Scope: scope(options["scope"]), By: "me"}
		if n, err := strconv.ParseInt(options["seen"], 10, 64); err == nil {
			in.SeenSeq = &n
		}
		return in
	case "withdraw":
		return Withdraw{Steer: first}
	case "replan":
		base, err := strconv.Atoi(options["base"])
		if err != nil {
			p.t.Fatal(err)
		}
		return Replan{Base: base, Reason: options["reason"], Edits: edits(text)}
	case "revert":
		return revertOf(long(first))
	case "pause":
		return Pause{Reason: text, End: options["end"] != "", Closed: options["closed"] != ""}
	case "resume":
		in := Resume{Acknowledged: options["ack"] != "", Drift: nonEmpty(options["drift"])}
		if p.world.state.Pause != nil && options["unlooked"] == "" {
			in.Pause = p.world.state.Pause.ID
		}
		return in
	case "decide":
		in := Decide{Text: after, Option: options["option"], Reject: options["reject"] != ""}
		switch first[0] {
		case 'p':
			in.Pause = first
		case 'd':
			in.Decision = first
		default:
			in.Question = first
		}
		return in
	case "autonomy":
		return SetAutonomy{Level: protocol.Autonomy(first)}
	case "end":
		return End{}
	}
	p.t.Fatalf("nobody knows the line %q", verb)
	return nil
}

func (p *player) question() string {
	if p.world.state.Question == nil {
		fmt.Fprintln(&p.out, "    (the model is not asked now)")
		return ""
	}
	return p.world.state.Question.ID
}

// reply is an answer: words, then calls behind bars.
func (p *player) reply(options map[string]string, text string) Input {
	in := Replied{Question: p.question(), Length: options["length"] != "", Usage: protocol.Usage{InputTokens: 100, OutputTokens: 10}}
	said, calls, _ := strings.Cut(text, "|")
	in.Text = strings.TrimSpace(said)
	for _, c := range strings.Split(calls, "|") {
		if c = strings.TrimSpace(c); c != "" {
			in.Calls = append(in.Calls, p.modelCall(c))
		}
	}
	return in
}

var stepMark = regexp.MustCompile(` @(\S+)$`)

// modelCall reads a call: a short verb, what it is about, and @step.
func (p *player) modelCall(text string) ModelCall {
	step := ""
	if m := stepMark.FindStringSubmatch(text); m != nil {
		step, text = m[1], strings.TrimSuffix(text, m[0])
	}
	verb, rest, _ := strings.Cut(text, " ")
	head := fmt.Sprintf(`"intent":%s,"step":%q`, encode("I "+text+"."), step)
	parts := strings.Split(rest, " / ")
	call := func(tool, format string, args ...any) ModelCall {
		return ModelCall{Name: tool, Arguments: "{" + head + "," + fmt.Sprintf(format, args...) + "}"}
	}
	switch verb {
	case "raw":
		tool, arguments, _ := strings.Cut(rest, " ")
		return ModelCall{Name: tool, Arguments: arguments}
	case "plan":
		return call(toolUpdatePlan, "%s", planText(rest))
	case "read":
		return call(toolReadFile, `"path":%q`, rest)
	case "edit":
		return call(toolEditFile, `"path":%q,"edits":[{"old":"a","new":"b"}]`, rest)
	case "run":
		return call(toolRunCommand, `"command":%q`, rest)
	case "run&":
		return call(toolRunCommand, `"command":%q,"background":true`, rest)
	case "stop":
		return call(toolStopCommand, `"operation":%q`, long(rest))
	case "announce":
		return call(toolAnnounce, "%s", decisionText(parts))
	case "brake":
		return call(toolCallPause, `"facts":[%q],"likely_cause":%q,"options":%s`, parts[0], parts[1], encode(parts[2:]))
	case "ask":
		return call(toolAskDeveloper, `"questions":[{"text":%q,"options":%s}]`, parts[0], encode(parts[1:]))
	case "checkin":
		return call(toolCheckIn, `"verdict":"continue","brief":{"goal":"g","done":[]}`)
	case "finish":
		return call(toolFinish, `"summary":%q`, rest)
	}
	p.t.Fatalf("nobody knows the call %q", text)
	return ModelCall{}
}

func outcome(verb string, options map[string]string, op, text string) Input {
	in := Outcome{Op: long(op), Failed: verb == "failed", Cancelled: verb == "cancelled", Text: text, Output: text}
	if name := options["fails"]; name != "" {
		in.Findings = []Finding{{Tripwire: name, Facts: []protocol.Fact{tripFact(name, "wrong")}}}
	}
	for need := range strings.SplitSeq(options["needs"], ",") {
		if kind, file, _ := strings.Cut(need, ":"); kind != "" {
			in.Needs = append(in.Needs, Need{Kind: NeedKind(kind), File: file})
		}
	}
	if n, err := strconv.Atoi(options["exit"]); err == nil {
		in.ExitCode = &n
	}
	if options["changed"] != "" {
		for _, path := range strings.Split(options["changed"], ",") {
			in.Changes = append(in.Changes, Change{Path: path, Before: &Image{}, After: &Image{}})
		}
	}
	if options["clash"] != "" {
		in.Conflicts = []string{options["clash"]}
	}
	for _, status := range []string{"restored", "conflict"} {
		for path := range strings.SplitSeq(options[status], ",") {
			if path != "" {
				in.Reverted = append(in.Reverted, RevertedFile{Path: path, Status: status})
			}
		}
	}
	return in
}
