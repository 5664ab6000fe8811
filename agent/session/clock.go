package session

import (
	"context"
	"time"

	"tandem/agent"
)

// clockSlack is how far the wall's clock may stray from the one that nobody sets, as it does where it
// is kept right, before it counts as set.
const clockSlack = time.Second

// systemClock measures from a time on. What passes while the machine sleeps is not counted.
func systemClock(from time.Time) func() (time.Time, time.Duration) {
	return func() (time.Time, time.Duration) {
		now := time.Now()
		return now.UTC(), now.Sub(from)
	}
}

// noticeClock tells the session that the clock was set before anything is decided by its time: a
// window that has begun would be over at once, or never.
func (s *Session) noticeClock(ctx context.Context, in agent.Input) error {
	wall, passed := s.clock()
	by := wall.Add(-passed).Sub(s.anchor)
	if by.Abs() <= clockSlack {
		return nil
	}
	s.anchor = s.anchor.Add(by)
	if _, starts := in.(agent.Start); starts {
		return nil
	}
	if _, err := s.decide(ctx, "", agent.ClockSet{By: by}); err != nil {
		s.anchor = s.anchor.Add(-by)
		return err
	}
	return nil
}

// wait reports when a time has come, or when as much has passed as there was to wait though the clock
// was set back meanwhile, or when it is not waited for any more.
func wait(ctx context.Context, until time.Time, clock func() (time.Time, time.Duration)) agent.Input {
	now, _ := clock()
	for left := until.Sub(now); ctx.Err() == nil && left > 0; {
		t := time.NewTimer(left)
		select {
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
		now, _ = clock()
		if left = until.Sub(now); left > 2*clockSlack {
			break
		}
	}
	return agent.TimePassed{}
}
