// Package server is the daemon's face: connections, requests and what they post to sessions,
// and the registry of sessions. It decides nothing: a request is decoded, posted to its session,
// and answered with what came of it.
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"go.lsp.dev/uri"
	"go.uber.org/zap"

	"tandem/agent"
	"tandem/agent/session"
	"tandem/protocol"
	"tandem/server/face"
	"tandem/server/rpc"
)

// Version is what the daemon says of itself; the linker may set it.
var Version = "0.1.0"

// ordered are the requests that are begun in the order in which they came: those that change a
// session, and those whose answer says where it stands.
var ordered = []string{
	protocol.MethodStart, protocol.MethodAttach, protocol.MethodDetach, protocol.MethodEnd, protocol.MethodPlan,
	protocol.MethodSteer, protocol.MethodWithdraw, protocol.MethodReplan, protocol.MethodPause, protocol.MethodDecide,
	protocol.MethodResume, protocol.MethodAutonomy, protocol.MethodRevert, protocol.LSPExecuteCommand,
	protocol.MethodCheckIn, protocol.MethodAsk, protocol.MethodWatch, protocol.MethodScenarioRun,
}

// Serve serves one client over rwc until it goes away or ctx ends. It returns at once.
func (r *Registry) Serve(ctx context.Context, rwc io.ReadWriteCloser) *rpc.Conn {
	c := &client{registry: r, can: ableTo(protocol.ClientCapabilities{}), open: map[protocol.DocumentURI]*opened{}}
	c.live = newLive(c)
	conn := rpc.Serve(ctx, rwc, rpc.Options{Ordered: ordered, Log: r.log, Handlers: func(conn *rpc.Conn) map[string]rpc.Handler {
		c.conn = conn
		all := c.handlers()
		for method, h := range all {
			all[method] = r.discreet(h)
		}
		return all
	}})
	go func() { // sessions that it follows are given up with the connection
		<-conn.Done()
		c.leave()
	}()
	return conn
}

// client is one connection: an editor, or the terminal.
type client struct {
	registry *Registry
	conn     *rpc.Conn

	mu      sync.Mutex
	dir     string   // the workspace that a request means which names none: the first folder
	roots   []string // the folders that it has open
	trusted []string // those of them that initialize named, where it trusts them
	name    string
	follows []*running
	editor  editor
	can     abilities
	open    map[protocol.DocumentURI]*opened

	live *live
}

func (c *client) handlers() map[string]rpc.Handler {
	return map[string]rpc.Handler{
		protocol.LSPInitialize:     rpc.Typed(c.initialize),
		protocol.LSPInitialized:    rpc.Typed(c.initialized),
		protocol.LSPShutdown:       rpc.Typed(nothing),
		protocol.LSPExit:           rpc.Typed(c.exit),
		protocol.MethodStart:       rpc.Typed(c.start),
		protocol.MethodList:        rpc.Typed(c.list),
		protocol.MethodAttach:      rpc.Typed(c.attach),
		protocol.MethodDetach:      rpc.Typed(c.detach),
		protocol.MethodEnd:         rpc.Typed(c.end),
		protocol.MethodPlan:        rpc.Typed(c.plan),
		protocol.MethodSteer:       rpc.Typed(c.steer),
		protocol.MethodWithdraw:    rpc.Typed(c.withdraw),
		protocol.MethodReplan:      rpc.Typed(c.replan),
		protocol.MethodPause:       rpc.Typed(c.pause),
		protocol.MethodDecide:      rpc.Typed(c.decide),
		protocol.MethodResume:      rpc.Typed(c.resume),
		protocol.MethodAutonomy:    rpc.Typed(c.autonomy),
		protocol.MethodHistory:     rpc.Typed(c.history),
		protocol.MethodRevert:      rpc.Typed(c.revert),
		protocol.MethodCheckIn:     rpc.Typed(c.checkIn),
		protocol.MethodAsk:         rpc.Typed(c.ask),
		protocol.MethodWatch:       rpc.Typed(c.watch),
		protocol.MethodScenarioRun: rpc.Typed(c.scenarioRun),
		protocol.MethodBlame:       rpc.Typed(c.blame),

		protocol.LSPDidOpen:          rpc.Typed(c.didOpen),
		protocol.LSPDidChange:        rpc.Typed(c.didChange),
		protocol.LSPDidSave:          rpc.Typed(c.didSave),
		protocol.LSPDidClose:         rpc.Typed(c.didClose),
		protocol.LSPDidChangeFolders: rpc.Typed(c.didChangeFolders),

		protocol.LSPCodeAction:     rpc.Typed(c.codeAction),
		protocol.LSPCodeLens:       rpc.Typed(c.codeLens),
		protocol.LSPHover:          rpc.Typed(c.hover),
		protocol.LSPExecuteCommand: rpc.Typed(c.executeCommand),
		protocol.LSPProgressCancel: rpc.Typed(c.cancelProgress),
	}
}

