package protocol_test

import (
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"tandem/protocol"
)

// call is a method as the specification has it: «name?» is a field that may be absent.
type call struct {
	constant, name string
	params         any
	paramFields    string
	result         any
	resultFields   string
}

// mutating is what a request that changes something may bear beside its own params.
const mutating = " clientId? requestKey?"

var requests = []call{
	{protocol.MethodStart, "tandem/session/start", protocol.StartParams{}, "workspace? task autonomy? model? context?" + mutating, protocol.SessionResult{}, "session"},
	{protocol.MethodList, "tandem/session/list", protocol.ListParams{}, "workspace?", protocol.ListResult{}, "sessions"},
	{protocol.MethodAttach, "tandem/session/attach", protocol.AttachParams{}, "sessionId since?", protocol.SessionResult{}, "session"},
	{protocol.MethodDetach, "tandem/session/detach", protocol.SessionParams{}, "sessionId" + mutating, nil, ""},
	{protocol.MethodEnd, "tandem/session/end", protocol.SessionParams{}, "sessionId" + mutating, protocol.SessionResult{}, "session"},
	{protocol.MethodPlan, "tandem/plan", protocol.PlanParams{}, "sessionId revision?", protocol.PlanResult{}, "plan"},
	{protocol.MethodSteer, "tandem/steer", protocol.SteerParams{}, "sessionId text scope? when? seenSeq? context?" + mutating, protocol.SteerResult{}, "steerId seq cancelled running unseen"},
	{protocol.MethodWithdraw, "tandem/steer/withdraw", protocol.WithdrawParams{}, "sessionId steerId" + mutating, protocol.WithdrawResult{}, "withdrawn"},
	{protocol.MethodReplan, "tandem/replan", protocol.ReplanParams{}, "sessionId baseRevision edits reason?" + mutating, protocol.ReplanResult{}, "plan diff"},
	{protocol.MethodPause, "tandem/pause", protocol.PauseParams{}, "sessionId reason? freeze?" + mutating, protocol.PauseResult{}, "pause"},
	{protocol.MethodDecide, "tandem/decide", protocol.DecideParams{}, "sessionId pauseId? decisionId? questionId? option? text? reject?" + mutating, protocol.SessionResult{}, "session"},
	{protocol.MethodResume, "tandem/resume", protocol.ResumeParams{}, "sessionId acknowledgeDrift?" + mutating, protocol.ResumeResult{}, "session drift"},
	{protocol.MethodCheckIn, "tandem/checkIn", protocol.CheckInParams{}, "sessionId text?" + mutating, protocol.CheckInResult{}, "checkIn"},
	{protocol.MethodAsk, "tandem/ask", protocol.AskParams{}, "sessionId question location?", protocol.AskResult{}, "answer"},
	{protocol.MethodWatch, "tandem/watch", protocol.WatchParams{}, "sessionId add? remove?" + mutating, protocol.WatchResult{}, "watches"},
	{protocol.MethodScenarioRun, "tandem/scenario/run", protocol.ScenarioRunParams{}, "sessionId scenario against? runs?" + mutating, protocol.ScenarioRunResult{}, "comparison"},
	{protocol.MethodRevert, "tandem/revert", protocol.RevertParams{}, "sessionId stepId? operationId? steerId? session? dryRun?" + mutating, protocol.RevertResult{}, "files conflicts"},
	{protocol.MethodAutonomy, "tandem/autonomy", protocol.AutonomyParams{}, "sessionId level" + mutating, protocol.SessionResult{}, "session"},
	{protocol.MethodHistory, "tandem/history", protocol.HistoryParams{}, "sessionId since? limit?", protocol.HistoryResult{}, "events more"},
	{protocol.MethodBlame, "tandem/blame", protocol.BlameParams{}, "uri range?", protocol.BlameResult{}, "lines"},
}

// event is what every notification bears.
const event = "sessionId seq "

