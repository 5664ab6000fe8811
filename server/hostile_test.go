package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"tandem/protocol"
	"tandem/server/face"
)

// taken are the params of every method that the daemon answers. Those of one that takes none are a
// struct{}. What the tests here send is made from these types.
var taken = map[string]any{
	protocol.LSPInitialize: protocol.InitializeParams{}, protocol.LSPInitialized: struct{}{}, protocol.LSPShutdown: struct{}{}, protocol.LSPExit: struct{}{},
	protocol.MethodStart: protocol.StartParams{}, protocol.MethodList: protocol.ListParams{}, protocol.MethodAttach: protocol.AttachParams{},
	protocol.MethodDetach: protocol.SessionParams{}, protocol.MethodEnd: protocol.SessionParams{}, protocol.MethodPlan: protocol.PlanParams{},
	protocol.MethodSteer: protocol.SteerParams{}, protocol.MethodWithdraw: protocol.WithdrawParams{}, protocol.MethodReplan: protocol.ReplanParams{},
	protocol.MethodPause: protocol.PauseParams{}, protocol.MethodDecide: protocol.DecideParams{}, protocol.MethodResume: protocol.ResumeParams{},
	protocol.MethodAutonomy: protocol.AutonomyParams{}, protocol.MethodHistory: protocol.HistoryParams{}, protocol.MethodRevert: protocol.RevertParams{},
	protocol.MethodCheckIn: protocol.CheckInParams{}, protocol.MethodAsk: protocol.AskParams{}, protocol.MethodWatch: protocol.WatchParams{},
	protocol.MethodScenarioRun: protocol.ScenarioRunParams{}, protocol.MethodBlame: protocol.BlameParams{},
	protocol.LSPDidOpen: protocol.DidOpenParams{}, protocol.LSPDidChange: protocol.DidChangeParams{}, protocol.LSPDidSave: protocol.DidSaveParams{},
	protocol.LSPDidClose: protocol.DidCloseParams{}, protocol.LSPDidChangeFolders: protocol.DidChangeFoldersParams{},
	protocol.LSPCodeAction: protocol.CodeActionParams{}, protocol.LSPCodeLens: protocol.CodeLensParams{}, protocol.LSPHover: protocol.HoverParams{},
	protocol.LSPExecuteCommand: protocol.ExecuteCommandParams{}, protocol.LSPProgressCancel: protocol.ProgressTokenParams{},
}

// untold are the notifications among them: what is wrong with one has no answer.
var untold = []string{protocol.LSPInitialized, protocol.LSPExit, protocol.LSPDidOpen, protocol.LSPDidChange, protocol.LSPDidSave,
	protocol.LSPDidClose, protocol.LSPDidChangeFolders, protocol.LSPProgressCancel}

// A method that is not in the table would be tested by nothing here.
func TestParamsAreMadeForEveryMethod(t *testing.T) {
	answered, made := slices.Sorted(maps.Keys((&client{}).handlers())), slices.Sorted(maps.Keys(taken))
	if !slices.Equal(answered, made) {
		t.Errorf("the daemon answers %v\nand params are made for %v", answered, made)
	}
}

// sample is a value of a type with every field that can be there, as JSON has it. Fields of the
// names in known have those values.
func sample(typ reflect.Type, name string, known map[string]any) any {
	if v, ok := known[name]; ok && (typ.Kind() != reflect.Struct || reflect.TypeOf(v).Kind() != reflect.String || name == "token") {
		return v
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return sample(typ.Elem(), name, known)
	case reflect.Struct:
		out := map[string]any{}
		for _, f := range reflect.VisibleFields(typ) {
			field, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if v := any(nil); field != "" && field != "-" && (!f.Anonymous || f.Tag.Get("json") != "") {
				if v = sample(f.Type, field, known); v != nil {
					out[field] = v
				}
			}
		}
		return out
	case reflect.Slice, reflect.Array:
		if typ == reflect.TypeFor[json.RawMessage]() {
			return map[string]any{}
		}
		if v := sample(typ.Elem(), name+"[]", known); v != nil {
			return []any{v}
		}
	case reflect.Map:
		return map[string]any{"key": sample(typ.Elem(), "", known)}
	case reflect.String:
		return "words"
	case reflect.Bool:
		return true
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint32, reflect.Float64:
		return 1
	}
	return nil // whatever is taken there
}

