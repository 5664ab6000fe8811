package tripwire

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"tandem/protocol"
)

// mostFacts bounds the facts of one finding.
const mostFacts = 20

// Condition is a compiled stop condition. It never changes and may be used from any goroutine.
type Condition struct {
	spec Spec
	kind kind
}

// kind is what the kinds of conditions have in common.
type kind interface {
	files() []string
	touched(Operation) bool
	check(*look) verdict
}

// verdict is what a kind says. Expected and observed are never empty.
type verdict struct {
	ok, pending        bool
	expected, observed string
	evidence           pile // what is wrong; the first sums up
}

// pile is evidence as it is found: the first of it is kept, the rest counted.
type pile struct {
	list []evidence
	more int
}

func (p *pile) add(find func() evidence) {
	if len(p.list) == mostFacts {
		p.more++
		return
	}
	p.list = append(p.list, find())
}

// facts is the evidence, of which the last says how much is left out.
func (p pile) facts() []evidence {
	if p.more == 0 {
		return p.list
	}
	return append(slices.Clip(p.list[:mostFacts-1]), evidence{text: fmt.Sprintf("and %d more of the same kind", p.more+1)})
}

// summary is the first of what was observed, and how much more there is.
func (p pile) summary() string {
	more := len(p.list) + p.more - 1
	if more == 0 {
		return p.list[0].observed
	}
	return fmt.Sprintf("%s, and %d more", shown(p.list[0].observed), more)
}

func single(e evidence) pile { return pile{list: []evidence{e}} }

// evidence is one thing that is wrong. Expected and observed are the verdict's where they are empty.
type evidence struct {
	text, expected, observed string
	at                       place
}

// Finding is what the evaluation of one condition came to.
type Finding struct {
	Tripwire string `json:"tripwire"`
	// Scenario is the one that the condition names itself.
	Scenario string `json:"scenario,omitempty"`
	OK       bool   `json:"ok"`
	// Pending says that it is OK because what it is about is still to be produced.
	Pending  bool   `json:"pending,omitempty"`
	Expected string `json:"expected"`
	Observed string `json:"observed"`
	// Facts are the evidence, at least one and at most 20, when it is not OK.
	Facts []protocol.Fact `json:"facts,omitempty"`
}

// Check is the finding as a run of a scenario shows it.
func (f Finding) Check() protocol.Check {
	return protocol.Check{Tripwire: f.Tripwire, OK: f.OK, Expected: f.Expected, Observed: f.Observed}
}

// Compile makes conditions of what a developer wrote. Its error is a *SpecError whose key begins
// with the index, as in "[2].range.min"; the name of the condition is in the text.
func Compile(specs []Spec) ([]Condition, error) {
	var out []Condition
	names := map[string]bool{}
	for i, s := range specs {
		c, err := s.Compile()
		if err == nil && names[s.Name] {
			err = wrong("name", "there are two tripwires with the name %q; give each its own", s.Name)
		}
		if err != nil {
			return nil, below(fmt.Sprintf("[%d]", i), err)
		}
		names[s.Name] = true
		out = append(out, c)
	}
	return out, nil
}

// Compile makes the condition. Its error is a *SpecError.
func (s Spec) Compile() (Condition, error) {
	if strings.TrimSpace(s.Name) == "" {
		return Condition{}, wrong("name", "a name is wanted; it is shown when the condition trips")
	}
	key, part, err := s.one()
	if err != nil {
		return Condition{}, err
	}
	k, err := part.compile()
	if err != nil {
		return Condition{}, below(key, err)
	}
	return Condition{s, k}, nil
}

// compiler is the written form of one kind.
type compiler interface{ compile() (kind, error) }

// Kinds are the keys of the kinds, in the order of their description.
var Kinds = []string{"schema", "require", "command", "range", "count", "equal", "paths", "unchanged", "budget"}

// one is the one kind that is set.
func (s Spec) one() (key string, part compiler, err error) {
	var set []string
	add := func(is bool, name string, c compiler) {
		if is {
			set, key, part = append(set, name), name, c
		}
	}
	add(s.Schema != nil, "schema", s.Schema)
	add(s.Require != nil, "require", s.Require)
	add(s.Command != nil, "command", s.Command)
	add(s.Range != nil, "range", s.Range)
	add(s.Count != nil, "count", s.Count)
	add(s.Equal != nil, "equal", s.Equal)
	add(s.Paths != nil, "paths", s.Paths)
	add(s.Unchanged != nil, "unchanged", s.Unchanged)
	add(s.Budget != nil, "budget", s.Budget)
	switch len(set) {
	case 1:
		return key, part, nil
	case 0:
		return "", nil, wrong("", "the tripwire %q has no kind; give it exactly one of %s", s.Name, strings.Join(Kinds, ", "))
	}
	return "", nil, wrong("", "the tripwire %q has the kinds %s; give it exactly one", s.Name, strings.Join(set, ", "))
}

