package session

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"tandem/agent"
)

// reconcile makes what runs equal to what should run. A job that is not wanted any more is
// cancelled and stays until it reports; one that has reported is never started again, even
// while it is still listed. A call that was withheld and is begun again is another job.
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
		case (!ok || j.reported && j.work.Again != w.Again) && !s.closing:
			s.start(ctx, w)
		case ok && j.frozen != w.Frozen:
			j.frozen = w.Frozen
			j.setFrozen(w.Frozen)
		}
	}
}

func (s *Session) start(ctx context.Context, w agent.Work) {
	ctx, cancel := context.WithCancel(ctx)
	j := &job{work: w, words: s.opts.Secrets.Stream(), frozen: w.Frozen, cancel: cancel, freeze: make(chan bool, 1)}
	s.running[w.ID] = j
	if w.Frozen {
		j.setFrozen(true)
	}
	go func() { s.inbox <- message{job: j, in: s.do(ctx, j)} }()
}

// do does a job and gives its report. A fault of ours ends this job and no other.
func (s *Session) do(ctx context.Context, j *job) (report agent.Input) {
	defer func() {
		if p := recover(); p != nil {
			report = s.fault(j, p)
		}
	}()
	if w, ok := j.work.Job.(agent.Wait); ok {
		return wait(ctx, w.Until, s.clock)
	}
	return s.opts.World.Do(ctx, Job{Work: j.work, Freeze: j.freeze, Said: func(text string) {
		s.inbox <- message{job: j, said: text}
	}})
}

// fault is the report of a job that panicked.
func (s *Session) fault(j *job, p any) agent.Input {
	s.log(fmt.Sprintf("%s panicked: %v\n%s", j.work.ID, p, debug.Stack()))
	text := fmt.Sprintf("Tandem itself failed here, which is a fault to be reported: %v", p)
	return impossible(j.work, text)
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
// Words of an answer that was cut meanwhile nobody waits for.
func (s *Session) heard(j *job, text string) {
	_, asks := j.work.Job.(agent.Ask)
	switch {
	case !asks:
		j.hear(text)
		j.said, j.unshown = tail(j.said), tail(j.unshown)
		if s.print == nil {
			s.print = time.After(printEvery)
		}
	case s.state.Question != nil && s.state.Question.ID == j.work.ID:
		j.hear(text)
		s.show(j)
	}
}

// hear keeps what is no secret. What may be the beginning of one waits for what follows: of a job
// that is cut meanwhile it is lost.
func (j *job) hear(text string) {
	clean := j.words.Next(text)
	j.said, j.unshown = append(j.said, clean...), append(j.unshown, clean...)
}

// show streams the words of an answer to the clients.
func (s *Session) show(j *job) {
	s.text(j.work.ID, string(j.unshown))
	j.unshown = nil
}

// showRest tells the last words of an answer: no secret goes on after them.
func (s *Session) showRest(j *job) {
	if s.state.Question != nil && s.state.Question.ID == j.work.ID {
		j.unshown = append(j.unshown, j.words.Rest()...)
		s.show(j)
	}
}

// printEvery is how often clients are told what running commands have written. A command that
// ends sooner is told whole, with its end.
const printEvery = time.Second

// printAll tells what running commands have written since it was last told. It is journaled, so
// that a client which comes later sees the same; where it cannot be, the command's end tells it.
func (s *Session) printAll(ctx context.Context) {
	for _, id := range slices.Sorted(maps.Keys(s.running)) {
		j := s.running[id]
		if len(j.unshown) == 0 || j.reported {
			continue
		}
		text := string(j.unshown)
		j.unshown = nil
		if _, err := s.decide(ctx, "", agent.Said{Op: id, Text: text}); err != nil {
			s.log(fmt.Sprintf("the output of %s is not shown: %v", id, err))
		}
	}
}

// tail is the end of what a command has said, from the start of a line on where there is one.
func tail(said []byte) []byte {
	if len(said) <= 2*saidTail {
		return said
	}
	cut := len(said) - saidTail
	if line := bytes.IndexByte(said[cut:], '\n'); line >= 0 {
		cut += line + 1
	}
	return slices.Clone(bytes.ToValidUTF8(said[cut:], nil))
}

// saidTail is how much of a running command's output is kept for the model, in bytes.
const saidTail = 4 << 10
