package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tandem/protocol"
)

// reportsOfStreams are the reports of theme f: streams and model servers.
var reportsOfStreams = []report{
	{id: "B127", theme: "f", about: "deltas of calls bear no index",
		held: []string{"server.TestReportCallsInEveryForm/no index", "agent/model.TestAssemblesCalls"}},
	{id: "B128", theme: "f", about: "an absent index is read as 0, and all calls become one",
		held: []string{"server.TestReportCallsInEveryForm/no index, then one", "agent/model.TestAssemblesCalls"}},
	{id: "B129", theme: "f", about: "an index that is null is an error",
		held: []string{"server.TestReportCallsInEveryForm/null index", "agent/model.TestAssemblesCalls"}},
	{id: "B130", theme: "f", about: "calls are announced and never come, and the session hangs",
		held: []string{"server.TestReportAnnouncedCalls", "agent/model.TestBrokenAnswers"}},
	{id: "B131", theme: "f", about: "an event without choices ends the program",
		held: []string{"server.TestReportNoChoices"}},
	{id: "B132", theme: "f", about: "a server that is none answers with success",
		held: []string{"server.TestReportNoModelServer", "agent/model.TestBrokenAnswers", "agent/model.TestBaseURLForms"}},
	{id: "B135", theme: "f", about: "many lines without data end an answer",
		held: []string{"server.TestReportKeepAlives", "agent/model.TestIdleLimit/a slow server is no silent one"}},
	{id: "B136", theme: "f", about: "what was cancelled counts as a fault of the server's",
		held: []string{"server.TestReportACancelIsNoFault", "agent/model.TestCancelIsSeenByTheServer"}},
	{id: "B137", theme: "f", about: "an error within a stream is a bare end of file",
		held: []string{"server.TestReportErrorInASuccess", "agent/model.TestErrorsInTheStream"}},
	{id: "B140", theme: "f", about: "a stream that stalls hangs the agent for ever",
		held: []string{"server.TestReportAStall", "agent/model.TestIdleLimit"}},
	{id: "B142", theme: "f", about: "a stream that was cut in a call passes for whole",
		held: []string{"server.TestReportACutCall", "server.TestScenarios/cut_answer", "agent/model.TestCorpusCut"}},
	{id: "B143", theme: "f", about: "the server says that calls are whole though they were cut",
		held: []string{"server.TestReportUnusableArguments/cut", "server.TestReportUnusableArguments/field missing"}},
	{id: "B145", theme: "f", about: "a call whose arguments are no JSON is dropped without a word",
		held: []string{"server.TestReportUnusableArguments/NUL", "server.TestReportUnusableArguments/comma", "server.TestReportUnusableArguments/doubled", "agent.TestScripts/bad_calls"}},
	{id: "B146", theme: "f", about: "empty arguments of a tool that needs none end the run",
		held: []string{"server.TestReportEmptyArguments", "agent/model.TestAssemblesCalls"}},
	{id: "B147", theme: "f", about: "arguments that are JSON but no object kill the program",
		held: []string{"server.TestReportUnusableArguments/list", "server.TestReportUnusableArguments/text", "server.TestReportUnusableArguments/number", "server.TestReportUnusableArguments/null", "server.TestReportUnusableArguments/true"}},
	{id: "B148", theme: "f", about: "the same cut call comes again and again, for ever",
		held: []string{"server.TestReportTheSameCutCall", "agent.TestScripts/circle"}},
	{id: "B149", theme: "f", about: "a call of a tool that there is not gets no answer",
		held: []string{"server.TestReportNamesOfTools", "agent.TestScripts/names_of_calls"}},
	{id: "B150", theme: "f", about: "one server wants reasoning back, another refuses it",
		held: []string{"server.TestReportReasoningComesBack", "agent/model.TestReasoningIsLeftOutWhereItIsRefused"}},
	{id: "B151", theme: "f", about: "a rate limit ends the run though the server says how long it lasts",
		held: []string{"server.TestReportRateLimits", "server.TestScenarios/rate_limit", "agent/model.TestRetryAfter"}},
	{id: "B153", theme: "f", about: "the context is too long, and so is the request that would shorten it",
		held: []string{"server.TestReportContextTooLong", "agent.TestScripts/compact"}},
	{id: "B154", theme: "f", about: "compaction follows on compaction and shortens nothing",
		held: []string{"agent.TestScripts/compact_in_a_circle", "server.TestReportContextTooLong"}},
	{id: "B155", theme: "f", about: "a server gives all calls one id, and results are dropped",
		held: []string{"server.TestReportOneIdForAll", "agent/model.TestAssemblesCalls"}},
	{id: "B160", theme: "f", about: "an error in a success, or all events at once, pass for an empty answer",
		held: []string{"server.TestReportErrorInASuccess", "server.TestReportPiecesOfAnyLength", "agent/model.TestReadsEveryDialect"}},
	{id: "B163", theme: "f", about: "each cancelled stream leaves a goroutine behind",
		held: []string{"server.TestReportCancelledStreamsLeaveNothing", "agent/model.TestNothingIsLeftBehind"}},
	{id: "B164", theme: "f", about: "arguments come before the name of their call",
		held: []string{"server.TestReportCallsInEveryForm/name last", "agent/model.TestAssemblesCalls"}},
}

