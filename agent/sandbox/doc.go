// Package sandbox confines the processes of one command with what the system has for it.
//
// A Policy says where may be written, what stays as it is, what is not even seen, and whether the network may be
// reached. A Mechanism holds it; Best says which one works here, by having tried it.
//
//	bubblewrap  Linux: namespaces of its own for mounts, processes, IPC and network, and a filter of system calls.
//	            The one mechanism under which all of a policy holds.
//	landlock    Linux, where bubblewrap is missing or refused: rights of a thread that what it starts inherits, and
//	            the same filter. Reading is not limited, and a path below a writable one cannot be kept from change,
//	            so ReadOnly does not hold; Hidden is unwritable and not unreadable. Modes, owners and times of files
//	            that exist can be changed anywhere. There are no Unix sockets, and no loopback without the network.
//	seatbelt    macOS: a profile for sandbox-exec. Built and its text tested, not exercised.
//
// In every mechanism the privileges that a root user would keep are reduced to those that change owners and modes of
// files that may be written.
//
// With bubblewrap each command without the network has a loopback of its own: none reaches the server that another
// started.
//
// The package does not decide what a command may do, and does not watch or end it.
package sandbox
