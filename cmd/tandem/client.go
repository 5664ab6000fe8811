package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tandem/protocol"
	"tandem/server"
	"tandem/server/rpc"
)

// note is a notification as it came.
type note struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// client is one connection to a daemon. What the daemon tells waits in notes until it is taken.
type client struct {
	conn  *rpc.Conn
	notes chan note
}

// told are the notifications that a client listens to.
var told = []string{
	protocol.NoteProgress, protocol.NoteText, protocol.NotePlanChanged, protocol.NoteDecision, protocol.NoteModeChanged,
	protocol.NoteSteered, protocol.NoteWatched, protocol.NoteScenarioRan, protocol.NoteFilesChanged, protocol.NoteUsage,
}

// connect speaks the protocol over rwc, as a client that works in dir and trusts it: that the
// developer started a command in a folder is their word for it.
func connect(ctx context.Context, rwc io.ReadWriteCloser, dir string) (*client, error) {
	c := &client{notes: make(chan note, 256)}
	c.conn = rpc.Serve(ctx, rwc, rpc.Options{Handlers: func(*rpc.Conn) map[string]rpc.Handler {
		handlers := map[string]rpc.Handler{}
		for _, method := range told {
			handlers[method] = c.take(method)
		}
		return handlers
	}})
	trusted := true
	hello := protocol.InitializeParams{
		RootURI: protocol.DocumentURI(folderURI(dir)),
		Options: protocol.InitializationOptions{Tandem: &protocol.TandemOptions{Trusted: &trusted, Client: "terminal"}},
		ClientInfo: &protocol.ClientInfo{
			Name: "tandem", Version: server.Version,
		},
	}
	if err := c.call(ctx, protocol.LSPInitialize, hello, nil); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// take keeps a notification for whoever reads the notes.
func (c *client) take(method string) rpc.Handler {
	return func(ctx context.Context, params json.RawMessage) (any, error) {
		select {
		case c.notes <- note{method, params}:
		case <-ctx.Done():
		}
		return nil, nil
	}
}

// close ends the connection; the daemon and its sessions go on.
func (c *client) close() {
	c.conn.Close()
	for {
		select {
		case <-c.notes: // nobody reads them any more, and a handler may wait
		case <-c.conn.Done():
			return
		}
	}
}

// refusal is the daemon's no, in its own words.
type refusal struct {
	code int
	text string
}

func (r *refusal) Error() string { return r.text }

// call asks the daemon. Its refusal comes back as a *refusal.
func (c *client) call(ctx context.Context, method string, params, result any) error {
	err := c.conn.Call(ctx, method, params, result)
	if refused := (*rpc.RefusedError)(nil); errors.As(err, &refused) {
		return &refusal{refused.Code, refused.Message}
	}
	if errors.Is(err, rpc.ErrClosed) {
		return errors.New("the daemon went away; the session is kept, ask again to go on with it")
	}
	return err
}

// ask is call with a typed result.
func ask[R any](ctx context.Context, c *client, method string, params any) (R, error) {
	var result R
	err := c.call(ctx, method, params, &result)
	return result, err
}

// folderURI is a folder as the wire names it.
func folderURI(dir string) string {
	path := filepath.ToSlash(filepath.Clean(dir))
	if !strings.HasPrefix(path, "/") { // a drive of Windows
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// folderOf is the folder that the wire names.
func folderOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return uri // it is compared and shown, never opened
	}
	path := u.Path
	if len(path) > 2 && path[2] == ':' {
		path = path[1:]
	}
	return filepath.FromSlash(path)
}

// place is what every command that talks to a daemon can be told.
type place struct {
	Workspace string `help:"The workspace's folder; to start a command here means to trust it." default:"." type:"existingdir" placeholder:"DIR"`
	JSON      bool   `help:"Print JSON for programs."`
}

// dir is the real path of the workspace.
func (p place) dir() (string, error) {
	abs, err := filepath.Abs(p.Workspace)
	if err != nil {
		return "", fmt.Errorf("workspace %s: %w", p.Workspace, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("workspace %s: %w", p.Workspace, err)
	}
	return real, nil
}

// with connects to the workspace's daemon, which it starts when none runs, and does f.
func (p place) with(ctx context.Context, f func(c *client, dir string) error) error {
	dir, err := p.dir()
	if err != nil {
		return err
	}
	conn, err := dial(ctx, dir)
	if err != nil {
		return err
	}
	c, err := connect(ctx, conn, dir)
	if err != nil {
		return err
	}
	defer c.close()
	return f(c, dir)
}

// withSession connects to the daemon of the workspace that a session works in, and does f. The
// id "" means the session that a developer most likely means here.
func (p place) withSession(ctx context.Context, id string, alive bool, f func(c *client, s protocol.Session) error) error {
	var elsewhere string
	err := p.with(ctx, func(c *client, dir string) error {
		s, err := find(ctx, c, dir, id, alive)
		if err != nil {
			return err
		}
		if at := folderOf(s.Workspace); at != dir {
			elsewhere = at
			return nil
		}
		return f(c, s)
	})
	if err != nil || elsewhere == "" {
		return err
	}
	p.Workspace = elsewhere
	return p.with(ctx, func(c *client, dir string) error {
		s, err := find(ctx, c, dir, id, alive)
		if err != nil {
			return err
		}
		return f(c, s)
	})
}

// sessions are those of a workspace, newest first.
func sessions(ctx context.Context, c *client, dir string) ([]protocol.Session, error) {
	var at string
	if dir != "" {
		at = folderURI(dir)
	}
	list, err := ask[protocol.ListResult](ctx, c, protocol.MethodList, protocol.ListParams{Workspace: at})
	return list.Sessions, err
}

// find is the session with an id, or with "" the one that a developer most likely means.
func find(ctx context.Context, c *client, dir, id string, alive bool) (protocol.Session, error) {
	if id != "" {
		dir = "" // a session may be asked for from elsewhere
	}
	list, err := sessions(ctx, c, dir)
	if err != nil {
		return protocol.Session{}, err
	}
	if id == "" {
		return meant(list, alive)
	}
	for _, s := range list {
		if s.ID == id {
			return s, nil
		}
	}
	return protocol.Session{}, &refusal{protocol.CodeNoSuchSession, fmt.Sprintf("there is no session %q; tandem sessions --all lists them", id)}
}

// meant is the newest session that is not done; else the newest that has not ended; else, unless
// it has to be alive, the newest.
func meant(list []protocol.Session, alive bool) (protocol.Session, error) {
	for _, s := range list {
		if s.Mode != protocol.Done {
			return s, nil
		}
	}
	for _, s := range list {
		if !alive || !ended(s) {
			return s, nil
		}
	}
	if len(list) > 0 {
		return protocol.Session{}, errors.New(`every session of this workspace has ended; start one with: tandem run "TASK"`)
	}
	return protocol.Session{}, errors.New(`this workspace has no session; start one with: tandem run "TASK"`)
}

// ended says that nothing can be done with a session any more.
func ended(s protocol.Session) bool { return len(s.Actions) == 0 }

// relative is a file of the wire as a person in the workspace names it.
func relative(workspace, file string) string {
	if rest, ok := strings.CutPrefix(file, strings.TrimSuffix(workspace, "/")+"/"); ok {
		if plain, err := url.PathUnescape(rest); err == nil {
			return plain
		}
	}
	if strings.HasPrefix(file, "file:") {
		return folderOf(file)
	}
	return file
}

// short is a path that begins with the home folder, as people write it.
func short(path string) string {
	home, err := os.UserHomeDir()
	if rest, ok := strings.CutPrefix(path, home+string(filepath.Separator)); ok && err == nil {
		return filepath.Join("~", rest)
	}
	return path
}

// clock is a time as it stands in a list.
func clock(at time.Time) string { return at.Local().Format("2006-01-02 15:04") }
