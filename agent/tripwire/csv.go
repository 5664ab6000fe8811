package tripwire

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/big"
	"path"
	"slices"
	"strconv"
	"strings"

	"tandem/protocol"
)

// table is a CSV file that is being read: its first row names the columns.
type table struct {
	name   string
	l      *look
	rows   *csv.Reader
	header []string
	close  func() error
}

// peeked is how much of a file tells its separator, in bytes.
const peeked = 64 << 10

// table opens a CSV file. One that is empty has no columns.
func (l *look) table(name string) (*table, error) {
	f, err := l.open(name)
	if err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(f, peeked)
	if mark, _ := in.Peek(3); string(mark) == "\ufeff" {
		_, _ = in.Discard(3) // they are there
	}
	first, _ := in.Peek(peeked) // what can be had; an error comes again with the first row
	t := &table{name: name, l: l, rows: csv.NewReader(in), close: f.Close}
	t.rows.Comma, t.rows.ReuseRecord = separator(name, first), true
	header, err := t.rows.Read()
	if err != nil && !errors.Is(err, io.EOF) {
		_ = f.Close() // it was only read
		return nil, t.broken(err)
	}
	t.header = slices.Clone(header)
	return t, nil
}

// separator is a tab in .tsv files; elsewhere a comma, or a semicolon where the first line has
// these and no comma, as spreadsheets of many countries write it.
func separator(name string, first []byte) rune {
	head, _, _ := bytes.Cut(first, []byte{'\n'})
	switch {
	case strings.EqualFold(path.Ext(name), ".tsv"):
		return '\t'
	case bytes.ContainsRune(head, ';') && !bytes.ContainsRune(head, ','):
		return ';'
	}
	return ','
}

// next is the next row and its line; io.EOF behind the last. The row is overwritten by the next.
func (t *table) next() ([]string, int, error) {
	row, err := t.rows.Read()
	if errors.Is(err, io.EOF) {
		return nil, 0, err
	}
	if err != nil {
		return nil, 0, t.broken(err)
	}
	line, _ := t.rows.FieldPos(0)
	return row, line, nil
}

// broken says where a row cannot be read.
func (t *table) broken(err error) error {
	var p *csv.ParseError
	if errors.As(err, &p) {
		return placedError{fmt.Errorf("%s is not CSV: line %d: %w", t.name, p.Line, p.Err), t.l.row(t.name, p.Line)}
	}
	return t.l.unreadable(t.name, err)
}

// column is the number of a column.
func (t *table) column(name string) (int, error) {
	i := slices.Index(t.header, name)
	switch {
	case i < 0:
		return 0, placedError{fmt.Errorf("%s has no column %q; it has %s", t.name, name, shown(strings.Join(t.header, ", "))), t.l.row(t.name, 1)}
	case slices.Contains(t.header[i+1:], name):
		return 0, placedError{fmt.Errorf("%s has two columns %q", t.name, name), t.l.row(t.name, 1)}
	}
	return i, nil
}

// each calls do with each row. Every thousand rows it looks whether it was cancelled.
func (t *table) each(do func(row []string, line int) error) error {
	for n := 0; ; n++ {
		if n%1000 == 0 && t.l.ctx.Err() != nil {
			return fmt.Errorf("reading %s was cancelled", t.name)
		}
		row, line, err := t.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = do(row, line)
		}
		if err != nil {
			return err
		}
	}
}

// fromCSV is one value made of a column, or the number of rows where it has none.
type fromCSV struct {
	file, column string
	agg          protocol.Aggregate
}

func compileCSV(s protocol.Source) (source, error) {
	file, err := workspaceFile("csv", s.CSV)
	if err != nil {
		return nil, err
	}
	switch s.Agg {
	case protocol.Count, protocol.Sum, protocol.Min, protocol.Max:
	case "":
		return nil, wrong("agg", "say what to make of the column: count, sum, min or max")
	default:
		return nil, wrong("agg", "%q is none of count, sum, min, max", s.Agg)
	}
	if s.Column == "" && s.Agg != protocol.Count {
		return nil, wrong("column", "name the column to take the %s of", s.Agg)
	}
	return fromCSV{file, s.Column, s.Agg}, nil
}

func (f fromCSV) files() []string           { return []string{f.file} }
func (f fromCSV) touched(op Operation) bool { return op.wrote(is(f.file)) }

func (f fromCSV) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s of %s %s", f.agg, f.file, f.column))
}

func (f fromCSV) read(l *look) (reading, error) {
	t, err := l.table(f.file)
	if err != nil {
		return reading{}, err
	}
	defer t.close()
	column := -1
	if f.column != "" {
		if column, err = t.column(f.column); err != nil {
			return reading{}, err
		}
	}
	a := aggregate{kind: f.agg}
	err = t.each(func(row []string, line int) error { return a.row(t, row, column, line) })
	if err != nil {
		return reading{}, err
	}
	return a.reading(t, f)
}

// aggregate makes one value of a column. Empty cells do not count, as in SQL.
type aggregate struct {
	kind  protocol.Aggregate
	count int64
	sum   total
	best  *big.Rat
	near  float64 // best, rounded
	line  int     // of best
}

func (a *aggregate) row(t *table, row []string, column, line int) error {
	cell := ""
	if column >= 0 {
		if cell = strings.TrimSpace(row[column]); cell == "" {
			return nil
		}
	}
	a.count++
	var err error
	switch a.kind {
	case protocol.Sum:
		err = a.sum.add(cell)
	case protocol.Min, protocol.Max:
		err = a.better(cell, line)
	}
	if err != nil {
		return placedError{fmt.Errorf("%s: line %d, column %s: %w", t.name, line, t.header[column], err), t.l.row(t.name, line)}
	}
	return nil
}

// better takes a cell's number if it is better than the best. Most are not by far, which their
// rounded values tell: rounding keeps the order.
func (a *aggregate) better(cell string, line int) error {
	if _, _, plain := units(cell); plain && a.best != nil {
		f, err := strconv.ParseFloat(cell, 64)
		if err == nil && ((a.kind == protocol.Max && f < a.near) || (a.kind == protocol.Min && f > a.near)) {
			return nil
		}
	}
	r, err := parseNumber(cell)
	if err != nil {
		return err
	}
	if a.best == nil || (r.Cmp(a.best) < 0) == (a.kind == protocol.Min) && r.Cmp(a.best) != 0 {
		a.best, a.line = r, line
		a.near, _ = r.Float64()
	}
	return nil
}

func (a *aggregate) reading(t *table, f fromCSV) (reading, error) {
	whole := reading{where: func() place { return t.l.file(t.name) }}
	switch {
	case a.kind == protocol.Count:
		whole.text = fmt.Sprint(a.count)
	case a.kind == protocol.Sum:
		whole.text = decimal(a.sum.rat())
	case a.best == nil:
		return reading{}, placedError{fmt.Errorf("%s has no %s of %s: no row has a value there", t.name, a.kind, f.column), t.l.file(t.name)}
	default:
		whole.text = decimal(a.best)
		whole.where = func() place { return t.l.row(t.name, a.line) }
	}
	return whole, nil
}