// deltas is a stream of tool call deltas, one an event, that ends with a finish reason.
func deltas(list ...string) reply {
	var s sse
	for _, d := range list {
		s = append(s, `{"choices":[{"index":0,"delta":{"tool_calls":[`+d+`]}}]}`)
	}
	return s.whole("tool_calls")
}

// delta is one delta of a call; fields are what stands beside the function.
func delta(fields, name, arguments string) string {
	function := ""
	if name != "" {
		function = `"name":` + quoted(name) + `,`
	}
	return strings.TrimPrefix(fmt.Sprintf(`{%s,"function":{%s"arguments":%s}}`, fields, function, quoted(arguments)), ",")
}

// finishedOf are the operations of a tool that have ended, as «status target».
func (p *peer) finishedOf(id, tool string) []string {
	p.t.Helper()
	var out []string
	for _, o := range p.operations(id) {
		if o.Tool == tool {
			out = append(out, fmt.Sprintf("%s %s", o.Status, o.Target))
		}
	}
	return out
}

// However a server cuts and numbers its calls, each is made once, with its own arguments.
func TestReportCallsInEveryForm(t *testing.T) {
	const a, b, c = `{"path":"a.txt"}`, `{"path":"b.txt"}`, `{"path":"c.txt"}`
	for name, calls := range map[string]reply{
		"no index": deltas(delta(`"id":"c1","type":"function"`, "read_file", a), delta(`"id":"c2","type":"function"`, "read_file", b), delta(`"id":"c3"`, "read_file", c)),
		"no index, then one": deltas(delta(`"id":"c1"`, "read_file", a[:9]), delta(`"id":"c2"`, "read_file", b), delta(`"id":"c3"`, "read_file", c),
			delta(`"index":0,"id":"c1"`, "", a[9:])),
		"null index": deltas(delta(`"index":null,"id":"c1"`, "read_file", ""), delta(`"index":null`, "", a), delta(`"index":null,"id":"c2"`, "read_file", b), delta(`"index":null,"id":"c3"`, "read_file", c)),
		"name last": deltas(delta(`"id":"c1"`, "", a[:5]), delta(`"id":"c1"`, "", a[5:]), delta(`"id":"c1"`, "read_file", ""),
			delta(`"id":"c2"`, "", b), delta(`"id":"c2"`, "read_file", ""), delta(`"id":"c3"`, "read_file", c)),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, map[string]string{"a.txt": "a\n", "b.txt": "b\n", "c.txt": "c\n"})
				h.model.will(work(), calls, says("Done."))
				p := h.client()
				id := p.start(params{}).ID
				p.untilHas(protocol.NoteModeChanged, "waiting")
				if got := p.finishedOf(id, "read_file"); !slices.Equal(got, []string{"done a.txt", "done b.txt", "done c.txt"}) {
					t.Errorf("what was read is %q", got)
				}
				strictly(t, h.model.asked())
			})
		})
	}
}

