//go:build unix

package daemon

import (
	"io/fs"
	"os"
	"syscall"
)

func owned(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}

// closed tells whether nobody but its owner may do anything with a folder.
func closed(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 == 0 }
