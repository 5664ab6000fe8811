package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"tandem/protocol"
)

// read takes what came from stdin: keys of a terminal, or a line of a pipe, which is a steer.
func (f *follower) read(ctx context.Context, in input) (left bool, err error) {
	switch {
	case in.ended:
		return true, nil
	case in.bytes != nil:
		return f.press(ctx, f.keys.feed(in.bytes))
	case strings.TrimSpace(in.line) != "":
		f.steer(ctx, strings.TrimSpace(in.line), protocol.Now)
	}
	return false, nil
}

// press takes keys.
func (f *follower) press(ctx context.Context, keys []key) (left bool, err error) {
	for _, k := range keys {
		f.meaning() // of the line before this key
		switch k.kind {
		case keyInterrupt:
			left, err = f.interrupt(ctx)
		case keyEOF:
			left = f.typed.empty()
		case keySuspend:
			f.suspend()
		case keyEnter:
			left, err = f.enter(ctx, protocol.Now)
		case keyAltEnter:
			left, err = f.enter(ctx, protocol.StepEnd)
		default:
			f.typed.press(k)
		}
		if left || err != nil {
			return left, err
		}
	}
	return false, f.print(nil)
}

// wakeTime is how long it may take until a program that stops itself has stopped. One that still
// runs then could not be stopped: no shell waits for it.
const wakeTime = 200 * time.Millisecond

// suspend gives the terminal back and stops the program until the shell lets it go on. The
// session goes on where it runs in the daemon.
func (f *follower) suspend() {
	if f.tty == nil {
		return
	}
	f.tty.give()
	stop()
	f.wake = time.After(wakeTime)
}

// resumed takes the terminal again after the program was stopped, and draws anew.
func (f *follower) resumed() error {
	if f.wake = nil; f.tty == nil {
		return nil
	}
	if err := f.tty.take(); err != nil {
		return err
	}
	return f.print(nil)
}

// signalled takes what the terminal told.
func (f *follower) signalled(ctx context.Context, s os.Signal) (left bool, err error) {
	switch {
	case s == os.Interrupt:
		return f.interrupt(ctx)
	case goesOn(s):
		return false, f.resumed()
	}
	return false, f.print(nil) // it has another size
}

// interrupt is the brake: the first pauses, the second leaves.
func (f *follower) interrupt(ctx context.Context) (left bool, err error) {
	if f.braked || f.pic.session.Mode != protocol.Executing {
		return true, nil
	}
	f.braked = true
	f.send(ctx, func(ctx context.Context) result {
		err := f.c.call(ctx, protocol.MethodPause, protocol.PauseParams{SessionID: f.session.ID}, nil)
		return result{err: err}
	})
	if f.mine {
		return false, f.print([]line{{text: "Pausing. /resume goes on; Ctrl-C again leaves.", tone: careful}})
	}
	return false, nil
}

// enter takes the line: a command, a number, or words.
func (f *follower) enter(ctx context.Context, when protocol.When) (left bool, err error) {
	actions := f.meaning()
	text := f.typed.take()
	if text == "" {
		if text = f.suggested; text == "" {
			return false, nil
		}
		if !f.answers {
			f.suggested = ""
			f.steer(ctx, text, when)
			return false, nil
		}
	}
	f.suggested, f.answers = "", false
	if name, rest, ok := slash(text); ok {
		return f.command(ctx, name, rest)
	}
	if len(actions) == 0 || when != protocol.Now {
		f.steer(ctx, text, when)
		return false, nil
	}
	a, words, err := choose(actions, text)
	if err != nil {
		return false, f.print([]line{{text: err.Error(), tone: bad}})
	}
	f.act(ctx, a, words)
	if a.Params.QuestionID == "" {
		return false, nil // what comes of it says what was taken
	}
	return false, f.print([]line{{mark: "›", text: cmp.Or(words, a.Title), tone: mine}})
}

// choose finds the action that a typed answer means: by its number, or the one that takes words.
func choose(actions []protocol.Action, text string) (protocol.Action, string, error) {
	numbered := takes(actions)
	if n, err := strconv.Atoi(text); err == nil {
		if n >= 1 && n <= len(numbered) {
			return numbered[n-1], "", nil
		}
		return protocol.Action{}, "", fmt.Errorf("there is no option %d; type a number from 1 to %d, or your own words", n, len(numbered))
	}
	if own, ok := says(actions); ok {
		return own, text, nil
	}
	return protocol.Action{}, "", fmt.Errorf("type a number from 1 to %d; /steer says something else", len(numbered))
}

// act sends an action back as it came, with what the developer typed in its place.
func (f *follower) act(ctx context.Context, a protocol.Action, words string) {
	f.send(ctx, func(ctx context.Context) result {
		var now struct{ Session protocol.Session } // what decides or resumes is answered with it
		err := perform(ctx, f.c, a, words, &now)
		return result{err: err, seq: now.Session.Seq}
	})
}

