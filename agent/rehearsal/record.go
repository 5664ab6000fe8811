package rehearsal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.uber.org/zap"
)

// Record listens like Serve, passes every request to the server at upstream (a base URL, up to
// and with /v1), and writes each answer to out as a beat, when it and all that were asked for
// before it are over: so out is a script at all times from its first beat on, that of the session
// so far, with the workspace that Options.Head holds. A steer in the conversation begins a chain; requests that force check_in
// or forbid tools become asides.
//
// No header is recorded, so no key is; Options.Redact takes out what else is secret. An error of out does not disturb the session: it is logged, recording
// ends, and Close gives it.
func Record(ctx context.Context, upstream *url.URL, out io.Writer, o Options) (*Server, error) {
	if upstream.Scheme == "" || upstream.Host == "" {
		return nil, fmt.Errorf("record %q: want the base URL of a model server, like https://host/v1", upstream.Redacted())
	}
	carrier := o.Upstream
	if carrier == nil {
		carrier = http.DefaultTransport
	}
	return serve(ctx, o, func(s *Server) actor { return recorder{s, upstream, carrier, out} })
}

// recorder answers from another server.
type recorder struct {
	*Server
	upstream *url.URL
	carrier  http.RoundTripper
	out      io.Writer
}

// tape is what a recorder remembers between two beats.
type tape struct {
	beats    int
	messages int // of the last request of the story
	calls    int // of its answer, where that was whole
	next     int // the request whose beat is due
	over     map[int]take
}

// take is an answered request whose beat waits for those of the requests before it: a client that
// hangs up asks again before the end of the old answer is noticed.
type take struct {
	q    question
	beat *beat // nil when there is nothing to record
}

func (c recorder) models(w http.ResponseWriter, r *http.Request) {
	res, err := c.pass(r, "models", nil)
	if err != nil {
		refuse(w, http.StatusBadGateway, "upstream", err.Error())
		return
	}
	defer res.Body.Close()
	w.Header().Set("Content-Type", res.Header.Get("Content-Type"))
	w.WriteHeader(res.StatusCode)
	io.Copy(w, res.Body) // a client that hangs up here loses nothing
}

// pass sends a request on with the client's headers.
func (c recorder) pass(r *http.Request, path string, body []byte) (*http.Response, error) {
	to, err := http.NewRequestWithContext(r.Context(), r.Method, c.upstream.JoinPath(path).String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("pass the request to %s: %w", c.upstream.Host, err)
	}
	for name, values := range r.Header {
		if !slices.Contains([]string{"Connection", "Keep-Alive", "Transfer-Encoding", "Upgrade", "Te", "Trailer", "Content-Length"}, name) {
			to.Header[name] = values
		}
	}
	to.Header.Set("Accept-Encoding", "identity") // the answer is read on its way
	if u := c.upstream.User; u != nil && to.Header.Get("Authorization") == "" {
		password, _ := u.Password()
		to.SetBasicAuth(u.Username(), password)
	}
	res, err := c.carrier.RoundTrip(to)
	if err != nil {
		return nil, fmt.Errorf("pass the request to %s: %w", c.upstream.Host, err)
	}
	return res, nil
}

func (c recorder) answer(w http.ResponseWriter, r *http.Request, n int, body []byte) error {
	heard, end := c.passOn(w, r, n, body)
	q, err := readQuestion(body)
	if err != nil {
		c.log.Warn("request was not recorded", zap.Int("number", n), zap.Error(err))
		heard = nil
	}
	c.keep(n, take{q, heard})
	return end
}

