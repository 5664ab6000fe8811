package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"tandem/agent"
	"tandem/agent/journal"
	"tandem/agent/model"
	"tandem/agent/secret"
	"tandem/agent/secretfile"
	"tandem/agent/session"
	"tandem/agent/workspace"
	"tandem/protocol"
	"tandem/server/config"
)

// Options of a registry.
type Options struct {
	// State is the folder that holds every session, as in $XDG_STATE_HOME/tandem.
	State string
	// Environ is the environment: of the configuration, of secrets, and of commands.
	Environ []string
	// Log may be nil.
	Log *zap.Logger
	// HTTP carries the questions to the model's server; nil is a transport of the client's own.
	HTTP http.RoundTripper
}

// Registry is the sessions of one daemon: those that run in it, and those that lie on disk.
type Registry struct {
	opts      Options
	log       *zap.Logger
	secrets   *secret.Redactor
	documents *documents
	blames    *blames

	ctx  context.Context // of what runs beside the requests
	end  context.CancelFunc
	busy sync.WaitGroup // what makes or opens sessions, and what runs beside the requests

	mu      sync.Mutex
	closed  bool // nothing is added to busy any more
	open    map[string]*running
	places  map[string]*place
	gone    []*place // whose folder was removed or replaced
	models  map[modelAt]*model.Client
	starts  map[string]*once // by the request's key
	opening map[string]*once // by the session's id
	listed  map[string]listing
	shelves map[string]*folderTurn // by the folder
	faces   map[*live]struct{}     // that draw what happens
}

// running is a session that runs in this process.
type running struct {
	*session.Session
	id, workspace string
	world         session.Workplace
}

// place is a workspace that sessions of this process work in.
type place struct {
	files       *workspace.Workspace
	ledger      *session.Ledger
	secretFiles *atomic.Pointer[secretfile.Rules] // those of the session that was opened last
}

// modelAt is what a client of a model's server is made of.
type modelAt struct {
	baseURL, key string
	idle         time.Duration
}

// once is a start with a key, or an opening: the same again waits for it and gets its answer.
type once struct {
	done    chan struct{}
	receipt session.Receipt
	run     *running
	err     error
}

// NewRegistry makes the registry of a state folder.
func NewRegistry(o Options) *Registry {
	log := o.Log
	if log == nil {
		log = zap.NewNop()
	}
	secrets := secret.New(o.Environ)
	log = log.WithOptions(zap.WrapCore(func(c zapcore.Core) zapcore.Core { return discreetCore{c, secrets} }))
	ctx, end := context.WithCancel(context.Background())
	return &Registry{opts: o, log: log, secrets: secrets, documents: newDocuments(), blames: newBlames(), ctx: ctx, end: end,
		open: map[string]*running{}, places: map[string]*place{}, models: map[modelAt]*model.Client{},
		starts: map[string]*once{}, opening: map[string]*once{}, listed: map[string]listing{}, shelves: map[string]*folderTurn{},
		faces: map[*live]struct{}{}}
}

// StateFolder is the folder for sessions that the environment names.
func StateFolder(getenv func(string) string) string {
	base := getenv("XDG_STATE_HOME")
	if base == "" {
		base = filepath.Join(getenv("HOME"), ".local", "state")
	}
	return filepath.Join(base, "tandem")
}

func (r *Registry) getenv(name string) string {
	for _, e := range slices.Backward(r.opts.Environ) {
		if value, ok := strings.CutPrefix(e, name+"="); ok {
			return value
		}
	}
	return ""
}

