package tool

import (
	"fmt"
	"strings"

	"tandem/agent/patch"
)

// Bounds of what is said, in bytes.
const (
	maxText = 32 << 10
	maxDiff = 6 << 10
	maxLine = 160
)

func listed(a arguments, l Listing) Outcome {
	where := a.path
	if where == "" || where == "." {
		where = "the workspace"
	}
	if len(l.Entries) == 0 {
		text := fmt.Sprintf("There is no file in %s", where)
		if a.glob != "" {
			text += " that matches " + a.glob
		}
		return Outcome{Text: text + ", save what git ignores.", Summary: oneLine(text)}
	}
	var b strings.Builder
	b.WriteString(strings.Join(l.Entries, "\n"))
	if l.Folded {
		b.WriteString("\n(There are too many files to list them all: give a folder as path, or a glob.)")
	}
	if l.More > 0 {
		fmt.Fprintf(&b, "\n… %d more: give a folder as path, or a narrower glob.", l.More)
	}
	return Outcome{Text: b.String(), Summary: oneLine(fmt.Sprintf("%s in %s", count(len(l.Entries)+l.More, "entry", "entries"), where))}
}

func searched(a arguments, f Found) Outcome {
	if len(f.Matches) == 0 {
		text := fmt.Sprintf("No line matches %q", a.pattern)
		if !a.regex && strings.ContainsAny(a.pattern, `*|\[(`) {
			text += " as plain text (set regex true for a regular expression)"
		}
		return Outcome{Text: text + "." + unsearched(f), Summary: oneLine(text)}
	}
	var b strings.Builder
	for _, m := range f.Matches {
		fmt.Fprintf(&b, "%s:%d: %s\n", m.Path, m.Line, m.Text)
	}
	if f.More > 0 {
		fmt.Fprintf(&b, "… %d more: give a path, a glob or a longer pattern.\n", f.More)
	}
	total := len(f.Matches) + f.More
	return Outcome{Text: b.String() + strings.TrimPrefix(unsearched(f), " "), Summary: fmt.Sprintf("%s in %s", count(total, "match", "matches"), count(f.Files, "file", "files"))}
}

// unsearched says which files were passed over.
func unsearched(f Found) string {
	switch f.Secret {
	case 0:
		return ""
	case 1:
		return " (1 file that holds secrets by its name was not searched.)"
	}
	return fmt.Sprintf(" (%d files that hold secrets by their names were not searched.)", f.Secret)
}

func read(a arguments, t Text) Outcome {
	if t.Total == 0 {
		return Outcome{Text: strings.TrimSpace(a.path + " is empty. " + t.Note), Summary: oneLine(a.path + " is empty")}
	}
	head := fmt.Sprintf("%s, lines %d to %d of %d", a.path, t.First, t.Last, t.Total)
	text := head + ":\n" + t.Text
	if t.Note != "" {
		text = strings.TrimSuffix(text, "\n") + "\n(" + t.Note + ")"
	}
	return Outcome{Text: text, Summary: oneLine(head)}
}

// changed words a mutation. One that failed after it had changed something says both.
func changed(name, done string, r Result, err error) Outcome {
	if err != nil {
		o := failed(name, err)
		o.Changes = r.Changes
		if len(r.Changes) > 0 {
			o.Text = done + ", but then: " + err.Error()
		}
		return o
	}
	if len(r.Changes) == 0 && len(r.Notes) > 0 {
		text := strings.Join(r.Notes, "\n")
		return Outcome{Text: text, Summary: oneLine(text)}
	}
	isNew := len(r.Changes) == 1 && r.Changes[0].Before == nil
	var b strings.Builder
	b.WriteString(done)
	if isNew {
		fmt.Fprintf(&b, " (new, %d bytes)", r.Changes[0].After.Size)
	}
	b.WriteString(".\n")
	for _, n := range r.Notes {
		b.WriteString(n + "\n")
	}
	// The model has just written a new file: it need not read it again.
	if !isNew {
		b.WriteString(bound(strip(r.Diff), maxDiff))
	}
	return Outcome{Text: b.String(), Changes: r.Changes, Summary: oneLine(done + delta(r.Diff))}
}

// patched says what a patch did, file by file.
func patched(files []patch.File) string {
	words := make([]string, len(files))
	for i, f := range files {
		switch {
		case f.Kind == patch.Add:
			words[i] = "Wrote " + f.Path
		case f.Kind == patch.Delete:
			words[i] = "Deleted " + f.Path
		case f.To != "" && len(f.Hunks) == 0:
			words[i] = "Moved " + f.Path + " to " + f.To
		case f.To != "":
			words[i] = "Edited " + f.Path + " and moved it to " + f.To
		default:
			words[i] = "Edited " + f.Path
		}
	}
	return strings.Join(words, ", ")
}

// strip takes the two file names off a diff of one file: the path was said.
func strip(diff string) string {
	if at := strings.Index(diff, "@@"); at > 0 && strings.Count(diff, "\n--- ") == 0 {
		return diff[at:]
	}
	return diff
}

// delta counts the lines that a diff adds and takes away.
func delta(diff string) string {
	plus, minus := 0, 0
	lines := strings.Split(diff, "\n")
	for i := 0; i < len(lines); i++ {
		switch l := lines[i]; {
		case strings.HasPrefix(l, "--- ") && i+2 < len(lines) && strings.HasPrefix(lines[i+1], "+++ ") && strings.HasPrefix(lines[i+2], "@@"):
			i++ // the names of a file
		case strings.HasPrefix(l, "+"):
			plus++
		case strings.HasPrefix(l, "-"):
			minus++
		}
	}
	if plus+minus == 0 {
		return ""
	}
	return fmt.Sprintf(" (+%d −%d)", plus, minus)
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// bound keeps the head and the tail of a long text, and says between them what was cut.
func bound(s string, size int) string {
	if len(s) <= size {
		return s
	}
	room := size - 64
	head, tail := s[:room*2/3], s[len(s)-room/3:]
	return strings.ToValidUTF8(head, "") + fmt.Sprintf("\n… %d bytes were cut here …\n", len(s)-len(head)-len(tail)) + strings.ToValidUTF8(tail, "")
}

// oneLine makes a text fit for one line of a display.
func oneLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	runes := []rune(strings.ToValidUTF8(s, "\ufffd"))
	if len(runes) > maxLine {
		return string(runes[:maxLine-1]) + "…"
	}
	return string(runes)
}
