package patch

import (
	"errors"
	"regexp"
	"strings"
)

var (
	opening = regexp.MustCompile(`^<{5,9} SEARCH>?\s*$`)
	middle  = regexp.MustCompile(`^={5,9}\s*$`)
	closing = regexp.MustCompile(`^>{5,9} REPLACE\s*$`)
	escaped = regexp.MustCompile(`(?m)^\\([<=>-]{5,9})`)
	// hint is a line number that some models are taught to give. It is no part of the text, and
	// the text finds its place without it.
	hint = regexp.MustCompile(`^(?:(?::start_line:|:end_line:) ?\d*\n)+(?:-{5,9}\n)?`)
)

// blocks reads blocks of search and replace. A line before a block names its file; without one it
// is the file of the block before.
func (r *reader) blocks() ([]File, error) {
	var files []File
	name := ""
	for r.more() {
		l := r.line()
		if !opening.MatchString(l) {
			if s := strings.Trim(strings.TrimSpace(l), "`*#: "); s != "" && fence(l) == "" {
				name = s
			}
			r.at++
			continue
		}
		r.at++
		e, err := r.block()
		if err != nil {
			return nil, err
		}
		if n := len(files); n > 0 && files[n-1].Path == name {
			files[n-1].Edits = append(files[n-1].Edits, e)
			continue
		}
		files = append(files, File{Path: name, Edits: []Edit{e}})
	}
	return files, nil
}

// block reads one block behind its first line.
func (r *reader) block() (Edit, error) {
	search, ok := r.until(middle)
	if !ok {
		return Edit{}, errors.New("a block has no line ======= : it was cut off, so nothing of the patch is applied")
	}
	replace, ok := r.until(closing)
	if !ok {
		return Edit{}, errors.New("a block has no line >>>>>>> REPLACE: it was cut off, so nothing of the patch is applied")
	}
	for l := range strings.SplitSeq(search+replace, "\n") {
		if middle.MatchString(l) || opening.MatchString(l) {
			return Edit{}, r.wrong("ends a block in which %q stands besides: where it is text, put a backslash before it, or use edits with old and new", clip(l))
		}
	}
	search = hint.ReplaceAllString(search, "")
	return Edit{Old: escaped.ReplaceAllString(search, "$1"), New: escaped.ReplaceAllString(replace, "$1")}, nil
}

// until takes the lines up to one that fits, and that one.
func (r *reader) until(end *regexp.Regexp) (string, bool) {
	var b strings.Builder
	for r.more() {
		l := r.line()
		r.at++
		if end.MatchString(l) {
			return b.String(), true
		}
		b.WriteString(l + "\n")
	}
	return "", false
}
