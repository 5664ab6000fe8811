package rehearsal

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

// firstLine is the first line of every script.
const firstLine = "rehearsal 1"

// Script is a parsed rehearsal. It is never changed after Parse, so several servers may play it.
type Script struct {
	Name  string // as given to Parse, without folder and extension
	About string // prose for a reader
	Task  string // what the developer asks for
	Steer string // the steer suggested to the developer; may be empty
	Files []File // the workspace, in the order of the archive

	pace   float64 // words a second where a beat says nothing else; 0 is at once
	beats  []beat  // the story in order, chains one after the other
	asides []beat  // answers outside of the story
}

// File is one file of a workspace. Path is relative to it, with slashes.
type File struct {
	Path string
	Data []byte
}

// An Error is a fault of a script, with the line of the archive where it stands.
type Error struct {
	Script string // as given to Parse
	Line   int    // of the archive, from 1
	Part   string // the file in the archive; empty for the comment
	Text   string
}

// Error gives the fault in the form that editors can jump to.
func (e *Error) Error() string {
	if e.Part == "" {
		return fmt.Sprintf("%s:%d: %s", e.Script, e.Line, e.Text)
	}
	return fmt.Sprintf("%s:%d: %s: %s", e.Script, e.Line, e.Part, e.Text)
}

// source is one part of an archive and where its first line stands.
type source struct {
	script string
	part   string
	line   int
}

// fault says what is wrong at the given line of the part, counted from 0.
func (s source) fault(line int, message string, args ...any) error {
	return &Error{Script: s.script, Line: s.line + line, Part: s.part, Text: fmt.Sprintf(message, args...)}
}

// Parse reads a script. The name is for errors and for Script.Name. Its errors are *Error.
func Parse(name string, archive []byte) (*Script, error) {
	base := path.Base(filepath.ToSlash(name))
	s := &Script{Name: strings.TrimSuffix(base, path.Ext(base))}
	a := txtar.Parse(archive)
	if err := s.readComment(source{script: name, line: 1}, string(a.Comment)); err != nil {
		return nil, err
	}
	if err := s.readFiles(name, a); err != nil {
		return nil, err
	}
	if s.Task == "" {
		return nil, source{script: name, line: 1}.fault(0, "no task: a script has a file «task» that says what the developer asks for")
	}
	if len(s.beats) == 0 {
		return nil, source{script: name, line: 1}.fault(0, "no beats: a script has at least one file below beats/")
	}
	return s, nil
}

