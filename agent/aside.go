package agent

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"tandem/protocol"
)

// Aside is a question to the model beside the work: a check-in, or a question of the developer.
// It is asked on the session's own conversation as that stands, and leaves no trace in it.
type Aside struct {
	ID       string
	CheckIn  bool
	Attempt  int       // how often it was asked again, because the answer was cut or in prose, or the server busy
	After    time.Time // it is not asked again before
	Prose    string    // what came in place of a check_in, once
	asked    bool      // it was asked for once more
	Signals  []string
	messages chain[json.RawMessage]
}

// SideAnswer is an aside that is over.
type SideAnswer struct {
	ID      string
	CheckIn *protocol.CheckIn
	Answer  string
	Failed  string // why there is no answer
}

// The developer's inputs beside the work.
type (
	// CheckIn asks the agent to commit to its next steps or to ask.
	CheckIn struct{ Text string }
	// AskAside asks a side question. Facts are what the daemon knows of the place it is about.
	AskAside struct {
		Question string
		Location *protocol.Location
		Facts    []string
	}
)

// The facts about what is asked beside the work.
type (
	// AskedAside puts a question beside the work. Messages follow the conversation in this
	// request alone, as these exact bytes.
	AskedAside struct {
		ID       string            `json:"id"`
		CheckIn  bool              `json:"checkIn,omitempty"`
		Text     string            `json:"text,omitempty"` // the developer's
		Signals  []string          `json:"signals,omitempty"`
		Messages []json.RawMessage `json:"messages"`
	}
	// AskedAsideAgain asks once more, because the answer was cut or came in prose.
	AskedAsideAgain struct {
		ID       string            `json:"id"`
		Prose    string            `json:"prose,omitempty"`
		After    time.Time         `json:"after,omitzero"` // not before
		Messages []json.RawMessage `json:"messages,omitempty"`
	}
	// CheckedIn is the agent's answer to a check-in, held against the journal.
	CheckedIn struct {
		CheckIn protocol.CheckIn `json:"checkIn"`
	}
	// AnsweredAside is the answer to a side question.
	AnsweredAside struct {
		ID     string `json:"id"`
		Answer string `json:"answer"`
	}
	// AsideFailed says why there is no answer.
	AsideFailed struct {
		ID   string `json:"id"`
		Text string `json:"text"`
	}
)

func (CheckIn) input()         {}
func (AskAside) input()        {}
func (AskedAside) event()      {}
func (AskedAsideAgain) event() {}
func (CheckedIn) event()       {}
func (AnsweredAside) event()   {}
func (AsideFailed) event()     {}

func (a Aside) workID() string { return fmt.Sprintf("%s.%d", a.ID, a.Attempt+1) }

func (s State) aside(workID string) (Aside, bool) {
	i := slices.IndexFunc(s.Asides, func(a Aside) bool { return a.workID() == workID })
	if i < 0 {
		return Aside{}, false
	}
	return s.Asides[i], true
}

// SideAnswered is an aside that is over.
func (s State) SideAnswered(id string) (SideAnswer, bool) {
	i := slices.IndexFunc(s.SideAnswers, func(a SideAnswer) bool { return a.ID == id })
	if i < 0 {
		return SideAnswer{}, false
	}
	return s.SideAnswers[i], true
}

// AwaitsAside says that an aside will still get its answer.
func (s State) AwaitsAside(id string) bool {
	return s.alive() && slices.ContainsFunc(s.Asides, func(a Aside) bool { return a.ID == id })
}

func (s State) asideWork() []Work {
	if !s.alive() {
		return nil
	}
	var out []Work
	for _, a := range s.Asides {
		job := Ask{Model: s.Started.Model, Messages: a.messages, Attempt: a.Attempt, After: a.After}
		if a.CheckIn {
			job.Force = toolCheckIn
		} else {
			job.Silent = true
		}
		out = append(out, Work{ID: a.workID(), Job: job})
	}
	return out
}

