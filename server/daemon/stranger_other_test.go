//go:build unix && !linux

package daemon

import (
	"net"
	"testing"
)

func asStranger(t *testing.T, _ func() (net.Conn, error)) net.Conn {
	t.Skip("this system keeps strangers out by the folder alone")
	return nil
}
