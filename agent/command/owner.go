package command

import (
	"errors"
	"time"
)

// owner holds the state of one command on the daemon's side. One goroutine runs it; all others send it messages.
type owner struct {
	c      *Command
	engine *engine
	said   func(string)
	text   transcript
	begun  time.Time
	grace  time.Duration

	chunks chan []byte // output as it was read; closed at its end
	spare  chan []byte // buffers to read into

	left     time.Duration // of the time limit, when counting began
	counting time.Time     // zero while frozen
	bound    *time.Timer

	flush    <-chan time.Time // set while something waits to be said
	force    <-chan time.Time // set when the tree has been told to end, or has ended
	owed     []ask            // what the supervisor has yet to answer, in order
	timedOut bool
	ended    *ending
}

// read carries output from the pipe to the owner until the pipe ends or its deadline has passed.
func (o *owner) read() {
	defer close(o.chunks)
	o.spare <- make([]byte, chunkSize)
	o.spare <- make([]byte, chunkSize)
	for {
		buf := <-o.spare
		n, err := o.engine.output.Read(buf)
		if n > 0 {
			o.chunks <- buf[:n]
		}
		if err != nil {
			return // The end of the pipe or the deadline: there is no other, and nothing more to get in either case.
		}
	}
}

func (o *owner) run() {
	reports := o.engine.reports
	for chunks := o.chunks; chunks != nil || reports != nil; {
		select {
		case p, ok := <-chunks:
			if !ok {
				chunks = nil
				break
			}
			o.hear(p)
		case r, ok := <-reports:
			if !ok {
				reports = nil
				break
			}
			o.take(r)
		case <-o.c.stop:
			o.end()
		case a := <-o.c.asks:
			o.answer(a)
		case <-o.bound.C:
			o.timedOut = o.ended == nil && o.force == nil
			o.end()
		case <-o.force:
			o.engine.abandon()
		case now := <-o.flush:
			o.flush = nil
			o.text.say(now, o.said)
			o.arm()
		}
	}
	o.finish()
}

func (o *owner) hear(p []byte) {
	o.text.write(p)
	o.spare <- p[:cap(p)]
	o.arm()
}

// arm sets the time of the next word to the clients when there is one.
func (o *owner) arm() {
	if o.flush == nil && o.text.unsaid() {
		o.flush = time.After(time.Until(o.text.feed.spent.Add(sayEvery)))
	}
}

func (o *owner) take(r report) {
	switch {
	case r.Ended != nil:
		o.ended = r.Ended
		o.bound.Stop()
		o.force = time.After(patience) // A supervisor that said its last word exits now, or is made to.
		// Systems without deadlines on pipes end the tree with all its handles, so that the pipe ends by itself.
		_ = o.engine.output.SetReadDeadline(time.Now().Add(drain))
	case r.Answer && len(o.owed) > 0:
		o.settle(r.Problem)
	}
}

// settle answers the oldest wish. The time limit stands still from a freeze that worked to the next thaw.
func (o *owner) settle(problem string) {
	a := o.owed[0]
	o.owed = o.owed[1:]
	switch {
	case problem != "":
		a.answer <- errors.New(problem)
		return
	case a.order == freezeOrder && !o.counting.IsZero():
		o.bound.Stop()
		o.left -= time.Since(o.counting)
		o.counting = time.Time{}
	case a.order == thawOrder && o.counting.IsZero():
		o.counting = time.Now()
		o.bound.Reset(o.left)
	}
	a.answer <- nil
}

func (o *owner) answer(a ask) {
	if a.output != nil {
		a.output <- o.text.text()
		return
	}
	if o.ended != nil {
		a.answer <- ErrEnded
		return
	}
	if err := o.engine.order(a.order); err != nil {
		a.answer <- err
		return
	}
	o.owed = append(o.owed, a)
}

// end tells the supervisor to end the tree, and waits no longer than its grace and some patience for that.
func (o *owner) end() {
	if o.ended != nil || o.force != nil {
		return
	}
	o.bound.Stop()
	o.force = time.After(o.grace + patience)
	// A supervisor that cannot be told is dying or dead, which its reports will say; if they do not, force comes.
	_ = o.engine.order(stopOrder)
}

func (o *owner) finish() {
	o.bound.Stop()
	o.engine.release()
	o.text.close()
	if o.text.unsaid() {
		o.text.say(time.Now().Add(sayEvery), o.said) // The last words need not wait for their time.
	}
	output := o.text.text()
	if o.ended.Lost {
		output += "\n[The supervisor of this command was killed; the command was ended with it.]\n"
	}
	o.c.result = Result{
		ExitCode: o.ended.ExitCode, Signal: o.ended.Signal, Leftovers: o.ended.Leftovers, TimedOut: o.timedOut,
		Output: output, Bytes: o.text.clean.bytes, Duration: time.Since(o.begun),
	}
	close(o.c.done)
}
