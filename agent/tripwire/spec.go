package tripwire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"tandem/protocol"
)

// Spec is a stop condition as a developer writes it: a name and exactly one kind.
type Spec struct {
	Name string `json:"name"`
	// Scenario names what reruns after a decision; "" leaves that to the files that are watched.
	Scenario string `json:"scenario,omitempty"`

	Schema    *Schema    `json:"schema,omitempty"`
	Require   *Require   `json:"require,omitempty"`
	Command   *Command   `json:"command,omitempty"`
	Range     *Range     `json:"range,omitempty"`
	Count     *Count     `json:"count,omitempty"`
	Equal     *Equal     `json:"equal,omitempty"`
	Paths     *Paths     `json:"paths,omitempty"`
	Unchanged *Unchanged `json:"unchanged,omitempty"`
	Budget    *Budget    `json:"budget,omitempty"`
}

// The kinds. Files are slash-separated paths relative to the workspace.
type (
	// Schema wants a JSON file, or each line of a JSON Lines file, to be as a JSON Schema says.
	Schema struct {
		File   string `json:"file"`
		Schema string `json:"schema"`
	}
	// Require wants fields to be there: JSON pointers, or columns of a CSV file.
	Require struct {
		File   string   `json:"file"`
		Fields []string `json:"fields"`
	}
	// Command wants a command to end with an exit code.
	Command struct {
		Run  string `json:"run"`
		Exit int    `json:"exit"`
		// After are globs of the files after whose change it runs; none: after each change.
		After []string `json:"after,omitempty"`
		// TimeoutS bounds it, in seconds; 0 is ten minutes.
		TimeoutS int `json:"timeout_s,omitempty"`
	}
	// Range wants a value to be a number in a range, its ends included. One may be absent.
	Range struct {
		Value Operand      `json:"value"`
		Min   *json.Number `json:"min,omitempty"`
		Max   *json.Number `json:"max,omitempty"`
	}
	// Count wants a number of records: rows of a CSV file, lines of a JSON Lines file, elements
	// of the JSON array At a pointer.
	Count struct {
		Records string `json:"records"`
		At      string `json:"at,omitempty"`
		Min     *int64 `json:"min,omitempty"`
		Max     *int64 `json:"max,omitempty"`
	}
	// Equal wants two values to be the same, numbers within a tolerance.
	Equal struct {
		Left      Operand     `json:"left"`
		Right     Operand     `json:"right"`
		Tolerance json.Number `json:"tolerance,omitempty"`
	}
	// Paths names by globs what no operation may write.
	Paths struct {
		Forbid []string `json:"forbid"`
	}
	// Unchanged wants something of files to be as it was when the session started.
	Unchanged struct {
		Files []string `json:"files"`
		What  string   `json:"what"` // "dependencies"
	}
	// Budget bounds what a session may use; 0 is no bound.
	Budget struct {
		Requests int64 `json:"requests,omitempty"`
		Tokens   int64 `json:"tokens,omitempty"`
		Minutes  int64 `json:"minutes,omitempty"`
		// Repeats is the number of like calls in a row that trips.
		Repeats int64 `json:"repeats,omitempty"`
	}
)

// Operand is one side of a condition: a value source, or a number as it stands.
type Operand struct {
	Number json.Number // "" when it is a source
	Source protocol.Source
}

// UnmarshalJSON reads a number, or a source.
func (o *Operand) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '{' {
		return json.Unmarshal(b, &o.Source)
	}
	if _, err := parseNumber(string(b)); err != nil {
		return errors.New("a number or a value source is wanted")
	}
	o.Number = json.Number(b)
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (o Operand) MarshalJSON() ([]byte, error) {
	if o.Number != "" {
		return []byte(o.Number), nil
	}
	return json.Marshal(o.Source)
}

// SpecError says what is wrong with a Spec or a source. Key is the path of the key, such as
// "range.value.sql", "" for the whole.
type SpecError struct {
	Key  string
	Text string
}

func (e *SpecError) Error() string {
	return strings.TrimPrefix(e.Key+": "+e.Text, ": ")
}

func wrong(key, format string, args ...any) error {
	return &SpecError{key, fmt.Sprintf(format, args...)}
}

// below puts a key in front of that of an error.
func below(key string, err error) error {
	var e *SpecError
	if !errors.As(err, &e) {
		return err
	}
	if e.Key != "" && e.Key[0] != '[' {
		key += "."
	}
	return &SpecError{key + e.Key, e.Text}
}
