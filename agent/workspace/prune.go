package workspace

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// Rule says which contents a store may lose: those that nobody names and that are old, and, where it
// is larger than it may be, the oldest, but never one that was named lately.
type Rule struct {
	// Unnamed is how long a content is kept that nothing names; Named how long one stays for sure
	// after what names it was last written.
	Unnamed, Named time.Duration
	// Size is how many bytes the store may hold before contents go that are named, or younger.
	Size int64
}

// Kept is the rule of Tandem's own stores.
var Kept = Rule{Unnamed: 30 * 24 * time.Hour, Named: 30 * 24 * time.Hour, Size: 4 << 30}

// Pruned is what a store has lost.
type Pruned = struct {
	Contents int
	Bytes    int64
}

// held is one content of a store. Used is when it was last put, Named when what names it was last
// written; zero is never.
type held struct {
	at          string
	size        int64
	used, named time.Time
}

// PruneStore takes out of the store in dir what its rule lets go. The naming files are those in which
// contents are named by their digests; what a named list names is named too. It does nothing while any
// process has the store open, and nothing when one of the naming files cannot be read.
func PruneStore(ctx context.Context, dir string, naming []string, now time.Time, r Rule) (Pruned, error) {
	lock := storeLock(dir)
	if free, err := lock.TryLock(); err != nil || !free {
		return Pruned{}, errors.Join(err, lock.Close())
	}
	done, err := prune(ctx, dir, naming, now, r)
	if err = errors.Join(err, lock.Close()); err != nil {
		return done, fmt.Errorf("prune content store %s: %w", dir, err)
	}
	return done, nil
}

// storeLock is held, shared, by whoever has a store open: what is only remembered there is named by
// nothing on disk.
func storeLock(dir string) *flock.Flock { return flock.New(dir+".lock", flock.SetPermissions(0o600)) }

func prune(ctx context.Context, dir string, naming []string, now time.Time, r Rule) (done Pruned, err error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return done, nil
	}
	if err != nil {
		return done, err
	}
	defer root.Close()
	named, err := namedBy(ctx, naming)
	if err != nil {
		return done, err
	}
	all, left, err := stock(ctx, root, named, now)
	if err != nil {
		return done, err
	}
	var total int64
	for _, c := range all {
		total += c.size
	}
	for _, c := range all {
		if err := ctx.Err(); err != nil {
			return done, err
		}
		if !r.lets(c, now, total) {
			continue
		}
		if err := root.Remove(c.at); err != nil {
			return done, err
		}
		total -= c.size
		done.Contents, done.Bytes = done.Contents+1, done.Bytes+c.size
	}
	for _, name := range left {
		err = errors.Join(err, root.Remove(name))
	}
	return done, err
}

// lets says that a content may go. They are asked about in the order in which they go.
func (r Rule) lets(c held, now time.Time, total int64) bool {
	if c.named.IsZero() {
		return now.Sub(c.used) > r.Unnamed || total > r.Size
	}
	return now.Sub(c.named) > r.Named && total > r.Size
}

// namedBy is when each digest was last named, by the time of the files that do.
func namedBy(ctx context.Context, naming []string) (map[string]time.Time, error) {
	named := map[string]time.Time{}
	for _, name := range naming {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		err := func() error {
			f, err := os.Open(name)
			if err != nil {
				return err
			}
			defer f.Close()
			info, err := f.Stat()
			if err != nil {
				return err
			}
			return digestsIn(f, func(digest string) {
				if named[digest].Before(info.ModTime()) {
					named[digest] = info.ModTime()
				}
			})
		}()
		if err != nil {
			return nil, err
		}
	}
	return named, nil
}

// digestsIn finds what reads like a digest: that many hexadecimal digits in a row, and no more.
func digestsIn(r io.Reader, found func(digest string)) error {
	in := bufio.NewReaderSize(r, 64<<10)
	var run []byte
	flush := func() {
		if len(run) == hex.EncodedLen(sha256.Size) {
			found(string(run))
		}
		run = run[:0]
	}
	for {
		b, err := in.ReadByte()
		if errors.Is(err, io.EOF) {
			flush()
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case '0' <= b && b <= '9' || 'a' <= b && b <= 'f':
			if len(run) <= hex.EncodedLen(sha256.Size) {
				run = append(run, b)
			}
		default:
			flush()
		}
	}
}

// stock is what a store holds, in the order in which it may go: what nothing names first, and of
// each the oldest. Left are files that a process which died had not finished.
func stock(ctx context.Context, root *os.Root, named map[string]time.Time, now time.Time) (all []held, left []string, err error) {
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return errors.Join(err, ctx.Err())
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		digest := strings.ReplaceAll(name, "/", "")
		switch {
		case place(digest) == name:
			all = append(all, held{at: name, size: info.Size(), used: info.ModTime(), named: named[digest]})
		case strings.HasPrefix(path.Base(name), ".") && now.Sub(info.ModTime()) > stale:
			left = append(left, name)
		}
		return nil
	})
	if err == nil {
		err = throughLists(root, all, named)
	}
	slices.SortFunc(all, func(a, b held) int { return cmp.Or(a.named.Compare(b.named), a.used.Compare(b.used)) })
	return all, left, err
}

// throughLists names what a named content names that is a list: the inputs of a scenario are kept so.
func throughLists(root *os.Root, all []held, named map[string]time.Time) error {
	more := map[string]time.Time{}
	for _, c := range all {
		if c.named.IsZero() {
			continue
		}
		data, err := root.ReadFile(c.at)
		if err != nil {
			return err
		}
		if !bytes.HasPrefix(data, []byte("{")) {
			continue
		}
		err = digestsIn(bytes.NewReader(data), func(digest string) {
			if more[digest].Before(c.named) {
				more[digest] = c.named
			}
		})
		if err != nil {
			return err
		}
	}
	for i := range all {
		if at := more[strings.ReplaceAll(all[i].at, "/", "")]; all[i].named.Before(at) {
			all[i].named = at
		}
	}
	return nil
}
