package server

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"tandem/agent"
	"tandem/agent/session"
	"tandem/protocol"
	"tandem/server/document"
	"tandem/server/face"
	"tandem/server/rpc"
)

// The face: what any LSP editor gets without a plugin. What is shown, and in which words, is the
// business of server/face; here is where it comes from and whereto it goes.

// codeAction answers the light bulb. A client that knows no literals gets bare commands.
func (c *client) codeAction(ctx context.Context, p protocol.CodeActionParams) (any, error) {
	actions := protocol.List[protocol.CodeAction]{}
	if doc, ok := c.document(string(p.TextDocument.URI)); ok {
		start, end := document.Span(doc.text, p.Range, doc.units)
		lines := c.blamed(ctx, &doc, &p.Range)
		actions = face.Actions(doc.view, face.Place{URI: doc.uri, Range: p.Range, At: start, Selected: doc.text[start:end], Text: doc.text,
			Units: doc.measure, Lines: lines, Only: p.Context.Only})
	}
	if c.capabilities().TextDocument.CodeAction.Literals != nil {
		return actions, nil
	}
	commands := protocol.List[protocol.Command]{}
	for _, a := range actions {
		commands = append(commands, *a.Command)
	}
	return commands, nil
}

func (c *client) codeLens(ctx context.Context, p protocol.CodeLensParams) (protocol.List[protocol.CodeLens], error) {
	doc, ok := c.document(string(p.TextDocument.URI))
	if !ok {
		return nil, nil
	}
	fresh := slices.DeleteFunc(c.blamed(ctx, &doc, nil), func(l face.Line) bool {
		return c.live.looked(face.Change{URI: doc.uri, SessionID: doc.view.Sessions[l.Session].ID, OperationID: l.OperationID})
	})
	return face.Lenses(doc.view, doc.uri, fresh), nil
}

// hover answers null where the agent wrote nothing.
func (c *client) hover(ctx context.Context, p protocol.HoverParams) (*protocol.Hover, error) {
	doc, ok := c.document(string(p.TextDocument.URI))
	if !ok {
		return nil, nil
	}
	for _, l := range c.agentsLines(ctx, doc.uri, &protocol.Range{Start: p.Position, End: p.Position}) {
		if i, ok := c.sessionOf(&doc.view, l.SessionID); ok && (face.Line{BlamedLines: l}).Holds(p.Position.Line) {
			h := face.Hover(doc.view, face.Line{BlamedLines: l, Session: i})
			return &h, nil
		}
	}
	return nil, nil
}

// sessionOf is the place in a view of a session that lines are from, with all that it did. One that
// does not run here is read.
func (c *client) sessionOf(v *face.View, id string) (int, bool) {
	i := slices.IndexFunc(v.Sessions, func(s face.Session) bool { return s.ID == id })
	if run, ok := c.registry.running(id); ok && i >= 0 {
		v.Sessions[i].Operations = run.Now().View().Operations
		return i, true
	}
	path, err := c.registry.onDisk(id)
	if err != nil {
		return 0, false
	}
	now, err := session.Load(path)
	if err != nil {
		c.registry.log.Warn("a session is not shown", zap.String("session", id), zap.Error(err))
		return 0, false
	}
	v.Sessions = append(v.Sessions, face.Session{Session: c.counted(now.View())})
	return len(v.Sessions) - 1, true
}

// executeCommand runs a command of the face: the request that it bears goes the way that it would
// have gone if the client had sent it.
func (c *client) executeCommand(ctx context.Context, p protocol.ExecuteCommandParams) (any, error) {
	switch p.Command {
	case face.Look:
		change, err := face.ReadChange(p.Arguments)
		if err == nil {
			c.live.look(change)
		}
		return nil, err
	case face.Do:
		result, err := c.do(ctx, p.Arguments)
		c.tell(result, err)
		return result, err
	}
	return nil, protocol.Errorf(protocol.InvalidParams, "command: this daemon runs %s; %q it does not know", strings.Join(face.Commands(), ", "), p.Command)
}