var notifications = []call{
	{protocol.NoteProgress, "tandem/progress", protocol.ProgressParams{}, event + "operation", nil, ""},
	{protocol.NoteText, "tandem/text", protocol.TextParams{}, event + "operationId delta", nil, ""},
	{protocol.NotePlanChanged, "tandem/planChanged", protocol.PlanChangedParams{}, event + "plan diff consequences conflicts cancelled kept", nil, ""},
	{protocol.NoteDecision, "tandem/decision", protocol.DecisionParams{}, event + "decision", nil, ""},
	{protocol.NoteModeChanged, "tandem/modeChanged", protocol.ModeChangedParams{}, event + "mode initiative pause? questions? reason? actions", nil, ""},
	{protocol.NoteSteered, "tandem/steered", protocol.SteeredParams{}, event + "steer", nil, ""},
	{protocol.NoteWatched, "tandem/watched", protocol.WatchedParams{}, event + "watch", nil, ""},
	{protocol.NoteScenarioRan, "tandem/scenarioRan", protocol.ScenarioRanParams{}, event + "comparison", nil, ""},
	{protocol.NoteFilesChanged, "tandem/filesChanged", protocol.FilesChangedParams{}, event + "operationId files", nil, ""},
	{protocol.NoteUsage, "tandem/usage", protocol.UsageParams{}, event + "usage", nil, ""},
}

// entity is a type that methods bear: its fields as the specification has them, and how it looks
// on the wire when all that it holds is empty: lists are [], optional fields are left out.
type entity struct {
	zero          any
	fields, shape string
}

const (
	emptyStep = `{"id":"","title":"","intent":"","status":"","files":[],"dependsOn":[],"origin":{"kind":""},"actions":[]}`
	emptyRun  = `{"exitCode":0,"durationMs":0,"outputs":[],"checks":[]}`
	emptyAt   = `{"start":{"line":0,"character":0},"end":{"line":0,"character":0}}`
	never     = `"0001-01-01T00:00:00Z"`
)

