package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// written makes a journal with the records and gives its path and bytes.
func written(t *testing.T, records ...string) (string, []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	j, _, err := Open(path, nothing)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := j.Append([]byte(r)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, raw
}

func nothing([]byte) error { return nil }

// reopened is what a journal of these bytes holds, and what it looks like afterwards.
func reopened(t *testing.T, raw []byte) (records []string, damage Damage, after []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s.jsonl")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	j, damage, err := Open(path, func(r []byte) error { records = append(records, string(r)); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Append([]byte(`{"n":"next"}`)); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	after, err = os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return records, damage, after
}

var three = []string{`{"n":1}`, `{"n":"two {\"sum\":\"x\" } inside"}`, `{"n":3}`}

func TestWhatWasAppendedIsReadBack(t *testing.T) {
	path, raw := written(t, three...)
	var got []string
	if _, err := Read(path, func(r []byte) error { got = append(got, string(r)); return nil }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, three) {
		t.Errorf("read %q", got)
	}
	if n := bytes.Count(raw, []byte("\n")); n != 3 {
		t.Errorf("%d lines for 3 records", n)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// TestTornAtEveryByte cuts the file at every byte: what is whole before the cut is there, the
// rest is gone, and the next record stands on a line of its own.
func TestTornAtEveryByte(t *testing.T) {
	_, raw := written(t, three...)
	for cut := range raw {
		got, damage, after := reopened(t, raw[:cut])
		whole := bytes.Count(raw[:cut], []byte("\n"))
		if !slices.Equal(got, three[:whole]) {
			t.Fatalf("cut at %d: read %q", cut, got)
		}
		kept := bytes.LastIndexByte(raw[:cut], '\n') + 1
		if damage.Torn != int64(cut-kept) || damage.Skipped != 0 {
			t.Fatalf("cut at %d: %+v", cut, damage)
		}
		if !bytes.HasPrefix(after, raw[:kept]) || bytes.Count(after, []byte("\n")) != whole+1 {
			t.Fatalf("cut at %d: after the repair %q", cut, after)
		}
	}
}

// TestEveryFlippedBitIsNoticed turns each byte of the middle record over: the others stay.
func TestEveryFlippedBitIsNoticed(t *testing.T) {
	_, raw := written(t, three...)
	first := bytes.IndexByte(raw, '\n') + 1
	end := first + bytes.IndexByte(raw[first:], '\n')
	for at := first; at < end; at++ {
		bad := bytes.Clone(raw)
		bad[at] ^= 0x20
		got, damage, _ := reopened(t, bad)
		if damage.Skipped == 0 || !slices.Equal(got, []string{three[0], three[2]}) {
			t.Fatalf("byte %d turned over: read %q, %+v", at, got, damage)
		}
	}
}

func TestGluedRecords(t *testing.T) {
	_, raw := written(t, three...)
	lines := strings.SplitAfter(string(raw), "\n")
	a, b, c := strings.TrimSuffix(lines[0], "\n"), strings.TrimSuffix(lines[1], "\n"), lines[2]
	for _, tc := range []struct {
		name, raw string
		want      []string
		skipped   int
	}{
		{"two whole on a line", a + b + "\n" + c, three, 0},
		{"three whole on a line", a + b + c, three, 0},
		{"a torn one glued to a whole", a[:len(a)-3] + b + "\n" + c, three[1:], 1},
		{"a torn head glued to a whole", a[:5] + c, three[2:], 1},
		{"garbage between", a + "\nnot json at all\n" + c, []string{three[0], three[2]}, 1},
		{"empty lines", a + "\n\n \n" + c, []string{three[0], three[2]}, 0},
		{"zeros, as a file system may leave", a + "\n" + strings.Repeat("\x00", 100) + c, []string{three[0], three[2]}, 1},
	} {
		got, damage, _ := reopened(t, []byte(tc.raw))
		if !slices.Equal(got, tc.want) || damage.Skipped != tc.skipped {
			t.Errorf("%s: read %q, skipped %d", tc.name, got, damage.Skipped)
		}
	}
}

// full is a file on a disk that takes only so many bytes more.
type full struct {
	file
	room     int
	sync     error
	truncate error
}

func (f *full) WriteAt(b []byte, at int64) (int, error) {
	if len(b) <= f.room {
		f.room -= len(b)
		return f.file.WriteAt(b, at)
	}
	n, _ := f.file.WriteAt(b[:f.room], at)
	f.room = 0
	return n, syscall.ENOSPC
}

func (f *full) Sync() error { return errors.Join(f.sync, f.file.Sync()) }
func (f *full) Truncate(n int64) error {
	if f.truncate != nil {
		return f.truncate
	}
	return f.file.Truncate(n)
}

func TestAFullDiskChangesNothing(t *testing.T) {
	path, raw := written(t, three...)
	j, _, err := Open(path, nothing)
	if err != nil {
		t.Fatal(err)
	}
	disk := &full{file: j.file, room: 10}
	j.file = disk
	if err := j.Append([]byte(`{"n":4}`)); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("append to a full disk: %v", err)
	}
	if got, _ := os.ReadFile(path); !bytes.Equal(got, raw) {
		t.Errorf("after the refused record: %q", got)
	}
	disk.room = 1 << 20
	if err := j.Append([]byte(`{"n":4}`)); err != nil {
		t.Errorf("append when there is room again: %v", err)
	}
	disk.sync = errors.New("input/output error")
	if err := j.Append([]byte(`{"n":5}`)); err == nil {
		t.Error("a record that is not synced was acknowledged")
	}
	disk.truncate = errors.New("read-only")
	if err := j.Append([]byte(`{"n":6}`)); err == nil {
		t.Error("appended though nothing can be synced")
	}
	disk.sync, disk.truncate = nil, nil
	if err := j.Append([]byte(`{"n":7}`)); err == nil {
		t.Error("appended behind a record that could not be taken back")
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	var got []string
	if _, err := Read(path, func(r []byte) error { got = append(got, string(r)); return nil }); err != nil {
		t.Fatal(err)
	}
	if want := append(slices.Clone(three), `{"n":4}`, `{"n":6}`); !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
}

func TestOneProcessAtATime(t *testing.T) {
	path, _ := written(t, three...)
	j, _, err := Open(path, nothing)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(path, nothing); !errors.Is(err, ErrLocked) {
		t.Errorf("opened twice: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	again, _, err := Open(path, nothing)
	if err != nil {
		t.Fatalf("after the close: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestARecordLargerThanTheBuffer(t *testing.T) {
	big := fmt.Sprintf(`{"n":%q}`, strings.Repeat("x", 3<<20))
	path, _ := written(t, `{"n":1}`, big, `{"n":3}`)
	var sizes []int
	if _, err := Read(path, func(r []byte) error { sizes = append(sizes, len(r)); return nil }); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(sizes, []int{7, len(big), 7}) {
		t.Errorf("sizes %v", sizes)
	}
}

// FuzzRead feeds any bytes: reading never panics, and what it reads back after the repair is the same.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"sum":"00000000","record":{}}` + "\n"))
	f.Add([]byte(`{"sum":"9ae0daaf","record":1}{"sum":"`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var first, second []string
		whole, _, err := read(bytes.NewReader(raw), func(r []byte) error { first = append(first, string(r)); return nil })
		if err != nil {
			t.Fatal(err)
		}
		_, damage, err := read(bytes.NewReader(raw[:whole]), func(r []byte) error { second = append(second, string(r)); return nil })
		if err != nil || damage.Torn != 0 || !slices.Equal(first, second) {
			t.Fatalf("%q then %q, %+v, %v", first, second, damage, err)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	j, _, err := Open(filepath.Join(b.TempDir(), "s.jsonl"), nothing)
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	record := []byte(fmt.Sprintf(`{"n":%q}`, strings.Repeat("x", 1000)))
	for b.Loop() {
		if err := j.Append(record); err != nil {
			b.Fatal(err)
		}
	}
}

// What would be written where nobody looks is refused and leaves nothing behind; where the file is put
// back, it goes on.
func TestAJournalThatIsTakenAway(t *testing.T) {
	for name, test := range map[string]struct{ away, back func(path string) error }{
		"moved":        {func(p string) error { return os.Rename(p, p+".x") }, func(p string) error { return os.Rename(p+".x", p) }},
		"replaced":     {func(p string) error { return errors.Join(os.Rename(p, p+".x"), os.WriteFile(p, nil, 0o600)) }, func(p string) error { return os.Rename(p+".x", p) }},
		"folder moved": {func(p string) error { return os.Rename(filepath.Dir(p), filepath.Dir(p)+".x") }, func(p string) error { return os.Rename(filepath.Dir(p)+".x", filepath.Dir(p)) }},
		"deleted":      {func(p string) error { return errors.Join(os.Link(p, p+".x"), os.Remove(p)) }, func(p string) error { return os.Rename(p+".x", p) }},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sessions", "s.jsonl")
			j, _, err := Open(path, nothing)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := j.Close(); err != nil {
					t.Error(err)
				}
			}()
			if err := errors.Join(j.Append([]byte(three[0])), test.away(path)); err != nil {
				t.Skipf("an open file cannot be taken away here: %v", err)
			}
			if err := j.Append([]byte(three[1])); !errors.Is(err, ErrGone) || !strings.Contains(err.Error(), path) {
				t.Errorf("append to nowhere: %v", err)
			}
			if err := errors.Join(test.back(path), j.Append([]byte(three[2]))); err != nil {
				t.Fatal(err)
			}
			var got []string
			if _, err := Read(path, func(r []byte) error { got = append(got, string(r)); return nil }); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, []string{three[0], three[2]}) {
				t.Errorf("read %q", got)
			}
		})
	}
}
