//go:build unix

package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// openFlags keep an open from waiting for the other end of a pipe.
const openFlags = os.O_RDONLY | syscall.O_NONBLOCK

// syncDir makes the names in a folder outlive the machine.
func syncDir(root *os.Root, name string) error {
	d, err := root.Open(name)
	if err != nil {
		return fmt.Errorf("sync folder %s: %w", name, err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync folder %s: %w", name, err)
	}
	return nil
}

// keepOwner gives a new file the owner of the one that it replaces. Only the superuser can
// do so for a stranger's file; then, as for any editor, the file becomes the writer's.
func keepOwner(root *os.Root, name string, was fs.FileInfo) error {
	then, ok := was.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	if now, ok := info.Sys().(*syscall.Stat_t); ok && now.Uid == then.Uid && now.Gid == then.Gid {
		return nil
	}
	if err := root.Lchown(name, int(then.Uid), int(then.Gid)); err != nil && !os.IsPermission(err) {
		return err
	}
	return nil
}

// inode tells a file from its replacement of the same size and time.
func inode(info fs.FileInfo) (ino uint64, changed int64) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0
	}
	return st.Ino, changeTime(st)
}
