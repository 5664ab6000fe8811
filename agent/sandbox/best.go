package sandbox

import "sync"

// Found says what confines commands on this system.
type Found struct {
	Mechanism Mechanism
	// Why says why it is not the best one, or none; "" for the best.
	Why string
	// ABI is the version of Landlock, 0 for none.
	ABI int
}

// Best is the best mechanism that works here. It is tried once.
func Best() Found { return best() }

var best = sync.OnceValue(find)

// Missing says why a mechanism does not work here, "" when it does.
func Missing(m Mechanism) string { return missing(m) }

// Scoped says whether signals to what is outside are held, too.
func Scoped(f Found) bool { return f.Mechanism != Landlock || f.ABI >= scopeABI }

// scopeABI is the first version of Landlock that keeps signals and abstract sockets within the sandbox.
const scopeABI = 6
