package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"
)

const done = "data: [DONE]\n\n"

// say is an event with content; the other builders follow its form.
func say(text string) string { return chunkOf(`{"content":`+strconv.Quote(text)+`}`, "") }

func end(reason string) string { return chunkOf(`{}`, reason) }

func toolDelta(deltas string) string { return chunkOf(`{"tool_calls":[`+deltas+`]}`, "") }

func chunkOf(delta, finish string) string {
	f := "null"
	if finish != "" {
		f = strconv.Quote(finish)
	}
	return `data: {"id":"c","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + f + "}]}\n\n"
}

// The pieces that the tables below are made of.
var (
	hi    = say("hi") + end("stop")
	ok    = Answer{Text: "hi"}
	usage = Usage{InputTokens: 5, CachedInputTokens: 3, OutputTokens: 7}

	call      = toolDelta(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`)
	half      = toolDelta(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x"}}`)
	finishing = strings.Replace(call, `"finish_reason":null`, `"finish_reason":"tool_calls"`, 1)
)

// dialects holds one small stream for each known way to differ from the documented form.
var dialects = []struct {
	name, body string
	want       Answer
}{
	{"plain", hi + done, ok},
	{"end without [DONE]", hi, ok},
	{"[DONE] without finish", say("hi") + done, ok},
	{"finish with the last text", chunkOf(`{"content":"hi"}`, "stop"), ok},
	{"no newline at the end", say("hi") + strings.TrimSpace(end("stop")), ok},
	{"[DONE] without newline", say("hi") + "data: [DONE]", ok},
	{"CRLF", strings.ReplaceAll(hi+done, "\n", "\r\n"), ok},
	{"no space behind the colon", strings.ReplaceAll(hi+done, "data: ", "data:"), ok},
	{"byte order mark", "\xef\xbb\xbf" + hi + done, ok},
	{"event, id and retry lines", "event: message\nid: 3\nretry: 100\n" + hi + done, ok},
	{"unknown line", "hello: there\n\n" + hi + done, ok},
	{"named event of another kind", "event: meta\ndata: not json\n\n" + hi + done, ok},
	{"JSON that is no object", "data: null\n\ndata: \"ping\"\n\n" + hi + done, ok},
	{"1000 keep-alives", strings.Repeat(": keep-alive\n\n", 1000) + hi + done, ok},
	{"no blank line between events", strings.ReplaceAll(hi+done, "\n\n", "\n"), ok},
	{"event over several lines", "data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"hi\"},\ndata:\ndata: \"finish_reason\":\"stop\"}]}\n\n" + done, ok},
	{"text behind finish", end("stop") + say("hi") + done, ok},
	{"nothing is read behind [DONE]", hi + done + say(" more"), ok},
	{"second choice is ignored", `data: {"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"hi"}}]}` + "\n\n" + end("stop"), ok},
	{"null everywhere", chunkOf(`{"role":null,"content":null,"reasoning_content":null,"tool_calls":null,"refusal":null}`, "") + hi + done, ok},
	{"content in parts", chunkOf(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"hi"}]}`, "stop"), Answer{Text: "hi", Reasoning: "hm"}},
	{"reasoning_content", chunkOf(`{"reasoning_content":"hm"}`, "") + hi, Answer{Text: "hi", Reasoning: "hm"}},
	{"reasoning under two names", chunkOf(`{"reasoning":"hm","reasoning_content":"hm"}`, "") + hi, Answer{Text: "hi", Reasoning: "hm"}},
	{"refusal", chunkOf(`{"refusal":"hi"}`, "stop"), ok},
	{"odd scalars", `data: {"id":12,"created":1.5,"choices":[{"index":"0","delta":{"content":"hi"},"finish_reason":"stop"}]}` + "\n\n", ok},
	{"usage alone", hi + `data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":3}}}` + "\n\n" + done, Answer{Text: "hi", Usage: usage}},
	{"usage of a cache hit", hi + `data: {"usage":{"prompt_tokens":5,"completion_tokens":7.0,"prompt_cache_hit_tokens":"3"}}` + "\n\n" + done, Answer{Text: "hi", Usage: usage}},
	{"usage in the choice", say("hi") + `data: {"choices":[{"finish_reason":"stop","usage":{"prompt_tokens":5,"completion_tokens":7,"cached_tokens":3}}]}` + "\n\n", Answer{Text: "hi", Usage: usage}},
	{"usage that makes no sense", hi + `data: {"usage":{"prompt_tokens":-5,"completion_tokens":1e300,"cached_tokens":{}}}` + "\n\n" + done, ok},
	{"usage of another type", hi + `data: {"usage":"none"}` + "\n\n" + done, ok},
	{"length", say("hi") + end("length") + done, Answer{Text: "hi", Finish: Length}},
	{"length in another word", say("hi") + end("MAX_TOKENS") + done, Answer{Text: "hi", Finish: Length}},
	{"filter", say("hi") + end("content_filter") + done, Answer{Text: "hi", Finish: ContentFilter}},
	{"unknown finish", say("hi") + end("eos") + done, ok},
	{"nothing said, and so ended", end("stop") + done, Answer{}},
	{"JSON completion", `{"object":"chat.completion","choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}`, ok},
	{"message that repeats the deltas", say("hi") + `data: {"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}` + "\n\n" + done, ok},
	{"JSON completion over lines", "\n\n {\n \"choices\": [\n{\"message\":\n\n{\"content\":\"hi\"}}]\n}\n", ok},
	{"JSON completion behind comments", ": wait\n\n{\"choices\":[{\"message\":{\"content\":\"hi\"}}]}", ok},
	{"JSON completion in two choices", `{"choices":[{"message":{"content":"hi"}},{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":{"x": 1}}}]}}]}`,
		Answer{Text: "hi", Finish: ToolCalls, Calls: []Call{{"a", "f", `{"x":1}`, nil}}}},
}

