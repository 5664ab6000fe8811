package rpc

import "sync"

const (
	// A lane whose handlers are stuck holds this much before the connection is given up: the
	// reader must neither wait for a handler nor hoard without end.
	maxLaneJobs  = 100_000
	maxLaneBytes = 256 << 20
)

// job is one handler's run. It calls next, or returns, when the job behind it may begin.
type job struct {
	run  func(next func())
	size int
}

// lane runs jobs in the order in which they were put, one at a time. It has a goroutine only while
// it has jobs.
type lane struct {
	work *sync.WaitGroup

	mu    sync.Mutex
	jobs  []job
	bytes int
	busy  bool
}

// put adds a job; it is false when the lane is full. The caller sees to it that work is not being
// waited for, or is itself part of it.
func (l *lane) put(j job) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.jobs) >= maxLaneJobs || l.bytes+j.size > maxLaneBytes && len(l.jobs) > 0 {
		return false
	}
	l.jobs = append(l.jobs, j)
	l.bytes += j.size
	if !l.busy {
		l.busy = true
		l.work.Go(l.drain)
	}
	return true
}

// drain runs jobs until there is none, or until one that goes on has handed the lane over.
func (l *lane) drain() {
	for {
		j, ok := l.take()
		if !ok {
			return
		}
		var once sync.Once
		handedOver := true
		j.run(func() { once.Do(func() { l.work.Go(l.drain) }) })
		once.Do(func() { handedOver = false })
		if handedOver {
			return
		}
	}
}

func (l *lane) take() (job, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.jobs) == 0 {
		l.jobs, l.busy = nil, false
		return job{}, false
	}
	j := l.jobs[0]
	l.jobs[0] = job{}
	l.jobs = l.jobs[1:]
	l.bytes -= j.size
	return j, true
}
