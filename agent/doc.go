// Package agent is the part of Tandem that decides. It is a pure state machine:
//
//	Input   what the world says        a developer's request, the model's answer, a tool's outcome, time, a restart
//	Event   what is now true           past tense, journaled, never edited; the session IS its events
//	Work    what should be running     a pure function of the state
//
//	func (s State) Decide(in Input) ([]Event, error)   // refuses, or answers with facts
//	func (s State) Apply(e Event) State                // total: a fact has happened, it cannot fail
//	func (s State) Work() []Work                       // questions to the model, tools, verifications, timers
//
// Decide first reacts to the input and then settles: it goes on as long as something follows
// from the state alone (a queued call may begin, a plan is taken, the next question is due).
// So one record holds all facts of one decision, the question that it leads to included.
//
// A steer, end to end:
//
//	Steer ─▶ Steered           the receipt: what was cancelled, what runs on, what was unseen
//	         Cut               the running answer stops; what it said stays, marked as cut
//	         Cancelled…        calls that had not begun; commands in its scope are Stopping
//	         Woke              only where the session waited or was done
//	         Heard, Asked      the next question bears it, with the exact bytes of its messages
//
// The conversation only grows at its end: Asked, Answered and Cut hold the messages that they
// add as the bytes that are sent, and Compacted is the only fact that begins it anew.
//
// The package holds no goroutine, channel, clock, randomness, map or I/O: time and ids arrive
// in inputs or are counted in the state. It does not run anything; agent/session does.
package agent
