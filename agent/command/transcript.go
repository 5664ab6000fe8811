package command

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

const (
	headSize = 16 << 10
	tailSize = 16<<10 - 256 // leaves room for the words about what was cut

	defaultSpoolCap = 64 << 20

	// A client hears at most one piece in this time, and so many bytes in a second.
	sayEvery = 100 * time.Millisecond
	sayRate  = 64 << 10

	// A line that is written over again and again (progress) is shown no more often than this.
	redrawEvery = time.Second
)

// transcript is all that is kept of one command's output: the bounded text of the result, the file, and what the
// clients have yet to hear. It belongs to one goroutine.
type transcript struct {
	clean cleaner
	kept  excerpt
	spool spool
	feed  feed

	keeps, tells func([]byte, bool) []byte // nil let all pass
}

// write takes raw output. It never blocks on a client.
func (t *transcript) write(p []byte) {
	t.clean.write(p)
	t.take()
}

func (t *transcript) take() {
	done := t.clean.finished()
	if len(done) > 0 {
		t.keep(done, false)
		t.tell(t.clean.news(done), false)
	}
	t.clean.forget()
}

// keep takes finished text into the result and the file. It is filtered before either cuts it.
func (t *transcript) keep(p []byte, last bool) {
	p = through(t.keeps, p, last)
	t.kept.write(p)
	t.spool.put(p)
}

func (t *transcript) tell(p []byte, last bool) { t.feed.add(through(t.tells, p, last)) }

func through(filter func([]byte, bool) []byte, p []byte, last bool) []byte {
	if filter == nil {
		return p
	}
	return filter(p, last)
}

// news answers with what of the finished text the clients have not seen, and notes that they have.
func (c *cleaner) news(done []byte) []byte {
	fresh := done[min(c.told, len(done)):]
	c.told = len(done)
	if c.torn {
		c.torn = false
		return append([]byte("\n"), fresh...)
	}
	return fresh
}

// say gives the clients what they may hear now. The unfinished line is among it, so that a prompt or a row of dots
// can be seen; one that is being overwritten is held back for redrawEvery.
func (t *transcript) say(now time.Time, said func(string)) {
	if !t.clean.torn || now.Sub(t.feed.drawn) >= redrawEvery {
		t.tell(t.clean.news(t.clean.buf), false)
		t.feed.drawn = now
	}
	if t.clean.binary() {
		t.feed.hide()
	}
	if s := t.feed.next(now); s != "" {
		said(s)
	}
}

// unsaid says whether the clients have something to hear.
func (t *transcript) unsaid() bool {
	return len(t.feed.pending) > 0 || t.clean.told < len(t.clean.buf)
}

// close ends the text and the file.
func (t *transcript) close() {
	t.clean.close()
	t.take()
	t.keep(nil, true)
	t.tell(nil, true)
	t.spool.close()
}

// text answers with the output so far, bounded to headSize and tailSize.
func (t *transcript) text() string {
	text := fmt.Sprintf("[binary output, %d bytes]\n", t.clean.bytes)
	if !t.clean.binary() {
		text = t.kept.with(t.unfinished())
	}
	if t.spool.err != nil {
		text += fmt.Sprintf("\n[the full output could not be kept on disk: %v]\n", t.spool.err)
	}
	return text
}

// unfinished is the line that is being written. Where secrets are looked for it is shown once it is whole.
func (t *transcript) unfinished() []byte {
	if t.keeps != nil {
		return nil
	}
	return t.clean.buf
}

// excerpt keeps the head and the tail of a text.
type excerpt struct {
	head, tail []byte
	total      int64
}

func (e *excerpt) write(p []byte) {
	e.total += int64(len(p))
	n := min(len(p), headSize-len(e.head))
	e.head = append(e.head, p[:n]...)
	p = p[n:]
	if len(p) >= tailSize {
		e.tail = append(e.tail[:0], p[len(p)-tailSize:]...)
		return
	}
	if len(e.tail)+len(p) > 4*tailSize { // Several writes fit in between two moves of the tail.
		e.tail = append(e.tail[:0], e.tail[len(e.tail)-tailSize:]...)
	}
	e.tail = append(e.tail, p...)
}

