package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"tandem/protocol"
)

// std is what a command reads from and writes to.
type std struct {
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string
}

// follower shows one session until it ends or the developer leaves, and sends what they type. One
// goroutine, that of follow, owns it.
type follower struct {
	std
	c        *client
	session  protocol.Session // as it was when the following began
	pic      *picture
	scr      *screen
	programs *json.Encoder // JSON in place of the picture; nil without --json
	again    string        // what a developer types to follow it again

	mine    bool             // a developer sits at a terminal: stay when it is their turn
	tty     *terminal        // nil where keys come from elsewhere
	wake    <-chan time.Time // when a program that should have stopped goes on all the same
	typed   inputLine
	keys    keyReader
	begun   []protocol.Action // what the line that is typed answers
	steers  bool              // the line that is typed is a steer, whatever has come since
	braked  bool              // Ctrl-C has paused it
	asked   int               // requests that are not answered
	until   int64             // the last event that an answer told of
	results chan result
	said    map[string]time.Duration

	suggested string                // what Enter on the empty line says; the demo sets it
	answers   bool                  // it is typed for the developer and answers what is open; else it is a steer
	watch     func(n note) []line   // sees every notification; the demo sets it
	stays     func() (string, bool) // why a session that is done is not left; the demo sets it
	awaits    bool                  // that was said
	holds     <-chan string         // tells that the story waits for the developer; the demo sets it
	held      func(words string) []line
	drifted   func() []line // sees a resume refused because inputs have moved; the demo sets it
}

// result is the answer to a request of ours.
type result struct {
	show func() []line // called by the loop
	seq  int64         // of an event that the picture has to show before it can be over
	err  error
}

// input is what came from stdin.
type input struct {
	bytes []byte // of a terminal in raw mode
	line  string // of a pipe
	ended bool
}

// follow follows a session whose events come to c. Its result is the program's exit code.
func (f *follower) follow(ctx context.Context) (code int, err error) {
	f.open()
	reading, stop := context.WithCancel(ctx)
	defer stop()
	inputs, restore, err := f.listen(reading)
	if err != nil {
		return exitFailed, err
	}
	defer restore()
	defer f.settle()
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, terminalSignals...)
	defer signal.Stop(signals)
	if err := f.print(f.pic.header()); err != nil {
		return exitFailed, err
	}
	return f.loop(ctx, inputs, signals)
}

// open makes the picture of the session as it stands.
func (f *follower) open() {
	f.pic = newPicture(f.session)
	f.results, f.said = make(chan result, 16), map[string]time.Duration{}
}

// loop takes what happens, one thing after the other.
func (f *follower) loop(ctx context.Context, inputs <-chan input, signals <-chan os.Signal) (int, error) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var escape <-chan time.Time
	for {
		if code, over := f.over(); over {
			return code, nil
		}
		left := false
		var err error
		select {
		case n := <-f.c.notes:
			err = f.noted(n)
		case r := <-f.results:
			err = f.answered(r)
		case words := <-f.holds:
			err = f.print(f.held(words))
		case in := <-inputs:
			left, err = f.read(ctx, in)
			escape = f.escapeTimer()
		case <-escape:
			left, err = f.press(ctx, f.keys.flush())
			escape = nil
		case s := <-signals:
			left, err = f.signalled(ctx, s)
		case <-f.wake:
			err = f.resumed()
		case at := <-tick.C:
			err = f.tick(at)
		case <-f.c.conn.Done():
			return exitFailed, fmt.Errorf("the daemon went away; the session is kept: %s", f.again)
		case <-ctx.Done():
			left = true
		}
		if err != nil {
			return exitFailed, err
		}
		if left {
			return f.leftWith(), nil
		}
	}
}

// leftWith is the exit code of a developer who leaves: what they leave is done, or goes on.
func (f *follower) leftWith() int {
	if f.pic.session.Mode == protocol.Done {
		return exitDone
	}
	return exitWaiting
}

// settleTime is how long a request of a developer who leaves may take.
const settleTime = 2 * time.Second

// settle waits for the answers to what was sent: a pause shall not be lost because the developer
// who asked for it leaves.
func (f *follower) settle() {
	timeout := time.NewTimer(settleTime)
	defer timeout.Stop()
	for ; f.asked > 0; f.asked-- {
		select {
		case <-f.results:
		case <-f.c.conn.Done():
			return
		case <-timeout.C:
			return
		}
	}
}

// escapeTime is how long a terminal may take between an escape and the rest of its key.
const escapeTime = 50 * time.Millisecond

func (f *follower) escapeTimer() <-chan time.Time {
	if f.keys.waiting() {
		return time.After(escapeTime)
	}
	return nil
}

// listen makes stdin's bytes or lines come to a channel. The reader ends with stdin or the
// program: nothing can wake it from a read of a terminal.
func (f *follower) listen(ctx context.Context) (<-chan input, func(), error) {
	inputs := make(chan input)
	send := func(in input) bool {
		select {
		case inputs <- in:
			return !in.ended
		case <-ctx.Done():
			return false
		}
	}
	if tty, ok := interactive(f.in, f.out, f.getenv); ok && f.programs == nil {
		f.tty = &terminal{in: tty, scr: f.scr}
		if err := f.tty.take(); err != nil {
			return nil, nil, err
		}
		f.mine = true
		go readBytes(tty, send)
		return inputs, f.tty.give, nil
	}
	go readLines(f.in, send)
	return inputs, func() {}, nil
}

