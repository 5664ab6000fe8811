package agent

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"tandem/protocol"
)

// This file reads the small words of a script and writes facts as it shows them.

func sorted(m map[string]Work) []string { return slices.Sorted(maps.Keys(m)) }

var longID = regexp.MustCompile(`\b(op|th)0*([1-9]\d*)\b`)

// short is a text with its operations as op3 instead of op0000003; long is the other way.
func short(text string) string { return longID.ReplaceAllString(text, "$1$2") }

func long(id string) string {
	m := longID.FindStringSubmatch(id)
	if m == nil {
		return id
	}
	return fmt.Sprintf("%s%07s", m[1], m[2])
}

// bracketed reads [key=value flag] before a text; _ in a value is a space.
func bracketed(text string) (map[string]string, string) {
	options := map[string]string{}
	if !strings.HasPrefix(text, "[") {
		return options, text
	}
	inside, rest, _ := strings.Cut(text[1:], "]")
	for _, word := range strings.Fields(inside) {
		key, value, _ := strings.Cut(word, "=")
		if value == "" {
			value = "yes"
		}
		options[key] = strings.ReplaceAll(value, "_", " ")
	}
	return options, strings.TrimSpace(rest)
}

func scope(id string) *protocol.Scope {
	switch {
	case id == "":
		return nil
	case strings.HasPrefix(id, "op"), strings.HasPrefix(id, "th"):
		return &protocol.Scope{OperationID: long(id)}
	case strings.HasPrefix(id, "d"):
		return &protocol.Scope{DecisionID: id}
	case strings.Contains(id, "."):
		return &protocol.Scope{Location: &protocol.Location{URI: "file:///w/" + id}}
	}
	return &protocol.Scope{StepID: id}
}

// edits reads a developer's edits of the plan, with ; between them.
// revertOf is a revert of what an id names.
func revertOf(id string) RevertOf {
	switch {
	case id == "all":
		return RevertOf{Session: true}
	case strings.HasPrefix(id, "op"), strings.HasPrefix(id, "th"):
		return RevertOf{Operation: id}
	case strings.HasPrefix(id, "t"):
		return RevertOf{Steer: id}
	}
	return RevertOf{Step: id}
}

func edits(text string) []protocol.PlanEdit {
	var out []protocol.PlanEdit
	for _, one := range strings.Split(text, ";") {
		verb, rest, _ := strings.Cut(strings.TrimSpace(one), " ")
		id, what, _ := strings.Cut(rest, " ")
		switch verb {
		case "add":
			out = append(out, protocol.PlanEdit{Op: protocol.EditAdd, Step: &protocol.NewStep{Title: rest}})
		case "drop":
			out = append(out, protocol.PlanEdit{Op: protocol.EditDrop, StepID: id})
		case "move":
			out = append(out, protocol.PlanEdit{Op: protocol.EditMove, StepID: id, After: what})
		case "title":
			out = append(out, protocol.PlanEdit{Op: protocol.EditChange, StepID: id, Title: &what})
		case "verify":
			out = append(out, protocol.PlanEdit{Op: protocol.EditChange, StepID: id, Verify: &protocol.Verify{Command: what}})
		}
	}
	return out
}

var (
	verifyMark = regexp.MustCompile(` \{(.*)\}$`)
	behindMark = regexp.MustCompile(` behind (\w+)$`)
)

// planText is the arguments of update_plan: steps with ; between them, each its id, status,
// title, «behind» another step, and {verify}; then, behind //, lists by name.
func planText(text string) string {
	steps, lists, _ := strings.Cut(text, " // ")
	var out []string
	for _, one := range strings.Split(steps, ";") {
		one = strings.TrimSpace(one)
		verify := ""
		if m := verifyMark.FindStringSubmatch(one); m != nil {
			verify, one = fmt.Sprintf(`,"verify":{"command":%q}`, m[1]), strings.TrimSuffix(one, m[0])
		}
		if m := behindMark.FindStringSubmatch(one); m != nil {
			verify, one = verify+fmt.Sprintf(`,"depends_on":[%q]`, m[1]), strings.TrimSuffix(one, m[0])
		}
		words := strings.SplitN(one, " ", 3)
		out = append(out, fmt.Sprintf(`{"id":%q,"status":%q,"title":%q,"intent":%q%s}`, words[0], words[1], words[2], words[2]+".", verify))
	}
	args := `"steps":[` + strings.Join(out, ",") + `],"explanation":"so"`
	for _, list := range strings.Fields(lists) {
		key, value, _ := strings.Cut(list, "=")
		values := strings.Split(strings.ReplaceAll(value, "_", " "), ",")
		if key == "cancel" {
			for i := range values {
				values[i] = long(values[i])
			}
		}
		name := map[string]string{"cancel": "cancel_operations", "revert": "revert_steps"}[key]
		args += fmt.Sprintf(`,%q:%s`, cmp.Or(name, key), encode(values))
	}
	return args
}

