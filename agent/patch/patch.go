package patch

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Kind is what a patch does to a file.
type Kind int

// A file is changed (or moved, where File has a To), made, or deleted.
const (
	Update Kind = iota
	Add
	Delete
)

// Edit replaces Old by New, in the one place where Old stands or with ReplaceAll in all.
type Edit = struct {
	Old, New   string
	ReplaceAll bool
}

// Hunk replaces whole lines by others. Old and New end each line with "\n"; the last one is
// without where the patch says that the file has no final newline.
type Hunk struct {
	Old, New string
	// Anchors are lines behind which the hunk stands, each behind the one before.
	Anchors []string
	// Line is where Old begins, counted from 1; 0 where the patch does not say, or contradicts
	// itself. Before and After count the lines of context around the change.
	Line, Before, After int
	// AtEnd says that the hunk reaches the end of the file.
	AtEnd bool
}

// File is what a patch does to one file. An update has Hunks or Edits, or only a new name. Hunks
// of a deletion say what the file holds; without any it may hold anything.
type File struct {
	Kind  Kind
	Path  string
	To    string // where the file is moved; "" is nowhere
	Text  string // of a file that is made
	Hunks []Hunk
	Edits []Edit
	Notes []string // what the patch asks for and does not get, in sentences
}

// Names are all the paths that a patch touches, each once.
func Names(files []File) []string {
	var names []string
	for _, f := range files {
		for _, name := range []string{f.Path, f.To} {
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Parse reads a patch in any of its forms. Path is the file that was named beside it, or "": it
// is the file of what names none.
func Parse(text, path string) ([]File, error) {
	lines, from := unfenced(text)
	r := &reader{lines: lines, from: from}
	var files []File
	var err error
	switch form(lines) {
	case envelope:
		files, err = r.envelope()
	case blocks:
		files, err = r.blocks()
	case unified:
		files, err = r.unified()
	default:
		err = errors.New("the patch is none: it has no hunk that begins with @@, no *** Begin Patch and no block <<<<<<< SEARCH")
	}
	if err != nil {
		return nil, err
	}
	return named(files, path)
}

type style int

const (
	unknown style = iota
	unified
	envelope
	blocks
)

// form tells the form of a patch by the first line that shows one.
func form(lines []string) style {
	for i, l := range lines {
		switch {
		case isMarker(l):
			return envelope
		case opening.MatchString(l):
			return blocks
		case strings.HasPrefix(l, "@@"), strings.HasPrefix(l, "diff --git "), isHead(lines[i:]):
			return unified
		}
	}
	return unknown
}

// isHead says that the two lines of a diff that name its file begin here.
func isHead(lines []string) bool {
	return len(lines) > 1 && strings.HasPrefix(lines[0], "--- ") && strings.HasPrefix(lines[1], "+++ ")
}

// Begins says that a text is a patch from its first line on: not one in which a patch stands.
func Begins(text string) bool {
	lines := strings.SplitN(strings.TrimLeft(lf(text), "\n"), "\n", 3)
	first := lines[0]
	return isHead(lines) || opening.MatchString(first) || strings.TrimSpace(first) == beginPatch ||
		strings.HasPrefix(first, "diff --git ") || numbers.MatchString(first)
}

func lf(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// unfenced cuts a text into lines, without blank lines before it and the code fence around it. From
// is the number of the first line that is left.
func unfenced(text string) (lines []string, from int) {
	lines, from = strings.Split(lf(text), "\n"), 1
	skip := func() {
		for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
			lines, from = lines[1:], from+1
		}
	}
	skip()
	if len(lines) == 0 || fence(lines[0]) == "" {
		return lines, from
	}
	last := len(lines) - 1
	for last > 0 && strings.TrimSpace(lines[last]) == "" {
		last--
	}
	if last > 0 && strings.TrimSpace(lines[last]) == fence(lines[0]) {
		lines, from = lines[1:last], from+1
		skip()
	}
	return lines, from
}

// fence is the mark of a line that opens or closes a code block, or "".
func fence(l string) string {
	n := len(l) - len(strings.TrimLeft(l, "`"))
	if n < 3 {
		return ""
	}
	return l[:n]
}

// named gives what names no file the one that was named beside the patch, and refuses a patch for
// another file than that.
func named(files []File, beside string) ([]File, error) {
	if path.Clean(beside) == "." {
		beside = ""
	}
	for i := range files {
		if files[i].Path == "" {
			files[i].Path = beside
		}
		if files[i].Path == "" {
			return nil, errors.New("the patch names no file: give its path, or begin the patch with --- a/FILE and +++ b/FILE")
		}
	}
	names := Names(files)
	switch {
	case beside == "" || slices.ContainsFunc(names, func(n string) bool { return path.Clean(n) == path.Clean(beside) }):
	case len(files) == 1 && strings.HasSuffix(path.Clean(beside), "/"+path.Clean(files[0].Path)):
		files[0].Path = beside
	default:
		return nil, fmt.Errorf("path is %s, but the patch changes %s: leave path out, or send the patch for that file", beside, strings.Join(names, ", "))
	}
	return files, nil
}

// reader goes through the lines of a patch; from is the number of the first.
type reader struct {
	lines []string
	at    int
	from  int
}

func (r *reader) more() bool { return r.at < len(r.lines) }

func (r *reader) line() string { return r.lines[r.at] }

// wrong is an error about the line that the reader is at.
func (r *reader) wrong(format string, args ...any) error {
	return fmt.Errorf("line %d of the patch %s", r.at+r.from, fmt.Sprintf(format, args...))
}
