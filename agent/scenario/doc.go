// Package scenario lets the same case run again: it keeps a scenario's inputs as they are, says
// how the live ones have moved since, runs the scenario on what was kept, and says what differs
// between two runs.
//
//	Take ──▶ Snapshot ──▶ Run, on the inputs as they were ──▶ Result ──▶ Compare
//	             └──────▶ Drift, against the live ones
//
// A snapshot is a list of paths and digests; the bytes lie in a store of contents, each once, and so
// does the list: its digest is the snapshot's name. A file whose size, time and inode are those
// of the last look is not read again.
//
// A run takes place in the workspace when the live inputs are those of the snapshot. Else, or when
// it is to leave the workspace alone, it takes place in a copy: the inputs from the store, all else as
// it stands. Three ways to copy were weighed. A hard link or a link to a folder is cheap, but a
// command that opens a file and writes into it, as caches of node_modules or target do, would write
// into the live one. So every file is copied, with its mode and time, by the system's own copy,
// which shares the blocks where the file system can do that; a folder that git ignores is no
// exception, because what a command needs stands there as often as not. Left out are .git, because a
// command could write history there, and what is no file, folder or link. A link that leads into the
// workspace leads into the copy; one that leads out of it leads to where it did. What a command
// reaches by an absolute path of its own is beyond a copy.
//
// After a run in a copy its outputs are put into the workspace. No input ever is, nor is an output
// removed there.
//
// The package does not know sessions, pauses or stop conditions, starts no command itself, keeps
// no history of runs and decides nothing: what has to hold is checked by the one who asks for a
// run, while the place of the run still stands.
package scenario
