package server

import (
	"context"
	"path/filepath"
	"slices"

	"go.uber.org/zap"

	"tandem/agent"
	"tandem/protocol"
	"tandem/server/document"
)

// What editors tell of their documents. These are notifications: nothing is answered, and what
// makes no sense is passed over. They come one at a time, in order.

// ableTo is what a client can do with documents. Bytes are counted where it can: they are what
// both sides have. Else UTF-16 is, which every client knows.
func ableTo(c protocol.ClientCapabilities) abilities {
	a := abilities{encoding: protocol.UTF16, edits: c.Workspace.ApplyEdit, versions: c.Workspace.WorkspaceEdit.DocumentChanges}
	if slices.Contains(c.General.PositionEncodings, protocol.UTF8) {
		a.encoding = protocol.UTF8
	}
	return a
}

func (c *client) didOpen(ctx context.Context, p protocol.DidOpenParams) (any, error) {
	d := p.TextDocument
	path, ok := filePath(d.URI)
	if !ok {
		return nil, nil
	}
	c.close(d.URI) // one that is opened twice was closed in between
	o := &opened{by: c, can: c.able(), path: path, gone: make(chan struct{}),
		Document: document.Document{URI: d.URI, Language: string(d.LanguageID), Version: d.Version, Text: d.Text}}
	saved := c.registry.documents.put(o)
	c.mu.Lock()
	c.open[d.URI] = o
	c.mu.Unlock()
	if !saved {
		c.registry.tellEdited(ctx, path, d.Text, false, c.by())
	}
	return nil, nil
}

func (c *client) didChange(ctx context.Context, p protocol.DidChangeParams) (any, error) {
	o := c.opened(p.TextDocument.URI)
	if o == nil {
		return nil, nil
	}
	docs := c.registry.documents
	now := docs.now(o).Changed(p.TextDocument.Version, p.Changes, o.can.encoding)
	if other, saved := docs.change(o, now); other {
		c.registry.tellEdited(ctx, o.path, now.Text, saved, c.by())
	}
	return nil, nil
}

func (c *client) didSave(_ context.Context, p protocol.DidSaveParams) (any, error) {
	if o := c.opened(p.TextDocument.URI); o != nil {
		c.registry.documents.wrote(o)
	}
	return nil, nil
}

func (c *client) didClose(ctx context.Context, p protocol.DidCloseParams) (any, error) {
	o, saved := c.close(p.TextDocument.URI)
	if o != nil && !saved {
		c.registry.tellDiscarded(ctx, o.path, o.Text, c.by())
	}
	return nil, nil
}

func (c *client) able() abilities {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.can
}

// opened is the client's own document of a URI, or of the same file in another spelling.
func (c *client) opened(at protocol.DocumentURI) *opened {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o := c.open[at]; o != nil {
		return o
	}
	path, ok := filePath(at)
	for _, o := range c.open {
		if ok && o.path == path {
			return o
		}
	}
	return nil
}

// close forgets the client's document of a URI, and says whether its text is on disk.
func (c *client) close(at protocol.DocumentURI) (o *opened, saved bool) {
	if o = c.opened(at); o == nil {
		return nil, false
	}
	c.mu.Lock()
	delete(c.open, o.URI)
	c.mu.Unlock()
	return o, c.registry.documents.drop(o)
}

// closeAll forgets every document of a client that has gone. What was not saved went with it, and
// what the agent reads from now on is the disk.
func (c *client) closeAll() {
	c.mu.Lock()
	all := c.open
	c.open = map[protocol.DocumentURI]*opened{}
	c.mu.Unlock()
	for _, o := range all {
		if !c.registry.documents.drop(o) {
			c.registry.tellDiscarded(context.Background(), o.path, o.Text, c.by())
		}
	}
}

// didChangeFolders follows which folders the client has open. One that it opens later is not
// trusted by its word of the start.
func (c *client) didChangeFolders(_ context.Context, p protocol.DidChangeFoldersParams) (any, error) {
	removed, added := rootsOf("", p.Event.Removed), rootsOf("", p.Event.Added)
	c.mu.Lock()
	defer c.mu.Unlock()
	gone := func(dir string) bool { return slices.Contains(removed, dir) }
	c.roots, c.trusted = slices.DeleteFunc(c.roots, gone), slices.DeleteFunc(c.trusted, gone)
	for _, dir := range added {
		if !slices.Contains(c.roots, dir) {
			c.roots = append(c.roots, dir)
		}
	}
	if !slices.Contains(c.roots, c.dir) {
		c.dir = ""
		if len(c.roots) > 0 {
			c.dir = c.roots[0]
		}
	}
	c.live.again(true) // other folders have other sessions
	return nil, nil
}

// rootsOf are the folders of a client that are on this machine, the one that it works in first.
func rootsOf(first string, folders []protocol.WorkspaceFolder) []string {
	var dirs []string
	if first != "" {
		dirs = append(dirs, first)
	}
	for _, f := range folders {
		dir, err := folderPath(string(f.URI))
		if err == nil && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// folders are those that the client works in.
func (c *client) folders() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.roots)
}

// encoding is the unit of the client's positions.
func (c *client) encoding() protocol.PositionEncoding { return c.able().encoding }

// tellEdited tells the sessions in whose workspace a file lies that its text is another now. Not
// told is what an agent has seen, such as an edit of its own that one editor saved and another
// read again; nor is what stands on disk while a command runs, which may have put it there.
func (r *Registry) tellEdited(ctx context.Context, path, text string, saved bool, by string) {
	r.tell(ctx, path, by, func(p *place, name string) bool {
		return !p.files.Knows(name, text) && !(saved && p.ledger.Busy())
	})
}

// tellDiscarded tells those whose agent has seen a text that went with its editor, unsaved.
func (r *Registry) tellDiscarded(ctx context.Context, path, text, by string) {
	r.tell(ctx, path, by, func(p *place, name string) bool { return p.files.Knows(name, text) })
}

func (r *Registry) tell(ctx context.Context, path, by string, news func(p *place, name string) bool) {
	if r.enter() != nil { // the daemon ends, and its sessions with it
		return
	}
	defer r.busy.Done()
	for _, s := range r.sessionsAt(path) {
		rel, err := filepath.Rel(s.workspace, path)
		name := filepath.ToSlash(rel)
		if err != nil || !news(s.place, name) {
			continue
		}
		if _, err := s.Post(ctx, "", agent.Edited{Path: name, By: by}); err != nil {
			r.log.Debug("an agent is not told of an edit", zap.String("session", s.id), zap.Error(err))
		}
	}
}

// working is a session that runs, with its place.
type working struct {
	*running
	place *place
}

// sessionsAt are the sessions that run in a workspace in which a file lies.
func (r *Registry) sessionsAt(path string) []working {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []working
	for _, s := range r.open {
		rel, err := filepath.Rel(s.workspace, path)
		if p := r.places[s.workspace]; err == nil && filepath.IsLocal(rel) && p != nil {
			out = append(out, working{s, p})
		}
	}
	return out
}
