package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Program is what Spawn starts.
type Program struct {
	// Exe is the program's file, with its whole path.
	Exe  string
	Args []string
	// Log is the file that its output is added to. Its folder is made when it is not there.
	Log string
}

// Spawn starts a daemon that outlives this process: in a session of its own, with no terminal, no
// stdin, and no pipe or other file of its parent's. The channel gives one value when it ends,
// should this process still be there.
func Spawn(p Program) (<-chan error, error) {
	if err := os.MkdirAll(filepath.Dir(p.Log), 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the log: %w; set XDG_STATE_HOME to a folder that can be written", err)
	}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	defer log.Close()
	keepOwnFiles()
	cmd := exec.Command(p.Exe, p.Args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = filepath.Dir(p.Log) // it shall not keep the folder busy that the editor started us in
	cmd.SysProcAttr = detached()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("run %s: %w", p.Exe, err)
	}
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		if err != nil {
			err = fmt.Errorf("%w; its log is %s", err, p.Log)
		}
		ended <- err
	}()
	return ended, nil
}
