package command

import "strings"

// mark names the variable by which the processes of a command are found when their supervisor is gone.
const mark = "TANDEM_COMMAND"

// unwanted are variables that a command does not get: the model's key, what would ask a person for a password,
// and what would make tools behave as on a build server.
var unwanted = []string{"OPENAI_API_KEY", "GIT_ASKPASS", "SSH_ASKPASS", "CI", mark}

// settled are variables with one value for every command: nothing pages, asks or draws, as nobody could answer.
var settled = [][2]string{
	{"TERM", "dumb"},
	{"NO_COLOR", "1"},
	{"PAGER", "cat"},
	{"GIT_PAGER", "cat"},
	{"MANPAGER", "cat"},
	{"SYSTEMD_PAGER", "cat"},
	{"GIT_EDITOR", "true"},
	{"GIT_TERMINAL_PROMPT", "0"},
	{"SSH_ASKPASS_REQUIRE", "never"},
	{"DEBIAN_FRONTEND", "noninteractive"},
}

// Environment answers with the environment for commands, made of the daemon's ("NAME=value" each): without the
// model's key, and set so that tools neither page nor prompt. The rest stays as it is; environ is not changed.
// GIT_SSH_COMMAND is set to batch mode only where the developer has not set it.
func Environment(environ []string) []string {
	env := make([]string, 0, len(environ)+len(settled)+1)
	ssh := false
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if dropped(name) {
			continue
		}
		ssh = ssh || name == "GIT_SSH_COMMAND"
		env = append(env, entry)
	}
	for _, pair := range settled {
		env = append(env, pair[0]+"="+pair[1])
	}
	if !ssh {
		env = append(env, "GIT_SSH_COMMAND=ssh -o BatchMode=yes")
	}
	return env
}

// dropped says whether a variable of the daemon does not reach a command as it is. Case is ignored, as Windows does:
// a key in the wrong case is still a key.
func dropped(name string) bool {
	for _, u := range unwanted {
		if strings.EqualFold(name, u) {
			return true
		}
	}
	for _, pair := range settled {
		if strings.EqualFold(name, pair[0]) {
			return true
		}
	}
	return false
}

// withMark answers with the environment that bears one mark, and no older one of a Tandem around this one.
func withMark(env []string, id string) []string {
	marked := make([]string, 0, len(env)+1)
	for _, entry := range env {
		if !strings.HasPrefix(entry, mark+"=") {
			marked = append(marked, entry)
		}
	}
	return append(marked, mark+"="+id)
}
