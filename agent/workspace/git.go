package workspace

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// What git has committed or staged it keeps already. So a file that stands as git's index says is
// not copied by a snapshot: where a command has changed it, its content before is asked of git, and
// kept then. The index and the objects are read; nothing in .git is ever written.

// blob names a content in git's objects; the zero value is none.
type blob [sha1.Size]byte

// index is git's index of the workspace: what git knows of files, by path.
type index struct {
	stamp stamp // of its file
	files map[string]tracked
}

// tracked is a file as git last saw it. Times are in nanoseconds.
type tracked struct {
	blob              blob
	size, inode       uint32
	modified, changed int64
}

// maxIndex is the largest index that is read, in bytes; one of a million files has about 100 MB.
const maxIndex = 256 << 20

// blob is what git calls the content of a file with a stamp; none where git last saw it otherwise,
// or so shortly before it wrote its index that it may have changed behind that.
func (x *index) blob(name string, s stamp) blob {
	if x == nil {
		return blob{}
	}
	t, ok := x.files[name]
	same := ok && uint32(s.size) == t.size && uint32(s.inode) == t.inode && s.modified == t.modified && s.changed == t.changed
	if !same || s.youngest() >= x.stamp.modified {
		return blob{}
	}
	return t.blob
}

// findGit looks for git on the path; "" when there is none. One that lies in the workspace is
// repository text, and is not run.
func findGit(workspace string) string {
	at, err := exec.LookPath("git")
	if err != nil || within(workspace, at) {
		return ""
	}
	return at
}

// gitIndex reads the index of a repository whose top is the workspace, unless it is the one that was
// read. Where it cannot be read, or git is not there, files are copied.
func (w *Workspace) gitIndex(was *index) *index {
	const name = ".git/index"
	info, err := w.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIndex || w.git == "" {
		return nil
	}
	at := stampOf(info)
	if was != nil && was.stamp == at && time.Since(info.ModTime()) > clockGrain {
		return was
	}
	data, err := w.root.ReadFile(name)
	if err != nil {
		return nil
	}
	files, err := parseIndex(data)
	if err != nil || w.converts(files) {
		files = nil // remembered, so that it is not read again
	}
	return &index{at, files}
}

// converts says that files of the workspace may hold something else than what git keeps of them.
func (w *Workspace) converts(files map[string]tracked) bool {
	says := func(name string, words ...string) bool {
		data, err := w.root.ReadFile(name)
		return err == nil && slices.ContainsFunc(words, func(word string) bool { return bytes.Contains(data, []byte(word)) })
	}
	attributes := []string{"filter", "ident", "working-tree-encoding", "eol"}
	if says(".git/config", "autocrlf") || says(".git/info/attributes", attributes...) {
		return true
	}
	for name := range files {
		if path.Base(name) == ".gitattributes" && says(name, attributes...) {
			return true
		}
	}
	return false
}

var errIndex = errors.New("this is no index of git that can be read")

// The layout of an index: a head, then for each file a fixed part, its name, and zeros.
const (
	indexHead  = 12
	fixedPart  = 62
	longFlags  = 0x4000
	nameLength = 0x0fff
)

// parseIndex reads versions 2 and 3 with SHA-1 names: what git writes unless told otherwise. The
// last bytes are the sum of those before.
func parseIndex(data []byte) (map[string]tracked, error) {
	end := len(data) - sha1.Size
	if end < indexHead || string(data[:4]) != "DIRC" || sha1.Sum(data[:end]) != [sha1.Size]byte(data[end:]) {
		return nil, errIndex
	}
	version, count := binary.BigEndian.Uint32(data[4:]), binary.BigEndian.Uint32(data[8:])
	if version != 2 && version != 3 || int64(count) > int64(end/fixedPart) {
		return nil, errIndex
	}
	files := make(map[string]tracked, count)
	rest := data[indexHead:end]
	for range count {
		name, t, n := indexEntry(rest)
		if n == 0 {
			return nil, errIndex
		}
		if name != "" {
			files[name] = t
		}
		rest = rest[n:]
	}
	return files, nil
}

