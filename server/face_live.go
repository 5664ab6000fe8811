package server

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"tandem/agent"
	"tandem/protocol"
	"tandem/server/face"
)

// live is what is drawn in an editor as it happens: diagnostics, the progress of sessions, whose
// turn it is, and that lenses shall be asked for again. It follows the sessions of the client's
// folders by itself: a stock editor attaches to none.
type live struct {
	client *client
	wake   chan struct{} // holds one: that there is something to draw
	once   sync.Once

	mu      sync.Mutex
	follows map[string]*onlooker // by the session's id
	seen    map[face.Change]bool // changes that the developer has looked at
	tokens  map[protocol.ProgressToken]string
	lenses  bool // they have to be asked for again

	// What stands in the editor; run alone reads and writes it.
	published map[string][]protocol.Diagnostic
	works     map[string]*showing
	said      map[string]string // by the session's id: whose turn it is
	count     int               // of progresses
	mute      bool              // the editor does not answer: it is not asked to refresh any more
}

// showing is a progress that stands in the editor.
type showing struct {
	token   protocol.ProgressToken
	message string
	refused bool
}

// patience is how long an editor may take to answer a request of the face.
const patience = 10 * time.Second

func newLive(c *client) *live {
	return &live{client: c, wake: make(chan struct{}, 1), follows: map[string]*onlooker{}, seen: map[face.Change]bool{},
		tokens: map[protocol.ProgressToken]string{}, published: map[string][]protocol.Diagnostic{}, works: map[string]*showing{}, said: map[string]string{}}
}

// begin draws from now on, in a client that can draw something.
func (l *live) begin() {
	c := l.client
	if !l.draws() || c.registry.enter() != nil {
		return
	}
	defer c.registry.busy.Done()
	l.once.Do(func() { c.registry.busy.Go(l.run) })
}

func (l *live) draws() bool {
	caps := l.client.capabilities()
	return caps.TextDocument.Diagnostics != nil || caps.Window.WorkDoneProgress || caps.Workspace.CodeLens.RefreshSupport
}

// run draws until the client has gone, or the daemon ends.
func (l *live) run() {
	r := l.client.registry
	r.watch(l)
	defer func() {
		r.unwatch(l)
		l.leave()
	}()
	l.remember()
	for second := time.Duration(0); ; {
		var tick <-chan time.Time
		if second > 0 {
			tick = time.After(second)
		}
		select {
		case <-l.client.conn.Done():
			return
		case <-r.ctx.Done():
			return
		case <-l.wake:
		case <-tick:
			l.again(true)
		}
		second = l.draw(r.ctx)
	}
}

// remember sets going the newest session of a folder in which none runs, if it was not finished:
// what it waits for is shown as if the editor had never been closed.
func (l *live) remember() {
	c := l.client
	for _, dir := range c.folders() {
		if len(c.registry.runningIn(dir)) > 0 {
			continue
		}
		listed, err := c.registry.List(dir)
		if err != nil || len(listed) == 0 {
			continue
		}
		var newest protocol.Session
		if json.Unmarshal(listed[0].View, &newest) != nil || newest.Mode == protocol.Done || len(newest.Actions) == 0 {
			continue
		}
		if _, err := c.registry.Find(newest.ID); err != nil {
			c.registry.log.Debug("a session is not shown", zap.String("session", newest.ID), zap.Error(err))
		}
	}
	l.again(true)
}

// again says that there is something to draw.
func (l *live) again(lenses bool) {
	l.mu.Lock()
	l.lenses = l.lenses || lenses
	l.mu.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// look notes that the developer has looked at a change.
func (l *live) look(at face.Change) {
	l.mu.Lock()
	l.seen[at] = true
	l.mu.Unlock()
	l.again(true)
}

func (l *live) looked(at face.Change) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen[at]
}

// shown is a session as the face shows it, with what was noted while it was followed.
func (l *live) shown(s *running, view protocol.Session) face.Session {
	l.mu.Lock()
	o := l.follows[s.id]
	l.mu.Unlock()
	out := face.Session{Session: view}
	if o != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		out.Conflicts, out.Steers = slices.Clone(o.conflicts), maps.Clone(o.steers)
	}
	return out
}

