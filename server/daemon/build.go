package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
)

// Build identifies the program that runs: two builds never have the same name. It is asked once,
// when the program starts, because an update replaces the file under a program that runs.
var Build = sync.OnceValues(build)

func build() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the program's file: %w", err)
	}
	info, err := os.Stat(exe)
	if err != nil {
		return "", fmt.Errorf("look at the program's file: %w", err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d %d\n", info.Size(), info.ModTime().UnixNano())
	if b, ok := debug.ReadBuildInfo(); ok {
		fmt.Fprintln(h, b)
	}
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}
