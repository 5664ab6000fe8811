package tripwire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"path"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

// ranged wants a value in a range.
type ranged struct {
	value    source
	min, max *big.Rat
	expected string
}

func (r *Range) compile() (kind, error) {
	v, err := r.Value.operand()
	if err != nil {
		return nil, below("value", err)
	}
	least, err := bound("min", r.Min)
	if err != nil {
		return nil, err
	}
	most, err := bound("max", r.Max)
	switch {
	case err != nil:
		return nil, err
	case least == nil && most == nil:
		return nil, wrong("", "give min, max or both")
	case least != nil && most != nil && least.Cmp(most) > 0:
		return nil, wrong("min", "%s is more than max, %s", *r.Min, *r.Max)
	}
	return ranged{v, least, most, rangeText((*string)(r.Min), (*string)(r.Max))}, nil
}

func bound(key string, n *json.Number) (*big.Rat, error) {
	if n == nil {
		return nil, nil
	}
	r, err := parseNumber(n.String())
	if err != nil {
		return nil, wrong(key, "a number is wanted")
	}
	return r, nil
}

// rangeText is a range in words.
func rangeText(least, most *string) string {
	switch {
	case most == nil:
		return "at least " + *least
	case least == nil:
		return "at most " + *most
	case *least == *most:
		return *least
	}
	return fmt.Sprintf("from %s to %s", *least, *most)
}

func (r ranged) files() []string           { return r.value.files() }
func (r ranged) touched(op Operation) bool { return r.value.touched(op) }

func (r ranged) check(l *look) verdict {
	v, err := r.value.read(l)
	if err != nil {
		return l.failed(r.expected, err)
	}
	n, err := parseNumber(v.text)
	if err != nil {
		return l.failed(r.expected, placedError{fmt.Errorf("%s: %w", r.value, err), v.place()})
	}
	if (r.min == nil || n.Cmp(r.min) >= 0) && (r.max == nil || n.Cmp(r.max) <= 0) {
		return verdict{ok: true, expected: r.expected, observed: v.text}
	}
	text := fmt.Sprintf("%s is %s; wanted is %s", r.value, v.text, r.expected)
	return verdict{expected: r.expected, observed: v.text, evidence: single(evidence{text: text, at: v.place()})}
}

// equal wants two values to be the same.
type equal struct {
	left, right source // left is what is expected
	tolerance   *big.Rat
	margin      string // the tolerance in words
}

func (e *Equal) compile() (kind, error) {
	left, err := e.Left.operand()
	if err != nil {
		return nil, below("left", err)
	}
	right, err := e.Right.operand()
	if err != nil {
		return nil, below("right", err)
	}
	k := equal{left: left, right: right, tolerance: new(big.Rat)}
	if _, number := right.(literal); number {
		k.left, k.right = right, left
	}
	if _, number := k.right.(literal); number {
		return nil, wrong("", "both sides are numbers; one has to be a value source")
	}
	if e.Tolerance == "" {
		return k, nil
	}
	k.tolerance, err = parseNumber(e.Tolerance.String())
	if err != nil || k.tolerance.Sign() < 0 {
		return nil, wrong("tolerance", "a number is wanted, 0 or more")
	}
	if k.tolerance.Sign() > 0 {
		k.margin = " ± " + e.Tolerance.String()
	}
	return k, nil
}

func (e equal) files() []string           { return append(e.left.files(), e.right.files()...) }
func (e equal) touched(op Operation) bool { return e.left.touched(op) || e.right.touched(op) }

