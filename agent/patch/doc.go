// Package patch reads the patches that models send where plain edits of one file are asked
// for: unified diffs as git and diff write them, the envelopes of apply_patch, and blocks of
// search and replace.
//
// Models count badly, so the numbers of a diff are hints: a hunk is known by its lines.
// Numbers that do not agree with the lines below them, or with each other, are dropped; a
// blank line that lost its blank is a blank line. What could mean two things is refused: a
// patch that was cut off, two names for one file, a line that belongs to no hunk.
//
// The files that a patch names are found by the same reading by which it is applied later,
// so that a rule about paths is asked about all of them.
//
// It looks at no file: whether a patch fits is for the package that has the files.
package patch