var entities = []entity{
	{protocol.Session{}, "id workspace task title mode initiative autonomy plan? operations decisions pause? questions watches usage model seq startedAt updatedAt actions",
		`{"id":"","workspace":"","task":"","title":"","mode":"","initiative":"","autonomy":"","operations":[],"decisions":[],"questions":[],"watches":[],` +
			`"usage":{"inputTokens":0,"cachedInputTokens":0,"outputTokens":0,"requests":0},"model":"","seq":0,"startedAt":` + never + `,"updatedAt":` + never + `,"actions":[]}`},
	{protocol.Usage{}, "inputTokens cachedInputTokens outputTokens requests estimated?", `{"inputTokens":0,"cachedInputTokens":0,"outputTokens":0,"requests":0}`},
	{protocol.Plan{}, "revision steps cause", `{"revision":0,"steps":[],"cause":{"kind":""}}`},
	{protocol.Cause{}, "kind id?", `{"kind":""}`},
	{protocol.Step{}, "id title intent status files dependsOn verify? verified? origin actions", emptyStep},
	{protocol.Verify{}, "command", `{"command":""}`},
	{protocol.Origin{}, "kind id?", `{"kind":""}`},
	{protocol.Operation{}, "id stepId? kind tool? intent effect target status startedAt? endedAt? output? exitCode? cancelledBy? partial? files? actions",
		`{"id":"","kind":"","intent":"","effect":"","target":"","status":"","actions":[]}`},
	{protocol.CancelledBy{}, "kind id", `{"kind":"","id":""}`},
	{protocol.Decision{}, "id stepId? kind? summary rationale alternatives location? significance status holds deadline? chosen? actions",
		`{"id":"","summary":"","rationale":"","alternatives":[],"significance":"","status":"","holds":[],"actions":[]}`},
	{protocol.Alternative{}, "id title consequence?", `{"id":"","title":""}`},
	{protocol.Location{}, "uri range?", `{"uri":""}`},
	{protocol.Pause{}, "id by reason facts likelyCause? options frozen snapshot? decision? comparison? actions",
		`{"id":"","by":"","reason":"","facts":[],"options":[],"frozen":[],"actions":[]}`},
	{protocol.Fact{}, "text source?", `{"text":""}`},
	{protocol.FactSource{}, "uri? range? operationId? tripwire? expected? observed?", `{}`},
	{protocol.Option{}, "id title detail? touches files", `{"id":"","title":"","touches":[],"files":[]}`},
	{protocol.Question{}, "id text options? actions", `{"id":"","text":"","actions":[]}`},
	{protocol.Watch{}, "id name source value? error? previous? at operationId?", `{"id":"","name":"","source":{},"at":` + never + `}`},
	{protocol.NewWatch{}, "name source", `{"name":"","source":{}}`},
	{protocol.Source{}, "json? at? csv? column? agg? sql? query? output? command?", `{}`},
	{protocol.Comparison{}, "scenario input before after changes actions",
		`{"scenario":"","input":{"digest":"","same":false},"before":` + emptyRun + `,"after":` + emptyRun + `,"changes":[],"actions":[]}`},
	{protocol.Input{}, "digest same", `{"digest":"","same":false}`},
	{protocol.Run{}, "exitCode durationMs outputs checks", emptyRun},
	{protocol.Output{}, "path digest bytes", `{"path":"","digest":"","bytes":0}`},
	{protocol.Check{}, "tripwire ok expected observed", `{"tripwire":"","ok":false,"expected":"","observed":""}`},
	{protocol.Change{}, "what before after", `{"what":"","before":"","after":""}`},
	{protocol.CheckIn{}, "id verdict nextSteps questions brief contradictions signals",
		`{"id":"","verdict":"","nextSteps":[],"questions":[],"brief":{"goal":"","done":[],"remaining":[],"assumptions":[],"risks":[]},"contradictions":[],"signals":[]}`},
	{protocol.NextStep{}, "step? text", `{"text":""}`},
	{protocol.Brief{}, "goal done remaining assumptions risks", `{"goal":"","done":[],"remaining":[],"assumptions":[],"risks":[]}`},
	{protocol.Claim{}, "text evidence? grounded", `{"text":"","grounded":false}`},
	{protocol.Contradiction{}, "claim fact operationId?", `{"claim":"","fact":""}`},
	{protocol.Steer{}, "id text scope? when by status planRevision?", `{"id":"","text":"","when":"","by":"","status":""}`},
	{protocol.Scope{}, "stepId? decisionId? operationId? location?", `{}`},
	{protocol.Diff{}, "kept changed added dropped reverted", `{"kept":[],"changed":[],"added":[],"dropped":[],"reverted":[]}`},
	{protocol.StepChange{}, "before after", `{"before":` + emptyStep + `,"after":` + emptyStep + `}`},
	{protocol.FileChange{}, "uri change hunks", `{"uri":"","change":"","hunks":[]}`},
	{protocol.Hunk{}, "oldStart oldLines newStart newLines", `{"oldStart":0,"oldLines":0,"newStart":0,"newLines":0}`},
	{protocol.Action{}, "title method params ask? kind?", `{"title":"","method":"","params":{"sessionId":""}}`},
	{protocol.ActionParams{}, "sessionId stepId? operationId? pauseId? decisionId? questionId? option? reject? text? scope? level? acknowledgeDrift? scenario?", `{"sessionId":""}`},
	{protocol.ActionAsk{}, "param prompt", `{"param":"","prompt":""}`},
	{protocol.Unseen{}, "operationId files", `{"operationId":"","files":[]}`},
	{protocol.PlanEdit{}, "op step? stepId? after? title? intent? files? verify?", `{"op":""}`},
	{protocol.NewStep{}, "id? title intent? files? dependsOn? verify?", `{"title":""}`},
	{protocol.RevertedFile{}, "uri status", `{"uri":"","status":""}`},
	{protocol.HistoryEvent{}, "seq at kind data", `{"seq":0,"at":` + never + `,"kind":"","data":null}`},
	{protocol.BlamedLines{}, "range sessionId operationId stepId decisionId? steerId?", `{"range":` + emptyAt + `,"sessionId":"","operationId":"","stepId":""}`},
	{protocol.ErrorData{}, "kind mode?", `{"kind":""}`},
	{protocol.TandemOptions{}, "trusted? client?", `{}`},
	{protocol.TandemOffer{}, "version", `{"version":0}`},
}

