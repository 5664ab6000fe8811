package session

import (
	"context"
	"slices"
	"strings"
	"time"

	"tandem/agent"
)

// reconcile makes what runs equal to what should run. A job that is not wanted any more is
// cancelled and stays until it reports; one that has reported is never started again, even
// while it is still listed.
func (s *Session) reconcile(ctx context.Context) {
	work := s.state.Work()
	for id, j := range s.running {
		if slices.ContainsFunc(work, func(w agent.Work) bool { return w.ID == id }) {
			continue
		}
		j.cancel()
		if j.reported {
			delete(s.running, id)
		}
	}
	for _, w := range work {
		j, ok := s.running[w.ID]
		switch {
		case !ok && !s.closing:
			s.start(ctx, w)
		case ok && j.work.Frozen != w.Frozen:
			j.work.Frozen = w.Frozen
			j.setFrozen(w.Frozen)
		}
	}
}

func (s *Session) start(ctx context.Context, w agent.Work) {
	ctx, cancel := context.WithCancel(ctx)
	j := &job{work: w, cancel: cancel, freeze: make(chan bool, 1)}
	s.running[w.ID] = j
	if w.Frozen {
		j.setFrozen(true)
	}
	go func() { s.inbox <- message{job: j, in: s.do(ctx, j)} }()
}

// do does a job and gives its report.
func (s *Session) do(ctx context.Context, j *job) agent.Input {
	if w, ok := j.work.Job.(agent.Wait); ok {
		return wait(ctx, w.Until)
	}
	return s.opts.World.Do(ctx, Job{Work: j.work, Freeze: j.freeze, Said: func(text string) {
		s.inbox <- message{job: j, said: text}
	}})
}

// wait reports when a time has come, or is not waited for any more.
func wait(ctx context.Context, until time.Time) agent.Input {
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return agent.TimePassed{}
}

// setFrozen replaces what the job was told last, if it has not heard it yet.
func (j *job) setFrozen(frozen bool) {
	select {
	case <-j.freeze:
	default:
	}
	j.freeze <- frozen
}

// heard keeps what a job has said: the words of an answer whole, of a command's output the end.
func (s *Session) heard(j *job, text string) {
	if _, asks := j.work.Job.(agent.Ask); asks {
		j.said += text
		s.text(j.work.ID, text)
		return
	}
	j.said += text
	if len(j.said) > 2*saidTail {
		j.said = strings.ToValidUTF8(j.said[len(j.said)-saidTail:], "")
	}
}

// saidTail is how much of a running command's output is kept for the model, in bytes.
const saidTail = 4 << 10
