package rehearsal

import (
	"bytes"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/tools/txtar"
)

// Head is the beginning of a script, up to its first beat: prose for a reader, the task, and the
// workspace. Files that are Unfit do not belong in it; one without a final newline gets one.
func Head(about, task string, files []File) []byte {
	var out bytes.Buffer
	out.WriteString(firstLine + "\n\n" + inside(about) + "\n-- task --\n" + inside(task) + "\n")
	for _, f := range files {
		out.WriteString("-- workspace/" + f.Path + " --\n")
		out.Write(f.Data)
		if len(f.Data) > 0 && !bytes.HasSuffix(f.Data, []byte("\n")) {
			out.WriteString("\n")
		}
	}
	return out.Bytes()
}

// inside is a text that is never taken for the head of a file: an indented line is none.
func inside(text string) string {
	return strings.ReplaceAll("\n"+strings.TrimRight(text, "\n"), "\n-- ", "\n  -- ")[1:]
}

// Unfit says why a script cannot hold a file; "" is that it can.
func Unfit(f File) string {
	name := f.Path
	switch {
	case !filepath.IsLocal(filepath.FromSlash(name)), path.Clean(name) != name, strings.TrimSpace(name) != name,
		!utf8.ValidString(name), strings.ContainsFunc(name, unicode.IsControl):
		return "its name cannot stand in a script"
	case !utf8.Valid(f.Data), bytes.IndexByte(f.Data, 0) >= 0:
		return "it is no text"
	case len(txtar.Parse(f.Data).Files) > 0:
		return "a line of it looks like the head of a file in a script"
	}
	return ""
}
