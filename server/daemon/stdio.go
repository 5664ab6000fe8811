package daemon

import (
	"io"
	"sync"
)

// Stdio makes one connection of a program's input and output. Unlike the input's own, its Close
// ends a Read that waits, so that the program may end before its client hangs up; what reads the
// input stays behind with a last Read, until then. Nothing is read before the first Read.
func Stdio(in io.Reader, out io.WriteCloser) io.ReadWriteCloser {
	r, w := io.Pipe()
	return &stdio{in: in, out: out, r: r, w: w}
}

type stdio struct {
	in  io.Reader
	out io.WriteCloser
	r   *io.PipeReader
	w   *io.PipeWriter

	begin sync.Once
}

func (s *stdio) Read(b []byte) (int, error) {
	s.begin.Do(func() {
		go func() {
			_, err := io.Copy(s.w, s.in)
			_ = s.w.CloseWithError(err) // nil is the end of the input; it cannot fail
		}()
	})
	return s.r.Read(b)
}

func (s *stdio) Write(b []byte) (int, error) { return s.out.Write(b) }

func (s *stdio) Close() error {
	_ = s.r.Close() // cannot fail
	return s.out.Close()
}
