package command

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// engine is a job object that holds the command's tree. The kernel ends the job when its last handle is closed, so
// that it dies with the daemon.
type engine struct {
	output  *os.File
	reports chan report
	process *exec.Cmd
	job     windows.Handle
}

// Supervise has nothing to do on Windows: the kernel holds the tree.
func Supervise() {}

// EndLost finds nothing on Windows: a job ends with its daemon.
func EndLost() []string { return nil }

func launch(spec Spec) (*engine, error) {
	job, err := newJob()
	if err != nil {
		return nil, fmt.Errorf("run command: make a job object: %w", err)
	}
	e := &engine{reports: make(chan report), job: job}
	if err := e.spawn(spec); err != nil {
		windows.CloseHandle(job)
		return nil, fmt.Errorf("run command: %w", err)
	}
	go e.watch()
	return e, nil
}

func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	info.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	if err != nil {
		windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

// spawn starts cmd.exe suspended, so that it cannot start anything before it is in the job.
func (e *engine) spawn(spec Spec) error {
	output, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirs.Close()
	shell := shellPath()
	e.process = &exec.Cmd{
		Path: shell, Dir: spec.Dir, Env: append([]string{}, spec.Env...), Stdout: theirs, Stderr: theirs,
		SysProcAttr: &syscall.SysProcAttr{
			CmdLine:       `cmd.exe /D /S /C "` + spec.Line + `"`,
			CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_NO_WINDOW,
		},
	}
	if err := e.process.Start(); err != nil {
		output.Close()
		return fmt.Errorf("start %s: %w", shell, err)
	}
	if err := e.admit(); err != nil {
		_ = e.process.Process.Kill()
		_ = e.process.Wait()
		output.Close()
		return fmt.Errorf("put the command into its job object: %w", err)
	}
	e.output = output
	return nil
}

func shellPath() string {
	system, err := windows.GetSystemDirectory()
	if err != nil {
		return "cmd.exe"
	}
	return system + `\cmd.exe`
}

// admit puts the process into the job and lets its one thread go.
func (e *engine) admit() error {
	pid := uint32(e.process.Process.Pid)
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h)
	if err := windows.AssignProcessToJobObject(e.job, h); err != nil {
		return err
	}
	return resumeThreads(pid)
}

func resumeThreads(pid uint32) error {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(snapshot)
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(snapshot, &entry); err == nil; err = windows.Thread32Next(snapshot, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		if err := resumeThread(entry.ThreadID); err != nil {
			return err
		}
	}
	if errors.Is(err, windows.ERROR_NO_MORE_FILES) {
		return nil
	}
	return err
}

func resumeThread(id uint32) error {
	h, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, id)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h)
	_, err = windows.ResumeThread(h)
	return err
}

// order ends the job at once: the system has no TERM for a tree without windows, and no stop signal.
func (e *engine) order(o order) error {
	if o != stopOrder {
		return errors.New("freezing is not possible on Windows; stop the command instead")
	}
	e.abandon()
	return nil
}

// release lets go of the pipe and the job, once nothing else uses them.
func (e *engine) release() {
	e.output.Close()
	windows.CloseHandle(e.job)
}

func (e *engine) abandon() { _ = windows.TerminateJobObject(e.job, 1) }

// watch waits for the shell and ends what it left behind, with the job.
func (e *engine) watch() {
	defer close(e.reports)
	_ = e.process.Wait()
	e.abandon()
	e.reports <- report{Ended: &ending{ExitCode: e.process.ProcessState.ExitCode()}}
}