// Close ends what runs in every session and closes them; each can be opened again, by another
// registry.
func (r *Registry) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.end()
	r.busy.Wait()
	var errs []error
	var closing sync.WaitGroup
	for _, s := range r.open { // side by side: each may have commands that take their time to end
		closing.Go(func() {
			err := s.Close()
			r.mu.Lock()
			errs = append(errs, err)
			r.mu.Unlock()
		})
	}
	closing.Wait()
	r.shelve(slices.Collect(maps.Values(r.open)))
	for _, m := range r.models {
		m.Close()
	}
	for _, p := range append(r.gone, slices.Collect(maps.Values(r.places))...) {
		errs = append(errs, p.files.Close())
	}
	for _, dir := range slices.Sorted(maps.Keys(r.places)) {
		r.prune(dir)
	}
	clear(r.open)
	clear(r.models)
	clear(r.places)
	return errors.Join(errs...)
}

// longestPrune bounds how long an end may take for the stores; the next one goes on.
const longestPrune = 5 * time.Second

// prune takes out of the store of a workspace what no session needs any more. It is done at the end,
// when nobody works with it here.
func (r *Registry) prune(dir string) {
	ctx, cancel := context.WithTimeout(context.Background(), longestPrune)
	defer cancel()
	entries, err := os.ReadDir(r.sessionsIn(dir))
	var journals []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), journalEnd) {
			journals = append(journals, filepath.Join(r.sessionsIn(dir), e.Name()))
		}
	}
	var done workspace.Pruned
	if err == nil {
		done, err = workspace.PruneStore(ctx, r.store(dir), journals, time.Now(), workspace.Kept)
	}
	switch {
	case err != nil && ctx.Err() == nil && !errors.Is(err, fs.ErrNotExist): // there was no session yet
		r.log.Warn("what no session needs any more stays", zap.Error(err))
	case done.Contents > 0:
		r.log.Info("removed what no session needs any more", zap.Int("contents", done.Contents), zap.Int64("bytes", done.Bytes))
	}
}

// enter has Close wait until what was entered calls busy.Done.
func (r *Registry) enter() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errors.New("this daemon is ending; start it anew and ask again")
	}
	r.busy.Add(1)
	return nil
}

// folder is where a workspace's sessions lie: named by its path, so that two never meet.
func (r *Registry) folder(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(r.opts.State, "workspaces", filepath.Base(dir)+"-"+hex.EncodeToString(sum[:6]))
}

func (r *Registry) store(dir string) string { return filepath.Join(r.folder(dir), "store") }

func (r *Registry) sessionsIn(dir string) string { return filepath.Join(r.folder(dir), "sessions") }

// configuration reads the configuration for a workspace; its own file only where it is trusted.
func (r *Registry) configuration(dir string, trusted bool) (config.Config, error) {
	s := config.Sources{Getenv: r.getenv, User: config.UserFile(r.getenv)}
	if trusted {
		s.Workspace = dir
	}
	cfg, err := config.Load(s)
	r.learn(cfg)
	return cfg, err
}

// Start starts a session in a workspace. With a key, the same start again gets the first answer,
// also from a later daemon.
func (r *Registry) Start(ctx context.Context, dir string, trusted bool, p protocol.StartParams, by string) (*running, session.Receipt, error) {
	if err := r.enter(); err != nil {
		return nil, session.Receipt{}, err
	}
	defer r.busy.Done()
	key := requestKey(p.Request)
	if key == "" {
		return r.start(ctx, dir, trusted, p, by, "")
	}
	o, first := r.first(r.starts, key)
	if !first {
		<-o.done
		return o.run, o.receipt, o.err
	}
	defer func() {
		if o.err != nil { // a start that was refused may be tried again
			r.forget(r.starts, key)
		}
		close(o.done)
	}()
	if id := r.startedWith(dir, key); id != "" {
		if o.run, o.err = r.find(id); o.err == nil {
			o.receipt, o.err = o.run.Post(ctx, key, agent.Start{}) // its key gives the first answer
		}
		return o.run, o.receipt, o.err
	}
	o.run, o.receipt, o.err = r.start(ctx, dir, trusted, p, by, key)
	return o.run, o.receipt, o.err
}

