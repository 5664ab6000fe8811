package journal

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// FuzzOpen opens a journal of any bytes, which repairs it, and goes on with it: whole records stay,
// and what is appended stands behind them, and nothing else does.
func FuzzOpen(f *testing.F) {
	f.Add([]byte(nil), []byte(`1`))
	f.Add(Line([]byte(`{"a":1}`)), []byte(`{"b":2}`))
	f.Add(append(Line([]byte(`1`)), []byte(`{"sum":"`)...), []byte(`"x"`))
	f.Add(append([]byte("\x00\x00\n"), Line([]byte(`1`))...), []byte(`[]`))
	f.Add(Line([]byte(`1`))[:20], []byte(`null`))
	path := filepath.Join(f.TempDir(), "s.jsonl")
	f.Fuzz(func(t *testing.T, raw, record []byte) {
		if slices.Contains(record, '\n') || len(record) == 0 {
			return // a record is one value without a line break
		}
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		var want, got []string
		j, _, err := Open(path, func(r []byte) error { want = append(want, string(r)); return nil })
		if err != nil {
			t.Fatal(err)
		}
		err = j.Append(record)
		if cerr := j.Close(); err != nil || cerr != nil {
			t.Fatal(err, cerr)
		}
		damage, err := Read(path, func(r []byte) error { got = append(got, string(r)); return nil })
		if want = append(want, string(record)); err != nil || damage.Torn != 0 || !slices.Equal(got, want) {
			t.Errorf("%q with %q reads as %q, want %q; %+v, %v", raw, record, got, want, damage, err)
		}
	})
}
