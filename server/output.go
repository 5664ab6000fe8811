package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// OutputFile is the file with the whole output of a command, below the state folder. The error is
// for the developer: that there is none, and why that may be.
func OutputFile(state, session, operation string) (string, error) {
	if strings.ContainsAny(session+operation, `/\*?[`) {
		return "", fmt.Errorf("%q of session %q is no operation", operation, session)
	}
	found, err := filepath.Glob(filepath.Join(state, "workspaces", "*", "output", session, operation+".log"))
	if err != nil {
		return "", err
	}
	for _, path := range found {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", fmt.Errorf("no output of %s is kept in session %s; only commands leave one, under their operation's id", operation, session)
}
