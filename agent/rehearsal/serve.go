package rehearsal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"
)

// Options say how a script is played or recorded. The zero value plays at once and is silent.
type Options struct {
	// Pace is what every written wait is multiplied by: 1 is as written, 0 is at once.
	Pace float64
	// Steers are the steers that a message of role user bears, each in the developer's words.
	// Nil: a message whose first line has the word steer is one, and its words are all below.
	Steers func(text string) []string
	// Awaits, of a player, is called when an answer holds: with the words of the steer that the
	// recording heard there, or with "" where it tells of none. The context ends with the answer.
	Awaits func(ctx context.Context, words string)
	// Head, of a recorder, stands before the first beat. Nil is a header with the task of the
	// first request.
	Head []byte
	// Redact, of a recorder, takes out of a text what shall not be written. Nil takes nothing.
	Redact func(text string) string
	// Log hears of every request. Nil is silent.
	Log *zap.Logger
	// Upstream carries what a recorder passes on. Nil is http.DefaultTransport.
	Upstream http.RoundTripper
}

// Request is one completion request as it came.
type Request struct {
	At     time.Time       // when it had been read whole
	Body   json.RawMessage // as it came, or as text in JSON when it is none
	Beat   string          // the beat that answers it; empty when none did
	Status int             // of the answer; 0 while there is none
	Ended  time.Time       // when its answer was over; zero while it runs
	Left   bool            // the client hung up before the answer's end
}

// Server is a model server on a loopback port. Its methods may be called from any goroutine.
type Server struct {
	URL string // the base URL, up to and with /v1

	options Options
	log     *zap.Logger
	http    *http.Server
	stop    context.CancelFunc
	served  chan error
	book    chan *book // holds the book, or nothing while someone writes in it
}

// A book is what a server remembers.
type book struct {
	requests []Request
	played   []string      // names of beats
	awaited  *cue          // the recorded steer behind the last of them; nil when there is none, or it was taken
	tape     tape          // of a recorder
	err      error         // the first one of the tape
	running  int           // requests that are being answered
	idle     chan struct{} // closed when none is any more; nil while the server is open
}

// An actor answers requests. Its error says how an answer ended that did not go out whole:
// errCut or errLeft.
type actor interface {
	answer(w http.ResponseWriter, r *http.Request, n int, body []byte) error
	models(w http.ResponseWriter, r *http.Request)
}

// Serve plays a script on 127.0.0.1 until the context ends or the server is closed.
func Serve(ctx context.Context, script *Script, o Options) (*Server, error) {
	return serve(ctx, o, func(s *Server) actor { return player{s, script} })
}

func serve(ctx context.Context, o Options, cast func(*Server) actor) (*Server, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open a loopback port for the rehearsal: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	s := &Server{URL: "http://" + l.Addr().String() + "/v1", options: o, log: o.Log, stop: stop,
		served: make(chan error, 1), book: make(chan *book, 1)}
	if s.log == nil {
		s.log = zap.NewNop()
	}
	if o.Steers == nil {
		s.options.Steers = looksLikeSteer
	}
	s.book <- &book{}
	s.http = &http.Server{Handler: s.routes(cast(s)), ReadHeaderTimeout: time.Minute, ErrorLog: zap.NewStdLog(s.log),
		BaseContext: func(net.Listener) context.Context { return ctx }}
	context.AfterFunc(ctx, func() { s.http.Close() })
	go func() { s.served <- s.http.Serve(l) }()
	return s, nil
}

// Close ends the answers that run, waits for them, and gives the port back. After a recorder's
// Close nothing is written any more; it also gives the first error of writing.
func (s *Server) Close() error {
	s.stop()
	err := s.http.Close()
	served := <-s.served
	s.served <- served
	if !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("serve the rehearsal: %w", served))
	}
	var idle chan struct{}
	s.write(func(b *book) {
		if b.idle == nil {
			if b.idle = make(chan struct{}); b.running == 0 {
				close(b.idle)
			}
		}
		idle = b.idle
	})
	<-idle
	s.write(func(b *book) { err = errors.Join(err, b.err) })
	return err
}

// Requests are the completion requests so far, in the order in which they came.
func (s *Server) Requests() []Request {
	var all []Request
	s.write(func(b *book) { all = slices.Clone(b.requests) })
	return all
}

// Awaited takes the words of the steer that the recording heard behind the last beat that was
// played. It gives each once, and "" where there is none: a player knows the story's next word
// also when no request comes to be held.
func (s *Server) Awaited() string {
	return s.awaitedIf(func(*cue) bool { return true })
}

// AwaitedDuring is Awaited where the steer was heard while a call ran, one of whose arguments
// begins with this text.
func (s *Server) AwaitedDuring(argument string) string {
	return s.awaitedIf(func(c *cue) bool {
		return slices.ContainsFunc(c.during, func(arguments string) bool { return hasArgument(arguments, argument) })
	})
}

func (s *Server) awaitedIf(now func(*cue) bool) string {
	words := ""
	s.write(func(b *book) {
		if b.awaited != nil && now(b.awaited) {
			words, b.awaited = b.awaited.words, nil
		}
	})
	return words
}

