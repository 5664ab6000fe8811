package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/protocol"
)

func TestRevertFromAnotherWindow(t *testing.T) {
	d := newDesk(t, "greet.txtar")
	if code, _, errs := d.tandem("", "run", "Greet the world."); code != exitDone {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	read := func() string {
		b, err := os.ReadFile(filepath.Join(d.dir, "hello.txt"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	code, out, errs := d.tandem("", "revert", "1", "--dry-run")
	contains(t, out, "This would be taken back", "nothing was changed", "hello.txt", "as it was before")
	if code != exitDone || read() != "hello world\n" {
		t.Errorf("the dry run: exit code %d, %s, the file is %q", code, errs, read())
	}
	code, out, errs = d.tandem("", "revert", "--json", "s1")
	var r protocol.RevertResult
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != exitDone || len(r.Files) != 1 || r.Files[0].Status != "restored" || read() != "hello\n" {
		t.Errorf("exit code %d, %s%s, %v, the file is %q", code, out, errs, err, read())
	}
	_, out, _ = d.tandem("", "revert", "1")
	contains(t, out, "There is nothing to take back.")
	for _, test := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"9"}, exitFailed, `the plan never had a step "9"`},
		{[]string{"t4"}, exitFailed, `there is no steer "t4"`},
		{[]string{"op99"}, exitFailed, `there is no operation "op0000099"`},
		{[]string{"1", "2"}, exitUsage, "name one step, operation or steer"},
		{nil, exitUsage, "--session takes back all"},
		{[]string{"--session", "1"}, exitUsage, "with --session no step"},
	} {
		if code, _, errs := d.tandem("", append([]string{"revert"}, test.args...)...); code != test.code || !strings.Contains(errs, test.says) {
			t.Errorf("revert %q: exit code %d, %s", test.args, code, errs)
		}
	}
}

func TestWhatARevertNames(t *testing.T) {
	s := protocol.Session{ID: "s", Plan: &protocol.Plan{Steps: []protocol.Step{{ID: "gone", Status: protocol.StepDropped}, {ID: "read"}, {ID: "t2"}}}}
	for what, want := range map[string]protocol.RevertParams{
		"1":         {StepID: "read"},
		"read":      {StepID: "read"},
		"gone":      {StepID: "gone"},
		"t2":        {StepID: "t2"},
		"t1":        {SteerID: "t1"},
		"op12":      {OperationID: "op0000012"},
		"op0000012": {OperationID: "op0000012"},
		"earlier":   {StepID: "earlier"},
	} {
		want.SessionID = "s"
		if got := named(s, what); got != want {
			t.Errorf("%s names %+v, want %+v", what, got, want)
		}
	}
}

// All of a session is shown before it is taken back; a conflict stands there with both sides.
func TestRevertOfASessionShowsBothSides(t *testing.T) {
	d := newDesk(t, "greet.txtar")
	if code, _, errs := d.tandem("", "run", "Greet the world."); code != exitDone {
		t.Fatalf("exit code %d, %s", code, errs)
	}
	_, out, _ := d.tandem("", "revert", "--session", "--dry-run")
	contains(t, out, "This would be taken back", "hello.txt", "as it was before")
	mine := filepath.Join(d.dir, "hello.txt")
	if err := os.WriteFile(mine, []byte("hello moon\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, out, _ = d.tandem("", "revert", "--session")
	contains(t, out, "stays as it is", "as it stands, from line 1:", "| hello moon", "as the revert would have it:", "| hello\n")
	if b, err := os.ReadFile(mine); err != nil || string(b) != "hello moon\n" {
		t.Errorf("the file is %q, %v", b, err)
	}
}
