// Package session runs one session: a goroutine owns its state and, for each input, decides,
// appends one record, applies and notifies, and reconciles what runs with what should run.
// Nothing else starts or cancels anything. It does not know what the facts mean, how work is
// done (World does), or who listens.
package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"tandem/agent"
	"tandem/agent/journal"
	"tandem/agent/secret"
	"tandem/protocol"
)

// World does the work.
type World interface {
	// Do does a job until it has ended, or stops it when ctx ends, and says once how it ended.
	Do(ctx context.Context, j Job) agent.Input
}

// Job is a work as the world does it.
type Job struct {
	agent.Work
	// Said tells what the job has said since it was last called: words of an answer, output of a command.
	Said func(text string)
	// Freeze gives true when the job has to stand still and false when it may go on.
	Freeze <-chan bool
}

// Journal keeps records durably.
type Journal interface {
	Append(record []byte) error
	Close() error
}

// Client is told what happens, in order. Notify must not block.
type Client interface {
	Notify(method string, params []byte)
}

// Options of a session. World is needed.
type Options struct {
	World World
	// Secrets takes secrets out of all that is said; nil knows those alone that look like one.
	Secrets *secret.Redactor
	// Clock gives the wall's time, in UTC, and how much has passed by a clock that nobody sets; nil is
	// the system's.
	Clock func() (wall time.Time, passed time.Duration)
	// Log is told of what no client can be told: a damaged journal, say. It may be nil.
	Log func(text string)
}

// Session is a session that runs. Its methods may be called from any goroutine.
type Session struct {
	path  string
	opts  Options
	inbox chan message
	ended chan struct{}
	now   atomic.Pointer[Snapshot]

	// What follows belongs to the goroutine of run.
	journal Journal
	state   agent.State
	updated time.Time
	running map[string]*job
	clock   func() (wall time.Time, passed time.Duration)
	anchor  time.Time // what the wall's clock would say at 0 passed
	feeds   []*feed
	keys    map[string]Receipt
	unsaved []message        // inputs of the world that could not be journaled yet
	halted  error            // why they could not
	retry   <-chan time.Time // when they are tried again
	print   <-chan time.Time // when clients are told what commands have written
	awaits  []await          // who waits for something
	strange error            // what this version could not read in the journal
	left    time.Time        // when a client was last given up
	closing bool
	closed  error // how closing ended; to be read once ended is closed
}

// Snapshot is a session at one moment.
type Snapshot struct {
	State   agent.State
	Updated time.Time
}

// View is the session as clients see it.
func (s Snapshot) View() protocol.Session { return s.State.View(s.Updated) }

// Receipt is what an input led to: its events, and the session with them.
type Receipt struct {
	Snapshot
	Events []agent.Event
}

// ErrEnded says that the session's goroutine has ended.
var ErrEnded = errors.New("the session is closed")

// message is what comes to the session's goroutine.
type message struct {
	in    agent.Input
	key   string
	reply chan<- answer
	job   *job                      // whose report it is
	said  string                    // what a job has said
	do    func(ctx context.Context) // something to be done in between, such as attaching
}

type answer struct {
	receipt Receipt
	err     error
}

// job is a work that was started.
type job struct {
	work     agent.Work // as it was started
	frozen   bool       // what it was told last
	cancel   context.CancelFunc
	freeze   chan bool
	words    *secret.Stream // what it says, without secrets
	said     []byte         // what it has said so far; of a command the tail of it
	unshown  []byte         // what of it no client was told yet
	reported bool
}

// Create makes a new session with its journal at path and its first input. Where it is refused
// it leaves no journal behind.
func Create(ctx context.Context, path, key string, start agent.Start, o Options) (*Session, Receipt, error) {
	j, _, err := journal.Open(path, func([]byte) error { return errors.New("this session exists already") })
	if err != nil {
		return nil, Receipt{}, err
	}
	s := fresh(path, j, o)
	go s.run()
	receipt, err := s.Post(ctx, key, start)
	if err != nil {
		err = errors.Join(err, s.Close())
		if s.Now().State.Seq == 0 {
			err = errors.Join(err, os.Remove(path), os.Remove(path+".lock"))
		}
		return nil, Receipt{}, err
	}
	return s, receipt, nil
}