// TestReadsEveryDialect reads each stream whole and byte by byte.
func TestReadsEveryDialect(t *testing.T) {
	for _, test := range dialects {
		t.Run(test.name, func(t *testing.T) {
			for _, carrier := range []canned{text(test.body), {status: 200, body: func() io.Reader { return oneByte{strings.NewReader(test.body)} }}} {
				got, said, err := ask(t, carrier)
				if err != nil || said != test.want.Text || !reflect.DeepEqual(got, test.want) {
					t.Errorf("got %+v, said %q, %v; want %+v", got, said, err, test.want)
				}
			}
		})
	}
}

// assemblies gives ids of ours as "own".
var assemblies = []struct {
	name   string
	deltas []string
	want   []Call
}{
	{"in pieces", []string{`{"index":0,"id":"a","function":{"name":"f","arguments":""}}`, `{"index":0,"function":{"arguments":"{\"x\""}}`, `{"index":0,"function":{"arguments":":1}"}}`},
		[]Call{{"a", "f", `{"x":1}`, nil}}},
	{"without index", []string{`{"id":"a","function":{"name":"f","arguments":"{}"}}`, `{"id":"b","function":{"name":"g","arguments":"{"}}`, `{"function":{"arguments":"}"}}`},
		[]Call{{"a", "f", "{}", nil}, {"b", "g", "{}", nil}}},
	{"an index only later", []string{`{"id":"a","function":{"name":"f","arguments":"{"}}`, `{"id":"b","function":{"name":"g","arguments":"{}"}}`, `{"index":0,"id":"a","function":{"arguments":"}"}}`},
		[]Call{{"a", "f", "{}", nil}, {"b", "g", "{}", nil}}},
	{"null index", []string{`{"index":null,"id":"a","function":{"name":"f","arguments":""}}`, `{"index":null,"function":{"arguments":"{}"}}`, `{"index":null,"id":"b","function":{"name":"f","arguments":"{}"}}`},
		[]Call{{"a", "f", "{}", nil}, {"b", "f", "{}", nil}}},
	{"without index or id", []string{`{"function":{"name":"f","arguments":"{}"}},{"function":{"name":"g","arguments":"{}"}}`},
		[]Call{{"own", "f", "{}", nil}, {"own", "g", "{}", nil}}},
	{"one index for all", []string{`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`, `{"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":2}"}}`},
		[]Call{{"a", "f", `{"x":1}`, nil}, {"b", "f", `{"x":2}`, nil}}},
	{"one index and no id", []string{`{"index":0,"function":{"name":"f","arguments":{"x":1}}}`, `{"index":0,"function":{"name":"f","arguments":{"x":2}}}`, `{"index":0,"function":{"name":"g","arguments":{"x":2}}}`},
		[]Call{{"own", "f", `{"x":1}`, nil}, {"own", "f", `{"x":2}`, nil}, {"own", "g", `{"x":2}`, nil}}},
	{"one id for all", []string{`{"index":0,"id":"z","function":{"name":"f","arguments":"{\"x\":1}"}}`, `{"index":1,"id":"z","function":{"name":"f","arguments":"{\"x\":2}"}}`, `{"id":"z","function":{"name":"f","arguments":"{\"x\":3}"}}`},
		[]Call{{"z", "f", `{"x":1}`, nil}, {"own", "f", `{"x":2}`, nil}, {"own", "f", `{"x":3}`, nil}}},
	{"another id with each piece", []string{`{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}`, `{"index":0,"id":"b","function":{"arguments":"}"}}`},
		[]Call{{"a", "f", "{}", nil}}},
	{"id and name repeated", []string{`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`, `{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}`},
		[]Call{{"a", "f", `{"x":1}`, nil}}},
	{"name in pieces", []string{`{"index":0,"id":"a","function":{"name":"read"}}`, `{"index":0,"function":{"name":"_file","arguments":"{}"}}`},
		[]Call{{"a", "read_file", "{}", nil}}},
	{"arguments doubled", []string{`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`, `{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`},
		[]Call{{"a", "f", `{"x":1}`, nil}}},
	{"arguments behind a placeholder", []string{`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`, `{"index":0,"function":{"arguments":"{\"x\":"}}`, `{"index":0,"function":{"arguments":"1}"}}`},
		[]Call{{"a", "f", `{"x":1}`, nil}}},
	{"arguments missing, null, empty, blank", []string{`{"index":0,"id":"a","function":{"name":"f"}}`, `{"index":1,"id":"b","function":{"name":"f","arguments":null}}`, `{"index":2,"id":"c","function":{"name":"f","arguments":""}}`, `{"index":3,"id":"d","function":{"name":"f","arguments":"  "}}`},
		[]Call{{"a", "f", "{}", nil}, {"b", "f", "{}", nil}, {"c", "f", "{}", nil}, {"d", "f", "{}", nil}}},
	{"interleaved, out of order", []string{`{"index":2,"id":"b","function":{"name":"g","arguments":"{\"y\":"}}`, `{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`, `{"index":2,"function":{"arguments":"2}"}},{"index":0,"function":{"arguments":"1}"}}`},
		[]Call{{"a", "f", `{"x":1}`, nil}, {"b", "g", `{"y":2}`, nil}}},
	{"numeric id", []string{`{"index":0,"id":7,"function":{"name":"f","arguments":"{}"}}`}, []Call{{"7", "f", "{}", nil}}},
	{"empty deltas between", []string{`{}`, `null`, `{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`, `{"index":0,"id":"","function":{"name":null,"arguments":null}}`},
		[]Call{{"a", "f", "{}", nil}}},
	{"what the server wants back", []string{`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`, `{"index":0,"extra_content":{"google":{"thought_signature":"c2ln"}}}`},
		[]Call{{"a", "f", "{}", []byte(`{"google":{"thought_signature":"c2ln"}}`)}}},
	{"no name", []string{`{"index":0,"id":"a","function":{"arguments":"{\"x\":1}"}}`, `{"index":1,"id":"b","function":{"name":"f","arguments":"{}"}}`},
		[]Call{{"a", "", `{"x":1}`, nil}, {"b", "f", "{}", nil}}},
	{"a name behind the arguments", []string{`{"id":"a","function":{"arguments":"{\"x\""}}`, `{"id":"a","function":{"arguments":":1}"}}`, `{"id":"a","function":{"name":"f"}}`},
		[]Call{{"a", "f", `{"x":1}`, nil}}},
	{"names behind the arguments", []string{`{"id":"a","function":{"arguments":"{\"x\":1}"}}`, `{"id":"a","function":{"name":"f"}}`, `{"id":"b","function":{"arguments":"{\"x\":2}"}}`, `{"id":"b","function":{"name":"g"}}`},
		[]Call{{"a", "f", `{"x":1}`, nil}, {"b", "g", `{"x":2}`, nil}}},
	{"a name without an end", []string{`{"index":0,"id":"a","function":{"name":"` + strings.Repeat("x", 1<<16) + `","arguments":"{}"}}`},
		[]Call{{"a", strings.Repeat("x", maxName), "{}", nil}}},
	{"arguments that are no JSON stay", []string{`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x"}}`}, []Call{{"a", "f", `{"x`, nil}}},
}

