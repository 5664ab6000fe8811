// Package model asks a chat-completions server one question at a time and reads
// the streamed answer, whatever dialect the server speaks.
//
// The request and the reading of lines are go-openai's; what stands under it is
// ours, because the library alone takes a cut stream for a finished one, hides
// Retry-After and waits for ever on a silent server:
//
//	Ask → go-openai → exchange (body, status, idle limit) → http.RoundTripper
//	                     events (one clean line an event) → chunk → assembly → Answer
//
// An answer is complete when the server said so: [DONE], a whole JSON completion,
// or a finish reason with a clean end behind it. Everything else is an [Error] of
// one kind with one clear line for the developer.
//
// It does not know what the messages mean, keeps no conversation, and asks nothing
// twice: whether a question is asked again is its caller's decision.
package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sashabaranov/go-openai"
)

const defaultIdle = 120 * time.Second

// Options say where the model server is and how patient to be with it.
type Options struct {
	// BaseURL is the server's address, with or without /v1, a trailing slash, or the
	// whole path to /chat/completions (which is then taken as it is). Empty is the
	// public OpenAI endpoint.
	BaseURL string
	// Key is sent as a bearer token; empty sends none, as local servers like it.
	Key string
	// Idle is the longest silence in an answer and before its first byte; 0 is 120 s.
	Idle time.Duration
	// HTTP carries the requests; nil is a transport of our own, with proxy and TLS
	// roots from the environment.
	HTTP http.RoundTripper
	// Redact takes secrets out of what the server says of a fault; nil takes the key alone.
	Redact func(text string) string
}

// Client asks one server. It may be used by several goroutines at once.
type Client struct {
	at   endpoint
	key  string
	idle time.Duration
	http *http.Client
	// redact is nil where nothing but the key is secret.
	redact func(text string) string

	// What the server has refused once is left out of every later request.
	noToolChoice    atomic.Bool
	noStreamOptions atomic.Bool
	noReasoning     atomic.Bool // of earlier answers
}

// New checks the options; it does not call the server. The error is a sentence that
// names the setting to change.
func New(o Options) (*Client, error) {
	at, err := parseEndpoint(o.BaseURL)
	if err != nil {
		return nil, err
	}
	key, err := parseKey(o.Key)
	if err != nil {
		return nil, err
	}
	c := &Client{at: at, key: key, idle: o.Idle, redact: o.Redact}
	if c.idle <= 0 {
		c.idle = defaultIdle
	}
	carrier := o.HTTP
	if carrier == nil {
		carrier = newTransport()
	}
	c.http = &http.Client{Transport: carrier, CheckRedirect: checkRedirect}
	return c, nil
}

// Close closes the connections that no question uses.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Request is one question. Messages and Tools are sent as the exact bytes given and
// must not change while Ask runs.
type Request struct {
	Model      string
	Messages   iter.Seq[json.RawMessage] // in order
	Tools      json.RawMessage           // the tools array; nil: none
	ToolChoice string                    // "" (left out), "none", or the name of the function to force
}

// Answer is what the model said.
type Answer struct {
	Text, Reasoning string
	Calls           []Call // in the model's order, each with an id of its own
	Finish          Finish
	Usage           Usage
}

// Call is a tool call that the model asks for. Arguments is the text as the model
// gave it, assembled and never empty; it need not be valid JSON, above all when the
// answer ended by [Length]. Name is empty where the model gave none. Extra is what the server wants back with the call as it
// came, in its extra_content; nil where it sent none.
type Call struct {
	ID, Name, Arguments string
	Extra               json.RawMessage
}

// Usage counts tokens; all are zero when the server told none.
type Usage struct {
	InputTokens       int
	CachedInputTokens int // part of InputTokens
	OutputTokens      int
}

// Delta is a piece of an answer as it arrives.
type Delta struct{ Text, Reasoning string }

// Finish tells why an answer ended. Stop with calls does not occur: an answer that
// has calls and ended regularly is ToolCalls, whatever word the server used.
type Finish int

const (
	Stop Finish = iota
	ToolCalls
	Length
	ContentFilter
)

func (f Finish) String() string {
	return [...]string{"stop", "tool_calls", "length", "content_filter"}[f]
}

// Ask sends one request and reads its answer; said, if not nil, is called from within
// Ask for each piece of text in order. Beside an error the Answer holds the text said
// so far, and never calls: of a broken answer nobody knows which calls are whole.
//
// The error is an [*Error], or wraps ctx's error when ctx ended. Ask returns
// promptly then and the server sees its connection or stream closed.
func (c *Client) Ask(ctx context.Context, r Request, said func(Delta)) (Answer, error) {
	watch := newIdleWatch(ctx, c.idle)
	defer watch.stop()
	x := &exchange{client: c, model: r.Model, watch: watch, body: c.body(r)}
	a := assembly{said: said}
	err := x.read(watch.ctx, &a)
	if err == nil {
		return a.answer(), nil
	}
	if ctx.Err() != nil {
		return a.partial(), fmt.Errorf("ask %s: %w", c.at.host, ctx.Err())
	}
	if context.Cause(watch.ctx) == errIdle {
		err = errIdle
	}
	return a.partial(), x.explain(err)
}

// read lets go-openai make the request and feeds what it reads to the assembly.
func (x *exchange) read(ctx context.Context, a *assembly) error {
	config := openai.DefaultConfig(x.client.key)
	config.BaseURL = x.client.at.base
	config.HTTPClient = x
	// The library's request stays empty: the exchange sends its own body, and a model
	// name in it would only be checked against the library's lists.
	stream, err := openai.NewClientWithConfig(config).CreateChatCompletionStream(ctx, openai.ChatCompletionRequest{})
	if err != nil {
		return err
	}
	defer stream.Close()
	for {
		line, err := stream.RecvRaw()
		switch {
		case err == nil:
			if err := a.take(line); err != nil {
				return err
			}
		case err == io.EOF:
			x.events.settle()
			return a.end(true)
		case errors.Is(err, errEnded):
			return a.end(false)
		default:
			return err
		}
	}
}
