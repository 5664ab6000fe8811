package tripwire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"tandem/protocol"
)

// ErrNotYet is wrapped by what is said of a value that is still to come: its file was not written
// yet, or the last command printed nothing of the kind.
var ErrNotYet = errors.New("not there yet")

// mostJSON bounds a JSON file, in bytes: it is held in memory.
const mostJSON = 256 << 20

// look is one look at the world, in which a file is read once. It belongs to one goroutine.
type look struct {
	ctx  context.Context
	env  Env
	op   Operation
	docs map[string]*document
}

// document is a JSON file that was read.
type document struct {
	name string
	data []byte
	root any
	err  error
}

// place is a place in a file; the zero value is none.
type place struct {
	uri string
	rng *protocol.Range
}

// placedError is an error at a place.
type placedError struct {
	error
	at place
}

func (e placedError) Unwrap() error { return e.error }

func placeOf(err error) place {
	var e placedError
	errors.As(err, &e)
	return e.at
}

// file is a whole file as a place.
func (l *look) file(name string) place {
	dir := l.env.Dir
	if l.env.Home != "" {
		dir = l.env.Home
	}
	full := name
	if !filepath.IsAbs(name) {
		full = filepath.Join(dir, filepath.FromSlash(name))
	}
	full = filepath.ToSlash(full)
	if !strings.HasPrefix(full, "/") { // a drive's letter
		full = "/" + full
	}
	return place{uri: (&url.URL{Scheme: "file", Path: full}).String()}
}

// span is a part of a file, from one byte to another, as a place.
func (l *look) span(name string, data []byte, from, to int) place {
	p := l.file(name)
	p.rng = &protocol.Range{Start: position(data, from), End: position(data, to)}
	return p
}

// row is a line of a file, counted from 1, as a place.
func (l *look) row(name string, line int) place {
	p := l.file(name)
	at := uint32(max(line-1, 0))
	p.rng = &protocol.Range{Start: protocol.Position{Line: at}, End: protocol.Position{Line: at + 1}}
	return p
}

// position is where a byte stands, its character counted in UTF-16 units as LSP does where nothing
// else was agreed.
func position(data []byte, offset int) protocol.Position {
	data = data[:min(max(offset, 0), len(data))]
	start := bytes.LastIndexByte(data, '\n') + 1
	var units uint32
	for rest := data[start:]; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if units++; r >= 0x10000 {
			units++
		}
		rest = rest[n:]
	}
	return protocol.Position{Line: uint32(bytes.Count(data[:start], []byte{'\n'})), Character: units}
}

// open opens a plain file. One that is not there is still to come, unless the operation touched
// it or everything has to be there.
func (l *look) open(name string) (fs.File, error) {
	if err := l.there(name); err != nil {
		return nil, err
	}
	f, err := l.env.Files.Open(name)
	if err != nil {
		return nil, l.unreadable(name, err)
	}
	return f, nil
}

// there says why a file cannot be read: it is not there, or no plain file.
func (l *look) there(name string) error {
	info, err := l.env.stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !l.env.Whole && !slices.Contains(l.op.Wrote, name):
		return fmt.Errorf("%s is %w", name, ErrNotYet)
	case errors.Is(err, fs.ErrNotExist):
		return placedError{fmt.Errorf("%s is missing", name), l.file(name)}
	case err != nil:
		return l.unreadable(name, err)
	case !info.Mode().IsRegular():
		return l.unreadable(name, errors.New("it is no plain file"))
	}
	return nil
}

func (l *look) unreadable(name string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return placedError{fmt.Errorf("%s cannot be read: %w", name, err), l.file(name)}
}

// read is the whole content of a file, without a byte order mark.
func (l *look) read(name string) ([]byte, error) {
	f, err := l.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostJSON+1))
	if err == nil && len(data) > mostJSON {
		err = fmt.Errorf("it is larger than %d MB", mostJSON>>20)
	}
	if err != nil {
		return nil, l.unreadable(name, err)
	}
	return bytes.TrimPrefix(data, []byte("\ufeff")), nil
}

// json is a JSON file.
func (l *look) json(name string) (*document, error) {
	if d, ok := l.docs[name]; ok {
		return d, d.err
	}
	d := &document{name: name}
	if d.data, d.err = l.read(name); d.err == nil {
		d.root, d.err = l.decode(name, d.data, 0, len(d.data))
	}
	if l.docs == nil {
		l.docs = map[string]*document{}
	}
	l.docs[name] = d
	return d, d.err
}

// decode reads the JSON value between two bytes of a file, of which there must be exactly one.
func (l *look) decode(name string, data []byte, from, to int) (any, error) {
	var v any
	d := json.NewDecoder(bytes.NewReader(data[from:to]))
	d.UseNumber()
	err := d.Decode(&v)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the JSON value")
		}
	}
	if err == nil {
		return v, nil
	}
	at := from + int(d.InputOffset())
	var s *json.SyntaxError
	if errors.As(err, &s) {
		at = from + int(s.Offset) - 1
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err, at = errors.New("the file ends too early"), to
	}
	p := position(data, at)
	return nil, placedError{fmt.Errorf("%s is not JSON: line %d, character %d: %w", name, p.Line+1, p.Character+1, err), l.span(name, data, at, at)}
}

// within bounds something in time, and says so in words when it takes longer.
func (l *look) within(bound time.Duration, what string, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(l.ctx, bound)
	defer cancel()
	err := do(ctx)
	switch {
	case err == nil:
		return nil
	case l.ctx.Err() != nil:
		return fmt.Errorf("%s was cancelled", what)
	case ctx.Err() != nil:
		return fmt.Errorf("%s took longer than %v", what, bound)
	}
	return err
}

// failed is the verdict when a value cannot be read: pending when it is still to come.
func (l *look) failed(expected string, err error) verdict {
	if errors.Is(err, ErrNotYet) && !l.env.Whole {
		return verdict{ok: true, pending: true, expected: expected, observed: err.Error()}
	}
	return unable(expected, err)
}