func TestAssemblesCalls(t *testing.T) {
	for _, test := range assemblies {
		t.Run(test.name, func(t *testing.T) {
			body := ""
			for _, d := range test.deltas {
				body += toolDelta(d)
			}
			got, _, err := ask(t, text(body+end("tool_calls")+done))
			if err != nil || got.Finish != ToolCalls {
				t.Fatalf("finish %v, %v", got.Finish, err)
			}
			if !sameCalls(got.Calls, test.want) {
				t.Errorf("got %+v, want %+v", got.Calls, test.want)
			}
		})
	}
}

func sameCalls(got, want []Call) bool {
	ids := map[string]bool{}
	if len(got) != len(want) {
		return false
	}
	for i, g := range got {
		w := want[i]
		if w.ID == "own" {
			w.ID = g.ID
			if len(g.ID) != 9 {
				return false
			}
		}
		if !reflect.DeepEqual(g, w) || ids[g.ID] {
			return false
		}
		ids[g.ID] = true
	}
	return true
}

// brokenAnswers holds what must never pass for an answer.
var brokenAnswers = []struct {
	name, body string
	kind       Kind
	kept       string
	again      bool
}{
	{"cut between events", say("hi"), Cut, "hi", true},
	{"cut within a line", say("hi") + `data: {"id":"x","choi`, Cut, "hi", true},
	{"cut within [DONE]", say("hi") + "data: [DO", Cut, "hi", true},
	{"cut call", call, Cut, "", true},
	{"cut call under a proxy's end mark", half + done, Cut, "", true},
	{"cut behind the first of several finishing calls", finishing, Cut, "", true},
	{"cut JSON completion", `{"choices":[{"message":{"content":"hi"`, Cut, "", true},
	{"cut pretty JSON", "{\n\"choices\":[\n", Cut, "", true},
	{"finish and nothing said", end("stop"), Cut, "", true},
	{"empty", "", Garbled, "", true},
	{"[DONE] alone", done, Garbled, "", true},
	{"no choices", `{"choices":[]}`, Garbled, "", false},
	{"another JSON", `{"status":"ok"}`, Garbled, "", false},
	{"page", "<!DOCTYPE html>\n<html><body>Welcome</body></html>", Garbled, "", false},
	{"plain text", "it works\n", Garbled, "", false},
	{"event that is not JSON", say("hi") + "data: {bad}\n\n" + say("ho") + done, Garbled, "hi", true},
	{"choices of another shape", say("hi") + `data: {"choices":[{"delta":"ho"}]}` + "\n\n" + done, Garbled, "hi", true},
	{"calls announced, none sent", say("hi") + end("tool_calls") + done, Garbled, "hi", true},
	{"many calls", say("hi") + manyCalls(maxCalls+1) + end("tool_calls") + done, Garbled, "hi", false},
	{"100,000 calls in one event", say("hi") + toolDelta(strings.TrimSuffix(strings.Repeat(`{"function":{"name":"f","arguments":"{}"}},`, 100_000), ",")) + end("tool_calls") + done, Garbled, "hi", false},
	{"100,000 calls in a completion", `{"choices":[{"message":{"content":"hi","tool_calls":[` + strings.TrimSuffix(strings.Repeat(`{"id":"a","function":{"name":"f","arguments":"{}"}},`, 100_000), ",") + `]}}]}`, Garbled, "hi", false},
	{"arguments without an end", say("hi") + strings.Repeat(toolDelta(`{"index":0,"id":"a","function":{"name":"f","arguments":"`+strings.Repeat("x", 1<<20)+`"}}`), 9), Garbled, "hi", false},
	{"thoughts without an end", say("hi") + strings.Repeat(`data: {"choices":[{"delta":{"reasoning":"`+strings.Repeat("x", 1<<20)+`"}}]}`+"\n", 9), Garbled, "hi", false},
	{"endless line", "data: " + strings.Repeat("x", maxEvent), Garbled, "", true},
	{"endless event", strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 17), Garbled, "", true},
	{"finish error", say("hi") + end("error") + done, Busy, "hi", true},
}

