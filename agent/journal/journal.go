// Package journal keeps a session's records on disk: one file a session, one line a record,
// appended and never edited, readable with common tools. A line is
//
//	{"sum":"1c291ca3","record":{…}}
//
// where sum is the CRC-32C of the record's bytes as they stand there. A record is durable when
// Append returns, and stands where a later reader looks for it. The file is locked by the process
// that appends to it. The package knows lines and checksums, not what the records mean.
package journal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// ErrLocked says that another process runs the session.
var ErrLocked = errors.New("another process runs this session")

// ErrGone says that the file is not at its path any more: what is written to it nobody would find.
var ErrGone = errors.New("it was removed or replaced while the session ran; put it back where it was, or start a new session")

// Damage is what was found wrong in a journal, and mended or passed over.
type Damage struct {
	Torn    int64 // bytes cut off the end: a record that was never acknowledged
	Skipped int   // bad lines, or parts of lines, in the middle
}

// Journal is a journal that is open for appending.
type Journal struct {
	file   file
	path   string
	lock   *flock.Flock
	size   int64 // of what is whole and synced
	broken error // why nothing can be appended any more
}

// file is what a journal needs of its file.
type file interface {
	io.WriterAt
	Sync() error
	Truncate(size int64) error
	Stat() (os.FileInfo, error)
	Close() error
}

const (
	head   = `{"sum":"`
	middle = `","record":`
	tail   = "}\n"
)

var table = crc32.MakeTable(crc32.Castagnoli)

// Open opens the journal at path for appending, made where it does not exist, and gives each
// of its records to each, in order. A torn end is cut off; what is bad in the middle is
// skipped. The error is ErrLocked where another process has it open.
func Open(path string, each func(record []byte) error) (*Journal, Damage, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, Damage{}, fmt.Errorf("open journal %s: %w", path, err)
	}
	lock := flock.New(path+".lock", flock.SetPermissions(0o600))
	got, err := lock.TryLock()
	if err != nil {
		return nil, Damage{}, fmt.Errorf("lock journal %s: %w", path, err)
	}
	if !got {
		return nil, Damage{}, fmt.Errorf("open journal %s: %w", path, ErrLocked)
	}
	j, damage, err := open(path, each)
	if err != nil {
		return nil, damage, errors.Join(err, lock.Close())
	}
	j.lock = lock
	return j, damage, nil
}

func open(path string, each func([]byte) error) (*Journal, Damage, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, Damage{}, fmt.Errorf("open journal: %w", err)
	}
	whole, damage, err := read(f, each)
	if err == nil && damage.Torn > 0 {
		err = errors.Join(f.Truncate(whole), f.Sync())
	}
	if err == nil && whole == 0 {
		err = syncFolder(filepath.Dir(path)) // a new file's name is durable too
	}
	if err != nil {
		return nil, damage, errors.Join(fmt.Errorf("open journal %s: %w", path, err), f.Close())
	}
	return &Journal{file: f, path: path, size: whole}, damage, nil
}

// Read gives each record of the journal at path to each, in order, and changes nothing. It
// needs no lock: what is torn at the end is still being written, or was never acknowledged.
func Read(path string, each func(record []byte) error) (Damage, error) {
	f, err := os.Open(path)
	if err != nil {
		return Damage{}, fmt.Errorf("read journal: %w", err)
	}
	defer f.Close()
	_, damage, err := read(f, each)
	if err != nil {
		return damage, fmt.Errorf("read journal %s: %w", path, err)
	}
	return damage, nil
}

// Append writes a record, which is one JSON value without a line break, and returns when it is
// on disk. When it cannot be written, as on a full disk, the journal stands as it was before.
func (j *Journal) Append(record []byte) error {
	if j.broken != nil {
		return j.broken
	}
	line := Line(record)
	_, err := j.file.WriteAt(line, j.size)
	if err == nil {
		err = j.file.Sync()
	}
	if err == nil {
		err = j.inPlace()
	}
	if err != nil {
		return j.undo(err)
	}
	j.size += int64(len(line))
	return nil
}

