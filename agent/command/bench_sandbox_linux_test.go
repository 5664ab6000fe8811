package command

import (
	"testing"

	"tandem/agent/sandbox"
)

// BenchmarkStart is a command that does nothing, from its start to its end, as it is and confined.
func BenchmarkStart(b *testing.B) {
	for _, m := range []sandbox.Mechanism{sandbox.None, sandbox.Bubblewrap, sandbox.Landlock} {
		b.Run(string("mechanism="+m), func(b *testing.B) {
			if m != sandbox.None && sandbox.Missing(m) != "" {
				b.Skip(sandbox.Missing(m))
			}
			j := newJail(b, m)
			for b.Loop() {
				j.run(":")
			}
		})
	}
}
