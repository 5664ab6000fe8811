package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// leastABI is the first version of Landlock that keeps a file outside from being emptied.
const leastABI = 3

const (
	// fileRights can be given of a file.
	fileRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	// folderRights can be given of a folder. No device can be made anywhere.
	folderRights = fileRights | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	handledRights = folderRights | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	scopes        = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
)

// devices are written to by ordinary programs, and keep nothing.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// landlockABI is the kernel's version of Landlock, 0 for none.
func landlockABI() int {
	abi, _, errno := syscall.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// onThread starts a program from a thread that has been confined. Where the program dies with its thread, the thread
// lasts as long as this process.
func onThread(confine func() error, start func() (int, error), lasting bool) (int, error) {
	type started struct {
		pid int
		err error
	}
	done := make(chan started)
	go func() {
		runtime.LockOSThread() // Never unlocked: the thread ends with its goroutine, and nothing else ever runs on it.
		if err := confine(); err != nil {
			done <- started{0, fmt.Errorf("set up the sandbox: %w", err)}
			return
		}
		pid, err := start()
		done <- started{pid, err}
		if lasting && err == nil {
			select {}
		}
	}()
	s := <-done
	return s.pid, s.err
}

// confineThread takes rights from this thread for good.
func (p Policy) confineThread() error {
	if err := dropCapabilities(); err != nil {
		return err
	}
	if err := noNewPrivileges(); err != nil {
		return err
	}
	if err := restrict(handledRights, slices.Concat(p.granted(), devices)); err != nil {
		return err
	}
	return filterThread(p.families())
}

// scopeThread keeps what this thread starts from signals to what is outside and from its abstract sockets, where the
// kernel can: bubblewrap leaves these open to a command with the network.
func scopeThread() error {
	if landlockABI() < scopeABI {
		return nil
	}
	if err := noNewPrivileges(); err != nil {
		return err
	}
	return restrict(0, nil)
}

func noNewPrivileges() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up new privileges: %w", err)
	}
	return nil
}

// restrict puts the thread into a domain of Landlock: of the rights that are handled it has those on and below the
// granted paths alone.
func restrict(handled uint64, granted []string) error {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handled}
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if landlockABI() >= scopeABI {
		attr.Scoped, size = scopes, unsafe.Offsetof(attr.Quiet_access_fs)
	}
	set, _, errno := syscall.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return fmt.Errorf("make a Landlock ruleset: %w", errno)
	}
	defer unix.Close(int(set))
	for _, path := range granted {
		if err := grant(int(set), path); err != nil {
			return fmt.Errorf("grant writes below %s: %w", path, err)
		}
	}
	if _, _, errno := syscall.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); errno != 0 {
		return fmt.Errorf("enter the Landlock domain: %w", errno)
	}
	return nil
}

// grant gives the rights to write at and below a path. One that has gone needs none; nor does one in whose place there is
// a link by now.
func grant(set int, path string) error {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ELOOP) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return err
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: fileRights, Parent_fd: int32(fd)}
	if info.Mode&unix.S_IFMT == unix.S_IFDIR {
		rule.Allowed_access = folderRights
	}
	_, _, errno := syscall.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// granted are the paths below which may be written. As nothing can be taken back below a granted path, one that holds
// something hidden is given entry by entry: what is there can be changed, and nothing new be made beside it.
func (p Policy) granted() []string {
	holes := p.holes()
	var out []string
	for _, r := range p.rules() {
		if r.right == write {
			out = append(out, around(r.path, holes)...)
		}
	}
	if p.Scratch != "" {
		out = append(out, resolve(p.Scratch))
	}
	return append(out, resolve("/dev/shm"))
}

// holes are the hidden paths, those that are not there with them: they must not be made either.
func (p Policy) holes() []string {
	var out []string
	for _, path := range p.Hidden {
		out = append(out, resolve(path))
	}
	return out
}

// divided says whether a folder holds something hidden, so that it is not granted whole.
func (p Policy) divided(folder string) bool {
	real := resolve(folder)
	return slices.ContainsFunc(p.holes(), func(hole string) bool { return within(hole, real) })
}

// around are a path, or the parts of it that hold none of the holes.
func around(path string, holes []string) []string {
	split := false
	for _, h := range holes {
		if h == path {
			return nil
		}
		split = split || within(h, path)
	}
	if !split {
		return []string{path}
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil // Nothing of it is granted then.
	}
	var out []string
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 { // what a link leads to is granted by its own name, or not at all
			out = append(out, around(filepath.Join(path, e.Name()), holes)...)
		}
	}
	return out
}

// keptBits are keptCapabilities by number.
var keptBits = map[uintptr]bool{unix.CAP_CHOWN: true, unix.CAP_DAC_OVERRIDE: true, unix.CAP_FOWNER: true,
	unix.CAP_FSETID: true, unix.CAP_SETGID: true, unix.CAP_SETUID: true}

// dropCapabilities takes from a root user what would undo a sandbox: what is started next cannot have it.
func dropCapabilities() error {
	if os.Geteuid() != 0 {
		return nil // Another user has none to lose, and can get none any more.
	}
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		if keptBits[c] {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) { // EINVAL: the kernel knows it not
			return fmt.Errorf("drop the capability %d: %w", c, err)
		}
	}
	return nil
}