func readBytes(in io.Reader, send func(input) bool) {
	for {
		b := make([]byte, 4096)
		n, err := in.Read(b)
		if n > 0 && !send(input{bytes: b[:n]}) {
			return
		}
		if err != nil {
			send(input{ended: true})
			return
		}
	}
}

// longestLine is the longest line of a pipe that is taken for a steer, in bytes.
const longestLine = 1 << 20

func readLines(in io.Reader, send func(input) bool) {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		if !send(input{line: lines.Text()}) {
			return
		}
	}
}

// over says that nothing more is to be shown, and the exit code.
func (f *follower) over() (int, bool) {
	s := f.pic.session
	if f.asked > 0 || f.pic.seq < f.until {
		return 0, false
	}
	switch {
	case s.Mode == protocol.Done:
		return exitDone, !f.lingers()
	case f.mine || s.Initiative == protocol.AgentInitiative:
		return 0, false
	case s.Mode == protocol.Paused || s.Mode == protocol.Waiting:
		return exitWaiting, true
	}
	return 0, false
}

// lingers says that a session which is done is not left yet: the developer is typing, or has
// something to do first.
func (f *follower) lingers() bool {
	if f.mine && !f.typed.empty() {
		return true
	}
	if f.stays == nil {
		return false
	}
	_, stays := f.stays()
	return stays
}

// noted shows a notification.
func (f *follower) noted(n note) error {
	before := f.pic.session.Mode
	lines, err := f.pic.show(n)
	if err != nil {
		return err
	}
	if f.programs != nil {
		if err := f.programs.Encode(n); err != nil {
			return fmt.Errorf("write JSON: %w", err)
		}
	}
	if before == protocol.Paused && f.pic.session.Mode == protocol.Executing {
		f.braked = false
	}
	if f.watch != nil {
		lines = append(lines, f.watch(n)...)
	}
	if f.pic.session.Mode != protocol.Done {
		f.awaits = false
	} else if f.stays != nil && !f.awaits {
		if why, stays := f.stays(); stays {
			f.awaits = true
			lines = append(lines, line{text: why, tone: careful})
		}
	}
	return f.print(lines)
}

// answered shows the answer to a request of ours.
func (f *follower) answered(r result) error {
	f.asked--
	f.until = max(f.until, r.seq)
	if refused := (*refusal)(nil); errors.As(r.err, &refused) && refused.code == protocol.CodeDriftUnacknowledged {
		lines := driftCard(refused.text)
		if f.drifted != nil {
			lines = append(lines, f.drifted()...)
		}
		return f.print(lines)
	}
	if r.err != nil {
		return f.print([]line{{mark: "✗", text: r.err.Error(), tone: bad}})
	}
	if r.show == nil {
		return nil
	}
	return f.print(r.show())
}

// tick shows the time that passes: in the status on a terminal, as a line now and then in a pipe.
func (f *follower) tick(at time.Time) error {
	if f.mine {
		return f.print(nil)
	}
	if lines := f.pic.overdue(at, f.said); len(lines) > 0 {
		return f.print(lines)
	}
	return nil
}

// print adds lines to the picture, unless programs read it.
func (f *follower) print(lines []line) error {
	if f.programs != nil {
		return nil
	}
	return f.scr.print(lines, f.bottom())
}

func (f *follower) bottom() bottom {
	if !f.mine {
		return bottom{}
	}
	b := bottom{words: f.pic.spoken.text, status: f.pic.now(time.Now()), prompt: f.prompt(), ghost: f.ghost()}
	w, _ := f.scr.size()
	b.input, b.cursor = f.typed.draw(max(w-visible(b.prompt)-1, 10))
	return b
}

// prompt says what Enter does with the line.
func (f *follower) prompt() string {
	actions := f.meaning()
	switch n := len(takes(actions)); {
	case len(actions) == 0:
		return "steer › "
	case n == 0:
		return "your words › "
	case n == 1:
		return "1, or your words › "
	default:
		return fmt.Sprintf("1–%d, or your words › ", n)
	}
}

func (f *follower) ghost() string {
	switch {
	case f.suggested != "":
		return "Enter sends: " + f.suggested
	case len(f.meaning()) > 0:
		return "/help"
	}
	return "type at any moment · Alt+Enter: at the end of this step · /help"
}

// meaning is what the line answers. A line that was begun as a steer stays one, whatever asks
// for an answer meanwhile: nobody shall answer a question that they had not seen.
func (f *follower) meaning() []protocol.Action {
	if f.typed.empty() {
		f.steers = false
		f.begun = f.pic.turnActions()
	} else if len(f.begun) == 0 {
		f.steers = true
	}
	if f.steers {
		return nil
	}
	return f.begun
}