// draw brings the editor up to date, and says after which time it has to be done again though
// nothing happens; 0: not at all.
func (l *live) draw(ctx context.Context) time.Duration {
	l.adopt(ctx)
	var view face.View
	for _, dir := range l.client.folders() {
		view.Sessions = append(view.Sessions, l.client.view(dir).Sessions...)
	}
	caps := l.client.capabilities()
	if caps.TextDocument.Diagnostics != nil {
		l.publish(face.Diagnostics(view))
	}
	if l.client.stock() {
		l.turns(view)
	}
	if caps.Window.WorkDoneProgress {
		l.progress(ctx, view)
	}
	if !caps.Workspace.CodeLens.RefreshSupport {
		return 0
	}
	l.refresh(ctx)
	return face.NextLens(view)
}

// adopt follows the sessions that run in the client's folders from their first event on.
func (l *live) adopt(ctx context.Context) {
	c := l.client
	running := map[string]bool{}
	for _, dir := range c.folders() {
		for _, s := range c.registry.runningIn(dir) {
			running[s.id] = true
			l.mu.Lock()
			old := l.follows[s.id]
			l.mu.Unlock()
			if old != nil && old.s == s {
				continue
			}
			if err := l.follow(ctx, s); err != nil {
				c.registry.log.Debug("a session is not shown", zap.String("session", s.id), zap.Error(err))
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.follows, func(id string, _ *onlooker) bool { return !running[id] })
}

func (l *live) follow(ctx context.Context, s *running) error {
	o := &onlooker{live: l, s: s, steers: map[string]string{}}
	now, err := s.Attach(ctx, o)
	if err != nil {
		return err
	}
	l.mu.Lock()
	l.follows[s.id] = o
	l.mu.Unlock()
	return s.Follow(ctx, o, 0, now)
}

// leave ends what is followed.
func (l *live) leave() {
	l.mu.Lock()
	follows := slices.Collect(maps.Values(l.follows))
	clear(l.follows)
	l.mu.Unlock()
	for _, o := range follows {
		o.s.Detach(o)
	}
}

// publish sends the diagnostics of documents in which they have changed.
func (l *live) publish(want map[string][]protocol.Diagnostic) {
	for _, at := range slices.Sorted(maps.Keys(l.published)) {
		if len(want[at]) == 0 {
			l.notify(protocol.LSPPublishDiagnostics, protocol.PublishDiagnosticsParams{URI: protocol.DocumentURI(at), Diagnostics: []protocol.Diagnostic{}})
		}
	}
	for _, at := range slices.Sorted(maps.Keys(want)) {
		if !reflect.DeepEqual(want[at], l.published[at]) {
			l.notify(protocol.LSPPublishDiagnostics, protocol.PublishDiagnosticsParams{URI: protocol.DocumentURI(at), Diagnostics: want[at]})
		}
	}
	l.published = want
}

func (l *live) notify(method string, params any) {
	if err := l.client.conn.Notify(context.Background(), method, params); err != nil {
		l.client.registry.log.Debug("a client is not told", zap.String("method", method), zap.Error(err))
	}
}

// turns says once that it has become the developer's turn. That a session was done before this
// editor came is no news.
func (l *live) turns(v face.View) {
	for _, s := range v.Sessions {
		text, ok := face.Turn(s)
		old, known := l.said[s.ID]
		if ok && text != old && (known || s.Mode != protocol.Done) {
			l.client.show(protocol.MessageInfo, text)
		}
		l.said[s.ID] = text
	}
}

// progress shows what each session is at, while it is at work.
func (l *live) progress(ctx context.Context, v face.View) {
	at := map[string]bool{}
	for _, s := range v.Sessions {
		message, ok := face.Progress(s)
		if !ok {
			l.endWork(s.ID, face.ProgressEnd(s))
			continue
		}
		at[s.ID] = true
		l.report(ctx, s, message)
	}
	for _, id := range slices.Sorted(maps.Keys(l.works)) {
		if !at[id] { // it does not run here any more
			l.endWork(id, "")
		}
	}
}

func (l *live) report(ctx context.Context, s face.Session, message string) {
	w := l.works[s.ID]
	switch {
	case w == nil:
		l.beginWork(ctx, s, message)
	case !w.refused && w.message != message:
		w.message = message
		l.notify(protocol.LSPProgress, protocol.WorkDoneParams{Token: w.token, Value: protocol.WorkDone{Kind: protocol.WorkReport, Cancellable: true, Message: message}})
	}
}

// beginWork makes a progress and begins it. A token is used once: an editor may still show the
// end of the last.
func (l *live) beginWork(ctx context.Context, s face.Session, message string) {
	l.count++
	w := &showing{token: protocol.TextToken(fmt.Sprintf("tandem/%s/%d", s.ID, l.count)), message: message}
	l.works[s.ID] = w
	if err := l.call(ctx, protocol.LSPProgressCreate, protocol.ProgressTokenParams{Token: w.token}); err != nil {
		w.refused = true
		return
	}
	l.mu.Lock()
	l.tokens[w.token] = s.ID
	l.mu.Unlock()
	l.notify(protocol.LSPProgress, protocol.WorkDoneParams{Token: w.token, Value: protocol.WorkDone{Kind: protocol.WorkBegin,
		Title: face.ProgressTitle(s), Cancellable: true, Message: message}})
}

func (l *live) endWork(id, message string) {
	w := l.works[id]
	if w == nil {
		return
	}
	delete(l.works, id)
	l.mu.Lock()
	delete(l.tokens, w.token)
	l.mu.Unlock()
	if !w.refused {
		l.notify(protocol.LSPProgress, protocol.WorkDoneParams{Token: w.token, Value: protocol.WorkDone{Kind: protocol.WorkEnd, Message: message}})
	}
}

// refresh has the editor ask for its lenses again, if they may have changed. One that does not
// answer is not asked again.
func (l *live) refresh(ctx context.Context) {
	l.mu.Lock()
	due := l.lenses
	l.lenses = false
	l.mu.Unlock()
	if due && !l.mute {
		l.mute = l.call(ctx, protocol.LSPCodeLensRefresh, nil) != nil
	}
}

// call asks the editor something whose answer says nothing.
func (l *live) call(ctx context.Context, method string, params any) error {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	err := l.client.conn.Call(ctx, method, params, nil)
	if err != nil {
		l.client.registry.log.Debug("an editor does not do as asked", zap.String("method", method), zap.Error(err))
	}
	return err
}

// cancelProgress pauses the session whose progress the developer cancels.
func (c *client) cancelProgress(ctx context.Context, p protocol.ProgressTokenParams) (any, error) {
	c.live.mu.Lock()
	id, ok := c.live.tokens[p.Token]
	c.live.mu.Unlock()
	if !ok { // it has ended meanwhile
		return nil, nil
	}
	_, err := c.post(ctx, id, protocol.Request{}, agent.Pause{})
	c.tell(nil, err)
	return nil, err
}

// onlooker follows one session for an editor. It keeps what a session's view does not bear.
type onlooker struct {
	live *live
	s    *running

	mu        sync.Mutex
	revision  int
	conflicts []string
	steers    map[string]string
}

// Notify notes what the session tells. What streams, and what is counted, is not drawn.
func (o *onlooker) Notify(method string, params []byte) {
	var err error
	switch method {
	case protocol.NoteText, protocol.NoteUsage, protocol.NoteWatched:
		return
	case protocol.NotePlanChanged:
		err = o.planned(params)
	case protocol.NoteSteered:
		err = o.steered(params)
	}
	if err != nil {
		o.live.client.registry.log.Warn("a notification is not shown", zap.String("method", method), zap.Error(err))
	}
	o.live.again(method != protocol.NoteProgress && method != protocol.NoteSteered)
}

// planned keeps the conflicts of a new revision; what a step comes to within one leaves them.
func (o *onlooker) planned(params []byte) error {
	var p protocol.PlanChangedParams
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if p.Plan.Revision != o.revision {
		o.revision, o.conflicts = p.Plan.Revision, p.Conflicts
	}
	return nil
}

func (o *onlooker) steered(params []byte) error {
	var p protocol.SteeredParams
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.steers[p.Steer.ID] = p.Steer.Text
	return nil
}