// tokens are the fields that take a string or a number, as LSP's tokens do.
var tokens = map[string]any{"token": "token", "workDoneToken": "token", "partialResultToken": "token"}

// absent in the place of a field takes it away.
type absent struct{}

// places goes through every place in a value: what stands there, its path, and how to make the whole
// with something else there.
func places(v any, path string, with func(any) any, do func(path string, old any, with func(any) any)) {
	do(path, v, with)
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			places(v[key], strings.TrimPrefix(path+"."+key, "."), func(x any) any {
				changed := maps.Clone(v)
				if changed[key] = x; x == (absent{}) {
					delete(changed, key)
				}
				return with(changed)
			}, do)
		}
	case []any:
		for i, e := range v {
			places(e, fmt.Sprintf("%s[%d]", path, i), func(x any) any {
				changed := slices.Clone(v)
				if changed[i] = x; x == (absent{}) {
					changed = slices.Delete(changed, i, i+1)
				}
				return with(changed)
			}, do)
		}
	}
}

// odd are values that are wrong in most places. Each is one value of JSON; some hold bytes that are no UTF-8.
var odd = []any{absent{}, raw(`null`), raw(`0`), raw(`-1`), raw(`1.5`), raw(`9223372036854775807`), raw(`4294967296`), raw(`1e400`), raw(`true`),
	raw(`""`), raw(`" \t\n"`), raw(`"nobody has this name"`), raw(`"\u0000"`), raw(`"\ud800"`), raw("\"\xff\xfe\""), raw(`"../../../../etc/passwd"`), raw(`"file:words"`),
	raw(`"file:///%00"`), raw(`"file:///proc/self/mem"`), raw(`"file://host/x"`), raw(`"%zz://"`), raw(`"` + strings.Repeat("long ", 2000) + `"`),
	raw(`[]`), raw(`[null]`), raw(`{}`), raw(`{"":null}`), raw(strings.Repeat("[", 5000) + strings.Repeat("]", 5000))}

func raw(text string) json.RawMessage { return json.RawMessage(text) }

// kindOf is what a value is in JSON: a string, a number, true or false, an array, an object, or null.
func kindOf(v any) byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	switch c := text[0]; c {
	case 't', 'f':
		return 't'
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return '0'
	default:
		return c
	}
}

// badRequest is params that were made of good ones. Where it is of another type than the method
// takes, field is what the refusal has to name.
type badRequest struct {
	what, field string
	odd         bool
	params      any
}

// bad are the requests that a method is sent: what it takes with each optional field alone and with
// all, and all of it with something odd in each place.
func bad(method string, known map[string]any) []badRequest {
	typ := reflect.TypeOf(taken[method])
	full := sample(typ, "", known).(map[string]any)
	needed := maps.Clone(full)
	for _, f := range reflect.VisibleFields(typ) {
		if name, rest, _ := strings.Cut(f.Tag.Get("json"), ","); rest != "" {
			delete(needed, name)
		}
	}
	out := []badRequest{{what: "what it needs", params: needed}, {what: "all", params: full}, {what: "no params", params: absent{}}}
	for _, name := range slices.Sorted(maps.Keys(full)) {
		if _, is := needed[name]; !is {
			one := maps.Clone(needed)
			one[name] = full[name]
			out = append(out, badRequest{what: "with " + name, params: one})
		}
	}
	places(full, "", func(x any) any { return x }, func(path string, old any, with func(any) any) {
		for _, o := range odd {
			b := badRequest{what: fmt.Sprintf("%.60s at %s", o, path), params: with(o), odd: true}
			if o != (absent{}) && string(o.(json.RawMessage)) != "null" && kindOf(o) != kindOf(old) && !either(path) {
				b.field = path
			}
			out = append(out, b)
		}
	})
	return out
}

// either says that a place takes values of more than one type, or that what stands there is read
// by nobody.
func either(path string) bool {
	name := path[strings.LastIndexByte(path, '.')+1:]
	_, is := tokens[name]
	return is || name == "initializationOptions" || name == "" || strings.HasPrefix(path, "arguments[0]")
}