// Calls that are announced and do not come are an error, which is shown at once.
func TestReportAnnouncedCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.model.will(work(), sse{}.whole("tool_calls"), says("Done."))
		p := h.client()
		p.start(params{})
		began := time.Now()
		p.untilHas(protocol.NoteModeChanged, "it announced tool calls and sent none; it is asked again in")
		if took := time.Since(began); took > time.Second {
			t.Errorf("it is shown after %v", took)
		}
		p.untilHas(protocol.NoteModeChanged, `"waiting"`)
	})
}

// Events without choices take nothing from the answer around them.
func TestReportNoChoices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const none = `{"id":"x","object":"chat.completion.chunk","choices":[]}`
		h := newHouse(t, nil)
		end := `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":1234,"completion_tokens":56}}`
		h.model.will(work(), reply{body: "data: " + strings.Join([]string{none, saying("one "), none, saying("two"), end, none, "[DONE]"}, "\n\ndata: ") + "\n\n"})
		p := h.client()
		id := p.start(params{}).ID
		p.untilHas(protocol.NoteModeChanged, "waiting")
		s := p.session(id)
		if s.Usage.InputTokens != 1244 || s.Usage.OutputTokens != 58 || s.Usage.Requests != 2 {
			t.Errorf("the usage is %+v", s.Usage)
		}
		p.ok(protocol.MethodSteer, at(id, "text", "go on"), nil)
		if q := h.model.question(2); !strings.Contains(q, `"content":"one two"`) {
			t.Errorf("the answer is kept as\n%s", q)
		}
	})
}

// What answers with success and is no model server is told with the whole address that was asked,
// and what to change; nothing passes for an answer.
func TestReportNoModelServer(t *testing.T) {
	for name, body := range map[string]string{"no choices": `{"choices":[]}`, "nothing": "", "page": "<!DOCTYPE html><html><body>hello</body></html>"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, nil)
				for range 9 {
					h.model.will(reply{body: body})
				}
				p := h.client()
				id := p.start(params{}).ID
				p.until("the developer's turn", func(method, text string) bool {
					return method == protocol.NoteModeChanged && strings.Contains(text, `"waiting"`) &&
						strings.Contains(text, "http://model.example/v1/chat/completions") && strings.Contains(text, "OPENAI_BASE_URL")
				})
				if n := len(h.model.asked()); name != "nothing" && n != 1 || n > 9 {
					t.Errorf("it was asked %d times", n)
				}
				if s := p.session(id); s.Mode != protocol.Waiting || s.Plan != nil {
					t.Errorf("the session is %+v", s)
				}
			})
		})
	}
}

// Thousands of lines that only keep the connection alive are no end of an answer.
func TestReportKeepAlives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		whole := sse{saying("two")}.whole("stop").body
		keeps := strings.Repeat(": keepalive\n", 2500)
		h.model.will(work(), reply{body: "data: " + saying("one ") + "\n\n" + keeps, slow: 3 * time.Second, rest: keeps + whole})
		p := h.client()
		id := p.start(params{}).ID
		p.untilHas(protocol.NoteModeChanged, "waiting")
		p.ok(protocol.MethodSteer, at(id, "text", "go on"), nil)
		if q := h.model.question(2); !strings.Contains(q, `"content":"one two"`) {
			t.Errorf("the answer is kept as\n%s", q)
		}
	})
}