// passOn gives the client the upstream's answer, and the beat that it makes: nil when there was none.
func (c recorder) passOn(w http.ResponseWriter, r *http.Request, n int, body []byte) (*beat, error) {
	heard := &hearing{begun: time.Now()}
	res, err := c.pass(r, "chat/completions", body)
	if r.Context().Err() != nil {
		b := heard.beat(errLeft)
		return &b, errLeft
	}
	if err != nil {
		c.write(func(k *book) { k.requests[n].Status = http.StatusBadGateway })
		refuse(w, http.StatusBadGateway, "upstream", err.Error())
		return nil, nil
	}
	defer res.Body.Close()
	c.write(func(k *book) { k.requests[n].Status = res.StatusCode })
	for _, name := range []string{"Content-Type", "Retry-After", "Retry-After-Ms"} {
		if v := res.Header.Get(name); v != "" {
			w.Header().Set(name, v)
		}
	}
	w.WriteHeader(res.StatusCode)
	end := relay(w, r, res.Body, heard)
	b := heard.beat(end)
	if res.StatusCode != http.StatusOK {
		b = heard.failure(res.StatusCode, res.Header.Get("Retry-After"))
	}
	return &b, end
}

// relay copies the answer as it comes. Its error is errLeft when the client hung up and errCut
// when the connection broke, which then breaks the client's too.
func relay(w http.ResponseWriter, r *http.Request, from io.Reader, heard *hearing) error {
	flush := http.NewResponseController(w)
	piece := make([]byte, 16<<10)
	for {
		n, err := from.Read(piece)
		heard.hear(piece[:n])
		if n > 0 {
			if _, err := w.Write(piece[:n]); err != nil || flush.Flush() != nil {
				return errLeft
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil && r.Context().Err() != nil:
			return errLeft
		case err != nil:
			return errCut
		}
	}
}

// keep writes the beats that are due to the tape.
func (c recorder) keep(n int, t take) {
	c.write(func(k *book) {
		if k.tape.over == nil {
			k.tape.over = map[int]take{}
		}
		k.tape.over[n] = t
		for due, ok := k.tape.over[k.tape.next]; ok; due, ok = k.tape.over[k.tape.next] {
			delete(k.tape.over, k.tape.next)
			if due.beat != nil && k.err == nil {
				c.put(k, k.tape.next, due)
			}
			k.tape.next++
		}
	})
}

// put writes one beat, and the header before the first.
func (c recorder) put(k *book, n int, t take) {
	var text bytes.Buffer
	switch {
	case k.tape.beats > 0:
	case c.options.Head != nil:
		text.Write(c.options.Head)
	default:
		text.WriteString(redacted(string(opening(t.q)), c.options.Redact))
	}
	for _, one := range k.tape.add(*t.beat, t.q, c.options) {
		k.requests[n].Beat = one.name
		one.print(&text)
	}
	if _, err := c.out.Write(text.Bytes()); err != nil {
		k.err = fmt.Errorf("record beat %s: %w", t.beat.name, err)
		c.log.Error("recording ended", zap.Error(k.err))
	}
}

// add gives the beat its place in the story, behind one for each steer before the last that
// it answers.
func (t *tape) add(b beat, q question, o Options) []beat {
	if b.redact(o.Redact); q.forced == "none" || q.forced == "check_in" {
		b.aside = q.forced
		return []beat{t.named(b)}
	}
	var out []beat
	for i, words := range t.steers(q, o) {
		if i > 0 {
			out[i-1].parts = []part{{kind: holdPart}}
			out[i-1] = t.named(out[i-1])
		}
		heard := &cue{steer: true, words: words}
		if i == 0 && words != "" {
			heard.cancelled, heard.running = t.unended(q)
		}
		out = append(out, beat{on: heard})
	}
	if n := len(out); n > 0 {
		b.on = out[n-1].on
		out = out[:n-1]
	}
	t.messages, t.calls = len(q.messages), 0
	if !b.once() {
		t.calls = len(b.calls())
	}
	return append(out, t.named(b))
}

// named gives the beat the next name.
func (t *tape) named(b beat) beat {
	what := "say"
	if calls := b.calls(); len(calls) > 0 {
		what = calls[0].tool
	} else if b.fail != nil {
		what = "fail"
	} else if b.once() {
		what = "hold"
	}
	t.beats++
	b.name = fmt.Sprintf("%05d-%s", t.beats, plainName(what))
	return b
}

// steers are the words of those that came since the last request of the story.
func (t *tape) steers(q question, o Options) []string {
	var all []string
	task := slices.IndexFunc(q.messages, func(m message) bool { return m.role == "user" })
	for i := max(t.messages, task+1); i < len(q.messages); i++ {
		if q.messages[i].role != "user" {
			continue
		}
		for _, words := range o.Steers(q.messages[i].text) {
			all = append(all, redacted(words, o.Redact))
		}
	}
	return all
}

// unended are the numbers of the last answer's calls that never began, and of those that run.
func (t *tape) unended(q question) (cancelled, running []int) {
	at := len(q.messages) - 1
	for at >= 0 && q.messages[at].role != "assistant" {
		at--
	}
	if at < t.messages || len(q.messages[at].calls) != t.calls {
		return nil, nil
	}
	for i, c := range q.messages[at].calls {
		switch {
		case q.told(c, `"it never began"`):
			cancelled = append(cancelled, i+1)
		case q.told(c, `"status":"running"`), q.told(c, `"it runs and is being ended`):
			running = append(running, i+1)
		}
	}
	return cancelled, running
}

// redact takes out of the beat what shall not be written.
func (b *beat) redact(clean func(string) string) {
	for i, p := range b.parts {
		b.parts[i].tool = redacted(p.tool, clean)
		if p.kind == callPart {
			b.parts[i].text = redactedJSON(p.text, clean)
		} else {
			b.parts[i].text = redacted(p.text, clean)
		}
	}
	if b.fail != nil {
		b.fail.body = redactedJSON(b.fail.body, clean)
	}
}

func redacted(text string, clean func(string) string) string {
	if clean == nil {
		return text
	}
	return clean(text)
}

var jsonText = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// redactedJSON finds what shall not be written also where JSON has escaped it.
func redactedJSON(text string, clean func(string) string) string {
	if clean == nil {
		return text
	}
	return clean(jsonText.ReplaceAllStringFunc(text, func(quoted string) string {
		var plain string
		if json.Unmarshal([]byte(quoted), &plain) != nil || clean(plain) == plain {
			return quoted
		}
		again, err := appendJSON(nil, clean(plain))
		if err != nil {
			return quoted // the text without the escapes is cleaned all the same
		}
		return string(again)
	}))
}

var (
	notPlain  = regexp.MustCompile(`[^a-z0-9]+`)
	plainWord = regexp.MustCompile(`^[!#-~]+$`)
)

// plainName makes a tool's name fit for a beat's.
func plainName(tool string) string {
	if name := strings.Trim(notPlain.ReplaceAllString(strings.ToLower(tool), "-"), "-"); name != "" {
		return name
	}
	return "call"
}

// opening is what stands before the first beat.
func opening(q question) []byte {
	task := "(the first request bears no task)"
	if i := slices.IndexFunc(q.messages, func(m message) bool { return m.role == "user" }); i >= 0 && strings.TrimSpace(q.messages[i].text) != "" {
		task = q.messages[i].text
	}
	return Head("A recorded session.", task, nil)
}

// print writes the beat as a file of a script.
func (b beat) print(out *bytes.Buffer) {
	fmt.Fprintf(out, "-- beats/%s --\n", b.name)
	if b.on != nil {
		b.on.print(out)
	}
	if b.aside != "" {
		fmt.Fprintf(out, "aside %s\n", b.aside)
	}
	if b.fail != nil {
		b.fail.print(out)
	}
	for _, p := range b.parts {
		p.print(out)
	}
	if b.end != "" {
		fmt.Fprintf(out, "end %s\n", b.end)
	}
}

func (c *cue) print(out *bytes.Buffer) {
	if c.words == "" {
		out.WriteString("on steer\n")
		return
	}
	printText(out, "on steer", "", c.words)
	if len(c.cancelled) > 0 {
		out.WriteString("cancelled " + strings.Trim(fmt.Sprint(c.cancelled), "[]") + "\n")
	}
	if len(c.running) > 0 {
		out.WriteString("running " + strings.Trim(fmt.Sprint(c.running), "[]") + "\n")
	}
}

func (f *failure) print(out *bytes.Buffer) {
	fmt.Fprintf(out, "fail %d", f.status)
	if f.retry > 0 {
		fmt.Fprintf(out, " retry-after %s", f.retry)
	}
	out.WriteString("\n")
	if body := f.body; body != "" {
		if !blockSafe(body) {
			body = bounded(body, 2000)
		}
		printBlock(out, body)
	}
}

func (p part) print(out *bytes.Buffer) {
	switch p.kind {
	case delayPart:
		fmt.Fprintf(out, "delay %s\n", p.wait)
	case cutPart:
		out.WriteString("cut\n")
	case holdPart:
		out.WriteString("hold\n")
	case callPart:
		name := p.tool
		if !plainWord.MatchString(name) {
			name = strconv.Quote(name)
		}
		printText(out, "call "+name, " raw", p.text)
	case thinkPart, sayPart:
		head := map[partKind]string{thinkPart: "think", sayPart: "say"}[p.kind] + " at once"
		if p.pace > 0 {
			head = strings.TrimSuffix(head, "at once") + strconv.FormatFloat(p.pace, 'f', 1, 64) + " words/s"
		}
		printText(out, head, "", p.text)
	}
}

// printText writes a statement with a text that comes back as it is.
func printText(out *bytes.Buffer, head, plain, text string) {
	if text == "" && plain != "" || blockSafe(text) {
		out.WriteString(head + plain + "\n")
		printBlock(out, text)
		return
	}
	out.WriteString(head + " quoted\n")
	printBlock(out, strconv.Quote(text))
}

func printBlock(out *bytes.Buffer, text string) {
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		out.WriteString("  " + line + "\n")
	}
}

