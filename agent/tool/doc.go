// Package tool runs the calls of a model to the tools that deal with files. It reads the
// arguments, which are a model's and so may be anything, calls the files, and words what
// came of it: for the model, bounded and never empty, and in one line for the developer.
//
// It is lenient about the form of arguments (a number in quotes, a list in quotes, one edit
// in place of a list, names that other tools use, a patch in place of edits) and strict about their types: what is not
// understood is refused with the field's name and an example of a right call.
//
// It does not touch the disk itself, run commands, or know what a call means for the session.
package tool
