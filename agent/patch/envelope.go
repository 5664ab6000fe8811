package patch

import (
	"errors"
	"fmt"
	"strings"
)

// The markers of an envelope.
const (
	beginPatch = "*** Begin Patch"
	endPatch   = "*** End Patch"
	addFile    = "*** Add File:"
	deleteFile = "*** Delete File:"
	updateFile = "*** Update File:"
	moveTo     = "*** Move to:"
	endOfFile  = "*** End of File"
)

// isMarker says that a line begins an envelope, or a file in one. Blanks before it are let pass
// where no hunk can be meant.
func isMarker(l string) bool {
	l = strings.TrimSpace(l)
	return l == beginPatch || strings.HasPrefix(l, addFile) || strings.HasPrefix(l, deleteFile) || strings.HasPrefix(l, updateFile)
}

func endsSection(rest []string) bool { return strings.HasPrefix(rest[0], "***") }

// envelope reads the files between *** Begin Patch and *** End Patch. An envelope that is not
// closed was cut off.
func (r *reader) envelope() ([]File, error) {
	for !isMarker(r.line()) {
		r.at++
	}
	if strings.TrimSpace(r.line()) == beginPatch {
		r.at++
	}
	var files []File
	for {
		r.skipBlank()
		if !r.more() {
			return nil, errors.New("the patch has no *** End Patch: it was cut off, so nothing of it is applied")
		}
		if strings.TrimSpace(r.line()) == endPatch {
			break
		}
		f, err := r.section()
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	r.at++
	if r.skipBlank(); r.more() {
		return nil, r.wrong("(%q) stands behind *** End Patch: send one patch", clip(r.line()))
	}
	if len(files) == 0 {
		return nil, errors.New("the patch holds no file: give *** Update File: PATH, *** Add File: PATH or *** Delete File: PATH")
	}
	return files, nil
}

// section reads what is said of one file.
func (r *reader) section() (File, error) {
	l := strings.TrimSpace(r.line())
	for _, kind := range []struct {
		marker string
		read   func(File) (File, error)
	}{{addFile, r.added}, {deleteFile, r.removed}, {updateFile, r.updated}} {
		if rest, ok := strings.CutPrefix(l, kind.marker); ok {
			f := File{Path: strings.TrimSpace(rest)}
			if f.Path == "" {
				return f, r.wrong("names no file")
			}
			r.at++
			return kind.read(f)
		}
	}
	return File{}, r.wrong("(%q) is none of *** Update File: PATH, *** Add File: PATH, *** Delete File: PATH and *** End Patch", clip(r.line()))
}

// added reads the text of a new file: each line behind a +.
func (r *reader) added(f File) (File, error) {
	f.Kind = Add
	var b strings.Builder
	blank := 0
	for r.more() && !endsSection(r.lines[r.at:]) && !isMarker(r.line()) {
		l := r.line()
		if l != "" && l[0] != '+' {
			return f, r.wrong("(%q) has no +, with which each line of a new file begins", clip(l))
		}
		if l == "" {
			blank++ // a line of the file, unless nothing follows
		} else {
			b.WriteString(strings.Repeat("\n", blank) + l[1:] + "\n")
			blank = 0
		}
		r.at++
	}
	f.Text = b.String()
	return f, nil
}

func (r *reader) removed(f File) (File, error) {
	f.Kind = Delete
	return f, nil
}

func (r *reader) updated(f File) (File, error) {
	if r.more() {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(r.line()), moveTo); ok {
			f.To = strings.TrimSpace(rest)
			r.at++
		}
	}
	var err error
	for r.skipBlank(); r.more() && !isMarker(r.line()) && strings.TrimSpace(r.line()) != endPatch; r.skipBlank() {
		var hunks []Hunk
		if hunks, err = r.hunks(endsSection); err != nil {
			return f, err
		}
		f.Hunks = append(f.Hunks, hunks...)
		if r.more() && strings.TrimSpace(r.line()) == endOfFile && len(hunks) > 0 {
			f.Hunks[len(f.Hunks)-1].AtEnd = true
			r.at++
			continue
		}
		break
	}
	if len(f.Hunks) == 0 && f.To == "" {
		return f, fmt.Errorf("the patch for %s has no hunk: give @@ and lines with + and -", f.Path)
	}
	return f, nil
}
