//go:build linux || darwin

package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// startLimit bounds the time until a supervisor has started its shell.
const startLimit = 10 * time.Second

// engine is the daemon's side of a supervisor.
type engine struct {
	output  *os.File    // what the command writes
	reports chan report // Ended is the last; closed when the supervisor is gone
	control *os.File
	status  *os.File
	said    *json.Decoder
	process *exec.Cmd
	id      string
}

// launch starts a supervisor and returns when the shell runs.
func launch(spec Spec) (*engine, error) {
	e := &engine{reports: make(chan report)}
	if err := e.spawn(); err != nil {
		return nil, fmt.Errorf("start the supervisor of a command: %w", err)
	}
	if err := e.assign(spec); err != nil {
		e.end()
		e.output.Close()
		return nil, fmt.Errorf("run command: %w", err)
	}
	go e.watch()
	return e, nil
}

// spawn starts the supervisor. It gets no variable of the daemon's environment, which the command could read there,
// and a session of its own, so that a key pressed at the daemon's terminal does not reach it.
func (e *engine) spawn() error {
	self, err := program()
	if err != nil {
		return err
	}
	var theirs [3]*os.File // ours are control, status and output
	defer func() { closeAll(theirs[:]...) }()
	if theirs[0], e.control, err = os.Pipe(); err == nil {
		if e.status, theirs[1], err = os.Pipe(); err == nil {
			e.output, theirs[2], err = os.Pipe()
		}
	}
	if err == nil {
		e.process = &exec.Cmd{
			Path: self, Args: []string{"tandem", argument}, Env: []string{}, Dir: "/",
			Stdin: theirs[0], Stdout: theirs[1], ExtraFiles: theirs[2:],
			SysProcAttr: &syscall.SysProcAttr{Setsid: true},
		}
		err = e.process.Start()
	}
	if err != nil {
		closeAll(e.control, e.status, e.output)
	}
	return err
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// assign tells the supervisor what to run and waits for its word that it does.
func (e *engine) assign(spec Spec) error {
	e.id = identity(e.process.Process.Pid)
	a := assignment{Line: []byte(spec.Line), Dir: []byte(spec.Dir), Grace: spec.Grace, Sandbox: spec.Sandbox}
	for _, entry := range withMark(spec.Env, e.id) {
		a.Env = append(a.Env, []byte(entry))
	}
	limit := time.Now().Add(startLimit)
	if err := errors.Join(e.control.SetWriteDeadline(limit), e.status.SetReadDeadline(limit)); err != nil {
		return err
	}
	if err := json.NewEncoder(e.control).Encode(a); err != nil {
		return fmt.Errorf("hand it to its supervisor: %w", err)
	}
	e.said = json.NewDecoder(e.status)
	var first report
	if err := e.said.Decode(&first); err != nil {
		return fmt.Errorf("hear from its supervisor: %w", err)
	}
	if first.Problem != "" {
		return errors.New(first.Problem)
	}
	return errors.Join(e.control.SetWriteDeadline(time.Time{}), e.status.SetReadDeadline(time.Time{}))
}

func (e *engine) order(o order) error { return json.NewEncoder(e.control).Encode(o) }

// watch carries reports to the owner until the supervisor is gone. One that was killed could not end its tree: what
// the kernel has not ended with it is ended here.
func (e *engine) watch() {
	defer close(e.reports)
	told := false
	for {
		var r report
		if err := e.said.Decode(&r); err != nil {
			break // Its end of the pipe is closed: it is gone, or about to be.
		}
		told = told || r.Ended != nil
		e.reports <- r
	}
	e.end()
	if !told {
		names := endMarked(func(id string) bool { return id == e.id })
		e.reports <- report{Ended: &ending{ExitCode: -1, Signal: "SIGKILL", Leftovers: names, Lost: true}}
	}
}

// end closes the pipes, at which the supervisor ends whatever it holds, and waits for it. How it exited says nothing
// that its last report did not.
func (e *engine) end() {
	e.control.Close()
	e.status.Close()
	_ = e.process.Wait()
}

// release lets go of the pipe for the output.
func (e *engine) release() { e.output.Close() }

// abandon ends a supervisor that does not do as told, and its tree with it. What descends from it is looked up
// first, as nobody can tell afterwards; it is stopped before that, so that its pid is certain to be still its own.
func (e *engine) abandon() {
	if err := e.process.Process.Signal(syscall.SIGSTOP); err != nil {
		return // It is gone, and watch ends the tree.
	}
	tree := descendants(e.process.Process.Pid)
	_ = e.process.Process.Kill() // It is gone already, or it is now.
	for _, p := range tree {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
}