// decisionText is the arguments of announce_decision: the significance and the choice, then alternatives.
func decisionText(parts []string) string {
	significance, summary, _ := strings.Cut(parts[0], " ")
	var alternatives []string
	for i, title := range parts[1:] {
		alternatives = append(alternatives, fmt.Sprintf(`{"id":"a%d","title":%q}`, i+1, title))
	}
	return fmt.Sprintf(`"summary":%q,"rationale":"why","significance":%q,"alternatives":[%s]`, summary, significance, strings.Join(alternatives, ","))
}

// fields joins what a fact tells; empty ones fall away.
func fields(words ...any) string {
	var out []string
	for _, w := range words {
		if s := fmt.Sprint(w); s != "" && s != "0" && s != "[]" {
			out = append(out, s)
		}
	}
	return strings.Join(out, " ")
}

func named(name string, list []string) string {
	if len(list) == 0 {
		return ""
	}
	return name + "=" + strings.Join(list, ",")
}

func flagged(name string, on bool) string {
	if on {
		return name
	}
	return ""
}

func by(c protocol.CancelledBy) string { return "by=" + string(c.Kind) + ":" + c.ID }

func quoted(s string) string {
	if s == "" {
		return ""
	}
	return "«" + strings.ReplaceAll(clip(s, 160), "\n", " ⏎ ") + "»"
}

func proof(v *bool) string {
	if v == nil {
		return ""
	}
	return map[bool]string{true: "passed", false: "not passed"}[*v]
}

// showEvent is a fact in one line, with what tells it from others.
func showEvent(e Event) string {
	switch e := e.(type) {
	case Started:
		return fields("started", quoted(e.Task), e.Autonomy, flagged("untrusted", !e.Trusted))
	case Waited:
		return fields("waited", quoted(e.Reason))
	case Finished:
		return fields("finished", quoted(e.Summary))
	case AutonomySet:
		return fields("autonomySet", e.Level)
	case Asked:
		return fields("asked", e.Question, named("force", nonEmpty(e.Force)), fmt.Sprintf("messages=%d", len(e.Messages)))
	case Answered:
		return fields("answered", e.Question, quoted(e.Text), fmt.Sprintf("calls=%d", e.Calls), flagged("length", e.Length))
	case Cut:
		var m message
		if err := json.Unmarshal(e.Message, &m); err != nil {
			return err.Error()
		}
		return fields("cut", e.Question, quoted(*m.Content), by(e.By))
	case AskedInVain:
		return fields("askedInVain", e.Question, e.Why, quoted(e.Text))
	case Deferred:
		return fields("deferred until", "+"+e.Until.Sub(morning).String(), quoted(e.Why))
	case Used:
		return fields("used", fmt.Sprintf("requests=%d", e.Usage.Requests))
	case Compacted:
		return fields("compacted", fmt.Sprintf("messages=%d", len(e.Messages)))
	case Reminded:
		return fields("reminded", e.Of)
	}
	if text := showOperation(e); text != "" {
		return text
	}
	if text := showPlanning(e); text != "" {
		return text
	}
	if text := showGuarded(e); text != "" {
		return text
	}
	return showTalking(e)
}

func showOperation(e Event) string {
	switch e := e.(type) {
	case Called:
		return fields("called", e.Op.ID, e.Op.Tool, quoted(e.Op.Target), e.Op.Effect, named("step", nonEmpty(e.Op.StepID)),
			flagged("background", e.Background), named("for", nonEmpty(e.For)), named("steps", e.Steps), takesBack(e.Reverts))
	case Began:
		return fields("began", e.Op)
	case Changed:
		var paths []string
		for _, f := range e.Files {
			paths = append(paths, f.Path)
		}
		return fields("changed", e.Op, strings.Join(paths, ","), flagged("unlisted", e.Unlisted))
	case Printed:
		return fields("printed", e.Op, quoted(e.Text))
	case Withheld:
		return fields("withheld", e.Op)
	case Returned:
		var files []string
		for _, f := range e.Reverted {
			files = append(files, f.Path+"_"+f.Status)
		}
		return fields("returned", e.Op, flagged("failed", e.Failed), quoted(e.Text), exit(e.ExitCode), named("reverted", files), named("conflicts", e.Conflicts))
	case Stopping:
		return fields("stopping", e.Op, by(e.By))
	case Cancelled:
		return fields("cancelled", e.Op, by(e.By), flagged("partial", e.Partial), quoted(e.Text))
	case Lost:
		return fields("lost", e.Op)
	case Froze:
		return fields("froze", e.Op)
	case Thawed:
		return fields("thawed", e.Op)
	}
	return ""
}

