package tripwire

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestDependencies changes files in ways that are none of dependencies, and in ways that are.
func TestDependencies(t *testing.T) {
	for _, test := range []struct {
		name, file, before, after string
		says                      []string
	}{
		{"go, another layout", "go.mod", "module m\ngo 1.24\nrequire a.b/c v1.0.0\nrequire d.e/f v0.1.0 // indirect\n",
			"module m2 // renamed\n\ngo 1.25\n\nrequire (\n\td.e/f v0.1.0\n\t\"a.b/c\" v1.0.0\n)\ntoolchain go1.26\nretract v1.0.0\n", nil},
		{"go, new", "go.mod", "module m\n", "module m\n\nrequire example.com/x v1.0.0\n", []string{"go.mod: new: require example.com/x v1.0.0"}},
		{"go, gone and another version", "go.mod", "module m\nrequire (\n\ta.b/c v1.0.0\n\td.e/f v1.0.0\n)\n", "module m\nrequire a.b/c v1.1.0\n",
			[]string{"go.mod: require a.b/c v1.1.0 was require a.b/c v1.0.0", "go.mod: gone: require d.e/f v1.0.0"}},
		{"go, a replacement", "go.mod", "module m\n", "module m\nreplace a.b/c v1.0.0 => ../c\ntool x.y/z\nexclude q.r/s v1.2.3\n",
			[]string{"go.mod: new: exclude q.r/s v1.2.3", "go.mod: new: replace a.b/c@v1.0.0 ../c", "go.mod: new: tool x.y/z"}},
		{"go, a module named in a comment", "go.mod", "module m\n", "module m\n// require a.b/c v1.0.0\n", nil},
		{"go, broken", "go.mod", "module m\n", "module m\nrequire (\n", []string{"it cannot be evaluated: go.mod cannot be read: line 3: syntax error (unterminated block started at go.mod:2:1)"}},
		{"go, unknown", "go.mod", "module m\n", "module m\nneed a.b/c v1\n", []string{"it cannot be evaluated: go.mod cannot be read: line 2: unknown directive: need"}},
		{"go, half a line", "go.mod", "module m\n", "module m\nrequire a.b/c\n", []string{"it cannot be evaluated: go.mod cannot be read: line 2"}},
		{"go, no file at first", "go.mod", "", "module m\nrequire a.b/c v1.0.0\n", []string{"go.mod: new: require a.b/c v1.0.0"}},
		{"go, no file at last", "go.mod", "module m\nrequire a.b/c v1.0.0\n", "", []string{"go.mod: gone: require a.b/c v1.0.0"}},

		{"node, another layout", "package.json", `{"name":"a","dependencies":{"x":"^1","y":"2"},"scripts":{"test":"a"}}`, "{\"scripts\":{},\n \"dependencies\":{\"y\":\"2\",\"x\":\"^1\"}}", nil},
		{"node, each section", "package.json", `{}`, `{"devDependencies":{"a":"1"},"peerDependencies":{"b":"1"},"optionalDependencies":{"c":"1"},"bundleDependencies":["d"],"overrides":{"e":{"f":"2"}},"resolutions":{"g":"1"}}`,
			[]string{"package.json: new: bundleDependencies d", "package.json: new: devDependencies a 1", "package.json: new: optionalDependencies c 1",
				`package.json: new: overrides e {"f":"2"}`, "package.json: new: peerDependencies b 1", "package.json: new: resolutions g 1"}},
		{"node, moved", "package.json", `{"devDependencies":{"a":"1"}}`, `{"dependencies":{"a":"1"}}`, []string{"package.json: new: dependencies a 1", "package.json: gone: devDependencies a 1"}},
		{"node, no table", "package.json", `{}`, `{"dependencies":["a"]}`, []string{`package.json: new: dependencies ["a"]`}},
		{"node, broken", "package.json", `{}`, `{"dependencies"`, []string{"it cannot be evaluated: package.json cannot be read: it is no JSON object"}},
		{"node, no object", "package.json", `{}`, `[]`, []string{"it cannot be evaluated: package.json cannot be read: it is no JSON object"}},

		{"python, another layout", "pyproject.toml", "[project]\nname = 'a'\ndependencies = ['Requests>=2', \"numpy\"]\n", "[project]\ndependencies = [\n  \"numpy\", # arrays\n  \"requests >=2\",\n]\nversion = \"2\"\n", nil},
		{"python, each section", "pyproject.toml", "", "build-system.requires = ['hatch']\n[project]\noptional-dependencies.t = ['pytest']\n[dependency-groups]\ndev = ['ruff==1', {include-group = 't'}]\n[tool.poetry.dependencies]\npython = '^3'\n[tool.poetry.group.g.dependencies]\nq = { version = '1', extras = ['x'] }\n[tool.uv]\ndev-dependencies = ['u']\n",
			[]string{"pyproject.toml: new: build-system hatch", "pyproject.toml: new: group dev ruff ==1", `pyproject.toml: new: group dev {"include-group":"t"}`, "pyproject.toml: new: project.optional t pytest",
				`pyproject.toml: new: tool.poetry g q {"extras":["x"],"version":"1"}`, "pyproject.toml: new: tool.poetry python ^3", "pyproject.toml: new: tool.uv dev u"}},
		{"python, a marker", "pyproject.toml", "[project]\ndependencies = ['a; os == \"x\"', 'a; os == \"y\"']", "[project]\ndependencies = ['a; os == \"x\"', 'a; os == \"z\"']",
			[]string{`pyproject.toml: project a ; os == "x"; ; os == "z" was project a ; os == "x"; ; os == "y"`}},
		{"python, broken", "pyproject.toml", "", "[project\n", []string{"it cannot be evaluated: pyproject.toml cannot be read: line 1: "}},

		{"cargo, another layout", "Cargo.toml", "[dependencies]\nserde = \"1\"\nrand = { version = \"0.8\", features = [\"std\"] }\n", "[package]\nname = \"a\"\n[dependencies.rand]\nfeatures = [\n\"std\"]\nversion = '0.8'\n[dependencies]\nserde = '''1'''\n", nil},
		{"cargo, each section", "Cargo.toml", "", "[dev-dependencies]\na = '1'\n[build-dependencies]\nb = '1'\n[workspace.dependencies]\nc = '1'\n[target.'cfg(unix)'.dependencies]\nd = '1'\n[patch.crates-io]\ne = { git = 'https://x' }\n",
			[]string{"Cargo.toml: new: build-dependencies b 1", "Cargo.toml: new: dev-dependencies a 1", `Cargo.toml: new: patch crates-io e {"git":"https://x"}`,
				"Cargo.toml: new: target cfg(unix) dependencies d 1", "Cargo.toml: new: workspace.dependencies c 1"}},
		{"cargo, a feature", "Cargo.toml", "[dependencies]\na = { version = \"1\" }\n", "[dependencies]\na = { version = \"1\", default-features = false }\n", []string{`Cargo.toml: dependencies a {"default-features":false,"version":"1"} was dependencies a {"version":"1"}`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := compiled(t, `{"unchanged":{"files":["`+test.file+`"],"what":"dependencies"}}`)
			env := world(t, nil)
			if test.before != "" {
				put(t, env, test.file, test.before)
			}
			env.Baseline = stored(t, TakeBaseline(context.Background(), []Condition{c}, env))
			if test.after != "" {
				put(t, env, test.file, test.after)
			} else {
				remove(t, env, test.file)
			}
			f := c.Check(t.Context(), env, wrote(test.file))
			examine(t, f)
			var said []string
			for _, fact := range f.Facts {
				said = append(said, fact.Text)
			}
			if !slices.EqualFunc(said, test.says, strings.HasPrefix) {
				t.Errorf("%q\nwant %q", said, test.says)
			}
		})
	}
}