// first is the entry of a key, and says whether this is the first to ask for it.
func (r *Registry) first(of map[string]*once, key string) (*once, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o, ok := of[key]; ok {
		return o, false
	}
	o := &once{done: make(chan struct{}), err: errors.New("this went wrong inside Tandem; try again")}
	of[key] = o
	return o, true
}

func (r *Registry) forget(of map[string]*once, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(of, key)
}

// keyLives is how long the key of a start is known after the daemon that took it has ended.
const keyLives = 24 * time.Hour

// startedWith is the session in a workspace that an earlier daemon started with a key, or "".
func (r *Registry) startedWith(dir, key string) string {
	oldest := newID(time.Now().Add(-keyLives))
	for _, path := range slices.Backward(journalsIn(r.sessionsIn(dir))) {
		if idOf(path) < oldest {
			return ""
		}
		if session.StartKey(path) == key {
			return idOf(path)
		}
	}
	return ""
}

func (r *Registry) start(ctx context.Context, dir string, trusted bool, p protocol.StartParams, by, key string) (*running, session.Receipt, error) {
	cfg, err := r.configuration(dir, trusted)
	if err != nil {
		return nil, session.Receipt{}, err
	}
	if p.Model != "" {
		cfg.Model.Name = p.Model
	}
	if why := cfg.Model.Missing(); why != "" {
		return nil, session.Receipt{}, protocol.Errorf(protocol.ModelUnavailable, "%s", why)
	}
	world, err := r.world(dir, cfg)
	if err != nil {
		return nil, session.Receipt{}, err
	}
	instructions, err := r.instructions(ctx, world, trusted)
	if err != nil {
		return nil, session.Receipt{}, err
	}
	id := newID(time.Now())
	in := agent.Start{ID: id, Workspace: folderURI(dir), Task: p.Task, Autonomy: p.Autonomy, Model: cfg.Model.Name,
		Trusted: trusted, Context: p.Context, By: by, Instructions: instructions, Habits: r.habits(dir), Guards: guards(cfg, world.Guard, trusted)}
	if in.Autonomy == "" {
		in.Autonomy = cfg.Autonomy
	}
	s, receipt, err := session.Create(ctx, r.path(dir, id), key, in, r.options(dir, id, world))
	if err != nil {
		return nil, session.Receipt{}, err
	}
	return r.keep(&running{s, id, dir, world}), receipt, nil
}

// instructions are the workspace's own words to an agent, which count as the developer's: so
// only where the developer trusts it.
func (r *Registry) instructions(ctx context.Context, w session.Workplace, trusted bool) ([]agent.Instruction, error) {
	if !trusted {
		return nil, nil
	}
	found, err := w.Files.Instructions(ctx, ".")
	if err != nil {
		return nil, err
	}
	var out []agent.Instruction
	for _, i := range found {
		out = append(out, agent.Instruction{Path: i.Path, Text: i.Text})
	}
	return out, nil
}

// newID names a session: ids sort by the time of their start.
func newID(at time.Time) string {
	return at.UTC().Format("20060102-150405-") + strings.ToLower(rand.Text()[:6])
}

func (r *Registry) path(dir, id string) string {
	return filepath.Join(r.sessionsIn(dir), id+journalEnd)
}

func (r *Registry) options(dir, id string, w session.Workplace) session.Options {
	w.Output = filepath.Join(r.folder(dir), "output", id)
	return session.Options{World: w, Secrets: r.secrets, Log: func(text string) {
		r.log.Warn(text, zap.String("session", id))
	}}
}

func (r *Registry) keep(s *running) *running {
	r.mu.Lock()
	r.open[s.id] = s
	faces := slices.Collect(maps.Keys(r.faces))
	r.mu.Unlock()
	for _, l := range faces { // each looks whether the session is one of its own
		l.again(true)
	}
	return s
}

