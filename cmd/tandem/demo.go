package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tandem/agent/rehearsal"
	"tandem/protocol"
	"tandem/server"
	"tandem/testdata/rehearsals"
)

type demoCommand struct {
	Story string `arg:"" optional:"" help:"The story: pair, in which you change the plan while the agent works; pause, in which a stop condition stops it and you decide; or a file that tandem run --record wrote." default:"pair"`
	Fast  bool   `help:"Play it fast, for one who has seen it."`
	Keep  string `help:"Keep the workspace in this new folder." placeholder:"DIR"`
	JSON  bool   `help:"Print JSON for programs."`
}

// Help is what tandem demo --help says beyond the flags.
func (demoCommand) Help() string {
	return `Only the words of the agent are scripted. The plan, the edits, the commands and the tests
are real, on a small Go module in a temporary folder; Go is all that has to be installed.
In a terminal it is you who speaks (Enter takes the suggested words); else it plays by itself.

  tandem demo pair   The agent builds on the wrong thing. You steer while it
                     works: it stops what is useless now, keeps what is good,
                     tells what your change costs, and goes on.
  tandem demo pause  The agent's report and the database disagree. A stop
                     condition stops it: you see the facts and decide, the
                     same case runs again on the same input, before and after
                     side by side, and you resume.

A file is a recorded session, or any rehearsal: it is played in a temporary folder, with your
environment but for the model's. Its commands run on your machine: play only what you trust.`
}

// The paces of the demo: what the waits of the story are multiplied by.
const (
	paceWritten = 1
	paceFast    = 0.2
)

// Run plays the story.
func (c *demoCommand) Run(ctx context.Context, s std) error {
	pace := float64(paceWritten)
	if c.Fast {
		pace = paceFast
	}
	return c.play(ctx, s, pace)
}

func (c *demoCommand) play(ctx context.Context, s std, pace float64) (err error) {
	if _, err := exec.LookPath("go"); err != nil && brought(c.Story) {
		return errors.New("demo: the story's tests are run with Go, which is not on the PATH; install it from your system or from go.dev")
	}
	st, err := openStage(ctx, c, pace)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.close()) }()
	return st.play(ctx, s, c.JSON)
}

// The stories that the program brings along.
const (
	pairStory  = "pair"
	brakeStory = "pause" // of a tactical pause
)

// brought says that a story is one of these, and no file.
func brought(story string) bool { return story == pairStory || story == brakeStory }

// stage is where a story is played: its folders, its model server and its daemon, all in this process.
type stage struct {
	name   string // of the story
	script *rehearsal.Script
	temp   string // everything that is thrown away
	dir    string // the workspace
	model  *rehearsal.Server
	daemon *server.Registry
	holds  chan string // tells that the story waits for the developer
}

func openStage(ctx context.Context, c *demoCommand, pace float64) (*stage, error) {
	st := &stage{name: c.Story, holds: make(chan string)}
	var err error
	if st.script, err = readStory(c.Story); err != nil {
		return nil, err
	}
	if st.temp, err = os.MkdirTemp("", "tandem-demo-"); err != nil {
		return nil, fmt.Errorf("make a folder for the demo: %w", err)
	}
	if err := st.furnish(ctx, c.Keep, pace); err != nil {
		return nil, errors.Join(err, st.close())
	}
	return st, nil
}

// readStory reads the story that the program brings along, or that of a file.
func readStory(name string) (*rehearsal.Script, error) {
	if brought(name) {
		name += ".txtar"
		archive, err := rehearsals.Stories.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("demo: %w", err)
		}
		return rehearsal.Parse(name, archive)
	}
	archive, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("demo: there is no file %s; the built-in stories are called %s and %s", name, pairStory, brakeStory)
	}
	if err != nil {
		return nil, fmt.Errorf("demo: %w", err)
	}
	return rehearsal.Parse(name, archive)
}

