package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tandem/agent/sandbox"
)

const (
	defaultTimeout = 10 * time.Minute
	defaultGrace   = 2 * time.Second

	// patience is how much longer than the grace a supervisor may take to end the tree before it is ended itself.
	patience = 3 * time.Second
	// drain bounds the reading of a pipe that something outside of the tree still holds.
	drain = time.Second
	// answerLimit bounds the wait for a supervisor's answer to Freeze and Thaw.
	answerLimit = 2 * time.Second

	chunkSize = 64 << 10
)

// ErrEnded is the answer to Freeze and Thaw when the command is over.
var ErrEnded = errors.New("the command has ended")

// Spec says what to run. Line and Dir are needed, the rest has useful zero values.
type Spec struct {
	Line    string        // for sh -c (cmd.exe /C on Windows)
	Dir     string        // absolute path of the working folder
	Env     []string      // the whole environment, "NAME=value" each; see Environment. Nothing is inherited
	Timeout time.Duration // bound of the running time, frozen time not counted; 0 is 10 minutes
	Grace   time.Duration // from TERM to KILL; 0 is 2 seconds
	// Sandbox is what the command is confined to; the zero Policy confines nothing. A command whose sandbox cannot be
	// set up does not run.
	Sandbox  sandbox.Policy
	Spool    string // path of a file for the full output, created with mode 0600; "" keeps none
	SpoolCap int64  // most bytes in that file; 0 is 64 MB
	// Filter, if not nil, makes what output goes through before anything of it is kept or told: it
	// gives what of a piece may go on, and may keep an end back for the next piece, until the last
	// one. One is made for what is kept, which is whole lines, and one for what is told, in which
	// lines may be seen while they are written.
	Filter func() func(piece []byte, last bool) []byte
}

// Result says how a command ended.
type Result struct {
	ExitCode  int           // of the shell; -1 when a signal ended it
	Signal    string        // such as "SIGTERM"; "" when the shell exited
	Output    string        // clean text, its head and tail, at most 32 kB
	Bytes     int64         // of raw output in all
	TimedOut  bool          // the time limit ended it
	Leftovers []string      // command lines of what had to be ended after the shell's exit, or killed after the grace
	Duration  time.Duration // from Start to Done, by the wall, frozen time included
}

// Command is a command that was started. Its methods may be called from any goroutine.
type Command struct {
	stop   chan struct{}
	asks   chan ask
	done   chan struct{}
	result Result
}

// ask is a wish of a caller that the owner answers.
type ask struct {
	order  order
	answer chan error  // to a freeze or thaw
	output chan string // to all else: the output so far
}

// order is what a supervisor is told to do.
type order string

const (
	stopOrder   order = "stop"
	freezeOrder order = "freeze"
	thawOrder   order = "thaw"
)

// report is what a supervisor says: Started once, an Answer to each freeze and thaw, Ended last. A Problem goes with
// Started or Answer.
type report struct {
	Started bool    `json:",omitempty"`
	Answer  bool    `json:",omitempty"`
	Problem string  `json:",omitempty"`
	Ended   *ending `json:",omitempty"`
}

// ending is how the shell and its tree ended. Lost: the supervisor did not live to say so.
type ending struct {
	ExitCode  int
	Signal    string
	Leftovers []string
	Lost      bool
}

// Start starts the command, and says why when it cannot. said hears new output as clean text, at most ten times and
// 64 kB a second, from one goroutine; it must return soon and not call the Command. It may be nil. The last call
// comes before Done.
func Start(spec Spec, said func(string)) (*Command, error) {
	if err := check(&spec); err != nil {
		return nil, err
	}
	file, err := openSpool(spec.Spool, spec.SpoolCap)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	e, err := launch(spec)
	if err != nil {
		file.remove()
		return nil, err
	}
	if said == nil {
		said = func(string) {}
	}
	c := &Command{stop: make(chan struct{}, 1), asks: make(chan ask), done: make(chan struct{})}
	o := &owner{
		c: c, engine: e, said: said, begun: begun, grace: spec.Grace,
		left: spec.Timeout, counting: begun, bound: time.NewTimer(spec.Timeout),
		chunks: make(chan []byte), spare: make(chan []byte, 2),
	}
	o.text.spool = file
	if spec.Filter != nil {
		o.text.keeps, o.text.tells = spec.Filter(), spec.Filter()
	}
	go o.read()
	go o.run()
	return c, nil
}

// check refuses what cannot run and fills in what was left at zero.
func check(spec *Spec) error {
	switch {
	case strings.TrimSpace(spec.Line) == "":
		return errors.New("run command: the command line is empty")
	case strings.Contains(spec.Line, "\x00"):
		return errors.New("run command: the command line holds a NUL byte; write it as \\0 for printf or the like")
	case !filepath.IsAbs(spec.Dir):
		return fmt.Errorf("run command: the working folder %q is not an absolute path", spec.Dir)
	}
	info, err := os.Stat(spec.Dir)
	if err != nil {
		return fmt.Errorf("run command: the working folder cannot be entered: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("run command: %s is not a folder", spec.Dir)
	}
	if err := spec.Sandbox.Check(); err != nil {
		return fmt.Errorf("run command: %w", err)
	}
	if spec.Timeout <= 0 {
		spec.Timeout = defaultTimeout
	}
	if spec.Grace <= 0 {
		spec.Grace = defaultGrace
	}
	return nil
}

// Done is closed when nothing of the command runs any more and its output has been read.
func (c *Command) Done() <-chan struct{} { return c.done }

// Result waits for Done and says how the command ended.
func (c *Command) Result() Result {
	<-c.done
	return c.result
}

// Stop ends the whole tree: TERM at once, KILL after the grace. It does not wait; Done follows. It may be called in
// every state and more than once.
func (c *Command) Stop() {
	select {
	case c.stop <- struct{}{}:
	default: // It was told already.
	}
}

// Freeze stops every process of the tree where it stands and returns when all stand. After an error some may still
// run: Thaw or Stop it then. A command that is over answers ErrEnded.
func (c *Command) Freeze() error { return c.ask(freezeOrder) }

// Thaw lets a frozen tree go on. What had been stopped before Freeze, by itself or by others, stays stopped.
func (c *Command) Thaw() error { return c.ask(thawOrder) }

func (c *Command) ask(what order) error {
	a := ask{order: what, answer: make(chan error, 1)}
	limit := time.NewTimer(answerLimit)
	defer limit.Stop()
	asks, err := c.asks, error(nil)
	for waiting := true; waiting; {
		select {
		case asks <- a:
			asks = nil
		case err = <-a.answer:
			waiting = false
		case <-c.done:
			err, waiting = ErrEnded, false
		case <-limit.C:
			err, waiting = fmt.Errorf("no answer in %v", answerLimit), false
		}
	}
	if err != nil {
		return fmt.Errorf("%s command: %w", what, err)
	}
	return nil
}

// Output answers with the output so far, bounded as in Result.
func (c *Command) Output() string {
	a := ask{output: make(chan string, 1)}
	select {
	case c.asks <- a:
		return <-a.output
	case <-c.done:
		return c.result.Output
	}
}
