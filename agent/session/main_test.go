package session

import (
	"testing"

	"go.uber.org/goleak"

	"tandem/agent/command"
)

// TestMain lets this program supervise the commands that tests start, and sees that no
// goroutine is left behind.
func TestMain(m *testing.M) {
	command.Supervise()
	goleak.VerifyTestMain(m)
}
