package command

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// The tests here hold public reports of faults in coding agents, as the table in package server
// lists them.

// Reports B050, B051 and B055: neither much text, nor noise, nor many commands with much output
// make the daemon grow with what they print.
func TestReportOutputDoesNotGrowTheDaemon(t *testing.T) {
	for _, tc := range []struct {
		name, line string
		times      int
		says       string
	}{
		{"text", "yes 0123456789abcdef0123456789abcdef | head -c 40000000; echo; echo end", 1, "\nend\n"},
		{"noise", "head -c 10000000 /dev/urandom", 1, "[binary output, 10000000 bytes]\n"},
		{"many", "head -c 5000000 /dev/zero | tr '\\0' x; echo; echo end", 5, "\nend\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var results []Result
			before := heap()
			for range tc.times {
				r := run(t, tc.line)
				if r.ExitCode != 0 || !strings.HasSuffix(r.Output, tc.says) || len(r.Output) > headSize+tailSize+200 {
					t.Fatalf("exit %d, %d bytes, shown %d: %.80q", r.ExitCode, r.Bytes, len(r.Output), r.Output)
				}
				results = append(results, r)
			}
			if grown := heap() - before; grown > 8<<20 {
				t.Errorf("%d results made the heap grow by %d bytes", len(results), grown)
			}
		})
	}
}

// heap is what the heap has taken from the system so far: its highest mark.
func heap() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapSys)
}

// Report B053: what a nested program draws over and over again is a few lines for the model.
func TestReportTerminalCodes(t *testing.T) {
	r := run(t, `awk 'BEGIN { for (i = 0; i < 200000; i++) printf "\r\033[2K%d%%", i; print "" }'`)
	if r.ExitCode != 0 || len(r.Output) > 2<<10 || strings.ContainsAny(r.Output, "\x1b\r") || !strings.Contains(r.Output, "199999%") {
		t.Errorf("exit %d, %d bytes: %.100q", r.ExitCode, len(r.Output), r.Output)
	}
}

// Report B054: pagers show all and wait for no key; bytes that are no text are named or replaced.
func TestReportPagersAndBytes(t *testing.T) {
	for _, tc := range []struct{ line, says string }{
		{`git -c init.defaultBranch=m init -q . && git -c user.name=n -c user.email=e commit -q --allow-empty -m first && git -c core.pager= log --format=%s; $PAGER /dev/null; echo "$TERM"`, "first\ndumb\n"},
		{`git init -q . && git -c user.name=n -c user.email=e commit -q --allow-empty -m paged && git --paginate log --format=%s`, "paged\n"},
		{`head -c 4096 /dev/urandom`, "[binary output, 4096 bytes]\n"},
		{`printf 'caf\351\n'`, "caf\ufffd\n"},
	} {
		r := run(t, tc.line)
		if r.ExitCode != 0 || r.Output != tc.says || !utf8.ValidString(r.Output) || r.Duration > 2*time.Second {
			t.Errorf("%s: %+v", tc.line, r)
		}
	}
}

// Report B043: a server that wants a login is refused quickly, with words that say so.
func TestReportCloneThatWantsALogin(t *testing.T) {
	asked := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	r := run(t, fmt.Sprintf("git -c credential.helper= clone -q %s/x", server.URL))
	if r.ExitCode == 0 || !strings.Contains(r.Output, "terminal prompts disabled") || r.Duration > 5*time.Second {
		t.Errorf("%+v", r)
	}
	if len(asked) == 0 {
		t.Error("the server was not asked")
	}
}

// Report B046: what a server that was left behind would have written is nobody's: it is gone when
// the call is over, and lets its port go.
func TestReportAServerInTheBackgroundLetsGo(t *testing.T) {
	dir := t.TempDir()
	word := fifo(t, dir)
	c := start(t, Spec{Line: "(echo $(exec sh -c 'echo $PPID') > fifo; while :; do echo x; sleep 0.02; done) & sleep 0.2; echo FG", Dir: dir}, nil)
	pid := atoi(t, word())
	r := await(t, c)
	if r.ExitCode != 0 || !strings.Contains(r.Output, "FG\n") || len(r.Leftovers) == 0 || r.Duration > 2*time.Second {
		t.Errorf("%+v", r)
	}
	if !gone(pid) {
		t.Error("it writes on")
	}
}