// with answers with the text as it would be if rest had been written too.
func (e *excerpt) with(rest []byte) string {
	n := min(len(rest), headSize-len(e.head))
	head := append(bytes.Clone(e.head), rest[:n]...)
	tail := append(bytes.Clone(e.tail), rest[n:]...)
	total := e.total + int64(len(rest))
	if len(tail) > tailSize {
		tail = tail[len(tail)-tailSize:]
	}
	if int64(len(head)+len(tail)) == total {
		return string(append(head, tail...))
	}
	head, tail = wholeEnd(head), wholeStart(tail)
	cut := total - int64(len(head)+len(tail))
	return fmt.Sprintf("%s\n[… %d bytes of output are left out here …]\n%s", head, cut, tail)
}

// spool writes the clean output to a file of bounded size. Its first error ends it and is told in the result: the
// command itself goes on.
type spool struct {
	file *os.File
	path string
	left int64
	err  error
}

// openSpool creates the file, for its owner alone. A file that is there already is not written over.
func openSpool(path string, limit int64) (spool, error) {
	if path == "" {
		return spool{}, nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return spool{}, fmt.Errorf("create the file for the output: %w", err)
	}
	if limit <= 0 {
		limit = defaultSpoolCap
	}
	return spool{file: f, path: path, left: limit}, nil
}

func (s *spool) put(p []byte) {
	if s.file == nil || len(p) == 0 {
		return
	}
	full := int64(len(p)) > s.left
	if full {
		p = append(bytes.Clone(wholeEnd(p[:s.left])), "\n[… the output after this is not kept …]\n"...)
	}
	s.left -= int64(len(p))
	if _, err := s.file.Write(p); err != nil {
		s.err = reason(err)
	}
	if full || s.err != nil {
		s.close()
	}
}

func (s *spool) close() {
	if s.file == nil {
		return
	}
	if err := s.file.Close(); err != nil && s.err == nil {
		s.err = reason(err)
	}
	s.file = nil
}

// remove takes the file away again, as no command came to write it.
func (s *spool) remove() {
	if s.file != nil {
		s.close()
		_ = os.Remove(s.path) // An empty file that stays does no harm.
	}
}

// reason takes the path off an error: the result goes to the model, which has no business with it.
func reason(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// feed holds back what the clients hear to a bounded rate. What does not fit is left out from its front, as the
// newest output is what a person watches; each gap is said once.
type feed struct {
	pending []byte
	missed  int64
	hidden  bool // the output is binary
	spent   time.Time
	credit  int
	drawn   time.Time
}

func (f *feed) add(p []byte) {
	if f.hidden {
		return
	}
	if over := len(f.pending) + len(p) - sayRate; over > 0 {
		f.pending, p = f.skip(over, p)
	}
	f.pending = append(f.pending, p...)
}

// skip leaves out the first n bytes of what is pending and then of p.
func (f *feed) skip(n int, p []byte) (pending, rest []byte) {
	f.missed += int64(n)
	front := min(n, len(f.pending))
	return append(f.pending[:0], f.pending[front:]...), p[n-front:]
}

func (f *feed) hide() {
	if !f.hidden {
		f.hidden, f.missed = true, 0
		f.pending = append(f.pending[:0], "[binary output]\n"...)
	}
}

// next answers with what may be said now, or "" when nothing is there.
func (f *feed) next(now time.Time) string {
	f.credit = min(sayRate, f.credit+int(min(now.Sub(f.spent), time.Second)*sayRate/time.Second))
	f.spent = now
	if over := len(f.pending) - f.credit; over > 0 {
		f.pending, _ = f.skip(over, nil)
	}
	f.credit -= len(f.pending)
	words := string(wholeStart(f.pending))
	f.pending = f.pending[:0]
	if f.missed > 0 && words != "" {
		words = fmt.Sprintf("\n[… %d bytes of output are not shown here …]\n%s", f.missed, words)
		f.missed = 0
	}
	return words
}
