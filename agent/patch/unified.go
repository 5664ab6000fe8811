package patch

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// unified reads a unified diff, of one file or of several. Words between the files are not read.
func (r *reader) unified() ([]File, error) {
	var files []File
	for r.more() {
		switch l := r.line(); {
		case strings.HasPrefix(l, "diff --git "), isHead(r.lines[r.at:]), isHunk(l) && len(files) == 0:
			f, err := r.diff()
			if err != nil {
				return nil, err
			}
			files = append(files, f)
		case isHunk(l), len(files) > 0 && strings.ContainsRune(" +-", rune((l + "\n")[0])) && !isSignature(l):
			return nil, r.wrong("(%q) stands in no hunk", clip(l))
		default:
			r.at++
		}
	}
	return files, nil
}

// isSignature is how git ends a patch that is sent as a letter.
func isSignature(l string) bool { return l == "-- " || l == "--" }

// endsDiff says that a line cannot stand in a hunk whose length is not known.
func endsDiff(rest []string) bool {
	return strings.HasPrefix(rest[0], "diff --git ") || isSignature(rest[0]) ||
		isHead(rest) && (len(rest) == 2 || isHunk(rest[2]))
}

// changes are what the lines before a file's hunks say.
type changes struct {
	old, now      string // names, with their prefixes
	from, to      string // of a move
	git           string // what stands behind diff --git
	made, deleted bool
	mode          string
}

// diff reads what a diff says of one file.
func (r *reader) diff() (File, error) {
	c, err := r.changes()
	if err != nil {
		return File{}, err
	}
	hunks, err := r.hunks(endsDiff)
	if err != nil {
		return File{}, err
	}
	return c.file(hunks)
}

// refused are lines that say what no text edit can do.
var refused = []struct{ begins, why string }{
	{"Binary files ", "says only that a binary file differs: use a command that writes it"},
	{"GIT binary patch", "begins binary data: use a command that writes the file"},
	{"copy from ", "copies a file: write the new file whole"},
	{"new file mode 120000", "makes a link: use a command"},
	{"new file mode 160000", "makes a submodule: use git"},
	{"Subproject commit ", "is of a submodule: use git"},
}

// changes reads the lines before the hunks.
func (r *reader) changes() (c changes, err error) {
	if rest, ok := strings.CutPrefix(r.line(), "diff --git "); ok {
		c.git = rest
		r.at++
	}
	for r.more() && !isHunk(r.line()) && !strings.HasPrefix(r.line(), "diff --git ") {
		l := r.line()
		for _, no := range refused {
			if strings.HasPrefix(l, no.begins) {
				return c, r.wrong("%s", no.why)
			}
		}
		if isHead(r.lines[r.at:]) {
			c.old, c.now = fileName(l[4:]), fileName(r.lines[r.at+1][4:])
			r.at += 2
			return c, nil
		}
		c.take(l)
		r.at++
	}
	return c, nil
}

func (c *changes) take(l string) {
	word := func(prefix string, into *string) bool {
		rest, ok := strings.CutPrefix(l, prefix)
		if ok {
			*into = fileName(rest)
		}
		return ok
	}
	var mode string
	switch {
	case word("rename from ", &c.from), word("rename to ", &c.to), word("new mode ", &c.mode):
	case word("new file mode ", &mode):
		c.made = true
		if mode != "100644" {
			c.mode = mode
		}
	case strings.HasPrefix(l, "deleted file mode "):
		c.deleted = true
	}
}

// fileName is a name in a diff: quoted as in C where it has odd characters, and with the time
// behind it.
func fileName(s string) string {
	if strings.HasPrefix(s, `"`) {
		if name, err := strconv.Unquote(strings.TrimSpace(s)); err == nil {
			return name
		}
	}
	s, _, _ = strings.Cut(s, "\t")
	return strings.TrimRight(s, " ")
}

const none = "/dev/null"

