package rehearsal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
)

// tour is a session with everything that a recording can hold.
const tour = head + `-- beats/010-busy --
fail 429 retry-after 2s
  {"error":{"message":"slow down"}}
-- beats/020-page --
fail 200
  <html>
-- beats/030-torn --
say
  Half
call edit
  path: a
call edit
  path: b
cut
-- beats/040-plan --
think
  Let me think.
say quoted
  "\n I plan\r\n  -- task --\n\n"
call plan
  steps: [{id: s1, title: "é <&> \"q\""}]
call odd raw
  {"half
call odd quoted
  "{\"a\":\n1}\n"
call none
-- beats/050-approach --
say
  I will extend it
hold
-- beats/060-length --
say
  -- task --
  Too long
end length
-- beats/110-steered --
on steer
call plan
  steps: []
-- beats/120-silent --
say quoted
  ""
end content_filter
-- beats/910-check-in --
aside check_in
call check_in
  verdict: continue
`

// goOnATour asks for everything in the tour and gives the answers. A client takes its own calls
// for heard, whatever the server's ids are.
func goOnATour(t *testing.T, url string) []reply {
	p := newPerson(t, url, "Do this:\n-- steer --\nwell.")
	var all []reply
	ask := func(forced string, said func(string) bool) reply {
		r := p.ask(forced, said)
		for i := range r.Calls {
			r.Calls[i].ID = ""
		}
		all = append(all, r)
		return r
	}
	ask("", nil)
	ask("", nil)
	ask("", nil)
	p.hear(ask("", nil))
	r := ask("", func(text string) bool { return !strings.HasSuffix(text, "extend it") })
	p.hear(reply{Text: r.Text})
	p.hear(ask("", nil))
	ask("check_in", nil)
	p.steer("Use a hook.")
	p.hear(ask("plan", nil))
	ask("", nil)
	return all
}

