package config

// value is what a key takes.
type value int

const (
	text    value = iota
	whole         // a whole number
	number        // a number
	section       // a mapping with known keys
	list          // a list
	operand       // a number, or a section
	boolean       // true or false
)

// shape describes what may stand at a place in a configuration file. The checks and the published
// JSON schema are made from it.
type shape struct {
	value value
	what  string // what it is for, in the schema
	words []string
	min   int64
	max   int64 // 0 is none
	path  bool  // it is a path within the workspace, and nothing of git's
	blank bool  // it may stand without a value, which sets nothing
	of    *shape
	keys  map[string]shape // of a section, or of an operand that is one
	needs []string         // keys that have to be there
	one   []string         // keys of which exactly one has to be there
	some  []string         // keys of which at least one has to be there
	with  map[string]string
}

// mostSeconds is the longest time that can be set, which is half a day.
const mostSeconds = 12 * 60 * 60

// root is the whole file.
var root = shape{value: section, what: "How Tandem is set up, for a user or a workspace.", keys: map[string]shape{
	"model": {value: section, blank: true, what: "The model that is asked, and where.", keys: map[string]shape{
		"name":     {blank: true, what: "The name that the model's server knows it by. TANDEM_MODEL goes before it."},
		"base_url": {blank: true, what: "Where an OpenAI-compatible server answers. In the user's file only; OPENAI_BASE_URL goes before it."},
		"context":  {value: whole, blank: true, what: "How many tokens the model takes; near it the conversation begins anew with a brief. 0: the server says when it is too long."},
		"idle_s":   {value: whole, blank: true, max: mostSeconds, what: "The longest silence of the server, in seconds; 0 is the default."},
	}},
	"autonomy": {blank: true, words: []string{"close", "balanced", "high"}, what: "How much the agent decides by itself."},
	"commands": {value: section, blank: true, what: "Bounds of what the agent runs.", keys: map[string]shape{
		"timeout_s": {value: whole, blank: true, max: mostSeconds, what: "How long a command may run that names no bound, in seconds; 0 is the default."},
		"network":   {value: boolean, blank: true, what: "Whether commands may use the network; false: a command that needs it is asked for."},
		"sandbox":   {blank: true, words: []string{"auto", "off", "required"}, what: "Whether commands are confined: where the system can (auto), never, or else they are refused. In the user's file only."},
		"write":     {value: list, blank: true, of: &shape{min: 1}, what: "Folders outside the workspace that commands may change, absolute or from ~/. In the user's file only."},
		"env":       {value: list, blank: true, of: &shape{min: 1}, what: "Names of further variables that commands get, also of secrets; one that ends with * stands for all that begin so. In the user's file only."},
	}},
	"secrets": {value: section, blank: true, what: "Files that hold secrets: they are touched only where you allow it, for an operation or a session.", keys: map[string]shape{
		"files": {value: list, blank: true, of: &shape{min: 1}, what: "Globs of more of them than those known by name, such as .env, *.pem and .ssh/."},
		"allow": {value: list, blank: true, of: &shape{min: 1}, what: "Globs of files that hold none, whatever their name."},
	}},
	"checkpoints": {value: section, blank: true, what: "What can be taken back.", keys: map[string]shape{
		"also": {value: list, blank: true, of: &shape{min: 1, path: true}, what: "Folders and files that git ignores, and whose changes by commands can be taken back all the same: paths relative to the workspace."},
	}},
	"commits": {value: section, blank: true, what: "What is committed with git, on a branch of the session's own.", keys: map[string]shape{
		"steps": {value: boolean, blank: true, what: "Whether each step is committed when it is done, on the branch tandem/SESSION: false."},
	}},
	"decisions": {value: section, blank: true, what: "What makes a decision of the agent wait for your word.", keys: map[string]shape{
		"window_s": {value: whole, blank: true, max: mostSeconds, what: "How long a major decision waits for a veto at autonomy balanced, in seconds: 10."},
		"major":    {value: list, blank: true, of: &shape{min: 1}, what: "Globs of files whose change is always a major decision; ** is any folders."},
	}},
	"signals": {value: section, blank: true, what: "When Tandem proposes a check-in by itself; 0 is the default.", keys: map[string]shape{
		"reads":     {value: whole, blank: true, what: "Operations in a row that only read while no step moves: 15."},
		"failures":  {value: whole, blank: true, what: "Failures of one command in a row: 3."},
		"returns":   {value: whole, blank: true, what: "How often a file was changed and brought back: 2."},
		"growth":    {value: whole, blank: true, what: "How often in a row the plan grew and nothing was done: 3."},
		"silence_s": {value: whole, blank: true, max: mostSeconds, what: "Seconds that the model takes for one answer while nothing else runs: 120."},
	}},
	"tripwires": {value: list, blank: true, of: &condition, what: "Stop conditions: when one does not hold, the agent is stopped. Those of the user and of the workspace all count."},
	"watches":   {value: list, blank: true, of: &watch, what: "Values of the product that are shown beside the work."},
	"scenarios": {value: list, blank: true, of: &scenario, what: "What reruns after a decision, on the same input."},
}}