func nothing(context.Context, struct{}) (any, error) { return nil, nil }

func (c *client) exit(context.Context, struct{}) (any, error) {
	c.leave()
	c.conn.Close()
	return nil, nil
}

// Notify tells the client one thing. The connection queues it; a client that does not read is
// dropped by the connection, and can attach again from where it was.
func (c *client) Notify(method string, params []byte) {
	if err := c.conn.Notify(context.Background(), method, rawParams(c.outward(params))); err != nil {
		c.registry.log.Debug("a client is not told", zap.String("method", method), zap.Error(err))
	}
}

// rawParams are params that are encoded already.
type rawParams []byte

// MarshalJSON is the params as they are.
func (p rawParams) MarshalJSON() ([]byte, error) { return p, nil }

func (c *client) initialize(_ context.Context, p protocol.InitializeParams) (protocol.InitializeResult, error) {
	dir, err := workspaceOf(p)
	if err != nil {
		return protocol.InitializeResult{}, protocol.Errorf(protocol.InvalidParams, "rootUri: %v", err)
	}
	c.mu.Lock()
	c.dir, c.name = dir, "editor"
	c.editor, c.can = editorOf(p), ableTo(p.Capabilities)
	c.roots, c.trusted = rootsOf(dir, p.WorkspaceFolders), nil
	if p.ClientInfo != nil {
		c.name = p.ClientInfo.Name
	}
	if o := p.Options.Tandem; o != nil {
		if o.Trusted != nil && *o.Trusted {
			c.trusted = slices.Clone(c.roots)
		}
		if o.Client != "" {
			c.name = o.Client
		}
	}
	encoding := c.can.encoding
	c.mu.Unlock()
	return protocol.InitializeResult{
		ServerInfo: &protocol.ServerInfo{Name: "tandem", Version: Version},
		Capabilities: protocol.ServerCapabilities{
			PositionEncoding: encoding,
			TextDocumentSync: &protocol.SyncOptions{OpenClose: true, Change: protocol.SyncIncremental, Save: &protocol.SaveOptions{}},
			Workspace:        &protocol.WorkspaceOffer{Folders: protocol.FoldersOffer{Supported: true, ChangeNotifications: true}},
			HoverProvider:    true,
			CodeAction:       &protocol.CodeActionOptions{Kinds: []protocol.CodeActionKind{protocol.QuickFix, protocol.Refactor}},
			CodeLens:         &protocol.CodeLensOptions{},
			ExecuteCommand:   &protocol.ExecuteCommandOptions{Commands: face.Commands()},
			Experimental:     &protocol.Experimental{Tandem: protocol.TandemOffer{Version: protocol.Version}},
		},
	}, nil
}

// workspaceOf is the folder that a client works in: the first that it has open. One that names
// none has none, and names one when it starts a session.
func workspaceOf(p protocol.InitializeParams) (string, error) {
	at := string(p.RootURI)
	if len(p.WorkspaceFolders) > 0 {
		at = string(p.WorkspaceFolders[0].URI)
	}
	if at == "" && p.RootPath != "" {
		return realFolder(p.RootPath)
	}
	if at == "" {
		return "", nil
	}
	return folderPath(at)
}

// folderPath is the real path of a folder that a file URI names.
func folderPath(at string) (string, error) {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "file" {
		return "", fmt.Errorf("%q is no file URI", at)
	}
	return realFolder(uri.URI(at).Filename())
}

func folderURI(dir string) string { return string(uri.File(filepath.Clean(dir))) }