// Open goes on with the session whose journal is at path. What ran when it was last open is
// lost, and told so. The error is journal.ErrLocked where another process runs it. A journal
// with whole records that this version cannot read is refused: to act on a part of the facts
// could undo what the developer decided.
func Open(path string, o Options) (*Session, error) {
	s := fresh(path, nil, o)
	j, damage, err := journal.Open(path, s.load)
	if err != nil {
		return nil, err
	}
	if damage.Torn > 0 || damage.Skipped > 0 {
		s.log(fmt.Sprintf("journal %s: %d bytes of a torn record cut, %d bad records skipped", path, damage.Torn, damage.Skipped))
	}
	if s.strange != nil {
		return nil, errors.Join(fmt.Errorf("this session was written by another version of Tandem, and only that can go on with it: %w", s.strange), j.Close())
	}
	if s.state.Seq == 0 {
		return nil, errors.Join(fmt.Errorf("journal %s holds no session", path), j.Close())
	}
	s.journal = j
	go s.run()
	if _, err := s.Post(context.Background(), "", agent.Reopened{}); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Load reads a session's journal without running it, for one that only looks.
func Load(path string) (Snapshot, error) {
	s := fresh(path, nil, Options{})
	if _, err := journal.Read(path, s.load); err != nil {
		return Snapshot{}, err
	}
	return Snapshot{s.state, s.updated}, nil
}

// StartKey is the key of the request that started the session whose journal is at path; "" where
// it had none, or cannot be read.
func StartKey(path string) string {
	key := ""
	// The first record alone is read: the error that ends the reading is ours.
	_, _ = journal.Read(path, func(line []byte) error {
		if r, err := decodeRecord(line); err == nil && r.Seq == 1 {
			key = r.Key
		}
		return io.EOF
	})
	return key
}

func fresh(path string, j Journal, o Options) *Session {
	s := &Session{path: path, opts: o, journal: j, inbox: make(chan message, 64), ended: make(chan struct{}),
		running: map[string]*job{}, keys: map[string]Receipt{}, clock: o.Clock}
	if s.clock == nil {
		s.clock = systemClock(time.Now())
	}
	wall, passed := s.clock()
	s.anchor = wall.Add(-passed)
	s.now.Store(&Snapshot{})
	return s
}

// load takes one record of the journal. One that is whole and cannot be read is passed over
// with a word in the log, and keeps the session from being run.
func (s *Session) load(line []byte) error {
	r, err := decodeRecord(line)
	if err != nil {
		s.cannotRead(err)
		return nil
	}
	var events []agent.Event
	state, err := r.replay(s.state, func(_, _ agent.State, e agent.Event) { events = append(events, e) })
	if err != nil {
		s.cannotRead(err)
	}
	s.state, s.updated = state, r.At
	s.now.Store(&Snapshot{s.state, s.updated})
	if r.Key != "" {
		s.keys[r.Key] = Receipt{Snapshot{s.state, s.updated}, events}
	}
	return nil
}

func (s *Session) cannotRead(err error) {
	if s.strange == nil {
		s.strange = err
	}
	s.log(fmt.Sprintf("journal %s: %v", s.path, err))
}

func (s *Session) log(text string) {
	if s.opts.Log != nil {
		s.opts.Log(text)
	}
}

// Now is the session as it is.
func (s *Session) Now() Snapshot { return *s.now.Load() }

// Post hands an input to the session and waits until what it led to is on disk, or until it is
// refused. The same key again gets the first receipt and does nothing twice; the key "" is none.
func (s *Session) Post(ctx context.Context, key string, in agent.Input) (Receipt, error) {
	reply := make(chan answer, 1)
	if err := s.send(ctx, message{in: in, key: key, reply: reply}); err != nil {
		return Receipt{}, err
	}
	select {
	case a := <-reply:
		return a.receipt, a.err
	case <-s.ended:
	}
	select {
	case a := <-reply: // it was answered before the end
		return a.receipt, a.err
	default:
		return Receipt{}, ErrEnded
	}
}

func (s *Session) send(ctx context.Context, m message) error {
	select {
	case s.inbox <- m:
		return nil
	case <-s.ended:
		return ErrEnded
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close stops the session where it is: what runs is ended, as in a pause, and told so in the
// journal. The session can be opened again. It may be called more than once: each call waits
// for the end and gives the same error.
func (s *Session) Close() error {
	// Where it cannot be sent the session has ended, which is all that is wanted.
	_ = s.send(context.Background(), message{do: func(context.Context) { s.closing = true }})
	<-s.ended
	return s.closed
}

// CloseIdle closes the session if it rests (it is paused, waiting or done, and nothing runs), no
// client follows it, and all that for so long. It says whether it did. A session that rests is as
// good on disk: there another process can take it.
func (s *Session) CloseIdle(idle time.Duration) bool {
	closes := make(chan bool, 1)
	err := s.send(context.Background(), message{do: func(context.Context) {
		rests := s.state.Mode != protocol.Executing && len(s.state.Work()) == 0 && len(s.running) == 0 && len(s.unsaved) == 0
		rests = rests && len(s.feeds) == 0 && time.Since(s.updated) >= idle && time.Since(s.left) >= idle
		s.closing = s.closing || rests
		closes <- rests
	}})
	if err != nil {
		return false
	}
	select {
	case rests := <-closes:
		if rests {
			<-s.ended
		}
		return rests
	case <-s.ended:
	}
	select {
	case rests := <-closes: // it was this that closed it
		return rests
	default: // another has
		return false
	}
}

// Done is closed when the session is.
func (s *Session) Done() <-chan struct{} { return s.ended }

// run owns the session until it is closed.
func (s *Session) run() {
	defer close(s.ended)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for !s.closing {
		select {
		case m := <-s.inbox:
			s.take(ctx, m)
		case <-s.retry:
			s.retry = nil
			if !s.saveUnsaved(ctx) {
				s.retry = time.After(unsavedRetry)
			}
		case <-s.print:
			s.print = nil
			s.printAll(ctx)
		}
	}
	s.closed = s.close(ctx)
}

func (s *Session) take(ctx context.Context, m message) {
	switch {
	case m.do != nil:
		m.do(ctx)
	case m.in == nil:
		s.heard(m.job, m.said)
	case m.job != nil:
		s.showRest(m.job)
		m.job.reported = true
		m.job.cancel()
		s.takeReport(ctx, m)
	default:
		receipt, err := s.decide(ctx, m.key, m.in)
		m.reply <- answer{receipt, err}
	}
}

// decide is one turn of the wheel: decide, append, apply and notify, reconcile.
func (s *Session) decide(ctx context.Context, key string, in agent.Input) (Receipt, error) {
	if r, ok := s.keys[key]; ok && key != "" {
		return r, nil
	}
	if !s.saveUnsaved(ctx) {
		return Receipt{}, s.halted
	}
	if err := s.noticeClock(ctx, in); err != nil {
		return Receipt{}, err
	}
	at, _ := s.clock()
	in = redacted(in, s.opts.Secrets.Text)
	events, err := s.state.Decide(agent.At{Time: at, Partial: s.partial(), Input: in})
	if err != nil {
		return Receipt{}, err
	}
	if len(events) > 0 {
		if err := s.append(at, key, events); err != nil {
			return Receipt{}, fmt.Errorf("nothing was changed, because the journal cannot be written: %w", err)
		}
		s.apply(at, events)
	}
	receipt := Receipt{s.Now(), events}
	if key != "" {
		s.keys[key] = receipt
	}
	s.reconcile(ctx)
	return receipt, nil
}

// apply makes facts true that are on disk, and tells the clients. Whoever is told of a fact and
// asks finds it in Now.
func (s *Session) apply(at time.Time, events []agent.Event) {
	before := make([]agent.State, len(events))
	for i, e := range events {
		before[i] = s.state
		s.state = s.state.Apply(e)
	}
	s.updated = at
	s.now.Store(&Snapshot{s.state, s.updated})
	for i, e := range events {
		after := s.state
		if i+1 < len(events) {
			after = before[i+1]
		}
		s.notify(before[i], after, e)
	}
	s.answerAwaits()
}

func (s *Session) append(at time.Time, key string, events []agent.Event) error {
	line, err := encode(s.state.Seq+1, at, key, events)
	if err != nil {
		return err
	}
	return s.journal.Append(line)
}

// unsavedRetry is how often the journal is tried again while the disk is full.
const unsavedRetry = 2 * time.Second

// takeReport takes what a job says of its end. It may not be lost: where the journal cannot be
// written it is kept, and nothing new begins until it is on disk.
func (s *Session) takeReport(ctx context.Context, m message) {
	if m.in == nil {
		return
	}
	_, err := s.decide(ctx, "", m.in)
	if err == nil {
		return
	}
	if len(s.unsaved) == 0 {
		s.halt(err)
	}
	s.halted = err
	s.unsaved = append(s.unsaved, m)
	if s.retry == nil {
		s.retry = time.After(unsavedRetry)
	}
}

// saveUnsaved journals what could not be journaled before, and says whether nothing is left.
func (s *Session) saveUnsaved(ctx context.Context) bool {
	if len(s.unsaved) == 0 {
		return true
	}
	waiting := s.unsaved
	s.unsaved = nil
	for i, m := range waiting {
		if _, err := s.decide(ctx, "", m.in); err != nil {
			s.unsaved, s.halted = waiting[i:], err
			return false
		}
	}
	now := s.Now().View()
	s.tell(protocol.NoteModeChanged, protocol.ModeChangedParams{Event: s.head(), Mode: now.Mode, Initiative: now.Initiative, Actions: now.Actions,
		Pause: now.Pause, Questions: now.Questions, Reason: "the journal can be written again"})
	return true
}

// halt tells the clients that the session stands still, because nothing can be made durable.
func (s *Session) halt(err error) {
	s.log(err.Error())
	reason := fmt.Sprintf("%v; when there is room and it can be written again, the session goes on by itself", err)
	s.tell(protocol.NoteModeChanged, protocol.ModeChangedParams{Event: s.head(), Mode: protocol.Paused, Initiative: protocol.DeveloperInitiative,
		Pause: &protocol.Pause{By: protocol.PausedByRecovery, Reason: reason}, Reason: reason})
}

// partial is what the running jobs have said so far.
func (s *Session) partial() []agent.Partial {
	var out []agent.Partial
	for id, j := range s.running {
		if len(j.said) > 0 && !j.reported {
			out = append(out, agent.Partial{Op: id, Text: string(j.said)})
		}
	}
	slices.SortFunc(out, func(a, b agent.Partial) int { return strings.Compare(a.Op, b.Op) })
	return out
}

// close ends what runs, as in a pause, and lets it report before the journal is closed.
func (s *Session) close(ctx context.Context) error {
	if s.state.Mode == protocol.Executing {
		if _, err := s.decide(ctx, "", agent.Pause{End: true, Closed: true}); err != nil {
			s.log(err.Error())
		}
	}
	for _, j := range s.running {
		j.cancel()
	}
	for s.anyRunning() {
		m := <-s.inbox
		switch {
		case m.reply != nil:
			m.reply <- answer{err: ErrEnded}
		case m.job != nil && m.in != nil:
			m.job.reported = true
			if _, asked := m.job.work.Job.(agent.Ask); !asked { // an answer that was cut short is asked for again
				s.takeReport(ctx, m)
			}
		case m.do != nil:
			m.do(ctx)
		}
	}
	return s.journal.Close()
}

func (s *Session) anyRunning() bool {
	for _, j := range s.running {
		if !j.reported {
			return true
		}
	}
	return false
}
