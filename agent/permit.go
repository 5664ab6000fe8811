package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tandem/protocol"
)

// Need is something that a call does only where the developer allows it. The world knows what a call
// needs, links followed, and says so before it does anything; the core asks, and keeps the answer.
type Need struct {
	Kind NeedKind `json:"kind"`
	File string   `json:"file,omitempty"` // which one; relative to the workspace where it lies in it
}

// NeedKind says what is needed.
type NeedKind string

// The needs.
const (
	NeedNetwork NeedKind = "network"
	NeedSecret  NeedKind = "secret" // a file that holds secrets
	NeedStart   NeedKind = "start"  // to change a file that other programs run by themselves
)

// Permit is what a decision of the kind permission gives leave for. Whether it was given is said by the
// decision alone.
type Permit struct {
	Decision string `json:"-"`
	Op       string `json:"op"` // the call that waits
	Needs    []Need `json:"needs"`
}

// The answers to a request for leave. Words are none: they say no.
const (
	allowOnce    = "once"
	allowSession = "session"
	allowNot     = "no"
)

// Withheld says that a call which had begun did nothing, because it needs leave: it waits again.
type Withheld struct {
	Op string `json:"op"`
}

func (Withheld) event() {}

// withhold takes the news that a call needs leave and has done nothing. Leave may have come meanwhile.
func (m *moment) withhold(c Call, needs []Need) {
	switch {
	case c.Stop != nil:
		m.say(Cancelled{Op: c.Op.ID, At: m.at, By: *c.Stop})
		return
	case !m.Started.Trusted:
		m.refuseCall(c, untrustedNeeds(needs))
		return
	case len(commandLine(c)) > mostAsked:
		m.withoutLeave(c, tooLongToAsk())
		return
	case m.Mode == protocol.Paused && !m.holdsForPause(c) && !m.inPause(c):
		m.say(Cancelled{Op: c.Op.ID, At: m.at, By: protocol.CancelledBy{Kind: protocol.ByPause, ID: m.Pause.ID}})
		return
	}
	if missing := slices.DeleteFunc(slices.Clone(needs), func(n Need) bool { return m.allowed(c.Op.ID, n) }); len(missing) > 0 {
		m.say(Announced{Decision: m.permission(c, missing), Permit: &Permit{Op: c.Op.ID, Needs: missing}})
	}
	m.say(Withheld{c.Op.ID})
}

// permission is the decision that asks for leave.
func (s State) permission(c Call, needs []Need) protocol.Decision {
	d := protocol.Decision{ID: s.nextDecision(), StepID: c.Op.StepID, Kind: protocol.Permission, Summary: wish(c, needs),
		Rationale: joined(wholeCommand(c), joined(sentence(c.Op.Intent), needWords(needs))), Significance: protocol.Major, Status: protocol.DecisionOpen, Holds: []string{c.Op.ID},
		Alternatives: []protocol.Alternative{
			{ID: allowOnce, Title: "allow once", Consequence: "this operation alone"},
			{ID: allowSession, Title: "allow for this session", Consequence: sessionWords(needs)},
			{ID: allowNot, Title: "no", Consequence: "the agent is told to go on without it"},
		}}
	for _, n := range needs {
		if n.File != "" && !strings.HasPrefix(n.File, "/") && d.Location == nil {
			d.Location = place(n.File, 0)
		}
	}
	return d
}

func (s State) permit(decision string) (Permit, bool) {
	i := slices.IndexFunc(s.Permits, func(p Permit) bool { return p.Decision == decision })
	if i < 0 {
		return Permit{}, false
	}
	return s.Permits[i], true
}

// awaitsLeave says that a call waits for the developer's leave.
func (s State) awaitsLeave(op string) bool {
	return slices.ContainsFunc(s.Permits, func(p Permit) bool { return p.Op == op && s.unanswered(p) })
}

func (s State) unanswered(p Permit) bool {
	d, _ := s.decision(p.Decision)
	return d.Status == protocol.DecisionOpen
}

