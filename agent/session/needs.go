package session

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"tandem/agent"
	"tandem/agent/secretfile"
	"tandem/agent/tool"
)

// withheld is the outcome of a call that has done nothing, because it needs leave.
func withheld(op string, needs []agent.Need) agent.Outcome {
	return agent.Outcome{Op: op, Needs: needs}
}

// fileNeeds are the files with secrets that a file tool would touch without leave, and those that run by themselves
// which it would change: by the name that was given, and by the file that is meant, with links followed. A listing
// shows names alone, and a search leaves files with secrets out.
func (w Workplace) fileNeeds(r agent.Run) []agent.Need {
	if r.Tool == tool.ListFiles || r.Tool == tool.Search {
		return nil
	}
	n := needs{leave: r.Leave}
	for _, given := range tool.Paths(r.Tool, r.Arguments) {
		real, err := w.Files.Name(given)
		if err != nil {
			continue // the tool refuses it
		}
		if w.SecretFiles.Holds(real) || w.SecretFiles.Holds(filepath.ToSlash(given)) {
			n.add(agent.Need{Kind: agent.NeedSecret, File: real})
		}
		switch named := path.Clean(w.inside(given)); {
		case r.Tool == tool.ReadFile:
		case startsByItself(real):
			n.add(agent.Need{Kind: agent.NeedStart, File: real})
		case startsByItself(named):
			n.add(agent.Need{Kind: agent.NeedStart, File: named})
		}
	}
	if r.Tool == tool.MoveFile {
		w.carried(&n, tool.Paths(r.Tool, r.Arguments))
	}
	return n.missing
}

// carried adds the files with secrets that the move of a folder would take to where their paths do not
// tell it any more.
func (w Workplace) carried(n *needs, move []string) {
	if len(move) != 2 {
		return // the tool refuses it
	}
	from, err := w.Files.Name(move[0])
	to, err2 := w.Files.Name(move[1])
	if err != nil || err2 != nil {
		return // the tool refuses it
	}
	above := filepath.Join(w.Files.Dir(), filepath.FromSlash(from))
	_ = filepath.WalkDir(above, func(at string, d fs.DirEntry, err error) error { // what cannot be looked at cannot be moved
		name := w.inside(at)
		if err == nil && !d.IsDir() && w.SecretFiles.Holds(name) && !w.SecretFiles.Holds(to+strings.TrimPrefix(name, from)) {
			n.add(agent.Need{Kind: agent.NeedSecret, File: name})
		}
		return err
	})
}

// commandNeeds are what a command line, which runs in a folder, needs leave for and has none.
func (w Workplace) commandNeeds(args commandArguments, dir string, network bool, leave []agent.Need) []agent.Need {
	n := needs{leave: leave}
	if wanted, err := strconv.ParseBool(strings.Trim(string(args.Network), `"`)); err == nil && wanted && !network {
		n.add(agent.Need{Kind: agent.NeedNetwork})
	}
	for _, word := range secretfile.Words(args.Command) {
		if file := w.secretNamed(word, dir); file != "" {
			n.add(agent.Need{Kind: agent.NeedSecret, File: file})
		}
	}
	return n.missing
}

// secretNamed is the file with secrets that a word of a command line names, "" where it names none.
func (w Workplace) secretNamed(word, dir string) string {
	at := homely(word)
	if !filepath.IsAbs(at) {
		at = filepath.Join(dir, at)
	}
	real, err := filepath.EvalSymlinks(at)
	if err == nil && w.SecretFiles.Holds(w.inside(real)) {
		return w.inside(real)
	}
	there := err == nil || !errors.Is(err, fs.ErrNotExist)
	if w.SecretFiles.Names(w.inside(at)) || there && w.SecretFiles.Holds(w.inside(at)) {
		return w.inside(at)
	}
	return ""
}

// homely is a word with the home folder in place of ~.
func homely(word string) string {
	home, err := os.UserHomeDir()
	if rest, ok := strings.CutPrefix(word, "~/"); ok && err == nil {
		return filepath.Join(home, rest)
	}
	return word
}

// inside is a path as rules about secrets take it: relative to the workspace where it lies in it.
func (w Workplace) inside(at string) string {
	if rel, err := filepath.Rel(w.Files.Dir(), at); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(at)
}

// needs collects what there is no leave for, each once.
type needs struct{ leave, missing []agent.Need }

func (n *needs) add(need agent.Need) {
	if !slices.Contains(n.leave, need) && !slices.Contains(n.missing, need) {
		n.missing = append(n.missing, need)
	}
}