var (
	file  = shape{what: "A file of the workspace: a path relative to it, with slashes.", min: 1}
	globs = shape{value: list, of: &shape{min: 1}, what: "Globs of files, relative to the workspace; ** is any folders."}
	texts = shape{value: list, min: 1, of: &shape{min: 1}}
)

// sourceKeys are the keys of a value source.
var sourceKeys = map[string]shape{
	"json":    {min: 1, what: "A JSON file."},
	"at":      {what: "A JSON pointer in the file; without it all of the file."},
	"csv":     {min: 1, what: "A CSV file, whose first row names the columns."},
	"column":  {min: 1, what: "A column of the CSV file."},
	"agg":     {words: []string{"count", "sum", "min", "max"}, what: "What to make of the column."},
	"sql":     {min: 1, what: "A database: sqlite:FILE, or postgres://USER@HOST/DATABASE."},
	"query":   {min: 1, what: "One SELECT that gives one value."},
	"output":  {min: 1, what: "A regular expression on the last command's output: the last match, and of it the first group."},
	"command": {min: 1, what: "A command line whose output is the value."},
}

var (
	kindsOfSource = []string{"json", "csv", "sql", "output", "command"}
	sourceWith    = map[string]string{"at": "json", "column": "csv", "agg": "csv", "query": "sql", "csv": "agg", "sql": "query"}
	side          = shape{value: operand, keys: sourceKeys, one: kindsOfSource, with: sourceWith, what: "A number, or a value source."}
)

var watch = shape{value: section, keys: and(sourceKeys, "name", shape{min: 1, what: "Its name, which is shown."}), needs: []string{"name"}, one: kindsOfSource, with: sourceWith}

var scenario = shape{value: section, needs: []string{"name", "run"}, keys: map[string]shape{
	"name":    {min: 1, what: "Its name, which tripwires and requests use."},
	"run":     {min: 1, what: "The command line that is run."},
	"inputs":  globs,
	"outputs": globs,
}}

var condition = shape{value: section, needs: []string{"name"},
	one: []string{"schema", "require", "command", "range", "count", "equal", "paths", "unchanged", "budget"}, keys: map[string]shape{
		"name":     {min: 1, what: "Its name, which is shown when it trips."},
		"scenario": {min: 1, what: "The scenario that reruns after a decision about it."},
		"schema":   {value: section, what: "A JSON file is as a JSON Schema says.", needs: []string{"file", "schema"}, keys: map[string]shape{"file": file, "schema": file}},
		"require":  {value: section, what: "Fields are there: JSON pointers, or columns of a CSV file.", needs: []string{"file", "fields"}, keys: map[string]shape{"file": file, "fields": texts}},
		"command": {value: section, what: "A command ends with an exit code.", needs: []string{"run"}, keys: map[string]shape{
			"run": {min: 1, what: "The command line."}, "exit": {value: whole, max: 255, what: "The exit code; 0 when it is not given."}, "after": globs,
			"timeout_s": {value: whole, min: 1, max: mostSeconds, what: "How long it may run, in seconds; 600 when it is not given."}}},
		"range": {value: section, what: "A value is a number in a range, its ends included.", needs: []string{"value"}, some: []string{"min", "max"},
			keys: map[string]shape{"value": side, "min": {value: number}, "max": {value: number}}},
		"count": {value: section, what: "A CSV, JSON or JSON Lines file has a number of records.", needs: []string{"records"}, some: []string{"min", "max"}, keys: map[string]shape{
			"records": file, "at": {what: "A JSON pointer to the array, in a .json file."}, "min": {value: whole}, "max": {value: whole}}},
		"equal": {value: section, what: "Two values are the same.", needs: []string{"left", "right"}, keys: map[string]shape{
			"left": side, "right": side, "tolerance": {value: number, what: "By how much numbers may differ, 0 or more."}}},
		"paths": {value: section, what: "What no operation may write.", needs: []string{"forbid"}, keys: map[string]shape{"forbid": texts}},
		"unchanged": {value: section, what: "Dependencies are those of the session's start.", needs: []string{"files", "what"}, keys: map[string]shape{
			"files": texts, "what": {words: []string{"dependencies"}}}},
		"budget": {value: section, what: "What the session may use.", some: []string{"requests", "tokens", "minutes", "repeats"}, keys: map[string]shape{
			"requests": {value: whole, min: 1}, "tokens": {value: whole, min: 1}, "minutes": {value: whole, min: 1},
			"repeats": {value: whole, min: 2, what: "The number of like calls in a row that trips."}}},
	}}

func and(keys map[string]shape, name string, s shape) map[string]shape {
	all := map[string]shape{name: s}
	for k, v := range keys {
		all[k] = v
	}
	return all
}
