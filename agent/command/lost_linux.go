package command

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// program is this very file, even when an update has put another in its place.
func program() (string, error) { return "/proc/self/exe", nil }

// identity makes the mark of a command from where its daemon runs, which daemon that is, and its supervisor. The
// namespace is part of it as a pid means nothing in another, and the start time as pids are used again.
func identity(supervisor int) string {
	return fmt.Sprintf("%s-%d-%s-%d", namespace(), os.Getpid(), startTime(os.Getpid()), supervisor)
}

func namespace() string {
	link, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "0"
	}
	return strings.Trim(link, "pid:[]")
}

// startTime answers with the clock tick in which a process started, "" when there is none or only a zombie.
func startTime(pid int) string {
	fields := stat(fmt.Sprintf("/proc/%d/stat", pid))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return ""
	}
	return fields[19]
}

// EndLost ends what is left of commands whose daemon is gone, and answers with their command lines. A daemon calls
// it when it starts. Commands of living daemons, and of other containers, are not touched.
func EndLost() []string { return endMarked(orphaned) }

// orphaned says whether a mark names a daemon of this namespace that lives no more. Whatever does not read as one of
// our marks is left alone.
func orphaned(id string) bool {
	parts := strings.Split(id, "-")
	if len(parts) != 4 || parts[0] != namespace() {
		return false
	}
	daemon, err := strconv.Atoi(parts[1])
	return err == nil && daemon > 0 && parts[2] != "" && startTime(daemon) != parts[2]
}

// endMarked kills the processes whose mark matches until none is found, or giveUp has passed, and answers with their
// command lines.
func endMarked(match func(id string) bool) []string {
	var names []string
	named := map[int]bool{}
	for limit := time.Now().Add(giveUp); time.Now().Before(limit); time.Sleep(time.Millisecond) {
		found := marked(match)
		for _, pid := range found {
			if !named[pid] && len(names) < nameCount {
				names = append(names, cleanLine(commandLine(pid), nameLength))
			}
			named[pid] = true
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if len(found) == 0 {
			break
		}
	}
	return names
}

// marked answers with the processes whose mark matches, and what descends from them.
func marked(match func(id string) bool) []int {
	var pids []int
	for _, name := range entries("/proc") {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() || !matches(pid, match) {
			continue
		}
		pids = append(pids, pid)
		for _, p := range descendants(pid) {
			if p.pid != os.Getpid() { // A Tandem that runs in a Tandem's command does not end itself.
				pids = append(pids, p.pid)
			}
		}
	}
	return pids
}

func matches(pid int, match func(id string) bool) bool {
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false // It is gone or another user's.
	}
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if id, ok := bytes.CutPrefix(entry, []byte(mark+"=")); ok {
			return match(string(id))
		}
	}
	return false
}
