// Package rehearsal is a stand-in for a model server, so that Tandem does its main job with no
// account: it speaks OpenAI-compatible chat completions on a loopback port and plays a script.
// Only the words of the agent are scripted; plan, edits, commands and tests are Tandem's own
// and real, and so is the path to the model, the client library included.
//
// # The script
//
// A script is a txtar archive.
//
//	rehearsal 1                          the first line of the comment names the format
//	pace: 16 words/s                     a setting: how fast words come where a beat says nothing else
//
//	Anything that a reader should know.  prose, up to the first file
//	-- task --                           what the developer asks for
//	-- steer --                          the steer suggested to the developer; may be left out
//	-- workspace/greet/greet.go --       the files of the workspace, each with a final newline
//	-- files/hook.go --                  longer texts that beats refer to
//	-- beats/010-plan --                 the beats, in the order of their names
//
// # A beat
//
// A beat is one answer of the model. A statement starts at column 0; the text that belongs to
// it follows, indented by two spaces. Empty lines and lines that begin with # are left out.
//
//	on steer has "hook" or "provider"    begins a chain: a steer with one of these words leads here
//	on steer                             … any steer
//	on steer                             … any steer; the words are those that a recording heard here
//	  Keep the old name.                 (on steer quoted: one text in double quotes follows)
//	cancelled 2 3                        … it kept these calls of the beat before from beginning, from 1
//	running 1                            … these ran when it came
//	on message has "brief"               … any later user message with this word
//	back                                 when this chain is over, the story goes on where it was
//	aside check_in                       answers a request that forces this tool, outside the story
//	aside none                           answers a request that forbids tools
//
//	if call edit_file has "auth.go"      a beat whose if does not hold is passed over
//	if no call edit_file                 … a call that was cancelled counts as not made
//	expect result lacks "FAIL"           a beat whose expect does not hold is an error; the result is
//	                                     that of the last calls
//	expect result of run_command has "ok"  … of the last reply that called this tool
//	expect conversation has "go on"      … of the whole conversation but the system's message
//
//	delay 800ms                          waits
//	think                                streams reasoning
//	say 14 words/s                       streams words, here at a pace of their own
//	  I found that the state lives in Provider.
//	call edit_file                       a tool call; its arguments are YAML (so JSON too)
//	  intent: Extend Provider
//	  path: auth/auth.go
//	  content: "@files/hook.go"          a text starting with @ is another file of the archive, @@ is an @
//	call edit_file raw                   … arguments that are sent as they stand, even when they are no JSON
//	  {"path": "au
//	                                     (quoted behind say, think or call: one text in double quotes
//	                                     follows; the name of a tool may stand in double quotes too)
//	end length                           ends with another finish_reason than stop or tool_calls
//	cut                                  the connection breaks here
//	hold                                 nothing more comes until the client hangs up
//	fail 429 retry-after 2s              in place of an answer: this status, the indented text as its body;
//	                                     200 is a body that is no answer
//
// A beat with cut, hold or fail is played once in the life of a server.
//
// # Playing
//
// What a request is answered depends on the conversation that it bears: the server reads it from
// the start and follows the story along.
//
//	system
//	user       the task                        ▸ 010-plan
//	assistant  (the calls of 010-plan)         ▸ 020-read
//	tool       …
//	assistant  (the calls of 020-read)         ▸ 030-approach
//	tool       …
//	assistant  I found that the st             ▸ 030-approach   cut: it was not heard whole
//	user       the steer                       ▸ 110-replan     on steer: its chain takes over
//
// So a client that hangs up in the middle (a steer does) ends a beat like any other end, and
// asking again gives the same beat. An answer is known by its calls, or, where it has none, by
// its words. Of several chains that a message fits, the first that was not entered yet is taken,
// else the last; likewise an aside. A beat of which a call was cancelled is played again when the
// story comes to it.
//
// A request that no beat fits gets status 400 and an error that says what was expected and what
// came. So does a request after the last beat, and one that forces a tool which the beat does
// not call. Nothing is ever made up. A conversation that was compacted has lost its answers and
// begins the story again, unless a chain (on message) catches it.
//
// Where a recording heard a steer the player waits for one: a request that comes first is held
// until the client hangs up. Options.Awaits, Server.Awaited and, for a steer that was heard
// while a call ran, Server.AwaitedDuring give the words to whoever plays the developer. Calls
// that the steer had kept from beginning are left out of the answer before it, since nobody
// could stop them at the same moment again.
//
// # Recording
//
// Record passes requests to a real server and writes what came back as beats of this format. No
// header is recorded, so no key is; Options.Redact takes out of bodies what else is secret. A
// steer is recorded with its words. What the developer answers to a question or decides in a
// pause is not: a player needs a developer for it.
//
// The package does not know Tandem's tools, plans or steers beyond what a script says of them,
// and it checks no words of the client: it is an actor, not a judge.
package rehearsal
