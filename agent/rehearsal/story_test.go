package rehearsal

import (
	"encoding/json"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"tandem/testdata/rehearsals"
)

// desk plays a story by hand: it asks, does what is called in a real folder, and asks again.
type desk struct {
	*person
	dir   string
	plan  []planStep // as the agent told it last
	beats []string   // what was called, in order
	clean bool       // the tests passed after the last change
	vet   bool       // the end is held against vet and gofmt too
}

type planStep struct {
	ID, Title, Intent, Status string
	DependsOn                 []string `json:"depends_on"`
	Verify                    *struct{ Command string }
}

// call is every argument that the story uses.
type call struct {
	Intent, Step                         string
	Path, Content, Command, Summary      string
	Explanation, Rationale, Significance string
	Consequences, Conflicts, Evidence    []string
	Pattern                              string
	Facts                                []string
	LikelyCause                          string `json:"likely_cause"`
	Options                              []struct {
		Title, Detail  string
		Touches, Files []string
	}
	Steps []planStep
	Edits []struct {
		Old, New   string
		ReplaceAll bool `json:"replace_all"`
	}
}

func pair(t *testing.T) *Script {
	t.Helper()
	return told(t, "pair.txtar")
}

// told is a story that the program brings along.
func told(t *testing.T, name string) *Script {
	t.Helper()
	archive, err := rehearsals.Stories.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(name, archive)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sit unpacks the story anew; the folder stays the same, so that go's cache knows it.
func sit(t *testing.T, s *Script, dir string) *desk {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := s.Unpack(dir); err != nil {
		t.Fatal(err)
	}
	return &desk{person: newPerson(t, start(t, s, Options{}).URL, s.Task), dir: dir}
}

// turn asks once and does what is called; it tells whether the story goes on.
func (d *desk) turn(forced string) bool {
	d.t.Helper()
	r := d.ask(forced, nil)
	if r.Status != 200 || !r.Done || len(r.Calls) == 0 {
		d.t.Fatalf("after %v the answer is %+v", d.beats, r)
	}
	var results []string
	done := false
	for _, c := range r.Calls {
		results = append(results, d.do(c))
		d.beats = append(d.beats, c.Name)
		done = done || c.Name == "finish"
	}
	d.hear(r, results...)
	return !done
}

// do does one call and gives its result.
func (d *desk) do(c replyCall) string {
	d.t.Helper()
	var a call
	if err := json.Unmarshal([]byte(c.Arguments), &a); err != nil {
		d.t.Fatalf("%s %s: %v", c.Name, c.Arguments, err)
	}
	if a.Intent == "" || a.Step == "" {
		d.t.Errorf("%s has no intent or no step: %s", c.Name, c.Arguments)
	}
	file := filepath.Join(d.dir, filepath.FromSlash(a.Path))
	switch c.Name {
	case "read_file":
		return d.read(file)
	case "write_file":
		d.write(file, a.Content)
	case "edit_file":
		text := d.read(file)
		for _, e := range a.Edits {
			if n := strings.Count(text, e.Old); n == 0 || n > 1 && !e.ReplaceAll {
				d.t.Fatalf("%s: %q is there %d times", a.Path, e.Old, n)
			}
			text = strings.ReplaceAll(text, e.Old, e.New)
		}
		d.write(file, text)
	case "delete_file":
		d.clean = false
		if err := os.Remove(file); err != nil {
			d.t.Fatal(err)
		}
	case "run_command":
		return d.run(a.Command)
	case "update_plan":
		d.checkPlan(a)
	case "finish":
		if a.Summary == "" || len(a.Evidence) == 0 {
			d.t.Errorf("finish says too little: %s", c.Arguments)
		}
	case "search":
		return fmt.Sprintf("%d lines", len(regexp.MustCompile("(?m)^.*"+a.Pattern).FindAllString(d.read(file), -1)))
	case "call_pause":
		if len(a.Facts) == 0 || a.LikelyCause == "" {
			d.t.Errorf("the pause says too little: %s", c.Arguments)
		}
	case "announce_decision":
		if a.Summary == "" || a.Rationale == "" || a.Significance != "notable" {
			d.t.Errorf("the decision says too little: %s", c.Arguments)
		}
	default:
		d.t.Fatalf("the story calls %s, which this test does not know", c.Name)
	}
	return "ok"
}

// checkPlan holds a plan against what every plan has to be.
func (d *desk) checkPlan(a call) {
	d.t.Helper()
	if a.Explanation == "" {
		d.t.Errorf("a plan has no explanation")
	}
	var ids []string
	verify := map[string]bool{}
	for _, s := range a.Steps {
		if s.Title == "" || s.Intent == "" || !slices.Contains([]string{"pending", "active", "done"}, s.Status) {
			d.t.Errorf("step %+v says too little", s)
		}
		for _, on := range s.DependsOn {
			if !slices.Contains(ids, on) {
				d.t.Errorf("step %s depends on %s, which does not come before it", s.ID, on)
			}
		}
		if s.Status == "done" && s.Verify != nil {
			verify[s.Verify.Command] = true
		}
		ids = append(ids, s.ID)
	}
	for command := range verify {
		if !d.clean {
			d.run(command)
		}
	}
	d.plan = a.Steps
}

func (d *desk) read(file string) string {
	d.t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		d.t.Fatal(err)
	}
	return string(b)
}

