package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// screen is where the picture is drawn: lines that stay, and on a terminal below them a few rows
// that are drawn anew: words that are being said, what happens now, and the line that is typed.
type screen struct {
	out   io.Writer
	size  func() (columns, rows int)
	color bool
	live  bool // there is a bottom
	// What the bottom has drawn: the columns of its rows above the cursor's, and the cursor's.
	above  []int
	column int
}

// bottom is what is drawn below the lines.
type bottom struct {
	words  string // being said
	status string
	prompt string
	input  string
	cursor int // column in input
	ghost  string
}

// newScreen draws on out. Only a terminal has colours and a width.
func newScreen(out io.Writer, getenv func(string) string) *screen {
	s := &screen{out: out, size: func() (int, int) { return 0, 0 }}
	f, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return s
	}
	s.size = func() (int, int) {
		w, h, err := term.GetSize(int(f.Fd()))
		if err != nil || w <= 0 {
			return 80, 24
		}
		return w, h
	}
	s.color = getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	return s
}

func (s *screen) paper() paper {
	w, _ := s.size()
	return paper{width: w, colour: s.color}
}

// print adds lines above the bottom, which it draws anew, in one write.
func (s *screen) print(lines []line, b bottom) error {
	if len(lines) == 0 && !s.live {
		return nil
	}
	p := s.paper()
	var out strings.Builder
	out.WriteString(s.erase())
	for _, l := range lines {
		for _, row := range p.rows(l) {
			out.WriteString(row + s.newline())
		}
	}
	if s.live {
		out.WriteString(s.draw(p, b))
	}
	if _, err := io.WriteString(s.out, out.String()); err != nil {
		return fmt.Errorf("write to the terminal: %w", err)
	}
	return nil
}

// newline is that of a terminal in raw mode, where the bottom is.
func (s *screen) newline() string {
	if s.live {
		return "\r\n"
	}
	return "\n"
}

// erase takes the bottom away.
func (s *screen) erase() string {
	if !s.live {
		return ""
	}
	width, _ := s.size()
	rows := s.column / max(width, 1)
	for _, columns := range s.above {
		rows += 1 + max(columns-1, 0)/max(width, 1) // a terminal that became narrower breaks rows in two
	}
	s.above, s.column = nil, 0
	if rows == 0 {
		return "\r\x1b[J"
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", rows)
}

// mostWords is how many rows of what is being said are shown.
const mostWords = 8

func (s *screen) draw(p paper, b bottom) string {
	var rows []string
	if strings.TrimSpace(b.words) != "" {
		rows = p.rows(speech(b.words))
		if len(rows) > mostWords {
			rows = rows[len(rows)-mostWords:]
		}
	}
	rows = append(rows, p.paint(clip(b.status, p.width-1), quiet))
	input := b.input
	if input == "" {
		input = p.paint(clip(b.ghost, max(p.width-visible(b.prompt)-1, 0)), quiet)
	}
	rows = append(rows, p.paint(b.prompt, mine)+input)
	s.above, s.column = nil, visible(b.prompt)+b.cursor
	for _, row := range rows[:len(rows)-1] {
		s.above = append(s.above, visible(row))
	}
	text := strings.Join(rows, "\r\n") + "\r"
	if s.column > 0 {
		text += fmt.Sprintf("\x1b[%dC", s.column)
	}
	return text
}

// terminal is the developer's, from which keys come as they are pressed while it is taken.
type terminal struct {
	in     *os.File
	scr    *screen
	before *term.State // as it was before it was taken first
}

// take takes the terminal over, or again after the program was stopped: then what the bottom
// had drawn is the shell's to scroll away.
func (t *terminal) take() error {
	now, err := term.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return fmt.Errorf("read keys from the terminal: %w", err)
	}
	if t.before == nil {
		t.before = now
	}
	t.scr.live, t.scr.above, t.scr.column = true, nil, 0
	io.WriteString(t.scr.out, "\x1b[?2004h") // pasted text is told apart from typed text
	return nil
}

// give puts the terminal back as it was.
func (t *terminal) give() {
	io.WriteString(t.scr.out, t.scr.erase()+"\x1b[?2004l")
	t.scr.live = false
	_ = term.Restore(int(t.in.Fd()), t.before) // there is no other terminal to put back
}

// interactive says that a developer sits at both ends: keys come from a terminal, and the picture goes to one.
func interactive(in io.Reader, out io.Writer, getenv func(string) string) (*os.File, bool) {
	i, ok := in.(*os.File)
	if !ok || !term.IsTerminal(int(i.Fd())) || getenv("TERM") == "dumb" {
		return nil, false
	}
	o, ok := out.(*os.File)
	return i, ok && term.IsTerminal(int(o.Fd()))
}
