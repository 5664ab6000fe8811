// Package daemon finds, starts and reaches the one daemon that a user has for a workspace.
//
// The meeting point is a Unix socket in a folder that only its user can enter, named by a hash of
// the workspace's real path and of the build: an update starts a daemon of its own, and two users
// or two workspaces never meet. Beside the socket lies a lock file; whoever holds its lock is the
// daemon, so of two that start at once one ends, and a socket without a holder is stale.
//
//	tandem lsp                                   tandem serve
//	ReadHello    which workspace?                Path, Listen    the lock, then the socket
//	Connect      dial, else Spawn and dial       Accept          only connections of the same user
//	Forward      copy bytes both ways            Close           the socket goes, then the lock
//	Stdio        the client, as a connection
//
// A daemon that ends because it is idle closes its listener and serves what Accept had given it.
// A client that came too late for that gets ErrUnanswered from Forward, which has then read
// nothing but its hello, and connects again.
//
// The package opens no TCP port, knows no method but initialize, and decides neither when a daemon
// is idle nor what it does.
package daemon
