package rehearsal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// head is the least that stands before the beats of a script.
const head = "rehearsal 1\n\nA test.\n-- task --\nGreet.\n"

func parse(t *testing.T, archive string) *Script {
	t.Helper()
	s, err := Parse("test.txtar", []byte(archive))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestParseReadsAScript(t *testing.T) {
	s := parse(t, `rehearsal 1
pace: 12.5 words/s

Two lines
of prose.
-- task --
Greet the world.
-- steer --
Greet the moon.
-- workspace/greet/greet.go --
package greet
-- files/new.go --
package greet // new
-- beats/010-write --
say
  I write greet.go.

  It is one line.
call write_file
  path: greet/greet.go
  content: "@files/new.go"
  mark: "@@not a file"
  n: 3
  ok: true
  list: [a, 1.5, null, {b: <c&d>}]
call none
-- beats/020-odd --
aside check_in
call odd raw
  {"half
call odd quoted
  "a\r\nb\n"
`)
	if s.Name != "test" || s.About != "Two lines\nof prose." || s.Task != "Greet the world." || s.Steer != "Greet the moon." || s.pace != 12.5 {
		t.Errorf("the head is read as %+v", s)
	}
	if len(s.Files) != 1 || s.Files[0].Path != "greet/greet.go" || string(s.Files[0].Data) != "package greet\n" {
		t.Errorf("the workspace is %v", s.Files)
	}
	b := s.beats[0]
	if got, want := b.words(), "I write greet.go.\n\nIt is one line."; got != want {
		t.Errorf("the words are %q, want %q", got, want)
	}
	want := `{"path":"greet/greet.go","content":"package greet // new\n","mark":"@not a file","n":3,"ok":true,"list":["a",1.5,null,{"b":"<c&d>"}]}`
	if got := b.calls()[0].text; got != want {
		t.Errorf("the arguments are\n%s, want\n%s", got, want)
	}
	if got := b.calls()[1].text; got != "{}" {
		t.Errorf("no arguments are %q", got)
	}
	odd := s.asides[0].calls()
	if odd[0].text != `{"half` || odd[1].text != "a\r\nb\n" {
		t.Errorf("raw and quoted arguments are %q and %q", odd[0].text, odd[1].text)
	}
}

func TestParseRefuses(t *testing.T) {
	const say = "say\n  Hello.\n"
	for _, c := range []struct{ name, archive, want string }{
		{"no format", "a story\n", `test.txtar:1: want "rehearsal 1" as the first line`},
		{"another version", "rehearsal 2\n", `test.txtar:1: want "rehearsal 1"`},
		{"unknown setting", "rehearsal 1\nspeed: 3\n", "test.txtar:2: unknown setting"},
		{"bad pace", "rehearsal 1\npace: fast\n", "test.txtar:2: pace: want «N words/s»"},
		{"pace of nothing", "rehearsal 1\npace: 0 words/s\n", "test.txtar:2: pace: want"},
		{"no task", "rehearsal 1\n\n-- beats/010-a --\n" + say, "no task"},
		{"no beats", head, "no beats"},
		{"unknown file", head + "-- notes --\n", "test.txtar:6: notes: unknown file"},
		{"a way out", head + "-- workspace/../x --\n", "test.txtar:6: workspace/../x: the path leads out"},
		{"an absolute way out", head + "-- workspace//x --\n", "the path leads out"},
		{"twice", head + "-- steer --\na\n-- steer --\nb\n", "test.txtar:8: steer: the archive holds this file twice"},
		{"name of a beat", head + "-- beats/first --\n" + say, "test.txtar:6: beats/first: a beat is named by a number"},
		{"order of beats", head + "-- beats/020-a --\n" + say + "-- beats/010-b --\n" + say, "test.txtar:9: beats/010-b: beats stand in the order of their names"},
		{"unused file", head + "-- files/x --\n-- beats/010-a --\n" + say, "no beat refers to files/x"},
		{"empty beat", head + "-- beats/010-a --\n", "the beat answers nothing"},
		{"unknown word", head + "-- beats/010-a --\n" + say + "shout\n", "test.txtar:9: beats/010-a: unknown word «shout»"},
		{"text without a statement", head + "-- beats/010-a --\n  Hello.\n", "test.txtar:7: beats/010-a: an indented line"},
		{"a tab", head + "-- beats/010-a --\nsay\n\tHello.\n", "test.txtar:8: beats/010-a: indent by two spaces"},
		{"text where none belongs", head + "-- beats/010-a --\ndelay 1s\n  Hello.\n", "test.txtar:8: beats/010-a: «delay» takes no indented text"},
		{"say without words", head + "-- beats/010-a --\nsay\n", "say: want its words"},
		{"say at a bad pace", head + "-- beats/010-a --\nsay loud\n  Hello.\n", "say: want «N words/s»"},
		{"delay", head + "-- beats/010-a --\ndelay soon\n", "delay: time: invalid duration"},
		{"no delay", head + "-- beats/010-a --\ndelay 0s\n", "delay: want a time above zero"},
		{"call without a tool", head + "-- beats/010-a --\ncall\n", "call: want the name of a tool"},
		{"call with more", head + "-- beats/010-a --\ncall a b\n", "want «call TOOL»"},
		{"arguments", head + "-- beats/010-a --\ncall a\n  x: 1\n  y: [\n", "beats/010-a: the arguments of a are not YAML"},
		{"line of the arguments", head + "-- beats/010-a --\ncall a\n  x: 1\n  x: 2\n", "test.txtar:9: beats/010-a: the arguments of a are not YAML"},
		{"arguments without keys", head + "-- beats/010-a --\ncall a\n  - 1\n", "the arguments of a are not YAML"},
		{"no such file", head + "-- beats/010-a --\ncall a\n  x: \"@files/x\"\n", "test.txtar:8: beats/010-a: call a: the archive holds no file files/x"},
		{"quoted", head + "-- beats/010-a --\ncall a quoted\n  x\n", "not one text in double quotes"},
		{"words behind calls", head + "-- beats/010-a --\ncall a\n" + say, "words come before calls"},
		{"behind a cut", head + "-- beats/010-a --\ncut\n" + say, "nothing can follow «cut»"},
		{"fail with words", head + "-- beats/010-a --\nfail 500\n" + say, "«fail» is the whole answer"},
		{"fail", head + "-- beats/010-a --\nfail 302\n", "fail: want a status"},
		{"retry", head + "-- beats/010-a --\nfail 429 retry-after soon\n", "fail: want a status"},
		{"end", head + "-- beats/010-a --\n" + say + "end\n", "end: want a finish_reason"},
		{"on what", head + "-- beats/010-a --\non monday\n" + say, "on: want «steer»"},
		{"on twice", head + "-- beats/010-a --\non steer\non steer\n" + say, "on: a beat has one"},
		{"on a message without words", head + "-- beats/010-a --\non message\n" + say, "on: want «steer»"},
		{"on unquoted", head + "-- beats/010-a --\non steer has hook\n" + say, "on: want text in double quotes"},
		{"or what", head + "-- beats/010-a --\non steer has \"a\" and \"b\"\n" + say, `on: want «or "…"»`},
		{"on below the answer", head + "-- beats/010-a --\n" + say + "on steer\n", "on: stands before the answer"},
		{"back alone", head + "-- beats/010-a --\nback\n" + say, "«back» stands in the first beat"},
		{"aside in the story", head + "-- beats/010-a --\naside none\non steer\n" + say, "an aside is outside"},
		{"aside of nothing", head + "-- beats/010-a --\naside\n" + say, "aside: want the name of a tool"},
		{"if what", head + "-- beats/010-a --\nif weather has \"rain\"\n" + say, "if: want «result»"},
		{"if result is", head + "-- beats/010-a --\nif result is \"rain\"\n" + say, "if: want «has» or «lacks»"},
		{"no result", head + "-- beats/010-a --\nif no result has \"rain\"\n" + say, "if: want «result»"},
		{"call of nothing", head + "-- beats/010-a --\nexpect no call\n" + say, "expect: want the name of a tool"},
		{"a call lacks", head + "-- beats/010-a --\nif call a lacks \"x\"\n" + say, "if: want «has» or «lacks»"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse("test.txtar", []byte(c.archive))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if err != nil && !errors.As(err, new(*Error)) {
				t.Errorf("%T is no *Error", err)
			}
		})
	}
}

