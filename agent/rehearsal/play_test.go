package rehearsal

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// conversation builds a question from lines: a role, a space and its text. An assistant's line
// that begins with ! is a call: its tool and its arguments; the result that follows answers it.
func conversation(lines ...string) question {
	var q question
	for i, line := range lines {
		role, text, _ := strings.Cut(line, " ")
		m := message{role: role, text: text}
		if call, ok := strings.CutPrefix(text, "!"); ok && role == "assistant" {
			tool, arguments, _ := strings.Cut(call, " ")
			m.text, m.calls = "", []toolCall{{fmt.Sprint("c", i), tool, arguments}}
		}
		if role == "tool" {
			m.callID = fmt.Sprint("c", i-1)
		}
		q.messages = append(q.messages, m)
	}
	return q
}

// story30 has a main chain of three beats, one of them optional, and three other chains.
const story30 = head + `-- beats/010-read --
call read
  path: a
-- beats/020-fix --
if result has "broken"
call edit
  path: a
-- beats/030-test --
expect result of read lacks "FAIL"
expect result lacks "FAIL"
expect no call edit has "b"
call run
  command: test
-- beats/040-end --
say
  It is done.
-- beats/110-moon --
on steer has "moon" or "sun"
call plan
  steps: []
-- beats/120-write --
call write
  path: m
-- beats/210-other --
on steer
back
call plan
  steps: [1]
-- beats/310-brief --
on message has "brief"
call read
  path: b
-- beats/910-check-in --
aside check_in
call check_in
  verdict: continue
-- beats/920-check-in --
aside check_in
call check_in
  verdict: clarify
`

const (
	read   = `assistant !read {"path":"a"}`
	edited = `assistant !edit {"path":"a"}`
	run    = `assistant !run {"command":"test"}`
	moon   = `assistant !plan {"steps":[]}`
	other  = `assistant !plan { "steps": [1] }`
)

