package workspace

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/gofrs/flock"
)

// Store keeps contents by the SHA-256 of their bytes, each once, below one folder:
// ab/cdef… with mode 0600 in folders of mode 0700. Several processes may share it. A nil
// Store keeps nothing.
type Store struct {
	dir  string
	root *os.Root
	lock *flock.Flock
}

// ErrNotKept is wrapped when a content was never kept.
var ErrNotKept = errors.New("its content was not kept")

// errStoreGone says that what would be kept nobody would find.
var errStoreGone = errors.New("the folder was removed or replaced while Tandem ran; put it back, or end this session and start another")

// OpenStore opens the store in dir and makes the folder if it is not there.
func OpenStore(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open content store %s: %w", dir, err)
	}
	lock := storeLock(dir)
	if err := lock.RLock(); err != nil {
		return nil, fmt.Errorf("open content store %s: %w", dir, errors.Join(err, lock.Close()))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open content store %s: %w", dir, errors.Join(err, lock.Close()))
	}
	return &Store{dir: dir, root: root, lock: lock}, nil
}

// Close gives the store's handle back.
func (s *Store) Close() error {
	if s == nil {
		return nil
	}
	return errors.Join(s.root.Close(), s.lock.Close())
}

// Digest names a content.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// place is where a content lies; "" when the digest is none.
func place(digest string) string {
	if raw, err := hex.DecodeString(digest); err != nil || len(raw) != sha256.Size {
		return ""
	}
	return digest[:2] + "/" + digest[2:]
}

// Put keeps a content and gives its digest. When it returns, the content outlives the
// process, and the machine too.
func (s *Store) Put(data []byte) (string, error) { return s.put(data, true) }

// put without sync outlives only the process: that is enough for a snapshot, whose loss
// takes nothing from the workspace.
func (s *Store) put(data []byte, sync bool) (string, error) {
	digest := Digest(data)
	if s == nil {
		return digest, nil
	}
	if sync && gone(s.root, s.dir) {
		return "", fmt.Errorf("keep content in %s: %w", s.dir, errStoreGone)
	}
	at := place(digest)
	if info, err := s.root.Lstat(at); err == nil && info.Size() == int64(len(data)) {
		return digest, s.use(at, info)
	}
	if err := s.root.Mkdir(path.Dir(at), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("keep content in %s: %w", s.dir, err)
	}
	temp := path.Join(path.Dir(at), "."+rand.Text())
	if err := writeNew(s.root, temp, data, 0o600, sync); err != nil {
		return "", fmt.Errorf("keep content in %s: %w", s.dir, err)
	}
	if err := s.root.Rename(temp, at); err != nil {
		return "", errors.Join(fmt.Errorf("keep content in %s: %w", s.dir, err), s.root.Remove(temp))
	}
	if !sync {
		return digest, nil
	}
	return digest, syncDir(s.root, path.Dir(at))
}

// use notes that a content is put again, to the day: contents go by when they were last used.
func (s *Store) use(at string, info fs.FileInfo) error {
	now := time.Now()
	if now.Sub(info.ModTime()) < 24*time.Hour {
		return nil
	}
	if err := s.root.Chtimes(at, now, now); err != nil {
		return fmt.Errorf("keep content in %s: %w", s.dir, err)
	}
	return nil
}

// Has tells whether a content is kept.
func (s *Store) Has(digest string) bool {
	at := place(digest)
	if s == nil || at == "" {
		return false
	}
	_, err := s.root.Lstat(at)
	return err == nil
}

// Get gives a content. It fails with ErrNotKept when there is none, and when the bytes are
// not those that the digest names.
func (s *Store) Get(digest string) ([]byte, error) {
	at := place(digest)
	if s == nil || at == "" {
		return nil, fmt.Errorf("read content %.12s: %w", digest, ErrNotKept)
	}
	data, err := s.root.ReadFile(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read content %.12s from %s: %w", digest, s.dir, ErrNotKept)
	}
	if err != nil {
		return nil, fmt.Errorf("read content %.12s from %s: %w", digest, s.dir, err)
	}
	if Digest(data) != digest {
		return nil, fmt.Errorf("read content %.12s from %s: its bytes were altered", digest, s.dir)
	}
	return data, nil
}

// writeNew makes a file that was not there, and removes it again when anything goes wrong.
// The process's mask applies to perm.
func writeNew(root *os.Root, name string, data []byte, perm fs.FileMode, sync bool) (err error) {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, root.Remove(name))
		}
	}()
	if _, err = bytes.NewReader(data).WriteTo(f); err != nil {
		return err
	}
	if sync {
		return f.Sync()
	}
	return nil
}
