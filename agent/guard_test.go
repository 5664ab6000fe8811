package agent

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tandem/protocol"
)

// This file is what scripts and random sessions say about stop conditions, watches and scenarios.

// guards reads what a script's session looks after: lists with , between names.
func guards(options map[string]string) Guards {
	list := func(key string) []string {
		if options[key] == "" {
			return nil
		}
		return strings.Split(options[key], ",")
	}
	g := Guards{Tripwires: list("trips"), Scenarios: list("scenarios")}
	g.Context, _ = strconv.ParseInt(options["context"], 10, 64)
	g.Marked, g.Network, g.Commits = list("marked"), options["network"] != "", options["commits"] != ""
	for _, name := range list("watches") {
		g.Watches = append(g.Watches, protocol.NewWatch{Name: name, Source: protocol.Source{JSON: name}})
	}
	for _, text := range list("budget") {
		what, most, _ := strings.Cut(text, ":")
		n, _ := strconv.ParseInt(most, 10, 64)
		b := Budget{Name: "budget"}
		switch what {
		case "requests":
			b.Requests = n
		case "tokens":
			b.Tokens = n
		case "minutes":
			b.Minutes = n
		case "repeats":
			b.Repeats = n
		}
		g.Budgets = append(g.Budgets, b)
	}
	return g
}

// habits reads KIND:TIMES.
func habits(text string) []Habit {
	kind, times, ok := strings.Cut(text, ":")
	n, err := strconv.Atoi(times)
	if !ok || err != nil {
		return nil
	}
	return []Habit{{kind, n}}
}

func tripFact(name, observed string) protocol.Fact {
	return protocol.Fact{Text: name + ": observed " + observed, Source: &protocol.FactSource{Tripwire: name, Expected: "right", Observed: observed}}
}

// evaluated is the report of the check that is due: [fails=NAME scenario=NAME watch=w1:5].
func (p *player) evaluated(options map[string]string) Input {
	in := Evaluated{ID: p.world.state.checkID(), Baseline: json.RawMessage(`{}`), InVain: options["vain"] != ""}
	for _, w := range p.world.state.Work() {
		if job, ok := w.Job.(Check); ok {
			in.Ops = idsOf(job.After)
		}
	}
	if name := options["fails"]; name != "" {
		in.Findings = []Finding{{Tripwire: name, Scenario: options["scenario"], Facts: []protocol.Fact{tripFact(name, "wrong")}}}
	}
	if id, value, ok := strings.Cut(options["watch"], ":"); ok {
		r := Reading{Watch: id, Value: value}
		if value == "error" {
			r.Value, r.Error = nil, "it cannot be read"
		}
		in.Values = append(in.Values, r)
	}
	return in
}

func idsOf(list []Past) []string {
	var ids []string
	for _, p := range list {
		ids = append(ids, p.Op.ID)
	}
	return ids
}

// guarding reads the lines about what is guarded; nil for any other.
func (p *player) guarding(verb string, options map[string]string, text string) Input {
	s := p.world.state
	pause := ""
	if s.Pause != nil {
		pause = s.Pause.ID
	}
	switch verb {
	case "configure":
		return Configure{guards(options)}
	case "checked":
		return p.evaluated(options)
	case "kept":
		return Kept{Pause: pause, Snapshot: text, Broken: options["broken"]}
	case "before":
		return Preceded{Pause: pause, Run: protocol.Run{ExitCode: 0, Checks: []protocol.Check{{Tripwire: "rows", Expected: "9", Observed: text}}}, Broken: options["broken"]}
	case "reran":
		return reran(p.rerunID(), options, text)
	case "scenario":
		return RunScenario{Scenario: text, Against: protocol.Against(options["against"])}
	case "watch":
		return AddWatch{Name: text, Source: protocol.Source{JSON: text}}
	case "committed":
		return CommitEnded{ID: p.world.state.commitID(), Commit: text, Why: options["why"], LeftOut: nonEmpty(options["out"]), InVain: options["vain"] != ""}
	case "unwatch":
		return RemoveWatch{Watch: text}
	}
	return p.besides(verb, options, text)
}