// readComment takes the first line, the settings up to the first empty line, and the prose.
func (s *Script) readComment(at source, comment string) error {
	lines := strings.Split(comment, "\n")
	if strings.TrimSpace(lines[0]) != firstLine {
		return at.fault(0, "want %q as the first line, got %q", firstLine, bounded(lines[0], 60))
	}
	for i, line := range lines[1:] {
		if strings.TrimSpace(line) == "" {
			s.About = strings.TrimSpace(strings.Join(lines[i+1:], "\n"))
			return nil
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || name != "pace" {
			return at.fault(i+1, "unknown setting %q; known is «pace: N words/s», and prose begins after an empty line", bounded(line, 60))
		}
		pace, err := wordsPerSecond(strings.TrimSpace(value))
		if err != nil {
			return at.fault(i+1, "pace: %v", err)
		}
		s.pace = pace
	}
	return nil
}

// readFiles sorts the files of the archive by their folder and parses the beats last, since
// they refer to the others.
func (s *Script) readFiles(name string, a *txtar.Archive) error {
	line := 1 + bytes.Count(a.Comment, []byte("\n"))
	p := parser{files: map[string]string{}}
	var beats []txtar.File
	var at []source
	for _, f := range a.Files {
		here := source{script: name, part: f.Name, line: line + 1}
		line += 1 + bytes.Count(f.Data, []byte("\n"))
		if _, twice := p.files[f.Name]; twice {
			return here.fault(-1, "the archive holds this file twice")
		}
		p.files[f.Name] = string(f.Data)
		if strings.HasPrefix(f.Name, "beats/") {
			beats, at = append(beats, f), append(at, here)
			continue
		}
		if err := s.keep(here, f); err != nil {
			return err
		}
	}
	for i, f := range beats {
		if err := s.addBeat(&p, at[i], f); err != nil {
			return err
		}
	}
	if err := s.keepBack(beats, at); err != nil {
		return err
	}
	return p.unused(s, at)
}

// keepBack finds the calls that ran when a recorded steer came, and leaves out the calls that it kept from beginning: a player cannot know
// how long a call takes, so it gives those alone that were begun. Where none is left the answer
// holds, for the steer stopped it.
func (s *Script) keepBack(files []txtar.File, at []source) error {
	for i, b := range s.beats {
		if b.on == nil || len(b.on.cancelled)+len(b.on.running) == 0 {
			continue
		}
		here := at[slices.IndexFunc(files, func(f txtar.File) bool { return f.Name == "beats/"+b.name })]
		if i == 0 || slices.Max(slices.Concat(b.on.cancelled, b.on.running)) > len(s.beats[i-1].calls()) {
			return here.fault(-1, "«cancelled» or «running» names a call that the beat before does not make")
		}
		for _, n := range b.on.running {
			b.on.during = append(b.on.during, s.beats[i-1].calls()[n-1].text)
		}
		if len(b.on.cancelled) > 0 {
			s.beats[i-1].leaveOut(b.on.cancelled)
		}
	}
	return nil
}

// keep takes a file that is no beat.
func (s *Script) keep(at source, f txtar.File) error {
	dir, rest, _ := strings.Cut(f.Name, "/")
	switch {
	case f.Name == "task":
		s.Task = strings.TrimSpace(string(f.Data))
	case f.Name == "steer":
		s.Steer = strings.TrimSpace(string(f.Data))
	case dir == "files" && rest != "":
	case dir == "workspace" && rest != "":
		if !filepath.IsLocal(filepath.FromSlash(rest)) || path.Clean(rest) != rest {
			return at.fault(-1, "the path leads out of the workspace or is not in its plain form")
		}
		s.Files = append(s.Files, File{Path: rest, Data: f.Data})
	default:
		return at.fault(-1, "unknown file; known are task, steer, workspace/…, files/… and beats/…")
	}
	return nil
}

// addBeat parses one beat and puts it in its place.
func (s *Script) addBeat(p *parser, at source, f txtar.File) error {
	b, err := p.beat(at, strings.TrimPrefix(f.Name, "beats/"), string(f.Data))
	if err != nil {
		return err
	}
	if p.last != "" && b.name <= p.last {
		return at.fault(-1, "beats stand in the order of their names; this one comes after %s", p.last)
	}
	p.last = b.name
	if b.aside != "" {
		s.asides = append(s.asides, b)
		return nil
	}
	s.beats = append(s.beats, b)
	return nil
}

// Unpack writes the workspace into a folder, which is made where it is missing. It writes over
// nothing: a file that is there already is an error. Scripts (#!) become executable.
func (s *Script) Unpack(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("unpack rehearsal %s: %w", s.Name, err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("unpack rehearsal %s: %w", s.Name, err)
	}
	defer root.Close()
	for _, f := range s.Files {
		if err := unpack(root, f); err != nil {
			return fmt.Errorf("unpack rehearsal %s: %w", s.Name, err)
		}
	}
	return nil
}

func unpack(root *os.Root, f File) error {
	name, mode := filepath.FromSlash(f.Path), fs.FileMode(0o644)
	if bytes.HasPrefix(f.Data, []byte("#!")) {
		mode = 0o755
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if _, err := out.Write(f.Data); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// bounded gives the head of a text on one line, for messages.
func bounded(text string, n int) string {
	line := strings.Join(strings.Fields(text), " ")
	if r := []rune(line); len(r) > n {
		return string(r[:n]) + "…"
	}
	return line
}
