package tripwire

import (
	"fmt"
	"slices"
	"strings"
)

// goVerbs are the directives of a go.mod file. Those with true say what the module depends on.
var goVerbs = map[string]bool{"require": true, "replace": true, "exclude": true, "tool": true,
	"module": false, "go": false, "toolchain": false, "godebug": false, "retract": false, "ignore": false}

// goDependencies reads a go.mod file. That a requirement is called indirect is not told: it is a
// comment.
func goDependencies(data []byte) (map[string]string, error) {
	d := declared{}
	block := ""
	for i, line := range strings.Split(string(data), "\n") {
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
			continue
		case block != "" && words[0] == ")":
			block = ""
			continue
		case block != "":
			words = append([]string{block}, words...)
		case len(words) > 1 && words[1] == "(" || strings.HasSuffix(words[0], "("):
			block, words = strings.TrimSuffix(words[0], "("), nil
		}
		verb := block
		if len(words) > 0 {
			verb = words[0]
		}
		depends, known := goVerbs[verb]
		if !known {
			return nil, fmt.Errorf("line %d: %q is no directive of a go.mod file", i+1, verb)
		}
		if depends && len(words) > 0 && !d.module(words) {
			return nil, fmt.Errorf("line %d: %q names no module", i+1, strings.TrimSpace(line))
		}
	}
	if block != "" {
		return nil, fmt.Errorf("the block of %q has no end", block)
	}
	return d, nil
}

// module adds one directive, and says whether it is whole.
func (d declared) module(words []string) bool {
	for i, w := range words {
		words[i] = strings.Trim(w, "\"`")
	}
	switch verb, rest := words[0], words[1:]; {
	case verb == "tool" && len(rest) == 1:
		d.add(verb, rest[0], "")
	case verb == "replace" && slices.Contains(rest, "=>"):
		i := slices.Index(rest, "=>")
		d.add(verb, strings.Join(rest[:i], "@"), strings.Join(rest[i+1:], " "))
	case (verb == "require" || verb == "exclude") && len(rest) == 2:
		d.add(verb, rest[0], rest[1])
	default:
		return false
	}
	return true
}