// What the developer cancels is no fault of the server's: it is not shown as one, and nothing is
// asked a second time.
func TestReportACancelIsNoFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const steers = 100
		h := newHouse(t, nil)
		h.model.will(work())
		for range steers {
			h.model.will(sse{saying("one "), saying("two ")}.hanging())
		}
		p := h.client()
		id := p.start(params{}).ID
		for n := range steers {
			h.model.question(n + 1)
			synctest.Wait() // both words are said
			p.ok(protocol.MethodSteer, at(id, "text", fmt.Sprintf("word %d", n)), nil)
		}
		h.model.question(steers + 1)
		time.Sleep(time.Hour / 2) // whatever would be asked again is, by then; the last one stalls
		p.ok(protocol.MethodPause, at(id), nil)
		asked := h.model.asked()
		for n, q := range asked[:steers+1] {
			if n > 1 && !strings.Contains(string(q.Messages[len(q.Messages)-1]), fmt.Sprintf("word %d", n-2)) {
				t.Fatalf("question %d does not bear word %d", n, n-2)
			}
		}
		for _, o := range p.operations(id) {
			if o.Kind == protocol.Think && o.Status == protocol.OpFailed && !strings.Contains(o.Output, "sent nothing for") {
				t.Errorf("a question failed: %+v", o)
			}
		}
	})
}

// An error that a server tells within a success is shown with its words, and asked again only where
// that can help.
func TestReportErrorInASuccess(t *testing.T) {
	for name, test := range map[string]struct {
		body, says string
		again      bool
	}{
		"quota": {`{"error":{"message":"quota","type":"insufficient_quota"}}`, "has no quota left", false},
		"slots": {`{"error":{"message":"no slot"}}`, "no slot", true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, nil)
				h.model.will(work(), reply{body: test.body}, says("Done."))
				p := h.client()
				p.start(params{})
				p.untilHas(protocol.NoteModeChanged, test.says)
				time.Sleep(time.Minute)
				if n := len(h.model.asked()); (n == 3) != test.again {
					t.Errorf("it was asked %d times", n)
				}
			})
		})
	}
}

// byBytes carries the answers of another in pieces of some length.
type byBytes struct {
	http.RoundTripper
	n int
}

func (b byBytes) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = pieces{resp.Body, b.n}
	}
	return resp, err
}

type pieces struct {
	io.ReadCloser
	n int
}

func (p pieces) Read(b []byte) (int, error) { return p.ReadCloser.Read(b[:min(len(b), p.n)]) }

// An answer is the same whether it comes at once or byte by byte.
func TestReportPiecesOfAnyLength(t *testing.T) {
	var first []string
	for _, n := range []int{1 << 20, 1, 7} {
		synctest.Test(t, func(t *testing.T) {
			h := newHouse(t, map[string]string{"a.txt": "a\n"})
			h.opts.HTTP = byBytes{h.model, n}
			h.Registry = NewRegistry(h.opts)
			h.model.will(work("read_file", `{"intent":"I read «ä».","step":"s1","path":"a.txt"}`), says("Done: ä€𝄞."))
			p := h.client()
			id := p.start(params{}).ID
			p.untilHas(protocol.NoteModeChanged, "waiting")
			var got []string
			for _, o := range p.operations(id) {
				got = append(got, fmt.Sprint(o.ID, o.Tool, o.Status, o.Intent, o.Target))
			}
			p.ok(protocol.MethodSteer, at(id, "text", "go on"), nil)
			got = append(got, h.model.question(2))
			if first == nil {
				first = got
			}
			if !slices.Equal(got, first) {
				t.Errorf("in pieces of %d bytes it is\n%q, not\n%q", n, got, first)
			}
		})
	}
}

