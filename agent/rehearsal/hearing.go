package rehearsal

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

// heardBytes is how much of an answer is kept as it came, for one that is no stream.
const heardBytes = 1 << 20

// hearing puts an answer together while it passes by. It is lenient: what it does not know
// it leaves out, for the client behind it is the judge of what came.
type hearing struct {
	begun, first, last time.Time // of the request, and of words
	all                bytes.Buffer
	rest               []byte // of a line that is not over
	text, reasoning    string
	calls              []toolCall
	reason             string // finish_reason
}

// heardChoice is a chunk's delta or a completion's message.
type heardChoice struct {
	Content          string `json:"content"`
	ReasoningContent string `json:"reasoning_content"`
	ToolCalls        []struct {
		Index    *int   `json:"index"`
		ID       string `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

type heardChunk struct {
	Choices []struct {
		Delta        heardChoice `json:"delta"`
		Message      heardChoice `json:"message"`
		FinishReason string      `json:"finish_reason"`
	} `json:"choices"`
}

// hear takes the next bytes of the answer.
func (h *hearing) hear(data []byte) {
	if h.all.Len() < heardBytes {
		h.all.Write(data)
	}
	h.rest = append(h.rest, data...)
	for {
		line, rest, ok := bytes.Cut(h.rest, []byte("\n"))
		if !ok {
			return
		}
		h.rest = rest
		h.line(bytes.TrimSpace(line))
	}
}

// finish hears a last line without an end, and an answer that was no stream but one body.
func (h *hearing) finish() {
	h.line(bytes.TrimSpace(h.rest))
	h.rest = nil
	if body := bytes.TrimSpace(h.all.Bytes()); bytes.HasPrefix(body, []byte("{")) {
		h.chunk(body)
	}
}

func (h *hearing) line(line []byte) {
	if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		h.chunk(bytes.TrimSpace(data))
	}
}

func (h *hearing) chunk(data []byte) {
	var c heardChunk
	if json.Unmarshal(data, &c) != nil || len(c.Choices) == 0 {
		return
	}
	if r := c.Choices[0].FinishReason; r != "" {
		h.reason = r
	}
	h.take(c.Choices[0].Delta)
	h.take(c.Choices[0].Message)
}

func (h *hearing) take(c heardChoice) {
	if c.Content+c.ReasoningContent != "" || len(c.ToolCalls) > 0 {
		h.last = time.Now()
		if h.first.IsZero() {
			h.first = h.last
		}
	}
	h.text += c.Content
	h.reasoning += c.ReasoningContent
	for _, call := range c.ToolCalls {
		at := h.open(call.Index, call.ID)
		h.calls[at].name += call.Function.Name
		h.calls[at].arguments += call.Function.Arguments
	}
}

// open finds the call that a piece belongs to: by its index, else its id, else the last one.
func (h *hearing) open(index *int, id string) int {
	if index != nil && *index >= 0 && *index < len(h.calls) {
		return *index
	}
	if index == nil {
		for i, c := range h.calls {
			if c.id == id || id == "" && i == len(h.calls)-1 {
				return i
			}
		}
	}
	h.calls = append(h.calls, toolCall{id: id})
	return len(h.calls) - 1
}

// whole tells whether the answer came to its end.
func (h *hearing) whole() bool { return h.reason != "" }

// pace is how fast the words came, in words a second; 0 is at once.
func (h *hearing) pace() float64 {
	took := h.last.Sub(h.first).Seconds()
	words := len(strings.Fields(h.text + " " + h.reasoning))
	if took < 0.1 || words == 0 {
		return 0
	}
	return max(0.1, min(float64(words)/took, 10000))
}