func TestTheMethodsAreThoseOfTheSpecification(t *testing.T) {
	for _, c := range slices.Concat(requests, notifications) {
		if c.constant != c.name {
			t.Errorf("the package says %q where the specification says %q", c.constant, c.name)
		}
		expectFields(t, c.params, c.paramFields)
		if c.result != nil {
			expectFields(t, c.result, c.resultFields)
		}
	}
}

func TestTheClientsKnowTheMethodsOfTheSpecificationAndNoOther(t *testing.T) {
	text, err := os.ReadFile("protocol.gen.ts")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, c := range slices.Concat(requests, notifications) {
		want = append(want, c.name+" "+name(c.params)+" "+name(c.result))
	}
	line := regexp.MustCompile(`(?m)^  "(tandem/[^"]+)": \{ params: (\w+)(?:; result: (\w+))? \};$`)
	for _, m := range line.FindAllStringSubmatch(string(text), -1) {
		got = append(got, m[1]+" "+m[2]+" "+strings.TrimSuffix(m[3], "null"))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the clients know\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// name is that of a value's type; of nothing it is empty.
func name(v any) string {
	if v == nil {
		return ""
	}
	return reflect.TypeOf(v).Name()
}

func TestTheEntitiesAreThoseOfTheSpecification(t *testing.T) {
	for _, e := range entities {
		expectFields(t, e.zero, e.fields)
	}
}

// expectFields holds the fields of a struct, embedded ones too, against those of the specification.
func expectFields(t *testing.T, v any, want string) {
	t.Helper()
	got, wanted := fieldsOf(reflect.TypeOf(v)), strings.Fields(want)
	slices.Sort(got)
	slices.Sort(wanted)
	if !slices.Equal(got, wanted) {
		t.Errorf("%T has the fields\n  %s\nwant\n  %s", v, strings.Join(got, " "), strings.Join(wanted, " "))
	}
}

func fieldsOf(typ reflect.Type) []string {
	var fields []string
	for _, f := range structFields(typ) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if strings.Contains(options, "omitempty") {
			name += "?"
		}
		fields = append(fields, name)
	}
	return fields
}

// structFields lists the fields of a struct and of those that it embeds.
func structFields(typ reflect.Type) []reflect.StructField {
	return slices.DeleteFunc(reflect.VisibleFields(typ), func(f reflect.StructField) bool { return f.Anonymous })
}

func TestAnEmptyEntityHasNoNullListAndNoEmptyOption(t *testing.T) {
	for _, e := range entities {
		got, err := json.Marshal(e.zero)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != e.shape {
			t.Errorf("%T is on the wire\n  %s\nwant\n  %s", e.zero, got, e.shape)
		}
	}
}

func TestEveryTypeThatMethodsBearIsInTheTables(t *testing.T) {
	known := map[reflect.Type]bool{}
	for _, e := range entities {
		known[reflect.TypeOf(e.zero)] = true
	}
	for _, c := range slices.Concat(requests, notifications) {
		for _, v := range []any{c.params, c.result} {
			if v != nil {
				expectKnown(t, known, reflect.TypeOf(v), true)
			}
		}
	}
}

// expectKnown goes down through a type to the structs of the package that it bears, and refuses a
// list that could be null.
func expectKnown(t *testing.T, known map[reflect.Type]bool, typ reflect.Type, top bool) {
	t.Helper()
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || typ.PkgPath() != "tandem/protocol" {
		return
	}
	if !top && !known[typ] {
		t.Errorf("%s crosses the wire and is not in the table of entities", typ)
		known[typ] = true // said once
	}
	for _, f := range structFields(typ) {
		if f.Type.Kind() == reflect.Slice && f.Type != reflect.TypeFor[json.RawMessage]() && !strings.HasPrefix(f.Type.Name(), "List[") {
			t.Errorf("%s.%s is a slice that can be null: make it a List", typ, f.Name)
		}
		expectKnown(t, known, f.Type, false)
	}
}

func TestTheWordsAreThoseOfTheSpecification(t *testing.T) {
	for _, c := range []struct {
		got  []string
		want string
	}{
		{words(protocol.Executing, protocol.Paused, protocol.Waiting, protocol.Done), "executing paused waiting done"},
		{words(protocol.AgentInitiative, protocol.DeveloperInitiative), "agent developer"},
		{words(protocol.Close, protocol.Balanced, protocol.High), "close balanced high"},
		{words(protocol.CauseTask, protocol.CauseSteer, protocol.CauseDeveloper, protocol.CausePause, protocol.CauseAgent), "task steer developer pause agent"},
		{words(protocol.StepPending, protocol.StepActive, protocol.StepDone, protocol.StepDropped, protocol.StepBlocked), "pending active done dropped blocked"},
		{words(protocol.OriginAgent, protocol.OriginDeveloper, protocol.OriginSteer), "agent developer steer"},
		{words(protocol.Think, protocol.Tool), "think tool"},
		{words(protocol.EffectNone, protocol.EffectRead, protocol.EffectWrite, protocol.EffectExecute), "none read write execute"},
		{words(protocol.OpQueued, protocol.OpRunning, protocol.OpFrozen, protocol.OpDone, protocol.OpFailed, protocol.OpCancelled, protocol.OpLost),
			"queued running frozen done failed cancelled lost"},
		{words(protocol.BySteer, protocol.ByPause, protocol.ByReplan, protocol.ByEnd), "steer pause replan end"},
		{words(protocol.Minor, protocol.Notable, protocol.Major), "minor notable major"},
		{words(protocol.Permission), "permission"},
		{words(protocol.DecisionOpen, protocol.DecisionStanding, protocol.DecisionOverridden), "open standing overridden"},
		{words(protocol.PausedByDeveloper, protocol.PausedByAgent, protocol.PausedByTripwire, protocol.PausedByRecovery, protocol.PausedByBudget),
			"developer agent tripwire recovery budget"},
		{words(protocol.TouchCode, protocol.TouchArchitecture, protocol.TouchBusinessRule, protocol.TouchData, protocol.TouchConfiguration),
			"code architecture businessRule data configuration"},
		{words(protocol.Count, protocol.Sum, protocol.Min, protocol.Max), "count sum min max"},
		{words(protocol.Continue, protocol.Clarify), "continue clarify"},
		{words(protocol.SteerReceived, protocol.SteerHeard, protocol.SteerApplied, protocol.SteerWithdrawn), "received heard applied withdrawn"},
		{words(protocol.Now, protocol.StepEnd, protocol.Idle), "now stepEnd idle"},
		{words(protocol.EditAdd, protocol.EditDrop, protocol.EditMove, protocol.EditChange), "add drop move change"},
		{words(protocol.LastRun, protocol.Snapshot), "lastRun snapshot"},
		{words(protocol.Primary, protocol.Danger), "primary danger"},
	} {
		if got := strings.Join(c.got, " "); got != c.want {
			t.Errorf("the package says «%s» where the specification says «%s»", got, c.want)
		}
	}
}

func words[T ~string](values ...T) []string {
	var all []string
	for _, v := range values {
		all = append(all, string(v))
	}
	return all
}

func TestEveryErrorHasTheCodeOfTheSpecification(t *testing.T) {
	kinds := map[protocol.ErrorKind]int{
		"staleRevision": -32801, "noSuchSession": -32001, "wrongMode": -32002, "noSuchEntity": -32003, "modelUnavailable": -32004,
		"untrusted": -32005, "overloaded": -32006, "driftUnacknowledged": -32007, "invalidParams": -32602,
	}
	for kind, code := range kinds {
		if got := kind.Code(); got != code {
			t.Errorf("%s has the code %d, want %d", kind, got, code)
		}
	}
	text, err := os.ReadFile("protocol.gen.ts")
	if err != nil {
		t.Fatal(err)
	}
	told := regexp.MustCompile(`(?m)^  (\w+): (-\d+),$`).FindAllStringSubmatch(string(text), -1)
	if len(told) != len(kinds) {
		t.Errorf("the clients know %d errors, want %d", len(told), len(kinds))
	}
	for _, m := range told {
		if _, ok := kinds[protocol.ErrorKind(m[1])]; !ok {
			t.Errorf("the clients know the error %s, which the specification does not have", m[1])
		}
	}
}

func TestARefusalTellsItsSentenceAndItsData(t *testing.T) {
	err := protocol.Errorf(protocol.WrongMode, "pause: the session is %s", protocol.Done)
	err.Mode = protocol.Done
	if err.Error() != "pause: the session is done" {
		t.Errorf("the sentence is %q", err.Error())
	}
	if got := string(err.Data()); got != `{"kind":"wrongMode","mode":"done"}` {
		t.Errorf("the data is %s", got)
	}
	if got := string(protocol.Errorf(protocol.Untrusted, "no").Data()); got != `{"kind":"untrusted"}` {
		t.Errorf("the data is %s", got)
	}
}

func TestAFullOperationKeepsWhatIsZeroAndMeant(t *testing.T) {
	zero, began := 0, time.Date(2026, 11, 3, 9, 0, 0, 0, time.UTC)
	got, err := json.Marshal(protocol.Operation{
		ID: "o1", StepID: "s1", Kind: protocol.Tool, Tool: "run_command", Intent: "see whether it builds", Effect: protocol.EffectExecute,
		Target: "go build ./...", Status: protocol.OpCancelled, StartedAt: &began, Output: "ok", ExitCode: &zero, Partial: true,
		CancelledBy: &protocol.CancelledBy{Kind: protocol.BySteer, ID: "t1"}, Files: protocol.List[string]{"file:///w/a.go"},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"id":"o1","stepId":"s1","kind":"tool","tool":"run_command","intent":"see whether it builds","effect":"execute","target":"go build ./...",` +
		`"status":"cancelled","startedAt":"2026-11-03T09:00:00Z","output":"ok","exitCode":0,"cancelledBy":{"kind":"steer","id":"t1"},"partial":true,` +
		`"files":["file:///w/a.go"],"actions":[]}`
	if string(got) != want {
		t.Errorf("the operation is on the wire\n  %s\nwant\n  %s", got, want)
	}
}

func TestAbsentAndZeroAreToldApart(t *testing.T) {
	var attach protocol.AttachParams
	var steer protocol.SteerParams
	var pause protocol.PauseParams
	var edit protocol.PlanEdit
	for into, text := range map[any]string{
		&attach: `{"sessionId":"a","since":0}`, &steer: `{"sessionId":"a","text":"x","seenSeq":0}`,
		&pause: `{"sessionId":"a","freeze":false}`, &edit: `{"op":"change","stepId":"s1","title":"","files":[]}`,
	} {
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	if attach.Since == nil || steer.SeenSeq == nil || pause.Freeze == nil || edit.Title == nil || edit.Files == nil {
		t.Error("a zero that was sent was taken for absent")
	}
	if edit.Intent != nil || edit.Verify != nil {
		t.Error("what was absent was taken for sent")
	}
}