// A server that stalls is asked again when it was silent for long, which is shown; what it had said
// stands nowhere twice; and meanwhile the developer can stop it at once.
func TestReportAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		stall := sse{saying("I am "), saying("about to")}.hanging()
		h.model.will(work(), stall, stall, says("I am done."))
		p := h.client()
		id := p.start(params{}).ID
		p.untilHas(protocol.NoteModeChanged, "sent nothing for 2m0s; it is asked again in")
		h.model.question(2)
		synctest.Wait()
		began := time.Now()
		p.ok(protocol.MethodPause, at(id), nil)
		if took := time.Since(began); took >= time.Second {
			t.Errorf("in a stall a pause takes %v", took)
		}
		p.ok(protocol.MethodResume, at(id), nil)
		began = time.Now()
		p.ok(protocol.MethodSteer, at(id, "text", "go on"), nil)
		if q, took := h.model.question(3), time.Since(began); took >= time.Second || strings.Count(q, "about to") != 1 || !strings.Contains(q, "I am about to [cut here") {
			t.Errorf("after %v in the conversation stands\n%s", took, q)
		}
		strictly(t, h.model.asked())
	})
}

// A stream that ends within a call's arguments is no answer: nothing of it is done or kept, and the
// question is put again.
func TestReportACutCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		cut := sse{saying("I write it."), calling(0, "write_file", `{"path":"a","content":"hel`)}.hanging()
		cut.hangs = false
		h.model.will(work(), cut, says("Done."))
		p := h.client()
		id := p.start(params{}).ID
		p.untilHas(protocol.NoteModeChanged, `"waiting"`)
		if _, err := os.Stat(filepath.Join(h.dir, "a")); err == nil {
			t.Error("the file was made")
		}
		if got := p.finishedOf(id, "write_file"); len(got) > 0 {
			t.Errorf("the half call became %q", got)
		}
		if before, after := h.model.question(1), h.model.question(2); before != after {
			t.Errorf("the question was\n%s\nand is\n%s", before, after)
		}
	})
}

// A call that cannot be made is answered with what is wrong and where, and nothing is run.
func TestReportUnusableArguments(t *testing.T) {
	for name, test := range map[string]struct{ arguments, says string }{
		"cut":           {`{"command":"touch made`, "at byte 22 of 22"},
		"field missing": {`{}`, "command: give the command line"},
		"NUL":           {"{\"command\":\"touch made\x00\"}", "at byte 23 of 25"},
		"comma":         {`{"command":"touch made",}`, "at byte 25 of 25"},
		"doubled":       {`{"{"command":"touch made"`, "at byte 5 of 25"},
		"list":          {`["touch made"]`, "no JSON object"},
		"text":          {`"touch made"`, "no JSON object"},
		"number":        {`3`, "no JSON object"},
		"null":          {`null`, "no JSON object"},
		"true":          {`true`, "no JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHouse(t, nil)
				h.model.will(work("run_command", test.arguments), says("So it is."))
				p := h.client()
				id := p.start(params{}).ID
				p.untilHas(protocol.NoteModeChanged, "waiting")
				if q := h.model.question(1); strings.Count(q, test.says) != 1 {
					t.Errorf("%q stands not once in\n%s", test.says, q)
				}
				var failed []protocol.Operation
				for _, o := range p.operations(id) {
					if o.Tool == "run_command" {
						failed = append(failed, o)
					}
				}
				if len(failed) != 1 || failed[0].Status != protocol.OpFailed || failed[0].ExitCode != nil {
					t.Errorf("it is shown as %+v", failed)
				}
				if _, err := os.Stat(filepath.Join(h.dir, "made")); err == nil {
					t.Error("it was run")
				}
				strictly(t, h.model.asked())
			})
		})
	}
}

// Where a tool needs nothing, no arguments are enough, in each form that servers send.
func TestReportEmptyArguments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a.txt": "a\n"})
		const head, tail = `{"index":%d,"id":"c%d","function":{"name":"%s"`, `}}`
		call := func(n int, tool, arguments string) string { return fmt.Sprintf(head, n, n, tool) + arguments + tail }
		h.model.will(work(), deltas(call(0, "list_files", `,"arguments":""`), call(1, "list_files", `,"arguments":" "`), call(2, "list_files", `,"arguments":null`), call(3, "list_files", ""),
			call(4, "read_file", `,"arguments":""`)), says("Done."))
		p := h.client()
		id := p.start(params{}).ID
		p.untilHas(protocol.NoteModeChanged, "waiting")
		if got := p.finishedOf(id, "list_files"); !slices.Equal(got, []string{"done ", "done ", "done ", "done "}) {
			t.Errorf("the listings are %q", got)
		}
		if got := p.finishedOf(id, "read_file"); !slices.Equal(got, []string{"failed "}) || !strings.Contains(h.model.question(2), "path is missing") {
			t.Errorf("what needs a path is %q", got)
		}
		strictly(t, h.model.asked())
	})
}