// moments are what a session may be in when it is sent something bad.
var moments = []struct {
	name  string
	reach func(p *peer, id string)
}{
	{"at work", func(*peer, string) {}},
	{"paused", func(p *peer, id string) { p.ok(protocol.MethodPause, at(id), nil) }},
	{"ended", func(p *peer, id string) { p.ok(protocol.MethodEnd, at(id), nil) }},
}

// hostileFiles are a workspace in which each method has something to do.
var hostileFiles = map[string]string{"a.txt": "one\n", "n.json": `{"n": 1}`,
	".tandem/config.yaml": "watches:\n  - {name: n, json: n.json, at: /n}\nscenarios:\n  - {name: smoke, run: 'true', inputs: [a.txt], outputs: [n.json]}\n"}

// eventful is a session with one of everything that a request can name, and a model that is silent
// now. The names are those of the fields that bear them.
func eventful(t *testing.T) (*house, *peer, map[string]any) {
	h := newHouse(t, hostileFiles)
	h.model.will(does(append(plans("s1 active First", "s2 pending Second"),
		"write_file", `{"intent":"I write.","step":"s1","path":"b.txt","content":"one\ntwo\n"}`,
		"announce_decision", `{"intent":"I say it.","step":"s1","summary":"Left","rationale":"it is near","significance":"minor","alternatives":[{"id":"right","title":"Right"}],"path":"b.txt","line":1}`,
		"ask_developer", `{"intent":"I ask.","step":"s1","questions":[{"text":"Which name?","options":["left","right"]}]}`)...))
	p := h.client()
	s := p.start(params{})
	p.untilHas(protocol.NoteModeChanged, `"mode":"waiting"`)
	var steered protocol.SteerResult
	p.ok(protocol.MethodSteer, at(s.ID, "text", "later", "when", "idle"), &steered)
	synctest.Wait()
	s = p.session(s.ID)
	var whole protocol.SessionResult
	p.ok(protocol.MethodAttach, at(s.ID), &whole)
	wrote := slices.IndexFunc(whole.Session.Operations, func(o protocol.Operation) bool { return o.Tool == "write_file" })
	if wrote < 0 || len(whole.Session.Decisions) == 0 {
		t.Fatalf("the session is %+v", whole.Session)
	}
	return h, p, map[string]any{"sessionId": s.ID, "stepId": "s1", "operationId": whole.Session.Operations[wrote].ID, "steerId": steered.SteerID,
		"decisionId": whole.Session.Decisions[0].ID, "questionId": "q1", "pauseId": "p1", "option": "left", "uri": fileURI(h.dir) + "/b.txt",
		"workspace": fileURI(h.dir), "rootUri": fileURI(h.dir), "rootPath": h.dir, "workspaceFolders": []any{map[string]any{"uri": fileURI(h.dir), "name": "words"}}, "scenario": "smoke", "when": "now", "level": "high", "autonomy": "high",
		"against": "lastRun", "op": "change", "after": "s2", "id": "x9", "clientId": "c", "requestKey": "k", "json": "n.json", "at": "/n", "remove": "w1",
		"processId": 1, "positionEncodings[]": "utf-8", "seenSeq": 1, "since": 0, "baseRevision": 1, "revision": 1, "limit": 3, "dependsOn[]": "s2",
		"runs": []any{"r1", "r2"}, "token": "token", "workDoneToken": "token", "partialResultToken": "token", "line": 0, "character": 0, "verify": map[string]any{"command": "true"},
		"command": face.Do, "arguments": []any{map[string]any{"title": "words", "method": protocol.MethodPlan, "params": at(s.ID)}}}
}

