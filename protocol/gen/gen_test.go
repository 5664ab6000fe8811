package main

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	lsp "go.lsp.dev/protocol"
)

func TestTheGeneratedFilesAreThoseOfTheSource(t *testing.T) {
	files, err := generate("..")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("protocol/%s differs from the Go source at line %d: run go generate ./protocol", name, firstDifference(string(got), want))
		}
	}
}

// firstDifference counts lines from 1.
func firstDifference(a, b string) int {
	linesA, linesB := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(linesA), len(linesB)) {
		if linesA[i] != linesB[i] {
			return i + 1
		}
	}
	return min(len(linesA), len(linesB)) + 1
}

func TestGeneratingTwiceGivesTheSame(t *testing.T) {
	first, err := generate("..")
	if err != nil {
		t.Fatal(err)
	}
	second, err := generate("..")
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(first, second) {
		t.Error("the same source made two different references")
	}
}

func TestBorrowedShapesAreThoseOfLSP(t *testing.T) {
	for name, value := range map[string]any{"Position": lsp.Position{}, "Range": lsp.Range{}} {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]json.RawMessage
		if err := json.Unmarshal(text, &object); err != nil {
			t.Fatal(err)
		}
		var ours []string
		for _, f := range borrowed[name] {
			ours = append(ours, f.Name)
		}
		slices.Sort(ours)
		if theirs := slices.Sorted(maps.Keys(object)); !slices.Equal(ours, theirs) {
			t.Errorf("%s has the fields %v in LSP, and %v in borrowed", name, theirs, ours)
		}
	}
}