func (c *client) do(ctx context.Context, args []json.RawMessage) (any, error) {
	r, err := face.ReadRequest(args)
	if err != nil {
		return nil, err
	}
	handler, ok := c.handlers()[r.Method]
	if !ok {
		return nil, protocol.Errorf(protocol.InvalidParams, "arguments[0].method: this daemon does not answer %s", r.Method)
	}
	if r.Method == protocol.MethodStart && c.stock() { // it has no panel to be told for
		handler = rpc.Typed(c.startAlone)
	}
	if !slices.Contains(ordered, r.Method) { // as it does not wait its turn, nothing waits for it
		rpc.Release(ctx)
	}
	return handler(ctx, r.Params)
}

// startAlone starts a session that the client does not attach to: the face shows it.
func (c *client) startAlone(ctx context.Context, p protocol.StartParams) (protocol.SessionResult, error) {
	_, result, err := c.begun(ctx, p)
	return result, err
}

// tell shows a stock editor what a command came to: it draws no results, and few draw refusals.
func (c *client) tell(result any, err error) {
	if !c.stock() {
		return
	}
	if err != nil {
		c.show(protocol.MessageError, "Tandem: "+err.Error())
	} else if text := face.Result(result); text != "" {
		c.show(protocol.MessageInfo, text)
	}
}

func (c *client) show(kind protocol.MessageType, text string) {
	if err := c.conn.Notify(context.Background(), protocol.LSPShowMessage, protocol.ShowMessageParams{Type: kind, Message: c.registry.secrets.Text(text)}); err != nil {
		c.registry.log.Debug("a message is not shown", zap.Error(err))
	}
}

// editor is what initialize said of a client's program.
type editor struct {
	caps  protocol.ClientCapabilities
	asks  bool // it knows the command Ask
	stock bool // it knows nothing of Tandem: the face is all that it shows
}

func editorOf(p protocol.InitializeParams) editor {
	e := editor{caps: p.Capabilities, stock: true}
	if t := p.Options.Tandem; t != nil && t.Client != "" {
		e.stock, e.asks = false, t.Client == "vscode" || t.Client == "nvim"
	}
	return e
}

func (c *client) what() editor {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.editor
}

func (c *client) capabilities() protocol.ClientCapabilities { return c.what().caps }
func (c *client) stock() bool                               { return c.what().stock }

// initialized begins to draw: before it, an editor takes no requests.
func (c *client) initialized(context.Context, struct{}) (any, error) {
	c.live.begin()
	return nil, nil
}

// shown is a document with the sessions that are shown in it.
type shown struct {
	uri, text string // the URI is as the sessions spell it
	units     protocol.PositionEncoding
	view      face.View
}

// measure counts a piece of a line in the units of positions.
func (d shown) measure(piece string) int {
	return int(document.Position(piece, len(piece), d.units).Character)
}

// document is a document of the client's folders, as its editor has it, else as it is on disk.
// Others have no sessions, and nothing is shown in them.
func (c *client) document(at string) (shown, bool) {
	dir, path, ok := c.placeOf(at)
	if !ok {
		return shown{}, false
	}
	text, ok := c.textAt(protocol.DocumentURI(at))
	if !ok {
		return shown{}, false
	}
	rel, _ := filepath.Rel(dir, path) // placeOf has found it
	return shown{uri: agent.PathURI(folderURI(dir), filepath.ToSlash(rel)), text: text, units: c.encoding(), view: c.view(dir)}, true
}

// placeOf is the client's folder that a document lies in, the innermost one, and its real path.
func (c *client) placeOf(at string) (dir, path string, ok bool) {
	if path, ok = filePath(protocol.DocumentURI(at)); !ok {
		return "", "", false
	}
	for _, folder := range c.folders() {
		rel, err := filepath.Rel(folder, path)
		if err == nil && filepath.IsLocal(rel) && len(folder) > len(dir) {
			dir = folder
		}
	}
	return dir, path, dir != ""
}