// checkIn asks the agent to commit or to ask. What runs goes on.
func (m *moment) checkIn(in CheckIn) error {
	signals := m.signals()
	m.say(AskedAside{ID: m.nextCheckIn(), CheckIn: true, Text: in.Text, Signals: signals,
		Messages: m.beside(checkInWords(in.Text, signals))})
	return nil
}

func (m *moment) askAside(in AskAside) error {
	question := strings.TrimSpace(in.Question)
	if question == "" {
		return protocol.Errorf(protocol.InvalidParams, "question: say what you want to know")
	}
	m.say(AskedAside{ID: m.nextAside(), Text: question, Messages: m.beside(sideWords(m.Started.Workspace, question, in.Location, in.Facts))})
	return nil
}

// beside are the messages that follow the conversation in a side request: a result for each call
// that has none yet, so that any server takes it, what the model was not told yet, and the question.
func (m *moment) beside(question string) []json.RawMessage {
	var out []json.RawMessage
	for _, t := range m.Turn {
		out = append(out, toolMessage(t.Op, m.result(t)))
	}
	var told []string
	for _, n := range m.Unsaid {
		told = append(told, n.Text)
	}
	return append(out, say("user", strings.Join(append(told, question), "\n\n")))
}

// asideReplied takes the answer to an aside, and says whether it was one.
func (m *moment) asideReplied(in Replied) bool {
	a, ok := m.aside(in.Question)
	if !ok {
		return false
	}
	if !m.alive() { // nobody waits for it any more
		return true
	}
	m.used(in.Usage)
	text := strings.TrimSpace(in.Text)
	switch {
	case a.CheckIn:
		m.checkedIn(a, in)
	case text == "":
		m.say(AsideFailed{ID: a.ID, Text: "the model answered with nothing; ask again"})
	default:
		m.say(AnsweredAside{ID: a.ID, Answer: text})
	}
	return true
}

// asidePatience is how often in a row an aside is asked again while the server is busy.
const asidePatience = 4

// asideFailed takes the news that an aside got no answer. One that was cut is asked once more, and
// one whose server is busy when that says so.
func (m *moment) asideFailed(in AskFailed) bool {
	a, ok := m.aside(in.Question)
	switch {
	case !ok:
		return false
	case !m.alive():
	case in.Why == FailCut && a.Attempt == 0:
		m.say(AskedAsideAgain{ID: a.ID})
	case in.Why == FailBusy && in.Wait > 0 && a.Attempt < asidePatience:
		m.say(AskedAsideAgain{ID: a.ID, After: m.at.Add(in.Wait)})
	default:
		m.say(AsideFailed{ID: a.ID, Text: in.Text})
	}
	return true
}

// checkedIn takes the answer to a check-in. One that does not call check_in as it should is asked
// for once more; then it is shown as it is, marked.
func (m *moment) checkedIn(a Aside, in Replied) {
	args, err := checkInOf(in.Calls)
	if err != nil && !a.asked {
		prose := strings.TrimSpace(in.Text)
		var again []json.RawMessage
		if prose != "" {
			again = append(again, say("assistant", prose))
		}
		m.say(AskedAsideAgain{ID: a.ID, Prose: prose, Messages: append(again, say("user", proseWords(err)))})
		return
	}
	if err != nil {
		prose := sound(joined(a.Prose, strings.TrimSpace(in.Text)))
		m.say(CheckedIn{protocol.CheckIn{ID: a.ID, Verdict: protocol.Continue, NextSteps: []protocol.NextStep{{Text: prose}},
			Brief: m.Brief(), Signals: append(slices.Clone(a.Signals), "the agent answered in prose; this is what it said, held against nothing")}})
		return
	}
	m.committed(a, args)
}

