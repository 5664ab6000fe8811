package server

import (
	"strings"
	"testing"
	"testing/synctest"

	"tandem/protocol"
)

// A model that was taught apply_patch calls it though no such tool was told to it. The patch becomes
// one operation on several files, which can be taken back as one.
func TestAPatchIsAnEdit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a.txt": "a\r\n", "gone.txt": "g\n"})
		h.model.will(work("apply_patch", `{"input":"*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+A\n*** Add File: sub/new.txt\n+n\n*** Delete File: gone.txt\n*** End Patch"}`,
			"apply_patch", `{"input":"*** Begin Patch\n*** Update File: a.txt\n@@\n-A\n+B\n*** Update File: nope.txt\n@@\n-x\n+y\n*** End Patch"}`), says("Done."))
		p := h.client()
		id := p.start(params{}).ID
		p.untilHas(protocol.NoteModeChanged, "waiting")
		op := p.reachesFromStart("a.txt, sub/new.txt, gone.txt", protocol.OpDone)
		if op.Tool != "edit_file" || op.Effect != protocol.EffectWrite || len(op.Files) != 3 {
			t.Errorf("it is shown as %+v", op)
		}
		if h.disk("a.txt") != "A\r\n" || h.disk("sub/new.txt") != "n\n" {
			t.Errorf("a.txt is %q, new.txt %q", h.disk("a.txt"), h.disk("sub/new.txt"))
		}
		if q := h.model.question(1); !strings.Contains(q, "nothing of the patch was applied: there is no nope.txt") || !strings.Contains(q, "Wrote sub/new.txt, Deleted gone.txt") {
			t.Errorf("the agent is told\n%s", q)
		}
		strictly(t, h.model.asked())
		var r protocol.RevertResult
		p.ok(protocol.MethodRevert, at(id, "operationId", op.ID), &r)
		if got := h.shown(r); got != "a.txt restored, gone.txt created, sub/new.txt deleted" || h.disk("a.txt") != "a\r\n" || h.disk("gone.txt") != "g\n" {
			t.Errorf("%s; a.txt is %q", got, h.disk("a.txt"))
		}
	})
}

// A patch does not slip past what keeps files from the agent: each file that it names is looked at
// before any of it is made.
func TestAPatchTrips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse(t, map[string]string{"a.txt": "a\n", "migrations/1.sql": "s\n",
			".tandem/config.yaml": `tripwires: [{name: stay-out, paths: {forbid: ["migrations/**"]}}]`})
		h.model.will(work("apply_patch", `{"input":"*** Begin Patch\n*** Update File: a.txt\n@@\n-a\n+A\n*** Update File: migrations/1.sql\n@@\n-s\n+S\n*** End Patch"}`))
		p := h.client()
		p.start(params{})
		p.untilHas(protocol.NoteModeChanged, "stopped by stay-out")
		if h.disk("a.txt") != "a\n" || h.disk("migrations/1.sql") != "s\n" {
			t.Errorf("a.txt is %q, 1.sql %q", h.disk("a.txt"), h.disk("migrations/1.sql"))
		}
	})
}
