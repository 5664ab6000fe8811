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
	"syscall"

	"github.com/alecthomas/kong"

	"tandem/agent/command"
)

// cli is every command. Their help is what a newcomer reads.
type cli struct {
	LSP   lspCommand   `cmd:"" name:"lsp" help:"Serve an editor on stdin and stdout (an editor starts this)."`
	Serve serveCommand `cmd:"" help:"Run the daemon for a workspace on its socket (started by itself when needed)."`
}

func main() {
	command.Supervise()
	os.Exit(run(os.Args[1:]))
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

func run(args []string) int {
	var c cli
	parser, err := kong.New(&c, kong.Name("tandem"), kong.Description(description), kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}))
	if err != nil {
		fmt.Fprintln(os.Stderr, "tandem:", err)
		return exitFailed
	}
	k, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "tandem: %v\nSee tandem --help.\n", err)
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	k.BindTo(ctx, (*context.Context)(nil))
	return exitCode(k.Run())
}

func exitCode(err error) int {
	var e *exitError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &e):
		if e.text != "" {
			fmt.Fprintln(os.Stderr, "tandem:", e.text)
		}
		return e.code
	}
	fmt.Fprintln(os.Stderr, "tandem:", err)
	return exitFailed
}

const description = `Pair programming with a coding agent: it plans and works, you steer.

  tandem demo          see it, with no account
  tandem run "TASK"    work on a task here; type at any moment to steer
  tandem doctor        check the setup`