func hasArgument(arguments, text string) bool {
	var all map[string]any
	if text == "" || json.Unmarshal([]byte(arguments), &all) != nil {
		return false
	}
	for _, value := range all {
		if said, ok := value.(string); ok && strings.HasPrefix(strings.TrimSpace(said), text) {
			return true
		}
	}
	return false
}

// write has the book to itself.
func (s *Server) write(f func(*book)) {
	b := <-s.book
	f(b)
	s.book <- b
}

func (s *Server) routes(a actor) http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /v1/models", a.models)
	m.HandleFunc("POST /v1/chat/completions", func(w http.ResponseWriter, r *http.Request) { s.take(w, r, a) })
	m.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "not_found", fmt.Sprintf("a rehearsal does not know %s %s", r.Method, r.URL.Path))
	})
	return m
}

// take writes a request into the book and has it answered.
func (s *Server) take(w http.ResponseWriter, r *http.Request, a actor) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		refuse(w, http.StatusBadRequest, "unreadable", "read the request: "+err.Error())
		return
	}
	kept := json.RawMessage(body)
	if !json.Valid(body) {
		kept, _ = json.Marshal(string(body)) // text can always be encoded
	}
	n, closed := 0, false
	s.write(func(b *book) {
		if closed = b.idle != nil; closed {
			return
		}
		n = len(b.requests)
		b.requests = append(b.requests, Request{At: time.Now(), Body: kept})
		b.running++
	})
	if closed {
		refuse(w, http.StatusServiceUnavailable, "closed", "the rehearsal is over")
		return
	}
	end := a.answer(w, r, n, body)
	s.write(func(b *book) {
		b.requests[n].Ended = time.Now()
		b.requests[n].Left = errors.Is(end, errLeft)
		if b.running--; b.running == 0 && b.idle != nil {
			close(b.idle)
		}
	})
	s.log.Info("rehearsal request", zap.Int("number", n), zap.Error(end))
	if end != nil {
		panic(http.ErrAbortHandler) // the only way to break a connection in the middle
	}
}

// player answers from a script.
type player struct {
	*Server
	script *Script
}

func (p player) models(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, `{"object":"list","data":[{"id":"rehearsal","object":"model","created":0,"owned_by":"tandem"}]}`)
}

func (p player) answer(w http.ResponseWriter, r *http.Request, n int, body []byte) error {
	q, err := readQuestion(body)
	if err != nil {
		p.refuse(w, n, "bad_request", err)
		return nil
	}
	b, err := p.pick(q, n)
	if err != nil {
		p.refuse(w, n, "no_beat_fits", err)
		return nil
	}
	p.log.Info("rehearsal beat", zap.Int("number", n), zap.String("beat", b.name))
	if b.fail != nil {
		b.fail.write(w)
		return nil
	}
	out := stream{w: w, done: r.Context().Done(), n: n, beat: b, model: q.model, usage: q.usage, pace: p.script.pace, slower: p.options.Pace}
	if p.options.Awaits != nil {
		out.holds = func() { p.options.Awaits(r.Context(), p.Awaited()) }
	}
	return out.play()
}

// pick chooses the beat and writes it into the book in one go, so that a beat that is played
// once is not played twice.
func (p player) pick(q question, n int) (beat, error) {
	var b beat
	var err error
	p.write(func(k *book) {
		at := story{p.script, p.options.Steers, func(name string) bool { return slices.Contains(k.played, name) }}
		if b, err = at.next(q); err != nil {
			return
		}
		k.played = append(k.played, b.name)
		if b.aside == "" {
			k.awaited = p.script.behind(b.name)
		}
		k.requests[n].Beat, k.requests[n].Status = b.name, http.StatusOK
		if b.fail != nil {
			k.requests[n].Status = b.fail.status
		}
	})
	return b, err
}

func (p player) refuse(w http.ResponseWriter, n int, code string, err error) {
	p.write(func(k *book) { k.requests[n].Status = http.StatusBadRequest })
	text := "rehearsal " + p.script.Name + ": " + err.Error()
	p.log.Warn("rehearsal refusal", zap.Int("number", n), zap.String("why", text))
	refuse(w, http.StatusBadRequest, code, text)
}

// refuse answers with an error of the shape that clients know.
func refuse(w http.ResponseWriter, status int, code, text string) {
	body, err := appendJSON(nil, map[string]any{"error": map[string]string{"message": text, "type": "rehearsal", "code": code}})
	if err != nil {
		http.Error(w, text, status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(body)
}

func (f *failure) write(w http.ResponseWriter) {
	kind := "text/plain; charset=utf-8"
	switch {
	case json.Valid([]byte(f.body)):
		kind = "application/json"
	case strings.HasPrefix(f.body, "data:"):
		kind = "text/event-stream"
	}
	w.Header().Set("Content-Type", kind)
	if f.retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int((f.retry+time.Second-1)/time.Second)))
	}
	w.WriteHeader(f.status)
	io.WriteString(w, f.body+"\n")
}