// allowed says that the developer has given leave: for this operation, for the session, or in the
// configuration.
func (s State) allowed(op string, n Need) bool {
	if n.Kind == NeedNetwork && s.Guards.Network {
		return true
	}
	return slices.ContainsFunc(s.Permits, func(p Permit) bool { return s.given(p, op) && slices.Contains(p.Needs, n) })
}

// given says that a permit holds for an operation; "" is one that has nothing but what the session has.
func (s State) given(p Permit, op string) bool {
	d, _ := s.decision(p.Decision)
	return d.Status == protocol.DecisionStanding && (d.Chosen == allowSession || p.Op == op)
}

// networked says that a command of an operation may use the network.
func (s State) networked(op string) bool { return s.allowed(op, Need{Kind: NeedNetwork}) }

// leave is all that an operation may touch by the developer's word.
func (s State) leave(op string) []Need {
	var needs []Need
	for _, p := range s.Permits {
		if s.given(p, op) {
			needs = append(needs, p.Needs...)
		}
	}
	return needs
}

// decidePermit takes the developer's answer. It has to be one of those that were offered: neither words
// nor a bare «keep» are leave. Leave for the session can be taken back.
func (m *moment) decidePermit(d protocol.Decision, p Permit, in Decide) error {
	words := strings.TrimSpace(in.Text)
	switch {
	case in.Reject || in.Option == allowNot || in.Option == "" && words != "":
		m.withdrawLeave(d, p)
		if words == "" {
			return nil
		}
		return m.steer(Steer{Text: fmt.Sprintf("Not «%s». %s", d.Summary, words), Scope: &protocol.Scope{DecisionID: d.ID}, By: in.By})
	case in.Option == "":
		return protocol.Errorf(protocol.InvalidParams, "option: take one of %s, %s, %s", allowOnce, allowSession, allowNot)
	case in.Option != allowOnce && in.Option != allowSession:
		return protocol.Errorf(protocol.NoSuchEntity, "option: the decision has no alternative %q", in.Option)
	case words != "":
		return protocol.Errorf(protocol.InvalidParams, "text: words are no leave; take %q without them, or say no with them", in.Option)
	case d.Status != protocol.DecisionOpen:
		return protocol.Errorf(protocol.WrongMode, "decisionId: %q is decided already", d.Summary)
	}
	m.say(Stood{Decision: d.ID, Chosen: in.Option})
	m.allowAlike()
	return nil
}

// withdrawLeave refuses leave, or takes it back; the call that waits for it is refused.
func (m *moment) withdrawLeave(d protocol.Decision, p Permit) {
	m.say(Overridden{Decision: d.ID, Chosen: allowNot})
	c, open := m.call(p.Op)
	if !open || d.Status != protocol.DecisionOpen {
		return
	}
	m.withoutLeave(c, notAllowed(p.Needs))
}

// withoutLeave refuses a call that gets no leave.
func (m *moment) withoutLeave(c Call, why string) {
	m.refuseCall(c, why)
	if c.Op.Tool == toolVerify {
		m.verified(c, Outcome{Op: c.Op.ID, Failed: true})
	}
}

// allowAlike gives leave where all that is asked for was just allowed for the session: the developer is
// not asked the same twice.
func (m *moment) allowAlike() {
	for _, p := range m.Permits {
		has := func(n Need) bool { return !m.allowed(p.Op, n) }
		if m.unanswered(p) && !slices.ContainsFunc(p.Needs, has) {
			m.say(Stood{Decision: p.Decision, Chosen: allowOnce})
		}
	}
}

// dropPermit ends a request for leave whose call is over: nobody has to answer it any more.
func (m *moment) dropPermit() bool {
	for _, p := range m.Permits {
		if _, open := m.call(p.Op); !open && m.unanswered(p) {
			m.say(Overridden{Decision: p.Decision})
			return true
		}
	}
	return false
}