// indexEntry reads one file and tells how many bytes that were; 0 is an error. It has no name when it
// is no plain file whose content git has seen: a link, a submodule, a side of a conflict, a file that
// git was told not to look at.
func indexEntry(b []byte) (name string, t tracked, n int) {
	if len(b) < fixedPart {
		return "", t, 0
	}
	be := binary.BigEndian
	flags, start := be.Uint16(b[60:]), fixedPart
	if flags&longFlags != 0 {
		start += 2
	}
	length := bytes.IndexByte(b[min(start, len(b)):], 0)
	if length < 0 {
		return "", t, 0
	}
	if n = (start + length + 8) &^ 7; n > len(b) {
		return "", t, 0
	}
	if plain := be.Uint32(b[24:])>>12 == 0o10; !plain || flags&^nameLength != 0 {
		return "", t, n
	}
	at := func(i int) int64 { return int64(be.Uint32(b[i:]))*int64(time.Second) + int64(be.Uint32(b[i+4:])) }
	t = tracked{blob: blob(b[40:60]), size: be.Uint32(b[36:]), inode: be.Uint32(b[20:]), modified: at(8), changed: at(0)}
	return string(b[start : start+length]), t, n
}

// fromGit gets the contents of paths that only git has, and keeps them. What git cannot give stays
// unknown.
func (w *Workspace) fromGit(ctx context.Context, pairs []pair) {
	left := int64(keptTotal)
	var wanted []*entry
	for i := range pairs {
		for _, side := range []**entry{&pairs[i].before, &pairs[i].after} {
			e := *side
			if e == nil || e.blob == (blob{}) || e.image.Size > min(left, maxFile) {
				continue
			}
			left -= e.image.Size
			own, image := *e, *e.image // what is in a snapshot never changes
			own.image = &image
			*side = &own
			wanted = append(wanted, &own)
		}
	}
	if len(wanted) > 0 {
		_ = w.askGit(ctx, wanted) // what it did not get has no digest
	}
}

// askGit reads contents from git's objects. No configuration can make this command run another, and
// it fetches nothing.
func (w *Workspace) askGit(ctx context.Context, wanted []*entry) error {
	var ids bytes.Buffer
	for _, e := range wanted {
		ids.WriteString(hex.EncodeToString(e.blob[:]) + "\n")
	}
	cmd := exec.CommandContext(ctx, w.git, "--no-replace-objects", "-c", "core.fsmonitor=false", "-c", "core.hooksPath="+os.DevNull,
		"--git-dir="+filepath.Join(w.dir, ".git"), "cat-file", "--batch")
	cmd.Dir = w.dir
	cmd.Env = []string{"GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull}
	cmd.Stdin, cmd.WaitDelay = &ids, time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = w.keepBlobs(bufio.NewReader(out), wanted)
	if err != nil {
		_, _ = io.Copy(io.Discard, out)
	}
	return errors.Join(err, cmd.Wait())
}

// keepBlobs reads what git answers, in the order in which it was asked.
func (w *Workspace) keepBlobs(r *bufio.Reader, wanted []*entry) error {
	for _, e := range wanted {
		head, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		var id, kind string
		var size int64
		if n, _ := fmt.Sscanf(head, "%s %s %d", &id, &kind, &size); n < 3 {
			if strings.HasSuffix(strings.TrimSpace(head), "missing") {
				continue
			}
			return fmt.Errorf("git cat-file answered %q", head)
		}
		if err := w.keepBlob(io.LimitReader(r, size), e, size); err != nil {
			return err
		}
		if _, err := r.Discard(1); err != nil {
			return err
		}
	}
	return nil
}

// keepBlob keeps one content, if it is what the file held: where git was told elsewhere than in the
// workspace to convert files, the size is another.
func (w *Workspace) keepBlob(r io.Reader, e *entry, size int64) error {
	if size != e.image.Size {
		_, err := io.Copy(io.Discard, r)
		return err
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(r, data); err != nil {
		return err
	}
	if sha1.Sum(append(fmt.Appendf(nil, "blob %d\x00", size), data...)) != e.blob {
		return nil
	}
	digest, err := w.store.put(data, false)
	if err == nil {
		e.image.Digest = digest
	}
	return err
}
