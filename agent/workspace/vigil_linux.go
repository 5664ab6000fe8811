package workspace

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// vigil hears from the system in which folders something happens, so that a glance need not go into
// the others. It asks inotify(7), which tells of all that goes through the file systems of this
// machine, and not of what a program writes into a file that it has mapped into its memory. Nobody
// waits for it: what it has heard is read when a look begins. A nil vigil hears nothing.
type vigil struct {
	fd   int
	dev  uint64
	room atomic.Int64  // for watches
	dirs sync.Map      // the folder of each watch: int32 → string
	turn chan struct{} // whoever reads holds it

	heard atomic.Uint64 // how often it was read
	marks sync.Map      // folder → the reading that told of something in it or below it
	lost  atomic.Uint64 // the reading before which nothing is known
}

// local are the file systems whose every change goes through this machine.
var local = []int64{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC}

const (
	watched = unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_CLOSE_WRITE | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_CREATE | unix.IN_DELETE |
		unix.IN_DELETE_SELF | unix.IN_MOVE_SELF | unix.IN_ONLYDIR
	// astray says that watches may stand for other folders than they did, or that something went unheard.
	astray = unix.IN_MOVE_SELF | unix.IN_UNMOUNT | unix.IN_Q_OVERFLOW
)

// newVigil keeps vigil over a folder, where the system can.
func newVigil(dir string) *vigil {
	var system unix.Statfs_t
	var at unix.Stat_t
	if unix.Statfs(dir, &system) != nil || unix.Stat(dir, &at) != nil || !slices.Contains(local, int64(system.Type)) {
		return nil
	}
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	v := &vigil{fd: fd, dev: uint64(at.Dev), turn: make(chan struct{}, 1)}
	v.room.Store(roomForWatches())
	return v
}

// roomForWatches is a quarter of what the system gives a user: their editors watch too.
func roomForWatches() int64 {
	text, err := os.ReadFile("/proc/sys/fs/inotify/max_user_watches")
	n, bad := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || bad != nil {
		return 0
	}
	return n / 4
}

func (v *vigil) close() error {
	if v == nil {
		return nil
	}
	return unix.Close(v.fd)
}

// over listens to a folder that is open, before its names are read, and says whether it does.
func (v *vigil) over(f *os.File, dir string) bool {
	if v == nil {
		return false
	}
	var at unix.Stat_t
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	listens := false
	err = raw.Control(func(fd uintptr) {
		if unix.Fstat(int(fd), &at) != nil || uint64(at.Dev) != v.dev {
			return
		}
		wd, err := unix.InotifyAddWatch(v.fd, fmt.Sprintf("/proc/self/fd/%d", fd), watched)
		if err != nil {
			return
		}
		if _, known := v.dirs.Swap(int32(wd), dir); known || v.room.Add(-1) >= 0 {
			listens = true
			return
		}
		_, _ = unix.InotifyRmWatch(v.fd, uint32(wd)) // the system tells of it, which gives the room back
	})
	return err == nil && listens
}

// manyNamed says that a file has another name, in a folder that may not be listened to.
func manyNamed(info fs.FileInfo) bool {
	at, ok := info.Sys().(*syscall.Stat_t)
	return ok && at.Nlink > 1
}

// listen reads what was heard, and gives the number of this reading.
func (v *vigil) listen() uint64 {
	if v == nil {
		return 0
	}
	v.turn <- struct{}{}
	defer func() { <-v.turn }()
	now := v.heard.Load() + 1
	for buf := make([]byte, 64<<10); ; {
		n, err := unix.Read(v.fd, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n <= 0 {
			if !errors.Is(err, unix.EAGAIN) {
				v.lost.Store(now)
			}
			break
		}
		v.take(buf[:n], now)
	}
	v.heard.Store(now)
	return now
}

// take marks the folders of some events.
func (v *vigil) take(events []byte, now uint64) {
	last := int32(-1)
	for len(events) >= unix.SizeofInotifyEvent {
		wd, mask := int32(binary.NativeEndian.Uint32(events)), binary.NativeEndian.Uint32(events[4:])
		events = events[min(len(events), unix.SizeofInotifyEvent+int(binary.NativeEndian.Uint32(events[12:]))):]
		switch dir, known := v.dirs.Load(wd); {
		case mask&unix.IN_IGNORED != 0:
			v.dirs.Delete(wd)
			v.room.Add(1)
		case mask&astray != 0 || !known:
			v.lost.Store(now)
		case wd != last:
			v.mark(dir.(string), now)
			last = wd
		}
	}
}

// mark notes that something happened in a folder, for those above it too.
func (v *vigil) mark(dir string, now uint64) {
	for {
		v.marks.Store(dir, now)
		if dir == "." {
			return
		}
		dir = path.Dir(dir)
	}
}

// quiet says that nothing has happened in a folder, or below it, since a reading.
func (v *vigil) quiet(dir string, since uint64) bool {
	if v == nil || since == 0 || v.lost.Load() > since {
		return false
	}
	at, marked := v.marks.Load(dir)
	return !marked || at.(uint64) <= since
}
