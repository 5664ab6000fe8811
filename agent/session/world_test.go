package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/agent"
	"tandem/agent/command"
	"tandem/agent/model"
	"tandem/agent/secret"
	"tandem/agent/secretfile"
	"tandem/agent/workspace"
	"tandem/protocol"
)

// A place is a workplace with real files and commands.
type place struct {
	Workplace
	t *testing.T
}

func newPlace(t *testing.T, files map[string]string) place {
	if runtime.GOOS == "windows" {
		t.Skip("the command lines here are written for sh")
	}
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	w, err := workspace.Open(dir, workspace.Options{Store: t.TempDir(), Secret: secretfile.Rules{}.Holds})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return place{Workplace{Files: w, Commands: Commands{Env: command.Environment(os.Environ(), nil, false)}, Ledger: NewLedger()}, t}
}

// do does a run of a tool to its end.
func (p place) do(tool, arguments string) agent.Outcome {
	p.t.Helper()
	return p.outcome(p.t.Context(), Job{Work: agent.Work{ID: "op1", Job: agent.Run{Tool: tool, Arguments: arguments}}, Said: func(string) {}})
}

func (p place) outcome(ctx context.Context, j Job) agent.Outcome {
	p.t.Helper()
	o, ok := p.Do(ctx, j).(agent.Outcome)
	if !ok || o.Op != j.ID {
		p.t.Fatalf("%s: the report is %+v", j.ID, o)
	}
	return o
}

// begun is a command that has said «ready».
func (p place) begun(ctx context.Context, line string) (outcome <-chan agent.Outcome, freeze chan<- bool) {
	p.t.Helper()
	ready, frozen, ended := make(chan struct{}), make(chan bool, 1), make(chan agent.Outcome, 1)
	said := ""
	j := Job{Work: agent.Work{ID: "op1", Job: agent.Run{Tool: "run_command", Arguments: fmt.Sprintf(`{"command":%q}`, "echo ready; "+line)}},
		Freeze: frozen, Said: func(text string) {
			before := said
			if said += text; strings.Contains(said, "ready") && !strings.Contains(before, "ready") {
				close(ready)
			}
		}}
	go func() { ended <- p.outcome(ctx, j) }()
	select {
	case <-ready:
	case o := <-ended:
		p.t.Fatalf("it ended before it was ready: %+v", o)
	}
	return ended, frozen
}

func (p place) read(name string) string {
	p.t.Helper()
	b, err := os.ReadFile(filepath.Join(p.Files.Dir(), name))
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b)
}

// changed are the changes of an outcome in short: +made -deleted ~changed.
func changed(o agent.Outcome) string {
	var out []string
	for _, c := range o.Changes {
		mark := "~"
		switch {
		case c.Before == nil:
			mark = "+"
		case c.After == nil:
			mark = "-"
		}
		out = append(out, mark+c.Path)
	}
	return strings.Join(out, " ")
}

func TestCommandOutcomes(t *testing.T) {
	p := newPlace(t, nil)
	exit := func(n int) *int { return &n }
	for _, test := range []struct {
		arguments string
		exit      *int
		failed    bool
		text      string
	}{
		{`{"command":"echo hello"}`, exit(0), false, "exit code 0 after"},
		{`{"command":"echo hello"}`, exit(0), false, "hello"},
		{`{"command":"echo no >&2; exit 3"}`, exit(3), true, "exit code 3"},
		{`{"command":"kill -9 $$"}`, nil, true, "ended by SIGKILL"},
		{`{"command":"sleep 60","timeout_s":"0.2"}`, nil, true, "ended by its time limit"},
		{`{"command":"no-such-program-here"}`, exit(127), true, "not found"},
		{`{"command":"cat"}`, exit(0), false, "exit code 0"}, // stdin is closed
		{`{"command":"  "}`, nil, true, "command: give the command line"},
		{`{"command":["ls"]}`, nil, true, "command: give the command line"},
		{`{`, nil, true, "A right call"},
		{`{"command":"ls","cwd":"none"}`, nil, true, `there is no folder "none"`},
	} {
		o := p.do("run_command", test.arguments)
		code := "none"
		if o.ExitCode != nil {
			code = fmt.Sprint(*o.ExitCode)
		}
		if (o.ExitCode == nil) != (test.exit == nil) || o.ExitCode != nil && *o.ExitCode != *test.exit ||
			o.Failed != test.failed || o.Cancelled || !strings.Contains(o.Text, test.text) {
			t.Errorf("%s: exit %s, failed %v, cancelled %v: %s", test.arguments, code, o.Failed, o.Cancelled, o.Text)
		}
	}
}

