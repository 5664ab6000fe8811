package model

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// fault is an error that the server told, in a refusal or in the middle of a stream.
type fault struct {
	status  int      // of HTTP, or named in the error itself; 0: none
	codes   []string // code, type, status, parameter: short words of the server
	message string
	wait    time.Duration // until it may be asked again; 0: not said
}

func (f fault) Error() string { return "the server reported: " + f.message }

// readFault finds the message and the codes in any shape of error: an object, one in
// another or in a list, a string, a page.
func readFault(text []byte) fault {
	var f fault
	text = bytes.TrimSpace(text)
	var v any
	if json.Unmarshal(text, &v) == nil {
		f.read(v, 0)
	} else {
		f.message = plainText(text)
	}
	f.wait = waitInText(string(text))
	return f
}

func (f *fault) read(v any, depth int) {
	if depth > 5 {
		return
	}
	switch v := v.(type) {
	case string:
		f.say(v)
	case []any:
		for _, member := range v[:min(len(v), 4)] {
			f.read(member, depth+1)
		}
	case map[string]any:
		for _, key := range []string{"code", "status", "status_code", "type", "param", "loc"} {
			f.code(v[key])
		}
		for _, key := range []string{"error", "errors", "message", "msg", "detail", "raw", "metadata"} {
			f.read(v[key], depth+1)
		}
	}
}

func (f *fault) say(text string) {
	switch {
	case text == "" || strings.Contains(f.message, text):
	case f.message == "":
		f.message = text
	default:
		f.message += ": " + text
	}
}

func (f *fault) code(v any) {
	switch v := v.(type) {
	case string:
		if n, err := strconv.Atoi(v); err == nil {
			f.code(float64(n))
			return
		}
		f.codes = append(f.codes, v)
	case float64:
		if v >= 400 && v < 600 && f.status == 0 {
			f.status = int(v)
		}
	case []any:
		for _, member := range v[:min(len(v), 8)] {
			f.code(member)
		}
	}
}

var (
	markup = lazily(`(?s)<(script|style)\b.*?</(script|style)>|<[^>]*>`)
	// Servers that set no header say it in words.
	waitWords = lazily(`(?i)(?:try again in|retry after|retry in|"retryDelay":)\s*"?((?:\d+(?:\.\d+)?(?:ms|h|m|s))+|\d+(?:\.\d+)? ?(?:seconds?|secs?)\b)`)
)

// plainText is what a person would read of a page.
func plainText(text []byte) string {
	if bytes.HasPrefix(text, []byte("<")) {
		text = markup().ReplaceAll(text, []byte(" "))
	}
	return string(text)
}

func waitInText(text string) time.Duration {
	m := waitWords().FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	if d, err := time.ParseDuration(m[1]); err == nil {
		return max(d, 0)
	}
	return seconds(strings.TrimRight(m[1], " econdsECONDS"))
}

// retryAfter reads the wait that the headers ask for, in each form that servers use.
func retryAfter(h http.Header) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return seconds(strconv.FormatFloat(ms/1000, 'f', -1, 64))
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if at, err := http.ParseTime(value); err == nil {
		return max(time.Until(at), 0)
	}
	return seconds(value)
}

// seconds reads a number of seconds; what is none, or no wait that anyone means, is 0.
func seconds(text string) time.Duration {
	s, err := strconv.ParseFloat(text, 64)
	if err != nil || !(s > 0) {
		return 0
	}
	const year = 365 * 24 * 3600
	return time.Duration(min(s, year) * float64(time.Second))
}

// The words by which servers tell a kind, in lower case.
var (
	contextWords = lazily(`context_length_exceeded|exceed_context_size|context_window_exceeded|tokens_limit_reached|` +
		`max_prompt_tokens|request_too_large|maximum (prompt|input) length|range of input length|max_new_tokens[^.]{0,20}must be|` +
		`(maximum|max|model'?s?|available|exceeds?( the)?) context|context[ _-](length|window|size)|context (limit|overflow)|context the overflow|` +
		`(prompt|input|conversation|messages?|request) ((is|are|was) )?too (long|large)|too many (input )?tokens|token limit|` +
		`(prompt|input)( token count)?[^.]{0,60}exceeds?[^.]{0,40}(limit|max|tokens)|maximum (number of )?(input |prompt )?tokens|` +
		`reduce the length|greater than the max|longer than the model`)
	// A rate limit speaks of tokens too; only these cannot be waited for.
	tooLargeWords = lazily(`context_length_exceeded|request too large|request_too_large`)
	quotaWords    = lazily(`insufficient_quota|billing_hard_limit|billing_not_active|insufficient (balance|credits?|funds)|insufficient_(balance|credits)|credit balance is too low`)
	overQuota     = lazily(`exceeded your current quota|quota exceeded`)
	keyWords      = lazily(`invalid_api_key|api_key_invalid|authentication_error|(invalid|incorrect|missing|no) (authentication|api[ -]?key)|api[ -]?key (is )?(not valid|invalid|missing|required)|unauthorized`)
	modelWords    = lazily(`model_not_found|model_not_exist|not a valid model|(unknown|invalid|no such) model|no models? loaded|model[^.]{0,120}(does not exist|not found|not exist|is not available)`)
	toolUseWords  = lazily(`tool_use_failed|failed_generation`)
	busyWords     = lazily(`rate_limit|rate limit|overloaded|too_many_requests|too many requests|server_error|unavailable|queue is full|at capacity|timed? ?out`)
	missingWords  = lazily(`missing|required|must be (passed|provided|present|included|sent)`)
	requestWords  = lazily(`invalid_request|bad_request|badrequest|invalid_argument|unsupported_parameter|validation`)
)