// committed holds what the agent said against the journal. What the journal refutes the agent is
// told with its next question; where it asks, it is the developer's turn.
func (m *moment) committed(a Aside, args checkInArguments) {
	c := protocol.CheckIn{ID: a.ID, Verdict: protocol.Verdict(args.Verdict), Signals: a.Signals, Questions: m.questionsOf(args.Questions)}
	for _, n := range args.NextSteps {
		step := string(n.Step)
		if _, ok := m.step(step); !ok {
			step = ""
		}
		c.NextSteps = append(c.NextSteps, protocol.NextStep{Step: step, Text: n.Text})
	}
	c.Brief, c.Contradictions = m.grounded(args.Brief)
	asks := c.Verdict == protocol.Clarify && m.Mode != protocol.Paused
	for i := range c.Questions {
		if !asks { // they are shown; only those that are asked can be answered by their id
			c.Questions[i].ID = ""
		}
	}
	m.say(CheckedIn{c})
	if asks {
		m.say(Questioned{c.Questions})
	}
}

func (s State) questionsOf(args []questionArgument) []protocol.Question {
	var qs []protocol.Question
	for _, a := range args {
		if strings.TrimSpace(a.Text) != "" {
			qs = append(qs, protocol.Question{ID: fmt.Sprintf("q%d", s.counters.questions+len(qs)+1), Text: a.Text, Options: protocol.List[string](a.Options)})
		}
	}
	return qs
}

// checkInOf is the check_in among the calls. The error says to the model what is missing.
func checkInOf(calls []ModelCall) (checkInArguments, error) {
	var args checkInArguments
	i := slices.IndexFunc(calls, func(c ModelCall) bool { return c.Name == toolCheckIn })
	if i < 0 {
		return args, fmt.Errorf("there is no call of check_in in it")
	}
	if err := arguments(toolCheckIn, undata(calls[i].Arguments), &args); err != nil {
		return args, err
	}
	switch {
	case args.Verdict != string(protocol.Continue) && args.Verdict != string(protocol.Clarify):
		return args, fmt.Errorf("verdict: %q is neither continue nor clarify", clip(args.Verdict, 40))
	case args.Verdict == string(protocol.Continue) && len(args.NextSteps) == 0:
		return args, fmt.Errorf("next_steps: to continue, name the next steps")
	case args.Verdict == string(protocol.Clarify) && len(State{}.questionsOf(args.Questions)) == 0:
		return args, fmt.Errorf("questions: to clarify, ask what you need to know")
	}
	return args, nil
}

func (s State) askedAside(e AskedAside) State {
	a := Aside{ID: e.ID, CheckIn: e.CheckIn, Signals: e.Signals, messages: s.talk}
	for _, raw := range e.Messages {
		a.messages = a.messages.add(raw)
	}
	s.counters.asides++
	if e.CheckIn {
		s.sinceCheckIn.reads = 0
	}
	s.Asides = append(slices.Clone(s.Asides), a)
	return s
}

func (s State) askedAsideAgain(e AskedAsideAgain) State {
	i := slices.IndexFunc(s.Asides, func(a Aside) bool { return a.ID == e.ID })
	if i < 0 {
		return s
	}
	s.Asides = slices.Clone(s.Asides)
	a := &s.Asides[i]
	a.Attempt, a.After = a.Attempt+1, e.After
	if len(e.Messages) > 0 {
		a.Prose, a.asked = e.Prose, true
	}
	for _, raw := range e.Messages {
		a.messages = a.messages.add(raw)
	}
	return s
}

// sideAnswers is how many answers are kept in the state; the journal has all of them.
const sideAnswers = 50

func (s State) asideOver(over SideAnswer) State {
	s.Asides = slices.DeleteFunc(slices.Clone(s.Asides), func(a Aside) bool { return a.ID == over.ID })
	s.SideAnswers = append(slices.Clone(s.SideAnswers[max(0, len(s.SideAnswers)-sideAnswers+1):]), over)
	return s
}

func (s State) checkedInState(e CheckedIn) State {
	c := e.CheckIn
	if len(c.Contradictions) > 0 {
		s.note(contradictionsNote(c.Contradictions))
	}
	return s.asideOver(SideAnswer{ID: c.ID, CheckIn: &c})
}

// asidesLost says that what was asked beside the work when the daemon died got no answer.
func (m *moment) asidesLost() {
	for _, a := range slices.Clone(m.Asides) {
		m.say(AsideFailed{ID: a.ID, Text: "the daemon ended before the answer came; ask again"})
	}
}
