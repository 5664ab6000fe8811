package tool

import (
	"context"
	"fmt"
	"io/fs"
	"slices"

	"tandem/agent/patch"
)

// The types that the files speak in are plain structs by alias, so that whoever has the
// files need not know this package.
type (
	// Edit replaces Old by New, in one place or with ReplaceAll in all.
	Edit = struct {
		Old, New   string
		ReplaceAll bool
	}
	// Image is one state of a file; Digest names its content, "" when it is not known.
	Image = struct {
		Digest string
		Size   int64
		Mode   fs.FileMode
		Link   string
	}
	// Change is what happened to a path; a nil image means that there was, or is, no file. Made
	// is how many folders above it were made for it.
	Change = struct {
		Path          string
		Before, After *Image
		Made          int
	}
	// Result tells of a mutation: Diff is unified, Notes are sentences for the model.
	Result = struct {
		Changes []Change
		Diff    string
		Notes   []string
	}
	// Text is the lines First to Last of Total of a file, with what was cut said in Note.
	Text = struct {
		Text               string
		First, Last, Total int
		Note               string
	}
	// Listing is paths; More were left out; Folded means that folders stand for their files.
	Listing = struct {
		Entries []string
		More    int
		Folded  bool
	}
	// Query asks for the lines that hold a pattern, a regular expression with Regex.
	Query = struct {
		Pattern, Path, Glob string
		Regex               bool
	}
	// Match is one line, counted from 1.
	Match = struct {
		Path string
		Line int
		Text string
	}
	// Found is what a query found in Files files; More matches were left out.
	Found = struct {
		Matches     []Match
		More, Files int
		Secret      int // files that hold secrets, which were not searched
	}
)

// Files are the files of one workspace. Their errors are sentences that a model can act on.
type Files interface {
	List(ctx context.Context, path, glob string) (Listing, error)
	Search(ctx context.Context, q Query) (Found, error)
	Read(path string, first, last int) (Text, error)
	Edit(ctx context.Context, path string, edits []Edit) (Result, error)
	Patch(ctx context.Context, files []patch.File) (Result, error)
	Write(ctx context.Context, path, content string) (Result, error)
	Move(ctx context.Context, from, to string) (Result, error)
	Delete(ctx context.Context, path string) (Result, error)
}

// Tools runs calls on Files.
type Tools struct {
	Files Files
}

// Call is one call as the model gave it; Arguments should be a JSON object.
type Call struct {
	Name, Arguments string
}

// Outcome is what came of a call. Text is what the model reads: never empty, and at most
// 32 kB, but for read_file, which is bounded where it reads. Summary is one line for the
// developer. Changes are there also when the call failed after it had changed something.
type Outcome struct {
	Text    string
	Failed  bool
	Changes []Change
	Summary string
}

// The names of the tools, as PROTOCOL has them.
const (
	ListFiles  = "list_files"
	Search     = "search"
	ReadFile   = "read_file"
	EditFile   = "edit_file"
	WriteFile  = "write_file"
	MoveFile   = "move_file"
	DeleteFile = "delete_file"
)

// examples are calls that are right, shown with each refusal of one that is not.
var examples = map[string]string{
	ListFiles:  `{"path": "src", "glob": "**/*.go"}`,
	Search:     `{"pattern": "func main", "path": "src", "glob": "*.go", "regex": false}`,
	ReadFile:   `{"path": "src/main.go", "start_line": 1, "end_line": 200}`,
	EditFile:   `{"path": "src/main.go", "edits": [{"old": "a := 1", "new": "a := 2"}]}`,
	WriteFile:  `{"path": "src/new.go", "content": "package src\n"}`,
	MoveFile:   `{"from": "src/old.go", "to": "src/new.go"}`,
	DeleteFile: `{"path": "src/old.go"}`,
}

// Takes tells whether a tool of this name is one that Run runs.
func Takes(name string) bool { return examples[name] != "" }

// Run runs one call to its end. It never fails otherwise than by its outcome.
func (t Tools) Run(ctx context.Context, c Call) Outcome {
	if !Takes(c.Name) {
		return failed(c.Name, fmt.Errorf("there is no tool %q for files", c.Name))
	}
	a, err := decode(c.Name, c.Arguments)
	if err != nil {
		return failed(c.Name, err)
	}
	if err := ctx.Err(); err != nil {
		return failed(c.Name, fmt.Errorf("the call was ended before it began: %w", context.Cause(ctx)))
	}
	o := t.run(ctx, c.Name, a)
	if c.Name != ReadFile {
		o.Text = bound(o.Text, maxText)
	}
	return o
}

func (t Tools) run(ctx context.Context, name string, a arguments) Outcome {
	switch name {
	case ListFiles:
		l, err := t.Files.List(ctx, a.path, a.glob)
		return answer(name, err, func() Outcome { return listed(a, l) })
	case Search:
		found, err := t.Files.Search(ctx, Query{Pattern: a.pattern, Path: a.path, Glob: a.glob, Regex: a.regex})
		return answer(name, err, func() Outcome { return searched(a, found) })
	case ReadFile:
		text, err := t.Files.Read(a.path, a.first, a.last)
		return answer(name, err, func() Outcome { return read(a, text) })
	case EditFile:
		if a.patch != nil {
			r, err := t.Files.Patch(ctx, a.patch)
			return changed(name, patched(a.patch), r, err)
		}
		r, err := t.Files.Edit(ctx, a.path, a.edits)
		return changed(name, "Edited "+a.path, r, err)
	case WriteFile:
		r, err := t.Files.Write(ctx, a.path, a.content)
		return changed(name, "Wrote "+a.path, r, err)
	case MoveFile:
		r, err := t.Files.Move(ctx, a.from, a.to)
		return changed(name, "Moved "+a.from+" to "+a.to, r, err)
	default:
		r, err := t.Files.Delete(ctx, a.path)
		return changed(name, "Deleted "+a.path, r, err)
	}
}

func answer(name string, err error, words func() Outcome) Outcome {
	if err != nil {
		return failed(name, err)
	}
	return words()
}

// failed words an error, for the developer by its first line.
func failed(name string, err error) Outcome {
	text := err.Error()
	return Outcome{Text: bound("Refused: "+text, maxText), Failed: true, Summary: oneLine(name + ": " + text)}
}

// Paths are the paths that a call would touch, as they were given: a rule about paths has
// to resolve them first. Those of a patch are all there. They are nil when the call has none, or
// cannot be understood.
func Paths(name, args string) []string {
	if !Takes(name) {
		return nil
	}
	o, err := object(args)
	if err != nil {
		return nil
	}
	var paths []string
	for _, field := range []string{"path", "from", "to"} {
		if v := o.peek(field); v != "" {
			paths = append(paths, v)
		}
	}
	if files, _, err := patch.In(args); err == nil && name == EditFile {
		paths = append(paths, slices.DeleteFunc(patch.Names(files), func(v string) bool { return slices.Contains(paths, v) })...)
	}
	return paths
}
