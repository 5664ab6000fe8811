package agent

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"tandem/protocol"
)

// manyFiles is how many files make a choice notable by their number alone.
const manyFiles = 5

// raised is a decision's significance by what it touches, and how it got there: the agent's own
// word is the least that it is. What it touches are its place, the files of its step, and the calls
// that wait behind it.
func (s State) raised(d protocol.Decision, by Call) (protocol.Significance, string) {
	files, deleted := s.reaches(d, by)
	for _, f := range files {
		switch base := path.Base(f); {
		case s.marked(f) != "":
			return protocol.Major, fmt.Sprintf("it touches %s, which you marked (%s)", f, s.marked(f))
		case slices.Contains([]string{"go.mod", "package.json", "pyproject.toml", "Cargo.toml", "requirements.txt", "Gemfile", "pom.xml"}, base):
			return protocol.Major, fmt.Sprintf("it touches dependencies (%s)", f)
		case isSchema(f):
			return protocol.Major, fmt.Sprintf("it touches a schema (%s)", f)
		case isInterface(f):
			return protocol.Major, fmt.Sprintf("it touches a public interface (%s)", f)
		}
	}
	switch {
	case deleted != "":
		return protocol.Major, fmt.Sprintf("it deletes %s", deleted)
	case len(files) >= manyFiles && d.Significance == protocol.Minor:
		return protocol.Notable, fmt.Sprintf("it touches %d files", len(files))
	}
	return d.Significance, ""
}

// reaches are the files that a decision touches, each once, and one that it deletes.
func (s State) reaches(d protocol.Decision, by Call) (files []string, deleted string) {
	add := func(name string) {
		if name = strings.TrimPrefix(path.Clean(name), "./"); name != "." && !slices.Contains(files, name) {
			files = append(files, name)
		}
	}
	if d.Location != nil {
		add(d.Location.URI)
	}
	if t, ok := s.step(d.StepID); ok {
		for _, f := range t.Files {
			add(relative(s.Started.Workspace, f))
		}
	}
	for _, c := range s.Open {
		if c.Op.ID == by.Op.ID || c.Op.Status != protocol.OpQueued || c.Op.Effect != protocol.EffectWrite {
			continue
		}
		for _, f := range filesIn(c.Arguments) {
			add(f)
		}
		if f := deletes(c); f != "" {
			deleted = f
		}
	}
	return files, deleted
}

func isSchema(f string) bool {
	base := path.Base(f)
	return path.Ext(f) == ".sql" || path.Ext(f) == ".graphql" || strings.HasPrefix(base, "schema.") || slices.Contains(strings.Split(f, "/"), "migrations")
}

func isInterface(f string) bool {
	base := path.Base(f)
	return path.Ext(f) == ".proto" || strings.HasSuffix(base, ".d.ts") || strings.HasPrefix(base, "openapi.") || strings.HasPrefix(base, "swagger.")
}

// marked is the pattern of the developer's that a file fits, or "".
func (s State) marked(f string) string {
	for _, pattern := range s.Guards.Marked {
		if fits(strings.Split(pattern, "/"), strings.Split(f, "/")) {
			return pattern
		}
	}
	return ""
}

// fits says that a path fits a pattern, part by part; ** stands for any parts, none too.
func fits(pattern, name []string) bool {
	if len(pattern) == 0 {
		return len(name) == 0
	}
	if pattern[0] == "**" {
		return fits(pattern[1:], name) || len(name) > 0 && fits(pattern, name[1:])
	}
	if len(name) == 0 {
		return false
	}
	ok, err := path.Match(pattern[0], name[0])
	return err == nil && ok && fits(pattern[1:], name[1:])
}

// The window of a decision grows shorter for kinds that the developer has let stand many times.
const (
	stoodOften    = 5
	stoodVeryMuch = 10
)

// window is how long a decision of a kind waits for a veto, and how it got there.
func (s State) window(kind string) (time.Duration, string) {
	whole := vetoWindow
	if s.Guards.Window > 0 {
		whole = s.Guards.Window
	}
	switch n := s.stoodInARow(kind); {
	case n >= stoodVeryMuch:
		return whole / 5, fmt.Sprintf("you let %d like it stand", n)
	case n >= stoodOften:
		return whole / 2, fmt.Sprintf("you let %d like it stand", n)
	}
	return whole, ""
}

// Habit counts how often decisions of a kind stood since one was overridden. A session hands its
// own on to the next in the workspace.
type Habit struct {
	Kind  string `json:"kind"`
	Times int    `json:"times"`
}

// Habits are those of the session, and of those before it.
func (s State) Habits() []Habit { return s.letStand }

func (s State) stoodInARow(kind string) int {
	for _, k := range s.letStand {
		if k.Kind == kind {
			return k.Times
		}
	}
	return 0
}

// kindOf is what decisions have in common: their significance, and why it was raised.
func kindOf(sig protocol.Significance, why string) string {
	kind, _, _ := strings.Cut(why, " (")
	return strings.TrimSpace(string(sig) + " " + kind)
}

// decidedKind counts a decision that stood, or forgets those before one that did not.
func (s State) decidedKind(id string, stood bool) State {
	i := slices.IndexFunc(s.kinds, func(k kinded) bool { return k.decision == id })
	if i < 0 {
		return s
	}
	kind := s.kinds[i].kind
	out := slices.DeleteFunc(slices.Clone(s.letStand), func(k Habit) bool { return k.Kind == kind })
	if stood {
		out = append(out, Habit{kind, s.stoodInARow(kind) + 1})
	}
	s.letStand = out
	s.kinds = slices.Delete(slices.Clone(s.kinds), i, i+1)
	return s
}

// kinded is an open decision with its kind.
type kinded struct{ decision, kind string }
