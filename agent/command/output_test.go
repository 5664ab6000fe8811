package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// cleanedIn answers with the clean text of s, written in pieces of n bytes.
func cleanedIn(s string, n int) string {
	var t transcript
	for piece := range slices.Chunk([]byte(s), n) {
		t.write(piece)
	}
	t.close()
	return t.kept.with(nil)
}

func TestClean(t *testing.T) {
	for _, tc := range []struct{ name, in, out string }{
		{"plain", "a\tb\nc", "a\tb\nc"},
		{"colours", "\x1b[1;31mred\x1b[0m\n", "red\n"},
		{"private sequence", "\x1b[?25lx\x1b[?25h", "x"},
		{"title by BEL", "\x1b]0;title\x07x", "x"},
		{"link by ST", "\x1b]8;;http://h\x1b\\word\x1b]8;;\x1b\\", "word"},
		{"device string", "\x1bPq#0;2;0\x1b\\x", "x"},
		{"character set", "\x1b(Bx", "x"},
		{"eight-bit introducer", "\u009b31mx", "x"},
		{"eight-bit string", "\u009dtitle\u009cx", "x"},
		{"string that never ends", "\x1b]0;title\nx\n", "\nx\n"},
		{"sequence that is broken off", "\x1b[31\nx", "\nx"},
		{"escape in a sequence", "\x1b[3\x1b[31mx", "x"},
		{"escape at the end", "x\x1b", "x"},
		{"bell, NUL, delete", "a\x07b\x00c\x7fd", "abcd"},
		{"windows line ends", "a\r\nb\r\n", "a\nb\n"},
		{"two returns before the newline", "a\r\r\n", "a\n"},
		{"progress", "1%\r2%\r100%\ndone", "100%\ndone"},
		{"progress that erases", "\r\x1b[2K1%\r\x1b[2K2%", "2%"},
		{"progress wiped at last", "50%\r\x1b[Kdone\n", "done\n"},
		{"progress that ends in a return", "1%\r2%\r", "2%"},
		{"overstrike", "N\bNA\bA_\bME", "NAME"},
		{"backspace stops at the line's front", "a\n\b\bb", "a\nb"},
		{"backspace over a long rune", "é\be", "e"},
		{"latin-1", "caf\xe9\n", "caf\ufffd\n"},
		{"cut rune at the end", "x\xe2\x82", "x\ufffd\ufffd"},
		{"cut rune, then an escape", "\xe2\x1b[31mx", "\ufffdx"},
		{"surrogates and overlong", "\xed\xa0\x80\xc0\xaf", strings.Repeat("\ufffd", 5)},
		{"runes", "§€😀\n", "§€😀\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, n := range []int{1, 2, 3, 1000} {
				if got := cleanedIn(tc.in, n); got != tc.out {
					t.Errorf("in pieces of %d: %q, want %q", n, got, tc.out)
				}
			}
		})
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"\x1b[31mx\r\ny", "\x1b]0;t\x07é\xff\b", "\x9b\xe2\x82", "a\r\x1b[Kb"} {
		f.Add(s, 2)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		whole, pieces := cleanedIn(s, max(len(s), 1)), cleanedIn(s, 1+max(n, -n)%7)
		if whole != pieces && len(s) < longLine {
			t.Errorf("whole %q, in pieces %q", whole, pieces)
		}
		if !utf8.ValidString(pieces) {
			t.Errorf("invalid UTF-8: %q", pieces)
		}
		if i := strings.IndexFunc(pieces, forbidden); i >= 0 {
			t.Errorf("control code at %d in %q", i, pieces)
		}
	})
}

func forbidden(r rune) bool { return r < 0x20 && r != '\n' && r != '\t' || 0x7f <= r && r < 0xa0 }

func TestAStringThatNeverEndsSwallowsLittle(t *testing.T) {
	got := cleanedIn("\x1b]0;"+strings.Repeat("x", 3*longString), 100)
	if len(got) < 2*longString-10 {
		t.Errorf("%d bytes are left of it", len(got))
	}
}

func TestProgressOfManyStepsIsSmall(t *testing.T) {
	var in strings.Builder
	for i := range 200000 {
		fmt.Fprintf(&in, "\r\033[2K%d%%", i)
	}
	if got := cleanedIn(in.String(), chunkSize); got != "199999%" {
		t.Errorf("%d bytes: %.100q", len(got), got)
	}
}