// furnish unpacks the workspace and starts the model server and the daemon.
func (st *stage) furnish(ctx context.Context, keep string, pace float64) error {
	st.dir = filepath.Join(st.temp, "desk")
	if st.name == brakeStory {
		st.dir = filepath.Join(st.temp, "freight")
	}
	if keep != "" {
		if entries, err := os.ReadDir(keep); err == nil && len(entries) > 0 {
			return fmt.Errorf("demo: %s is not empty; name a new folder", keep)
		}
		abs, err := filepath.Abs(keep)
		if err != nil {
			return fmt.Errorf("demo: %s: %w", keep, err)
		}
		st.dir = abs
	}
	err := st.script.Unpack(st.dir)
	if err != nil {
		return err
	}
	if st.dir, err = filepath.EvalSymlinks(st.dir); err != nil {
		return fmt.Errorf("demo: %w", err)
	}
	if st.model, err = rehearsal.Serve(ctx, st.script, rehearsal.Options{Pace: pace, Steers: steersIn, Awaits: st.awaits}); err != nil {
		return err
	}
	st.daemon = server.NewRegistry(server.Options{State: filepath.Join(st.temp, "state"), Environ: st.environ()})
	return nil
}

// awaits is told by the model server that an answer holds until the developer speaks.
func (st *stage) awaits(ctx context.Context, words string) {
	select {
	case st.holds <- words:
	case <-ctx.Done():
	}
}

// environ is the environment of the story: the rehearsal as the model, no configuration of the
// developer's, and for the built-in ones a Go that asks nobody for anything.
func (st *stage) environ() []string {
	ours := []string{"OPENAI_BASE_URL=" + st.model.URL, "OPENAI_API_KEY=", "TANDEM_MODEL=rehearsal",
		"XDG_CONFIG_HOME=" + filepath.Join(st.temp, "config")}
	if brought(st.name) {
		ours = append(ours, "GOFLAGS=", "GOPROXY=off", "GOWORK=off", "GOTOOLCHAIN=local", "GO111MODULE=on", "GOENV=off")
	}
	return withEnviron(os.Environ(), ours...)
}

// close ends what the stage started, and throws its folders away.
func (st *stage) close() error {
	var errs []error
	if st.daemon != nil {
		errs = append(errs, st.daemon.Close())
	}
	if st.model != nil {
		errs = append(errs, st.model.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(st.temp))...)
}

// inProcess connects to a daemon of this process, as a client that works in dir, and does f.
func inProcess(ctx context.Context, daemon *server.Registry, dir string, f func(c *client) error) error {
	here, there := net.Pipe()
	served := daemon.Serve(ctx, there)
	defer func() { <-served.Done() }()
	c, err := connect(ctx, here, dir)
	if err != nil {
		return err
	}
	defer c.close()
	return f(c)
}

// play follows the story's session and then shows what came of it.
func (st *stage) play(ctx context.Context, s std, programs bool) error {
	return inProcess(ctx, st.daemon, st.dir, func(c *client) error {
		d, err := st.direct(ctx, c, s)
		if err != nil {
			return err
		}
		if programs {
			d.f.programs = encoder(s.out)
		} else if err := d.f.print(st.opening(s)); err != nil {
			return err
		}
		code, err := d.f.follow(ctx)
		if err != nil {
			return err
		}
		return st.end(d, code)
	})
}

// direct starts the story's session and puts a director beside the one who follows it.
func (st *stage) direct(ctx context.Context, c *client, s std) (*director, error) {
	started, err := ask[protocol.SessionResult](ctx, c, protocol.MethodStart, protocol.StartParams{Task: st.script.Task})
	if err != nil {
		return nil, err
	}
	d := &director{stage: st, ctx: ctx}
	d.f = &follower{std: s, c: c, session: started.Session, scr: newScreen(s.out, s.getenv), again: "tandem demo",
		watch: d.watch, stays: d.stays, holds: st.holds, held: d.held, drifted: d.drifted}
	return d, nil
}