// manyCalls are n calls that differ.
func manyCalls(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s", toolDelta(fmt.Sprintf(`{"index":%d,"id":"c%d","function":{"name":"f","arguments":"{}"}}`, i, i)))
	}
	return b.String()
}

// TestMostCalls in one answer are taken, one for each.
func TestMostCalls(t *testing.T) {
	if a, _, err := ask(t, text(manyCalls(maxCalls)+end("tool_calls")+done)); err != nil || len(a.Calls) != maxCalls {
		t.Errorf("%d calls, %v", len(a.Calls), err)
	}
}

// TestAFloodEnds: what says nothing is not read for ever, whatever it is.
func TestAFloodEnds(t *testing.T) {
	for _, line := range []string{": keep\n", "\n", "id: 1\n", say(""), say("x")} {
		e := newEvents(io.NopCloser(strings.NewReader(strings.Repeat(line, 1000))), newIdleWatch(t.Context(), time.Hour))
		e.left = 9000
		_, err := io.Copy(io.Discard, e)
		var g *garbageError
		if !errors.As(err, &g) || !g.final || !strings.Contains(g.what, "256 MB") {
			t.Errorf("%q for ever: %v", line, err)
		}
	}
}

func TestAnEncodedBodyIsNotUnfolded(t *testing.T) {
	c := text("\x1f\x8b\x08")
	c.header.Set("Content-Encoding", "gzip")
	_, _, err := ask(t, c)
	var e *Error
	if !errors.As(err, &e) || e.Kind != Garbled || e.Retryable() || !strings.Contains(e.Text, "in the encoding gzip") {
		t.Errorf("%v", err)
	}
}

