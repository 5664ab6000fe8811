package server

import (
	"bufio"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// report is a public report of a fault in a coding agent or editor, by its id in the corpus. It
// is held by tests, or there is a line why it cannot happen here, or cannot happen yet. A test is
// named as package.Test, or package.Test/part: part is a file of testdata that it plays, or a row
// of its table.
type report struct {
	id, theme, about string
	held             []string
	cannot, notYet   string
}

// reports are those of the themes a (steer), b (commands), e (crash) and g (editor and wire). Those of
// f (streams and model servers), h (truth and stops) and j (wishes) stand beside their tests.
var reports = []report{
	{id: "B001", theme: "a", about: "an interrupted call has no result, and every later request is refused",
		held: []string{"server.TestReportSteerIntoACommand", "agent.TestScripts/steer_while_running", "agent.TestAnyOrder"}},
	{id: "B002", theme: "a", about: "of several calls at once some are interrupted, and a resume does not mend it",
		held: []string{"agent.TestScripts/report_batch_then_crash", "agent.TestAnyCut", "agent/session.TestCrashAfterAnyRecord"}},
	{id: "B003", theme: "a", about: "a result stays whose call was removed",
		held: []string{"agent/session.TestReportOutcomeAndSteerAtOnce", "agent.TestAnyOrder"}},
	{id: "B004", theme: "a", about: "a call that was cancelled while it streamed makes servers refuse",
		held: []string{"server.TestReportScenarios/half_a_call"}},
	{id: "B005", theme: "a", about: "half calls and empty answers are sent again",
		held: []string{"server.TestReportScenarios/half_a_call", "agent/model.TestCorpusCut"}},
	{id: "B006", theme: "a", about: "after a refusal the system's message is not the first",
		held: []string{"server.TestReportRefusedWithWords", "agent.TestAnyOrder", "agent.TestScripts/pause_reason"}},
	{id: "B008", theme: "a", about: "an interrupted effect is done again",
		held: []string{"server.TestReportSteerIntoACommand", "agent/session.TestReportedJobIsNotStartedAgain"}},
	{id: "B009", theme: "a", about: "what was printed before an interrupt is kept from the model",
		held: []string{"agent.TestScripts/report_output_of_what_is_ended", "agent.TestScripts/report_output_of_what_is_lost", "server.TestReportSteerIntoACommand"}},
	{id: "B010", theme: "a", about: "after an interrupt the model starts from nothing",
		held: []string{"server.TestReportSteerIntoACommand", "agent.TestScripts/report_chain_of_writes", "agent.TestAnyOrder"}},
	{id: "B011", theme: "a", about: "a refusal with words removes what was proposed",
		held: []string{"server.TestReportRefusedWithWords", "server.TestScenarios/veto_window"}},
	{id: "B013", theme: "a", about: "a correction in a chain of calls is ignored until the chain ends",
		held: []string{"agent.TestScripts/report_chain_of_writes", "agent.TestScripts/steer_while_running"}},
	{id: "B014", theme: "a", about: "a message shows as sent that the model never got",
		held: []string{"server.TestReportReceivedThenHeard", "server.TestScenarios/rate_limit"}},
	{id: "B017", theme: "a", about: "an accepted message leaves the queue undelivered, and nobody is told",
		held: []string{"agent.TestScripts/report_unheard_at_the_end", "agent/session.TestReportNoWordIsDropped", "agent/session.TestACrowd"}},
	{id: "B020", theme: "a", about: "a steer delivers the message that was queued before it",
		held: []string{"server.TestReportReceivedThenHeard", "server.TestScenarios/steers_in_a_row", "agent.TestScripts/steer_later"}},
	{id: "B023", theme: "a", about: "a side request replaces the task",
		held: []string{"agent.TestScripts/report_side_request"}},
	{id: "B024", theme: "a", about: "a steer waits until a slow command has ended",
		held: []string{"server.TestSteerEndsTheCommandInItsScope", "server.TestSteerLetsTheCommandRunOn"}},
	{id: "B027", theme: "a", about: "a cancelled turn ends twice, the second time within the next",
		held: []string{"agent/session.TestCancelledJobIsWaitedFor", "agent.TestAnyOrder"}},
	{id: "B028", theme: "a", about: "a late event of the last run ends the new turn with an empty answer",
		held: []string{"agent/session.TestLateAnswerIsDropped", "agent/session.TestWordsAfterTheCutAreDropped", "agent.TestScripts/steer_while_answering"}},
	{id: "B029", theme: "a", about: "a message aborts a running compaction",
		cannot: "a compaction asks no model and takes no time: the brief is made from the state and stands in the record of the decision that needs it, so nothing can come between; agent.TestScripts/compact shows it"},
	{id: "B030", theme: "a", about: "what the system skipped is laid at the user's door",
		held:   []string{"agent/session.TestReportWhoHasStoppedIt", "agent.TestScripts/pause_by_agent", "agent.TestScripts/crash"},
		notYet: "the name of a stop condition in the result of what it skipped: that names the pause, and the word on the pause names the condition (agent.TestScripts/stop_condition)"},

	{id: "B033", theme: "b", about: "a process substitution keeps the pipe, and the call never ends",
		held: []string{"agent/command.TestEnds/process substitution", "agent/command.TestThePipeHeldFromOutside"}},
	{id: "B035", theme: "b", about: "a server that a script started outlives the cancel",
		held: []string{"agent/command.TestStop", "agent/command.TestLeftBehind/in the background"}},
	{id: "B037", theme: "b", about: "the daemon is interrupted and the command lives on",
		held: []string{"cmd/tandem.TestReportSignalsEndTheDaemonAndItsCommands", "agent/command.TestTheDeathOfTheDaemonEndsTheTree"}},
	{id: "B038", theme: "b", about: "stopped searches run on, each on a whole core",
		held: []string{"agent/command.TestStop", "agent/command.TestLeftBehind/never sleeps", "agent/session.TestCancelledJobIsWaitedFor"}},
	{id: "B039", theme: "b", about: "kill %1 does nothing, and jobs leak",
		held: []string{"agent/command.TestLeftBehind/job control that is off"}},
	{id: "B042", theme: "b", about: "a command reads the stdin that is the editor's channel",
		held: []string{"agent/command.TestEnds/stdin is at its end", "agent/command.TestDescriptorsOfTheDaemonStayWithIt", "agent/session.TestCommandOutcomes"}},
	{id: "B043", theme: "b", about: "a command asks for a login and blocks",
		held: []string{"agent/command.TestReportCloneThatWantsALogin", "agent/command.TestLoginPromptsFailQuickly", "agent/command.TestEnds/no terminal"}},
	{id: "B045", theme: "b", about: "the call waits for a child in the background",
		held: []string{"agent/command.TestLeftBehind/in the background"}},
	{id: "B046", theme: "b", about: "a server that keeps writing blocks the call",
		held: []string{"agent/command.TestReportAServerInTheBackgroundLetsGo", "agent/command.TestLeftBehind/keeps writing"}},
	{id: "B048", theme: "b", about: "the time limit is no bound, and the message lies about it",
		held: []string{"agent/command.TestTimeLimit"}},
	{id: "B049", theme: "b", about: "a command that its own timeout has killed is taken to run on",
		held: []string{"agent/command.TestEnds/its own time limit"}},
	{id: "B050", theme: "b", about: "millions of lines of output end the agent",
		held: []string{"agent/command.TestReportOutputDoesNotGrowTheDaemon/text", "agent/command.TestMuchOutput"}},
	{id: "B051", theme: "b", about: "one of two copies of the output is not bounded",
		held: []string{"agent/command.TestReportOutputDoesNotGrowTheDaemon/noise", "agent/command.TestSaidIsBoundedInSize", "agent/command.TestExcerpt"}},
	{id: "B053", theme: "b", about: "terminal codes eat the context",
		held: []string{"agent/command.TestReportTerminalCodes", "agent/command.TestProgressOfManyStepsIsSmall", "agent/command.TestClean"}},
	{id: "B054", theme: "b", about: "pagers wait for keys, and bytes that are no text break the wire",
		held: []string{"agent/command.TestReportPagersAndBytes", "agent/command.TestBinaryOutputIsNamedNotShown", "agent/command.TestEnvironment"}},
	{id: "B055", theme: "b", about: "the output of every command is kept in memory",
		held: []string{"agent/command.TestReportOutputDoesNotGrowTheDaemon/many", "agent/command.TestSpool"}},

	{id: "B108", theme: "e", about: "a power loss leaves a bad line, and the session cannot be opened",
		held: []string{"agent/journal.TestTornAtEveryByte", "agent/session.TestCrashAfterAnyRecord"}},
	{id: "B111", theme: "e", about: "what stands behind a bad line is lost without a word",
		held: []string{"agent/journal.TestEveryFlippedBitIsNoticed", "agent/session.TestDamagedRecordInTheMiddle", "agent.TestAnyGap", "server.TestReportDamagedSessionsAreListed"}},
	{id: "B112", theme: "e", about: "a torn record is glued to the next",
		held: []string{"agent/journal.TestTornAtEveryByte", "agent/journal.TestGluedRecords"}},
	{id: "B113", theme: "e", about: "half a record, then the whole: the session is not listed any more",
		held: []string{"agent/session.TestReportAHalfWrittenRecord", "server.TestReportDamagedSessionsAreListed", "agent/journal.TestAFullDiskChangesNothing"}},
	{id: "B114", theme: "e", about: "U+2028 in a message, or a long log, and the session cannot be loaded",
		held: []string{"agent/session.TestReportSeparatorsInWords", "agent/session.TestReportALongJournal", "agent/journal.TestARecordLargerThanTheBuffer"}},
	{id: "B115", theme: "e", about: "a full disk kills the process",
		held: []string{"server.TestReportFullDisk", "agent/session.TestFullDiskKeepsOutcomes", "agent/session.TestFullDiskRefusesRequests"}},
	{id: "B116", theme: "e", about: "with a full disk the program hangs at its start",
		held: []string{"server.TestReportFullDisk"}},
	{id: "B118", theme: "e", about: "processes rewrite one configuration file and lose each other's keys",
		cannot: "Tandem reads its configuration and never writes it; what processes could both write, a session's journal, is locked by the one that runs it (agent/journal.TestOneProcessAtATime, server.TestSessionOfAnotherProcess)"},
	{id: "B119", theme: "e", about: "two writers share a temporary file and publish each other's half",
		held: []string{"agent/workspace.TestReportWritersPublishWholeFiles", "agent/workspace.TestSideBySide"}},
	{id: "B120", theme: "e", about: "two sessions in one process mix up their results",
		held: []string{"server.TestReportTwoSessionsStayApart"}},
	{id: "B121", theme: "e", about: "after a crash what was in flight is run again",
		held: []string{"agent/session.TestCrashWhileACommandRuns", "agent.TestScripts/crash", "agent.TestAnyCut"}},
	{id: "B122", theme: "e", about: "a command in the background keeps the session from being resumed",
		held: []string{"agent.TestScripts/crash", "agent.TestScripts/report_batch_then_crash"}},
	{id: "B125", theme: "e", about: "a resume in a new process does the finished steps again",
		held: []string{"server.TestReportDoneStepsStayDone"}},
	{id: "B126", theme: "e", about: "after a usage limit the context is built anew",
		held: []string{"server.TestReportDoneStepsStayDone", "agent.TestScripts/model_fails_for_long"}},

	{id: "B167", theme: "g", about: "a server that always picks utf-8 is refused",
		held: []string{"server.TestReportPositionEncodings"}},
	{id: "B168", theme: "g", about: "one half of the server counts bytes, the other UTF-16",
		held: []string{"server.TestUnsavedTextIsReadAndEdited", "server.TestPlacesInEveryEncoding", "server/document.TestRoundTrip"}},
	{id: "B169", theme: "g", about: "of two quick changes the second is applied to the old text",
		held: []string{"server/rpc.TestEditsComeFirst", "server/document.TestChanged"}},
	{id: "B170", theme: "g", about: "an edit without a version hits text that has changed",
		held: []string{"server.TestUnsavedTextIsReadAndEdited", "server.TestEditThatTheEditorDoesNotMake", "agent/workspace.TestWholeDocumentChangedSinceRead"}},
	{id: "B174", theme: "g", about: "any Content-Length is believed",
		held: []string{"server/rpc.TestFraming/insane length", "server/rpc.TestFraming/endless line", "server/rpc.TestFraming/lower case", "server/rpc.TestPromise", "server/rpc.TestPieces", "server/daemon.TestReadHello"}},
	{id: "B175", theme: "g", about: "once out of alignment every later message fails",
		held: []string{"server/rpc.TestFraming/too long", "server/rpc.TestPieces", "server/rpc.TestLargeEcho"}},
	{id: "B176", theme: "g", about: "a message without a header hangs",
		held: []string{"cmd/tandem.TestReportAMessageWithoutAHeader", "server/rpc.TestFraming/no header", "server/daemon.TestReadHello/no header"}},
	{id: "B179", theme: "g", about: "spellings of one path are several documents",
		held: []string{"server.TestReportSpellingsOfADocument", "server.TestReportSpellingsOfAWorkspace", "server.TestWorkspaceWithAnUnusualName", "server/daemon.TestReadHello/drive"}},
	{id: "B182", theme: "g", about: "a path of another machine ends a view",
		held: []string{"server.TestReportAWorkspaceThatIsGone", "server/daemon.TestReadHello/remote"}},
	{id: "B183", theme: "g", about: "a code action does nothing, as the client cannot resolve it",
		held: []string{"server.TestWhatEditorsCanDraw"}},
	{id: "B186", theme: "g", about: "each side waits for the other to read",
		held: []string{"server/rpc.TestReadingNeverWaits", "server/rpc.TestSlowReader", "server/rpc.TestStuckLane"}},
}

// themes are those that are gone through; everyReport is all of their reports.
const themes = "abcdefghij"

func everyReport() []report {
	return slices.Concat(
		reports,
		reportsOfFiles,
		reportsOfUndo,
		reportsOfStreams,
		reportsOfTruth,
		reportsOfTrust,
		reportsOfWishes,
	)
}

// TestReports sees that each report has its answer, and that the tests it names are there.
func TestReports(t *testing.T) {
	known := map[string]bool{}
	tests := sources{}
	for _, r := range everyReport() {
		if known[r.id] || len(r.theme) != 1 || !strings.Contains(themes, r.theme) || r.about == "" {
			t.Errorf("%s: it stands there twice, or without its theme and fault", r.id)
		}
		known[r.id] = true
		if len(r.held) == 0 && r.cannot+r.notYet == "" || len(r.held) > 0 && r.cannot != "" {
			t.Errorf("%s: say which test holds it, or why it cannot happen", r.id)
		}
		for _, name := range r.held {
			if err := tests.has(name); err != nil {
				t.Errorf("%s: %s: %v", r.id, name, err)
			}
		}
		for _, word := range strings.FieldsFunc(r.cannot+" "+r.notYet, func(c rune) bool { return strings.ContainsRune(" ,;()", c) }) {
			if strings.Contains(word, ".Test") {
				if err := tests.has(word); err != nil {
					t.Errorf("%s: %s: %v", r.id, word, err)
				}
			}
		}
	}
}

// The names in the table are looked for, not believed.
func TestReportsWithoutATest(t *testing.T) {
	for _, name := range []string{"server.TestNothing", "agent.TestScripts/no_such_script", "nowhere.TestReports", "server/rpc.TestFraming/no such row", "server"} {
		if err := (sources{}).has(name); err == nil {
			t.Errorf("%s is there", name)
		}
	}
}

// sources are the tests of packages, by the package's folder and the test's name: each with the
// texts that stand in it.
type sources map[string]map[string][]string

// has says whether a test is there.
func (s sources) has(name string) error {
	whole, part, _ := strings.Cut(name, ".Test")
	if part == "" {
		return errors.New("it names no test")
	}
	test, part, _ := strings.Cut("Test"+part, "/")
	if s[whole] == nil {
		found, err := testsIn(filepath.Join("..", filepath.FromSlash(whole)))
		if err != nil {
			return err
		}
		s[whole] = found
	}
	texts, ok := s[whole][test]
	if !ok {
		return errors.New("there is no such test")
	}
	if part == "" {
		return nil
	}
	for _, text := range texts {
		if text == part || strings.HasPrefix(text, "testdata/") && isFile(filepath.Join("..", whole, strings.Replace(text, "*", part, 1))) {
			return nil
		}
	}
	return errors.New("the test has no such part")
}

func isFile(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// testsIn are the tests of a package with the texts in each.
func testsIn(dir string) (map[string][]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err == nil && len(paths) == 0 {
		err = &fs.PathError{Op: "look for tests in", Path: dir, Err: fs.ErrNotExist}
	}
	if err != nil {
		return nil, err
	}
	found := map[string][]string{}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") {
				found[f.Name.Name] = append(found[f.Name.Name], textsIn(f)...)
			}
		}
	}
	return found, nil
}

func textsIn(f *ast.FuncDecl) []string {
	texts := []string{}
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				texts = append(texts, text)
			}
		}
		return true
	})
	return texts
}

// TestReportsOfTheCorpus holds the table against the corpus: no report of its themes is missing,
// none is made up.
func TestReportsOfTheCorpus(t *testing.T) {
	dir := os.Getenv("TANDEM_CORPUS")
	if dir == "" {
		t.Skip("TANDEM_CORPUS does not name the folder of the corpus")
	}
	file, err := os.Open(filepath.Join(dir, "bugs.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	missing := map[string]string{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var r struct{ ID, Theme string }
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(themes, r.Theme) {
			missing[r.ID] = r.Theme
		}
	}
	if len(missing) == 0 {
		t.Fatal("the corpus holds no report")
	}
	for _, r := range everyReport() {
		if missing[r.id] != r.theme {
			t.Errorf("%s: of theme %q in the corpus, of %q here", r.id, missing[r.id], r.theme)
		}
		delete(missing, r.id)
	}
	for id, theme := range missing {
		t.Errorf("%s, of theme %s, is not in the table", id, theme)
	}
}