func TestUnpack(t *testing.T) {
	s := parse(t, head+"-- workspace/a/b/c.txt --\ntext\n-- workspace/run.sh --\n#!/bin/sh\n-- beats/010-a --\nsay\n  Hello.\n")
	dir := filepath.Join(t.TempDir(), "new", "ws")
	if err := s.Unpack(dir); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, "a", "b", "c.txt")); err != nil || string(b) != "text\n" {
		t.Errorf("c.txt holds %q, %v", b, err)
	}
	if i, err := os.Stat(filepath.Join(dir, "run.sh")); err != nil || i.Mode().Perm()&0o100 == 0 {
		t.Errorf("run.sh cannot be run: %v, %v", i, err)
	}
	if i, err := os.Stat(filepath.Join(dir, "a", "b", "c.txt")); err != nil || i.Mode().Perm()&0o111 != 0 {
		t.Errorf("c.txt can be run: %v, %v", i, err)
	}
	if err := s.Unpack(dir); !errors.Is(err, os.ErrExist) {
		t.Errorf("unpacking over files gives %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(head + "-- beats/010-a --\non steer has \"x\"\nsay 3 words/s\n  Hello.\ncall a\n  b: [1, {c: d}]\n"))
	f.Add([]byte(head + "-- beats/010-a --\nfail 429 retry-after 2s\n  {}\n"))
	f.Fuzz(func(t *testing.T, archive []byte) {
		s, err := Parse("fuzz.txtar", archive)
		if err != nil && !errors.As(err, new(*Error)) {
			t.Errorf("%T is no *Error", err)
		}
		if err == nil && (s.Task == "" || len(s.beats) == 0 && len(s.asides) == 0) {
			t.Error("a script without task or beats is taken")
		}
	})
}