// besides reads the lines about what is asked beside the work; nil for any other.
func (p *player) besides(verb string, options map[string]string, text string) Input {
	id, rest, _ := strings.Cut(text, " ")
	switch verb {
	case "checkin":
		return CheckIn{Text: text}
	case "ask":
		return AskAside{Question: text, Facts: nonEmpty(options["fact"])}
	case "beside":
		in := p.reply(options, rest).(Replied)
		in.Question = p.asideWork(id)
		return in
	case "besides":
		d, _ := time.ParseDuration(options["wait"])
		return AskFailed{Question: p.asideWork(id), Why: Failure(options["why"]), Text: rest, Wait: d}
	}
	return nil
}

func (p *player) asideWork(id string) string {
	for _, a := range p.world.state.Asides {
		if a.ID == id {
			return a.workID()
		}
	}
	return id
}

func (p *player) rerunID() string {
	for _, w := range p.world.state.Work() {
		if _, ok := w.Job.(Rerun); ok {
			return w.ID
		}
	}
	return ""
}

func reran(id string, options map[string]string, observed string) Input {
	in := Reran{ID: id, Broken: options["broken"], Comparison: protocol.Comparison{Scenario: "report", Input: protocol.Input{Digest: "d", Same: true}}}
	check := protocol.Check{Tripwire: "rows", OK: options["fails"] == "", Expected: "9", Observed: observed}
	in.Comparison.After.Checks = []protocol.Check{check}
	if !check.OK {
		in.Facts = []protocol.Fact{tripFact(options["fails"], observed)}
	}
	return in
}

// asideReply is an answer of good will to what is asked beside the work.
func asideReply(work string, a Aside) Input {
	in := Replied{Question: work, Text: "Because of it."}
	if a.CheckIn {
		in.Calls = []ModelCall{{Name: toolCheckIn, Arguments: `{"verdict":"continue","next_steps":["go on"],"brief":{"goal":"g","done":[]}}`}}
	}
	return in
}

// showGuarded is a fact about what is guarded in one line.
func showGuarded(e Event) string {
	switch e := e.(type) {
	case Guarded:
		var names []string
		for _, w := range e.Watches {
			names = append(names, w.ID+" "+w.Name)
		}
		return fields("guarded", named("tripwires", e.Guards.Tripwires), named("scenarios", e.Guards.Scenarios), named("watches", names))
	case Checked:
		return fields("checked", strings.Join(e.Ops, ","))
	case Watched:
		w := e.Watch
		text := fields("watched", w.ID, quoted(w.Name), named("after", nonEmpty(w.OperationID)), quoted(w.Error))
		if w.Value != nil {
			text += fmt.Sprintf(" is %v", w.Value)
		}
		if w.Previous != nil {
			text += fmt.Sprintf(" was %v", w.Previous)
		}
		return text
	case Unwatched:
		return fields("unwatched", e.Watch)
	case Tripped:
		return fields("tripped", showPause(protocol.Pause{Facts: e.Facts}))
	case StillFailed:
		return fields("stillFailed", showPause(protocol.Pause{Facts: e.Facts}))
	}
	return showCase(e)
}

func showCase(e Event) string {
	switch e := e.(type) {
	case AskedAside:
		return fields("askedAside", e.ID, quoted(e.Text), named("signals", e.Signals), fmt.Sprintf("messages=%d", len(e.Messages)))
	case AskedAsideAgain:
		return fields("askedAsideAgain", e.ID, quoted(e.Prose))
	case CheckedIn:
		return fields("checkedIn", e.CheckIn.ID, e.CheckIn.Verdict, showCheckIn(e.CheckIn))
	case AnsweredAside:
		return fields("answeredAside", e.ID, quoted(e.Answer))
	case AsideFailed:
		return fields("asideFailed", e.ID, quoted(e.Text))
	case Committed:
		return fields("committed", e.Step, e.Branch, e.Commit, named("left out", e.LeftOut), quoted(e.Why), flagged("in vain", e.InVain))
	case Signalled:
		return fields("signalled", e.Kind, quoted(e.Text))
	case InputsKept:
		return fields("inputsKept", e.Snapshot, quoted(e.Broken))
	case RanBefore:
		return fields("ranBefore", showRun(e.Run), quoted(e.Broken))
	case Rerunning:
		return fields("rerunning", e.Scenario)
	case ScenarioWanted:
		return fields("scenarioWanted", e.Wanted.ID, e.Wanted.Scenario, e.Wanted.Against)
	case Compared:
		return fields("compared", e.ID, e.Comparison.Scenario, showRun(e.Comparison.After))
	case Uncompared:
		return fields("uncompared", e.ID, quoted(e.Broken))
	}
	return ""
}

