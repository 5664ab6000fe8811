// Package workspace reaches the files of one workspace: it lists, searches, reads, edits,
// writes, moves and deletes them, and remembers what stood there before.
//
// Everything goes through one os.Root, so no path, link or move leads out. A mutation is
// all or nothing: the new bytes are written beside the file, synced and renamed over it,
// after a last look that nobody else changed it. Text is matched without regard to line
// ends, byte order mark and encoding, and is written back in the file's own.
//
// An edit matches in tiers, from exact bytes over trailing blanks to a uniform shift of the
// indentation; each tier counts only with a unique match, and a refusal shows what would
// have matched. The lines that an edit leaves alone keep their own bytes.
//
// A patch of several files is looked at whole before anything is touched, and what was done is
// taken back when a later part cannot be. Its hunks are found by their lines, in the same tiers.
//
// What the agent last saw of a file is remembered as a digest: a file that changed since is
// not edited, overwritten, moved or deleted before the agent was shown the change.
//
// Changes are taken back from the images kept here: a three-way merge for each path, so that
// what others changed since stays; where that clashes the path stays as it is, and both sides are
// shown. What a command changes two snapshots tell, which copy nothing that git has already.
//
// An open document is read from its editor and changed there. Where its text was that of the
// file, the file is given the new text too, since commands read the disk; unsaved text is never
// written to disk.
//
// Not kept by a mutation: extended attributes, and hard links, whose other names keep the
// old content. The package runs no command but ripgrep and git, and does not know sessions,
// plans or models.
package workspace