// perform sends an action.
func perform(ctx context.Context, c *client, a protocol.Action, words string, answer any) error {
	encoded, err := json.Marshal(a.Params)
	if err != nil {
		return fmt.Errorf("encode %s: %w", a.Title, err)
	}
	params := map[string]any{}
	if err := json.Unmarshal(encoded, &params); err != nil {
		return fmt.Errorf("encode %s: %w", a.Title, err)
	}
	if a.Ask != nil {
		params[a.Ask.Param] = words
	}
	return c.call(ctx, a.Method, params, answer)
}

// steer says something to the agent, with what the developer had seen when they said it.
func (f *follower) steer(ctx context.Context, text string, when protocol.When) {
	seen := f.pic.seq
	p := protocol.SteerParams{SessionID: f.session.ID, Text: text, When: when, SeenSeq: &seen}
	f.send(ctx, func(ctx context.Context) result {
		r, err := ask[protocol.SteerResult](ctx, f.c, protocol.MethodSteer, p)
		if err != nil {
			return result{err: err}
		}
		return result{show: func() []line { return f.pic.receipt(r) }, seq: r.Seq + 1} // what it led to follows it
	})
}

// send asks the daemon beside the loop, which hears the answer.
func (f *follower) send(ctx context.Context, ask func(context.Context) result) {
	f.asked++
	go func() { f.results <- ask(ctx) }()
}

// commands are what can be typed behind a slash.
var commands = []string{"pause", "resume", "plan", "status", "steer", "checkin", "ask", "scenario", "revert", "quit", "help"}

// slash reads a command. Words that begin with a path are a steer; one unknown word is none.
func slash(text string) (name, rest string, ok bool) {
	after, isSlash := strings.CutPrefix(text, "/")
	if !isSlash {
		return "", "", false
	}
	name, rest, _ = strings.Cut(after, " ")
	known := slices.Contains(commands, name)
	return name, strings.TrimSpace(rest), known || rest == "" && !strings.ContainsAny(name, "/.")
}

// command does what was typed behind a slash.
func (f *follower) command(ctx context.Context, name, rest string) (left bool, err error) {
	switch name {
	case "quit":
		return true, nil
	case "pause":
		f.send(ctx, func(ctx context.Context) result {
			return result{err: f.c.call(ctx, protocol.MethodPause, protocol.PauseParams{SessionID: f.session.ID, Reason: rest}, nil)}
		})
	case "resume":
		f.resume(ctx, rest == "anyway")
	case "steer":
		f.steer(ctx, rest, protocol.Now)
	case "plan":
		if f.pic.session.Plan == nil {
			return false, f.print([]line{{text: "There is no plan yet."}})
		}
		return false, f.print(planLines(*f.pic.session.Plan))
	case "status":
		return false, f.print(f.status())
	case "checkin", "ask", "scenario", "revert":
		return false, f.besides(ctx, name, rest)
	case "help":
		return false, f.print(help)
	default:
		return false, f.print([]line{{text: "There is no command /" + name + "; /help lists them. For a steer that begins so, type /steer first.", tone: bad}})
	}
	return false, nil
}

// resume goes on; anyway says that the developer knows of inputs that have moved. Else the pause's
// own action is sent where there is one.
func (f *follower) resume(ctx context.Context, anyway bool) {
	if p := f.pic.session.Pause; p != nil && !anyway {
		for _, a := range p.Actions {
			if a.Method == protocol.MethodResume {
				f.act(ctx, a, "")
				return
			}
		}
	}
	f.send(ctx, func(ctx context.Context) result {
		p := protocol.ResumeParams{SessionID: f.session.ID, AcknowledgeDrift: anyway}
		r, err := ask[protocol.ResumeResult](ctx, f.c, protocol.MethodResume, p)
		return result{err: err, seq: r.Session.Seq}
	})
}

func (f *follower) status() []line {
	return []line{
		{text: f.pic.now(time.Now()), side: "session " + f.session.ID},
		{indent: 2, text: tokens(f.pic.session.Usage), tone: quiet},
	}
}

// help is what /help says.
var help = []line{
	{text: "Type at any moment: what you type is a steer, and is heard at once.", tone: strong},
	{indent: 2, text: "Enter        send it now"},
	{indent: 2, text: "Alt+Enter    send it for the end of this step; nothing is interrupted"},
	{indent: 2, text: "1, 2, …      take an option of a pause, a question or a decision; other words are your own answer"},
	{indent: 2, text: "/pause       stop everything that changes something; with a reason the agent looks into it"},
	{indent: 2, text: "/resume      go on after a pause; /resume anyway, where live inputs have moved"},
	{indent: 2, text: "/plan        the whole plan        /status      where it stands"},
	{indent: 2, text: "/steer …     a steer, where words would answer something else"},
	{indent: 2, text: "/checkin …   the agent commits to its next steps, or asks"},
	{indent: 2, text: "/ask …       a side question; with --at FILE:LINE about a place"},
	{indent: 2, text: "/scenario …  run the same case again; without a name: the runs so far"},
	{indent: 2, text: "/revert …    take back a step, an operation or a steer; --dry-run only tells"},
	{indent: 2, text: "/quit        leave; the session stays"},
	{indent: 2, text: "Ctrl-C       pause; again: leave    Ctrl-Z      back to the shell; fg returns"},
}