func showCheckIn(c protocol.CheckIn) string {
	var steps, done, against []string
	for _, n := range c.NextSteps {
		steps = append(steps, strings.TrimSpace(n.Step+" "+quoted(n.Text)))
	}
	for _, d := range c.Brief.Done {
		done = append(done, fmt.Sprintf("%s %t", quoted(d.Text), d.Grounded))
	}
	for _, x := range c.Contradictions {
		against = append(against, fmt.Sprintf("%s: %s %s", quoted(x.Claim), x.Fact, x.OperationID))
	}
	return fields(named("next", steps), named("done", done), named("against", against), named("signals", c.Signals))
}

func showRun(r protocol.Run) string {
	var out []string
	for _, c := range r.Checks {
		verdict := "ok"
		if !c.OK {
			verdict = "not ok"
		}
		out = append(out, fmt.Sprintf("%s %s: %s", c.Tripwire, verdict, c.Observed))
	}
	return strings.Join(out, ", ")
}

// guardedWork is the report of good will of such a work; nil for any other.
func guardedWork(w Work) Input {
	switch job := w.Job.(type) {
	case Check:
		in := Evaluated{ID: w.ID, Ops: idsOf(job.After), Baseline: json.RawMessage(`{}`)}
		for _, watch := range job.Watches {
			in.Values = append(in.Values, Reading{Watch: watch.ID, Value: "5"})
		}
		return in
	case KeepInputs:
		return Kept{Pause: job.Pause, Snapshot: "sha"}
	case RunBefore:
		return Preceded{Pause: job.Pause}
	case Rerun:
		return Reran{ID: w.ID, Comparison: protocol.Comparison{Scenario: job.Scenario}}
	case Commit:
		return CommitEnded{ID: w.ID, Commit: "c" + strconv.Itoa(len(job.Changes))}
	}
	return nil
}

// guarding is a random report of such a work; nil for any other.
func (r *random) guarding(w Work) Input {
	switch in := guardedWork(w).(type) {
	case Evaluated:
		in.InVain = r.oneIn(5)
		if r.oneIn(4) {
			in.Findings = []Finding{{Tripwire: r.among("rows", "shape"), Scenario: r.among("", "report"), Facts: []protocol.Fact{tripFact("rows", "0")}}}
		}
		for i := range in.Values {
			in.Values[i].Value = r.among("1", "2")
		}
		return in
	case Kept:
		in.Broken = r.among("", "", "", "no disk")
		return in
	case Preceded:
		in.Broken = r.among("", "", "", "no python")
		return in
	case Reran:
		in.Broken = r.among("", "", "", "no python")
		if r.oneIn(3) {
			in.Facts = []protocol.Fact{tripFact("rows", "0")}
		}
		return in
	case CommitEnded:
		in.InVain, in.Why = r.oneIn(5), r.among("", "", "no git", "no repository")
		if in.Why != "" || r.oneIn(4) {
			in.Commit = ""
		}
		return in
	}
	return nil
}

// guard is what the developer may say about what is guarded.
func (r *random) guard() Input {
	switch r.among("run", "add", "remove", "configure") {
	case "run":
		return RunScenario{Scenario: r.among("report", "nothing"), Against: protocol.Against(r.among("", "lastRun", "snapshot", "x"))}
	case "add":
		return AddWatch{Name: r.among("a", "b", ""), Source: protocol.Source{JSON: "a.json"}}
	case "remove":
		return RemoveWatch{Watch: r.among("w1", "w2")}
	}
	return Configure{r.guards()}
}

// guards are those of a random session: often none.
func (r *random) guards() Guards {
	options := map[string]string{}
	if r.oneIn(2) {
		return Guards{}
	}
	options["trips"] = r.among("", "rows", "rows,shape")
	options["scenarios"] = r.among("", "report", "report,other")
	options["watches"] = r.among("", "a")
	options["commits"] = r.among("", "yes")
	options["budget"] = r.among("", "repeats:3", "requests:5", "tokens:20,minutes:1")
	return guards(options)
}
