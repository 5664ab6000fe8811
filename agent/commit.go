package agent

import (
	"fmt"
	"slices"
	"strings"

	"tandem/protocol"
)

// Commit makes a commit of what the session's operations had changed when a step became done, on the
// session's own branch. It holds what the operations left at each path since the last such commit: what
// others write meanwhile, and what other steps have begun, is not in it. It changes no file, so neither a
// pause nor a veto holds it, and the work does not wait for it.
type Commit struct {
	Branch  string
	Tip     string // the session's last commit; "" before the first
	Step    protocol.Step
	Ops     []string // the operations whose changes it holds
	Changes []Change // the last of each path
}

// CommitEnded is how a commit ended.
type CommitEnded struct {
	ID      string
	Commit  string   // "" where nothing differs from the last one, or where it failed
	LeftOut []string // paths that are not in it, with the reason
	Why     string   // why there is none
	InVain  bool     // it was stopped: it is made anew
}

// Committed says that a finished step stands in a commit, or why it does not.
type Committed struct {
	Step    string   `json:"step"`
	Branch  string   `json:"branch"`
	Commit  string   `json:"commit,omitempty"`
	LeftOut []string `json:"leftOut,omitempty"`
	Why     string   `json:"why,omitempty"`
	InVain  bool     `json:"inVain,omitempty"` // it was stopped, and is to be made anew
}

func (Commit) job()        {}
func (CommitEnded) input() {}
func (Committed) event()   {}

// commits is what was committed, and what is to be.
type commits struct {
	made int       // how many have ended
	tip  string    // the last one
	told string    // why the last one was not made
	open []string  // the operations with changes that stand in no commit, oldest first
	due  []stepEnd // the steps that are done and not committed yet, oldest first
}

// stepEnd is a step as it became done, and the others that were not done then.
type stepEnd struct {
	step   protocol.Step
	others []string
	seq    int64
}

// commitsSteps says that finished steps are committed.
func (s State) commitsSteps() bool { return s.Guards.Commits && s.Started.Trusted }

// countCommits takes a call that has ended for what has to be committed.
func (s *State) countCommits(p Past) {
	if s.commitsSteps() && len(p.Changes) > 0 {
		s.commits.open = append(slices.Clip(s.commits.open), p.Op.ID)
	}
}

// stepsEnded notes the steps that a fact has made done. One that is done again is committed again.
func (s State) stepsEnded(before protocol.Plan) State {
	if !s.commitsSteps() {
		return s
	}
	var others []string
	for _, t := range s.Plan.Steps {
		if t.Status != protocol.StepDropped && !isDone(before, t.ID) {
			others = append(others, t.ID)
		}
	}
	for _, t := range s.Plan.Steps {
		if t.Status == protocol.StepDone && !isDone(before, t.ID) {
			others = slices.DeleteFunc(slices.Clone(others), func(id string) bool { return id == t.ID })
			s.commits.due = append(slices.Clip(s.commits.due), stepEnd{t, others, s.Seq})
		}
	}
	return s.withoutEmpty()
}

func isDone(p protocol.Plan, step string) bool {
	return slices.ContainsFunc(p.Steps, func(t protocol.Step) bool { return t.ID == step && t.Status == protocol.StepDone })
}

// withoutEmpty forgets the ends of steps behind which nothing was changed since the last commit.
func (s State) withoutEmpty() State {
	s.commits.due = slices.DeleteFunc(slices.Clone(s.commits.due), func(d stepEnd) bool { return len(s.uncommitted(d)) == 0 })
	return s
}

// uncommitted are the operations that stand in no commit and belong to the end of a step, the newest
// first: its own, and those of no step or of steps that were done before. What other steps have begun is
// theirs.
func (s State) uncommitted(d stepEnd) []Past {
	var out []Past
	left := len(s.commits.open)
	for p := range s.done.newest {
		if left == 0 {
			break
		}
		if !slices.Contains(s.commits.open, p.Op.ID) {
			continue
		}
		left--
		if p.Seq <= d.seq && !slices.Contains(d.others, p.Op.StepID) {
			out = append(out, *p)
		}
	}
	return out
}

// lastChanges are the last change of each path, in the order of the paths, by operations of which the
// newest comes first.
func lastChanges(ops []Past) []Change {
	var out []Change
	for _, p := range ops {
		for _, c := range slices.Backward(p.Changes) {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(out, func(a, b Change) bool { return a.Path == b.Path })
}

func (s State) commitID() string { return fmt.Sprintf("commit %d", s.commits.made+1) }

// commitBranch is the branch that is the session's own.
func (s State) commitBranch() string { return "tandem/" + s.Started.ID }

// commitWork is the commit that is due.
func (s State) commitWork() []Work {
	if len(s.commits.due) == 0 || !s.alive() {
		return nil
	}
	d := s.commits.due[0]
	job := Commit{Branch: s.commitBranch(), Tip: s.commits.tip, Step: d.step}
	past := s.uncommitted(d)
	job.Changes = lastChanges(past)
	for _, p := range slices.Backward(past) {
		job.Ops = append(job.Ops, p.Op.ID)
	}
	return []Work{{ID: s.commitID(), Job: job}}
}

// commitEnded takes how a commit ended; one that nobody waits for is dropped.
func (m *moment) commitEnded(in CommitEnded) {
	if len(m.commits.due) == 0 || in.ID != m.commitID() {
		return
	}
	m.say(Committed{InVain: in.InVain, Step: m.commits.due[0].step.ID, Branch: m.commitBranch(), Commit: in.Commit, LeftOut: in.LeftOut, Why: in.Why})
}

// committed goes on to the next commit. What one could not take is tried again with the next step.
func (s State) committed(e Committed) State {
	s.commits.made++
	if e.InVain {
		return s
	}
	s.commits.told = e.Why
	if len(s.commits.due) == 0 {
		return s
	}
	if e.Why == "" {
		for _, p := range s.uncommitted(s.commits.due[0]) {
			s.commits.open = slices.DeleteFunc(slices.Clone(s.commits.open), func(id string) bool { return id == p.Op.ID })
		}
	}
	if e.Commit != "" {
		s.commits.tip = e.Commit
	}
	s.commits.due = slices.Clone(s.commits.due[1:])
	return s.withoutEmpty()
}

// CommittedText says a commit in words.
func CommittedText(e Committed) string {
	text := fmt.Sprintf("step %s left the files as they were on %s", e.Step, e.Branch)
	switch {
	case e.Why != "":
		text = fmt.Sprintf("step %s is not committed: %s", e.Step, e.Why)
	case e.Commit != "":
		text = fmt.Sprintf("step %s is committed as %.10s on %s", e.Step, e.Commit, e.Branch)
	}
	if len(e.LeftOut) > 0 {
		text += "; left out: " + strings.Join(e.LeftOut, "; ")
	}
	return text
}

// uncommit forgets what is to be committed, where that is not wanted any more.
func (s State) uncommit() State {
	if !s.commitsSteps() {
		s.commits.open, s.commits.due = nil, nil
	}
	return s
}

// tellsCommit says that clients are told a commit: a reason why there is none only once.
func (s State) tellsCommit(e Committed) bool {
	return !e.InVain && (e.Commit != "" || e.Why != "" && e.Why != s.commits.told)
}
