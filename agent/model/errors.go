package model

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"
	"unicode"
)

const (
	// maxDetail bounds Error.Detail, maxQuoted what Error.Text repeats of it, in bytes.
	maxDetail = 2000
	maxQuoted = 300
	// longestWait is the longest wait that is still worth asking again by itself.
	longestWait = 10 * time.Minute
)

// Kind tells what went wrong, by what one can do about it.
type Kind int

const (
	// WrongKey: the server refused the key, or wants one (401, 403).
	WrongKey Kind = iota + 1
	// UnknownModel: the server does not have the model, or not this path (404).
	UnknownModel
	// NoServer: nothing answers at the address: dial, DNS, TLS, proxy.
	NoServer
	// Busy: rate limited, overloaded or broken for now (408, 429, 5xx).
	Busy
	// Quota: the account has nothing left; waiting does not help.
	Quota
	// BadRequest: the server does not take this request, and will not take it again.
	BadRequest
	// ContextLimit: the conversation is longer than the model can take.
	ContextLimit
	// Cut: the answer ended before it was whole.
	Cut
	// Stalled: the server was silent for the idle limit.
	Stalled
	// Garbled: what came is no chat completion, or one that cannot be acted upon.
	Garbled
	// UnsupportedField: the server does not take an optional field of the request;
	// the client leaves it out from now on, so asking again is worth it.
	UnsupportedField
)

func (k Kind) String() string {
	names := [...]string{"", "wrong key", "unknown model", "no server", "busy", "quota", "bad request",
		"context limit", "cut", "stalled", "garbled", "unsupported field"}
	return names[k]
}

// Error is why a question has no whole answer.
type Error struct {
	Kind       Kind
	Status     int           // of HTTP, or the one that an error in a stream names; 0: none
	RetryAfter time.Duration // as the server said; 0: it said nothing
	Field      string        // of UnsupportedField
	Text       string        // one line for the developer, which names the setting to change
	Detail     string        // what the server said, one line, at most about 2 kB

	final bool
	cause error
}

func (e *Error) Error() string {
	if e.Detail == "" || strings.Contains(e.Text, e.Detail) {
		return e.Text
	}
	return e.Text + " (the server said: " + e.Detail + ")"
}

func (e *Error) Unwrap() error { return e.cause }

// Retryable tells whether the same question may be asked again without a person:
// not when the server wants a wait of more than ten minutes.
func (e *Error) Retryable() bool {
	switch e.Kind {
	case Busy, Cut, Stalled, Garbled, UnsupportedField:
		return !e.final && e.RetryAfter <= longestWait
	}
	return false
}

// explain turns any way for an exchange to fail into an Error.
func (x *exchange) explain(err error) *Error {
	e := &Error{cause: err}
	var (
		refused fault
		garbage *garbageError
		broken  *brokenError
	)
	switch {
	case errors.As(err, &refused):
		x.explainFault(e, refused)
	case errors.As(err, &garbage):
		e.Kind, e.Detail, e.final = Garbled, string(garbage.sample), garbage.final
		e.Text = x.garbled(garbage)
	case errors.Is(err, errLong):
		e.Kind, e.Text = Garbled, x.garbled(&garbageError{what: errLong.Error()})
	case errors.Is(err, errIdle):
		e.Kind = Stalled
		e.Text = fmt.Sprintf("the model server at %s sent nothing for %v", x.host(), x.client.idle)
	case errors.Is(err, errTorn), errors.As(err, &broken), x.events != nil:
		e.Kind = Cut
		e.Text = fmt.Sprintf("the model server at %s broke off its answer", x.host())
	default:
		x.explainConnection(e, err)
	}
	e.Text, e.Detail = x.clean(e.Text, maxDetail), x.clean(e.Detail, maxDetail)
	return e
}

func (x *exchange) host() string { return x.client.at.host }

func (x *exchange) garbled(g *garbageError) string {
	if !g.astray {
		return fmt.Sprintf("the model server at %s sent an answer that cannot be used: %s", x.host(), g.what)
	}
	return fmt.Sprintf("no chat completion came from %s: %s; check OPENAI_BASE_URL (model.base_url)", x.client.at.shown(), g.what)
}

// explainConnection handles a request that got no response.
func (x *exchange) explainConnection(e *Error, err error) {
	e.Detail = err.Error()
	why := unreachable(err)
	if why == "" {
		e.Kind = Cut
		e.Text = fmt.Sprintf("the model server at %s closed the connection before it answered", x.host())
		return
	}
	if why == ownFault { // no setting would change it, and it passes
		e.Kind, e.Text = Busy, fmt.Sprintf("no connection to the model server at %s: %s", x.host(), why)
		return
	}
	e.Kind = NoServer
	e.Text = fmt.Sprintf("no model server answers at %s: %s; start it, or change OPENAI_BASE_URL (model.base_url)", x.host(), why)
}

// ownFault is why no connection came about where nobody else is to blame.
const ownFault = "this process, or the system, has no file descriptor left; close something that holds many files or connections, or raise the limit (ulimit -n)"

func noFiles(err error) bool { return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) }

// unreachable says why no connection came about; empty: there was one.
func unreachable(err error) string {
	var (
		dns    *net.DNSError
		op     *net.OpError
		record tls.RecordHeaderError
		alert  tls.AlertError
		cert   *tls.CertificateVerificationError
		root   x509.UnknownAuthorityError
		name   x509.HostnameError
		slow   net.Error
	)
	switch {
	case noFiles(err):
		return ownFault
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return "the proxy set by HTTPS_PROXY or HTTP_PROXY does not answer"
	case errors.As(err, &dns) && dns.IsNotFound:
		return "the name " + dns.Name + " is not known"
	case errors.As(err, &dns):
		return "the name " + dns.Name + " cannot be looked up now"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.As(err, &cert), errors.As(err, &root), errors.As(err, &name):
		return "its TLS certificate is not trusted (SSL_CERT_FILE names a file of trusted roots)"
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record), errors.As(err, &alert):
		return "it does not speak TLS as https needs it"
	case errors.As(err, &slow) && slow.Timeout(), errors.Is(err, os.ErrDeadlineExceeded):
		return "the connection timed out"
	case errors.As(err, &op) && op.Op == "dial":
		return op.Err.Error()
	}
	return ""
}

// clean makes one line of at most limit bytes without control characters; the key and
// other secrets never stand in it, even where the server repeats them, nor a part that the
// limit leaves.
func (x *exchange) clean(text string, limit int) string {
	if key := x.client.key; len(key) >= 4 {
		text = strings.ReplaceAll(text, key, "[key]")
	}
	if x.client.redact != nil {
		text = x.client.redact(text)
	}
	return oneLine(text, limit)
}

func oneLine(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "�"))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
