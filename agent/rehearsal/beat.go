package rehearsal

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A beat is one answer of the model and what has to stand in the conversation for it.
type beat struct {
	name   string
	on     *cue        // it begins a chain
	back   bool        // with on: the chain goes back when it is over
	aside  string      // the tool that the request has to force, or "none"
	ifs    []condition // passed over unless all hold
	expect []condition // an error unless all hold
	fail   *failure    // in place of an answer
	parts  []part      // the answer, in order
	end    string      // finish_reason; empty is stop or tool_calls, as it is
}

// A cue is the message that leads to a chain.
type cue struct {
	steer     bool
	has       []string // any of them; none is any text
	words     string   // of the steer, where a recording heard it; empty elsewhere
	cancelled []int    // with words: the calls of the beat before that it kept from beginning, from 1
	running   []int    // with words: those that ran when it came
	during    []string // the arguments of those
}

// A condition is something that the conversation shows, or does not.
type condition struct {
	written string // as it stands in the script
	subject string // result, conversation or call
	tool    string // of a call; of a result it may be empty
	no      bool   // no call
	lacks   bool
	words   []string
}

// A failure is an answer that is none.
type failure struct {
	status int
	retry  time.Duration // Retry-After; 0 leaves it out
	body   string
}

type partKind int

const (
	delayPart partKind = iota
	thinkPart
	sayPart
	callPart
	cutPart
	holdPart
)

// A part is a piece of an answer.
type part struct {
	kind partKind
	wait time.Duration
	text string  // words, or the arguments of a call
	pace float64 // words a second; negative is the script's
	tool string
}

// calls are the tool calls of the beat, in order.
func (b beat) calls() []part {
	return slices.DeleteFunc(slices.Clone(b.parts), func(p part) bool { return p.kind != callPart })
}

// leaveOut takes calls out of the beat, by their numbers from 1.
func (b *beat) leaveOut(calls []int) {
	var left []part
	n, more := 0, false
	for _, p := range b.parts {
		if p.kind == callPart {
			if n++; slices.Contains(calls, n) {
				continue
			}
			more = true
		}
		left = append(left, p)
	}
	if !more {
		left, b.end = append(left, part{kind: holdPart}), ""
	}
	b.parts = left
}

// words is all that the beat says.
func (b beat) words() string {
	var all strings.Builder
	for _, p := range b.parts {
		if p.kind == sayPart {
			all.WriteString(p.text)
		}
	}
	return all.String()
}

// once tells the beats that leave no trace in a conversation: they are played one time only.
func (b beat) once() bool {
	return b.fail != nil || slices.ContainsFunc(b.parts, func(p part) bool { return p.kind == cutPart || p.kind == holdPart })
}

// finish is the finish_reason of the beat.
func (b beat) finish() string {
	switch {
	case b.end != "":
		return b.end
	case len(b.calls()) > 0:
		return "tool_calls"
	}
	return "stop"
}

// parser holds what the beats of one archive share.
type parser struct {
	files map[string]string // by their name in the archive
	used  []string          // those that a beat refers to
	last  string            // name of the beat before
}

// unused refuses a file below files/ that no beat refers to: it is a slip of the author.
func (p *parser) unused(s *Script, at []source) error {
	for name := range p.files {
		if strings.HasPrefix(name, "files/") && !slices.Contains(p.used, name) {
			return at[len(at)-1].fault(-1, "no beat refers to %s", name)
		}
	}
	return nil
}

// statement is a line at column 0 with what is indented below it.
type statement struct {
	line  int // in the beat, from 0
	word  string
	rest  string
	block string // without the indent, with its last newline
	begin int    // line of the block
}

var (
	beatName     = regexp.MustCompile(`^[0-9]{3,}-[a-z0-9-]+$`)
	finishReason = regexp.MustCompile(`^[a-z_]+$`)
)

// beat parses one file below beats/.
func (p *parser) beat(at source, name, text string) (beat, error) {
	b := beat{name: name}
	if !beatName.MatchString(name) {
		return b, at.fault(-1, "a beat is named by a number of three digits and lower-case words, like 010-plan")
	}
	all, err := statements(at, text)
	if err != nil {
		return b, err
	}
	for _, st := range all {
		if err := p.add(&b, at, st); err != nil {
			return b, err
		}
	}
	return b, b.sound(at)
}

// statements cuts a beat into statements.
func statements(at source, text string) ([]statement, error) {
	var all []statement
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		block, indented := strings.CutPrefix(line, "  ")
		switch {
		case indented && len(all) == 0:
			return nil, at.fault(i, "an indented line belongs to a statement; there is none above it")
		case indented, strings.TrimSpace(line) == "" && len(all) > 0:
			st := &all[len(all)-1]
			if st.block == "" && strings.TrimSpace(line) == "" {
				continue
			}
			if st.block == "" {
				st.begin = i
			}
			st.block += block + "\n"
		case strings.TrimSpace(line) == "", strings.HasPrefix(line, "#"):
		case line[0] == ' ' || line[0] == '\t':
			return nil, at.fault(i, "indent by two spaces")
		default:
			word, rest, _ := strings.Cut(line, " ")
			all = append(all, statement{line: i, word: word, rest: strings.TrimSpace(rest)})
		}
	}
	for i := range all {
		if all[i].block != "" {
			all[i].block = strings.TrimRight(all[i].block, "\n") + "\n"
		}
	}
	return all, nil
}

