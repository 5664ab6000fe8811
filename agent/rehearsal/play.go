package rehearsal

import (
	"fmt"
	"slices"
	"strings"
)

// over is the place behind the last beat of a chain.
const over = -1

// A place is how far a conversation has come in the story.
type place struct {
	at      int   // the next beat, or over
	last    int   // the beat that was played before, or -1
	back    int   // where the story goes on when this chain is over
	goes    bool  // back is set
	entered []int // first beats of the chains so far
}

// story follows one conversation through a script.
type story struct {
	script *Script
	steers func(text string) []string
	played func(beat string) bool // for beats that leave no trace
}

// next is the beat that answers the question, or what is wrong with it.
func (s story) next(q question) (beat, error) {
	if b, ok := s.aside(q); ok {
		return b, nil
	}
	p, err := s.follow(q)
	if err != nil {
		return beat{}, err
	}
	for p.at != over {
		b := s.script.beats[p.at]
		if b.once() && s.played(b.name) || !holdsAll(q, b.ifs) {
			p = s.behind(p, p.at)
			continue
		}
		return b, s.fits(q, b)
	}
	if s.script.awaits(p) {
		name := "" // of the beat before, so that its server knows what is awaited
		if p.last >= 0 {
			name = s.script.beats[p.last].name
		}
		return beat{name: name, parts: []part{{kind: holdPart}}}, nil
	}
	return beat{}, s.theEnd(q, p)
}

// awaits tells whether the recording heard a steer here that the conversation does not bear yet.
func (s *Script) awaits(p place) bool {
	next := p.last + 1
	return next < len(s.beats) && s.beats[next].heard() != "" && !slices.Contains(p.entered, next)
}

// behind is the steer that the recording heard behind a beat, if it heard one; "" names the start.
func (s *Script) behind(name string) *cue {
	next := 1 + slices.IndexFunc(s.beats, func(b beat) bool { return b.name == name })
	if next >= len(s.beats) || s.beats[next].heard() == "" {
		return nil
	}
	return s.beats[next].on
}

// heard is the words of the steer that led to the beat when it was recorded.
func (b beat) heard() string {
	if b.on == nil {
		return ""
	}
	return b.on.words
}

// aside finds an answer outside of the story.
func (s story) aside(q question) (beat, bool) {
	found, ok := beat{}, false
	for _, b := range s.script.asides {
		if q.forced != b.aside || !holdsAll(q, b.ifs) || !holdsAll(q, b.expect) {
			continue
		}
		if found, ok = b, true; !s.played(b.name) {
			break
		}
	}
	return found, ok
}

// fits says what of the question the beat does not fit.
func (s story) fits(q question, b beat) error {
	for _, c := range b.expect {
		if q.shows(c) {
			continue
		}
		came := "the last result: " + quote(q.results(c.tool))
		if c.subject == "call" {
			came = "no such call, or one that it does not want"
		} else if c.subject == "conversation" {
			came = "a conversation that ends with: " + quote(q.messages[len(q.messages)-1].text)
		}
		return fmt.Errorf("beat %s expects %s; what came is %s", b.name, c.written, came)
	}
	if q.forced == "" || b.once() { // an answer that does not come whole calls nothing for certain
		return nil
	}
	calls := b.calls()
	if q.forced != "none" && !slices.ContainsFunc(calls, func(p part) bool { return p.tool == q.forced }) {
		return fmt.Errorf("the request forces %s; beat %s, which is next, does not call it", q.forced, b.name)
	}
	if q.forced == "none" && len(calls) > 0 {
		return fmt.Errorf("the request forbids tools; beat %s, which is next, calls %s", b.name, calls[0].tool)
	}
	return nil
}

// theEnd says that the story is over, and what could have gone on.
func (s story) theEnd(q question, p place) error {
	text := "the story is over"
	if p.last >= 0 {
		text += fmt.Sprintf(": its last beat, %s, was played", s.script.beats[p.last].name)
	}
	if !q.called("finish", nil) {
		text += "; finish was never called"
	}
	var cues []string
	for _, b := range s.script.beats {
		if b.on != nil {
			cues = append(cues, b.on.String())
		}
	}
	if len(cues) > 0 {
		text += "; it would go on with " + strings.Join(cues, ", or with ")
	}
	return fmt.Errorf("%s; what came is a message of role %s: %s", text, q.messages[len(q.messages)-1].role,
		quote(q.messages[len(q.messages)-1].text))
}

