package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// shelf is a store with contents that were last used some days ago, and files that name some of them.
type shelf struct {
	*testing.T
	home string
	now  time.Time
}

func (s shelf) ago(days int) time.Time { return s.now.Add(-time.Duration(days) * 24 * time.Hour) }

func (s shelf) dir() string { return filepath.Join(s.home, "store") }

// put keeps a content that was last used some days ago.
func (s shelf) put(text string, days int) {
	s.Helper()
	store, err := OpenStore(s.dir())
	if err != nil {
		s.Fatal(err)
	}
	defer store.Close()
	digest, err := store.Put([]byte(text))
	if err == nil {
		err = os.Chtimes(filepath.Join(s.dir(), place(digest)), s.ago(days), s.ago(days))
	}
	if err != nil {
		s.Fatal(err)
	}
}

// journal names contents, and was written some days ago.
func (s shelf) journal(days int, texts ...string) string {
	s.Helper()
	line := `{"sum":"` + strings.Repeat("0", 65) + `"`
	for _, text := range texts {
		line += `,"digest":"` + Digest([]byte(text)) + `"`
	}
	at := filepath.Join(s.home, texts[0]+".jsonl")
	write(s, at, line+"}\n")
	if err := os.Chtimes(at, s.ago(days), s.ago(days)); err != nil {
		s.Fatal(err)
	}
	return at
}

// has tells which of the texts are kept.
func (s shelf) has(texts ...string) string {
	var kept []string
	for _, text := range texts {
		if _, err := os.Stat(filepath.Join(s.dir(), place(Digest([]byte(text))))); err == nil {
			kept = append(kept, text)
		}
	}
	return strings.Join(kept, " ")
}

func TestPruneStore(t *testing.T) {
	list := `{"files":[{"digest":"` + Digest([]byte("input")) + `"}]}`
	for _, tc := range []struct {
		name string
		size int64
		want string
	}{
		{"what is old and unnamed goes", 1 << 20, "young fresh old input"},
		{"then what is unnamed", int64(len("fresh"+"old"+"input") + len(list)), "fresh old input"},
		{"then what old sessions name", int64(len("fresh"+"input") + len(list)), "fresh input"},
		{"what a young session names stays", 1, "fresh input"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := shelf{t, t.TempDir(), time.Now()}
			for text, days := range map[string]int{"young": 3, "fresh": 60, "old": 60, "gone": 60, "input": 60, list: 60} {
				s.put(text, days)
			}
			naming := []string{s.journal(5, "fresh", list), s.journal(50, "old", "fresh")}
			r := Kept
			r.Size = tc.size
			done, err := PruneStore(t0, s.dir(), naming, s.now, r)
			if err != nil || done.Contents == 0 {
				t.Fatal(done, err)
			}
			if got := s.has("young", "fresh", "old", "gone", "input"); got != tc.want || s.has(list) == "" {
				t.Errorf("there are %q, want %q", got, tc.want)
			}
		})
	}
}

// Nothing goes while anybody has the store open, when a journal cannot be read, or when the time is up.
func TestPruneStoreLeavesAloneWhatMayBeNeeded(t *testing.T) {
	s := shelf{t, t.TempDir(), time.Now()}
	s.put("gone", 60)
	prune := func(ctx context.Context, naming ...string) error {
		done, err := PruneStore(ctx, s.dir(), naming, s.now, Kept)
		if done.Contents > 0 || s.has("gone") == "" {
			t.Error("it went")
		}
		return err
	}
	store, err := OpenStore(s.dir())
	if err != nil {
		t.Fatal(err)
	}
	if err := prune(t0); err != nil {
		t.Errorf("while it is open: %v", err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if err := prune(t0, filepath.Join(s.home, "none.jsonl")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a journal: %v", err)
	}
	ctx, cancel := context.WithCancel(t0)
	cancel()
	if err := prune(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("without time: %v", err)
	}
	if done, err := PruneStore(t0, s.dir(), nil, s.now, Kept); err != nil || done.Contents != 1 || done.Bytes != 4 {
		t.Errorf("at last: %+v, %v", done, err)
	}
	if _, err := PruneStore(t0, filepath.Join(s.home, "none"), nil, s.now, Kept); err != nil {
		t.Errorf("of no store: %v", err)
	}
}

// A content that is put again is as one that is new; what a process that died left half-way goes.
func TestPruneStoreGoesByTheLastUse(t *testing.T) {
	s := shelf{t, t.TempDir(), time.Now()}
	s.put("again", 60)
	store, err := OpenStore(s.dir())
	if err == nil {
		_, err = store.Put([]byte("again"))
		err = errors.Join(err, store.Close())
	}
	half := filepath.Join(s.dir(), "ab", ".half")
	write(t, half, "half")
	if err = errors.Join(err, os.Chtimes(half, s.ago(1), s.ago(1))); err != nil {
		t.Fatal(err)
	}
	if done, err := PruneStore(t0, s.dir(), nil, s.now, Kept); err != nil || done.Contents != 0 || s.has("again") == "" {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := os.Stat(half); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was left half-way: %v", err)
	}
}

func TestDigestsIn(t *testing.T) {
	a, b := Digest([]byte("a")), Digest([]byte("b"))
	var got []string
	err := digestsIn(strings.NewReader(a+" x"+b+"\""+a+"f"+strings.ToUpper(b)+"g"+b[:63]+"\n"+b), func(d string) { got = append(got, d) })
	if err != nil || !slices.Equal(got, []string{a, b, b}) {
		t.Errorf("%q, %v", got, err)
	}
}