// inPlace fails where the file is not the one at its path.
func (j *Journal) inPlace() error {
	opened, err := j.file.Stat()
	if err != nil {
		return err
	}
	if there, err := os.Stat(j.path); err != nil || !os.SameFile(opened, there) {
		return fmt.Errorf("%s: %w", j.path, ErrGone)
	}
	return nil
}

// Line is a record as a line of a journal.
func Line(record []byte) []byte {
	line := make([]byte, 0, len(head)+8+len(middle)+len(record)+len(tail))
	line = fmt.Appendf(line, "%s%08x%s", head, crc32.Checksum(record, table), middle)
	return append(append(line, record...), tail...)
}

// undo takes back a record that is not durable. A journal that cannot even do that takes no
// more: what would follow could not be told from what was refused.
func (j *Journal) undo(cause error) error {
	err := fmt.Errorf("append to journal: %w", cause)
	if undone := j.file.Truncate(j.size); undone != nil {
		j.broken = errors.Join(err, fmt.Errorf("take the torn record back: %w", undone))
		return j.broken
	}
	return err
}

// Close closes the file and gives up the lock.
func (j *Journal) Close() error {
	err := j.file.Close()
	if j.lock != nil {
		err = errors.Join(err, j.lock.Close())
	}
	return err
}

// read gives each whole record to each and says how many bytes from the start are whole lines.
func read(r io.Reader, each func([]byte) error) (whole int64, damage Damage, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	var at int64
	for {
		line, err := readLine(in)
		if err != nil && err != io.EOF {
			return whole, damage, err
		}
		at += int64(len(line))
		if err == io.EOF {
			damage.Torn = at - whole
			return whole, damage, nil
		}
		skipped, err := records(line, each)
		if err != nil {
			return whole, damage, err
		}
		damage.Skipped += skipped
		whole = at
	}
}

// readLine is the next line with its end. The bytes are the reader's where they fit its buffer.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return line, err
	}
	long := bytes.Clone(line)
	rest, err := in.ReadBytes('\n')
	return append(long, rest...), err
}

// records gives the records of one line to each: one, or, where a torn record was glued to
// others, all that are whole. It says how many parts were not.
func records(line []byte, each func([]byte) error) (skipped int, err error) {
	for len(bytes.TrimSpace(line)) > 0 {
		record, rest, ok := record(line)
		if ok {
			if err := each(record); err != nil {
				return skipped, err
			}
			line = rest
			continue
		}
		skipped++
		next := bytes.Index(line[1:], []byte(head))
		if next < 0 {
			return skipped, nil
		}
		line = line[1+next:]
	}
	return skipped, nil
}

// record is the record that the line begins with, if it is whole. Records that are glued
// together have no line break between them, so each place where the next could begin is tried.
func record(line []byte) (record, rest []byte, ok bool) {
	start := len(head) + 8 + len(middle)
	if len(line) < start || string(line[:len(head)]) != head || string(line[len(head)+8:start]) != middle {
		return nil, nil, false
	}
	sum, body := string(line[len(head):len(head)+8]), line[start:]
	if whole, ok := bytes.CutSuffix(body, []byte(tail)); ok && sumOf(whole) == sum {
		return whole, nil, true
	}
	for at := 0; ; {
		next := bytes.Index(body[at:], []byte("}"+head))
		if next < 0 {
			return nil, nil, false
		}
		at += next
		if sumOf(body[:at]) == sum {
			return body[:at], body[at+1:], true
		}
		at++
	}
}

func sumOf(record []byte) string { return fmt.Sprintf("%08x", crc32.Checksum(record, table)) }

// syncFolder makes the names in a folder durable, where the system can.
func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, os.ErrInvalid) {
		return err
	}
	return nil
}
