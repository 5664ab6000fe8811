package rehearsal

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

func start(t *testing.T, s *Script, o Options) *Server {
	t.Helper()
	server, err := Serve(t.Context(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return server
}

func TestAnAnswerComesWhole(t *testing.T) {
	s := parse(t, head+"-- beats/010-a --\nthink\n  I «think»  twice\nsay\n  Hello,\n  <world> & \"you\".\ncall one\n  text: "+
		strings.Repeat("é", 200)+"\ncall two\n-- beats/020-b --\nsay\n  More\nend length\n")
	server := start(t, s, Options{})
	p := newPerson(t, server.URL, s.Task)
	r := p.ask("", nil)
	want := reply{Text: "Hello,\n<world> & \"you\".", Reasoning: "I «think»  twice", Finish: "tool_calls", Usage: true, Done: true, Status: 200,
		Calls: []replyCall{{r.Calls[0].ID, "one", `{"text":"` + strings.Repeat("é", 200) + `"}`}, {r.Calls[1].ID, "two", "{}"}}}
	if !reflect.DeepEqual(r, want) || r.Calls[0].ID == r.Calls[1].ID {
		t.Errorf("the answer is %+v, want %+v", r, want)
	}
	p.hear(r)
	if r := p.ask("", nil); r.Text != "More" || r.Finish != "length" {
		t.Errorf("the second answer is %+v", r)
	}
	asked := server.Requests()
	if len(asked) != 2 || asked[0].Beat != "010-a" || asked[1].Beat != "020-b" || asked[0].Status != 200 || asked[0].Left {
		t.Errorf("the book says %+v", asked)
	}
	if !strings.Contains(string(asked[0].Body), s.Task) {
		t.Errorf("the first request was %s", asked[0].Body)
	}
}

func TestARequestThatNoBeatFitsIsRefused(t *testing.T) {
	s := parse(t, head+"-- beats/010-a --\nsay\n  Hello.\n")
	server := start(t, s, Options{})
	p := newPerson(t, server.URL, s.Task)
	p.hear(p.ask("", nil))
	r := p.ask("", nil)
	var body struct {
		Error struct{ Message, Type, Code string }
	}
	if err := json.Unmarshal([]byte(r.Body), &body); err != nil {
		t.Fatal(err)
	}
	if r.Status != 400 || body.Error.Code != "no_beat_fits" || !strings.HasPrefix(body.Error.Message, "rehearsal test: the story is over") {
		t.Errorf("a request too many gets %d %s", r.Status, r.Body)
	}
	if asked := server.Requests(); asked[1].Status != 400 || asked[1].Beat != "" {
		t.Errorf("the book says %+v", asked[1])
	}
}

func TestAClientThatHangsUpEndsTheBeat(t *testing.T) {
	s := parse(t, head+"-- beats/010-a --\nsay at once\n  I will extend\ndelay 1h\ncall edit\n-- beats/110-b --\non steer has \"hook\"\ncall plan\n")
	ended := make(chan struct{}, 9)
	log := zap.NewExample(zap.WrapCore(func(zapcore.Core) zapcore.Core { return heardBy(ended) }))
	server := start(t, s, Options{Pace: 1, Log: log})
	p := newPerson(t, server.URL, s.Task)
	r := p.ask("", func(text string) bool { return !strings.HasSuffix(text, "extend") })
	if r.Text != "I will extend" || r.Finish != "" {
		t.Fatalf("before the cut came %+v", r)
	}
	<-ended
	if asked := server.Requests(); !asked[0].Left || asked[0].Ended.IsZero() {
		t.Errorf("the book does not say that the client left: %+v", asked[0])
	}
	p.hear(reply{Text: r.Text + " [cut]"})
	again := p.ask("", func(text string) bool { return text == "" })
	if again.Text != "I " {
		t.Errorf("asked again, the beat begins with %q", again.Text)
	}
	p.steer("Use a hook.")
	if r := p.ask("plan", nil); len(r.Calls) != 1 || r.Calls[0].Name != "plan" {
		t.Errorf("the steer is answered by %+v", r)
	}
}

// heardBy is a log that signals each end of a request.
func heardBy(ended chan<- struct{}) zapcore.Core {
	nothing := zapcore.NewCore(zapcore.NewJSONEncoder(zapcore.EncoderConfig{}), zapcore.AddSync(io.Discard), zapcore.DebugLevel)
	return zapcore.RegisterHooks(nothing, func(e zapcore.Entry) error {
		if e.Message == "rehearsal request" {
			ended <- struct{}{}
		}
		return nil
	})
}

func TestFaults(t *testing.T) {
	s := parse(t, head+`-- beats/010-busy --
fail 429 retry-after 1500ms
  {"error": {"message": "slow down"}}
-- beats/020-page --
fail 200
  <html>
-- beats/030-torn --
say
  Half of
call edit
cut
-- beats/040-whole --
say
  All of it.
`)
	p := newPerson(t, start(t, s, Options{}).URL, s.Task)
	if r := p.ask("", nil); r.Status != 429 || r.RetryAfter != "2" || !strings.Contains(r.Body, "slow down") {
		t.Errorf("busy is %+v", r)
	}
	if r := p.ask("", nil); r.Status != 200 || r.Body != "<html>\n" {
		t.Errorf("a page is %+v", r)
	}
	if r := p.ask("", nil); r.Broken == nil || r.Text != "Half of" || r.Finish != "" {
		t.Errorf("torn is %+v", r)
	}
	if r := p.ask("", nil); r.Text != "All of it." || r.Broken != nil || !r.Done {
		t.Errorf("whole is %+v", r)
	}
}

func TestOtherRequests(t *testing.T) {
	s := parse(t, head+"-- beats/010-a --\nsay\n  Hello.\n")
	server := start(t, s, Options{})
	p := newPerson(t, server.URL, s.Task)
	for _, c := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/models", "", 200, `"id":"rehearsal"`},
		{"GET", "/nothing", "", 404, "a rehearsal does not know GET /v1/nothing"},
		{"POST", "/chat/completions", "half {", 400, "no chat completion request"},
		{"POST", "/chat/completions", `{"messages":[]}`, 400, "does not ask for a stream"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.method, server.URL+c.path, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		res, err := p.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != c.status || !strings.Contains(string(body), c.want) {
			t.Errorf("%s %s gets %d %s, %v", c.method, c.path, res.StatusCode, body, err)
		}
	}
	if asked := server.Requests(); len(asked) != 2 || string(asked[0].Body) != `"half {"` {
		t.Errorf("the book says %+v", asked)
	}
}

func TestTheContextEndsTheServer(t *testing.T) {
	s := parse(t, head+"-- beats/010-a --\nsay\n  Hello\nhold\n")
	ctx, cancel := context.WithCancel(t.Context())
	server, err := Serve(ctx, s, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := newPerson(t, server.URL, s.Task)
	r := p.ask("", func(text string) bool {
		if text != "" {
			cancel()
		}
		return true
	})
	if r.Broken == nil || r.Text != "Hello" {
		t.Errorf("the end of the context gives %+v", r)
	}
	if err := server.Close(); err != nil {
		t.Error(err)
	}
}

// playAt plays the first beat to a client that leaves after that time, and says how long it took.
func playAt(t *testing.T, archive string, slower float64, leftAfter time.Duration) (time.Duration, string, error) {
	s := parse(t, archive)
	out := httptest.NewRecorder()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if leftAfter > 0 {
		ctx, cancel = context.WithTimeout(ctx, leftAfter)
		defer cancel()
	}
	begun := time.Now()
	err := (&stream{w: out, done: ctx.Done(), beat: s.beats[0], pace: s.pace, slower: slower}).play()
	return time.Since(begun), out.Body.String(), err
}

func TestPace(t *testing.T) {
	const script = "rehearsal 1\npace: 10 words/s\n\n-- task --\nGreet.\n-- beats/010-a --\ndelay 2s\nsay\n  one two three\ncall x\n"
	for _, c := range []struct {
		name    string
		archive string
		slower  float64
		left    time.Duration
		want    time.Duration
		err     error
	}{
		{"as written", script, 1, 0, 2300 * time.Millisecond, nil},
		{"at half the time", script, 0.5, 0, 1150 * time.Millisecond, nil},
		{"at once", script, 0, 0, 0, nil},
		{"a pace of its own", strings.Replace(script, "say", "say 1 words/s", 1), 1, 0, 5 * time.Second, nil},
		{"at once in a paced script", strings.Replace(script, "say", "say at once", 1), 1, 0, 2 * time.Second, nil},
		{"left in the words", script, 1, 2150 * time.Millisecond, 2150 * time.Millisecond, errLeft},
		{"left while it holds", strings.Replace(script, "call x", "hold", 1), 1, time.Hour, time.Hour, errLeft},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				took, body, err := playAt(t, c.archive, c.slower, c.left)
				if took != c.want || err != c.err {
					t.Errorf("it took %v and ended with %v, want %v and %v", took, err, c.want, c.err)
				}
				if whole := strings.HasSuffix(body, "data: [DONE]\n\n"); whole != (c.err == nil) {
					t.Errorf("the body ends as %q", body[max(0, len(body)-80):])
				}
			})
		})
	}
}
