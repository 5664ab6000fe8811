//go:build !linux && !darwin

package sandbox

func find() Found { return Found{Why: "this system has nothing that Tandem can confine commands with"} }

func missing(Mechanism) string { return find().Why }