func TestBrokenAnswers(t *testing.T) {
	for _, test := range brokenAnswers {
		t.Run(test.name, func(t *testing.T) {
			got, _, err := ask(t, text(test.body))
			var e *Error
			if !errors.As(err, &e) || e.Kind != test.kind || e.Retryable() != test.again {
				t.Fatalf("error %v; want %v, retryable %v", err, test.kind, test.again)
			}
			if got.Text != test.kept || got.Calls != nil {
				t.Errorf("kept %+v, want the text %q", got, test.kept)
			}
			astray := e.Kind == Garbled && test.kept == "" && (!test.again || len(test.body) <= len(done))
			if strings.Contains(e.Text, "http://model.test:8080/v1/chat/completions: ") != astray {
				t.Errorf("%q names the address asked: want %v", e.Text, astray)
			}
		})
	}
}

// TestErrorsInTheStream: a server that has begun to answer can only say it in the body.
func TestErrorsInTheStream(t *testing.T) {
	busy := `{"message":"overloaded","type":"server_error","code":503}`
	tests := []struct{ name, event string }{
		{"event", `data: {"error":` + busy + "}\n\n"},
		{"with [DONE]", `data: {"error":` + busy + "}\n\n" + done},
		{"behind a comment", ": wait\n\n" + `data: {"error":` + busy + "}\n\n"},
		{"named", "event: error\n" + `data: {"error":` + busy + "}\n\n"},
		{"named without key", "event: error\ndata: " + busy + "\n\n"},
		{"named text", "event: error\ndata: overloaded\n\n"},
		{"with a space", `data: { "error" : ` + busy + "}\n\n"},
		{"beside choices", `data: {"error":` + busy + `,"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}` + "\n\n"},
		{"string", `data: {"error":"overloaded"}` + "\n\n"},
		{"bare line", `{"error":` + busy + "}\n"},
		{"bare lines", "{\n\"error\":\n" + busy + "\n}\n"},
		{"array", `[{"error":` + busy + "}]\n"},
		{"object error", `data: {"object":"error","message":"overloaded","code":503}` + "\n\n"},
		{"groq", `data: {"x_groq":{"error":"overloaded"},"choices":[]}` + "\n\n"},
		{"over lines", "data: {\"error\":\ndata: " + busy + "}\n\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, _, err := ask(t, text(say("hi")+test.event))
			var e *Error
			if !errors.As(err, &e) || e.Kind != Busy || !e.Retryable() || !strings.Contains(e.Detail, "overloaded") {
				t.Errorf("error %v; want busy with the server's words", err)
			}
			if got.Text != "hi" {
				t.Errorf("kept %q", got.Text)
			}
		})
	}
}

