//go:build unix

package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The test binary is also the daemon that tests start: it listens where this variable says, echoes
// lines, tells of itself when asked, and ends when told to, or by itself before long.
const standIn = "TANDEM_TEST_DAEMON"

func TestMain(m *testing.M) {
	if path := os.Getenv(standIn); path != "" {
		os.Exit(beDaemon(path))
	}
	goleak.VerifyTestMain(m)
}

func beDaemon(path string) int {
	time.AfterFunc(30*time.Second, func() { os.Exit(3) })
	if path == "broken" {
		fmt.Fprintln(os.Stderr, "no configuration")
		return 4
	}
	l, err := Listen(path)
	if errors.Is(err, ErrRunning) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return 1
		}
		go talk(conn, l)
	}
}

func talk(conn net.Conn, l net.Listener) {
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		switch lines.Text() {
		case "quit":
			_ = l.Close()
			os.Exit(0)
		case "who":
			session, _, _ := syscall.RawSyscall(syscall.SYS_GETSID, 0, 0, 0)
			open, _ := os.ReadDir("/dev/fd")
			names := []string{}
			for _, f := range open {
				to, _ := os.Readlink(filepath.Join("/dev/fd", f.Name()))
				names = append(names, f.Name()+"="+to)
			}
			fmt.Fprintf(conn, "%d\t%d\t%s\n", os.Getpid(), session, strings.Join(names, "\t"))
		default:
			fmt.Fprintln(conn, lines.Text())
		}
	}
}

// home is a user's own runtime folder with a workspace beside it.
func home(t *testing.T) (workspace string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "td") // t.TempDir is too long for a socket on some systems
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	t.Setenv("XDG_RUNTIME_DIR", dir)
	workspace = filepath.Join(dir, "work")
	if err := os.Mkdir(workspace, 0o755); err != nil {
		t.Fatal(err)
	}
	return workspace
}

func mustPath(t *testing.T, workspace string) string {
	t.Helper()
	path, err := Path(workspace, "b1")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// spawner starts the stand-in at path and counts how often it was asked to. When the test is over
// it sees to it that none is left: one that lost a race may come to listen when all is done.
func spawner(t *testing.T, path string) (Start, *int) {
	t.Setenv(standIn, path)
	n, running := new(int), new(sync.WaitGroup)
	log := filepath.Join(t.TempDir(), "logs", "daemon.log")
	t.Cleanup(func() {
		none := make(chan struct{})
		go func() { running.Wait(); close(none) }()
		for {
			if conn, err := Dial(context.Background(), path); err == nil {
				quit(t, conn)
			}
			select {
			case <-none:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	return func() (<-chan error, error) {
		*n++
		ended, err := Spawn(Program{Exe: os.Args[0], Log: log})
		if err != nil {
			return nil, err
		}
		told := make(chan error, 1)
		running.Go(func() { told <- <-ended })
		return told, nil
	}, n
}

func ask(t *testing.T, conn net.Conn, line string) string {
	t.Helper()
	got, err := tryAsk(conn, line)
	if err != nil {
		t.Fatalf("ask %s: %v", line, err)
	}
	return got
}

func tryAsk(conn net.Conn, line string) (string, error) {
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return "", err
	}
	if _, err := fmt.Fprintln(conn, line); err != nil {
		return "", err
	}
	got, err := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(got), err
}

// quit ends a stand-in and waits until it has ended.
func quit(t *testing.T, conn net.Conn) {
	t.Helper()
	fmt.Fprintln(conn, "quit")
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the daemon answered quit")
	}
	conn.Close()
}

func connect(t *testing.T, workspace string, start Start) net.Conn {
	t.Helper()
	conn, err := Connect(context.Background(), workspace, "b1", start)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}