func (f fault) words() string {
	return strings.ToLower(strings.Join(f.codes, " ") + " " + f.message)
}

// kind reads the fault's kind from its words first and its status second, for the
// statuses of servers agree less than their words.
func (f fault) kind() Kind {
	w, s := f.words(), f.status
	told := s == 0 || s == http.StatusBadRequest || s == http.StatusUnprocessableEntity
	switch {
	case f.overContext(w):
		return ContextLimit
	case s == http.StatusPaymentRequired, quotaWords().MatchString(w), overQuota().MatchString(w) && f.wait == 0:
		return Quota
	case s == http.StatusUnauthorized, s == http.StatusForbidden, told && keyWords().MatchString(w):
		return WrongKey
	case s == http.StatusNotFound, told && modelWords().MatchString(w):
		return UnknownModel
	case told && toolUseWords().MatchString(w):
		return Garbled
	case s == http.StatusTooManyRequests, s == http.StatusRequestTimeout, s == http.StatusTooEarly, s == http.StatusConflict, s >= 500:
		return Busy
	case s == 0 && (busyWords().MatchString(w) || !requestWords().MatchString(w)):
		return Busy // in a stream, what is not the request's fault is the server's
	}
	return BadRequest
}

func (f fault) overContext(words string) bool {
	switch f.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusPaymentRequired:
		return false
	case http.StatusTooManyRequests:
		return tooLargeWords().MatchString(words)
	case http.StatusRequestEntityTooLarge:
		return true
	}
	return contextWords().MatchString(words)
}

// unsupported names the optional field of the request that the fault is about, and
// makes the client leave it out.
func (x *exchange) unsupported(f fault) string {
	w := f.words()
	switch {
	case x.body.toolChoice && strings.Contains(w, "tool_choice"):
		x.client.noToolChoice.Store(true)
		return "tool_choice"
	case x.body.streamOptions && (strings.Contains(w, "stream_options") || strings.Contains(w, "include_usage")):
		x.client.noStreamOptions.Store(true)
		return "stream_options"
	case x.body.reasoning && strings.Contains(w, reasoningField) && !missingWords().MatchString(w):
		x.client.noReasoning.Store(true)
		return reasoningField
	}
	return ""
}

func (x *exchange) explainFault(e *Error, f fault) {
	e.Kind, e.Status, e.RetryAfter, e.Detail = f.kind(), f.status, f.wait, f.message
	// A gateway says by 404 that none of its servers takes the field.
	if e.Kind == BadRequest || e.Kind == UnknownModel {
		if e.Field = x.unsupported(f); e.Field != "" {
			e.Kind = UnsupportedField
		}
	}
	if e.Detail == "" {
		e.Detail = strings.Join(slices.Compact(f.codes), " ")
	}
	e.Text = x.faultText(e)
}

// faultText is the line for the developer.
func (x *exchange) faultText(e *Error) string {
	status := ""
	if e.Status != 0 {
		status = fmt.Sprintf(" (%d)", e.Status)
	}
	said := ""
	if e.Detail != "" {
		said = ": " + x.clean(e.Detail, maxQuoted)
	}
	host := x.host()
	switch e.Kind {
	case WrongKey:
		if x.client.key == "" {
			return fmt.Sprintf("the model server at %s wants a key%s: set OPENAI_API_KEY", host, status)
		}
		return fmt.Sprintf("the model server at %s refused the key%s: check OPENAI_API_KEY", host, status)
	case UnknownModel:
		return x.unknownModel(e, status) + said
	case Quota:
		return fmt.Sprintf("the account of OPENAI_API_KEY has no quota left at %s%s%s", host, status, said)
	case Busy:
		return fmt.Sprintf("the model server at %s cannot answer now%s%s%s", host, status, waitText(e.RetryAfter), said)
	case ContextLimit:
		return fmt.Sprintf("the conversation is longer than the model %q takes%s%s", x.model, status, said)
	case UnsupportedField:
		return fmt.Sprintf("the model server at %s does not take %q%s; it is left out from now on", host, e.Field, status)
	case Garbled:
		return fmt.Sprintf("the model server at %s could not use what the model said%s%s", host, status, said)
	}
	if e.Status == http.StatusMethodNotAllowed || status != "" && e.Status < 400 {
		return fmt.Sprintf("%s takes no questions%s%s; change OPENAI_BASE_URL (model.base_url)", x.client.at.shown(), status, said)
	}
	if x.model == "" {
		said += "; no model is named: set TANDEM_MODEL (model.name)"
	}
	return fmt.Sprintf("the model server at %s refused the request%s%s", host, status, said)
}

// unknownModel names the address as well when the server did not speak of a model:
// then it may not know the path.
func (x *exchange) unknownModel(e *Error, status string) string {
	if strings.Contains(strings.ToLower(e.Detail), "model") {
		return fmt.Sprintf("the model server at %s does not have the model %q%s; change TANDEM_MODEL (model.name)", x.host(), x.model, status)
	}
	return fmt.Sprintf("%s does not answer for the model %q%s; change OPENAI_BASE_URL (model.base_url) or TANDEM_MODEL (model.name)",
		x.client.at.shown(), x.model, status)
}

func waitText(wait time.Duration) string {
	if wait == 0 {
		return ""
	}
	return fmt.Sprintf("; it asks to wait %v", wait.Round(time.Millisecond))
}

// lazily compiles an expression when it is first used: most starts never need it.
func lazily(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
