package tripwire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	toml "github.com/pelletier/go-toml/v2"
)

// Baseline is how the dependencies that files declare were when the session started. It can be
// kept as JSON.
type Baseline map[string]Dependencies

// Dependencies are what a file declares: a name with its section, and a version or what stands in
// place of one.
type Dependencies struct {
	Declared map[string]string `json:"declared,omitempty"`
	// Unreadable says why they are not known; "" is that they are.
	Unreadable string `json:"unreadable,omitempty"`
}

// TakeBaseline reads what conditions want to stay unchanged, at the start of a session.
func TakeBaseline(ctx context.Context, conditions []Condition, env Env) Baseline {
	b := Baseline{}
	l := &look{ctx: ctx, env: env}
	for _, c := range conditions {
		u, ok := c.kind.(unchanged)
		if !ok {
			continue
		}
		for _, name := range u.names {
			declared, _, err := l.dependencies(name)
			b[name] = Dependencies{Declared: declared}
			if err != nil {
				b[name] = Dependencies{Unreadable: err.Error()}
			}
		}
	}
	return b
}

// manifests are the files whose dependencies can be read, by their names without a folder.
var manifests = map[string]func([]byte) (map[string]string, error){
	"go.mod":         goDependencies,
	"package.json":   nodeDependencies,
	"pyproject.toml": pythonDependencies,
	"Cargo.toml":     cargoDependencies,
}

// unchanged wants dependencies to be those of the session's start.
type unchanged struct{ names []string }

func (u *Unchanged) compile() (kind, error) {
	if u.What != "dependencies" {
		return nil, wrong("what", "%q is not known; it can be dependencies", u.What)
	}
	names, err := workspaceFiles("files", u.Files)
	if err != nil {
		return nil, err
	}
	for i, n := range names {
		if manifests[path.Base(n)] == nil {
			return nil, wrong(fmt.Sprintf("files[%d]", i), "the dependencies of %q cannot be read; those of %s can", n, strings.Join(sortedKeys(manifests), ", "))
		}
	}
	return unchanged{names}, nil
}

func (u unchanged) files() []string           { return slices.Clone(u.names) }
func (u unchanged) touched(op Operation) bool { return op.wrote(oneOf(u.names...)) }

func (u unchanged) check(l *look) verdict {
	const expected = "the dependencies that were there when the session started"
	var found pile
	for _, name := range u.names {
		if err := changes(l, name, &found); err != nil {
			return unable(expected, err)
		}
	}
	if len(found.list) == 0 {
		return verdict{ok: true, expected: expected, observed: "the same"}
	}
	return verdict{expected: expected, observed: found.summary(), evidence: found}
}

// changes finds how the dependencies of a file differ from those of the start.
func changes(l *look, name string, found *pile) error {
	before, ok := l.env.Baseline[name]
	if !ok || before.Unreadable != "" {
		return placedError{fmt.Errorf("how %s was when the session started is not known; %s", name, before.Unreadable), l.file(name)}
	}
	now, data, err := l.dependencies(name)
	if err != nil {
		return err
	}
	all := maps.Clone(now)
	maps.Copy(all, before.Declared)
	for _, key := range sortedKeys(all) {
		was, had := before.Declared[key]
		is, has := now[key]
		if had != has || was != is {
			found.add(func() evidence {
				e := changed(key, was, had, is, has)
				e.text, e.at = name+": "+e.text, l.mention(name, data, key)
				return e
			})
		}
	}
	return nil
}

// changed tells of one dependency that came, went or has another version.
func changed(key, was string, had bool, is string, has bool) evidence {
	was, is = strings.TrimSpace(key+" "+was), strings.TrimSpace(key+" "+is)
	switch {
	case !had:
		return evidence{text: "new: " + is, expected: "no " + key, observed: is}
	case !has:
		return evidence{text: "gone: " + was, expected: was, observed: "no " + key}
	}
	return evidence{text: is + " was " + was, expected: was, observed: is}
}

// mention is the line of a file that names a dependency, whose name is the last word of its key.
func (l *look) mention(name string, data []byte, key string) place {
	i := bytes.Index(data, []byte(key[strings.LastIndex(key, " ")+1:]))
	if i < 0 {
		return l.file(name)
	}
	return l.row(name, 1+bytes.Count(data[:i], []byte{'\n'}))
}

// dependencies reads what a file declares. One that is not there declares nothing.
func (l *look) dependencies(name string) (map[string]string, []byte, error) {
	data, err := l.read(name)
	var p placedError
	switch {
	case errors.Is(err, ErrNotYet) || (errors.As(err, &p) && p.error.Error() == name+" is missing"):
		return map[string]string{}, nil, nil
	case err != nil:
		return nil, nil, err
	}
	d, err := manifests[path.Base(name)](data)
	if err != nil {
		return nil, nil, placedError{fmt.Errorf("%s cannot be read: %w", name, err), l.file(name)}
	}
	return d, data, nil
}