// Name is the condition's name.
func (c Condition) Name() string { return c.spec.Name }

// Scenario is the scenario that the condition names itself; "" when it names none.
func (c Condition) Scenario() string { return c.spec.Scenario }

// Spec is the condition as it was written.
func (c Condition) Spec() Spec { return c.spec }

// Budget is the condition's budget, which the core evaluates; nil when it is of another kind.
func (c Condition) Budget() *Budget { return c.spec.Budget }

// Files are the files that the condition reads, sorted: paths in the workspace, or absolute ones of
// databases outside. Those of a command are not known.
func (c Condition) Files() []string { return tidy(c.kind.files()) }

// Files are those of several conditions, each once.
func Files(conditions []Condition) []string {
	var all []string
	for _, c := range conditions {
		all = append(all, c.kind.files()...)
	}
	return tidy(all)
}

func tidy(files []string) []string {
	slices.Sort(files)
	return slices.Compact(files)
}

// Concerns says whether the condition reads a file that one of the globs picks, as those of a
// scenario's inputs and outputs.
func (c Condition) Concerns(globs []string) bool {
	return slices.ContainsFunc(c.kind.files(), func(f string) bool { return picked(globs, f) })
}

// Touches says whether an operation could have changed what the condition watches.
func (c Condition) Touches(op Operation) bool { return c.kind.touched(op) }

// Check evaluates the condition after an operation, whether that touches it or not.
func (c Condition) Check(ctx context.Context, env Env, op Operation) Finding {
	return c.found(&look{ctx: ctx, env: env, op: op})
}

// After evaluates, in their order, the conditions that an operation could touch. A file that
// several of them read is read once.
func After(ctx context.Context, conditions []Condition, env Env, op Operation) []Finding {
	l := &look{ctx: ctx, env: env, op: op}
	var out []Finding
	for _, c := range conditions {
		if c.Touches(op) {
			out = append(out, c.found(l))
		}
	}
	return out
}

// Before finds the conditions that forbid what an operation is about to write.
func Before(conditions []Condition, op Operation) []Finding {
	var out []Finding
	for _, c := range conditions {
		if p, ok := c.kind.(forbidden); ok && p.touched(op) {
			out = append(out, c.finding(p.before(op)))
		}
	}
	return out
}

// Tripped are the findings that are not OK.
func Tripped(findings []Finding) []Finding {
	return slices.DeleteFunc(slices.Clone(findings), func(f Finding) bool { return f.OK })
}

func (c Condition) found(l *look) Finding { return c.finding(c.kind.check(l)) }

func (c Condition) finding(v verdict) Finding {
	f := Finding{Tripwire: c.spec.Name, Scenario: c.spec.Scenario, OK: v.ok, Pending: v.pending, Expected: shown(v.expected), Observed: shown(v.observed)}
	if v.ok {
		return f
	}
	for _, e := range v.evidence.facts() {
		f.Facts = append(f.Facts, c.fact(v, e))
	}
	return f
}

func (c Condition) fact(v verdict, e evidence) protocol.Fact {
	if e.expected == "" {
		e.expected = v.expected
	}
	if e.observed == "" {
		e.observed = v.observed
	}
	return protocol.Fact{Text: e.text, Source: &protocol.FactSource{URI: e.at.uri, Range: e.at.rng, Tripwire: c.spec.Name,
		Expected: shown(e.expected), Observed: shown(e.observed)}}
}

// mostShown bounds a value that is shown, in bytes.
const mostShown = 500

// shown is a value as it is shown: never empty, on one line where it is short, and bounded.
func shown(text string) string {
	if text == "" {
		return `""`
	}
	if len(text) <= mostShown {
		return text
	}
	return strings.ToValidUTF8(text[:mostShown], "") + " … (cut)"
}

// unable is the verdict on what cannot be evaluated: it has tripped, with the reason as its fact.
func unable(expected string, err error) verdict {
	text := "it cannot be evaluated: " + err.Error()
	return verdict{expected: expected, observed: text, evidence: single(evidence{text: text, at: placeOf(err)})}
}