// here is the workspace that a request means, and whether it is trusted: only those that
// the client has named at the start can be.
func (c *client) here(named string) (dir string, trusted bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if named == "" {
		if c.dir == "" {
			return "", false, protocol.Errorf(protocol.InvalidParams, "workspace: name a folder; initialize named none")
		}
		return c.dir, slices.Contains(c.trusted, c.dir), nil
	}
	dir, err = folderPath(named)
	if err != nil {
		return "", false, protocol.Errorf(protocol.InvalidParams, "workspace: %v", err)
	}
	return dir, slices.Contains(c.trusted, dir), nil
}

func (c *client) by() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.name
}

// follow makes the client follow a session from since on, once the request is answered. The
// snapshot is the session as it stood then.
func (c *client) follow(ctx context.Context, s *running, since *int64) (session.Snapshot, error) {
	c.joins(s)
	now, err := s.Attach(ctx, c)
	if err != nil {
		return session.Snapshot{}, err
	}
	from := now.State.Seq
	if since != nil {
		from = *since
	}
	rpc.After(ctx, func() {
		if err := s.Follow(context.WithoutCancel(ctx), c, from, now); err != nil {
			c.registry.log.Warn("a client cannot follow", zap.String("session", s.id), zap.Error(err))
		}
	})
	return now, nil
}

// joins notes that the client follows a session, and says whether that is new.
func (c *client) joins(s *running) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Contains(c.follows, s) {
		return false
	}
	c.follows = append(c.follows, s)
	return true
}

// leave ends what the client is told of sessions, and forgets its documents; the sessions go on.
func (c *client) leave() {
	c.mu.Lock()
	follows := c.follows
	c.follows = nil
	c.mu.Unlock()
	for _, s := range follows {
		s.Detach(c)
	}
	c.closeAll()
}

// post posts an input to a session and gives what came of it.
func (c *client) post(ctx context.Context, id string, r protocol.Request, in agent.Input) (session.Receipt, error) {
	var receipt session.Receipt
	err := c.on(id, func(s *running) (err error) {
		receipt, err = s.Post(ctx, requestKey(r), in)
		return err
	})
	if err == nil && !answers(receipt, in) {
		return session.Receipt{}, errKeyReused
	}
	return receipt, err
}

// on does something with a session; once more where it was given up just as the request came, and
// has to be opened again.
func (c *client) on(id string, do func(*running) error) error {
	s, err := c.session(id)
	if err != nil {
		return err
	}
	if err = do(s); !errors.Is(err, session.ErrEnded) {
		return err
	}
	if s, err = c.session(id); err != nil {
		return err
	}
	return do(s)
}

// errKeyReused refuses a request whose key bore another one: the first answer is none to this.
var errKeyReused = protocol.Errorf(protocol.InvalidParams, "requestKey: it was used for another request; give each its own")

// answers says that a receipt can be the answer to an input. One without events changed nothing.
func answers(r session.Receipt, in agent.Input) bool {
	return len(r.Events) == 0 || slices.ContainsFunc(r.Events, func(e agent.Event) bool {
		switch in.(type) {
		case agent.Steer:
			return is[agent.Steered](e)
		case agent.Withdraw:
			return is[agent.Withdrawn](e)
		case agent.Replan:
			return is[agent.Planned](e)
		case agent.RevertOf:
			return isRevert(e)
		case agent.Pause:
			return is[agent.Paused](e)
		case agent.Resume:
			return is[agent.Resumed](e)
		case agent.SetAutonomy:
			return is[agent.AutonomySet](e)
		case agent.CheckIn, agent.AskAside:
			return is[agent.AskedAside](e)
		case agent.AddWatch:
			return is[agent.Watched](e)
		case agent.RemoveWatch:
			return is[agent.Unwatched](e)
		case agent.RunScenario:
			return is[agent.ScenarioWanted](e)
		case agent.End:
			return is[agent.Ended](e)
		case agent.Decide:
			return is[agent.Decided](e) || is[agent.Stood](e) || is[agent.Overridden](e) || is[agent.QuestionAnswered](e)
		}
		return false
	})
}

func is[E agent.Event](e agent.Event) bool { _, ok := e.(E); return ok }

func (c *client) session(id string) (*running, error) {
	if strings.TrimSpace(id) == "" {
		return nil, protocol.Errorf(protocol.InvalidParams, "sessionId: which session? tandem/session/list lists them")
	}
	return c.registry.Find(id)
}