// TestNothingBadChangesASession sends each method what it takes and then, place by place, what it
// does not. Every request is answered, by a code of the protocol and a sentence that names the field;
// what is refused has changed nothing; and nothing is a fault of the daemon's own.
func TestNothingBadChangesASession(t *testing.T) {
	needsShell(t)
	came := map[string]bool{} // «METHOD taken» and «METHOD refused»
	for m, moment := range moments {
		for _, method := range slices.Sorted(maps.Keys(taken)) {
			t.Run(moment.name+"/"+method, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h, p, known := eventful(t)
					moment.reach(p, known["sessionId"].(string))
					v := victim{t, h, h.client(), method, came}
					for i, b := range bad(method, known) {
						if turn := i + i/len(odd); turn%len(moments) == m || !b.odd { // the odd ones take turns, for the time that they take
							v.suffers(b)
						}
					}
					p.session(known["sessionId"].(string)) // it lives, and lists
				})
			})
		}
	}
	for method := range taken {
		if strings.HasPrefix(method, "tandem/") && !(came[method+" taken"] && came[method+" refused"]) {
			t.Errorf("%s was not both taken and refused: what is sent shows nothing", method)
		}
	}
}

// victim is a daemon that one client sends bad requests of one method.
type victim struct {
	*testing.T
	house  *house
	peer   *peer
	method string
	came   map[string]bool
}

func (v *victim) suffers(b badRequest) {
	v.Helper()
	synctest.Wait()
	before := v.house.standing()
	if slices.Contains(untold, v.method) {
		v.peer.post(v.method, b.params)
		synctest.Wait()
		if v.peer.hasGone() {
			v.peer = v.house.client()
		}
		return
	}
	id := v.peer.send(v.method, b.params)
	synctest.Wait()
	a, answered := v.peer.answered(id)
	if !answered { // it was taken, and waits for the model, which is silent
		v.note(false)
		v.peer.post(protocol.LSPCancelRequest, params{"id": id})
		synctest.Wait()
		if a, answered = v.peer.answered(id); !answered {
			v.Fatalf("%s is not answered, not even when it is cancelled", b.what)
		}
		return
	}
	v.note(a.Error != nil)
	if a.Error == nil {
		if b.field != "" {
			v.Errorf("%s is taken: %.200s", b.what, a.Result)
		}
		return
	}
	if why := clearRefusal(a); why != "" {
		v.Errorf("%s: %s: %d %.300q", b.what, why, a.Error.Code, a.Error.Message)
	}
	if b.field != "" && (a.Error.Code != protocol.CodeInvalidParams || !strings.HasPrefix(a.Error.Message, b.field+":")) {
		v.Errorf("%s: %s is not named: %d %.300q", b.what, b.field, a.Error.Code, a.Error.Message)
	}
	if after := v.house.standing(); !maps.Equal(before, after) {
		v.Errorf("%s was refused (%.100s), and changed something: %v, then %v", b.what, a.Error.Message, before, after)
	}
}

func (v *victim) note(refused bool) {
	if refused {
		v.came[v.method+" refused"] = true
	} else {
		v.came[v.method+" taken"] = true
	}
}

// codes are those that a request can be refused with: Tandem's, JSON-RPC's for what it is sent, and LSP's for one that was cancelled.
var codes = map[int]protocol.ErrorKind{
	protocol.CodeInvalidParams: protocol.InvalidParams, protocol.CodeStaleRevision: protocol.StaleRevision, protocol.CodeNoSuchSession: protocol.NoSuchSession,
	protocol.CodeWrongMode: protocol.WrongMode, protocol.CodeNoSuchEntity: protocol.NoSuchEntity, protocol.CodeModelUnavailable: protocol.ModelUnavailable,
	protocol.CodeUntrusted: protocol.Untrusted, protocol.CodeOverloaded: protocol.Overloaded, protocol.CodeDriftUnacknowledged: protocol.DriftUnacknowledged,
	-32601: "", -32600: "", -32800: "", -32803: "",
}

// clearRefusal says what is not clear in a refusal, or "".
func clearRefusal(a answer) string {
	kind, known := codes[a.Error.Code]
	switch {
	case !known:
		return "this code is none of the protocol"
	case a.Error.Data.Kind != kind:
		return fmt.Sprintf("its kind is %q", a.Error.Data.Kind)
	case len(a.Error.Message) < 10 || len(a.Error.Message) > 1000 || strings.ContainsAny(a.Error.Message, "\n\x00"):
		return "its message is no sentence for a person"
	}
	return ""
}

// standing is the last event of each session, as it is in the daemon.
func (h *house) standing() map[string]int64 {
	out := map[string]int64{}
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, s := range h.open {
		out[id] = s.Now().State.Seq
	}
	return out
}
