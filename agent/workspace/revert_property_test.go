package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"
)

// pair-work of a developer, an agent, commands and reverts in one workspace.
type pairWork struct {
	*rapid.T
	w     *Workspace
	own   map[string]string // what the developer has written last, by path
	ops   [][]Change        // the newest first in each
	count int
}

var worked = []string{"a", "b", "d/a", "d/e/b", "A"}

// TestNoByteOfTheDeveloperIsLost lets all of them work at random. Whatever text the developer has
// written last at a path stands there, or is kept.
func TestNoByteOfTheDeveloperIsLost(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		home, err := os.MkdirTemp("", "property")
		if err != nil {
			r.Fatal(err)
		}
		defer os.RemoveAll(home)
		if err := os.Mkdir(filepath.Join(home, "ws"), 0o755); err != nil {
			r.Fatal(err)
		}
		w, err := Open(filepath.Join(home, "ws"), Options{Store: filepath.Join(home, "store")})
		if err != nil {
			r.Fatal(err)
		}
		defer w.Close()
		p := &pairWork{T: r, w: w, own: map[string]string{}}
		r.Repeat(map[string]func(*rapid.T){
			"developer": p.developer, "agent": p.agent, "command": p.command, "revert": p.revert, "": func(*rapid.T) { p.nothingLost() },
		})
	})
}

func (p *pairWork) at(name string) string { return filepath.Join(p.w.Dir(), name) }

func (p *pairWork) path() string { return rapid.SampledFrom(worked).Draw(p.T, "path") }

// text is a few lines of which one is like no other.
func (p *pairWork) text(who string) string {
	p.count++
	text := ""
	for i := range rapid.IntRange(1, 4).Draw(p.T, "lines") {
		text += fmt.Sprintf("line %d\n", i)
	}
	return text + fmt.Sprintf("%s %d\n", who, p.count) + rapid.SampledFrom([]string{"", "end\n", "\x00"}).Draw(p.T, "tail")
}

// place writes a file as an editor or a command does, if it can stand there.
func (p *pairWork) place(name, text string) bool {
	return os.MkdirAll(filepath.Dir(p.at(name)), 0o755) == nil && os.WriteFile(p.at(name), []byte(text), 0o644) == nil
}

func (p *pairWork) developer(*rapid.T) {
	name, text := p.path(), p.text("developer")
	if rapid.Bool().Draw(p.T, "appends") {
		if was, err := os.ReadFile(p.at(name)); err == nil {
			text = string(was) + text
		}
	}
	if p.place(name, text) {
		p.own[name] = text
	}
}

func (p *pairWork) agent(*rapid.T) {
	var r Result
	var err error
	name := p.path()
	switch rapid.IntRange(0, 3).Draw(p.T, "tool") {
	case 0:
		r, err = p.w.Write(t0, name, p.text("agent"))
	case 1:
		r, err = p.w.Delete(t0, name)
	case 2:
		r, err = p.w.Move(t0, name, p.path())
	default:
		r, err = p.w.Edit(t0, name, []Edit{{Old: "line 0", New: "LINE 0"}})
	}
	if err == nil && len(r.Changes) > 0 {
		p.ops = append(p.ops, newest(r.Changes))
	}
}

func (p *pairWork) command(*rapid.T) {
	name, other, text := p.path(), p.path(), p.text("command")
	what := rapid.IntRange(0, 4).Draw(p.T, "command")
	before, err := p.w.Snapshot(t0)
	if err != nil {
		p.Fatal(err)
	}
	switch what {
	case 0:
		p.place(name, text)
	case 1:
		_ = os.RemoveAll(p.at(name)) // nothing may stand there
	case 2:
		_ = os.Rename(p.at(name), p.at(other)) // it may have no room
	case 3:
		_ = os.Chmod(p.at(name), 0o755)
	default:
		_ = os.RemoveAll(p.at("d"))
		p.place("d", text)
	}
	after, err := p.w.Snapshot(t0)
	if err != nil {
		p.Fatal(err)
	}
	if d := p.w.Diff(t0, before, after); len(d.Changes) > 0 {
		p.ops = append(p.ops, newest(d.Changes))
	}
}

// revert takes something back, a revert too, and all of it or a part.
func (p *pairWork) revert(*rapid.T) {
	if len(p.ops) == 0 {
		p.Skip("nothing was done")
	}
	first := rapid.IntRange(0, len(p.ops)-1).Draw(p.T, "operation")
	last := min(first+rapid.IntRange(0, 2).Draw(p.T, "more"), len(p.ops)-1)
	var changes []Change
	for i := last; i >= first; i-- {
		changes = append(changes, p.ops[i]...)
	}
	done, err := p.w.Revert(t0, changes, false)
	if err != nil {
		p.Fatal(err)
	}
	if len(done.Changes) > 0 {
		p.ops = append(p.ops, newest(done.Changes))
	}
}

func (p *pairWork) nothingLost() {
	for name, text := range p.own {
		if now, err := os.ReadFile(p.at(name)); err == nil && string(now) == text {
			continue
		}
		if kept, err := p.w.Content(Digest([]byte(text))); err != nil || string(kept) != text {
			p.Fatalf("what the developer wrote into %s is lost: %q, %v", name, text, err)
		}
	}
}
