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
	// Steer tells whether a message of role user bears a steer. Nil: one whose first line
	// has the word steer.
	Steer func(text string) bool
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
	played   []string // names of beats
	tape     tape     // of a recorder
	err      error    // the first one of the tape
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
	if o.Steer == nil {
		s.options.Steer = looksLikeSteer
	}
	s.book <- &book{}
	s.http = &http.Server{Handler: s.routes(cast(s)), ReadHeaderTimeout: time.Minute, ErrorLog: zap.NewStdLog(s.log),
		BaseContext: func(net.Listener) context.Context { return ctx }}
	context.AfterFunc(ctx, func() { s.http.Close() })
	go func() { s.served <- s.http.Serve(l) }()
	return s, nil
}

// Close ends the answers that run and gives the port back. A recorder's Close also gives the
// first error of writing.
func (s *Server) Close() error {
	s.stop()
	err := s.http.Close()
	served := <-s.served
	s.served <- served
	if !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("serve the rehearsal: %w", served))
	}
	s.write(func(b *book) { err = errors.Join(err, b.err) })
	return err
}

// Requests are the completion requests so far, in the order in which they came.
func (s *Server) Requests() []Request {
	var all []Request
	s.write(func(b *book) { all = slices.Clone(b.requests) })
	return all
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
	n := 0
	s.write(func(b *book) {
		n = len(b.requests)
		b.requests = append(b.requests, Request{At: time.Now(), Body: kept})
	})
	end := a.answer(w, r, n, body)
	s.write(func(b *book) {
		b.requests[n].Ended = time.Now()
		b.requests[n].Left = errors.Is(end, errLeft)
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
	return out.play()
}

// pick chooses the beat and writes it into the book in one go, so that a beat that is played
// once is not played twice.
func (p player) pick(q question, n int) (beat, error) {
	var b beat
	var err error
	p.write(func(k *book) {
		at := story{p.script, p.options.Steer, func(name string) bool { return slices.Contains(k.played, name) }}
		if b, err = at.next(q); err != nil {
			return
		}
		k.played = append(k.played, b.name)
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
