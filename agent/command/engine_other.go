//go:build !linux && !darwin && !windows

package command

import (
	"errors"
	"os"
)

// engine is never made on this system.
type engine struct {
	output  *os.File
	reports chan report
}

// Supervise has nothing to do on this system.
func Supervise() {}

// EndLost finds nothing on this system, which starts no commands.
func EndLost() []string { return nil }

func launch(Spec) (*engine, error) {
	return nil, errors.New("run command: commands cannot be run on this system; Linux, macOS and Windows can")
}

func (e *engine) order(order) error { return errors.ErrUnsupported }

func (e *engine) abandon() {}

func (e *engine) release() {}