func (d *desk) write(file, text string) {
	d.t.Helper()
	d.clean = false
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		d.t.Fatal(err)
	}
}

// run runs a command line of the story, which must pass.
func (d *desk) run(line string) string {
	d.t.Helper()
	words := strings.Fields(line)
	cmd := exec.CommandContext(d.t.Context(), words[0], words[1:]...)
	cmd.Dir = d.dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		d.t.Fatalf("after %v, %s: %v\n%s", d.beats, line, err, out)
	}
	d.clean = d.clean || line == "go test ./..."
	return string(out)
}

// green says that the workspace stands as it is shown to people.
func (d *desk) green() {
	d.t.Helper()
	d.run("go vet ./...")
	d.run("go test ./...")
	files, err := filepath.Glob(filepath.Join(d.dir, "*", "*.go"))
	if err != nil || len(files) < 4 {
		d.t.Fatalf("the workspace has the files %v, %v", files, err)
	}
	for _, f := range files {
		text := d.read(f)
		if plain, err := format.Source([]byte(text)); err != nil || string(plain) != text {
			d.t.Errorf("%s is not formatted, %v", f, err)
		}
	}
}

func (d *desk) allDone(ids ...string) {
	d.t.Helper()
	var got []string
	for _, s := range d.plan {
		got = append(got, s.ID)
		if s.Status != "done" {
			d.t.Errorf("at the end step %s is %s", s.ID, s.Status)
		}
	}
	if !slices.Equal(got, ids) {
		d.t.Errorf("at the end the plan has the steps %v, want %v", got, ids)
	}
}

// provider tells that the workspace is in the form that the first plan leads to.
func (d *desk) provider() bool {
	_, err := os.Stat(filepath.Join(d.dir, "auth", "hook.go"))
	return os.IsNotExist(err)
}

func needGo(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("the story runs go test on its workspace, which is not short")
	}
}

func TestPairUnsteered(t *testing.T) {
	needGo(t)
	s := pair(t)
	d := sit(t, s, filepath.Join(t.TempDir(), "desk"))
	d.green()
	for d.turn("") {
		if last := d.beats[len(d.beats)-1]; last == "edit_file" || last == "write_file" {
			d.green()
		}
	}
	d.allDone("s1", "s2", "s3")
	if !d.provider() {
		t.Error("there is a hook, and nobody asked for one")
	}
}

// The steer may come at any moment: before the first answer, after each, and in the words of each.
func TestPairSteered(t *testing.T) {
	needGo(t)
	s := pair(t)
	dir := filepath.Join(t.TempDir(), "desk")
	for at, goes := 0, true; goes; at++ {
		t.Run(fmt.Sprint("after ", at), func(t *testing.T) {
			d := sit(t, s, dir)
			d.vet = at%5 == 0 // the same files at every end: the plan's own verifications say the rest
			for i := 0; i < at; i++ {
				goes = d.turn("")
			}
			if goes && at > 0 {
				begun := d.ask("", func(text string) bool { return text == "" })
				d.hear(reply{Text: begun.Text})
			}
			d.endsWithAHook(s.Steer)
		})
	}
}

