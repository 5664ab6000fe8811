package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"
)

// Mechanism is what confines a command.
type Mechanism string

// The mechanisms; None confines nothing.
const (
	None       Mechanism = ""
	Bubblewrap Mechanism = "bubblewrap"
	Landlock   Mechanism = "landlock"
	Seatbelt   Mechanism = "seatbelt"
)

// Policy is what a command may do. The zero Policy confines nothing. All paths are absolute; one that is not there
// is passed over.
type Policy struct {
	Mechanism Mechanism `json:",omitempty"`
	// Root is the workspace: its sockets stay reachable. It is writable only if Write names it.
	Root string `json:",omitempty"`
	// Write are folders and files that may be changed, with all that is below. One that is reached through a link is
	// passed over: a command could have put the link there, and House.Policy has followed those of the developer.
	Write []string `json:",omitempty"`
	// ReadOnly are paths below them that stay as they are, where the mechanism can hold that.
	ReadOnly []string `json:",omitempty"`
	// Reserved are the same, and what is not there cannot be made: while commands run something else stands there.
	Reserved []string `json:",omitempty"`
	// Hidden are paths that stay as they are under every mechanism, and are not seen where it can hold that.
	Hidden []string `json:",omitempty"`
	// Secret are paths that are not seen while the network is off, where the mechanism can hold that: programs that
	// use the network need them.
	Secret []string `json:",omitempty"`
	// Scratch is a folder that is made for temporary files, and named by TMPDIR, where the system's own cannot be
	// given whole because something hidden lies in it. "" makes none.
	Scratch string `json:",omitempty"`
	// Network lets the command reach the network.
	Network bool `json:",omitempty"`
}

// Check says why a policy cannot be held.
func (p Policy) Check() error {
	if p.Mechanism == None {
		return nil
	}
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		return errors.New("sandbox: this system has none")
	}
	for _, path := range slices.Concat([]string{p.Root}, p.Write, p.ReadOnly, p.Reserved, p.Hidden, p.Secret, []string{p.Scratch}) {
		switch {
		case path == "":
		case !filepath.IsAbs(path):
			return fmt.Errorf("sandbox: the path %q is not absolute", path)
		case !utf8.ValidString(path) || strings.ContainsRune(path, 0):
			return fmt.Errorf("sandbox: the path %q is not text", path)
		}
	}
	return nil
}

// right is what a policy says of a path and what is below it.
type right int

// In the order in which one goes before another that says something of the same path.
const (
	write right = iota
	readOnly
	hidden
)

// rule is a path, with its links followed, and what holds there.
type rule struct {
	path   string
	right  right
	folder bool
}

// rules are what a policy says of the paths that are there, the upper ones first: what is said of a path below goes
// before.
func (p Policy) rules() []rule {
	said := map[string]rule{}
	add := func(r right, paths []string) {
		for _, path := range paths {
			real := resolve(path)
			info, err := os.Lstat(real)
			if r == write && (real != filepath.Clean(path) || err == nil && info.Mode()&os.ModeSymlink != 0) {
				continue
			}
			if err == nil {
				said[real] = rule{real, r, info.IsDir()}
			}
		}
	}
	add(write, p.Write)
	add(readOnly, p.ReadOnly)
	add(readOnly, p.Reserved)
	if !p.Network {
		add(hidden, p.Secret)
	}
	add(hidden, p.Hidden)
	out := slices.Collect(maps.Values(said))
	slices.SortFunc(out, func(a, b rule) int { return strings.Compare(a.path, b.path) })
	return slices.DeleteFunc(slices.Clone(out), func(r rule) bool { return r.right == write && covered(r.path, out) })
}

// covered says whether a writable path lies in another, so that commands can put something else in its place at any
// time, and nothing has to be said of it. Where something below it is kept it is said all the same: it stays in its place then.
func covered(path string, said []rule) bool {
	above := rule{right: readOnly}
	for _, r := range said {
		switch {
		case r.path == path:
		case within(r.path, path):
			return false
		case within(path, r.path) && len(r.path) > len(above.path):
			above = r
		}
	}
	return above.right == write
}

// resolve follows the links of a path as far as there is something.
func resolve(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(resolve(dir), filepath.Base(path))
	}
	return path
}

// within says whether a path is another one or lies below it.
func within(path, above string) bool {
	return path == above || above == "/" || strings.HasPrefix(path, above+string(filepath.Separator))
}
