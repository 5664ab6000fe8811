//go:build !linux

package daemon

import "net"

// ours relies on the folder, which lets nobody else in.
func ours(net.Conn) error { return nil }