func (e equal) check(l *look) verdict {
	left, lerr := e.left.read(l)
	right, rerr := e.right.read(l)
	if lerr == nil || (rerr != nil && errors.Is(lerr, ErrNotYet)) { // what cannot be read weighs more than what is to come
		lerr = rerr
	}
	if lerr != nil {
		return l.failed(fmt.Sprintf("%s the same as %s%s", e.right, e.left, e.margin), lerr)
	}
	v := verdict{ok: e.same(left, right), expected: left.text + e.margin, observed: right.text}
	if v.ok {
		return v
	}
	at := right.place()
	v.evidence = single(evidence{text: fmt.Sprintf("%s is %s, but %s is %s", e.right, shown(right.text), e.left, shown(left.text)), at: at})
	if other := left.place(); other.uri != "" && other != at {
		v.evidence.add(func() evidence {
			return evidence{text: fmt.Sprintf("%s is %s here", e.left, shown(left.text)), at: other}
		})
	}
	e.parts(l, left, right, &v.evidence)
	return v
}

func (e equal) same(left, right reading) bool {
	if left.data != nil && right.data != nil {
		return differences(nil, left.data, right.data, func(difference) bool { return false })
	}
	return near(left.text, right.text, e.tolerance)
}

// parts names the pointers at which two arrays or objects differ.
func (e equal) parts(l *look, left, right reading, found *pile) {
	if left.data == nil || right.data == nil {
		return
	}
	differences(nil, left.data, right.data, func(d difference) bool {
		found.add(func() evidence {
			want, got := d.texts()
			p := evidence{text: fmt.Sprintf("at %s: %s where %s is expected", d.at, shown(got), shown(want)), expected: want, observed: got, at: right.place()}
			if from, ok := e.right.(fromJSON); ok && d.inRight {
				p.at = l.field(l.docs[from.file], slices.Concat(from.at, d.at))
			}
			return p
		})
		return true
	})
}

// near says whether two texts are the same, or numbers within a tolerance.
func near(a, b string, tolerance *big.Rat) bool {
	if a == b {
		return true
	}
	x, err := parseNumber(a)
	if err != nil {
		return false
	}
	y, err := parseNumber(b)
	return err == nil && x.Sub(x, y).Abs(x).Cmp(tolerance) <= 0
}

// required wants fields to be there.
type required struct {
	file     string
	columns  []string
	pointers []pointer
}

func (r *Require) compile() (kind, error) {
	file, err := workspaceFile("file", r.File)
	if err != nil {
		return nil, err
	}
	if len(r.Fields) == 0 {
		return nil, wrong("fields", "at least one is wanted: JSON pointers such as /rows, or columns of a CSV file")
	}
	k := required{file: file}
	switch format(file) {
	case inCSV:
		k.columns = r.Fields
		return k, nil
	case inJSON, inLines:
		for i, f := range r.Fields {
			p, err := parsePointer(f)
			if err == nil && len(p) == 0 {
				err = wrong("", "a JSON pointer is wanted, such as /rows")
			}
			if err != nil {
				return nil, below(fmt.Sprintf("fields[%d]", i), err)
			}
			k.pointers = append(k.pointers, p)
		}
		return k, nil
	}
	return nil, wrong("file", "%q is of no known kind; its name ends in %s", file, formats)
}

func (r required) files() []string           { return []string{r.file} }
func (r required) touched(op Operation) bool { return op.wrote(is(r.file)) }

func (r required) check(l *look) verdict {
	expected := "fields " + strings.Join(r.columns, ", ")
	for i, p := range r.pointers {
		expected += strings.Repeat(", ", min(i, 1)) + p.String()
	}
	missing, err := r.missing(l)
	if err != nil {
		return l.failed(expected, err)
	}
	if len(missing.list) == 0 {
		return verdict{ok: true, expected: expected, observed: "all are there"}
	}
	return verdict{expected: expected, observed: missing.summary(), evidence: missing}
}

func (r required) missing(l *look) (pile, error) {
	var found pile
	switch format(r.file) {
	case inCSV:
		return found, r.inTable(l, &found)
	case inLines:
		err := l.lines(r.file, func(n int, v any) error {
			r.inValue(v, &found, func(p pointer, says string) evidence {
				return evidence{text: fmt.Sprintf("%s, line %d: %s", r.file, n, says), at: l.row(r.file, n)}
			})
			return nil
		})
		return found, err
	}
	d, err := l.json(r.file)
	if err != nil {
		return found, err
	}
	r.inValue(d.root, &found, func(p pointer, says string) evidence {
		_, upTo, _ := p.in(d.root)
		return evidence{text: r.file + ": " + says, at: l.field(d, upTo)}
	})
	return found, nil
}