// add takes one statement into the beat.
func (p *parser) add(b *beat, at source, st statement) error {
	if st.block != "" && !slices.Contains([]string{"on", "think", "say", "call", "fail"}, st.word) {
		return at.fault(st.begin, "«%s» takes no indented text", st.word)
	}
	var err error
	switch st.word {
	case "on", "cancelled", "running", "back", "aside", "if", "expect":
		err = b.addCondition(st)
	case "delay", "think", "say", "call", "cut", "hold":
		var piece part
		piece, err = p.part(at, st)
		b.parts = append(b.parts, piece)
	case "fail":
		b.fail, err = parseFailure(st)
	case "end":
		if b.end = st.rest; !finishReason.MatchString(b.end) {
			err = errors.New("want a finish_reason, like «end length»")
		}
	default:
		return at.fault(st.line, "unknown word «%s»", st.word)
	}
	if err == nil || errors.As(err, new(*Error)) {
		return err
	}
	return at.fault(st.line, "%s: %v", st.word, err)
}

// addCondition takes a statement that says when the beat is played.
func (b *beat) addCondition(st statement) error {
	if len(b.parts) > 0 || b.fail != nil {
		return errors.New("stands before the answer")
	}
	switch st.word {
	case "on":
		if b.on != nil {
			return errors.New("a beat has one")
		}
		var err error
		b.on, err = heardCue(st)
		return err
	case "cancelled", "running":
		if b.on == nil || b.on.words == "" {
			return errors.New("stands behind «on steer» with the steer's words")
		}
		calls, err := numbers(st.rest)
		if st.word == "running" {
			b.on.running = calls
		} else {
			b.on.cancelled = calls
		}
		return err
	case "back":
		b.back = true
		return nothing(st.rest)
	case "aside":
		b.aside = st.rest
		if st.rest == "" || strings.Contains(st.rest, " ") {
			return errors.New("want the name of a tool, or none")
		}
		return nil
	}
	c, err := parseCondition(st.rest)
	if st.word == "if" {
		b.ifs = append(b.ifs, c)
	} else {
		b.expect = append(b.expect, c)
	}
	return err
}

// sound refuses what no single statement shows.
func (b beat) sound(at source) error {
	switch {
	case b.fail == nil && len(b.parts) == 0:
		return at.fault(-1, "the beat answers nothing: it needs say, think, call, cut, hold or fail")
	case b.fail != nil && (len(b.parts) > 0 || b.end != ""):
		return at.fault(-1, "«fail» is the whole answer")
	case b.aside != "" && b.on != nil:
		return at.fault(-1, "an aside is outside of the story and begins no chain")
	case b.back && b.on == nil:
		return at.fault(-1, "«back» stands in the first beat of a chain, with «on»")
	}
	for i, p := range b.parts {
		if (p.kind == cutPart || p.kind == holdPart) && (i < len(b.parts)-1 || b.end != "") {
			return at.fault(-1, "nothing can follow «cut» or «hold»")
		}
		if p.kind != callPart && i > 0 && b.parts[i-1].kind == callPart && (p.kind == sayPart || p.kind == thinkPart) {
			return at.fault(-1, "words come before calls")
		}
	}
	return nil
}

// heardCue reads «on» with the words below it that a recording heard.
func heardCue(st statement) (*cue, error) {
	if st.block == "" {
		return parseCue(st.rest)
	}
	words := strings.TrimSuffix(st.block, "\n")
	rest, quoted := cutWord(st.rest, "quoted")
	if rest != "steer" {
		return nil, errors.New("words below stand with «on steer» or «on steer quoted» alone")
	}
	if quoted {
		var err error
		if words, err = strconv.Unquote(words); err != nil {
			return nil, errors.New("the words below are not one text in double quotes")
		}
	}
	return &cue{steer: true, words: words}, nil
}

// numbers reads «1 3».
func numbers(rest string) ([]int, error) {
	var all []int
	for word := range strings.FieldsSeq(rest) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return nil, errors.New("want the numbers of calls, from 1")
		}
		all = append(all, n)
	}
	if all == nil {
		return nil, errors.New("want the numbers of calls, from 1")
	}
	return all, nil
}

