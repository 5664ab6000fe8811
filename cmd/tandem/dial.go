package main

import (
	"context"
	"net"
	"os"

	"tandem/server/daemon"
)

// dial connects to the daemon of a workspace, and starts it when none runs.
func dial(ctx context.Context, dir string) (net.Conn, error) {
	build, err := daemon.Build()
	if err != nil {
		return nil, err
	}
	return daemon.Connect(ctx, dir, build, func() (<-chan error, error) {
		exe, err := os.Executable()
		if err != nil {
			return nil, err
		}
		return daemon.Spawn(daemon.Program{Exe: exe, Args: []string{"serve", "--workspace", dir}, Log: logFile(dir)})
	})
}
