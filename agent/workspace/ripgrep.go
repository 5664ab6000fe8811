package workspace

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"regexp/syntax"
	"strings"
	"time"
)

// Bounds of how ripgrep is asked: fewer files are quicker read here, and a command line has
// a length.
const (
	minAsked     = 64
	maxArguments = 96 << 10
)

// findRipgrep looks for ripgrep on the path; "" when there is none. One that lies in the
// workspace is repository text, and is not run.
func findRipgrep(workspace string) string {
	at, err := exec.LookPath("rg")
	if err != nil || within(workspace, at) {
		return ""
	}
	return at
}

// likely leaves out the files that ripgrep knows not to hold the words without which the
// expression cannot match. Documents that are open stay in.
func (w *Workspace) likely(ctx context.Context, names []string, expression string) ([]string, error) {
	words, fold := required(expression)
	if w.rg == "" || len(names) < minAsked || len(words) < 2 {
		return names, nil
	}
	var left []string
	for batch := range batches(names, maxArguments) {
		hits, err := w.ask(ctx, batch, words, fold)
		if err != nil {
			return nil, err
		}
		for _, name := range batch {
			if _, _, open := w.buffer(name); open || hits == nil || hits[name] {
				left = append(left, name)
			}
		}
	}
	return left, nil
}

// batches cuts names into runs that fit a command line.
func batches(names []string, size int) func(yield func([]string) bool) {
	return func(yield func([]string) bool) {
		from, sum := 0, 0
		for i, name := range names {
			if sum += len(name) + 3; sum > size && i > from {
				if !yield(names[from:i]) {
					return
				}
				from, sum = i, len(name)+3
			}
		}
		yield(names[from:])
	}
}

// ask gives the files that hold the words; nil when ripgrep could not tell of all of them,
// so that none may be left out.
func (w *Workspace) ask(ctx context.Context, names []string, words string, fold bool) (map[string]bool, error) {
	args := []string{"--no-config", "--no-messages", "--files-with-matches", "--null", "--text", "--encoding", "none", "--color", "never", "--fixed-strings"}
	if fold {
		args = append(args, "--ignore-case")
	} else {
		args = append(args, "--case-sensitive")
	}
	args = append(args, "-e", words, "--")
	for _, name := range names {
		args = append(args, "./"+name)
	}
	cmd := exec.CommandContext(ctx, w.rg, args...)
	cmd.Dir = w.dir
	cmd.Env = []string{}
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
		return nil, nil
	}
	hits := map[string]bool{}
	for name := range bytes.SplitSeq(out, []byte{0}) {
		hits[strings.TrimPrefix(string(name), "./")] = true
	}
	return hits, nil
}

// required gives the longest ASCII text that every match of an expression holds, and whether
// its case does not matter; "" when there is none. Only ASCII has the same bytes in every
// encoding that is searched.
func required(expression string) (words string, fold bool) {
	re, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return "", false
	}
	return literal(re.Simplify())
}

func literal(re *syntax.Regexp) (words string, fold bool) {
	switch re.Op {
	case syntax.OpLiteral:
		return ascii(re.Rune), re.Flags&syntax.FoldCase != 0
	case syntax.OpCapture, syntax.OpPlus:
		return literal(re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if w, f := literal(sub); len(w) > len(words) {
				words, fold = w, f
			}
		}
	}
	return words, fold
}

// ascii is the longest run of ASCII characters.
func ascii(runes []rune) string {
	longest := ""
	for run := range strings.FieldsFuncSeq(string(runes), func(r rune) bool { return r >= 0x80 }) {
		if len(run) > len(longest) {
			longest = run
		}
	}
	return longest
}