// inValue finds the fields that a value lacks. One that is null is not there.
func (r required) inValue(v any, found *pile, at func(p pointer, says string) evidence) {
	for _, p := range r.pointers {
		there, _, ok := p.in(v)
		if ok && there != nil {
			continue
		}
		found.add(func() evidence {
			says, wanted, seen := "there is no field "+p.String(), "a field "+p.String(), "no "+p.String()
			if ok {
				says, wanted, seen = p.String()+" is null", "a value at "+p.String(), p.String()+" is null"
			}
			e := at(p, says)
			e.expected, e.observed = wanted, seen
			return e
		})
	}
}

// inTable finds the columns that a CSV file lacks, and the rows in which one is empty.
func (r required) inTable(l *look, found *pile) error {
	t, err := l.table(r.file)
	if err != nil {
		return err
	}
	defer t.close()
	at := map[string]int{}
	for _, c := range r.columns {
		i, err := t.column(c)
		if err != nil {
			found.add(func() evidence {
				return evidence{text: err.Error(), expected: "a column " + c, observed: "no " + c, at: placeOf(err)}
			})
			continue
		}
		at[c] = i
	}
	return t.each(func(row []string, line int) error {
		for _, c := range r.columns {
			if i, ok := at[c]; ok && strings.TrimSpace(row[i]) == "" {
				found.add(func() evidence {
					return evidence{text: fmt.Sprintf("%s: line %d has nothing in the column %s", r.file, line, c), expected: "a value in " + c,
						observed: fmt.Sprintf("nothing in %s, line %d", c, line), at: l.row(r.file, line)}
				})
			}
		}
		return nil
	})
}

// ended wants a command to end with an exit code.
type ended struct {
	Command
	bound time.Duration
}

const (
	defaultCommandBound = 10 * time.Minute
	longestCommand      = 12 * time.Hour
)

func (c *Command) compile() (kind, error) {
	switch {
	case strings.TrimSpace(c.Run) == "":
		return nil, wrong("run", "a command line is wanted")
	case c.Exit < 0 || c.Exit > 255:
		return nil, wrong("exit", "an exit code is wanted, from 0 to 255")
	case c.TimeoutS < 0 || c.TimeoutS > int(longestCommand/time.Second):
		return nil, wrong("timeout_s", "seconds are wanted, from 1 to %d", longestCommand/time.Second)
	}
	if err := checkGlobs("after", c.After); err != nil {
		return nil, err
	}
	k := ended{*c, time.Duration(c.TimeoutS) * time.Second}
	if k.bound == 0 {
		k.bound = defaultCommandBound
	}
	return k, nil
}

func (ended) files() []string { return nil }

func (e ended) touched(op Operation) bool {
	if len(e.After) == 0 {
		return op.acted()
	}
	return op.wrote(func(path string) bool { return picked(e.After, path) })
}

func (e ended) check(l *look) verdict {
	expected := fmt.Sprintf("exit code %d", e.Exit)
	var ran Ran
	err := l.within(e.bound, "«"+e.Run+"»", func(ctx context.Context) (err error) {
		ran, err = l.env.run(ctx, e.Run)
		return err
	})
	if err != nil {
		return unable(expected, err)
	}
	observed := fmt.Sprintf("exit code %d", ran.Code)
	if ran.Code == e.Exit {
		return verdict{ok: true, expected: expected, observed: observed}
	}
	text := strings.TrimRight(fmt.Sprintf("«%s» ended with %s: %s", e.Run, observed, lastLines(ran.Output)), ": ")
	return verdict{expected: expected, observed: observed, evidence: single(evidence{text: text})}
}

