package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"tandem/server"
	"tandem/server/daemon"
)

type lspCommand struct {
	Isolated bool `help:"Serve in this process alone, not through the shared daemon."`
}

// Run serves the editor that started this process.
func (c *lspCommand) Run(ctx context.Context) error {
	if !c.Isolated {
		return forward(ctx)
	}
	log, err := newLog()
	if err != nil {
		return err
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	registry := server.NewRegistry(server.Options{State: server.StateFolder(os.Getenv), Environ: os.Environ(), Log: log})
	conn := registry.Serve(ctx, stdio{})
	<-conn.Done()
	return registry.Close()
}

// interruptible has an interrupt end ctx as the other signals do, so that sessions are closed and
// not lost.
func interruptible(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt)
}

// stdio is stdin and stdout as one connection.
type stdio struct{}

func (stdio) Read(b []byte) (int, error)  { return os.Stdin.Read(b) }
func (stdio) Write(b []byte) (int, error) { return os.Stdout.Write(b) }
func (stdio) Close() error                { return errors.Join(os.Stdin.Close(), os.Stdout.Close()) }

// readAhead is stdin behind a reader that has read ahead.
type readAhead struct {
	stdio
	in *bufio.Reader
}

func (c readAhead) Read(b []byte) (int, error) { return c.in.Read(b) }

// forward copies frames between the editor and the daemon of the workspace that it names.
func forward(ctx context.Context) error {
	c := readAhead{in: bufio.NewReaderSize(os.Stdin, 64<<10)}
	hello, err := daemon.ReadHello(c.in)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	dir := hello.Workspace
	if dir == "" {
		if dir, err = os.Getwd(); err != nil {
			return err
		}
	}
	for {
		conn, err := dial(ctx, dir)
		if err != nil {
			return err
		}
		if err := daemon.Forward(ctx, c, conn, hello.Frames); !errors.Is(err, daemon.ErrUnanswered) {
			return err
		}
	}
}

type serveCommand struct {
	Workspace string `help:"The workspace's folder." default:"." type:"existingdir"`
}

// idleCheck is how often an idle daemon looks whether it may end, and idleTime how long it waits
// for a client then.
const (
	idleCheck = 10 * time.Second
	idleTime  = 5 * time.Minute
)

// Run serves the workspace's socket until it is idle or told to end.
func (c *serveCommand) Run(ctx context.Context) error {
	log, err := newLog()
	if err != nil {
		return err
	}
	build, err := daemon.Build()
	if err != nil {
		return err
	}
	path, err := daemon.Path(c.Workspace, build)
	if err != nil {
		return err
	}
	listener, err := daemon.Listen(path)
	if errors.Is(err, daemon.ErrRunning) { // two were started at once: the other serves
		return nil
	}
	if err != nil {
		return err
	}
	ctx, stop := interruptible(ctx)
	defer stop()
	registry := server.NewRegistry(server.Options{State: server.StateFolder(os.Getenv), Environ: os.Environ(), Log: log})
	go registry.Recover(c.Workspace) // beside the first clients; Close waits for it
	err = registry.ServeAll(ctx, listener, idleCheck, idleTime)
	return errors.Join(err, registry.Close())
}

// newLog logs to stderr: warnings, or everything with TANDEM_DEBUG.
func newLog() (*zap.Logger, error) {
	cfg := zap.NewProductionConfig()
	cfg.Level = zap.NewAtomicLevelAt(zapcore.WarnLevel)
	if os.Getenv("TANDEM_DEBUG") != "" {
		cfg.Level = zap.NewAtomicLevelAt(zapcore.DebugLevel)
	}
	cfg.EncoderConfig.EncodeTime = zapcore.RFC3339NanoTimeEncoder
	cfg.Sampling = nil
	log, err := cfg.Build()
	if err != nil {
		return nil, fmt.Errorf("make the log: %w", err)
	}
	return log, nil
}

func logFile(dir string) string {
	return filepath.Join(server.StateFolder(os.Getenv), "log", filepath.Base(dir)+".log")
}
