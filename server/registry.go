package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"tandem/agent"
	"tandem/agent/command"
	"tandem/agent/journal"
	"tandem/agent/model"
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
}

// Registry is the sessions of one daemon: those that run in it, and those that lie on disk.
type Registry struct {
	opts   Options
	log    *zap.Logger
	redact session.Redactor

	mu     sync.Mutex
	open   map[string]*running
	places map[string]*place
	starts map[string]*startOnce
}

// running is a session that runs in this process.
type running struct {
	*session.Session
	id, workspace string
}

// place is a workspace that sessions of this process work in.
type place struct {
	files *workspace.Workspace
	model *model.Client
}

// startOnce is a start with a key: the same again waits for it and gets its answer.
type startOnce struct {
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
	return &Registry{opts: o, log: log, redact: session.NewRedactor(o.Environ), open: map[string]*running{},
		places: map[string]*place{}, starts: map[string]*startOnce{}}
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

// Close ends what runs in every session and closes them; each can be opened again.
func (r *Registry) Close() error {
	r.mu.Lock()
	open, places := r.open, r.places
	r.open, r.places = map[string]*running{}, map[string]*place{}
	r.mu.Unlock()
	var errs []error
	for _, s := range open {
		errs = append(errs, s.Close())
	}
	for _, p := range places {
		p.model.Close()
		errs = append(errs, p.files.Close())
	}
	return errors.Join(errs...)
}

// folder is where a workspace's sessions lie: named by its path, so that two never meet.
func (r *Registry) folder(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(r.opts.State, "workspaces", filepath.Base(dir)+"-"+hex.EncodeToString(sum[:6]))
}

func (r *Registry) sessionsIn(dir string) string { return filepath.Join(r.folder(dir), "sessions") }

// configuration reads the configuration for a workspace; its own file only where it is trusted.
func (r *Registry) configuration(dir string, trusted bool) (config.Config, error) {
	s := config.Sources{Getenv: r.getenv, User: config.UserFile(r.getenv)}
	if trusted {
		s.Workspace = dir
	}
	return config.Load(s)
}

// Start starts a session in a workspace. With a key, the same start again gets the first answer.
func (r *Registry) Start(ctx context.Context, dir string, trusted bool, p protocol.StartParams, by string) (*running, session.Receipt, error) {
	key := requestKey(p.Request)
	if key == "" {
		return r.start(ctx, dir, trusted, p, by, "")
	}
	r.mu.Lock()
	once, again := r.starts[key]
	if !again {
		once = &startOnce{done: make(chan struct{})}
		r.starts[key] = once
	}
	r.mu.Unlock()
	if again {
		<-once.done
		return once.run, once.receipt, once.err
	}
	once.run, once.receipt, once.err = r.start(ctx, dir, trusted, p, by, key)
	if once.err != nil { // a start that was refused may be tried again
		r.mu.Lock()
		delete(r.starts, key)
		r.mu.Unlock()
	}
	close(once.done)
	return once.run, once.receipt, once.err
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
	instructions, err := world.Files.Instructions(ctx, ".")
	if err != nil {
		return nil, session.Receipt{}, err
	}
	id := newID(time.Now())
	in := agent.Start{ID: id, Workspace: folderURI(dir), Task: p.Task, Autonomy: p.Autonomy, Model: cfg.Model.Name,
		Trusted: trusted, Context: p.Context, By: by}
	if in.Autonomy == "" {
		in.Autonomy = cfg.Autonomy
	}
	for _, i := range instructions {
		in.Instructions = append(in.Instructions, agent.Instruction{Path: i.Path, Text: i.Text})
	}
	s, receipt, err := session.Create(ctx, r.path(dir, id), key, in, r.options(id, world))
	if err != nil {
		return nil, session.Receipt{}, err
	}
	return r.keep(&running{s, id, dir}), receipt, nil
}

// newID names a session: ids sort by the time of their start.
func newID(at time.Time) string {
	return at.UTC().Format("20060102-150405-") + strings.ToLower(rand.Text()[:6])
}

func (r *Registry) path(dir, id string) string {
	return filepath.Join(r.sessionsIn(dir), id+".jsonl")
}

func (r *Registry) options(id string, w session.Workplace) session.Options {
	return session.Options{World: w, Redact: r.redact.Text, Log: func(text string) {
		r.log.Warn(r.redact.Text(text), zap.String("session", id))
	}}
}

func (r *Registry) keep(s *running) *running {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open[s.id] = s
	return s
}

// world is what a session in a workspace works with. The files and the model's client are
// shared by the sessions of one workspace.
func (r *Registry) world(dir string, cfg config.Config) (session.Workplace, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p, ok := r.places[dir]
	if !ok {
		files, err := workspace.Open(dir, workspace.Options{Store: filepath.Join(r.folder(dir), "store")})
		if err != nil {
			return session.Workplace{}, err
		}
		m, err := model.New(model.Options{BaseURL: cfg.Model.BaseURL, Key: cfg.Model.Key, Idle: cfg.Model.Idle()})
		if err != nil {
			return session.Workplace{}, errors.Join(protocol.Errorf(protocol.ModelUnavailable, "%v", err), files.Close())
		}
		p = &place{files, m}
		r.places[dir] = p
	}
	return session.Workplace{Model: p.model, Files: p.files, Env: command.Environment(r.opts.Environ),
		Timeout: cfg.Commands.Timeout()}, nil
}

// Find is the session with an id: one that runs here, or one on disk, which then runs here. A
// session that another process runs is refused with its name.
func (r *Registry) Find(id string) (*running, error) {
	r.mu.Lock()
	s, ok := r.open[id]
	r.mu.Unlock()
	if ok {
		return s, nil
	}
	path, err := r.onDisk(id)
	if err != nil {
		return nil, err
	}
	return r.reopen(id, path)
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
	s, err := session.Open(path, r.options(id, world))
	if errors.Is(err, journal.ErrLocked) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if s, ok := r.open[id]; ok { // another request of ours was faster
			return s, nil
		}
		return nil, protocol.Errorf(protocol.WrongMode, "session %s runs in another Tandem process; close it there first", id)
	}
	if err != nil {
		return nil, err
	}
	return r.keep(&running{s, id, dir}), nil
}