func record(t *testing.T, upstream string, out io.Writer, o Options) *Server {
	t.Helper()
	u, err := url.Parse(upstream)
	if err != nil {
		t.Fatal(err)
	}
	carrier := &http.Transport{}
	t.Cleanup(carrier.CloseIdleConnections)
	o.Upstream = carrier
	s, err := Record(t.Context(), u, out, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestARecordingReplays(t *testing.T) {
	var tape bytes.Buffer
	real := start(t, parse(t, tour), Options{})
	recorder := record(t, real.URL, &tape, Options{})
	first := goOnATour(t, recorder.URL)
	if err := recorder.Close(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(tape.String(), "very-secret") {
		t.Error("the recording holds a header")
	}
	s, err := Parse("tape.txtar", tape.Bytes())
	if err != nil {
		t.Fatalf("%v in\n%s", err, tape.String())
	}
	again := goOnATour(t, start(t, s, Options{}).URL)
	if len(first) != 9 || len(again) != len(first) {
		t.Fatalf("there were %d answers, then %d", len(first), len(again))
	}
	for i := range first {
		a, b := first[i], again[i]
		if i == 2 { // of calls that came before the connection broke, nobody knows whether the last was whole
			a.Calls = a.Calls[:1]
		}
		if (a.Broken == nil) != (b.Broken == nil) {
			t.Errorf("answer %d ended with %v, then with %v", i, a.Broken, b.Broken)
		}
		a.Broken, b.Broken = nil, nil
		if !reflect.DeepEqual(a, b) {
			t.Errorf("answer %d was\n%+v, then\n%+v in\n%s", i, a, b, tape.String())
		}
	}
	if !strings.HasPrefix(s.Task, "Do this:") {
		t.Errorf("the task is %q", s.Task)
	}
}

func TestRecordingKeepsTheTime(t *testing.T) {
	h := &hearing{begun: time.Now()}
	h.hear([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"one \"}}]}\r\n\r\ndata: {\"choices\":[{\"del"))
	h.hear([]byte("ta\":{\"content\":\"two\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"))
	h.first = h.begun.Add(1204 * time.Millisecond)
	h.last = h.first.Add(500 * time.Millisecond)
	var out bytes.Buffer
	h.beat(nil).print(&out)
	if want := "-- beats/ --\ndelay 1.2s\nsay 4.0 words/s\n  one two\n"; out.String() != want {
		t.Errorf("recorded is %q, want %q", out.String(), want)
	}
}

func TestHearingIsLenient(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"calls without an index", `data: {"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{"}}]}}]}
data: {"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"}"}}]}}]}
data: {"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"g","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
			"call f raw\n  {}\ncall g raw\n  {}\n"},
		{"one body", `{"choices":[{"message":{"content":"Hello.","tool_calls":null},"finish_reason":"stop"}]}`, "say at once\n  Hello.\n"},
		{"no arguments", `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f"}}]},"finish_reason":"stop"}]}`,
			"call f raw\nend stop\n"},
		{"an error in the stream", `data: {"error":{"message":"overloaded"}}`, "fail 200\n  data: {\"error\":{\"message\":\"overloaded\"}}\n"},
		{"noise", ": ping\n\nevent: x\ndata: nonsense\ndata: {\"choices\":[{\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}", "say at once\n  Hi\n"},
	} {
		h := &hearing{begun: time.Now()}
		for i := range c.body {
			h.hear([]byte(c.body[i : i+1]))
		}
		h.first = h.begun
		var out bytes.Buffer
		h.beat(nil).print(&out)
		if want := "-- beats/ --\n" + c.want; out.String() != want {
			t.Errorf("%s is recorded as\n%s, want\n%s", c.name, out.String(), want)
		}
	}
}

type fullDisk struct{}

var errFull = errors.New("no space left")

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

func TestATapeThatCannotBeWrittenDoesNotDisturb(t *testing.T) {
	real := start(t, parse(t, tour), Options{})
	recorder := record(t, real.URL, fullDisk{}, Options{})
	if got := goOnATour(t, recorder.URL); len(got) != 9 || got[3].Text == "" {
		t.Errorf("the answers are %+v", got)
	}
	if err := recorder.Close(); !errors.Is(err, errFull) {
		t.Errorf("Close gives %v", err)
	}
}

func TestNoUpstream(t *testing.T) {
	if _, err := Record(t.Context(), &url.URL{Path: "nowhere"}, io.Discard, Options{}); err == nil || !strings.Contains(err.Error(), "want the base URL") {
		t.Errorf("an upstream without a host gives %v", err)
	}
	// Nobody listens on port 0. The port of a server that has closed may be the recorder's own next.
	recorder := record(t, "http://127.0.0.1:0/v1", io.Discard, Options{})
	r := newPerson(t, recorder.URL, "x").ask("", nil)
	if r.Status != http.StatusBadGateway || !strings.Contains(r.Body, "pass the request to 127.0.0.1") {
		t.Errorf("without a server the answer is %+v", r)
	}
	if err := recorder.Close(); err != nil {
		t.Error(err)
	}
}

func TestRecorderPassesModels(t *testing.T) {
	real := start(t, parse(t, tour), Options{})
	recorder := record(t, real.URL, io.Discard, Options{})
	p := newPerson(t, recorder.URL, "x")
	res, err := p.http.Get(recorder.URL + "/models")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || !strings.Contains(string(body), `"id":"rehearsal"`) {
		t.Errorf("models are %s, %v", body, err)
	}
	if err := recorder.Close(); err != nil {
		t.Error(err)
	}
}

func FuzzPrintedTextsComeBack(f *testing.F) {
	for _, s := range []string{"", " ", "a", "\na", "a\n", "a\n\n  b", "-- x --", "a\r\nb", "\x00", "é\u2028", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var out bytes.Buffer
		fmt.Fprint(&out, head)
		b := beat{name: "010-a", parts: []part{{kind: sayPart, text: text}, {kind: callPart, tool: text, text: text}}}
		b.print(&out)
		s, err := Parse("fuzz.txtar", out.Bytes())
		if err != nil {
			t.Fatalf("%v in\n%s", err, out.String())
		}
		if got := s.beats[0]; got.words() != text || got.calls()[0].text != text || got.calls()[0].tool != text {
			t.Errorf("%q came back as %q and %+v", text, got.words(), got.calls())
		}
	})
}

// slowToEnd is an upstream whose first answer is noticed to be over only when it is let go.
type slowToEnd struct {
	asked int
	let   chan struct{}
}

func (s *slowToEnd) RoundTrip(*http.Request) (*http.Response, error) {
	s.asked++
	body := io.Reader(strings.NewReader(`data: {"model":"m","choices":[{"delta":{"content":"The second."},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"))
	if s.asked == 1 {
		body = io.MultiReader(strings.NewReader(`data: {"model":"m","choices":[{"delta":{"content":"The first."}}]}`+"\n\n"), held(s.let))
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(body)}, nil
}

// held is a body that breaks when its channel is closed.
type held <-chan struct{}

func (h held) Read([]byte) (int, error) {
	<-h
	return 0, io.ErrUnexpectedEOF
}

// The one who steers hangs up and asks again at once; which end is noticed first is left to chance.
func TestBeatsAreRecordedInTheOrderOfTheirRequests(t *testing.T) {
	var tape bytes.Buffer
	upstream := &slowToEnd{let: make(chan struct{})}
	recorder, err := Record(t.Context(), &url.URL{Scheme: "http", Host: "model"}, &tape, Options{Upstream: upstream})
	if err != nil {
		t.Fatal(err)
	}
	p := newPerson(t, recorder.URL, "Do this.")
	p.hear(p.ask("", func(text string) bool { return text == "" }))
	if r := p.ask("", nil); r.Text != "The second." {
		t.Fatalf("the second answer is %+v", r)
	}
	close(upstream.let)
	if err := recorder.Close(); err != nil {
		t.Fatal(err)
	}
	first, second := strings.Index(tape.String(), "The first."), strings.Index(tape.String(), "The second.")
	if first < 0 || second < first {
		t.Errorf("recorded is\n%s", tape.String())
	}
}
