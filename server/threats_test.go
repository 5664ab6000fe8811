package server

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The page on threats claims nothing without a test, and each test that it names is there.
func TestThreats(t *testing.T) {
	page, err := os.ReadFile("../agent/session/THREATS.md")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile("`([a-z/]+\\.Test[^`]+)`")
	known, held := sources{}, 0
	claims := false // within a table whose last column says what holds
	for i, line := range strings.Split(string(page), "\n") {
		named := name.FindAllStringSubmatch(line, -1)
		for _, m := range named {
			if err := known.has(m[1]); err != nil {
				t.Errorf("line %d: %s: %v", i+1, m[1], err)
			}
		}
		switch {
		case strings.HasSuffix(line, "| held by |"):
			claims = true
		case !strings.HasPrefix(line, "|"):
			claims = false
		case claims && !strings.HasPrefix(line, "| ---"):
			if held++; len(named) == 0 {
				t.Errorf("line %d: no test holds it: %s", i+1, line)
			}
		}
	}
	if held < 20 {
		t.Errorf("the page makes only %d claims", held)
	}
}