// TestLostConnection: an end that the transport calls unexpected is a cut, even where
// the bytes before it could pass for whole.
func TestLostConnection(t *testing.T) {
	body := func() io.Reader {
		return broken{strings.NewReader(say("hi") + end("stop")), io.ErrUnexpectedEOF}
	}
	got, _, err := ask(t, canned{status: 200, body: body})
	var e *Error
	if !errors.As(err, &e) || e.Kind != Cut || got.Text != "hi" {
		t.Errorf("got %+v, %v; want a cut with the text kept", got, err)
	}
}

func TestUnclearFieldsAreIgnored(t *testing.T) {
	for _, event := range []string{
		`data: {"choices":[{"delta":{"content":"hi"},"content_filter_results":{"error":{"code":"x"}},"finish_reason":"stop"}]}`,
		`data: {"error":null,"x_groq":{"id":"q"},"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}`,
		`data: {"error":{},"x_groq":"q","choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}`,
	} {
		if got, _, err := ask(t, text(event+"\n\n"+done)); err != nil || got.Text != "hi" {
			t.Errorf("%s: got %+v, %v", event, got, err)
		}
	}
}

// FuzzStream looks for a body that hangs, panics, reads differently in pieces, or
// passes for an answer that cannot be acted upon.
func FuzzStream(f *testing.F) {
	for _, seed := range []string{
		say("hi") + end("stop") + done,
		call + call + end("tool_calls") + done,
		": wait\r\n\r\n" + say("hi"),
		"event: error\ndata: {\"message\":\"busy\"}\n\n",
		"data: {\"choices\":\ndata: []}\n\n",
		"\xef\xbb\xbf{\n\"choices\":[{\"message\":{\"content\":[{\"text\":\"hi\"}]}}]}",
		"[{\"error\":\"x\"}]", "<html>", "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		whole, said, err := ask(t, text(string(body)))
		slow, slowSaid, slowErr := ask(t, canned{status: 200, body: func() io.Reader { return oneByte{strings.NewReader(string(body))} }})
		if (err == nil) != (slowErr == nil) || said != slowSaid || !sameAnswer(whole, slow) {
			t.Errorf("whole %+v, %v; byte by byte %+v, %v", whole, err, slow, slowErr)
		}
		var e *Error
		if err != nil && (!errors.As(err, &e) || e.Text == "" || len(e.Detail) > maxDetail+3) {
			t.Errorf("unclear error %#v", err)
		}
		if said != whole.Text {
			t.Errorf("said %q, text %q", said, whole.Text)
		}
		for _, c := range whole.Calls {
			if c.ID == "" || c.Arguments == "" {
				t.Errorf("call %+v lacks something", c)
			}
		}
		if _, err := json.Marshal(whole); err != nil {
			t.Error(err)
		}
	})
}
