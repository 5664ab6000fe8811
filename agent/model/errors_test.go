package model

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"
)

// refusals holds the words and statuses by which servers say no.
var refusals = []struct {
	name   string
	status int
	body   string
	kind   Kind
	names  string // must stand in the text
}{
	{"key", 401, `{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}`, WrongKey, "OPENAI_API_KEY"},
	{"forbidden", 403, `{"error":"nope"}`, WrongKey, "OPENAI_API_KEY"},
	{"key by 400", 400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, WrongKey, "OPENAI_API_KEY"},
	{"model", 404, `{"error":{"message":"The model does not exist","code":"model_not_found"}}`, UnknownModel, "TANDEM_MODEL"},
	{"model by 400", 400, `{"error":{"message":"some-model is not a valid model ID","code":400}}`, UnknownModel, "TANDEM_MODEL"},
	{"model of another shape", 404, `{"object":"error","message":"The model 'x' does not exist.","type":"NotFoundError","param":null,"code":404}`, UnknownModel, "TANDEM_MODEL"},
	{"model to pull", 404, `{"error":"model \"x\" not found, try pulling it first"}`, UnknownModel, "TANDEM_MODEL"},
	{"model not exist", 400, `{"error":{"message":"Model Not Exist","type":"invalid_request_error"}}`, UnknownModel, "TANDEM_MODEL"},
	{"path", 404, "404 page not found", UnknownModel, "OPENAI_BASE_URL"},
	{"path, empty body", 404, "", UnknownModel, "TANDEM_MODEL"},
	{"rate", 429, `{"error":{"message":"Rate limit reached on tokens per min: Limit 10000, Used 9000","code":"rate_limit_exceeded"}}`, Busy, "429"},
	{"rate without body", 429, "", Busy, "429"},
	{"timeout", 408, "", Busy, "408"},
	{"server", 500, `{"error":{"message":"oops"}}`, Busy, "oops"},
	{"page of a proxy", 502, "<html><head><style>p{}</style></head><body>Bad gateway</body></html>", Busy, "Bad gateway"},
	{"overloaded", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, Busy, "Overloaded"},
	{"quota", 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, Quota, "OPENAI_API_KEY"},
	{"balance", 402, `{"error":{"message":"Insufficient Balance"}}`, Quota, "OPENAI_API_KEY"},
	{"quota a minute", 429, `[{"error":{"code":429,"message":"You exceeded your current quota","details":[{"retryDelay":"37s"}]}}]`, Busy, "37s"},
	{"context", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens","code":"context_length_exceeded"}}`, ContextLimit, "some-model"},
	{"context by prompt", 400, `{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, ContextLimit, "some-model"},
	{"context by size", 500, `{"error":{"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, ContextLimit, "some-model"},
	{"context by count", 400, `{"error":{"message":"The input token count (1100000) exceeds the maximum number of tokens allowed (1048576)."}}`, ContextLimit, "some-model"},
	{"context by max_tokens", 400, "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", ContextLimit, "some-model"},
	{"context by 413", 413, "", ContextLimit, "some-model"},
	{"context by rate", 429, `{"error":{"message":"Request too large for gpt-x on tokens per min (TPM): Limit 10000, Requested 12000","code":"rate_limit_exceeded"}}`, ContextLimit, "some-model"},
	{"context in plain words", 400, `{"message":"Please reduce the length of the messages or completion"}`, ContextLimit, "some-model"},
	{"request", 400, `{"error":{"message":"messages: roles must alternate"}}`, BadRequest, "roles must alternate"},
	{"parameter", 422, `{"detail":[{"type":"missing","loc":["body","frob"],"msg":"Field required","input":{"tool_choice":"x","stream_options":{}}}]}`, BadRequest, "Field required"},
	{"method", 405, "Method Not Allowed", BadRequest, "OPENAI_BASE_URL"},
	{"field by 404", 404, `{"error":{"message":"No endpoints found that support the provided 'tool_choice' value.","code":404}}`, UnsupportedField, "tool_choice"},
	{"id too long", 400, `{"error":{"message":"Invalid 'messages[1].tool_calls[0].id': string too long.","code":"string_above_max_length"}}`, BadRequest, "too long"},
	{"context by prompt length", 400, `{"error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, ContextLimit, "some-model"},
	{"context by range", 400, `{"error":{"message":"Range of input length should be [1, 30720]"}}`, ContextLimit, "some-model"},
	{"context by max length", 400, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`, ContextLimit, "some-model"},
	{"tool use", 400, `{"error":{"message":"Failed to call a function","code":"tool_use_failed","failed_generation":"{"}}`, Garbled, "Failed to call"},
	{"tool choice", 400, `{"error":{"message":"Unsupported parameter","param":"tool_choice"}}`, UnsupportedField, "tool_choice"},
	{"stream options", 422, `{"detail":[{"loc":["body","stream_options"],"msg":"extra fields not permitted"}]}`, UnsupportedField, "stream_options"},
	{"elsewhere", 302, "", BadRequest, "http://login.test/"},
}

func TestRefusals(t *testing.T) {
	for _, test := range refusals {
		t.Run(test.name, func(t *testing.T) {
			header := []string{}
			if test.status == 302 {
				header = []string{"Location", "http://login.test/"}
			}
			_, _, err := ask(t, refusal(test.status, test.body, header...))
			var e *Error
			if !errors.As(err, &e) || e.Kind != test.kind || e.Status != test.status {
				t.Fatalf("error %v (%+v), want %v", err, e, test.kind)
			}
			if !strings.Contains(e.Text, test.names) {
				t.Errorf("%q does not name %s", e.Text, test.names)
			}
			retryable := test.kind == Busy || test.kind == Garbled || test.kind == UnsupportedField
			if e.Retryable() != retryable {
				t.Errorf("retryable is %v", e.Retryable())
			}
		})
	}
}

func TestKeyIsAskedForWhenThereIsNone(t *testing.T) {
	c, err := New(Options{BaseURL: "http://model.test", HTTP: refusal(401, "")})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Ask(t.Context(), question(), nil)
	if err == nil || !strings.Contains(err.Error(), "set OPENAI_API_KEY") {
		t.Errorf("%v does not ask for the key", err)
	}
}

// TestErrorIsBoundedAndSecret: a server's words may be long, wild, and hold the key.
func TestErrorIsBoundedAndSecret(t *testing.T) {
	long := "key sk-secret-0123 is bad\n\x1b[31m\u202e" + strings.Repeat("é ", 5000) + "\xff"
	for _, carrier := range []canned{refusal(400, long), refusal(401, long), text(long), text("data: " + long + "\n\n")} {
		_, _, err := ask(t, carrier)
		var e *Error
		if !errors.As(err, &e) {
			t.Fatal(err)
		}
		if len(e.Detail) > maxDetail+3 || len(e.Text) > maxDetail+3 {
			t.Errorf("%d and %d bytes", len(e.Detail), len(e.Text))
		}
		if all := e.Error(); strings.Contains(all, "sk-secret") || strings.ContainsAny(all, "\n\x1b\u202e") || !utf8.ValidString(all) {
			t.Errorf("unclean: %q", all[:200])
		}
	}
}

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		date := time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat)
		tests := []struct {
			header, value, body string
			want                time.Duration
			again               bool
		}{
			{"Retry-After", "7", "", 7 * time.Second, true},
			{"Retry-After", " 1.5 ", "", 1500 * time.Millisecond, true},
			{"Retry-After", date, "", 90 * time.Second, true},
			{"Retry-After", "Fri, 02 Jan 1998 15:04:05 GMT", "", 0, true},
			{"Retry-After", "-3", "", 0, true},
			{"Retry-After", "soon", "", 0, true},
			{"Retry-After", "86400", "", 24 * time.Hour, false},
			{"Retry-After", "1e300", "", 365 * 24 * time.Hour, false},
			{"Retry-After-Ms", "250", "", 250 * time.Millisecond, true},
			{"", "", "Please try again in 1.379s.", 1379 * time.Millisecond, true},
			{"", "", "Please try again in 1m3.5s.", 63500 * time.Millisecond, true},
			{"", "", "Please try again in 20ms", 20 * time.Millisecond, true},
			{"", "", "Please retry after 26 seconds.", 26 * time.Second, true},
			{"", "", "slow down", 0, true},
		}
		for _, test := range tests {
			_, _, err := ask(t, refusal(429, test.body, test.header, test.value))
			var e *Error
			if !errors.As(err, &e) || e.Kind != Busy || e.RetryAfter != test.want || e.Retryable() != test.again {
				t.Errorf("%s %q %q: %v, retryable %v; want %v, %v", test.header, test.value, test.body, e.RetryAfter, e.Retryable(), test.want, test.again)
			}
		}
	})
}

