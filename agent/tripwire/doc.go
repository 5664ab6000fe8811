// Package tripwire evaluates stop conditions, and reads the values that they and watches are
// about: fields of JSON files, columns of CSV files, queries, output of commands.
//
// A condition is written as a Spec, compiled once with Compile, and then asked three things.
// Before an operation, Before says whether it would write where it must not. After it, After
// evaluates each condition that the operation could touch, and says for each what was expected,
// what was observed, and where. Between them two Looks tell which of the watched files changed,
// whoever changed them.
//
// A condition that cannot be evaluated has tripped: the file does not parse, the query errs, the
// command takes too long. One case is not that: a file that is not there yet, and that the
// operation did not touch, is still to be produced, and the condition about it is pending. So is
// one about the output of a command that printed something else. Env.Whole ends that patience:
// with it, after the run of a scenario say, everything has to be there.
//
// All is read, nothing written: databases are opened read-only, and a query has to be a SELECT.
// The commands of conditions are the developer's own, from their configuration, and run as the
// caller runs them.
//
// The package keeps no state between calls. It does not know sessions or pauses, does not decide
// what follows from a finding, and does not count what a session uses: a budget has its shape
// here, but the core, which knows the counts, evaluates it.
package tripwire
