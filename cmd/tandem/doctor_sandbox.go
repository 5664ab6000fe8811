package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tandem/agent/command"
	"tandem/agent/sandbox"
	"tandem/server"
	"tandem/server/config"
)

// confinement says what holds for commands here, by having a command try it.
func confinement(ctx context.Context, dir, state string, getenv func(string) string, c config.Commands) []check {
	out := []check{environment(c)}
	found := sandbox.Best()
	switch {
	case c.Sandbox == config.SandboxOff:
		return append(out, check{"sandbox", checkNote, "switched off by commands.sandbox; commands run with your rights", "Take it out of your configuration to have them confined."})
	case found.Mechanism == sandbox.None && c.Sandbox == config.SandboxRequired:
		return append(out, check{"sandbox", checkMissing, "there is none, and commands.sandbox requires one: no command runs. " + found.Why, installSandbox})
	case found.Mechanism == sandbox.None:
		return append(out, check{"sandbox", checkNote, "there is none: commands run with your rights. " + found.Why, installSandbox})
	}
	house, err := server.House(dir, state, getenv, c)
	if err != nil {
		return append(out, check{"sandbox", checkMissing, err.Error(), ""})
	}
	policy := house.Policy(found.Mechanism)
	policy.Network = c.Network
	return append(out, mechanism(found), trial(ctx, house, policy))
}

const installSandbox = "On Linux install bubblewrap (the package has that name)."

func mechanism(f sandbox.Found) check {
	text := "commands are confined by " + string(f.Mechanism)
	if f.Mechanism != sandbox.Landlock {
		return check{Name: "sandbox", State: checkOK, Text: text}
	}
	text += fmt.Sprintf(" (ABI %d), because %s. Not held: reading; .git/hooks, .git/config and .tandem in the workspace; modes, owners and times of files elsewhere", f.ABI, f.Why)
	if !sandbox.Scoped(f) {
		text += "; signals to your other programs"
	}
	return check{"sandbox", checkNote, text + ". Commands have no loopback and no Unix sockets, so that servers of tests do not start.", installSandbox + " It holds all of this."}
}

// environment lists the variables that commands get.
func environment(c config.Commands) check {
	return check{Name: "variables", State: checkOK, Text: "commands get " + strings.Join(command.Passed(os.Environ(), c.Env), ", ")}
}

// probe is a thing that a sandbox has to refuse: a line that ends with 0 when it was done.
type probe struct{ what, line string }

// trial has a command try what a sandbox refuses, and what it lets through. What the line would change is the doctor's
// own: a file in a folder for nothing else.
func trial(ctx context.Context, house sandbox.House, policy sandbox.Policy) check {
	bait, err := os.MkdirTemp(house.Own[len(house.Own)-1], ".doctor-")
	if err != nil {
		bait, err = os.MkdirTemp(house.Own[0], ".doctor-")
	}
	if err != nil {
		return check{"confined", checkMissing, err.Error(), ""}
	}
	defer os.RemoveAll(bait) // What is left of it harms nobody.
	port, done := listen()
	defer done()
	var held, open []string
	for _, p := range probes(policy, bait, port) {
		if ran, err := tryIn(ctx, house.Dir, policy, p.line); err != nil {
			return check{"confined", checkMissing, "a confined command cannot be started: " + err.Error(), "No command runs while this is so; commands.sandbox: off lets them run unconfined."}
		} else if ran {
			open = append(open, p.what)
		} else {
			held = append(held, p.what)
		}
	}
	text := "tried and refused: " + strings.Join(held, ", ")
	if policy.Network {
		text += "; the network is allowed by commands.network"
	}
	if len(open) > 0 {
		return check{"confined", checkNote, text + ". Not refused: " + strings.Join(open, ", "), "What is not refused here a command can do with your rights."}
	}
	if ran, err := tryIn(ctx, house.Dir, policy, `f=$(mktemp) && rm "$f"`); err != nil || !ran {
		return check{"confined", checkNote, text + ". A command cannot make a temporary file", "Set TMPDIR to a folder that you may write to."}
	}
	return check{Name: "confined", State: checkOK, Text: text}
}

// probes are what a policy has to refuse.
func probes(policy sandbox.Policy, bait string, port int) []probe {
	out := []probe{
		{"writes to Tandem's folders", "echo x > " + quoted(filepath.Join(bait, "x"))},
		{"writes in the home folder", "f=$HOME/.tandem-doctor-$$ && echo x > $f && rm -f $f"},
		{"reads of Tandem's memory and environment", fmt.Sprintf("cat /proc/%d/environ >/dev/null", os.Getpid())},
		{"signals to other programs", fmt.Sprintf("kill -0 %d", os.Getpid())},
	}
	if _, err := exec.LookPath("bash"); err == nil && !policy.Network { // no other shell can try it
		out = append(out, probe{"the network (this machine's servers too)", fmt.Sprintf("bash -c 'exec 3<>/dev/tcp/127.0.0.1/%d'", port)})
	}
	if policy.Mechanism == sandbox.Bubblewrap {
		out = append(out, probe{"writes to .tandem in the workspace", "touch .tandem/.doctor && rm -f .tandem/.doctor"})
	}
	return out
}

// tryIn says whether a confined line ended well.
func tryIn(ctx context.Context, dir string, policy sandbox.Policy, line string) (bool, error) {
	c, err := command.Start(command.Spec{Line: line, Dir: dir, Env: command.Environment(os.Environ(), nil, false), Timeout: askTime, Sandbox: policy}, nil)
	if err != nil {
		return false, err
	}
	select {
	case <-c.Done():
	case <-ctx.Done():
		c.Stop()
	}
	return c.Result().ExitCode == 0, nil
}

// listen is a server on this machine that a confined command must not reach; port 9 where there can be none.
func listen() (port int, done func()) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 9, func() {}
	}
	return l.Addr().(*net.TCPAddr).Port, func() { l.Close() }
}

// quoted is a text as a shell takes it for one word.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