// blockSafe tells whether a text survives as an indented block.
func blockSafe(text string) bool {
	first, _, _ := strings.Cut(text, "\n")
	if strings.TrimSpace(first) == "" || strings.HasSuffix(text, "\n") || !utf8.ValidString(text) {
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' })
}

// failure makes a beat of an answer that is none.
func (h *hearing) failure(status int, retryAfter string) beat {
	f := &failure{status: status, body: strings.TrimSpace(h.all.String())}
	if status != http.StatusOK && status < 400 {
		f.status = http.StatusBadGateway // a redirection is not followed, and no answer either
	}
	if seconds, err := strconv.Atoi(retryAfter); err == nil && seconds > 0 {
		f.retry = time.Duration(seconds) * time.Second
	}
	return beat{fail: f}
}

// beat makes a beat of what was heard.
func (h *hearing) beat(end error) beat {
	h.finish()
	if end == nil && !h.whole() && h.text+h.reasoning == "" && len(h.calls) == 0 {
		return h.failure(http.StatusOK, "")
	}
	var b beat
	if wait := h.first.Sub(h.begun).Round(10 * time.Millisecond); !h.first.IsZero() && wait > 0 {
		b.parts = append(b.parts, part{kind: delayPart, wait: wait})
	}
	if h.reasoning != "" {
		b.parts = append(b.parts, part{kind: thinkPart, text: h.reasoning, pace: h.pace()})
	}
	if h.text != "" || len(h.calls) == 0 && h.whole() {
		b.parts = append(b.parts, part{kind: sayPart, text: h.text, pace: h.pace()})
	}
	calls := h.calls
	if !h.whole() && len(calls) > 0 {
		calls = calls[:len(calls)-1] // nobody knows whether the last one was complete
	}
	for _, c := range calls {
		b.parts = append(b.parts, part{kind: callPart, tool: c.name, text: c.arguments})
	}
	switch {
	case h.whole():
		if h.reason != b.finish() && finishReason.MatchString(h.reason) {
			b.end = h.reason
		}
	case errors.Is(end, errLeft):
		b.parts = append(b.parts, part{kind: holdPart})
	default:
		b.parts = append(b.parts, part{kind: cutPart})
	}
	return b
}