func TestCommandIsCancelled(t *testing.T) {
	p := newPlace(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	ended, _ := p.begun(ctx, "echo half > half.txt; echo written; while :; do sleep 0.05; done")
	for p2 := filepath.Join(p.Files.Dir(), "half.txt"); ; {
		if b, err := os.ReadFile(p2); err == nil && len(b) > 0 {
			break
		}
		runtime.Gosched()
	}
	cancel()
	o := <-ended
	if !o.Cancelled || o.ExitCode != nil || changed(o) != "+half.txt" || !strings.Contains(o.Text, "half.txt (new)") {
		t.Errorf("%+v", o)
	}
}

// A command that was told to end before it began changes nothing.
func TestCommandIsCancelledBeforeItBegins(t *testing.T) {
	p := newPlace(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := p.outcome(ctx, Job{Work: agent.Work{ID: "op1", Job: agent.Verify{Command: "touch made"}}, Said: func(string) {}})
	if !o.Cancelled || o.Failed || len(o.Changes) > 0 {
		t.Errorf("%+v", o)
	}
	if _, err := os.Stat(filepath.Join(p.Files.Dir(), "made")); err == nil {
		t.Error("it ran")
	}
}

// One that is frozen before it began stands still at once, and can be ended there.
func TestCommandIsFrozenBeforeItBegins(t *testing.T) {
	p := newPlace(t, nil)
	for _, test := range []struct {
		name string
		ends bool
	}{{"thawed", false}, {"ended", true}} {
		freeze, ctx := make(chan bool, 1), t.Context()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		freeze <- true
		ended := make(chan agent.Outcome)
		go func() {
			ended <- p.outcome(ctx, Job{Work: agent.Work{ID: "op1", Job: agent.Verify{Command: "echo it ran"}}, Freeze: freeze, Said: func(string) {}})
		}()
		if test.ends {
			cancel()
		} else {
			freeze <- true // is taken only by one that stands still
			freeze <- false
		}
		if o := <-ended; o.Cancelled != test.ends || strings.Contains(o.Text, "it ran") == test.ends {
			t.Errorf("%s: %+v", test.name, o)
		}
	}
}

// shellWord is a path as one word for sh, whatever folder the tests run in.
func shellWord(path string) string { return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'" }

func TestCommandIsFrozenAndThawed(t *testing.T) {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("commands cannot be frozen here")
	}
	p := newPlace(t, nil)
	out := filepath.Join(t.TempDir(), "out")
	ended, freeze := p.begun(t.Context(), fmt.Sprintf("while [ ! -e %s ]; do echo . >> %s; done", shellWord(out+".stop"), shellWord(out)))
	size := func() int64 {
		info, err := os.Stat(out)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	grows := func() {
		for at := size(); size() == at; {
			runtime.Gosched()
		}
	}
	grows()
	freeze <- true
	freeze <- true // the first was heard: it stands, or stands soon
	freeze <- true // the second was: it stands
	if err := os.WriteFile(out+".stop", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	at := size()
	select {
	case o := <-ended:
		t.Fatalf("it went on while it was frozen: %+v", o)
	case <-time.After(50 * time.Millisecond):
	}
	if size() != at {
		t.Error("it wrote while it was frozen")
	}
	freeze <- false
	if o := <-ended; o.Failed || o.Cancelled {
		t.Errorf("thawed it ended as %+v", o)
	}
}

func TestOutputIsStreamed(t *testing.T) {
	p := newPlace(t, nil)
	gate := filepath.Join(t.TempDir(), "gate")
	ended, _ := p.begun(t.Context(), fmt.Sprintf("while [ ! -e %s ]; do sleep 0.02; done; echo last", shellWord(gate)))
	if err := os.WriteFile(gate, nil, 0o600); err != nil { // it said «ready» while it ran
		t.Fatal(err)
	}
	if o := <-ended; o.Output != "ready\nlast\n" {
		t.Errorf("the output is %q", o.Output)
	}
}

func TestCommandTellsWhatItChanged(t *testing.T) {
	p := newPlace(t, map[string]string{"a.txt": "one\ntwo\nthree\n", "b.txt": "b\n", "c.txt": "c\n"})
	if o := p.do("read_file", `{"path":"a.txt"}`); o.Failed {
		t.Fatal(o.Text)
	}
	o := p.do("run_command", `{"command":"sed -i s/two/2/ a.txt; rm b.txt; echo new > d.txt; touch c.txt"}`)
	if got := changed(o); got != "~a.txt -b.txt +d.txt" {
		t.Fatalf("it changed %s: %s", got, o.Text)
	}
	if !strings.Contains(o.Text, "Files that it changed: a.txt, b.txt (deleted), d.txt (new)") {
		t.Errorf("the model is told %s", o.Text)
	}
	want := []protocol.Hunk{{OldStart: 1, OldLines: 1, NewStart: 1, NewLines: 1}}
	if got := o.Changes[0].Hunks; !slices.Equal(got, want) {
		t.Errorf("the hunks are %+v, want %+v", got, want)
	}
	// The agent was told of it, so it may go on from there.
	if o := p.do("edit_file", `{"path":"a.txt","edits":[{"old":"2","new":"zwei"}]}`); o.Failed {
		t.Errorf("an edit behind the command: %s", o.Text)
	}
	if o := p.do("write_file", `{"path":"d.txt","content":"newer\n"}`); o.Failed {
		t.Errorf("a write behind the command: %s", o.Text)
	}
}

func TestManyChangedFilesAreCounted(t *testing.T) {
	p := newPlace(t, nil)
	o := p.do("run_command", `{"command":"for i in $(seq 100 160); do echo x > f$i; done"}`)
	if len(o.Changes) != 61 || !strings.Contains(o.Text, "f149 (new), and 11 more") || strings.Contains(o.Text, "f150") {
		t.Errorf("%d changes: %s", len(o.Changes), o.Text)
	}
}

// What the agent's other operations changed while a command ran is not the command's.
func TestBackgroundCommandIsNotBlamed(t *testing.T) {
	p := newPlace(t, map[string]string{"shared.txt": "one\n", "tool.txt": "old\n", "moved.txt": "m\n"})
	gate := filepath.Join(t.TempDir(), "gate")
	ended, _ := p.begun(t.Context(), fmt.Sprintf("while [ ! -e %s ]; do sleep 0.02; done; echo own > own.txt; echo three >> shared.txt", shellWord(gate)))
	written := p.do("write_file", `{"path":"tool.txt","content":"new\n"}`)
	for _, o := range []agent.Outcome{written,
		p.do("edit_file", `{"path":"shared.txt","edits":[{"old":"one","new":"one\ntwo"}]}`),
		p.do("move_file", `{"from":"moved.txt","to":"sub/moved.txt"}`),
		p.do("run_command", `{"command":"echo other > other.txt"}`),
		p.outcome(t.Context(), Job{Work: agent.Work{ID: "op2", Job: agent.Revert{Edits: []agent.Past{{Changes: written.Changes}}}}}),
	} {
		if o.Failed || len(o.Changes) == 0 {
			t.Fatalf("%+v", o)
		}
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := <-ended
	if got := changed(o); got != "+own.txt ~shared.txt" {
		t.Errorf("the command is told to have changed %s", got)
	}
	want := []protocol.Hunk{{OldStart: 2, OldLines: 0, NewStart: 2, NewLines: 1}}
	if got := o.Changes[1].Hunks; !slices.Equal(got, want) {
		t.Errorf("in the shared file %+v, want %+v", got, want)
	}
}

func TestCwd(t *testing.T) {
	p := newPlace(t, map[string]string{"sub/a.txt": "a"})
	outside := t.TempDir()
	if err := errors.Join(os.Symlink(outside, filepath.Join(p.Files.Dir(), "way-out")), os.Symlink("sub", filepath.Join(p.Files.Dir(), "way-in"))); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ cwd, want string }{
		{"", p.Files.Dir()},
		{".", p.Files.Dir()},
		{"sub", filepath.Join(p.Files.Dir(), "sub")},
		{"sub/../sub", filepath.Join(p.Files.Dir(), "sub")},
		{"way-in", filepath.Join(p.Files.Dir(), "sub")},
		{filepath.Join(p.Files.Dir(), "sub"), filepath.Join(p.Files.Dir(), "sub")},
		{"..", ""},
		{"sub/../..", ""},
		{"/", ""},
		{outside, ""},
		{"way-out", ""},
		{"way-out/..", p.Files.Dir()}, // as it reads
		{"none", ""},
	} {
		got, err := p.folder(test.cwd)
		if (err != nil) != (test.want == "") || got != test.want {
			t.Errorf("%q is %q, %v", test.cwd, got, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "cwd: ") {
			t.Errorf("%q: the refusal names no field: %v", test.cwd, err)
		}
	}
}

func TestBoundOfACommand(t *testing.T) {
	w := Workplace{Commands: Commands{Timeout: time.Minute}}
	for _, test := range []struct {
		raw  string
		want time.Duration
	}{
		{``, time.Minute}, {`null`, time.Minute}, {`"soon"`, time.Minute}, {`0`, time.Minute}, {`-5`, time.Minute}, {`"NaN"`, time.Minute},
		{`2`, 2 * time.Second}, {`"2"`, 2 * time.Second}, {`0.5`, 500 * time.Millisecond},
		{`1e9`, longestCommand}, {`1e300`, longestCommand}, {`"inf"`, longestCommand}, {fmt.Sprint(math.MaxInt64), longestCommand},
	} {
		if got := w.bound([]byte(test.raw)); got != test.want {
			t.Errorf("%s is %v, want %v", test.raw, got, test.want)
		}
	}
}

func TestRevertTakesBack(t *testing.T) {
	p := newPlace(t, map[string]string{"a.txt": "one\n", "b.txt": "b\n"})
	first := p.do("edit_file", `{"path":"a.txt","edits":[{"old":"one","new":"two"}]}`)
	second := p.do("edit_file", `{"path":"a.txt","edits":[{"old":"two","new":"three"}]}`)
	clash := p.do("write_file", `{"path":"b.txt","content":"agent\n"}`)
	if err := os.WriteFile(filepath.Join(p.Files.Dir(), "b.txt"), []byte("developer\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	made := p.do("write_file", `{"path":"made.txt","content":"made\n"}`)
	o := p.outcome(t.Context(), Job{Work: agent.Work{ID: "op9", Job: agent.Revert{Edits: []agent.Past{
		{Changes: made.Changes}, {Changes: clash.Changes}, {Changes: second.Changes}, {Changes: first.Changes}}}}})
	if got := p.read("a.txt"); got != "one\n" || changed(o) != "-made.txt ~a.txt" || o.Failed {
		t.Errorf("a.txt reads %q: %+v", got, o)
	}
	if got := p.read("b.txt"); got != "developer\n" || len(o.Conflicts) != 1 || !strings.Contains(o.Conflicts[0], "b.txt") {
		t.Errorf("b.txt reads %q, conflicts %q", got, o.Conflicts)
	}
	if o := p.do("edit_file", `{"path":"a.txt","edits":[{"old":"one","new":"four"}]}`); o.Failed {
		t.Errorf("an edit behind the revert: %s", o.Text)
	}
}

// What stands in place of a secret is never written over it, and no command runs with it.
func TestMarksOfSecretsAreNotWritten(t *testing.T) {
	p := newPlace(t, map[string]string{"env.txt": "PASSWORD=hunter2\nPORT=1\n"})
	p.Secrets = secret.New([]string{"DB_PASSWORD=hunter2"})
	for _, mark := range []string{"[DB_PASSWORD redacted]", "[private key redacted]"} {
		for tool, arguments := range map[string]string{
			"write_file":  `{"path":"env.txt","content":"PASSWORD=%s\nPORT=2\n"}`,
			"edit_file":   `{"path":"env.txt","edits":[{"old":"PORT=1","new":"PORT=2 # %s"}]}`,
			"move_file":   `{"from":"env.txt","to":"%s.txt"}`,
			"run_command": `{"command":"echo PASSWORD=%s > env.txt"}`,
		} {
			if o := p.do(tool, fmt.Sprintf(arguments, mark)); !o.Failed || !strings.Contains(o.Text, mark+", which stands in place of a secret") {
				t.Errorf("%s: %+v", tool, o)
			}
		}
	}
	if o := p.do("search", `{"pattern":"[DB_PASSWORD redacted]"}`); o.Failed {
		t.Errorf("a search for it: %s", o.Text)
	}
	if o := p.do("edit_file", `{"path":"env.txt","edits":[{"old":"PORT=1","new":"PORT=2 # [OTHER_PASSWORD redacted]"}]}`); o.Failed {
		t.Errorf("a mark of nothing: %s", o.Text)
	}
	if got := p.read("env.txt"); !strings.HasPrefix(got, "PASSWORD=hunter2\nPORT=2") {
		t.Errorf("the file reads %q", got)
	}
}

func TestNobodyCanDoIt(t *testing.T) {
	p := newPlace(t, nil)
	if o := p.outcome(t.Context(), Job{Work: agent.Work{ID: "op1"}}); !o.Failed || !strings.Contains(o.Text, "nobody can do") {
		t.Errorf("%+v", o)
	}
}

// Every kind of a model's error is mapped: what may pass is asked again after a wait, what will
// not goes to the developer.
func TestErrorsOfTheModel(t *testing.T) {
	type want struct {
		why   agent.Failure
		least time.Duration // and a fifth more at most
	}
	table := map[model.Kind]want{
		model.WrongKey:         {agent.FailFinal, 0},
		model.UnknownModel:     {agent.FailFinal, 0},
		model.NoServer:         {agent.FailBusy, 500 * time.Millisecond},
		model.Busy:             {agent.FailBusy, 500 * time.Millisecond},
		model.Quota:            {agent.FailFinal, 0},
		model.BadRequest:       {agent.FailFinal, 0},
		model.ContextLimit:     {agent.FailContext, 0},
		model.Cut:              {agent.FailCut, 250 * time.Millisecond},
		model.Stalled:          {agent.FailCut, 250 * time.Millisecond},
		model.Garbled:          {agent.FailCut, 250 * time.Millisecond},
		model.UnsupportedField: {agent.FailUnsupported, 0},
	}
	for kind := model.WrongKey; kind <= model.UnsupportedField; kind++ {
		want, ok := table[kind]
		if !ok {
			t.Errorf("%v is not in the table", kind)
		}
		got := inVain("q", 0, &model.Error{Kind: kind, Text: "a line"})
		if got.Question != "q" || got.Text != "a line" || got.Why != want.why || got.Wait < want.least || got.Wait > want.least*6/5 {
			t.Errorf("%v: %+v, want %+v", kind, got, want)
		}
	}
	if got := inVain("q", 0, context.Canceled); got.Why != agent.FailCut || got.Wait != 0 {
		t.Errorf("no error of the model's: %+v", got)
	}
}

func TestWaitsBeforeAskingAgain(t *testing.T) {
	busy := func(after time.Duration) error { return &model.Error{Kind: model.Busy, RetryAfter: after} }
	for _, test := range []struct {
		err     error
		attempt int
		why     agent.Failure
		least   time.Duration
	}{
		{busy(0), 0, agent.FailBusy, 500 * time.Millisecond},
		{busy(0), 3, agent.FailBusy, 4 * time.Second},
		{busy(0), 7, agent.FailBusy, time.Minute},
		{busy(0), 1000, agent.FailBusy, time.Minute},
		{busy(7 * time.Second), 0, agent.FailBusy, 7 * time.Second},
		{busy(7 * time.Second), 5, agent.FailBusy, 7 * time.Second},
		{busy(11 * time.Minute), 0, agent.FailFinal, 0},
		{&model.Error{Kind: model.NoServer}, 1, agent.FailBusy, time.Second},
		{&model.Error{Kind: model.NoServer}, 2, agent.FailFinal, 0},
		{&model.Error{Kind: model.Cut}, 4, agent.FailCut, 4 * time.Second},
	} {
		got := inVain("q", test.attempt, test.err)
		if got.Why != test.why || got.Wait < test.least || got.Wait > test.least*6/5 {
			t.Errorf("%v, attempt %d: %s after %v, want %s after %v", test.err, test.attempt, got.Why, got.Wait, test.why, test.least)
		}
	}
}

// tripper answers every request the same.
type tripper struct {
	status int
	body   string
	seen   []string
}

func (r *tripper) RoundTrip(req *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.seen = append(r.seen, string(b))
	return &http.Response{StatusCode: r.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(r.body)), Request: req}, nil
}

func asks(t *testing.T, r *tripper, q agent.Ask) (agent.Input, string) {
	t.Helper()
	client, err := model.New(model.Options{BaseURL: "http://model.example", HTTP: r})
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	in := Workplace{Model: client}.Do(t.Context(), Job{Work: agent.Work{ID: "th1", Job: q}, Said: func(text string) { said += text }})
	return in, said
}

func TestQuestionIsAnswered(t *testing.T) {
	r := &tripper{status: 200, body: `data: {"choices":[{"index":0,"delta":{"content":"I "}}]}

data: {"choices":[{"index":0,"delta":{"content":"look."}}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"read_file","arguments":"{}"}}]}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10,"prompt_tokens_details":{"cached_tokens":5}}}

data: [DONE]

`}
	in, said := asks(t, r, agent.Ask{Model: "m", Silent: true})
	got, ok := in.(agent.Replied)
	if !ok || got.Question != "th1" || got.Text != "I look." || said != got.Text || len(got.Calls) != 1 || got.Calls[0].Name != "read_file" ||
		got.Usage != (protocol.Usage{InputTokens: 7, CachedInputTokens: 5, OutputTokens: 3}) {
		t.Errorf("%+v, said %q", in, said)
	}
	if !strings.Contains(r.seen[0], `"tool_choice":"none"`) {
		t.Error("a silent question allows tools")
	}
}

func TestQuestionInVain(t *testing.T) {
	in, _ := asks(t, &tripper{status: 401, body: `{"error":{"message":"bad key"}}`}, agent.Ask{Model: "m"})
	got, ok := in.(agent.AskFailed)
	if !ok || got.Question != "th1" || got.Why != agent.FailFinal || !strings.Contains(got.Text, "OPENAI_API_KEY") {
		t.Errorf("%+v", in)
	}
}

// TestTheWholeOutputIsKept keeps what the result leaves out, without secrets.
func TestTheWholeOutputIsKept(t *testing.T) {
	w := newPlace(t, nil)
	w.Output = filepath.Join(t.TempDir(), "output", "s")
	w.Secrets = secret.New([]string{"SHOP_TOKEN=abcdef123456"})
	in := w.Do(t.Context(), Job{Work: agent.Work{ID: "op0000001", Job: agent.Run{Tool: "run_command",
		Arguments: `{"command":"for i in $(seq 20000); do echo line $i; done; printf abcdef; printf '123456\\n'; echo '-----BEGIN PRIVATE KEY-----'; echo hush; echo '-----END PRIVATE KEY-----'; echo end"}`}},
		Said: func(string) {}, Freeze: make(chan bool)})
	if o, ok := in.(agent.Outcome); !ok || o.Failed {
		t.Fatalf("%+v", in)
	}
	raw, err := os.ReadFile(filepath.Join(w.Output, "op0000001.log"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	if !strings.HasPrefix(text, "line 1\n") || !strings.Contains(text, "line 10000\n") || !strings.HasSuffix(text, "end\n") {
		t.Errorf("kept %d bytes, ending %q", len(text), text[max(0, len(text)-80):])
	}
	for _, secret := range []string{"abcdef123456", "hush"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q stands in the file", secret)
		}
	}
}

// What a command changed and nobody can bring back is said with its end.
func TestACommandTellsWhatWasNotKept(t *testing.T) {
	p := newPlace(t, map[string]string{"a.txt": "a\n"})
	if err := os.Truncate(filepath.Join(p.Files.Dir(), "a.txt"), 17<<20); err != nil {
		t.Fatal(err)
	}
	o := p.do("run_command", `{"command":"echo x >> a.txt; echo y > b.txt"}`)
	if want := "a.txt (17 MB, and contents are kept up to 16 MB a file)"; !strings.Contains(o.Text, want) || strings.Contains(o.Text, "b.txt (0 MB") {
		t.Errorf("it says %q", o.Text)
	} else if !strings.Contains(o.Output, want) {
		t.Errorf("the developer is shown %q", o.Output)
	}
}
