package agent

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"tandem/protocol"
)

// The tools, by name. verify is no tool of the model: it is the daemon's own run of a step's
// verification, shown like any other operation.
const (
	toolUpdatePlan   = "update_plan"
	toolAnnounce     = "announce_decision"
	toolListFiles    = "list_files"
	toolSearch       = "search"
	toolReadFile     = "read_file"
	toolEditFile     = "edit_file"
	toolWriteFile    = "write_file"
	toolMoveFile     = "move_file"
	toolDeleteFile   = "delete_file"
	toolRunCommand   = "run_command"
	toolStopCommand  = "stop_command"
	toolCallPause    = "call_pause"
	toolAskDeveloper = "ask_developer"
	toolCheckIn      = "check_in"
	toolFinish       = "finish"
	toolVerify       = "verify"
)

// vetoWindow is how long a major decision waits for a veto at autonomy balanced.
const vetoWindow = 10 * time.Second

// effect is what a call of a tool may do to the world. An unknown tool does nothing: it is refused.
func effect(tool string) protocol.Effect {
	switch tool {
	case toolListFiles, toolSearch, toolReadFile:
		return protocol.EffectRead
	case toolEditFile, toolWriteFile, toolMoveFile, toolDeleteFile:
		return protocol.EffectWrite
	case toolRunCommand, toolVerify:
		return protocol.EffectExecute
	}
	return protocol.EffectNone
}

// announce says a decision aloud. What it holds are the calls behind it that change something.
func (m *moment) announce(c Call) {
	var args decisionArguments
	if err := arguments(toolAnnounce, c.Arguments, &args); err != nil {
		m.refuse(c, err.Error())
		return
	}
	if strings.TrimSpace(args.Summary) == "" {
		m.refuse(c, "summary: say in a sentence what you chose. A right call: "+example(toolAnnounce))
		return
	}
	d := protocol.Decision{ID: m.nextDecision(), StepID: c.Op.StepID, Summary: args.Summary, Rationale: args.Rationale,
		Significance: significance(args.Significance), Status: protocol.DecisionStanding, Location: place(args.Path, args.Line)}
	for i, a := range args.Alternatives {
		if a.ID == "" {
			a.ID = word(fmt.Sprintf("a%d", i+1))
		}
		d.Alternatives = append(d.Alternatives, protocol.Alternative{ID: string(a.ID), Title: a.Title, Consequence: a.Consequence})
	}
	said := d.Significance
	var why string
	d.Significance, why = m.raised(d, c)
	kind := kindOf(d.Significance, why)
	window, shorter := m.window(kind)
	if m.waitsForWord(d.Significance) {
		d.Status = protocol.DecisionOpen
		d.Holds = m.held(c)
		if m.Autonomy == protocol.Balanced {
			deadline := m.at.Add(window)
			d.Deadline = &deadline
		} else {
			shorter = ""
		}
	} else {
		shorter = ""
	}
	d.Rationale = joined(d.Rationale, weighed(said, d.Significance, why, shorter))
	m.say(Announced{Decision: d, Kind: kind})
	m.answer(c, announced(d, window))
}

func (s State) waitsForWord(sig protocol.Significance) bool {
	switch s.Autonomy {
	case protocol.Close:
		return sig != protocol.Minor
	case protocol.Balanced:
		return sig == protocol.Major
	}
	return false
}

func (s State) held(by Call) []string {
	var ids []string
	for _, c := range s.Open {
		if c.Op.ID != by.Op.ID && c.Op.Status == protocol.OpQueued && changes(c.Op.Effect) {
			ids = append(ids, c.Op.ID)
		}
	}
	return ids
}

func significance(s protocol.Significance) protocol.Significance {
	switch s {
	case protocol.Minor, protocol.Major:
		return s
	}
	return protocol.Notable
}

// place is a line of a file in the workspace; lines count from 1 for the model, from 0 on the wire.
func place(path string, line int) *protocol.Location {
	if path == "" {
		return nil
	}
	l := &protocol.Location{URI: path, Range: &protocol.Range{}}
	if line > 0 {
		l.Range.Start.Line, l.Range.End.Line = uint32(line-1), uint32(line-1)
	}
	return l
}