// parseCue reads «steer», «steer has …» or «message has …».
func parseCue(rest string) (*cue, error) {
	what, rest, more := strings.Cut(rest, " ")
	if what != "steer" && what != "message" || what == "message" && !more {
		return nil, errors.New(`want «steer», «steer has "…"» or «message has "…"»`)
	}
	c := &cue{steer: what == "steer"}
	if !more {
		return c, nil
	}
	verb, rest, _ := strings.Cut(rest, " ")
	if verb != "has" {
		return nil, errors.New("want «has», got «" + verb + "»")
	}
	var err error
	c.has, err = quotedWords(rest)
	return c, err
}

// parseCondition reads what stands behind if and expect.
func parseCondition(written string) (condition, error) {
	c := condition{written: written}
	rest, no := strings.CutPrefix(written, "no ")
	c.no = no
	c.subject, rest, _ = strings.Cut(rest, " ")
	of, named := strings.CutPrefix(rest, "of ")
	switch {
	case c.subject == "call":
		c.tool, rest, _ = strings.Cut(rest, " ")
		if c.tool == "" {
			return c, errors.New("want the name of a tool behind «call»")
		}
		if rest == "" {
			return c, nil
		}
	case no || c.subject != "result" && c.subject != "conversation":
		return c, errors.New("want «result», «result of TOOL», «conversation», «call TOOL» or «no call TOOL»")
	case named && c.subject == "result":
		c.tool, rest, _ = strings.Cut(of, " ")
	}
	verb, rest, _ := strings.Cut(rest, " ")
	if verb != "has" && (verb != "lacks" || c.subject == "call") {
		return c, errors.New("want «has» or «lacks» (of a call only «has»), got «" + verb + "»")
	}
	c.lacks = verb == "lacks"
	var err error
	c.words, err = quotedWords(rest)
	return c, err
}

// quotedWords reads "a" or "b" or "c".
func quotedWords(rest string) ([]string, error) {
	var words []string
	for {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return nil, errors.New(`want text in double quotes, got «` + bounded(rest, 40) + `»`)
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, err
		}
		words = append(words, word)
		if rest = strings.TrimSpace(rest[len(quoted):]); rest == "" {
			return words, nil
		}
		next, or := strings.CutPrefix(rest, "or ")
		if !or {
			return nil, errors.New(`want «or "…"», got «` + bounded(rest, 40) + `»`)
		}
		rest = next
	}
}

// part reads a piece of the answer.
func (p *parser) part(at source, st statement) (part, error) {
	switch st.word {
	case "delay":
		wait, err := time.ParseDuration(st.rest)
		if err == nil && wait <= 0 {
			err = errors.New("want a time above zero, like 800ms")
		}
		return part{kind: delayPart, wait: wait}, err
	case "cut":
		return part{kind: cutPart}, nothing(st.rest)
	case "hold":
		return part{kind: holdPart}, nothing(st.rest)
	case "call":
		return p.call(at, st)
	}
	out := part{kind: sayPart, text: strings.TrimSuffix(st.block, "\n"), pace: -1}
	if st.word == "think" {
		out.kind = thinkPart
	}
	if out.text == "" {
		return out, errors.New("want its words below, indented by two spaces")
	}
	pace, quoted := cutWord(st.rest, "quoted")
	var err error
	if quoted {
		if out.text, err = strconv.Unquote(out.text); err != nil {
			return out, errors.New("the words below are not one text in double quotes")
		}
	}
	if pace != "" {
		out.pace, err = wordsPerSecond(pace)
	}
	return out, err
}

// cutWord takes a word off the end of a line.
func cutWord(line, word string) (string, bool) {
	rest, ok := strings.CutSuffix(line, word)
	if !ok || rest != "" && !strings.HasSuffix(rest, " ") {
		return line, false
	}
	return strings.TrimSpace(rest), true
}

// wordsPerSecond reads a pace; «at once» is 0.
func wordsPerSecond(text string) (float64, error) {
	if text == "at once" {
		return 0, nil
	}
	number, ok := strings.CutSuffix(text, " words/s")
	pace, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || !(pace > 0 && pace <= 10000) {
		return 0, errors.New("want «N words/s» or «at once», got «" + bounded(text, 40) + "»")
	}
	return pace, nil
}

// parseFailure reads «fail 429» and «fail 429 retry-after 2s».
func parseFailure(st statement) (*failure, error) {
	words := strings.Fields(st.rest)
	want := errors.New("want a status, 200 or from 400 to 599, and perhaps «retry-after 2s»")
	if len(words) != 1 && (len(words) != 3 || words[1] != "retry-after") {
		return nil, want
	}
	status, err := strconv.Atoi(words[0])
	if err != nil || status != http.StatusOK && (status < 400 || status > 599) {
		return nil, want
	}
	f := &failure{status: status, body: strings.TrimSuffix(st.block, "\n")}
	if f.body == "" {
		f.body = http.StatusText(status)
	}
	if len(words) == 3 {
		if f.retry, err = time.ParseDuration(words[2]); err != nil || f.retry <= 0 {
			return nil, want
		}
	}
	return f, nil
}

func nothing(rest string) error {
	if rest == "" {
		return nil
	}
	return errors.New("nothing can follow it on its line")
}
