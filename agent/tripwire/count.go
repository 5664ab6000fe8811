package tripwire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
)

// The formats of files whose records are counted and whose fields are required.
const (
	inCSV = iota + 1
	inJSON
	inLines
)

// formats are the ends of their names, in words.
const formats = ".csv, .tsv, .json, .jsonl or .ndjson"

// format is that of a file, by its name; 0 is none of ours.
func format(name string) int {
	switch strings.ToLower(path.Ext(name)) {
	case ".csv", ".tsv":
		return inCSV
	case ".json":
		return inJSON
	case ".jsonl", ".ndjson":
		return inLines
	}
	return 0
}

// records wants a number of records.
type records struct {
	file     string
	at       pointer
	min, max int64
	expected string
}

func (c *Count) compile() (kind, error) {
	file, err := workspaceFile("records", c.Records)
	if err != nil {
		return nil, err
	}
	at, err := parsePointer(c.At)
	switch f := format(file); {
	case err != nil:
		return nil, below("at", err)
	case f == 0:
		return nil, wrong("records", "%q is of no known kind; its name ends in %s", file, formats)
	case c.At != "" && f != inJSON:
		return nil, wrong("at", "a pointer goes with a .json file")
	case c.Min == nil && c.Max == nil:
		return nil, wrong("", "give min, max or both")
	}
	k := records{file: file, at: at, max: -1}
	var least, most *string
	if c.Min != nil {
		k.min, least = *c.Min, text(*c.Min)
	}
	if c.Max != nil {
		k.max, most = *c.Max, text(*c.Max)
	}
	switch {
	case k.min < 0 || (c.Max != nil && k.max < 0):
		return nil, wrong("min", "whole numbers are wanted, 0 or more")
	case c.Max != nil && k.min > k.max:
		return nil, wrong("min", "%d is more than max, %d", k.min, k.max)
	}
	k.expected = rangeText(least, most) + " records"
	return k, nil
}

func text(n int64) *string {
	s := strconv.FormatInt(n, 10)
	return &s
}

func (r records) files() []string           { return []string{r.file} }
func (r records) touched(op Operation) bool { return op.wrote(is(r.file)) }

func (r records) check(l *look) verdict {
	n, first, err := r.count(l)
	if err != nil {
		return l.failed(r.expected, err)
	}
	v := verdict{ok: n >= r.min && (r.max < 0 || n <= r.max), expected: r.expected, observed: fmt.Sprintf("%d records", n)}
	if !v.ok {
		at := l.file(r.file)
		if n > r.max && r.max >= 0 && first > 0 {
			at = l.row(r.file, first)
		}
		v.evidence = single(evidence{text: fmt.Sprintf("%s has %d records; wanted is %s", strings.TrimSpace(r.file+" "+r.at.String()), n, strings.TrimSuffix(r.expected, " records")), at: at})
	}
	return v
}

// count counts the records. First is the line of the first one that is too many; 0 is none.
func (r records) count(l *look) (n int64, first int, err error) {
	one := func(line int) {
		if n++; n == r.max+1 {
			first = line
		}
	}
	switch format(r.file) {
	case inCSV:
		if ok, err := l.quick(r.file, one); ok || err != nil {
			return n, first, err
		}
		n, first = 0, 0
		t, err := l.table(r.file)
		if err != nil {
			return 0, 0, err
		}
		defer t.close()
		err = t.each(func(_ []string, line int) error { one(line); return nil })
		return n, first, err
	case inLines:
		err = l.lines(r.file, func(line int, _ any) error { one(line); return nil })
		return n, first, err
	}
	v, err := fromJSON{r.file, r.at}.read(l)
	if err != nil {
		return 0, 0, err
	}
	list, ok := v.data.([]any)
	if !ok {
		return 0, 0, placedError{fmt.Errorf("%s is no JSON array", fromJSON{r.file, r.at}), v.place()}
	}
	return int64(len(list)), 0, nil
}

// lines calls do with each value of a JSON Lines file and its line, counted from 1. Empty lines
// are skipped.
func (l *look) lines(name string, do func(line int, v any) error) error {
	f, err := l.open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	for n := 1; ; n++ {
		b, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return l.unreadable(name, err)
		}
		end := err != nil
		if n == 1 {
			b = bytes.TrimPrefix(b, []byte("\ufeff"))
		}
		if b = bytes.TrimSpace(b); len(b) > 0 {
			v, err := l.decode(name, b, 0, len(b))
			if err != nil {
				return placedError{fmt.Errorf("%s is not JSON in line %d", name, n), l.row(name, n)}
			}
			if err := do(n, v); err != nil {
				return err
			}
		}
		switch {
		case end:
			return nil
		case l.ctx.Err() != nil:
			return fmt.Errorf("reading %s was cancelled", name)
		}
	}
}