// stopCommand ends a running command of the agent.
func (m *moment) stopCommand(c Call) {
	var args stopArguments
	if err := arguments(toolStopCommand, c.Arguments, &args); err != nil {
		m.refuse(c, err.Error())
		return
	}
	victim, ok := m.call(string(args.Operation))
	if !ok || victim.Op.Effect != protocol.EffectExecute || victim.Op.Status == protocol.OpQueued {
		m.refuse(c, fmt.Sprintf("operation: no command %q runs%s", args.Operation, m.runningList()))
		return
	}
	m.cancel(victim, protocol.CancelledBy{Kind: protocol.ByReplan, ID: c.Op.ID})
	m.answer(c, fmt.Sprintf("%s is told to end; its outcome follows.", victim.Op.ID))
}

func (s State) runningList() string {
	ids := s.runningCommands()
	if len(ids) == 0 {
		return "; no command runs now"
	}
	return "; what runs: " + strings.Join(ids, ", ")
}

// callPause is the agent's own brake, and its account in a pause that asks for one.
func (m *moment) callPause(c Call) {
	var args pauseArguments
	if err := arguments(toolCallPause, c.Arguments, &args); err != nil {
		m.refuse(c, err.Error())
		return
	}
	if len(args.Facts) == 0 {
		m.refuse(c, "facts: say what was observed. A right call: "+example(toolCallPause))
		return
	}
	var facts []protocol.Fact
	for _, f := range args.Facts {
		facts = append(facts, protocol.Fact{Text: f})
	}
	options := m.options(args.Options)
	if m.Mode == protocol.Paused {
		m.answer(c, "Shown to the developer, who decides. Wait for their word.")
		m.say(Informed{Facts: facts, LikelyCause: args.LikelyCause, Options: options})
		m.freeze()
		return
	}
	p := protocol.Pause{ID: m.nextPause(), By: protocol.PausedByAgent, Reason: c.Op.Intent, Facts: facts,
		LikelyCause: args.LikelyCause, Options: options}
	m.answer(c, "Paused. The developer decides; wait for their word.")
	m.beginPause(Paused{Pause: p, Scenario: m.soleScenario()}, false)
}

func (s State) options(args []optionArgument) []protocol.Option {
	var out []protocol.Option
	for i, a := range args {
		o := protocol.Option{ID: fmt.Sprintf("o%d", s.counters.options+i+1), Title: a.Title, Detail: a.Detail, Files: protocol.List[string](a.Files)}
		for _, t := range a.Touches {
			if touch, ok := touchKind(t); ok {
				o.Touches = append(o.Touches, touch)
			}
		}
		out = append(out, o)
	}
	return out
}

func touchKind(s string) (protocol.Touch, bool) {
	switch t := protocol.Touch(s); t {
	case protocol.TouchCode, protocol.TouchArchitecture, protocol.TouchBusinessRule, protocol.TouchData, protocol.TouchConfiguration:
		return t, true
	}
	if s == "business_rule" {
		return protocol.TouchBusinessRule, true
	}
	return "", false
}

// askDeveloper hands over with questions; what runs goes on.
func (m *moment) askDeveloper(c Call) {
	var args questionArguments
	if err := arguments(toolAskDeveloper, c.Arguments, &args); err != nil {
		m.refuse(c, err.Error())
		return
	}
	qs := m.questionsOf(args.Questions)
	if len(qs) == 0 {
		m.refuse(c, "questions: there is none. A right call: "+example(toolAskDeveloper))
		return
	}
	m.answer(c, "Asked. The answers follow in a message of the developer.")
	m.say(Questioned{qs})
}

// finish ends the task, whatever the plan shows. A steer that waited for this moment is heard first.
func (m *moment) finish(c Call) {
	var args finishArguments
	if err := arguments(toolFinish, c.Arguments, &args); err != nil {
		m.refuse(c, err.Error())
		return
	}
	if m.Mode == protocol.Waiting && len(m.Questions) > 0 {
		m.refuse(c, "the developer's answer is awaited: "+m.Questions[0].Text)
		return
	}
	if later := m.ready(true); len(later) > 0 {
		m.answer(c, "Not yet: the developer has spoken. Hear them first.")
		m.hear(later)
		return
	}
	if m.revertUntold() {
		m.answer(c, "Not yet: the developer has taken edits back. Look at what is left first.")
		return
	}
	m.answer(c, "Finished.")
	by := m.byEnd()
	for _, behind := range slices.Clone(m.Open) {
		if behind.Op.Status == protocol.OpQueued && behind.Reverts == nil {
			m.cancel(behind, by)
		}
	}
	m.say(Finished{Summary: args.Summary, Evidence: strings.Join(args.Evidence, "\n")})
}
