//go:build darwin || freebsd || netbsd

package workspace

import "syscall"

// changeTime is when the file's bytes or attributes last changed, in nanoseconds; unlike the
// time of modification nobody can set it.
func changeTime(st *syscall.Stat_t) int64 { return st.Ctimespec.Nano() }