// world is what a session in a workspace works with. The files are shared by the sessions of
// one workspace, the client by all that ask one server.
func (r *Registry) world(dir string, cfg config.Config) (session.Workplace, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, err := r.client(modelAt{cfg.Model.BaseURL, cfg.Model.Key, cfg.Model.Idle()})
	if err != nil {
		return session.Workplace{}, err
	}
	p, err := r.place(dir)
	if err != nil {
		return session.Workplace{}, err
	}
	g, err := guard(cfg, p.files)
	if err != nil {
		return session.Workplace{}, err
	}
	rules, err := cfg.Secrets.Rules()
	if err != nil {
		return session.Workplace{}, err
	}
	p.secretFiles.Store(&rules)
	commands, err := r.commands(dir, cfg.Commands)
	if err != nil {
		return session.Workplace{}, err
	}
	return session.Workplace{Model: m, Files: p.files, Guard: g, Ledger: p.ledger, Secrets: r.secrets, SecretFiles: rules, Commands: commands, Also: cfg.Checkpoints.Also}, nil
}

// place is a workspace that is worked in. The caller holds mu and has entered.
func (r *Registry) place(dir string) (*place, error) {
	p, ok := r.places[dir]
	if ok && (p.files.Gone() || p.files.StoreGone()) { // another folder stands there now; who works in the old one is told so
		r.gone = append(r.gone, p)
		ok = false
	}
	if !ok {
		secrets := &atomic.Pointer[secretfile.Rules]{}
		secrets.Store(&secretfile.Rules{})
		o := r.filesOptions(dir)
		o.Secret = func(path string) bool { return secrets.Load().Holds(path) }
		files, err := workspace.Open(dir, o)
		if err != nil {
			return nil, err
		}
		p = &place{files, session.NewLedger(), secrets}
		r.places[dir] = p
		r.busy.Go(func() { r.sweep(files) }) // Close waits for whoever called us, and so for this
	}
	return p, nil
}

// filesOptions are the files of a workspace with what editors hold open in it.
func (r *Registry) filesOptions(dir string) workspace.Options {
	open := buffers{r.documents, dir}
	return workspace.Options{Store: r.store(dir), Buffers: open, Apply: open.apply, Clean: r.secrets.Text, Getenv: r.getenv}
}

// client is the client of a model's server. The caller holds mu.
func (r *Registry) client(at modelAt) (*model.Client, error) {
	if m, ok := r.models[at]; ok {
		return m, nil
	}
	m, err := model.New(model.Options{BaseURL: at.baseURL, Key: at.key, Idle: at.idle, HTTP: r.opts.HTTP, Redact: r.secrets.Text})
	if err != nil {
		return nil, protocol.Errorf(protocol.ModelUnavailable, "%v", err)
	}
	r.models[at] = m
	return m, nil
}

// sweep removes what a daemon that was killed left half-way in a workspace.
func (r *Registry) sweep(files *workspace.Workspace) {
	if n, err := files.Sweep(r.ctx); err != nil && r.ctx.Err() == nil {
		r.log.Warn("what was left half-way stays", zap.Error(err))
	} else if n > 0 {
		r.log.Info("removed what was left half-way", zap.Int("files", n))
	}
}

// Find is the session with an id: one that runs here, or one on disk, which then runs here. A
// session that another process runs is refused with its name.
func (r *Registry) Find(id string) (*running, error) {
	if s, ok := r.running(id); ok {
		return s, nil
	}
	if err := r.enter(); err != nil {
		return nil, err
	}
	defer r.busy.Done()
	return r.find(id)
}

// running is the session with an id, if it runs here.
func (r *Registry) running(id string) (*running, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.open[id]
	if ok {
		select {
		case <-s.Done(): // it was given up, and can be opened again
			delete(r.open, id)
			return nil, false
		default:
		}
	}
	return s, ok
}

// Tidy gives up the sessions that rest and that no client has followed for so long: on disk they
// are as good, and another daemon can take them.
func (r *Registry) Tidy(idle time.Duration) {
	r.mu.Lock()
	open := slices.Collect(maps.Values(r.open))
	r.mu.Unlock()
	var closed []*running
	for _, s := range open {
		if s.CloseIdle(idle) {
			r.running(s.id) // forgets it
			closed = append(closed, s)
		}
	}
	r.shelve(closed)
}