// A steer often comes while the edit waits in the queue: it was called, and never made.
func TestPairSteeredBeforeAQueuedEdit(t *testing.T) {
	needGo(t)
	s := pair(t)
	d := sit(t, s, filepath.Join(t.TempDir(), "desk"))
	d.vet = true
	for d.turn("") && len(d.beats) < 5 {
	}
	r := d.ask("", nil)
	if len(r.Calls) != 1 || r.Calls[0].Name != "edit_file" {
		t.Fatalf("in place of the edit comes %+v", r)
	}
	d.hear(r, `{"status": "cancelled", "by": {"kind": "steer", "id": "steer-1"}}`)
	d.steer(s.Steer)
	again := d.ask("update_plan", nil)
	if !strings.Contains(again.Text, "I leave provider.go alone") {
		t.Errorf("the edit was not made, and the agent says %q", again.Text)
	}
	d.endsWithAHook("")
}

// endsWithAHook steers, plays to the end, and holds the workspace against what was asked for.
func (d *desk) endsWithAHook(words string) {
	d.t.Helper()
	if words != "" {
		d.steer(words)
	}
	for forced := "update_plan"; d.turn(forced); forced = "" {
	}
	if d.vet {
		d.green()
	}
	d.allDone("s1", "s4", "s5", "s3")
	files, err := filepath.Glob(filepath.Join(d.dir, "auth", "*.go"))
	if err != nil {
		d.t.Fatal(err)
	}
	for i, f := range files {
		files[i] = filepath.Base(f)
	}
	if want := []string{"hook.go", "hook_test.go", "provider.go", "provider_test.go"}; !slices.Equal(files, want) {
		d.t.Errorf("package auth has %v, want %v", files, want)
	}
	if text := d.read(filepath.Join(d.dir, "auth", "provider.go")); strings.Contains(text, "OnChange") || !strings.Contains(text, "NewHook(p, now)") {
		d.t.Errorf("provider.go does not delegate:\n%s", text)
	}
}

// Every other steer is heard, and the story goes on where it was: with the first plan, with the
// second, and after the end of each.
func TestPairAnswersOtherSteers(t *testing.T) {
	needGo(t)
	s := pair(t)
	d := sit(t, s, filepath.Join(t.TempDir(), "desk"))
	other := func() bool {
		d.steer("Use tabs.")
		return d.turn("update_plan")
	}
	other()
	for d.turn("") && len(d.plan) == 3 && d.plan[1].Status != "done" {
		other()
	}
	for other(); d.turn(""); {
	}
	d.allDone("s1", "s2", "s3")
	other()
	if d.turn("") {
		t.Error("after the end, another steer does not end with finish")
	}
	d.allDone("s1", "s2", "s3")
	d.steer(s.Steer)
	d.turn("update_plan")
	for other(); d.turn(""); other() {
	}
	d.allDone("s1", "s4", "s5", "s3")
	other()
	if d.turn("") {
		t.Error("after the end with a hook, another steer does not end with finish")
	}
	d.green()
	d.allDone("s1", "s4", "s5", "s3")
	if r := d.ask("none", nil); !strings.Contains(r.Text, "script") {
		t.Errorf("a side question is answered by %+v", r)
	}
}

// How long the story plays is a promise to the one who watches.
func TestPairTakesItsTime(t *testing.T) {
	s := pair(t)
	for name, last := range map[string][2]string{"unsteered": {"110", "210"}, "steered": {"310", "440"}} {
		seconds := s.lasts(last[0], last[1])
		t.Logf("%s: %.0f s of words and waits", name, seconds)
		if seconds < 25 || seconds > 45 {
			t.Errorf("%s takes %.0f s", name, seconds)
		}
	}
}

// lasts is for how many seconds the beats from a number to another speak and wait.
func (s *Script) lasts(from, to string) float64 {
	seconds := 0.0
	for _, b := range s.beats {
		if b.name[:3] < from || b.name[:3] > to {
			continue
		}
		for _, p := range b.parts {
			pace := p.pace
			if pace < 0 {
				pace = s.pace
			}
			if p.kind == sayPart {
				seconds += float64(len(splitWords(p.text))) / pace
			}
			seconds += p.wait.Seconds()
		}
	}
	return seconds
}