func TestExcerpt(t *testing.T) {
	for _, size := range []int{0, 1, headSize, headSize + tailSize, headSize + tailSize + 1, 1 << 20} {
		for _, step := range []int{1000, 65536} {
			all := []byte(strings.Repeat("0123456789abcdé\n", size/17+1)[:size])
			var e excerpt
			for p := range slices.Chunk(all, step) {
				e.write(p)
			}
			checkExcerpt(t, string(all), e.with(nil))
			if len(e.head)+cap(e.tail) > 8*(headSize+tailSize) {
				t.Errorf("%d bytes are kept", len(e.head)+cap(e.tail))
			}
		}
	}
}

func checkExcerpt(t *testing.T, all, got string) {
	t.Helper()
	if len(all) <= headSize+tailSize {
		if got != all {
			t.Errorf("a text of %d bytes became one of %d", len(all), len(got))
		}
		return
	}
	head, rest, _ := strings.Cut(got, "\n[… ")
	var cut int
	if _, err := fmt.Sscanf(rest, "%d bytes of output", &cut); err != nil {
		t.Fatalf("what was cut is not said: %.80q", rest)
	}
	_, tail, _ := strings.Cut(rest, "…]\n")
	if !strings.HasPrefix(all, head) || !strings.HasSuffix(all, tail) || len(head)+cut+len(tail) != len(all) {
		t.Errorf("head %d + cut %d + tail %d is not %d", len(head), cut, len(tail), len(all))
	}
	if len(got) > 32<<10 || len(got) < 31<<10 {
		t.Errorf("%d bytes", len(got))
	}
}

func TestExcerptCutsNoRune(t *testing.T) {
	for shift := range 3 {
		var e excerpt
		e.write([]byte(strings.Repeat("x", shift) + strings.Repeat("€", 50000)))
		if got := e.with(nil); !utf8.ValidString(got) || strings.ContainsRune(got, utf8.RuneError) {
			t.Errorf("shift %d: a rune was cut", shift)
		}
	}
}

func TestBinaryOutputIsNamedNotShown(t *testing.T) {
	noise := make([]byte, 4096)
	for i := range noise {
		noise[i] = byte(i * 167 >> 3)
	}
	for _, tc := range []struct {
		in     string
		binary bool
	}{
		{string(noise), true}, {strings.Repeat("\x00", 100), true}, {"caf\xe9\n", false}, {"name\x00other\x00", false}, {"", false},
	} {
		var out transcript
		out.write([]byte(tc.in))
		out.close()
		said := fmt.Sprintf("[binary output, %d bytes]\n", len(tc.in))
		if got := out.text(); (got == said) != tc.binary {
			t.Errorf("%.20q gave %.60q", tc.in, got)
		}
		var words string
		out.say(time.Unix(100, 0), func(s string) { words += s })
		if tc.binary != (words == "[binary output]\n") {
			t.Errorf("%.20q was said as %.60q", tc.in, words)
		}
	}
}

// listener writes output at fixed times and keeps what a client hears.
type listener struct {
	transcript
	heard []string
}

func (l *listener) at(ms int, out string) {
	l.write([]byte(out))
	l.say(time.Unix(1000, 0).Add(time.Duration(ms)*time.Millisecond), func(s string) { l.heard = append(l.heard, s) })
}

func TestSaidOfUnfinishedLines(t *testing.T) {
	var l listener
	l.at(0, "one\ntw")
	l.at(100, "o")
	l.at(200, "\nthree\n")
	l.at(300, "")
	if want := []string{"one\ntw", "o", "\nthree\n"}; !slices.Equal(l.heard, want) {
		t.Errorf("%q", l.heard)
	}
}

func TestSaidOfProgress(t *testing.T) {
	var l listener
	for i := range 25 {
		l.at(i*100, fmt.Sprintf("\r%d%%", i*4))
	}
	l.at(2500, "\r100%\nend\n")
	if want := []string{"0%", "\n40%", "\n80%", "\n100%\nend\n"}; !slices.Equal(l.heard, want) {
		t.Errorf("%q", l.heard)
	}
	if got := l.text(); got != "100%\nend\n" {
		t.Errorf("kept %q", got)
	}
}

func TestSaidIsBoundedInSize(t *testing.T) {
	var l listener
	for i := range 30 {
		l.at(i*100, strings.Repeat("0123456789abcde\n", 1<<14))
	}
	var size, gaps int
	for _, s := range l.heard {
		size += len(s)
		gaps += strings.Count(s, "are not shown here")
	}
	if most := 4*sayRate + 30*80; size > most || len(l.heard) != 30 || gaps != 30 {
		t.Errorf("%d bytes in %d calls with %d gaps", size, len(l.heard), gaps)
	}
	if n := cap(l.feed.pending); n > 4*sayRate {
		t.Errorf("%d bytes wait", n)
	}
}