// end shows what came of the story, unless the developer left it.
func (st *stage) end(d *director, code int) error {
	f := d.f
	switch {
	case f.programs != nil:
		last := map[string]any{"before": d.before, "after": f.pic.session.Plan}
		if d.compared != nil {
			last["comparison"] = d.compared
		}
		return errors.Join(f.programs.Encode(last), asExit(code))
	case code == exitDone:
		return st.closing(f, d)
	case f.mine || d.ctx.Err() != nil:
		return errors.Join(f.print([]line{{text: "You left the demo; its session is gone with it."}}), asExit(code))
	}
	err := f.print([]line{{text: "The story waits for a developer here, and nobody sits at this terminal.", tone: careful}})
	return errors.Join(err, st.closing(f, d), asExit(code))
}

func (st *stage) opening(s std) []line {
	title := "TANDEM DEMO  real files, real tests; only the agent's words are scripted"
	how := "Nobody sits at this terminal, so the demo types the steer itself."
	_, mine := interactive(s.in, s.out, s.getenv)
	if mine {
		how = "Read along. When you see it going the wrong way, say so: type, or press Enter for the suggested steer."
	}
	if st.name == brakeStory {
		how = "Nobody sits at this terminal, so the demo decides and resumes itself."
		if mine {
			how = "Read along. When a stop condition stops the agent, you decide: press Enter for the suggested words, take a number, or type your own."
		}
	}
	if !brought(st.name) {
		title = "REPLAY  " + st.name + ": the files and commands are real, the agent's words are those of the file"
		how = "Nobody sits at this terminal, so the steers that it holds are typed where they were heard."
		if mine {
			how = "Where a steer was heard, Enter sends it; or type your own."
		}
	}
	return []line{{text: title, tone: strong}, {text: how}, {}}
}

// director knows the story: when to suggest the steer, and what the plan was before it.
type director struct {
	*stage
	ctx context.Context
	f   *follower

	read    bool   // the agent has read something
	answer  string // the answer of the model that speaks now
	words   string // that came after the reading, of one answer
	offered bool
	due     string         // the recorded steer that was suggested, until one is sent
	before  *protocol.Plan // the plan before a steer changed it
	last    *protocol.Plan
	tests   protocol.Operation // the last command that passed

	compared *protocol.Comparison // of the pause, the last one
	moment   string               // of the pause for which words were suggested last
	arrived  bool                 // the order that comes in while the session is paused
}

// watch sees what happens, and suggests the steer when its moment has come.
func (d *director) watch(n note) []line {
	switch n.Method {
	case protocol.NoteProgress:
		return seen(n, d.progress)
	case protocol.NoteText:
		return seen(n, d.text)
	case protocol.NotePlanChanged:
		return seen(n, d.planned)
	case protocol.NoteSteered:
		return seen(n, d.steered)
	case protocol.NoteModeChanged:
		return seen(n, d.turned)
	}
	return nil
}

// turned gives a recorded steer that was said when it was the developer's turn.
func (d *director) turned(p protocol.ModeChangedParams) []line {
	if d.name == brakeStory {
		return d.paused(p)
	}
	if p.Mode == protocol.Executing {
		return nil
	}
	if words := d.model.Awaited(); words != "" {
		return d.say(words)
	}
	return nil
}

// held speaks where the story holds until the developer does.
func (d *director) held(words string) []line {
	switch {
	case words != "":
		return d.say(words)
	case d.f.asked > 0:
		return nil // they have just spoken
	case d.steerable() && !d.offered:
		return d.offer()
	case d.f.mine:
		return []line{{text: "The story waits for you here: type, or /pause.", tone: careful}}
	}
	d.f.send(d.ctx, func(ctx context.Context) result {
		return result{err: d.f.c.call(ctx, protocol.MethodPause, protocol.PauseParams{SessionID: d.f.session.ID}, nil)}
	})
	return nil
}