// onDisk is the journal of a session.
func (r *Registry) onDisk(id string) (string, error) {
	if id != "" && !strings.ContainsAny(id, `/\*?[`) && id != ".." {
		found, err := filepath.Glob(filepath.Join(r.opts.State, "workspaces", "*", "sessions", id+".jsonl"))
		if err != nil {
			return "", err
		}
		if len(found) > 0 {
			return found[0], nil
		}
	}
	return "", protocol.Errorf(protocol.NoSuchSession, "sessionId: there is no session %q; tandem sessions lists them", id)
}

// List is the sessions of a workspace, or with "" of all, newest first. Those on disk are read
// and not run.
func (r *Registry) List(dir string) ([]protocol.Session, error) {
	pattern := filepath.Join(r.opts.State, "workspaces", "*", "sessions", "*.jsonl")
	if dir != "" {
		pattern = filepath.Join(r.sessionsIn(dir), "*.jsonl")
	}
	paths, err := filepath.Glob(pattern)
	if err != nil {
		return nil, err
	}
	var out []protocol.Session
	for _, path := range paths {
		id := strings.TrimSuffix(filepath.Base(path), ".jsonl")
		r.mu.Lock()
		s, ok := r.open[id]
		r.mu.Unlock()
		if ok {
			out = append(out, s.Now().View())
			continue
		}
		now, err := session.Load(path)
		if err != nil || now.State.Seq == 0 { // it shall not hide the others
			r.log.Warn("a session cannot be listed", zap.String("session", id), zap.Error(err))
			continue
		}
		out = append(out, now.View())
	}
	slices.SortFunc(out, func(a, b protocol.Session) int { return b.StartedAt.Compare(a.StartedAt) })
	return out, nil
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