// A model that sends one unusable call over and over is not asked for ever: the developer is told
// why it stopped, and their word goes on.
func TestReportTheSameCutCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		h.model.will(work())
		for range 20 {
			h.model.will(does("write_file", `{"intent":"I write.","step":"s1","path":"a","content":"hel`))
		}
		p := h.client()
		id := p.start(params{}).ID
		p.untilHas(protocol.NoteModeChanged, "repeated_invalid_call: the agent made the same call 5 times in a row")
		time.Sleep(time.Hour)
		if n := len(h.model.asked()); n != 6 {
			t.Errorf("it was asked %d times", n)
		}
		p.ok(protocol.MethodSteer, at(id, "text", "write less"), nil)
		if q := h.model.question(6); !strings.Contains(q, "write less") {
			t.Errorf("the steer is not heard:\n%s", q)
		}
	})
}

// Names that no tool has, or could have, are answered each with the tools that there are, and stand
// in the conversation so that a strict server takes them.
func TestReportNamesOfTools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, nil)
		names := []string{"todo/todoWrite", "", strings.Repeat("n", 300), "a\x00b\x1b[31m", "näh", "run_command "}
		var list []string
		for i, name := range names {
			list = append(list, delta(fmt.Sprintf(`"index":%d,"id":"c%d"`, i, i), name, `{"x":1}`))
		}
		h.model.will(work(), deltas(list...), says("Done."))
		p := h.client()
		p.start(params{})
		p.untilHas(protocol.NoteModeChanged, "waiting")
		q := h.model.question(2)
		if n := strings.Count(q, "; the tools are update_plan, "); n != len(names) {
			t.Errorf("%d of %d calls are answered with the tools:\n%s", n, len(names), q)
		}
		strictly(t, h.model.asked())
		for _, raw := range h.model.asked()[2].Messages {
			var m spoken
			if err := json.Unmarshal(raw, &m); err != nil {
				t.Fatal(err)
			}
			for _, c := range m.ToolCalls {
				if n := c.Function.Name; n == "" || len(n) > 64 || strings.Trim(n, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
					t.Errorf("a strict server refuses the name %q", n)
				}
			}
		}
	})
}

// answering is a model's server made of a function: n counts its requests from 0.
type answering struct {
	answer func(n int, body string) *http.Response
	mu     sync.Mutex
	bodies []string
}

func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	n := len(a.bodies)
	a.bodies = append(a.bodies, string(body))
	a.mu.Unlock()
	resp := a.answer(n, string(body))
	if resp == nil {
		return nil, errors.New("nothing is answered")
	}
	resp.Request = r
	return resp, nil
}

func (a *answering) asked() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.bodies)
}