// view is the sessions of a folder as they are now, newest first.
func (c *client) view(dir string) face.View {
	handlers := c.handlers()
	v := face.View{Can: func(method string) bool { return handlers[method] != nil }, Asks: c.what().asks, Now: time.Now(), Workspace: c.named(dir), Databases: databases(dir)}
	for _, s := range c.registry.runningIn(dir) {
		now := s.Now()
		v.Sessions = append(v.Sessions, c.live.shown(s, c.counted(now.State.ViewNow(now.Updated))))
	}
	return v
}

// mostDatabases is how many databases a query is offered for.
const mostDatabases = 3

// databases are the SQLite files that lie in a folder itself.
func databases(dir string) []string {
	var out []string
	for _, pattern := range []string{"*.db", "*.sqlite", "*.sqlite3"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil { // the folder's name is no pattern
			return nil
		}
		for _, f := range found {
			out = append(out, filepath.Base(f))
		}
	}
	slices.Sort(out)
	return out[:min(len(out), mostDatabases)]
}

// counted is a session with the positions that the client counts.
func (c *client) counted(s protocol.Session) protocol.Session {
	if c.encoding() == protocol.UTF16 { // as sessions count
		return s
	}
	raw, err := json.Marshal(s)
	if err == nil {
		var out protocol.Session
		if err = json.Unmarshal(c.outward(raw), &out); err == nil {
			return out
		}
	}
	c.registry.log.Warn("positions are shown in UTF-16", zap.String("session", s.ID), zap.Error(err))
	return s
}

// named is a folder as a start has to name it: not at all where it is the client's own.
func (c *client) named(dir string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if dir == c.dir {
		return ""
	}
	return folderURI(dir)
}

// blamed are the agent's lines in a document, or in a range of it, of the sessions that are shown,
// which then have all that they did.
func (c *client) blamed(ctx context.Context, doc *shown, in *protocol.Range) []face.Line {
	if len(doc.view.Sessions) == 0 {
		return nil
	}
	var out []face.Line
	for _, l := range c.agentsLines(ctx, doc.uri, in) {
		if i := slices.IndexFunc(doc.view.Sessions, func(s face.Session) bool { return s.ID == l.SessionID }); i >= 0 {
			out = append(out, face.Line{BlamedLines: l, Session: i})
		}
	}
	for i, s := range doc.view.Sessions {
		run, ok := c.registry.running(s.ID)
		if ok && slices.ContainsFunc(out, func(l face.Line) bool { return l.Session == i }) {
			doc.view.Sessions[i].Operations = run.Now().View().Operations // they bear no positions
		}
	}
	return out
}

// agentsLines are the lines that an agent wrote. Where it cannot be said whose they are, none is
// shown as the agent's.
func (c *client) agentsLines(ctx context.Context, uri string, in *protocol.Range) []protocol.BlamedLines {
	r, err := c.blame(ctx, protocol.BlameParams{URI: uri, Range: in})
	if err != nil {
		c.registry.log.Debug("nobody knows whose lines they are", zap.String("uri", uri), zap.Error(err))
		return nil
	}
	return r.Lines
}

// runningIn are the sessions of a workspace that run here, newest first.
func (r *Registry) runningIn(dir string) []*running {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*running
	for _, s := range r.open {
		select {
		case <-s.Done(): // it was given up
		default:
			if s.workspace == dir {
				out = append(out, s)
			}
		}
	}
	slices.SortFunc(out, func(a, b *running) int { return cmp.Compare(b.id, a.id) })
	return out
}

// watch has a face told of the sessions that begin to run.
func (r *Registry) watch(l *live) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faces[l] = struct{}{}
}

func (r *Registry) unwatch(l *live) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.faces, l)
}