// TestRefusedFieldsAreLeftOut tells the field once and then goes without it.
func TestRefusedFieldsAreLeftOut(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		for _, field := range []string{"tool_choice", "stream_options"} {
			if strings.Contains(string(body), `"`+field+`"`) {
				http.Error(w, "unknown field "+field, http.StatusBadRequest)
				return
			}
		}
		_, _ = io.WriteString(w, say("hi")+end("stop")+done)
	}))
	defer server.Close()
	c, err := New(Options{BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, field := range []string{"tool_choice", "stream_options"} {
		_, err := c.Ask(t.Context(), question(), nil)
		var e *Error
		if !errors.As(err, &e) || e.Kind != UnsupportedField || e.Field != field || !e.Retryable() {
			t.Fatalf("error %v, want the field %s", err, field)
		}
	}
	if a, err := c.Ask(t.Context(), question(), nil); err != nil || a.Text != "hi" {
		t.Errorf("got %+v, %v", a, err)
	}
}

// failing is a carrier that gets no response.
type failing struct{ err error }

func (f failing) RoundTrip(r *http.Request) (*http.Response, error) {
	_ = r.Body.Close()
	return nil, f.err
}

func TestNoServer(t *testing.T) {
	const address = "127.0.0.1:0" // nobody listens there; a port that was given back may be another test's
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0) // it would tell of each refused handshake
	untrusted.StartTLS()
	defer untrusted.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()

	dial := func(err error) http.RoundTripper { return failing{&net.OpError{Op: "dial", Err: err}} }
	tests := []struct {
		name, url string
		carrier   http.RoundTripper
		kind      Kind
		names     string
	}{
		{"refused", "http://" + address, nil, NoServer, address},
		{"untrusted", untrusted.URL, nil, NoServer, "SSL_CERT_FILE"},
		{"no TLS there", "https" + strings.TrimPrefix(plain.URL, "http"), nil, NoServer, "TLS"},
		{"name", "http://nowhere.test", dial(&net.DNSError{Name: "nowhere.test", Err: "no such host", IsNotFound: true}), NoServer, "the name nowhere.test is not known"},
		{"names", "http://later.test", dial(&net.DNSError{Name: "later.test", Err: "server misbehaving", IsTemporary: true}), NoServer, "later.test cannot be looked up now"},
		{"slow", "http://slow.test", failing{&net.OpError{Op: "dial", Err: syscall.ETIMEDOUT}}, NoServer, "slow.test"},
		{"no route", "http://far.test", dial(syscall.EHOSTUNREACH), NoServer, "far.test"},
		{"root", "https://own.test", failing{x509.UnknownAuthorityError{}}, NoServer, "SSL_CERT_FILE"},
		{"proxy", "https://api.test", failing{&net.OpError{Op: "proxyconnect", Err: syscall.ECONNREFUSED}}, NoServer, "HTTPS_PROXY"},
		{"closed early", "http://flaky.test", failing{io.EOF}, Cut, "flaky.test"},
		{"reset", "http://flaky.test", failing{&net.OpError{Op: "read", Err: syscall.ECONNRESET}}, Cut, "flaky.test"},
	}
	for _, err := range []error{syscall.EMFILE, syscall.ENFILE} { // we are to blame, and it may pass
		_, _, got := ask(t, dial(err))
		var e *Error
		if !errors.As(got, &e) || e.Kind != Busy || !e.Retryable() || !strings.Contains(e.Text, "no file descriptor left") || strings.Contains(e.Text, "BASE_URL") {
			t.Errorf("%v: %v", err, got)
		}
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c, err := New(Options{BaseURL: test.url, HTTP: test.carrier})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, err = c.Ask(t.Context(), question(), nil)
			var e *Error
			if !errors.As(err, &e) || e.Kind != test.kind || !strings.Contains(e.Text, test.names) {
				t.Fatalf("error %v, want %v naming %s", err, test.kind, test.names)
			}
			if e.Kind == NoServer && (!strings.Contains(e.Text, "OPENAI_BASE_URL") || e.Retryable()) {
				t.Errorf("%q, retryable %v", e.Text, e.Retryable())
			}
		})
	}
}

func TestBadOptions(t *testing.T) {
	for _, bad := range []string{"localhost:11434", "ftp://x.test", "http://", "https:///v1", "://", "http://a b", "/v1"} {
		if _, err := New(Options{BaseURL: bad}); err == nil || !strings.Contains(err.Error(), "OPENAI_BASE_URL") || !strings.Contains(err.Error(), "model.base_url") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	_, err := New(Options{Key: "sk-\nsecret"})
	if err == nil || !strings.Contains(err.Error(), "OPENAI_API_KEY") || strings.Contains(err.Error(), "secret") {
		t.Errorf("key over two lines: %v", err)
	}
}

func TestCauseIsKept(t *testing.T) {
	_, _, err := ask(t, failing{&url.Error{Op: "Post", Err: syscall.ECONNREFUSED}})
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("%v lost its cause", err)
	}
}

func TestEndedContextIsNoFailureOfTheServer(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("steered"))
	_, err := newClient(t, http.DefaultTransport).Ask(ctx, question(), nil)
	var e *Error
	if !errors.Is(err, context.Canceled) || errors.As(err, &e) {
		t.Errorf("error %#v", err)
	}
}
