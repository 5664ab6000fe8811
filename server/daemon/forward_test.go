//go:build unix

package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

func framed(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }

func initialize(params string) string {
	return framed(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":` + params + `}`)
}

func TestReadHello(t *testing.T) {
	note := framed(`{"jsonrpc":"2.0","method":"$/setTrace"}`)
	rows := []struct{ name, in, workspace, err string }{
		{"folders", initialize(`{"capabilities":{},"rootUri":"file:///x","workspaceFolders":[{"uri":"file:///w/a%20b%23%25","name":"a"},{"uri":"file:///z","name":"z"}]}`), "/w/a b#%", ""},
		{"root URI", initialize(`{"processId":null,"rootPath":"/p","rootUri":"file:///r","workspaceFolders":null,"capabilities":{}}`), "/r", ""},
		{"root path", initialize(`{"rootPath":"/p","rootUri":null,"capabilities":{}}`), "/p", ""},
		{"no folder", initialize(`{"rootUri":null,"capabilities":{}}`), "", ""},
		{"localhost", initialize(`{"rootUri":"FILE://localhost/w"}`), "/w", ""},
		{"drive", initialize(`{"rootUri":"file:///c%3A/w"}`), "c:/w", ""},
		{"after a note", note + initialize(`{"rootUri":"file:///w"}`), "/w", ""},
		{"lower case, LF", "content-length: 44\n\n" + `{"method":"initialize","params":{ "a": [] }}`, "", ""},
		{"what follows is left", initialize(`{"rootUri":"file:///w"}`) + note, "/w", ""},
		{"remote", initialize(`{"rootUri":"vscode-remote://ssh/w"}`), "", "not a folder of this machine"},
		{"wrong type", initialize(`{"rootUri":7}`), "", "cannot unmarshal number"},
		{"no header", `{"jsonrpc":"2.0","id":1,"method":"initialize"}` + "\n", "", "without a header"},
		{"no length", "A: b\r\n\r\n", "", `Content-Length is ""`},
		{"too long", "Content-Length: 99999999\r\n\r\n{", "", "more than an initialize has"},
		{"insane", "Content-Length: 99999999999\r\n\r\n{", "", "Content-Length is"},
		{"cut", initialize(`{}`)[:60], "", "EOF"},
		{"nothing", "", "", "EOF"},
	}
	for _, row := range rows {
		in := bufio.NewReader(strings.NewReader(row.in))
		h, err := ReadHello(in)
		if row.err != "" {
			if err == nil || !strings.Contains(err.Error(), row.err) {
				t.Errorf("%s: %v", row.name, err)
			}
			continue
		}
		if err != nil || h.Workspace != filepath.FromSlash(row.workspace) {
			t.Errorf("%s: %q, %v", row.name, h.Workspace, err)
		}
		rest, _ := io.ReadAll(in)
		if got := string(h.Frames) + string(rest); got != row.in && row.name != "lower case, LF" {
			t.Errorf("%s: %q was read, %q goes on", row.name, row.in, got)
		}
	}
}

// ends are those of a forwarding: what the editor, we and the daemon hold, and how it ended.
type ends struct {
	editor, client, daemon net.Conn
	over                   chan error
}

func forwarding(t *testing.T, ctx context.Context, hello string) ends {
	t.Helper()
	work := home(t)
	l, err := Listen(mustPath(t, work))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := Dial(t.Context(), mustPath(t, work))
	if err != nil {
		t.Fatal(err)
	}
	daemon, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	editor, client := net.Pipe()
	over := make(chan error, 1)
	go func() { over <- Forward(ctx, client, conn, []byte(hello)) }()
	t.Cleanup(func() { editor.Close(); client.Close(); daemon.Close() })
	got := make([]byte, len(hello))
	if _, err := io.ReadFull(daemon, got); err != nil || string(got) != hello {
		t.Fatalf("the daemon was greeted with %q, %v", got, err)
	}
	return ends{editor, client, daemon, over}
}

func say(t *testing.T, from, to net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(from, text); err != nil {
		t.Fatalf("say %.40q: %v", text, err)
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(to, got); err != nil || string(got) != text {
		t.Fatalf("said %.40q, heard %.40q, %v", text, got, err)
	}
}

func TestForward(t *testing.T) {
	exit := framed(`{"jsonrpc": "2.0", "method": "exit"}`)
	rows := []struct {
		name string
		end  func(*testing.T, ends)
		want error
	}{
		{"the editor closes", func(t *testing.T, e ends) {
			e.editor.Close()
			if _, err := e.daemon.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
				t.Errorf("the daemon is told %v", err)
			}
			e.daemon.Close()
		}, nil},
		{"the editor says exit", func(t *testing.T, e ends) { say(t, e.editor, e.daemon, exit); e.daemon.Close() }, nil},
		{"the daemon ends", func(t *testing.T, e ends) { e.daemon.Close() }, ErrEnded},
		{"the daemon ends, exit being talked of", func(t *testing.T, e ends) {
			say(t, e.editor, e.daemon, framed(`{"jsonrpc":"2.0","method":"tandem/steer","params":{"method":"exit"}}`))
			e.daemon.Close()
		}, ErrEnded},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			e := forwarding(t, t.Context(), initialize("{}"))
			say(t, e.daemon, e.editor, framed(`{"id":0,"result":{}}`))
			say(t, e.editor, e.daemon, framed("{}"))
			row.end(t, e)
			if err := <-e.over; !errors.Is(err, row.want) {
				t.Errorf("it ended with %v", err)
			}
			if _, err := e.editor.Read(make([]byte, 1)); err == nil {
				t.Error("the editor's end is still open")
			}
		})
	}
}

func TestForwardUnanswered(t *testing.T) {
	e := forwarding(t, t.Context(), initialize("{}"))
	e.daemon.Close()
	if err := <-e.over; !errors.Is(err, ErrUnanswered) {
		t.Errorf("it ended with %v", err)
	}
	// The client is untouched, for the next try: what the editor says waits to be read.
	go func() { _, _ = io.WriteString(e.editor, "x") }()
	got := make([]byte, 1)
	if _, err := io.ReadFull(e.client, got); err != nil || got[0] != 'x' {
		t.Errorf("the client gives %q, %v", got, err)
	}
}

func TestForwardCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	e := forwarding(t, ctx, initialize("{}"))
	say(t, e.daemon, e.editor, "hello")
	cancel()
	if err := <-e.over; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}

func TestStdio(t *testing.T) {
	stdin, editor := io.Pipe()
	out, stdout := io.Pipe()
	c := Stdio(stdin, stdout)
	go func() { _, _ = io.WriteString(editor, "hello") }()
	got := make([]byte, 5)
	if _, err := io.ReadFull(c, got); err != nil || string(got) != "hello" {
		t.Fatalf("read %q, %v", got, err)
	}
	go func() { _, _ = io.WriteString(c, "there") }()
	if _, err := io.ReadFull(out, got); err != nil || string(got) != "there" {
		t.Fatalf("written: %q, %v", got, err)
	}
	read := make(chan error)
	go func() {
		_, err := c.Read(got)
		read <- err
	}()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := <-read; err == nil {
		t.Error("a read went on after Close")
	}
	if _, err := out.Read(got); !errors.Is(err, io.EOF) {
		t.Errorf("the editor sees no end: %v", err)
	}
	editor.Close() // ends the last read of the input

	ended := Stdio(strings.NewReader("x"), stdout)
	if all, err := io.ReadAll(ended); err != nil || string(all) != "x" {
		t.Errorf("an input with an end: %q, %v", all, err)
	}
}