// say suggests a recorded steer to the developer, or says it where there is none.
func (d *director) say(words string) []line {
	if !d.f.mine {
		d.f.steer(d.ctx, words, protocol.Now)
		return nil
	}
	d.f.suggested, d.due = words, words
	return []line{{}, {mark: "!", text: "A steer was heard here. Press Enter for it, or type your own.", tone: careful}}
}

// steered takes the suggestion back while a steer is answered. One that the story does not know
// leaves the plan as it is, and then the one that it knows is suggested again.
func (d *director) steered(p protocol.SteeredParams) []line {
	if d.name == brakeStory {
		return nil // what waits for the developer is suggested again when it is their turn
	}
	d.f.suggested, d.due = "", ""
	if p.Steer.Status == protocol.SteerApplied && d.before == nil && d.offered && d.f.mine {
		d.f.suggested = d.script.Steer
	}
	return nil
}

// seen decodes what the picture has decoded before.
func seen[P any](n note, see func(P) []line) []line {
	var p P
	if json.Unmarshal(n.Params, &p) != nil {
		return nil
	}
	return see(p)
}

func (d *director) progress(p protocol.ProgressParams) []line {
	op := p.Operation
	if op.Effect == protocol.EffectExecute && op.Status == protocol.OpRunning {
		command, _, _ := strings.Cut(op.Target, "…") // a long one is shown without its middle
		if words := d.model.AwaitedDuring(command); words != "" {
			return d.say(words)
		}
	}
	if op.Effect == protocol.EffectRead && op.Status == protocol.OpDone {
		d.read = true
	}
	if op.Effect == protocol.EffectExecute && op.Status == protocol.OpDone && op.ExitCode != nil && *op.ExitCode == 0 {
		d.tests = op
	}
	if op.Kind == protocol.Think && op.ID == d.answer && over(op) && d.words != "" {
		return d.offer()
	}
	return nil
}

// text waits for the moment: the agent has read, said what it found, and begins to say what it will do.
func (d *director) text(p protocol.TextParams) []line {
	if !d.read {
		return nil
	}
	if p.OperationID != d.answer {
		d.answer, d.words = p.OperationID, ""
	}
	d.words += p.Delta
	_, intention, said := strings.Cut(d.words, ". ")
	if said && len(strings.Fields(intention)) >= 4 {
		return d.offer()
	}
	return nil
}

func (d *director) planned(p protocol.PlanChangedParams) []line {
	if p.Plan.Cause.Kind == protocol.CauseSteer && d.before == nil && d.last != nil {
		d.before = d.last
	}
	plan := p.Plan
	d.last = &plan
	return nil
}

// steerable says that the story knows a steer; that of the pause is what the developer decides.
func (d *director) steerable() bool { return d.script.Steer != "" && d.name != brakeStory }

// offer suggests the steer to the developer, or says it where there is none.
func (d *director) offer() []line {
	if d.offered || d.before != nil || !d.steerable() {
		return nil
	}
	d.offered = true
	if d.f.mine {
		d.f.suggested = d.script.Steer
		return []line{{}, {mark: "!", text: d.hint(), tone: careful}}
	}
	d.f.steer(d.ctx, d.script.Steer, protocol.Now)
	return nil
}

// hint says why this is the moment for the suggested steer.
func (d *director) hint() string {
	why := "This is a moment to say that you want something else"
	if d.name == pairStory {
		why = "It is about to build on the provider. Say you want something else"
	}
	return why + ": press Enter for the suggested steer, or type your own."
}

// stays keeps the story open for a developer who has not steered.
func (d *director) stays() (string, bool) {
	if d.due != "" {
		return "The recording goes on with a steer: press Enter for it. Ctrl-C goes to the end.", true
	}
	if d.before != nil || !d.f.mine || !d.steerable() {
		return "", false
	}
	d.f.suggested = d.script.Steer
	return "It is done, its own way. A steer is heard even now: press Enter for the suggested one. Ctrl-C goes to the end.", true
}

// contents are the files of a folder, by their path.
func contents(dir string) (map[string]string, error) {
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		files[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the workspace of the demo: %w", err)
	}
	return files, nil
}
