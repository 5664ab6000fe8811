// Package command runs one shell command so that it always ends when told.
//
// Each command has a supervisor: a process of its own that is this very program, started anew with a marker as
// its only argument. It holds the command's whole tree, so nothing that the command starts can leave it, and it
// outlives a daemon that is killed just long enough to end that tree.
//
//	daemon ──orders──▶ supervisor ──▶ sh -c LINE ──▶ …
//	   ▲ ◀──reports──      (adopts every orphan of the tree)
//	   └────────── output of the tree, one pipe ──────────
//
// What holds on Linux:
//
//   - The command has a session of its own, no terminal, and stdin is /dev/null.
//   - A command is over when its shell has ended, not when its pipe closes. What it left behind gets a short while
//     to end by itself, then TERM, then KILL, and is named in Result.Leftovers.
//   - Stop, the time limit and the death of the daemon end the whole tree the same way: TERM to all at once, KILL
//     after the grace to what is left. The supervisor is a child subreaper: setsid and double forks do not get away,
//     and that no child is left is known from the kernel, not from a list.
//   - Freeze stops every process of the tree and answers when they stand. The time limit stands still meanwhile;
//     clocks inside the command do not.
//   - If the supervisor is killed with -9, its shell dies with it and the daemon ends the rest, found by a mark in
//     the environment. If both are killed at once, EndLost does so at the next start.
//
// Limits on Linux: a process under another user (sudo) cannot be signalled and is named as still running; one that
// clears its environment (env -i) is not found after its supervisor was killed with -9; work handed to a service
// outside the tree (docker run, systemd-run, at) is not the command's. /proc must be mounted, with the children
// files that kernels have by default; where these are missing all of /proc is read instead.
//
// On macOS there is no subreaper and no parent-death signal: the tree is what descends from the supervisor or has
// the shell's process group, so a process that both left the group and lost its parent gets away; EndLost finds
// nothing there. On Windows the line is run by cmd.exe in a job object that the kernel ends with the daemon: Stop
// ends it at once without a TERM and with exit code 1, nothing is named as left over, and Freeze answers with an
// error. On other systems Start answers with an error.
//
// Output is read as fast as the command writes it, whoever looks. It is made clean (valid UTF-8, no control codes,
// progress lines collapsed), and every copy of it is bounded: in Result, on disk and towards the clients.
//
// A command whose Spec names a sandbox is started in it by its supervisor, which stays outside. Under bubblewrap a
// signal that ends the shell by itself is told as a shell tells it, by an exit code of 128 and its number, and processes
// have other pids inside.
//
// The package does not decide what may run or what a sandbox holds, knows no session, and redacts no secrets but the
// model's key.
package command
