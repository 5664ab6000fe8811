package server

import (
	"strings"
	"testing"

	"tandem/protocol"
)

// reportsOfFiles are the reports of theme c: files.
var reportsOfFiles = []report{
	{id: "B057", theme: "c", about: "the reader shows line feeds, the editor compares with the file's bytes",
		held: []string{"agent/workspace.TestReportEdits/B057", "agent/workspace.TestCorpus"}},
	{id: "B058", theme: "c", about: "an edit turns the line ends of a file into others",
		held: []string{"agent/workspace.TestReportEdits/B058", "agent/workspace.TestRealDiffs"}},
	{id: "B060", theme: "c", about: "what is shown of an edit comes from another matcher than what is written",
		held: []string{"agent/workspace.TestReportEdits/B060"}},
	{id: "B063", theme: "c", about: "a write of the whole file drops its byte order mark",
		held: []string{"agent/workspace.TestReportEdits/B063"}},
	{id: "B064", theme: "c", about: "the byte order mark is shown as a first character",
		held: []string{"agent/workspace.TestReportEdits/B064"}},
	{id: "B065", theme: "c", about: "a byte that is no UTF-8 is replaced though its line was not edited",
		held: []string{"agent/workspace.TestReportEdits/B065"}},
	{id: "B066", theme: "c", about: "a file in Latin-1 is written back as UTF-8",
		held: []string{"agent/workspace.TestReportEdits/B066"}},
	{id: "B067", theme: "c", about: "an edit in ASCII damages 300 other characters, and the diff hides it",
		held: []string{"agent/workspace.TestReportEdits/B067"}},
	{id: "B068", theme: "c", about: "a match that forgives blanks takes the first of several places",
		held: []string{"agent/workspace.TestReportEdits/B068", "agent/workspace.TestReportEdits/B068 as a patch", "agent/workspace.TestSpoiltDiffs"}},
	{id: "B069", theme: "c", about: "a lone brace is replaced where it stands first",
		held: []string{"agent/workspace.TestReportEdits/B069", "agent/workspace.TestPlacesThatOverlap"}},
	{id: "B070", theme: "c", about: "a wrong line number decides between two places",
		held: []string{"agent/workspace.TestReportEdits/B070", "agent/workspace.TestReportEdits/B070 without context", "agent/workspace.TestSpoiltDiffs"}},
	{id: "B072", theme: "c", about: "lines that are to be added behind another land at the end of the file",
		held: []string{"agent/workspace.TestReportEdits/B072", "agent/workspace.TestPatchRefused"}},
	{id: "B074", theme: "c", about: "a patch deletes the first file, then fails at the second",
		held: []string{"agent/workspace.TestReportEdits/B074", "agent/workspace.TestReportPatchInAFolderThatTakesNoChange", "agent/workspace.TestPatchThatFailsLate", "server.TestAPatchIsAnEdit"}},
	{id: "B075", theme: "c", about: "what is made or moved overwrites what is there, and a part that failed is passed over",
		held: []string{"agent/workspace.TestReportEdits/B075 made", "agent/workspace.TestReportEdits/B075 moved", "agent/workspace.TestReportEdits/B075 one of several", "agent/workspace.TestNoNameIsLostInARace"}},
	{id: "B076", theme: "c", about: "changes that were made in another program are overwritten",
		held: []string{"agent/workspace.TestReportWrittenByAnother", "agent/workspace.TestEditLosesARace"}},
	{id: "B077", theme: "c", about: "a diff on a buffer with unsaved text resets the connection",
		held: []string{"server.TestUnsavedTextIsReadAndEdited", "server.TestEditThatTheEditorDoesNotMake"}},
	{id: "B078", theme: "c", about: "after a command changed a file the old text of the buffer is served",
		held: []string{"server.TestReportBufferAndDiskApart", "server.TestFileThatChangesUnderItsDocument"}},
	{id: "B081", theme: "c", about: "edits that were computed for an old text are applied to a newer one",
		held: []string{"agent/workspace.TestWholeDocumentChangedSinceRead", "server.TestTypingWhileAnEditIsMade", "server.TestEditsAtRandom"}},
	{id: "B082", theme: "c", about: "an edit takes the bit of a program away",
		held: []string{"agent/workspace.TestEditKeepsModeAndLinks", "agent/workspace.TestReportModeOnTheWay", "agent/workspace.TestEditKeepsTheOwner"}},
	{id: "B084", theme: "c", about: "a kill in the middle of a write leaves half a file",
		held: []string{"agent/workspace.TestReportKilledWhileWriting", "agent/workspace.TestSweep"}},
	{id: "B085", theme: "c", about: "a final newline is forgotten, or added",
		held: []string{"agent/workspace.TestReportEdits/B085", "agent/workspace.TestReportEdits/B085 made"}},
	{id: "B086", theme: "c", about: "tabs are shown as blanks, so that no edit fits",
		held: []string{"agent/workspace.TestReportEdits/B086", "agent/workspace.TestRead"}},
	{id: "B088", theme: "c", about: "a limit in lines does not bound a file of one line",
		held: []string{"agent/workspace.TestReportOneLineOfFiveMegabytes", "agent/workspace.TestReadOfOneLongLine"}},
	{id: "B090", theme: "c", about: "what is formatted as it is saved does not fit the agent's own write",
		held: []string{"agent/workspace.TestReportFormatOnSave", "agent/workspace.TestEditorThatSavesByItself", "server.TestEditThatComesLate"}},
}

// A command changes a file that is open. Where its document was saved, the file is the truer copy;
// where it had unsaved text, the agent is told of the conflict, with both texts, however often the
// developer types on.
func TestReportBufferAndDiskApart(t *testing.T) {
	needsShell(t)
	h := newHouse(t, map[string]string{"clean": "old\n", "dirty": "old\n", "typed": "old\n"})
	h.model.will(work(runs("for f in clean dirty typed; do echo new > $f; done; echo done > ran; until [ -e go ]; do sleep 0.02; done")...),
		reads("clean"), reads("dirty"), reads("typed"), says("Done."))
	e := h.edits("vim")
	for _, name := range []string{"clean", "dirty", "typed"} {
		e.opens(h.uri(name), "old\n")
	}
	e.types(h.uri("dirty"), "old", "mine")
	e.types(h.uri("typed"), "old", "mine")
	e.start(params{})
	for e.disk(h, "ran") != "done\n" {
		e.settles()
	}
	e.types(h.uri("typed"), "mine", "still mine")
	write(t, h.dir, map[string]string{"go": ""})
	e.untilHas(protocol.NoteModeChanged, "waiting")
	if q := h.model.last(2); !strings.Contains(q, `new\n`) || strings.Contains(q, "conflict") {
		t.Errorf("of the saved document the agent reads %s", q)
	}
	for i, text := range map[int]string{3: "mine", 4: "still mine"} {
		if q := h.model.last(i); !strings.Contains(q, "A conflict: the file on disk was changed too") || !strings.Contains(q, `-`+text+`\n`) || !strings.Contains(q, `+new`) {
			t.Errorf("of %q the agent reads %s", text, q)
		}
	}
}
