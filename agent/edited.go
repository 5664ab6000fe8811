package agent

import (
	"fmt"
	"slices"
	"strings"

	"tandem/protocol"
)

// Edited says that the text of a file became another, and that it was not the agent's doing: the
// developer types, or an editor gave up text that was not saved. Path is slash-separated and
// relative to the workspace. By names the client in which it happened.
type Edited struct{ Path, By string }

// FileEdited says that the developer edited a file which concerns the agent. It is said once a
// file until the agent is told.
type FileEdited struct {
	Path string `json:"path"`
	By   string `json:"by,omitempty"`
}

func (Edited) input() {}

// fileEdited keeps an edit by hand for the next question, where it concerns the agent and is news.
func (m *moment) fileEdited(in Edited) {
	told := slices.ContainsFunc(m.Unsaid, func(n Note) bool { return n.File == in.Path })
	if m.alive() && !told && m.concerns(in.Path) {
		m.say(FileEdited(in))
	}
}

// concerns says that a file is one of a step of the plan, or that the agent has read or changed it.
func (s State) concerns(path string) bool {
	for _, t := range s.Plan.Steps {
		if t.Status != protocol.StepDropped && slices.ContainsFunc(t.Files, func(f string) bool { return s.path(f) == path }) {
			return true
		}
	}
	for _, c := range s.Open {
		if s.handled(c.Op, path) || c.Op.Tool == toolEditFile && slices.ContainsFunc(filesIn(c.Arguments), func(f string) bool { return s.path(f) == path }) {
			return true
		}
	}
	for p := range s.done.newest {
		if s.handled(p.Op, path) {
			return true
		}
	}
	return false
}

// handled says that an operation read or changed a file.
func (s State) handled(op protocol.Operation, path string) bool {
	if slices.Contains(op.Files, path) {
		return true
	}
	switch op.Tool {
	case toolReadFile, toolEditFile, toolWriteFile:
		return s.path(op.Target) == path
	}
	return false
}

// path is a path as the model gives it, in the form in which changes name it.
func (s State) path(given string) string {
	if strings.HasPrefix(given, "/") {
		given = "file://" + given
	}
	return strings.TrimPrefix(relative(s.Started.Workspace, given), "./")
}

// noteEdited has the agent told of an edit with the next question.
func (s *State) noteEdited(e FileEdited) {
	s.Unsaid = append(slices.Clone(s.Unsaid), Note{File: e.Path, Text: editedNote(e)})
}

func editedNote(e FileEdited) string {
	where := ""
	if e.By != "" {
		where = " in " + inline(e.By)
	}
	return fmt.Sprintf("[edited] The text of %s was changed%s, and not by you. Read it again before you build on it; what the developer wrote there stays.", inline(e.Path), where)
}
