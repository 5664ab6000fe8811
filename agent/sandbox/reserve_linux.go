package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// A placeholder stands where a reserved path is missing. Its rights tell every process that it is one. Where a
// repository is it is a socket that nobody listens at: git passes over it, as an empty folder that cannot be taken away
// would be in the way of git clean, and who opens it is refused and does not wait. Elsewhere it is a folder, which programs take for one without settings.
const (
	socketRights fs.FileMode = 0o400
	emptyRights  fs.FileMode = 0o500
)

// Reserve sees to it that something stands at every reserved path while a command runs. It answers with the policy to
// start it with, and with what takes away again the placeholders that were made and that no other command needs.
func (p Policy) Reserve() (with Policy, release func(), err error) {
	if p.Mechanism != Bubblewrap {
		return p, func() {}, nil // Nothing else needs them, or could make use of them.
	}
	var held []placeholder
	release = func() {
		for _, h := range held {
			h.giveUp()
		}
		held = nil
	}
	reserve := func(paths []string, make func(string) error) error {
		for _, path := range paths {
			h, err := hold(path, make)
			if err != nil {
				return fmt.Errorf("set up the sandbox: keep %s from being made: %w", path, err)
			}
			if h.above != nil {
				held = append(held, h)
			}
		}
		return nil
	}
	missing := p.missing()
	err = reserve(p.Reserved, func(path string) error { return unix.Mknod(path, unix.S_IFSOCK|uint32(socketRights), 0) })
	if err == nil {
		err = reserve(missing, func(path string) error { return unix.Mkdir(path, uint32(emptyRights)) })
	}
	if err != nil {
		release()
		return p, nil, err
	}
	p.Reserved = slices.Concat(p.Reserved, missing)
	return p, release, nil
}

// missing are the upmost folders that are missing on the way to what is hidden and not there, as far as commands could
// make them.
func (p Policy) missing() []string {
	var out []string
	for _, path := range p.Hidden {
		path = resolve(path)
		if _, err := os.Lstat(path); err == nil || !slices.ContainsFunc(p.Write, func(w string) bool { return within(path, resolve(w)) }) {
			continue
		}
		for {
			dir := filepath.Dir(path)
			if _, err := os.Lstat(dir); err == nil {
				break
			}
			path = dir
		}
		out = append(out, path)
	}
	return out
}

// placeholder is one that a command needs. The folder above it is locked meanwhile: who holds it alone takes it away.
type placeholder struct {
	path  string
	above *os.File // nil where none is needed
}

// hold makes a placeholder unless something stands there.
func hold(path string, make func(string) error) (h placeholder, err error) {
	above, err := os.Open(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) {
		return h, nil
	}
	if err != nil {
		return h, err
	}
	locked := share(above)
	if locked == nil || errors.Is(locked, unix.EWOULDBLOCK) {
		if err = make(path); errors.Is(err, fs.ErrExist) {
			err = nil
		}
	} else {
		err = locked
	}
	if err != nil || locked != nil {
		above.Close() // A later command takes a placeholder away whose folder is not locked.
		return h, err
	}
	return placeholder{path, above}, nil
}

// lockPatience is far longer than a placeholder takes to be taken away: who has a folder alone for so long is a program
// with a lock of its own on it, such as a command that wants no other to begin.
const lockPatience = time.Second

// share locks a folder together with others, and does not wait for whoever keeps it alone.
func share(f *os.File) error {
	for end := time.Now().Add(lockPatience); ; time.Sleep(10 * time.Millisecond) {
		if err := flock(f, unix.LOCK_SH|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) || time.Now().After(end) {
			return err
		}
	}
}

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// giveUp takes a placeholder away unless another command holds it, or something else stands there.
func (h placeholder) giveUp() {
	defer h.above.Close()
	if flock(h.above, unix.LOCK_EX|unix.LOCK_NB) != nil {
		return
	}
	if info, err := os.Lstat(h.path); err == nil && isPlaceholder(info) {
		_ = os.Remove(h.path) // A folder that is not empty is somebody's own by now, and stays.
	}
}

func isPlaceholder(info fs.FileInfo) bool {
	return info.IsDir() && info.Mode().Perm() == emptyRights || info.Mode()&fs.ModeSocket != 0 && info.Mode().Perm() == socketRights
}