func TestTheConversationLeadsToTheBeat(t *testing.T) {
	s := parse(t, story30)
	for _, c := range []struct {
		name  string
		want  string // a beat, or a part of the error
		lines []string
	}{
		{"the beginning", "010-read", []string{"system x", "user task"}},
		{"an optional beat", "020-fix", []string{"user task", read, "tool it is Broken"}},
		{"an optional beat passed over", "030-test", []string{"user task", read, "tool fine"}},
		{"behind the optional beat", "030-test", []string{"user task", read, "tool broken", edited, "tool ok"}},
		{"behind the one passed over", "040-end", []string{"user task", read, "tool fine", run, "tool ok"}},
		{"an expectation", "beat 030-test expects result lacks \"FAIL\"; what came is the last result: «FAIL one»",
			[]string{"user task", read, "tool broken", edited, "tool FAIL  one"}},
		{"an expectation of one tool's result", "beat 030-test expects result of read lacks \"FAIL\"; what came is the last result: «broken FAIL»",
			[]string{"user task", read, "tool broken FAIL", edited, "tool ok"}},
		{"words that were cut", "040-end", []string{"user task", read, "tool fine", run, "tool ok", "assistant It is"}},
		{"the end", "the story is over: its last beat, 040-end, was played; finish was never called; it would go on with a steer that has «moon» or «sun», or with a steer, or with a message that has «brief»",
			[]string{"user task", read, "tool fine", run, "tool ok", "assistant It is done.", "user and now?"}},
		{"no steer in the task", "010-read", []string{"user task with a steer to the moon"}},
		{"a steer", "110-moon", []string{"user task", read, "tool broken", "assistant I", "user steer: to the Moon"}},
		{"a steer before the first answer", "110-moon", []string{"user task", "user steer: sun"}},
		{"behind the steer's beat", "120-write", []string{"user task", "user steer: sun", moon, "tool ok"}},
		{"the steer's chain is over", "the story is over: its last beat, 120-write",
			[]string{"user task", "user steer: sun", moon, "tool ok", `assistant !write {"path":"m"}`, "tool ok"}},
		{"another steer", "210-other", []string{"user task", read, "tool broken", "user steer: home"}},
		{"back where it was", "020-fix", []string{"user task", read, "tool broken", "user steer: home", other, "tool broken"}},
		{"back after two steers", "020-fix", []string{"user task", read, "tool broken", "user steer: home", "user steer: north", other, "tool broken"}},
		{"back into a chain", "120-write", []string{"user task", "user steer: sun", moon, "tool ok", "user steer: home", other, "tool ok"}},
		{"the same steer again takes the other chain", "210-other", []string{"user task", "user steer: sun", moon, "tool ok", "user steer: sun"}},
		{"two steers at once, the last leads", "110-moon", []string{"user task", read, "tool x", "user steer: home", "user steer: moon"}},
		{"a call that was cancelled", "030-test", []string{"user task", read, "tool fine", run, `tool {"status": "cancelled", "by": {}}`, "user steer: home", other, "tool ok"}},
		{"a message", "310-brief", []string{"user the task and then", "user this is the Brief"}},
		{"a message that leads nowhere", "020-fix", []string{"user task", read, "tool broken", "user the file changed"}},
		{"a foreign answer", "the conversation bears an answer that this script does not give here: a call of delete; beat 010-read is next",
			[]string{"user task", `assistant !delete {}`, "tool ok"}},
		{"other arguments", "020-fix", []string{"user task", `assistant !read { "path" : "a" }`, "tool broken"}},
		{"nothing", "the request bears no message", nil},
		{"no task", "the request bears no task", []string{"system x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := answerOf(s, conversation(c.lines...))
			if got != c.want && (!strings.Contains(c.want, " ") || !strings.Contains(got, c.want)) {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// answerOf is the name of the next beat, or the error.
func answerOf(s *Script, q question, played ...string) string {
	b, err := story{s, looksLikeSteer, func(name string) bool { return slices.Contains(played, name) }}.next(q)
	if err != nil {
		return err.Error()
	}
	return b.name
}

func TestForcedTools(t *testing.T) {
	s := parse(t, story30)
	for _, c := range []struct{ name, forced, want string }{
		{"the tool that it calls", "read", "010-read"},
		{"another tool", "plan", "the request forces plan; beat 010-read, which is next, does not call it"},
		{"none", "none", "the request forbids tools; beat 010-read, which is next, calls read"},
		{"an aside", "check_in", "910-check-in"},
	} {
		q := conversation("user task")
		q.forced = c.forced
		if got := answerOf(s, q); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	q := conversation("user task")
	q.forced = "check_in"
	if got := answerOf(s, q, "910-check-in"); got != "920-check-in" {
		t.Errorf("the second aside is %s", got)
	}
	if got := answerOf(s, q, "910-check-in", "920-check-in"); got != "920-check-in" {
		t.Errorf("the aside after the last is %s", got)
	}
}

func TestBeatsThatLeaveNoTraceArePlayedOnce(t *testing.T) {
	s := parse(t, head+"-- beats/010-busy --\nfail 429\n-- beats/020-torn --\nsay\n  Hel\ncut\n-- beats/030-whole --\nsay\n  Hello.\n")
	q := conversation("user task")
	for i, want := range []string{"010-busy", "020-torn", "030-whole"} {
		if got := answerOf(s, q, []string{"010-busy", "020-torn"}[:i]...); got != want {
			t.Errorf("request %d is answered by %s, want %s", i, got, want)
		}
	}
	if got := answerOf(s, conversation("user task", "assistant Hel", "assistant Hello."), "010-busy", "020-torn"); !strings.Contains(got, "030-whole, was played") {
		t.Errorf("at the end: %s", got)
	}
}

func TestReadQuestion(t *testing.T) {
	q, err := readQuestion([]byte(`{"model":"m","stream":true,"stream_options":{"include_usage":true},"tool_choice":{"type":"function","function":{"name":"plan"}},
		"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
		{"role":"assistant","content":null,"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{}"}}]},{"role":"tool","tool_call_id":"1","content":"r"}]}`))
	if err != nil || q.model != "m" || !q.usage || q.forced != "plan" {
		t.Errorf("the question is %+v, %v", q, err)
	}
	if got, want := q.conversation(), "ab\n\nf {}\nr\n"; got != want {
		t.Errorf("the conversation is %q, want %q", got, want)
	}
	for body, want := range map[string]string{
		`{`: "no chat completion request", `{"messages":[]}`: "does not ask for a stream",
		`{"stream":true,"messages":[{"role":"user","content":7}]}`: "message 0: the content is neither",
	} {
		if _, err := readQuestion([]byte(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v, want %s", body, err, want)
		}
	}
	for choice, want := range map[string]string{`"auto"`: "", `"none"`: "none", `null`: "", `7`: "", `{"type":"function"}`: ""} {
		if got := forcedTool([]byte(choice)); got != want {
			t.Errorf("tool_choice %s forces %q, want %q", choice, got, want)
		}
	}
}
