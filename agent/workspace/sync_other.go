//go:build !unix

package workspace

import (
	"io/fs"
	"os"
)

const openFlags = os.O_RDONLY

// syncDir does nothing: here a folder cannot be synced.
func syncDir(*os.Root, string) error { return nil }

// keepOwner does nothing: a new file here takes its rights from its folder.
func keepOwner(*os.Root, string, fs.FileInfo) error { return nil }

// inode knows nothing more than size and time here.
func inode(fs.FileInfo) (ino uint64, changed int64) { return 0, 0 }