func TestSpool(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spool")
	s, err := openSpool(path, 10)
	if err != nil {
		t.Fatal(err)
	}
	s.put([]byte("01234"))
	s.put([]byte("5678é…"))
	s.put([]byte("more"))
	s.close()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != "012345678\n[… the output after this is not kept …]\n" || s.err != nil {
		t.Errorf("%q, %v", got, s.err)
	}
}

func TestASpoolThatCannotBeWrittenIsTold(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("this system has no /dev/full, which stands for a full disk here")
	}
	if err != nil {
		t.Fatal(err)
	}
	out := transcript{spool: spool{file: full, left: 100}}
	out.write([]byte("one\n"))
	out.write([]byte("two\n"))
	out.close()
	want := "one\ntwo\n\n[the full output could not be kept on disk: no space left on device]\n"
	if got := out.text(); got != want {
		t.Errorf("%q", got)
	}
}

func TestEnvironment(t *testing.T) {
	in := []string{"PATH=/bin", "OPENAI_API_KEY=sk-1", "openai_api_key=sk-2", "CI=true", "TERM=xterm", "GITHUB_TOKEN=x", "EMPTY=", "LANG=C", "LC_ALL=C",
		"GOFLAGS=-v", "GOOGLE_APPLICATION_CREDENTIALS=f", "CARGO_REGISTRY_TOKEN=x", "npm_config__authToken=x", "NPM_CONFIG_CACHE=/c", "SSH_AUTH_SOCK=/s",
		"DOCKER_HOST=d", "DATABASE_URL=postgres://u:p@h", "https_proxy=http://u:p@h", "NO_PROXY=h", "DECLARED_KEY=k", "OTHER=o", "JAVA_HOMES=x", mark + "=outer",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=evil", "GIT_CONFIG_PARAMETERS='x'", "GIT_EXTERNAL_DIFF=evil", "GIT_DIR=/d",
		"BASH_ENV=evil", "ENV=evil", "LD_PRELOAD=evil.so", "LD_AUDIT=evil.so", "DYLD_INSERT_LIBRARIES=evil", "PROMPT_COMMAND=evil"}
	for _, c := range []struct {
		what    string
		more    []string
		network bool
		want    string
	}{
		{"what is passed", nil, false, "PATH LANG LC_ALL GOFLAGS NPM_CONFIG_CACHE"},
		{"what is declared", []string{"DECLARED_KEY", "EMPTY", "OPENAI_API_KEY", "CI"}, false, "PATH EMPTY LANG LC_ALL GOFLAGS NPM_CONFIG_CACHE DECLARED_KEY"},
		{"proxies with the network", nil, true, "PATH LANG LC_ALL GOFLAGS NPM_CONFIG_CACHE https_proxy NO_PROXY"},
	} {
		var want []string
		for _, name := range strings.Fields(c.want) {
			i := slices.IndexFunc(in, func(e string) bool { return strings.HasPrefix(e, name+"=") })
			want = append(want, in[i])
		}
		for _, pair := range settled {
			want = append(want, pair[0]+"="+pair[1])
		}
		want = append(want, "GIT_SSH_COMMAND=ssh -o BatchMode=yes")
		if got := Environment(slices.Clone(in), c.more, c.network); !slices.Equal(got, want) {
			t.Errorf("%s: %q, not %q", c.what, got, want)
		}
	}
	own := Environment([]string{"GIT_SSH_COMMAND=mine"}, nil, false)
	if n := len(own); own[0] != "GIT_SSH_COMMAND=mine" || n != len(settled)+1 {
		t.Errorf("%q", own)
	}
	if got := withMark([]string{"A=1", mark + "=outer"}, "inner"); !slices.Equal(got, []string{"A=1", mark + "=inner"}) {
		t.Errorf("%q", got)
	}
}

func TestCleanLine(t *testing.T) {
	if got := cleanLine("a\nb\tc\x1b[31m", 100); got != "a b c" {
		t.Errorf("%q", got)
	}
	if got := cleanLine("aé€", 4); got != "aé…" {
		t.Errorf("%q", got)
	}
}

func BenchmarkClean(b *testing.B) {
	for _, tc := range []struct{ name, line string }{
		{"lines", "a usual line of a build's output, of some length\n"},
		{"short", "y\n"},
		{"coloured", "\x1b[32mok\x1b[0m  package/name\t0.01s\n"},
	} {
		b.Run(tc.name, func(b *testing.B) {
			chunk := []byte(strings.Repeat(tc.line, chunkSize/len(tc.line)))
			b.SetBytes(int64(len(chunk)))
			var t transcript
			for b.Loop() {
				t.write(chunk)
			}
		})
	}
}
