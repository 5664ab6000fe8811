package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"tandem/agent/rehearsal"
	"tandem/agent/secretfile"
	"tandem/agent/workspace"
)

// Bounds of what a recording takes along of the workspace.
const (
	mostPacked = 2 << 20 // bytes, of all files
	mostFiles  = 2000
	mostNamed  = 40 // of the files that were left out
)

// packed is a workspace as a recording holds it.
type packed struct {
	files   []rehearsal.File
	size    int
	leftOut []string // path and reason
	more    int      // files that were not even looked at
	changed []string // what is not as it was in the workspace
}

// pack reads the workspace's files that git does not ignore, as far as a script can hold them
// and a stranger may see them.
func pack(ctx context.Context, dir string, redact func(string) string) (packed, error) {
	files, err := workspace.Open(dir, workspace.Options{})
	if err != nil {
		return packed{}, err
	}
	defer files.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return packed{}, fmt.Errorf("record the workspace: %w", err)
	}
	defer root.Close()
	var p packed
	names, err := p.names(ctx, files, ".")
	if err != nil {
		return p, err
	}
	for _, name := range names {
		if err := p.take(root, name, redact); err != nil {
			return p, fmt.Errorf("record the workspace: %w", err)
		}
	}
	return p, nil
}

// foldedEntry is a folder that stands for its files in a long listing.
var foldedEntry = regexp.MustCompile(`^(.*)/ \(\d+ files\)$`)

// names are the files below a folder, however many a listing shows at once.
func (p *packed) names(ctx context.Context, files *workspace.Workspace, dir string) ([]string, error) {
	l, err := files.List(ctx, dir, "")
	if err != nil {
		return nil, err
	}
	p.more += l.More
	if !l.Folded {
		return l.Entries, nil
	}
	var all []string
	for _, entry := range l.Entries {
		folder := foldedEntry.FindStringSubmatch(entry)
		switch {
		case len(all) >= mostFiles:
			p.more++
		case folder == nil:
			all = append(all, entry)
		default:
			below, err := p.names(ctx, files, folder[1])
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
		}
	}
	return all, nil
}

// take adds one file, or says why it is left out.
func (p *packed) take(root *os.Root, name string, redact func(string) string) error {
	data, why, err := p.read(root, name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		why, err = "it cannot be read", nil
	}
	if err != nil {
		return err
	}
	clean := redact(string(data))
	f := rehearsal.File{Path: name, Data: []byte(clean)}
	if why == "" {
		why = rehearsal.Unfit(f)
	}
	if why != "" {
		p.leftOut = append(p.leftOut, name+": "+why)
		return nil
	}
	if clean != string(data) {
		p.changed = append(p.changed, name+": a secret was taken out")
	}
	if clean != "" && !strings.HasSuffix(clean, "\n") {
		p.changed = append(p.changed, name+": a final newline was added")
	}
	p.size += len(clean)
	p.files = append(p.files, f)
	return nil
}

// read reads a file that may be packed and for which there is room.
func (p *packed) read(root *os.Root, name string) (data []byte, why string, err error) {
	if mayBeSecret(name) {
		return nil, "its name is one that secrets have", nil
	}
	local := filepath.FromSlash(name)
	info, err := root.Lstat(local)
	switch {
	case err != nil:
		return nil, "", err
	case !info.Mode().IsRegular():
		return nil, "it is no plain file", nil
	case p.size+int(min(info.Size(), mostPacked)) >= mostPacked:
		return nil, fmt.Sprintf("it does not fit into the %d MB that a recording takes along", mostPacked>>20), nil
	}
	f, err := root.Open(local)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, int64(mostPacked-p.size)))
	return data, "", err
}

// mayBeSecret tells the names of files that are never written into a recording: it is given to strangers,
// so more is left out than what an agent has to ask for.
func mayBeSecret(name string) bool {
	base := strings.ToLower(path.Base(name))
	if (secretfile.Rules{}).Holds(name) || strings.HasPrefix(base, ".env.") || path.Ext(base) == ".env" {
		return true
	}
	switch path.Ext(base) { // keys.go is code, api_key.txt is a key
	case "", ".txt", ".json":
		for _, word := range []string{"key", "secret", "credential", "token"} {
			if strings.Contains(base, word) {
				return true
			}
		}
	}
	return strings.HasPrefix(base, "id_rsa") || strings.HasPrefix(base, "id_ed25519") || strings.HasPrefix(base, "id_ecdsa")
}

// about says in prose what is in the recording and what is not.
func (p packed) about() string {
	var b strings.Builder
	fmt.Fprintf(&b, "It holds the conversation and %d files of the workspace as they were at its start;\nlook through it before you give it away.\n", len(p.files))
	list := func(title string, entries []string, more int) {
		if len(entries)+more == 0 {
			return
		}
		b.WriteString("\n" + title + "\n")
		if over := len(entries) - mostNamed; over > 0 {
			entries, more = entries[:mostNamed], more+over
		}
		for _, e := range entries {
			fmt.Fprintf(&b, "  %s\n", strings.Join(strings.Fields(clean(e)), " "))
		}
		if more > 0 {
			fmt.Fprintf(&b, "  and %d more\n", more)
		}
	}
	list("Left out:", p.leftOut, p.more)
	list("Not as it was:", p.changed, 0)
	return b.String()
}