var (
	linked  = regexp.MustCompile(`\]\(#([^)]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

func TestEveryLinkOfTheReferenceLeadsToAHeading(t *testing.T) {
	files, err := generate("..")
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]int{}
	for _, m := range heading.FindAllStringSubmatch(files["README.md"], -1) {
		anchors[strings.ReplaceAll(strings.ToLower(m[1]), " ", "-")]++
	}
	links := linked.FindAllStringSubmatch(files["README.md"], -1)
	if len(links) < 100 {
		t.Errorf("the reference has only %d links", len(links))
	}
	for _, m := range links {
		if anchors[m[1]] != 1 {
			t.Errorf("the link #%s has %d headings to lead to", m[1], anchors[m[1]])
		}
	}
}

// small is a package with each form that the generator knows.
const small = `package small

import ("time"; "encoding/json"; lsp "go.lsp.dev/protocol")

const Version = 7

// Range is of LSP.
type Range = lsp.Range

// Position is of LSP.
type Position = lsp.Position

type List[T any] []T

// ErrorData is the data of an error.
type ErrorData struct { Kind ErrorKind ` + "`json:\"kind\"`" + ` }

// ErrorKind is a kind.
type ErrorKind string

const (
	// Broken means that it broke.
	Broken ErrorKind = "broken"
	CodeBroken = -32099
)

// MethodGo goes.
const MethodGo = "tandem/go" // GoParams, null

// NoteWent tells that it went.
const NoteWent = "tandem/went" // WentParams

// Base is in others.
type Base struct { ID string ` + "`json:\"id\"`" + ` }

// GoParams bears Each and every */ form.
type GoParams struct {
	Base
	// Each is a list; At is beside it.
	Each List[Base] ` + "`json:\"each\"`" + `
	Lists [][]int ` + "`json:\"lists,omitempty\"`" + `
	At *time.Time ` + "`json:\"at,omitempty\"`" + `
	Null *Base ` + "`json:\"null\"`" + `
	By map[string]bool ` + "`json:\"by\"`" + `
	Raw json.RawMessage ` + "`json:\"raw\"`" + `
	Half float64 ` + "`json:\"half\"`" + `
	Where Range ` + "`json:\"where\"`" + `
	Secret string ` + "`json:\"-\"`" + `
	private int
}

// Name is a word.
type Name string

// WentParams tells.
type WentParams struct { Name Name ` + "`json:\"name\"`" + ` }

// TandemOptions are a client's.
type TandemOptions struct { Trusted *bool ` + "`json:\"trusted,omitempty\"`" + ` }

// TandemOffer is the server's.
type TandemOffer struct { Version int ` + "`json:\"version\"`" + ` }

// Unborne is of Go alone.
type Unborne struct { A int ` + "`json:\"a\"`" + ` }
`

// generateFrom generates from one file of source.
func generateFrom(t *testing.T, source string) (map[string]string, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "small.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	return generate(dir)
}

func TestEachFormIsSpelledInEachLanguage(t *testing.T) {
	files, err := generateFrom(t, small)
	if err != nil {
		t.Fatal(err)
	}
	for name, lines := range map[string][]string{
		"protocol.gen.ts": {
			`export const version = 7;`, `  "tandem/go": { params: GoParams; result: null };`, `  "tandem/went": { params: WentParams };`,
			`  /** It broke. */`, `  broken: -32099,`, "/** GoParams bears `each` and every *\\/ form. */", `export interface GoParams extends Base {`,
			"  /** A list; `at` is beside it. */", `  each: Base[];`, `  lists?: number[][];`, `  at?: string;`, `  null: Base | null;`,
			`  by: Record<string, boolean>;`, `  raw: unknown;`, `  half: number;`, `  where: Range;`, `  start: Position;`, `  character: number;`,
			`export type Name = string;`, `  | "broken";`,
		},
		"protocol.gen.lua": {
			`---@field ["tandem/go"] { params: tandem.GoParams, result: nil } # Goes.`, `---@field ["tandem/went"] { params: tandem.WentParams } # Tells that it went.`,
			`---| -32099 # broken: It broke.`, `---@class (exact) tandem.GoParams: tandem.Base`, "---@field each tandem.Base[] # A list; `at` is beside it.",
			`---@field lists? integer[][]`, `---@field at? string`, `---@field null tandem.Base?`, `---@field by table<string, boolean>`,
			`---@field raw any`, `---@field half number`, `---@field where tandem.Range`, `---@alias tandem.Name string`, `---| "broken" # It broke.`,
		},
		"README.md": {
			"| `tandem/go` | [GoParams](#goparams) | `null` | Goes. |", "| -32099 | `broken` | It broke. |", "It has the fields of [Base](#base) too.",
			"| `each` | [Base](#base)[] |  | A list; `at` is beside it. |", "| `lists` | integer[][] | optional |  |", "| `at` | time | optional |  |",
			"| `null` | [Base](#base) or null |  |  |", "| `by` | object of boolean |  |  |", "On the wire: string.",
		},
	} {
		have := strings.Split(files[name], "\n")
		for _, line := range lines {
			if !slices.Contains(have, line) {
				t.Errorf("%s lacks the line %s", name, line)
			}
		}
		for _, word := range []string{"Unborne", "private", "secret", "Secret"} {
			if strings.Contains(files[name], word) {
				t.Errorf("%s tells %q, which the wire does not bear", name, word)
			}
		}
	}
}

func TestWhatCannotBeToldIsRefusedByName(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"a request without a result", "// GoParams, null", "// GoParams", "constant MethodGo"},
		{"a notification with a result", "// WentParams\n", "// WentParams, null\n", "constant NoteWent"},
		{"a method of neither kind", "MethodGo = ", "Goes = ", "constant Goes"},
		{"a method that says nothing", "// MethodGo goes.\n", "", "constant MethodGo"},
		{"a root that is nowhere", "type TandemOffer", "type Offer", "type TandemOffer"},
		{"params that are nowhere", "GoParams, null", "GoneParams, null", "type GoneParams"},
		{"a field of an unknown type", "Half float64", "Half *big.Float", "type big.Float"},
		{"a field with no shape", "Half float64", "Half chan int", "field half"},
		{"an error without a code", "CodeBroken", "CodeOther", "error kind Broken"},
		{"an error without a meaning", "	// Broken means that it broke.\n", "", "error kind Broken"},
		{"source that is not Go", "package small", "packet small", "small.go"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(small, c.old) {
				t.Fatalf("the small package has no %q to replace", c.old)
			}
			_, err := generateFrom(t, strings.Replace(small, c.old, c.new, 1))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got the error %v, want one that names %q", err, c.want)
			}
		})
	}
}

func TestWritePutsTheFilesBesideTheSource(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "small.go"), []byte(small), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := write(dir); err != nil {
		t.Fatal(err)
	}
	want, err := generate(dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != text {
			t.Errorf("%s was not written as generated: %v", name, err)
		}
	}
}
