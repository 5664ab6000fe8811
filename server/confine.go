package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tandem/agent/command"
	"tandem/agent/sandbox"
	"tandem/agent/session"
	"tandem/server/config"
	"tandem/server/daemon"
)

// commands is how the commands of a workspace's sessions run.
func (r *Registry) commands(dir string, c config.Commands) (session.Commands, error) {
	out := session.Commands{Env: command.Environment(r.opts.Environ, c.Env, false), NetworkEnv: command.Environment(r.opts.Environ, c.Env, true),
		Timeout: c.Timeout()}
	if c.Sandbox == config.SandboxOff {
		return out, nil
	}
	found := sandbox.Best()
	if found.Mechanism == sandbox.None {
		if c.Sandbox == config.SandboxRequired {
			out.Refused = "no command runs here, because the configuration requires a sandbox (commands.sandbox) and this system has none: " + found.Why +
				". The developer installs bubblewrap, or sets commands.sandbox to auto; tandem doctor tells more"
		}
		return out, nil
	}
	house, err := House(dir, r.opts.State, r.getenv, c)
	if err != nil {
		return out, err
	}
	house.Scratch = filepath.Join(r.folder(dir), "tmp")
	out.Sandbox = house.Policy(found.Mechanism)
	return out, nil
}

// House is a workspace with what commands in it may touch and what they may not.
func House(dir, state string, getenv func(string) string, c config.Commands) (sandbox.House, error) {
	if err := os.MkdirAll(state, 0o700); err != nil {
		return sandbox.House{}, fmt.Errorf("make the folder %s: %w", state, err)
	}
	own, err := daemon.Folders()
	if err != nil {
		return sandbox.House{}, err
	}
	own = append(own, state, filepath.Dir(config.UserFile(getenv)))
	if runtime := getenv("XDG_RUNTIME_DIR"); strings.HasPrefix(runtime, "/run/") {
		own = append(own, runtime) // the sockets of the developer's desktop
	}
	return sandbox.House{Dir: dir, Getenv: getenv, Write: c.Write, Own: own}, nil
}
