package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tandem/protocol"
)

// stopped is a desk whose session has stopped at a stop condition, with the agent's facts there.
func stopped(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t, "report.txtar")
	code, out, errs := d.tandem("", "run", "Make the report.\n\nIt has a row for each order.")
	if code != exitWaiting {
		t.Fatalf("exit code %d, %s%s", code, out, errs)
	}
	contains(t, out, "every-order", "One row is missing.", "Count all lines")
	return d
}

func TestZ(t *testing.T) {
	d := stopped(t)
	for _, args := range [][]string{{"status"}, {"checkin"}, {"ask", "Why?", "--at", "make.sh:1-2"}, {"watch"}, {"scenario"}, {"scenario", "report"}, {"scenario", "report", "--against", "snapshot"}, {"decide", "1"}, {"log","-f", "--since", "60"}, {"scenario"}, {"scenario", "--between", "p1.0", "r1"}, {"brief"}, {"resume"}, {"log", "-f","--since","80"}, {"log", "--markdown"}, {"log", "--revisions"}} {
		code, out, errs := d.tandem("", args...)
		t.Logf("$ %v → %d\n%s%s", args, code, out, errs)
	}
	_, _, _, _, _ = json.Marshal, os.ReadFile, filepath.Join, strings.Cut, protocol.Now
}
