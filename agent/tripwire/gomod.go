package tripwire

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// goDependencies reads a go.mod file. That a requirement is called indirect is not told: it is a
// comment.
func goDependencies(data []byte) (map[string]string, error) {
	f, err := modfile.Parse("go.mod", data, nil)
	var list modfile.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		return nil, fmt.Errorf("line %d: %w", list[0].Pos.Line, list[0].Err)
	}
	if err != nil {
		return nil, err
	}
	d := declared{}
	for _, r := range f.Require {
		d.add("require", r.Mod.Path, r.Mod.Version)
	}
	for _, r := range f.Exclude {
		d.add("exclude", r.Mod.Path, r.Mod.Version)
	}
	for _, r := range f.Replace {
		d.add("replace", versioned(r.Old, "@"), versioned(r.New, " "))
	}
	for _, t := range f.Tool {
		d.add("tool", t.Path, "")
	}
	return d, nil
}

// versioned is a module with its version, where it has one.
func versioned(m module.Version, between string) string {
	return strings.TrimSuffix(m.Path+between+m.Version, between)
}