// lastLines is the end of an output, which is where commands say what is wrong.
func lastLines(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	const most = 12
	if len(lines) > most {
		lines = append([]string{"…"}, lines[len(lines)-most:]...)
	}
	text := strings.Join(lines, "\n")
	if cut := len(text) - 4*mostShown; cut > 0 {
		text = "… " + strings.ToValidUTF8(text[cut:], "")
	}
	return text
}

// forbidden wants paths not to be written.
type forbidden struct{ globs []string }

func (p *Paths) compile() (kind, error) {
	if len(p.Forbid) == 0 {
		return nil, wrong("forbid", `at least one glob is wanted, such as "migrations/**"`)
	}
	return forbidden{p.Forbid}, checkGlobs("forbid", p.Forbid)
}

func (forbidden) files() []string { return nil }

func (f forbidden) touched(op Operation) bool {
	return slices.ContainsFunc(op.Wrote, f.forbids) || op.Unseen
}

// forbids says whether a path, or a folder that it lies in, is picked.
func (f forbidden) forbids(name string) bool { return f.by(name) != "" }

func (f forbidden) by(name string) string {
	for name = clean(name); name != "." && name != "/"; name = path.Dir(name) {
		for _, g := range f.globs {
			if picked([]string{g}, name) {
				return g
			}
		}
	}
	return ""
}

func (f forbidden) before(op Operation) verdict {
	return f.verdict(op, "%s would be written, which %s forbids")
}

// check is for what a command did: its writes are known only when it has ended.
func (f forbidden) check(l *look) verdict {
	if v := f.verdict(l.op, "%s was written, which %s forbids"); !v.ok || !l.op.Unseen {
		return v
	}
	return unable("no write to "+strings.Join(f.globs, ", "), errors.New("not every file that was written is known"))
}

func (f forbidden) verdict(op Operation, words string) verdict {
	v := verdict{ok: true, expected: "no write to " + strings.Join(f.globs, ", "), observed: "none"}
	for _, name := range op.Wrote {
		if g := f.by(name); g != "" {
			v.evidence.add(func() evidence {
				return evidence{text: fmt.Sprintf(words, name, g), expected: "no write to " + g, observed: name}
			})
		}
	}
	if len(v.evidence.list) > 0 {
		v.ok, v.observed = false, v.evidence.summary()
	}
	return v
}

// picked says whether one of the globs picks a path. A glob without a slash picks in every folder.
// Where the system's file names have no case, globs have none.
func picked(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(g string) bool {
		g, name := clean(g), name
		if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
			g, name = strings.ToLower(g), strings.ToLower(name)
		}
		if !strings.Contains(g, "/") && doublestar.MatchUnvalidated(g, path.Base(name)) {
			return true
		}
		return doublestar.MatchUnvalidated(g, name)
	})
}

func checkGlobs(key string, globs []string) error {
	for i, g := range globs {
		if strings.TrimSpace(g) == "" || path.IsAbs(g) || !doublestar.ValidatePattern(g) {
			return wrong(fmt.Sprintf("%s[%d]", key, i), `%q is no glob; give one relative to the workspace, such as "src/**/*.go"`, g)
		}
	}
	return nil
}

// counted is a budget, which the core evaluates.
type counted struct{}

func (b *Budget) compile() (kind, error) {
	set := false
	for _, n := range []struct {
		key   string
		value int64
	}{{"requests", b.Requests}, {"tokens", b.Tokens}, {"minutes", b.Minutes}, {"repeats", b.Repeats}} {
		if n.value < 0 {
			return nil, wrong(n.key, "a whole number is wanted, 1 or more")
		}
		set = set || n.value > 0
	}
	switch {
	case !set:
		return nil, wrong("", "give at least one of requests, tokens, minutes, repeats")
	case b.Repeats == 1:
		return nil, wrong("repeats", "2 or more is wanted: every call is the first of its kind")
	}
	return counted{}, nil
}

func (counted) files() []string        { return nil }
func (counted) touched(Operation) bool { return false }

func (counted) check(*look) verdict {
	return verdict{ok: true, expected: "the budget", observed: "the core counts it"}
}