// stored is a baseline as it comes back from a journal.
func stored(t *testing.T, b Baseline) Baseline {
	t.Helper()
	text, err := json.Marshal(b)
	var back Baseline
	if err == nil {
		err = json.Unmarshal(text, &back)
	}
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// What could not be read at the start cannot be compared later.
func TestUnreadableAtTheStart(t *testing.T) {
	c := compiled(t, `{"unchanged":{"files":["package.json"],"what":"dependencies"}}`)
	env := world(t, files("package.json", "{"))
	env.Baseline = stored(t, TakeBaseline(context.Background(), []Condition{c}, env))
	put(t, env, "package.json", "{}")
	f := c.Check(t.Context(), env, wrote("package.json"))
	if examine(t, f); f.OK || !strings.Contains(f.Observed, "how package.json was when the session started is not known; package.json cannot be read: it is no JSON object") {
		t.Errorf("%+v", f)
	}
}

// What is hostile or hardly ever written is read, or refused with its line.
func TestTOML(t *testing.T) {
	deep := func(n int) string { return "a = " + strings.Repeat("[", n) + strings.Repeat("]", n) }
	for _, text := range []string{"", "# a\n", "a = 1\r\nb = \"\"\"\nx\"\"\"\r\n", "a = 1979-05-27 07:32:00Z\nb = nan\n", "[[e]]\nf = 1\n[[e]]\n[e.g]\nh = 3\n", deep(100)} {
		if root, err := readTOML([]byte(text)); err != nil || jsonText(root) == "" {
			t.Errorf("%q: %v, %v", text, root, err)
		}
	}
	for _, text := range []string{"a", "a =", "a = 1\na = 2", "[a", "a = 'x", "a = [1", "a = 1\n[a.b]\n", "a = \"\\uD800\"", deep(1_000_000)} {
		if root, err := readTOML([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), "line ") {
			t.Errorf("%.20q is taken: %v, %v", text, root, err)
		}
	}
}

// FuzzManifests checks that no text does harm, and that each is read the same twice.
func FuzzManifests(f *testing.F) {
	for _, text := range []string{"module m\nrequire (\n a v1\n)\nreplace a => b\n", `{"dependencies":{"a":"1"}}`, "[a.b]\nc = {d = [1, '''x''']}\n[[e]]\n", "[project]\ndependencies = ['a[x]>1; y']\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for name, read := range manifests {
			first, err := read([]byte(text))
			second, again := read([]byte(text))
			if !reflect.DeepEqual(first, second) || (err == nil) != (again == nil) {
				t.Errorf("%s: %q: %v, %v and %v, %v", name, text, first, err, second, again)
			}
		}
	})
}