// file puts together what is said of a file.
func (c changes) file(hunks []Hunk) (File, error) {
	f := File{Hunks: hunks}
	c.made, c.deleted = c.made || c.old == none, c.deleted || c.now == none
	var err error
	if f.Path, f.To, err = c.names(); err != nil {
		return f, err
	}
	if c.mode != "" && c.mode != "100644" || c.mode == "100644" && !c.made {
		f.Notes = []string{fmt.Sprintf("The patch asks for the mode %s of %s, which an edit does not change: run chmod for it.", c.mode, f.Path)}
	}
	switch {
	case c.made && c.deleted:
		return f, fmt.Errorf("the patch makes %s and deletes it: say which", f.Path)
	case c.made:
		return f.made()
	case c.deleted:
		return f.deleted()
	case len(hunks) == 0 && f.To == "" && len(f.Notes) > 0:
		return f, fmt.Errorf("the patch changes only the mode of %s: run chmod for it", f.Path)
	case len(hunks) == 0 && f.To == "":
		return f, fmt.Errorf("the patch for %s has no hunk", f.Path)
	}
	return f, nil
}

// made is a file whose one hunk is its text.
func (f File) made() (File, error) {
	f.Kind = Add
	for _, h := range f.Hunks {
		if h.Old != "" {
			return f, fmt.Errorf("the patch makes %s, but has lines of an old file: a new file has only lines with +", f.Path)
		}
		f.Text += h.New
	}
	f.Hunks = nil
	return f, nil
}

func (f File) deleted() (File, error) {
	f.Kind = Delete
	for _, h := range f.Hunks {
		if h.New != "" {
			return f, fmt.Errorf("the patch deletes %s, but keeps lines of it: a deleted file has only lines with -", f.Path)
		}
	}
	return f, nil
}

// names are the file's, and its new one where it is moved.
func (c changes) names() (name, to string, err error) {
	if c.from != "" || c.to != "" {
		if c.from == "" || c.to == "" {
			return "", "", fmt.Errorf("the patch moves a file, but gives only one name (%s): give rename from and rename to", c.from+c.to)
		}
		return c.from, c.to, nil
	}
	if c.old == "" && c.now == "" {
		return c.gitName()
	}
	old, now := unprefixed(c.old, c.now)
	switch {
	case old == none:
		return now, "", nil
	case now == none || old == now:
		return old, "", nil
	}
	return "", "", fmt.Errorf("the patch has two names for one file, %s and %s: give the same behind --- and +++, or rename from and rename to", c.old, c.now)
}

// unprefixed takes off the letters that git puts before the names of the two sides.
func unprefixed(old, now string) (string, string) {
	o, oldRest := letter(old)
	n, nowRest := letter(now)
	switch {
	case old == none && n == "b":
		return old, nowRest
	case now == none && o == "a":
		return oldRest, now
	case o != "" && n != "" && o != n && oldRest == nowRest:
		return oldRest, nowRest
	}
	return old, now
}

func letter(name string) (letter, rest string) {
	if len(name) > 2 && name[1] == '/' && strings.ContainsRune("abciow", rune(name[0])) {
		return name[:1], name[2:]
	}
	return "", name
}

var gitQuoted = regexp.MustCompile(`^("(?:[^"\\]|\\.)*") ("(?:[^"\\]|\\.)*")$`)

// gitName is the name behind diff --git, where nothing else tells it: both sides are the same then.
func (c changes) gitName() (string, string, error) {
	old, now := "", ""
	if m := gitQuoted.FindStringSubmatch(c.git); m != nil {
		old, now = fileName(m[1]), fileName(m[2])
	} else if half := len(c.git) / 2; half > 0 && c.git[half] == ' ' {
		old, now = c.git[:half], c.git[half+1:]
	}
	if old, now = unprefixed(old, now); c.git != "" && (old != now || old == "") {
		return "", "", fmt.Errorf("the patch has no names that can be told apart in %q: give --- a/FILE and +++ b/FILE", clip(c.git))
	}
	return old, "", nil
}

// clip bounds what an error shows of a patch.
func clip(s string) string {
	const most = 60
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
