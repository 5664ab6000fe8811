package scenario

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"tandem/protocol"
)

// Command runs a command line in a folder to its end. A command that ran and failed is no error;
// that it could not be run, was stopped or took too long is one.
type Command func(ctx context.Context, dir, line string) (Ended, error)

// Ended is how a command ended.
type Ended struct {
	ExitCode int
	// Output is for the eye.
	Output string
}

// How says in which way a scenario runs.
type How struct {
	// Snapshot holds the inputs; nil: the live ones as they are now.
	Snapshot *Snapshot
	// Aside leaves the workspace alone: the run takes place in a copy, and its outputs are kept but not put
	// into the workspace.
	Aside bool
	// Check looks at what has to hold after the run; dir is the folder of the run, which may be a copy.
	// It may be nil.
	Check func(ctx context.Context, dir string) ([]protocol.Check, error)
}

// Result is how a run went.
type Result struct {
	protocol.Run
	// Input is the digest of the snapshot that the run read.
	Input string
	// Text is the command's output.
	Text string
	// Copied says that the run took place in a copy of the workspace.
	Copied bool
	// Left are files and folders that the copy is without because they cannot be read.
	Left []string
	// Stale are the outputs that stand there as they did before the run: it did not write them.
	Stale []string
	// Brought are the files of the workspace that outputs of a copy were put into.
	Brought []Brought
	// Moved are the live inputs that changed during a run in the workspace: by the command itself, or by
	// somebody else, so what was read is not quite known.
	Moved []Moved
}

// Brought is a file of the workspace with the digests of its bytes before and after; Before is "" when it was
// not there.
type Brought struct{ Path, Before, After string }

// Run runs a scenario: in the workspace when its live inputs are those that are wanted, else in a copy.
// The bytes of its outputs are kept, but for those beyond the limit of one file.
func (p *Place) Run(ctx context.Context, s Scenario, how How) (Result, error) {
	r, err := p.run(ctx, s, how)
	if err != nil {
		return r, fmt.Errorf("run the scenario %s: %w", s.Name, err)
	}
	return r, nil
}

func (p *Place) run(ctx context.Context, s Scenario, how How) (Result, error) {
	if err := s.Check(); err != nil {
		return Result{}, err
	}
	snap, err := p.wanted(ctx, s, how)
	if err != nil {
		return Result{}, err
	}
	moved, err := p.Drift(ctx, snap)
	if err != nil {
		return Result{}, err
	}
	if how.Aside || len(moved) > 0 {
		return p.runCopied(ctx, s, snap, how)
	}
	r, err := p.runIn(ctx, p.Dir, s, how)
	r.Input = snap.Digest()
	if err != nil {
		return r, err
	}
	r.Moved, err = p.Drift(ctx, snap)
	return r, err
}

// wanted are the inputs that a run shall read.
func (p *Place) wanted(ctx context.Context, s Scenario, how How) (Snapshot, error) {
	if how.Snapshot != nil {
		return *how.Snapshot, nil
	}
	return p.Take(ctx, s)
}

// runCopied runs in a copy, and puts the outputs into the workspace unless that is to be left alone.
func (p *Place) runCopied(ctx context.Context, s Scenario, snap Snapshot, how How) (r Result, err error) {
	c, err := p.copy(ctx, s, snap)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, c.remove()) }()
	r, err = p.runIn(ctx, c.dir, s, how)
	r.Input, r.Copied, r.Left = snap.Digest(), true, c.left
	if err != nil || how.Aside {
		return r, err
	}
	r.Brought, err = p.bring(ctx, c.dir, s)
	return r, err
}

// runIn runs in a folder that stands ready.
func (p *Place) runIn(ctx context.Context, dir string, s Scenario, how How) (Result, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Result{}, err
	}
	defer root.Close()
	before, err := look(ctx, root, s.Outputs)
	if err != nil {
		return Result{}, err
	}
	began := time.Now()
	ended, err := p.Command(ctx, dir, s.Run)
	r := Result{Text: ended.Output, Run: protocol.Run{ExitCode: ended.ExitCode, DurationMs: time.Since(began).Milliseconds()}}
	if err != nil {
		return r, err
	}
	after, err := look(ctx, root, s.Outputs)
	if err != nil {
		return r, err
	}
	for _, o := range after {
		if was, ok := seenAt(before, o.name); ok && same(was, o.info) {
			r.Stale = append(r.Stale, o.name)
		}
		out, err := p.output(root, o)
		if err != nil {
			return r, err
		}
		r.Outputs = append(r.Outputs, out)
	}
	if how.Check != nil {
		r.Checks, err = how.Check(ctx, dir)
	}
	return r, err
}

// seen is a file that was looked at.
type seen struct {
	name string
	info fs.FileInfo
}

func seenAt(all []seen, name string) (fs.FileInfo, bool) {
	for _, s := range all {
		if s.name == name {
			return s.info, true
		}
	}
	return nil, false
}

// look gives the regular files that patterns mean, links followed.
func look(ctx context.Context, root *os.Root, patterns []string) ([]seen, error) {
	names, err := find(ctx, root, patterns)
	if err != nil {
		return nil, err
	}
	var out []seen
	for _, name := range names {
		info, err := root.Stat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return nil, fmt.Errorf("look at %s: %w", name, err)
		case info.Mode().IsRegular():
			out = append(out, seen{name, info})
		}
	}
	return out, nil
}

// output keeps the bytes of an output, or of a very large one the digest alone.
func (p *Place) output(root *os.Root, o seen) (protocol.Output, error) {
	f, err := root.Open(o.name)
	if err != nil {
		return protocol.Output{}, fmt.Errorf("keep the output: %w", err)
	}
	defer f.Close()
	out := protocol.Output{Path: o.name, Bytes: o.info.Size()}
	if o.info.Size() > p.Limits.orDefault().Bytes {
		sum := sha256.New()
		out.Bytes, err = io.Copy(sum, f)
		out.Digest = hex.EncodeToString(sum.Sum(nil))
	} else {
		var data []byte
		if data, err = io.ReadAll(f); err == nil {
			out.Bytes = int64(len(data))
			out.Digest, err = p.Store.Put(data)
		}
	}
	if err != nil {
		return out, fmt.Errorf("keep the output %s: %w", o.name, err)
	}
	return out, nil
}