// declared collects dependencies. A name that a section has twice has both versions.
type declared map[string]string

func (d declared) add(section, name, version string) {
	key := strings.TrimSpace(section + " " + name)
	if was, ok := d[key]; ok {
		version = was + "; " + version
	}
	d[key] = version
}

// table adds the members of a table: each a version, or something that stands for one. What is no
// table is added as it is, so that it cannot hide anything.
func (d declared) table(section string, v any) {
	m, ok := v.(map[string]any)
	if !ok && v != nil {
		d.add(section, "", jsonText(v))
	}
	for name, version := range m {
		d.add(section, name, jsonText(version))
	}
}

func nodeDependencies(data []byte) (map[string]string, error) {
	var root map[string]any
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&root); err != nil {
		return nil, fmt.Errorf("it is no JSON object: %w", err)
	}
	d := declared{}
	for _, section := range []string{"dependencies", "devDependencies", "peerDependencies", "optionalDependencies", "overrides", "resolutions"} {
		d.table(section, root[section])
	}
	for _, section := range []string{"bundleDependencies", "bundledDependencies"} {
		if list, ok := root[section].([]any); ok {
			for _, name := range list {
				d.add(section, jsonText(name), "")
			}
		}
	}
	return d, nil
}

// readTOML reads a TOML file into tables and lists.
func readTOML(data []byte) (map[string]any, error) {
	var root map[string]any
	err := toml.Unmarshal(data, &root)
	var wrong *toml.DecodeError
	if errors.As(err, &wrong) {
		line, _ := wrong.Position()
		return nil, fmt.Errorf("line %d: %w", line, err)
	}
	return root, err
}

func cargoDependencies(data []byte) (map[string]string, error) {
	root, err := readTOML(data)
	if err != nil {
		return nil, err
	}
	d := declared{}
	d.crates("", root)
	workspace, _ := root["workspace"].(map[string]any)
	d.table("workspace.dependencies", workspace["dependencies"])
	targets, _ := root["target"].(map[string]any)
	for name, target := range targets {
		if t, ok := target.(map[string]any); ok {
			d.crates("target "+name+" ", t)
		}
	}
	patches, _ := root["patch"].(map[string]any)
	for name, patch := range patches {
		d.table("patch "+name, patch)
	}
	d.table("replace", root["replace"])
	return d, nil
}

func (d declared) crates(prefix string, t map[string]any) {
	for _, section := range []string{"dependencies", "dev-dependencies", "dev_dependencies", "build-dependencies", "build_dependencies"} {
		d.table(prefix+section, t[section])
	}
}

func pythonDependencies(data []byte) (map[string]string, error) {
	root, err := readTOML(data)
	if err != nil {
		return nil, err
	}
	d := declared{}
	get := func(path ...string) any {
		v, _, _ := pointer(path).in(root)
		return v
	}
	d.requirements("project", get("project", "dependencies"))
	d.requirements("build-system", get("build-system", "requires"))
	d.requirements("tool.uv dev", get("tool", "uv", "dev-dependencies"))
	for section, v := range map[string]any{"project.optional": get("project", "optional-dependencies"), "group": get("dependency-groups"), "tool.pdm dev": get("tool", "pdm", "dev-dependencies")} {
		groups, _ := v.(map[string]any)
		for group, list := range groups {
			d.requirements(section+" "+group, list)
		}
	}
	d.table("tool.poetry", get("tool", "poetry", "dependencies"))
	d.table("tool.poetry dev", get("tool", "poetry", "dev-dependencies"))
	d.table("tool.uv.sources", get("tool", "uv", "sources"))
	groups, _ := get("tool", "poetry", "group").(map[string]any)
	for group := range groups {
		d.table("tool.poetry "+group, get("tool", "poetry", "group", group, "dependencies"))
	}
	return d, nil
}

// requirements adds a list of requirements such as "requests[socks]>=2,<3".
func (d declared) requirements(section string, v any) {
	list, _ := v.([]any)
	for _, item := range list {
		text := strings.TrimSpace(jsonText(item))
		end := strings.IndexFunc(text, func(r rune) bool {
			return !strings.ContainsRune("-_.", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
		})
		if end <= 0 {
			d.add(section, text, "")
			continue
		}
		d.add(section, strings.ToLower(text[:end]), strings.TrimSpace(text[end:]))
	}
}
