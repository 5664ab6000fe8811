package model

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// recording is one entry of the corpus's index.
type recording struct {
	File     string
	Stream   bool
	Status   int `json:"http_status"`
	Expected struct {
		Text      string
		Reasoning *string
		Calls     []struct{ Name, Arguments string } `json:"tool_calls"`
		Finish    *string                            `json:"finish_reason"`
		Usage     *struct {
			Prompt     int `json:"prompt_tokens"`
			Completion int `json:"completion_tokens"`
		}
		Error any
	}

	body []byte
}

func corpus(t *testing.T) []recording {
	root := os.Getenv("TANDEM_CORPUS")
	if root == "" {
		t.Skip("TANDEM_CORPUS is not set: it names the folder with the recorded streams")
	}
	index, err := os.ReadFile(filepath.Join(root, "streams", "INDEX.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var all []recording
	lines := bufio.NewScanner(bytes.NewReader(index))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r recording
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("index: %v", err)
		}
		if r.body, err = os.ReadFile(filepath.Join(root, "streams", r.File)); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if len(all) == 0 {
		t.Fatal("the index is empty")
	}
	return all
}

func (r *recording) served(body io.Reader) canned {
	status := r.Status
	if status == 0 {
		status = 200
	}
	return canned{status: status, header: http.Header{}, body: func() io.Reader { return body }}
}

func TestCorpusWholeAndByteByByte(t *testing.T) {
	for _, r := range corpus(t) {
		t.Run(r.File, func(t *testing.T) {
			t.Parallel()
			whole, said, err := ask(t, r.served(bytes.NewReader(r.body)))
			r.check(t, whole, said, err)
			slow, said, err := ask(t, r.served(oneByte{bytes.NewReader(r.body)}))
			r.check(t, slow, said, err)
		})
	}
}

// check compares a reading with the index.
func (r *recording) check(t *testing.T, a Answer, said string, err error) {
	t.Helper()
	want := r.Expected
	if (err != nil) != (want.Error != nil) {
		t.Fatalf("error %v, the index says %v", err, want.Error)
	}
	if a.Text != want.Text || said != want.Text {
		t.Errorf("text %q, said %q, want %q", a.Text, said, want.Text)
	}
	if want.Reasoning != nil && a.Reasoning != *want.Reasoning {
		t.Errorf("reasoning %q, want %q", a.Reasoning, *want.Reasoning)
	}
	if u := want.Usage; u != nil && (a.Usage.InputTokens != u.Prompt || a.Usage.OutputTokens != u.Completion) {
		t.Errorf("usage %+v, want %+v", a.Usage, *u)
	}
	if err != nil {
		r.checkError(t, err)
		return
	}
	r.checkCalls(t, a)
}

// errorKinds are the readings of the recorded errors, by the number of the file.
var errorKinds = map[string]Kind{
	"003": Garbled, "063": Garbled, "008": ContextLimit, "124": ContextLimit, "152": ContextLimit,
	"025": UnknownModel, "031": UnknownModel, "109": BadRequest,
	"123": Busy, "136": Busy, "151": Busy, "153": Busy,
}

func (r *recording) checkError(t *testing.T, err error) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("%#v is no *Error", err)
	}
	if e.Text == "" || e.Detail == "" || strings.ContainsAny(e.Text+e.Detail, "\n\r") {
		t.Errorf("error is not one clear line: %q, %q", e.Text, e.Detail)
	}
	if want, known := errorKinds[r.File[:3]]; known && e.Kind != want {
		t.Errorf("kind %v, want %v: %v", e.Kind, want, e)
	}
}

func (r *recording) checkCalls(t *testing.T, a Answer) {
	t.Helper()
	want := r.Expected
	if len(a.Calls) != len(want.Calls) {
		t.Fatalf("calls %+v, want %+v", a.Calls, want.Calls)
	}
	ids := map[string]bool{}
	for i, c := range a.Calls {
		w := want.Calls[i]
		if c.Name != w.Name || !sameArguments(c.Arguments, w.Arguments) {
			t.Errorf("call %d is %+v, want %+v", i, c, w)
		}
		if c.ID == "" || ids[c.ID] {
			t.Errorf("call %d has the id %q, which is empty or taken", i, c.ID)
		}
		ids[c.ID] = true
	}
	if got := wantFinish(want.Finish, len(a.Calls)); a.Finish != got {
		t.Errorf("finish %v, want %v", a.Finish, got)
	}
}

// sameArguments holds an object sent as such equal to its text.
func sameArguments(got, want string) bool {
	if want == "" {
		return got == "{}"
	}
	var g, w any
	if json.Unmarshal([]byte(got), &g) != nil || json.Unmarshal([]byte(want), &w) != nil {
		return got == want
	}
	a, _ := json.Marshal(g)
	b, _ := json.Marshal(w)
	return bytes.Equal(a, b)
}

func wantFinish(word *string, calls int) Finish {
	switch {
	case word != nil && *word == "length":
		return Length
	case calls > 0:
		return ToolCalls
	}
	return Stop
}

var eventEnd = regexp.MustCompile(`\r?\n\r?\n|\n`)

// TestCorpusCut cuts each stream behind every line, and short ones in the middle of
// every line and at each of their last bytes. What the cut leaves either is refused,
// or is exactly the whole answer.
func TestCorpusCut(t *testing.T) {
	for _, r := range corpus(t) {
		if r.Status != 0 {
			continue
		}
		t.Run(r.File, func(t *testing.T) {
			t.Parallel()
			whole, _, wholeErr := ask(t, r.served(bytes.NewReader(r.body)))
			last := 0
			for _, at := range eventEnd.FindAllIndex(r.body, -1) {
				if len(r.body) < 10_000 {
					r.checkCut(t, (last+at[0])/2, whole, wholeErr)
					r.checkCut(t, at[0], whole, wholeErr)
				}
				r.checkCut(t, at[1], whole, wholeErr)
				last = at[1]
			}
			for cut := max(last, len(r.body)-40); cut < len(r.body); cut++ {
				r.checkCut(t, cut, whole, wholeErr)
			}
		})
	}
}

func (r *recording) checkCut(t *testing.T, cut int, whole Answer, wholeErr error) {
	t.Helper()
	part, _, err := ask(t, r.served(bytes.NewReader(r.body[:cut])))
	if err == nil && (wholeErr != nil || !sameAnswer(part, whole)) {
		t.Errorf("cut at byte %d of %d passes for complete: %+v", cut, len(r.body), part)
	}
	if !strings.HasPrefix(whole.Text, part.Text) {
		t.Errorf("cut at byte %d keeps %q, which the whole answer does not begin with", cut, part.Text)
	}
	if len(r.body) > 10_000 {
		return
	}
	_, _, err = ask(t, r.served(broken{bytes.NewReader(r.body[:cut]), io.ErrUnexpectedEOF}))
	if err == nil && !bytes.Contains(r.body[:cut], []byte("[DONE]")) && !json.Valid(r.body[:cut]) {
		t.Errorf("a connection lost at byte %d passes for complete", cut)
	}
}

// sameAnswer leaves out the ids, which may be ours, and the usage, which comes last.
func sameAnswer(a, b Answer) bool {
	return a.Text == b.Text && a.Reasoning == b.Reasoning && a.Finish == b.Finish &&
		slices.EqualFunc(a.Calls, b.Calls, func(x, y Call) bool {
			return x.Name == y.Name && x.Arguments == y.Arguments
		})
}