func showPlanning(e Event) string {
	switch e := e.(type) {
	case Planned:
		return fields("planned", showPlan(e.Plan), showDiff(e.Diff), named("consequences", e.Consequences), named("conflicts", e.Conflicts),
			named("cancelled", e.Cancelled), named("kept", e.Kept), named("claims", e.Claims), quoted(e.Reason))
	case Taken:
		return fields("taken", e.Op, named("conflicts", e.Conflicts), named("cancelled", e.Cancelled))
	case StepChanged:
		return fields("stepChanged", e.Step, e.Status, proof(e.Verified))
	case Steered:
		text := fields("steered", e.Steer.ID, e.Steer.When, quoted(e.Steer.Text), named("waits", nonEmpty(e.Waits)),
			named("cancelled", e.Cancelled), named("running", e.Running))
		for _, u := range e.Unseen {
			text += " unseen=" + u.Op + ":" + strings.Join(u.Files, ",")
		}
		return text
	case Heard:
		return fields("heard", e.Steer)
	case Applied:
		return fields("applied", e.Steer, "revision", e.Revision)
	case Withdrawn:
		return fields("withdrawn", e.Steer)
	}
	return ""
}

func showTalking(e Event) string {
	switch e := e.(type) {
	case Announced:
		text := fields("announced", e.Decision.ID, e.Decision.Kind, e.Decision.Significance, quoted(e.Decision.Summary), e.Decision.Status, named("holds", e.Decision.Holds))
		if e.Decision.Deadline != nil {
			text += " until +" + e.Decision.Deadline.Sub(morning).String()
		}
		return text
	case Stood:
		return fields("stood", e.Decision, named("chosen", nonEmpty(e.Chosen)))
	case ClockMoved:
		return fields("clockMoved", e.By)
	case Prolonged:
		return fields("prolonged", e.Decision, "until +"+e.Until.Sub(morning).String())
	case Overridden:
		return fields("overridden", e.Decision, named("chosen", nonEmpty(e.Chosen)))
	case Questioned:
		var texts []string
		for _, q := range e.Questions {
			texts = append(texts, q.ID+" "+quoted(q.Text))
		}
		return fields("questioned", strings.Join(texts, " "))
	case QuestionAnswered:
		return fields("questionAnswered", e.Question, named("option", nonEmpty(e.Option)), quoted(e.Text))
	case Paused:
		return fields("paused", showPause(e.Pause), flagged("asks", e.Asks), named("scenario", nonEmpty(e.Scenario)))
	case Informed:
		return fields("informed", showPause(protocol.Pause{Facts: e.Facts, LikelyCause: e.LikelyCause, Options: e.Options}))
	case Yielded:
		return fields("yielded", quoted(e.Reason))
	case Decided:
		return fields("decided", e.Pause, named("option", nonEmpty(e.Option)), quoted(e.Text))
	case Resumed:
		return fields("resumed", e.Pause, named("drift", e.Drift), named("failing", e.Failing))
	}
	return Kind(e)
}

func takesBack(t *Target) string {
	if t == nil {
		return ""
	}
	return fields(flagged("by hand", true), named("of", t.Steps))
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func exit(code *int) string {
	if code == nil {
		return ""
	}
	return fmt.Sprintf("exit=%d", *code)
}

func showPlan(p protocol.Plan) string {
	text := fmt.Sprintf("r%d (%s", p.Revision, strings.TrimSpace(string(p.Cause.Kind)+" "+p.Cause.ID))
	text += ")"
	for _, t := range p.Steps {
		text += " [" + fields(t.ID, t.Status, quoted(t.Title), proof(t.Verified))
		if t.Verify != nil {
			text += " {" + t.Verify.Command + "}"
		}
		if t.Origin.Kind != protocol.OriginAgent {
			text += " from " + strings.TrimSpace(string(t.Origin.Kind)+" "+t.Origin.ID)
		}
		text += "]"
	}
	return text
}

func showDiff(d protocol.Diff) string {
	var changed []string
	for _, c := range d.Changed {
		changed = append(changed, c.After.ID)
	}
	return fields(named("kept", d.Kept), named("changed", changed), named("added", d.Added), named("dropped", d.Dropped), named("reverted", d.Reverted))
}

func showPause(p protocol.Pause) string {
	var facts, options []string
	for _, f := range p.Facts {
		facts = append(facts, quoted(f.Text))
	}
	for _, o := range p.Options {
		options = append(options, o.ID+" "+quoted(o.Title))
	}
	return fields(p.ID, p.By, quoted(p.Reason), named("facts", facts), named("cause", nonEmpty(p.LikelyCause)),
		named("options", options), named("frozen", p.Frozen), named("decision", nonEmpty(p.Decision)))
}