func responds(status int, body string, header ...string) *http.Response {
	h := http.Header{}
	for pair := range slices.Chunk(header, 2) {
		h.Set(pair[0], pair[1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

// houseOf is a house whose model's server is a.
func houseOf(t *testing.T, a *answering, files map[string]string, environ ...string) *house {
	t.Helper()
	h := newHouse(t, files, environ...)
	h.opts.HTTP = a
	h.Registry = NewRegistry(h.opts)
	return h
}

// A server that wants its reasoning back with the calls gets it, and one that refuses a conversation
// with it gets it no more, after one refusal.
func TestReportReasoningComesBack(t *testing.T) {
	for name, refuses := range map[string]func(assistant string) bool{
		"wanted":  func(m string) bool { return !strings.Contains(m, `"reasoning_content":"r1"`) },
		"refused": func(m string) bool { return strings.Contains(m, "reasoning_content") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				refused := 0
				a := &answering{answer: func(n int, body string) *http.Response {
					_, assistant, answered := strings.Cut(body, `"role":"assistant"`)
					assistant, _, _ = strings.Cut(assistant, `"role":"tool"`)
					switch {
					case answered && refuses(assistant):
						refused++
						return responds(400, `{"error":{"message":"reasoning_content: this field is not right here"}}`)
					case strings.Contains(body, "a.txt, lines"):
						return responds(200, says("Done.").body)
					}
					thinks := `{"choices":[{"index":0,"delta":{"reasoning_content":"r1"}}]}`
					return responds(200, sse{thinks, calling(0, "update_plan", planArguments("s1 active Work")), calling(1, "read_file", `{"intent":"I read.","step":"s1","path":"a.txt"}`)}.whole("tool_calls").body)
				}}
				h := houseOf(t, a, map[string]string{"a.txt": "a\n"})
				p := h.client()
				id := p.start(params{}).ID
				p.untilHas(protocol.NoteModeChanged, `"waiting"`)
				if want := map[string]int{"wanted": 0, "refused": 1}[name]; refused != want {
					t.Errorf("it refused %d times", refused)
				}
				p.ok(protocol.MethodSteer, at(id, "text", "go on"), nil)
				synctest.Wait()
				if want := map[string]int{"wanted": 0, "refused": 1}[name]; refused != want {
					t.Errorf("later it refused %d times", refused)
				}
			})
		})
	}
}

// A limit is waited for as the server tells it, in whatever form, visibly; one of a day is the
// developer's matter.
func TestReportRateLimits(t *testing.T) {
	for name, test := range map[string]struct {
		header, value, body string
		least               time.Duration // 0: it is not asked again
	}{
		"in words":   {"X-None", "", `{"error":{"message":"Rate limit reached. Please try again in 1.379s."}}`, 1379 * time.Millisecond},
		"in seconds": {"Retry-After", "2", `{"error":{"message":"slow down"}}`, 2 * time.Second},
		"as a date":  {"Retry-After", "date", `{"error":{"message":"slow down"}}`, 2 * time.Second},
		"of a day":   {"Retry-After", "86400", `{"error":{"message":"slow down"}}`, 0},
		"of years":   {"Retry-After", "999999999999", `{"error":{"message":"slow down"}}`, 0},
		"negative":   {"Retry-After", "-5", `{"error":{"message":"slow down"}}`, 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var refused, again time.Time
				a := &answering{answer: func(n int, body string) *http.Response {
					if n > 0 {
						again = time.Now()
						return responds(200, says("Done.").body)
					}
					refused = time.Now()
					value := test.value
					if value == "date" {
						value = time.Now().Add(3 * time.Second).UTC().Format(http.TimeFormat) // which has no parts of seconds
					}
					return responds(429, test.body, test.header, value)
				}}
				h := houseOf(t, a, nil)
				p := h.client()
				p.start(params{})
				if test.least == 0 {
					p.untilHas(protocol.NoteModeChanged, `"waiting"`)
					time.Sleep(48 * time.Hour)
					if n := len(a.asked()); n != 1 {
						t.Errorf("it was asked %d times", n)
					}
					return
				}
				p.untilHas(protocol.NoteModeChanged, "it is asked again in")
				time.Sleep(time.Minute)
				synctest.Wait()
				if took := again.Sub(refused); len(a.asked()) < 2 || took < test.least || took > 2*test.least+2*time.Second {
					t.Errorf("it was asked again after %v, want %v", took, test.least)
				}
			})
		})
	}
}