// follow reads the conversation from its start.
func (s story) follow(q question) (place, error) {
	if len(q.messages) == 0 {
		return place{}, fmt.Errorf("the request bears no message")
	}
	p, task := place{last: -1}, false
	if s.script.beats[0].on != nil {
		p.at = over
	}
	for _, m := range q.messages {
		switch {
		case m.role == "user" && !task:
			task = true
		case m.role == "user":
			p = s.enter(p, m)
			for range len(s.steers(m.text)) - 1 {
				p = s.enterNext(p, m)
			}
		case m.role == "assistant":
			var err error
			if p, err = s.heard(q, p, m); err != nil {
				return p, err
			}
		}
	}
	if !task {
		return p, fmt.Errorf("the request bears no task: no message of role user")
	}
	return p, nil
}

// enter begins the chain that a user's message leads to, if one does.
func (s story) enter(p place, m message) place {
	chain := -1
	for i, b := range s.script.beats {
		if b.on == nil || !b.on.fits(m, s.steers) {
			continue
		}
		if chain = i; !slices.Contains(p.entered, i) {
			break
		}
	}
	if chain < 0 {
		return p
	}
	into := place{at: chain, last: p.last, entered: append(slices.Clone(p.entered), chain)}
	if s.script.beats[chain].back {
		into.back, into.goes = p.at, true
		if p.goes {
			into.back = p.back
		}
	}
	return into
}

// enterNext begins the recorded chain that one more steer of the same message leads to, if one does.
func (s story) enterNext(p place, m message) place {
	next := s.enter(p, m)
	if n := len(next.entered); n > 0 && s.script.beats[next.entered[n-1]].heard() != "" {
		return next
	}
	return p
}

// heard moves on behind the beat whose answer the message is. Words that were cut move nothing.
func (s story) heard(q question, p place, m message) (place, error) {
	begun := len(m.calls) == 0
	for at := p; at.at != over; at = s.behind(at, at.at) {
		b := s.script.beats[at.at]
		if m.gave(b) {
			return s.again(q, s.behind(at, at.at), at, m), nil
		}
		begun = begun || m.cutFrom(b)
		if len(b.ifs) == 0 && !b.once() {
			break
		}
	}
	if begun || p.at == over {
		return p, nil
	}
	return p, fmt.Errorf("the conversation bears an answer that this script does not give here: a call of %s; beat %s is next",
		m.calls[0].name, s.script.beats[p.at].name)
}

// again keeps the place at a beat of which a call was cancelled.
func (s story) again(q question, behind, at place, m message) place {
	if slices.ContainsFunc(m.calls, q.cancelled) {
		return at
	}
	return behind
}

// behind is the place after a beat.
func (s story) behind(p place, at int) place {
	p.last = at
	if at+1 < len(s.script.beats) && s.script.beats[at+1].on == nil {
		p.at = at + 1
		return p
	}
	p.at = over
	if p.goes {
		p.at, p.goes = p.back, false
	}
	return p
}

// fits tells whether a message is what the cue waits for.
func (c *cue) fits(m message, steers func(string) []string) bool {
	return len(steers(m.text)) > 0 == c.steer && (len(c.has) == 0 || hasAny(m.text, c.has))
}

func (c *cue) String() string {
	what := "a message"
	if c.steer {
		what = "a steer"
	}
	if len(c.has) == 0 {
		return what
	}
	var words []string
	for _, w := range c.has {
		words = append(words, quote(w))
	}
	return what + " that has " + strings.Join(words, " or ")
}

func holdsAll(q question, all []condition) bool {
	return !slices.ContainsFunc(all, func(c condition) bool { return !q.shows(c) })
}

// quote shows the head of a text in a message.
func quote(text string) string { return "«" + bounded(text, 200) + "»" }

// looksLikeSteer is how a steer is known where the caller does not say it: its first line names it.
func looksLikeSteer(text string) []string {
	first, words, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if !strings.Contains(strings.ToLower(first), "steer") {
		return nil
	}
	return []string{strings.TrimSpace(words)}
}
