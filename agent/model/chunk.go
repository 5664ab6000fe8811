package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// chunk is one event of a stream, or a whole JSON completion. Only what an answer is
// made of is declared, and each scalar takes every form that servers send it in: what
// a strict type refuses would be lost with the event around it.
type chunk struct {
	Object  string          `json:"object"`
	Error   json.RawMessage `json:"error"`
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Groq    struct {
		Error json.RawMessage `json:"error"`
		Usage json.RawMessage `json:"usage"`
	} `json:"x_groq"`
}

type choice struct {
	Index   number          `json:"index"`
	Delta   *words          `json:"delta"`
	Message *words          `json:"message"` // of a whole completion
	Finish  scalar          `json:"finish_reason"`
	Usage   json.RawMessage `json:"usage"`
}

// words are what the model said in one chunk.
type words struct {
	Content          content     `json:"content"`
	Refusal          scalar      `json:"refusal"`
	ReasoningContent scalar      `json:"reasoning_content"`
	Reasoning        scalar      `json:"reasoning"`
	ToolCalls        []callDelta `json:"tool_calls"`
}

// thought is the reasoning in w; servers that send it under two names send it twice.
func (w *words) thought() string {
	if w.ReasoningContent != "" {
		return w.Content.thinking + string(w.ReasoningContent)
	}
	return w.Content.thinking + string(w.Reasoning)
}

type callDelta struct {
	Index    number `json:"index"`
	ID       scalar `json:"id"`
	Function struct {
		Name      scalar   `json:"name"`
		Arguments argument `json:"arguments"`
	} `json:"function"`
	// Extra is what some servers want back with the call as it came, such as Gemini's signature of a thought.
	Extra json.RawMessage `json:"extra_content"`
}

// parseChunk decodes one event. Only an event whose structure is another than a
// completion's is an error.
func parseChunk(text []byte) (chunk, error) {
	var c chunk
	err := json.Unmarshal(text, &c)
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) && !strings.HasPrefix(mismatch.Field, "choices") {
		err = nil // a field that an answer can do without
	}
	return c, err
}

// fault is the error that the event carries, or nil.
func (c *chunk) fault(text []byte) []byte {
	switch {
	case isSet(c.Error):
		return c.Error
	case isSet(c.Groq.Error):
		return c.Groq.Error
	case c.Object == "error":
		return text
	}
	return nil
}

// isSet tells whether an optional value says anything.
func isSet(value json.RawMessage) bool {
	switch string(bytes.TrimSpace(value)) {
	case "", "null", "false", `""`, "{}", "[]":
		return false
	}
	return true
}

// scalar is a string that may come as a number or null.
type scalar string

func (s *scalar) UnmarshalJSON(text []byte) error {
	switch text[0] {
	case '"':
		return json.Unmarshal(text, (*string)(s))
	case 'n', '{', '[':
		return nil
	}
	*s = scalar(text)
	return nil
}

// number is an index that may be missing, null, or in quotes.
type number struct {
	value int
	known bool
}

func (n *number) UnmarshalJSON(text []byte) error {
	value, err := strconv.Atoi(strings.Trim(string(text), `"`))
	*n = number{value: value, known: err == nil}
	return nil
}

// content is text that may be null or a list of parts, some of them thinking.
type content struct{ text, thinking string }

func (c *content) UnmarshalJSON(text []byte) error {
	switch text[0] {
	case '"':
		return json.Unmarshal(text, &c.text)
	case 'n':
		return nil
	case '{':
		text = append(append([]byte{'['}, text...), ']')
	}
	var parts []contentPart
	if err := json.Unmarshal(text, &parts); err != nil {
		return errors.New("content is neither text nor parts")
	}
	for _, p := range parts {
		c.text += string(p.Text)
		c.thinking += p.Thinking.text + p.Thinking.thinking
	}
	return nil
}

// contentPart keeps its thinking apart from its text; thinking nests content again.
type contentPart struct {
	Text     scalar  `json:"text"`
	Thinking content `json:"thinking"`
}

// argument is the text of a tool call's arguments, which may come as the object itself.
type argument string

func (a *argument) UnmarshalJSON(text []byte) error {
	switch text[0] {
	case '"':
		return json.Unmarshal(text, (*string)(a))
	case 'n':
		return nil
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return err
	}
	*a = argument(compact.String())
	return nil
}

// parseUsage reads the counts under every name that servers give them; ok is false
// when the server told none.
func parseUsage(text json.RawMessage) (u Usage, ok bool) {
	if !isSet(text) {
		return Usage{}, false
	}
	var v struct {
		Prompt     count `json:"prompt_tokens"`
		Input      count `json:"input_tokens"`
		Completion count `json:"completion_tokens"`
		Output     count `json:"output_tokens"`
		Cached     count `json:"cached_tokens"`
		CacheHit   count `json:"prompt_cache_hit_tokens"`
		Details    struct {
			Cached count `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
	// A count of a wrong type is left at zero; the others stand.
	_ = json.Unmarshal(text, &v)
	u = Usage{
		InputTokens:       int(max(v.Prompt, v.Input)),
		CachedInputTokens: int(max(v.Cached, v.CacheHit, v.Details.Cached)),
		OutputTokens:      int(max(v.Completion, v.Output)),
	}
	return u, u != Usage{}
}

// count is a number of tokens: whole, not negative, believable.
type count int

func (c *count) UnmarshalJSON(text []byte) error {
	f, err := strconv.ParseFloat(strings.Trim(string(text), `"`), 64)
	if err == nil && f > 0 && f < 1e12 {
		*c = count(f)
	}
	return nil
}
