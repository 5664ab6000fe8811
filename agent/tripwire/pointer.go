package tripwire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/big"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// pointer is a JSON pointer (RFC 6901), its parts unescaped.
type pointer []string

func parsePointer(text string) (pointer, error) {
	if text == "" {
		return nil, nil
	}
	if text[0] != '/' {
		return nil, wrong("", "%q is no JSON pointer: one begins with a slash, as /rows or /orders/0/id", text)
	}
	parts := strings.Split(text[1:], "/")
	for i, p := range parts {
		rest := strings.NewReplacer("~0", "", "~1", "").Replace(p)
		if strings.Contains(rest, "~") {
			return nil, wrong("", "%q is no JSON pointer: ~ is written ~0 and a slash in a name ~1", text)
		}
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(p, "~1", "/"), "~0", "~")
	}
	return parts, nil
}

func (p pointer) String() string {
	var b strings.Builder
	for _, part := range p {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(part, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// child is the pointer one part further.
func (p pointer) child(part string) pointer { return append(slices.Clip(p), part) }

// in is the value at a pointer. Where there is none, upTo is the part of the pointer that is there.
func (p pointer) in(v any) (found any, upTo pointer, ok bool) {
	for i, part := range p {
		var next any
		switch v := v.(type) {
		case map[string]any:
			next, ok = v[part]
		case []any:
			n, good := index(part)
			if ok = good && n < len(v); ok {
				next = v[n]
			}
		default:
			ok = false
		}
		if !ok {
			return nil, p[:i], false
		}
		v = next
	}
	return v, p, true
}

// index is a part of a pointer as a place in an array.
func index(part string) (int, bool) {
	n, err := strconv.Atoi(part)
	return n, err == nil && n >= 0 && strconv.Itoa(n) == part
}

// field is where the value at a pointer stands in a document; the whole file when it is not found.
func (l *look) field(d *document, p pointer) place {
	from, to, ok := locate(d.data, p)
	if !ok {
		return l.file(d.name)
	}
	return l.span(d.name, d.data, from, to)
}

// locate finds the bytes of the value at a pointer in a JSON text. Of a name that stands twice in
// an object the last counts, as it does for the decoder.
func locate(data []byte, p pointer) (from, to int, ok bool) {
	from, to = trimmed(data, 0, len(data))
	for _, part := range p {
		if from, to, ok = member(data, from, to, part); !ok {
			return 0, 0, false
		}
	}
	return from, to, true
}

// member finds a member of the object or array between two bytes.
func member(data []byte, from, to int, part string) (start, end int, ok bool) {
	d := json.NewDecoder(bytes.NewReader(data[from:to]))
	open, err := d.Token()
	if err != nil {
		return 0, 0, false
	}
	for i := 0; d.More(); i++ {
		name := strconv.Itoa(i)
		if open == json.Delim('{') {
			key, err := d.Token()
			if err != nil {
				return 0, 0, false
			}
			name, _ = key.(string) // the decoder refuses any other key
		}
		before := from + int(d.InputOffset())
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			return 0, 0, false
		}
		if name == part {
			end = from + int(d.InputOffset())
			start, ok = max(end-len(skipped), before), true
		}
	}
	return start, end, ok
}

// trimmed narrows two bytes to the value between them.
func trimmed(data []byte, from, to int) (int, int) {
	inner := bytes.TrimLeft(data[from:to], " \t\r\n")
	from = to - len(inner)
	return from, from + len(bytes.TrimRight(inner, " \t\r\n"))
}

// difference is one pointer at which two JSON values differ. A side may have nothing there.
type difference struct {
	at              pointer
	left, right     any
	inLeft, inRight bool
}

// texts are both sides as text.
func (d difference) texts() (left, right string) {
	left, right = "nothing", "nothing"
	if d.inLeft {
		left = jsonText(d.left)
	}
	if d.inRight {
		right = jsonText(d.right)
	}
	return left, right
}

// differences tells where two JSON values differ, in the order of their pointers, until it is told
// false. It says whether they are the same, as far as it went.
func differences(at pointer, left, right any, tell func(difference) bool) (same bool) {
	same = true
	walk(difference{at, left, right, true, true}, func(d difference) bool {
		same = false
		return tell(d)
	})
	return same
}

// walk goes through two values side by side; it says whether to go on.
func walk(d difference, tell func(difference) bool) bool {
	if l, ok := d.left.(map[string]any); ok {
		if r, ok := d.right.(map[string]any); ok {
			return walkObjects(d.at, l, r, tell)
		}
	}
	if l, ok := d.left.([]any); ok {
		if r, ok := d.right.([]any); ok {
			return walkArrays(d.at, l, r, tell)
		}
	}
	if d.inLeft && d.inRight && sameJSON(d.left, d.right) {
		return true
	}
	return tell(d)
}

// sameJSON says whether two values are the same; numbers are by their size, not by their digits.
func sameJSON(left, right any) bool {
	l, lnum := left.(json.Number)
	r, rnum := right.(json.Number)
	if lnum && rnum {
		return near(l.String(), r.String(), new(big.Rat))
	}
	return lnum == rnum && reflect.DeepEqual(left, right)
}

func walkObjects(at pointer, left, right map[string]any, tell func(difference) bool) bool {
	names := map[string]bool{}
	for n := range left {
		names[n] = true
	}
	for n := range right {
		names[n] = true
	}
	for _, n := range sortedKeys(names) {
		l, inLeft := left[n]
		r, inRight := right[n]
		if !walk(difference{at.child(n), l, r, inLeft, inRight}, tell) {
			return false
		}
	}
	return true
}

func walkArrays(at pointer, left, right []any, tell func(difference) bool) bool {
	for i := range max(len(left), len(right)) {
		d := difference{at: at.child(strconv.Itoa(i)), inLeft: i < len(left), inRight: i < len(right)}
		if d.inLeft {
			d.left = left[i]
		}
		if d.inRight {
			d.right = right[i]
		}
		if !walk(d, tell) {
			return false
		}
	}
	return true
}

// workspaceFile checks a path of a configuration: relative, and in the workspace.
func workspaceFile(key, name string) (string, error) {
	if strings.TrimSpace(name) == "" {
		return "", wrong(key, "a file is wanted")
	}
	if c := clean(name); fs.ValidPath(c) && c != "." && !filepath.IsAbs(name) {
		return c, nil
	}
	return "", wrong(key, "%q is no path in the workspace; give one relative to its folder, without ..", name)
}

// workspaceFiles checks several.
func workspaceFiles(key string, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, wrong(key, "at least one is wanted")
	}
	var out []string
	for i, n := range names {
		f, err := workspaceFile(fmt.Sprintf("%s[%d]", key, i), n)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}
