// Command tandem is Tandem's one program: the daemon that runs the agent beside an editor, the
// forwarder that an editor starts, and the terminal client. It wires packages together and draws
// for a terminal; what is decided is decided elsewhere.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/alecthomas/kong"

	"tandem/agent/command"
	"tandem/agent/secret"
	"tandem/server"
)

// cli is every command. Their help is what a newcomer reads.
type cli struct {
	Demo   demoCommand   `cmd:"" help:"See it work, with no account: a real story on real files."`
	Run    runCommand    `cmd:"" help:"Work on a task here, and follow; type at any moment to steer."`
	Doctor doctorCommand `cmd:"" help:"Say what is set up and what is not."`

	Steer    steerCommand    `cmd:"" group:"A session, from another window:" help:"Say something to the agent at any moment."`
	Plan     planCommand     `cmd:"" group:"A session, from another window:" help:"Show the plan."`
	Status   statusCommand   `cmd:"" group:"A session, from another window:" help:"Show where a session stands, and what waits for you."`
	Brief    briefCommand    `cmd:"" group:"A session, from another window:" help:"Write the hand-over for whoever goes on, from the journal alone."`
	Log      logCommand      `cmd:"" group:"A session, from another window:" help:"Show everything that happened, one line an event."`
	Sessions sessionsCommand `cmd:"" group:"A session, from another window:" help:"List the sessions of this workspace."`
	Pause    pauseCommand    `cmd:"" group:"A session, from another window:" help:"Stop everything that changes something."`
	Decide   decideCommand   `cmd:"" group:"A session, from another window:" help:"Answer a pause, a question or a decision."`
	Resume   resumeCommand   `cmd:"" group:"A session, from another window:" help:"Go on after a pause."`
	Revert   revertCommand   `cmd:"" group:"A session, from another window:" help:"Take back what the agent did in a step, in an operation or for a steer."`
	CheckIn  checkInCommand  `cmd:"" name:"checkin" group:"A session, from another window:" help:"Let the agent commit to its next steps, or ask."`
	Ask      askCommand      `cmd:"" group:"A session, from another window:" help:"Ask a side question; the work goes on undisturbed."`
	Watch    watchCommand    `cmd:"" group:"A session, from another window:" help:"Show the live values that are watched, add one or take one away."`
	Scenario scenarioCommand `cmd:"" group:"A session, from another window:" help:"Run the same case again, and see before and after."`
	End      endCommand      `cmd:"" group:"A session, from another window:" help:"End a session for good."`

	Version versionCommand `cmd:"" group:"The program:" help:"Print the version."`
	started
}

// started are the commands that programs start, and wait for: these are parsed alone, because the
// whole grammar takes a millisecond to build.
type started struct {
	LSP   lspCommand   `cmd:"" group:"The program:" name:"lsp" help:"Serve an editor on stdin and stdout (an editor starts this)."`
	Serve serveCommand `cmd:"" group:"The program:" help:"Run the daemon for a workspace on its socket (started by itself when needed)."`
}

// grammar is what the arguments are parsed by.
func grammar(args []string) any {
	if len(args) > 0 && (args[0] == "lsp" || args[0] == "serve") {
		return &started{}
	}
	return &cli{}
}

func main() {
	command.Supervise()
	startQuietly()
	os.Exit(run(os.Args[1:], std{in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv}))
}

// Exit codes, as the help says.
const (
	exitDone    = 0
	exitFailed  = 1
	exitUsage   = 2
	exitWaiting = 3
)

// exitError ends the program with a code of its own; the text may be empty.
type exitError struct {
	code int
	text string
}

func (e *exitError) Error() string { return e.text }

// helpAsked is what the parser's wish to end the program becomes, so that a run always returns.
type helpAsked int

func run(args []string, s std) (code int) {
	defer func() {
		switch why := recover().(type) {
		case nil:
		case helpAsked:
			code = int(why)
		default:
			panic(why)
		}
	}()
	parser, err := kong.New(grammar(args), kong.Name("tandem"), kong.Description(description), kong.Writers(s.out, s.err),
		kong.Exit(func(code int) { panic(helpAsked(code)) }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, FlagsLast: true}))
	if err != nil {
		fmt.Fprintln(s.err, "tandem:", err)
		return exitFailed
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	k, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(s.err, "tandem: %v\nSee tandem --help.\n", err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	k.BindTo(ctx, (*context.Context)(nil))
	k.Bind(s)
	return exitCode(s, k.Run())
}

func exitCode(s std, err error) int {
	var e *exitError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &e):
		if e.text != "" {
			fmt.Fprintln(s.err, "tandem:", secret.New(os.Environ()).Text(e.text))
		}
		return e.code
	}
	fmt.Fprintln(s.err, "tandem:", secret.New(os.Environ()).Text(err.Error())) // of the daemon it stands in a file
	return exitFailed
}

type versionCommand struct {
	JSON bool `help:"Print JSON for programs."`
}

// Run prints the version.
func (c *versionCommand) Run(s std) error {
	about := map[string]string{"version": server.Version, "go": runtime.Version(), "system": runtime.GOOS + "/" + runtime.GOARCH}
	return place{JSON: c.JSON}.show(s, about, []line{{text: "tandem " + server.Version + "  (" + about["go"] + ", " + about["system"] + ")"}})
}

const description = `Pair programming with a coding agent: it plans and works, you steer.

  tandem demo          see it, with no account
  tandem run "TASK"    work on a task here; type at any moment to steer
  tandem doctor        check the setup`