// goesOn says that a session which its daemon paused as it ended goes on when it is opened.
func goesOn(s protocol.Session) bool {
	return s.Autonomy == protocol.High && s.Mode == protocol.Paused && s.Pause != nil && s.Pause.By == protocol.PausedByRecovery
}

// Recover opens the sessions of a workspace that were at work when a daemon died: they wait in a
// pause, or, at autonomy high, go on.
func (r *Registry) Recover(dir string) {
	if r.enter() != nil { // it is ending already
		return
	}
	defer r.busy.Done()
	real, err := realFolder(dir)
	if err != nil {
		r.log.Warn("sessions are not recovered", zap.Error(err))
		return
	}
	dir = real
	for _, found := range r.listFolder(r.sessionsIn(dir)) {
		if !found.Recovers || r.ctx.Err() != nil {
			continue
		}
		if _, err := r.find(found.ID); err != nil {
			r.log.Warn("a session is not recovered", zap.String("session", found.ID), zap.Error(err))
		}
	}
}

// find opens a session once, however many ask for it.
func (r *Registry) find(id string) (*running, error) {
	path, err := r.onDisk(id)
	if err != nil {
		return nil, err
	}
	o, first := r.first(r.opening, id)
	if !first {
		<-o.done
		return o.run, o.err
	}
	defer func() {
		r.forget(r.opening, id)
		close(o.done)
	}()
	if s, ok := r.running(id); ok { // it was opened just now
		o.run, o.err = s, nil
	} else {
		o.run, o.err = r.reopen(id, path)
	}
	return o.run, o.err
}

func (r *Registry) reopen(id, path string) (*running, error) {
	now, err := session.Load(path)
	if err != nil {
		return nil, err
	}
	dir, err := folderPath(now.State.Started.Workspace)
	if err != nil {
		return nil, err
	}
	cfg, err := r.configuration(dir, now.State.Started.Trusted)
	if err != nil {
		return nil, err
	}
	world, err := r.world(dir, cfg)
	if err != nil {
		return nil, err
	}
	s, err := session.Open(path, r.options(dir, id, world))
	if errors.Is(err, journal.ErrLocked) {
		return nil, protocol.Errorf(protocol.WrongMode, "session %s runs in another Tandem process; close it there first", id)
	}
	if err != nil {
		return nil, err
	}
	if _, err := s.Post(context.Background(), "", agent.Configure{Guards: guards(cfg, world.Guard, now.State.Started.Trusted)}); err != nil && !now.State.Ended {
		return nil, errors.Join(err, s.Close())
	}
	return r.keep(&running{s, id, dir, world}), nil
}

// onDisk is the journal of a session.
func (r *Registry) onDisk(id string) (string, error) {
	if filepath.IsLocal(id) && filepath.Base(id) == id {
		for _, dir := range r.sessionFolders() {
			path := filepath.Join(dir, id+journalEnd)
			if _, err := os.Stat(path); err == nil {
				return path, nil
			}
		}
	}
	return "", protocol.Errorf(protocol.NoSuchSession, "sessionId: there is no session %q; tandem sessions lists them", id)
}

// Live says that a session in this process is at work, or waits for something that it began.
func (r *Registry) Live() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.open {
		if now := s.Now().State; now.Mode == protocol.Executing || len(now.Open) > 0 {
			return true
		}
	}
	return false
}

// requestKey is the key of a request that bears one whole.
func requestKey(p protocol.Request) string {
	if p.ClientID == "" || p.RequestKey == "" {
		return ""
	}
	return fmt.Sprintf("%q %q", p.ClientID, p.RequestKey)
}

// realFolder is the real path of a folder, as sessions are filed under it.
func realFolder(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("workspace %s: %w", dir, err)
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return "", fmt.Errorf("workspace %s: it is no folder", dir)
	}
	return real, nil
}
