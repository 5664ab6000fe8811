package agent

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestPure keeps this package, and what it reads calls with, free of everything that could differ between a live session and
// its replay: clocks, randomness, goroutines, channels, the order of maps, the world outside.
func TestPure(t *testing.T) {
	allowed := []string{"bytes", "cmp", "encoding/json", "errors", "fmt", "net/url", "path", "regexp", "slices", "strconv", "strings",
		"tandem/agent/patch", "tandem/protocol", "time", "unicode/utf8"}
	clocks := []string{"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTicker", "NewTimer", "LoadLocation", "Local"}
	walk(t, ".", func(path string, n ast.Node) string {
		if !slices.Contains([]string{".", "patch"}, filepath.Dir(path)) || strings.HasSuffix(path, "_test.go") {
			return ""
		}
		switch n := n.(type) {
		case *ast.ImportSpec:
			if name, err := strconv.Unquote(n.Path.Value); err != nil || !slices.Contains(allowed, name) {
				return "import " + n.Path.Value
			}
		case *ast.GoStmt:
			return "go statement"
		case *ast.ChanType:
			return "channel"
		case *ast.SelectStmt:
			return "select"
		case *ast.MapType:
			return "map (its order is random)"
		case *ast.SelectorExpr:
			if of(n, "time") && slices.Contains(clocks, n.Sel.Name) {
				return "time." + n.Sel.Name + " (time arrives in inputs)"
			}
		}
		return ""
	})
}

// TestNoMutex holds for everything below agent: state has one owner and is passed on by value.
func TestNoMutex(t *testing.T) {
	walk(t, ".", func(path string, n ast.Node) string {
		if s, ok := n.(*ast.SelectorExpr); ok && !strings.HasSuffix(path, "_test.go") && of(s, "sync") && (s.Sel.Name == "Mutex" || s.Sel.Name == "RWMutex") {
			return "sync." + s.Sel.Name
		}
		return ""
	})
}

// concurrent lists every file below agent and server in which a goroutine is started. Before a
// file is added here: could the owner of the state do it, or the one loop that is there already?
var concurrent = []string{
	"agent/command/command.go",
	"agent/command/engine_unix.go",
	"agent/command/engine_windows.go",
	"agent/command/supervisor.go",
	"agent/sandbox/landlock_linux.go",
	"agent/rehearsal/serve.go",
	"agent/session/reconcile.go",
	"agent/session/session.go",
	"server/daemon/forward.go",
	"server/daemon/spawn.go",
	"server/daemon/stdio.go",
	"server/rpc/conn.go",
	"server/server.go",
}

func TestGoStatements(t *testing.T) {
	var found []string
	for _, root := range []string{"../agent", "../server"} {
		walk(t, root, func(path string, n ast.Node) string {
			if _, ok := n.(*ast.GoStmt); ok && !strings.HasSuffix(path, "_test.go") {
				found = append(found, strings.TrimPrefix(filepath.ToSlash(path), "../"))
			}
			return ""
		})
	}
	slices.Sort(found)
	found = slices.Compact(found)
	for _, path := range found {
		if !slices.Contains(concurrent, path) {
			t.Errorf("%s starts a goroutine and is not in the list", path)
		}
	}
	for _, path := range concurrent {
		if !slices.Contains(found, path) {
			t.Errorf("%s is in the list and starts no goroutine", path)
		}
	}
}

// walk shows every node of every Go file below a folder, and reports what fault says of it.
func walk(t *testing.T, root string, fault func(path string, n ast.Node) string) {
	t.Helper()
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if what := fault(path, n); what != "" {
				t.Errorf("%s: %s is not allowed here", set.Position(n.Pos()), what)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func of(s *ast.SelectorExpr, pkg string) bool {
	id, ok := s.X.(*ast.Ident)
	return ok && id.Name == pkg
}