// handOver makes it the developer's turn where nothing goes on before they have given leave.
func (m *moment) handOver() bool {
	if m.Mode != protocol.Executing || m.Initiative != protocol.AgentInitiative || !m.awaitsOnlyLeave() {
		return false
	}
	i := slices.IndexFunc(m.Permits, m.unanswered)
	d, _ := m.decision(m.Permits[i].Decision)
	m.say(Waited{Reason: "may I? " + d.Summary})
	return true
}

// takeOver makes it the agent's turn again when what was handed over for is answered.
func (m *moment) takeOver() bool {
	if m.Mode != protocol.Waiting || len(m.Questions) > 0 || len(m.Turn) == 0 || m.awaitsOnlyLeave() || m.circles() {
		return false
	}
	m.say(Woke{At: m.at})
	return true
}

// awaitsOnlyLeave says that the next question waits for calls of which none runs, and that one of them
// waits for leave.
func (s State) awaitsOnlyLeave() bool {
	if s.Question != nil || s.reverting() || !s.busy() {
		return false
	}
	awaited := false
	for _, c := range s.Open {
		switch {
		case s.awaitsLeave(c.Op.ID):
			awaited = true
		case c.Op.Status != protocol.OpQueued && !c.Late && !c.Background && !c.Taken && c.Stop == nil && !c.Frozen:
			return false
		}
	}
	return awaited
}

// askedLeave keeps what is asked for; withheld puts the call back.
func (s State) askedLeave(e Announced) State {
	if e.Permit != nil {
		s.Permits = append(slices.Clone(s.Permits), Permit{Decision: e.Decision.ID, Op: e.Permit.Op, Needs: e.Permit.Needs})
	}
	return s
}

func (s State) withheld(e Withheld) State {
	s.edit(e.Op, func(c *Call) {
		c.Op.Status, c.Op.StartedAt, c.Began, c.Frozen = protocol.OpQueued, nil, 0, false
		c.Again++
	})
	return s
}

// wish is what leave is asked for, in a line.
func wish(c Call, needs []Need) string {
	files := filesOf(needs)
	switch c.Op.Tool {
	case toolReadFile:
		return "Read " + files
	case toolEditFile, toolWriteFile:
		return "Change " + files
	case toolMoveFile:
		return "Move " + c.Op.Target
	case toolDeleteFile:
		return "Delete " + files
	}
	text := fmt.Sprintf("Run «%s»", clip(inALine(commandLine(c)), mostWished))
	if slices.Contains(needs, Need{Kind: NeedNetwork}) {
		text += " with the network"
	}
	if files != "" {
		text += ", which names " + files
	}
	return text
}

// mostWished is how much of a command line stands in the line that asks for leave, and mostAsked how
// long one may be that leave is asked for: the developer has to see all of what they allow. In bytes.
const (
	mostWished = 120
	mostAsked  = 4000
)

// commandLine is the whole line that a call runs, "" where it runs none.
func commandLine(c Call) string {
	var a struct{ Command string }
	switch c.Op.Tool {
	case toolVerify:
		return c.Op.Target
	case toolRunCommand:
		_ = json.Unmarshal([]byte(c.Arguments), &a) // what cannot be read is not run
	}
	return strings.TrimSpace(a.Command)
}

// inALine is a command line with its line ends to be seen: behind each stands another command.
func inALine(command string) string {
	return strings.Join(strings.FieldsFunc(command, func(r rune) bool { return r == '\n' || r == '\r' }), " ↵ ")
}

// wholeCommand shows a command line that the summary does not hold as it is.
func wholeCommand(c Call) string {
	line := commandLine(c)
	if len(line) <= mostWished && inALine(line) == line {
		return ""
	}
	return fmt.Sprintf("The whole command is «%s».", line)
}

func filesOf(needs []Need) string {
	var files []string
	for _, n := range needs {
		if n.File != "" && !slices.Contains(files, n.File) {
			files = append(files, n.File)
		}
	}
	return strings.Join(files, ", ")
}