// A conversation that is too long for the server begins anew within what it takes, with the task and
// the plan, and every call has its result. Where even that is too long, nobody is asked for ever.
func TestReportContextTooLong(t *testing.T) {
	for _, limit := range []int{20_000, 1_000} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				refused, longest := 0, 0
				a := &answering{answer: func(n int, body string) *http.Response {
					var q request
					if err := json.Unmarshal([]byte(body), &q); err != nil {
						t.Error(err)
					}
					size := 0
					for _, m := range q.Messages {
						size += len(m)
					}
					if size > limit {
						refused++
						return responds(400, `{"error":{"message":"too long","code":"context_length_exceeded"}}`)
					}
					longest = max(longest, size)
					if err := refusedByAServer(q.Messages); err != nil {
						t.Error(err)
					}
					if strings.Contains(body, "[brief]") {
						return responds(200, says("Done.").body)
					}
					return responds(200, work("read_file", `{"intent":"I read.","step":"s1","path":"a.txt"}`).body)
				}}
				h := houseOf(t, a, map[string]string{"a.txt": strings.Repeat("a long line of it\n", 500)})
				p := h.client()
				p.start(params{"task": "work on the goal"})
				p.untilHas(protocol.NoteModeChanged, `"waiting"`)
				time.Sleep(time.Hour)
				asked := a.asked()
				last := asked[len(asked)-1]
				if refused > 2 || !strings.Contains(last, "work on the goal") {
					t.Errorf("%d requests were refused; the last is\n%s", refused, last)
				}
				if limit == 20_000 && (longest == 0 || !strings.Contains(last, "step s1 (active)")) {
					t.Errorf("the plan is not in\n%s", last)
				}
			})
		})
	}
}

// However a server names its calls, each result reaches the model, under an id that no other has.
func TestReportOneIdForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		files := map[string]string{}
		read := func(index, n int) string {
			files[fmt.Sprintf("f%d.txt", n)] = fmt.Sprintf("text of %d\n", n)
			return delta(fmt.Sprintf(`"index":%d,"id":"Z"`, index), "read_file", fmt.Sprintf(`{"path":"f%d.txt"}`, n))
		}
		replies := []reply{work(), deltas(read(0, 1)), deltas(read(0, 2)), deltas(read(0, 3)), deltas(read(0, 4), read(1, 5)), says("Done.")}
		h := newHouse(t, files)
		h.model.will(replies...)
		p := h.client()
		p.start(params{})
		p.untilHas(protocol.NoteModeChanged, "waiting")
		q := h.model.question(5)
		for n := range 5 {
			if text := fmt.Sprintf("text of %d", n+1); strings.Count(q, text) != 1 {
				t.Errorf("%q stands %d times in the last question", text, strings.Count(q, text))
			}
		}
		asked := h.model.asked()
		strictly(t, asked)
		for _, request := range asked {
			ids := map[string]bool{}
			for _, raw := range request.Messages {
				var m spoken
				if err := json.Unmarshal(raw, &m); err != nil {
					t.Fatal(err)
				}
				for _, c := range m.ToolCalls {
					if ids[c.ID] {
						t.Errorf("the id %s stands for two calls", c.ID)
					}
					ids[c.ID] = true
				}
			}
		}
	})
}

// Streams that are cancelled leave no goroutine and no connection behind.
func TestReportCancelledStreamsLeaveNothing(t *testing.T) {
	const streams = 500
	h, connect := newRealHouse(t, nil)
	var closed sync.WaitGroup
	closed.Add(streams)
	h.model.will(work())
	for range streams {
		r := sse{saying("one "), saying("two ")}.hanging()
		r.left = closed.Done
		h.model.will(r)
	}
	p := connect()
	id := p.start(params{}).ID
	before := 0
	for n := range streams {
		h.model.question(n + 1)
		p.untilHas(protocol.NoteText, "two")
		if n == 10 {
			before = runtime.NumGoroutine()
		}
		p.ok(protocol.MethodSteer, at(id, "text", "so"), nil)
	}
	h.model.question(streams + 1)
	closed.Wait()
	p.ok(protocol.MethodPause, at(id), nil)
	if after := runtime.NumGoroutine(); after-before > 5 {
		t.Errorf("%d goroutines became %d", before, after)
	}
}
