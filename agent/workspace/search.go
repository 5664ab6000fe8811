package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"regexp/syntax"
	"strings"
)

// Bounds of one search.
const (
	maxMatches = 200
	maxShown   = 300
)

// Query asks for lines. Pattern is text as it stands, or with Regex a regular expression in
// RE2's syntax; Path and Glob narrow the files as for List.
type Query = struct {
	Pattern, Path, Glob string
	Regex               bool
}

// Match is one line, counted from 1, that a query found; Text is cut after 300 bytes.
type Match = struct {
	Path string
	Line int
	Text string
}

// Found holds the first 200 matches in the order of paths and lines. More counts those that
// are left out, Files the files with any.
type Found = struct {
	Matches     []Match
	More, Files int
	Secret      int // files that hold secrets, which were not searched
}

// Search finds the lines that match in the files that List would give, line by line. Open
// documents are searched as they stand in the editor; binary files, and those that hold secrets,
// are not searched.
//
// Where ripgrep is on the path it first names the files that can match at all; which lines
// do is always decided here, so the result is the same without it.
func (w *Workspace) Search(ctx context.Context, q Query) (Found, error) {
	re, err := compile(q)
	if err != nil {
		return Found{}, err
	}
	dir, match, err := w.scope(q.Path, q.Glob)
	if err != nil {
		return Found{}, err
	}
	var names []string
	var found Found
	err = w.walk(ctx, dir, func(name string, d fs.DirEntry) error {
		switch {
		case !match(name) || !d.Type().IsRegular():
		case w.holdsSecrets(name):
			found.Secret++
		default:
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return Found{}, err
	}
	if names, err = w.likely(ctx, names, re.String()); err != nil {
		return Found{}, err
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return Found{}, err
		}
		w.grep(name, re, &found)
	}
	return found, nil
}

// compile makes the expression of a query, and refuses what no single line can match.
func compile(q Query) (*regexp.Regexp, error) {
	if q.Pattern == "" {
		return nil, errors.New("the pattern is empty: give the text to look for")
	}
	if strings.ContainsAny(q.Pattern, "\r\n") {
		return nil, errors.New("the pattern holds a line end, but search looks at one line at a time: give a part of one line")
	}
	if !q.Regex {
		return regexp.MustCompile(regexp.QuoteMeta(q.Pattern)), nil
	}
	re, err := regexp.Compile(q.Pattern)
	var bad *syntax.Error
	if errors.As(err, &bad) {
		return nil, fmt.Errorf("the regular expression does not parse (%s: %s): use RE2 syntax, or regex false to look for the text as it is", bad.Code, bad.Expr)
	}
	return re, err
}

// grep adds the matches in one file. A file that cannot be read as text has none.
func (w *Workspace) grep(name string, re *regexp.Regexp, found *Found) {
	text, _, open := w.buffer(name)
	if !open {
		f, err := w.fetch(name)
		if err != nil {
			return
		}
		d, err := decode(f.data)
		if err != nil {
			return
		}
		text = d.text
	}
	if !re.MatchString(text) && !anchored(re) {
		return
	}
	any := false
	for i, l := range split(text, isOldMac(text)) {
		if !re.MatchString(l.text) {
			continue
		}
		any = true
		if len(found.Matches) == maxMatches {
			found.More++
			continue
		}
		found.Matches = append(found.Matches, Match{Path: name, Line: i + 1, Text: clip(l.text)})
	}
	if any {
		found.Files++
	}
}

// anchored tells whether an expression may match a line although it does not match the text
// around it.
func anchored(re *regexp.Regexp) bool {
	return strings.ContainsAny(re.String(), "^$") || strings.Contains(re.String(), `\A`) || strings.Contains(re.String(), `\z`)
}

func clip(s string) string {
	if len(s) > maxShown {
		s = fmt.Sprintf("%s… (%d bytes more)", s[:maxShown], len(s)-maxShown)
	}
	return strings.ToValidUTF8(s, "\ufffd")
}
