//go:build unix

package daemon

import (
	"context"
	"errors"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// Ten clients at once start at most one daemon each and meet in one; when that is killed, the
// next client gets another.
func TestConnect(t *testing.T) {
	work := home(t)
	start, _ := spawner(t, mustPath(t, work))
	var mu sync.Mutex
	one := func() (<-chan error, error) {
		mu.Lock()
		defer mu.Unlock()
		return start()
	}
	conns := make([]net.Conn, 10)
	var all sync.WaitGroup
	for i := range conns {
		all.Go(func() {
			var err error
			if conns[i], err = Connect(t.Context(), work, "b1", one); err != nil {
				t.Errorf("client %d: %v", i, err)
			}
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	who := ask(t, conns[0], "who")
	for _, conn := range conns[1:] {
		if other := ask(t, conn, "who"); pidOf(t, other) != pidOf(t, who) {
			t.Errorf("two daemons: %s and %s", who, other)
		}
		conn.Close()
	}
	if err := syscall.Kill(pidOf(t, who), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if _, err := conns[0].Read(make([]byte, 1)); err == nil {
		t.Error("a killed daemon talks")
	}
	conns[0].Close()
	// One that dies may still take a connection, which Forward calls unanswered: then once more.
	again := connect(t, work, one)
	next, err := tryAsk(again, "who")
	for ; err != nil; next, err = tryAsk(again, "who") {
		again.Close()
		again = connect(t, work, one)
	}
	if pidOf(t, next) == pidOf(t, who) {
		t.Error("the daemon was not killed")
	}
	quit(t, again)
}

func pidOf(t *testing.T, who string) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.Fields(who)[0])
	if err != nil {
		t.Fatalf("who: %s", who)
	}
	return pid
}

// A daemon is in a session of its own and has nothing of its parent's open.
func TestSpawn(t *testing.T) {
	work := home(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	inherited, err := syscall.Dup(int(w.Fd())) // as an editor may leave one: not closed by exec
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(inherited)
	start, starts := spawner(t, mustPath(t, work))
	conn := connect(t, work, start)
	who := strings.Split(strings.TrimSpace(ask(t, conn, "who")), "\t")
	quit(t, conn)
	if *starts != 1 || who[0] != who[1] {
		t.Errorf("%d starts; pid and session: %v", *starts, who[:2])
	}
	for _, fd := range who[2:] {
		n, to, _ := strings.Cut(fd, "=")
		switch {
		case n == "0" && to != os.DevNull, n == "1" && !strings.HasSuffix(to, "daemon.log"), n == "2" && !strings.HasSuffix(to, "daemon.log"):
			t.Errorf("descriptor %s is %s", n, to)
		case strings.HasPrefix(to, "pipe:"):
			t.Errorf("a pipe of the parent's is open: %s", fd)
		}
	}
}

func TestConnectFails(t *testing.T) {
	work := home(t)
	start, starts := spawner(t, "broken")
	_, err := Connect(t.Context(), work, "b1", start)
	if err == nil || !strings.Contains(err.Error(), "exit status 4; its log is ") || *starts != 1 {
		t.Errorf("a daemon that cannot start: %v after %d starts", err, *starts)
	}
	_, err = Connect(t.Context(), work, "b1", func() (<-chan error, error) {
		return Spawn(Program{Exe: work + "/none", Log: work + "/log"})
	})
	if err == nil || !strings.Contains(err.Error(), "start the daemon for "+work) {
		t.Errorf("no program: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err = Connect(ctx, work, "b1", func() (<-chan error, error) { cancel(); return make(chan error), nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestConnectWaits(t *testing.T) {
	work := home(t)
	synctest.Test(t, func(t *testing.T) {
		begin, starts := time.Now(), 0
		_, err := Connect(t.Context(), work, "b1", func() (<-chan error, error) { starts++; return make(chan error), nil })
		if err == nil || !strings.Contains(err.Error(), "within ten seconds") || starts != 1 || time.Since(begin) != startTime {
			t.Errorf("%v after %v and %d starts", err, time.Since(begin), starts)
		}
		// A daemon that finds another, which then ends too, is started again.
		starts = 0
		_, err = Connect(t.Context(), work, "b1", func() (<-chan error, error) {
			ended := make(chan error, 1)
			if starts++; starts < 3 {
				ended <- nil
			} else {
				ended <- errors.New("enough")
			}
			return ended, nil
		})
		if err == nil || !strings.Contains(err.Error(), "enough") {
			t.Errorf("%v after %d starts", err, starts)
		}
	})
}

func TestBuild(t *testing.T) {
	one, err := Build()
	if err != nil || len(one) != 16 {
		t.Fatalf("%q, %v", one, err)
	}
	if two, _ := build(); two != one {
		t.Errorf("one program, two builds: %s, %s", one, two)
	}
}
