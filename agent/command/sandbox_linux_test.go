package command

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tandem/agent/sandbox"
)

// mechanisms are those that the tests go through; one that does not work here is said.
func mechanisms(t *testing.T) []sandbox.Mechanism {
	t.Helper()
	out := []sandbox.Mechanism{}
	for _, m := range []sandbox.Mechanism{sandbox.Bubblewrap, sandbox.Landlock} {
		if why := sandbox.Missing(m); why != "" {
			t.Logf("not tried: %s", why)
			continue
		}
		out = append(out, m)
	}
	if len(out) == 0 {
		t.Skip("no sandbox works here")
	}
	return out
}

// jail is a developer's machine in a folder: a home, a workspace with a repository, Tandem's own folders.
type jail struct {
	t       testing.TB
	m       sandbox.Mechanism
	root    string
	work    string
	network bool
}

func newJail(t testing.TB, m sandbox.Mechanism) *jail {
	t.Helper()
	root := t.TempDir()
	j := &jail{t: t, m: m, root: root, work: filepath.Join(root, "home/work")}
	for _, dir := range []string{"home/work/.git/hooks", "home/.ssh", "home/elsewhere", "home/tmp", "state/sessions", "config/tandem", "run"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"home/.bashrc", "home/elsewhere/kept", "home/work/.git/config", "home/work/.git/hooks/pre-commit", "state/sessions/s.jsonl",
		"config/tandem/config.yaml", "home/.ssh/id_ed25519"} {
		if err := os.WriteFile(filepath.Join(root, file), []byte("kept "+filepath.Base(file)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return j
}

func (j *jail) path(name string) string { return filepath.Join(j.root, name) }

// policy is that of a workspace whose home is not the system's temporary folder, in which the tests are.
func (j *jail) policy() sandbox.Policy {
	p := j.house().Policy(j.m)
	p.Write = slices.DeleteFunc(p.Write, isTemporary)
	p.Network = j.network
	return p
}

// isTemporary says that a path is the system's temporary folder, in which the jails are.
func isTemporary(path string) bool { return path == "/tmp" }

func (j *jail) house() sandbox.House {
	return sandbox.House{Dir: j.work, Getenv: j.getenv, Own: []string{j.path("state"), j.path("config/tandem"), j.path("run")}, Scratch: j.path("state/tmp")}
}

func (j *jail) getenv(name string) string {
	return map[string]string{"HOME": j.path("home"), "TMPDIR": j.path("home/tmp")}[name]
}

func (j *jail) start(line string) *Command {
	j.t.Helper()
	return j.startIn(j.policy(), line)
}

func (j *jail) startIn(p sandbox.Policy, line string) *Command {
	j.t.Helper()
	env := Environment([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + j.path("home"), "TMPDIR=" + j.path("home/tmp"), "R=" + j.root, fmt.Sprint("DAEMON=", os.Getpid())}, []string{"R", "DAEMON"}, false)
	return start(j.t, Spec{Line: line, Dir: j.work, Env: env, Sandbox: p}, nil)
}

func (j *jail) run(line string) Result {
	j.t.Helper()
	return await(j.t, j.start(line))
}

// unharmed fails when anything outside of the workspace, or what is kept in it, has changed.
func (j *jail) unharmed() {
	j.t.Helper()
	for _, file := range []string{"home/.bashrc", "home/elsewhere/kept", "state/sessions/s.jsonl", "config/tandem/config.yaml", "home/.ssh/id_ed25519"} {
		b, err := os.ReadFile(j.path(file))
		if err != nil || string(b) != "kept "+filepath.Base(file)+"\n" {
			j.t.Errorf("%s: %q, %v", file, b, err)
		}
	}
	for dir, want := range map[string]int{"home/elsewhere": 1, "state/sessions": 1, "config/tandem": 1, "home/.ssh": 1} {
		if entries, err := os.ReadDir(j.path(dir)); err != nil || len(entries) != want {
			j.t.Errorf("%s holds %v, %v", dir, entries, err)
		}
	}
}

// escapes are lines that have to fail wherever a sandbox holds, with the mechanisms that hold them; R is the folder
// of the jail, DAEMON the pid of the daemon. What is behind || is the proof that the line itself is sound.
var escapes = []struct {
	name, line string
	only       sandbox.Mechanism
}{
	{name: "a path", line: `echo x > "$R/home/.bashrc"`},
	{name: "a new file", line: `echo x > "$R/home/elsewhere/new"`},
	{name: "a new file in the home", line: `echo x > "$R/home/new"`},
	{name: "two dots", line: `echo x > ../elsewhere/kept`},
	{name: "a symbolic link", line: `ln -s ../elsewhere l && echo x > l/kept`},
	{name: "a hard link", line: `ln ../elsewhere/kept here && echo x > here`},
	{name: "mv out", line: `echo x > y && mv y ../elsewhere/kept`},
	{name: "mv in", line: `mv ../elsewhere/kept .`},
	{name: "rm", line: `rm -f ../elsewhere/kept`},
	{name: "truncate", line: `: > ../elsewhere/kept`},
	{name: "mkdir", line: `mkdir ../elsewhere/d`},
	{name: "a device", line: `mknod disk b 254 0 && echo x > disk`},
	{name: "a pipe elsewhere", line: `mkfifo ../elsewhere/f`},
	{name: "chmod elsewhere", line: `chmod 777 ../elsewhere/kept`, only: sandbox.Bubblewrap},
	{name: "touch elsewhere", line: `touch ../elsewhere/kept`, only: sandbox.Bubblewrap},
	{name: "through the own root", line: `echo x > "/proc/self/root$R/home/elsewhere/kept"`},
	{name: "through the daemon's root", line: `echo x > "/proc/$DAEMON/root$R/home/elsewhere/kept"`},
	{name: "through the daemon's folder", line: `echo x > /proc/$DAEMON/cwd/x`},
	{name: "the daemon's environment", line: `cat /proc/$DAEMON/environ`},
	{name: "the daemon's descriptors", line: `readlink /proc/$DAEMON/fd/1`},
	{name: "a signal to the daemon", line: `kill -0 $DAEMON`},
	{name: "a signal to all", line: `kill -0 -1 && kill -0 $DAEMON`},
	{name: "ptrace", line: `python3 -c 'import ctypes,os,sys; l=ctypes.CDLL(None,use_errno=True); sys.exit(l.ptrace(16902,int(os.environ["DAEMON"]),0,0) != 0)'`},
	{name: "a remount", line: `mount -o remount,rw /`},
	{name: "a mount", line: `mount -t tmpfs x .`},
	{name: "an unmount", line: `umount . || umount "$R/home/work" || umount -l /`},
	{name: "a mount in namespaces of its own", line: `unshare -Urm sh -c 'mount -o remount,rw / ; mount -o remount,rw,bind / ; echo x > "$R/home/elsewhere/kept"'`},
	{name: "the root of another", line: `chroot /proc/1/root sh -c 'echo x > "$R/home/elsewhere/kept"'`},
	{name: "a raw disk", line: `set -- $(ls /dev/vd? /dev/sd? /dev/nvme0n1 2>/dev/null); test -n "$1" && exec 9<>"$1"`},
	{name: "the kernel's settings", line: `v=$(cat /proc/sys/kernel/core_pattern) && echo "$v" > /proc/sys/kernel/core_pattern`},
	{name: "the journal", line: `echo x >> "$R/state/sessions/s.jsonl"`},
	{name: "a new journal", line: `echo x > "$R/state/sessions/new.jsonl"`},
	{name: "the state renamed", line: `mv "$R/state" "$R/old"`},
	{name: "the user's configuration", line: `echo 'commands: {sandbox: off}' > "$R/config/tandem/config.yaml"`},
	{name: "the journal read", line: `cat "$R/state/sessions/s.jsonl"`, only: sandbox.Bubblewrap},
	{name: "a key read", line: `cat "$R/home/.ssh/id_ed25519"`, only: sandbox.Bubblewrap},
	{name: "a hook", line: `echo x > .git/hooks/pre-commit`, only: sandbox.Bubblewrap},
	{name: "a new hook", line: `echo x > .git/hooks/post-checkout`, only: sandbox.Bubblewrap},
	{name: "git's configuration", line: `echo x > .git/config`, only: sandbox.Bubblewrap},
	{name: "git's configuration replaced", line: `echo x > .git/config.lock && mv .git/config.lock .git/config`, only: sandbox.Bubblewrap},
	{name: "another .git", line: `mv .git old`, only: sandbox.Bubblewrap},
	{name: "the workspace's configuration", line: `mkdir -p .tandem && echo 'commands: {network: true}' > .tandem/config.yaml`, only: sandbox.Bubblewrap},
	{name: "the workspace's configuration renamed", line: `mkdir d && touch d/config.yaml && mv -T d .tandem`, only: sandbox.Bubblewrap},
	{name: "the placeholder taken away", line: `rm -r .tandem`, only: sandbox.Bubblewrap},
	{name: "the kernel's keys", line: `python3 -c 'import ctypes,sys; l=ctypes.CDLL(None); sys.exit(l.syscall(250,0,-3,0,0,0) < 0)'`},
	{name: "a ring of system calls", line: `python3 -c 'import ctypes,sys; l=ctypes.CDLL(None); b=ctypes.create_string_buffer(120); sys.exit(l.syscall(425,1,b) < 0)'`},
}

// Nothing gets out by the file system, other processes or the kernel, whoever the user is.
func TestEscapes(t *testing.T) {
	for _, m := range mechanisms(t) {
		t.Run(string(m), func(t *testing.T) {
			j := newJail(t, m)
			for _, e := range escapes {
				if e.only != "" && e.only != m {
					continue
				}
				if r := j.run(e.line); r.ExitCode == 0 {
					t.Errorf("%s got out: %q", e.name, r.Output)
				}
			}
			j.unharmed()
			if _, err := os.Lstat(filepath.Join(j.work, ".tandem")); err == nil && m == sandbox.Bubblewrap {
				t.Error("the placeholder for .tandem was left")
			}
		})
	}
}

// What the sandbox refuses would have been done without it: the lines are sound.
func TestEscapesAreSound(t *testing.T) {
	if testing.Short() {
		t.Skip("it does what the sandbox refuses")
	}
	for _, e := range escapes {
		if !slices.Contains([]string{"a path", "a symbolic link", "a hard link", "mv in", "mkdir", "through the daemon's root", "the daemon's environment", "ptrace", "a signal to the daemon",
			"the journal", "a hook", "git's configuration replaced", "the workspace's configuration", "the workspace's configuration renamed", "a key read", "a ring of system calls"}, e.name) {
			continue // the others need rights or devices that not every machine has
		}
		j := newJail(t, sandbox.None)
		if r := j.run(e.line); r.ExitCode != 0 {
			t.Errorf("%s does nothing even without a sandbox: %q", e.name, r.Output)
		}
	}
}

// reach asks python to reach what listens on this machine and elsewhere, and prints what it reached.
const reach = `python3 -c '
import socket
def attempt(what, how):
    try: how(); print(what)
    except OSError: pass
def connect(family, to):
    s = socket.socket(family); s.settimeout(2); s.connect(to)
attempt("tcp", lambda: connect(socket.AF_INET, ("127.0.0.1", %d)))
attempt("unix", lambda: connect(socket.AF_UNIX, %q))
attempt("abstract", lambda: connect(socket.AF_UNIX, "\0%s"))
attempt("raw", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW))
attempt("vsock", lambda: socket.socket(socket.AF_VSOCK))
attempt("udp", lambda: socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", %d)))
attempt("names", lambda: socket.gethostbyname("example.com"))
'`

// Without the network nothing is reached: not this machine's servers, nor its Unix sockets, nor anything else. With it
// Unix sockets stay closed.
func TestTheNetworkIsOff(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	short, err := os.MkdirTemp("", "s")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(short)
	listen := func(network, address string) net.Listener {
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		return l
	}
	tcp, path, abstract := listen("tcp", "127.0.0.1:0"), listen("unix", filepath.Join(short, "s")), listen("unix", "@tandem-test-"+fmt.Sprint(os.Getpid()))
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	line := fmt.Sprintf(reach, tcp.Addr().(*net.TCPAddr).Port, path.Addr().String(), strings.TrimPrefix(abstract.Addr().String(), "@"), udp.LocalAddr().(*net.UDPAddr).Port)
	hear := func() bool {
		if err := udp.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		_, _, err := udp.ReadFrom(make([]byte, 1))
		return err == nil
	}
	for _, m := range append(mechanisms(t), sandbox.None) {
		for _, online := range []bool{false, true} {
			j := newJail(t, m)
			j.network = online
			r := j.run(line)
			reached := strings.Fields(r.Output)
			got := slices.DeleteFunc(reached, func(w string) bool { return w == "names" && online || w == "udp" })
			want, heard := []string{}, online
			switch {
			case m == sandbox.None: // The attempts are sound.
				want, heard = []string{"tcp", "unix", "abstract"}, true
				got = slices.DeleteFunc(got, func(w string) bool { return w == "raw" || w == "vsock" || w == "names" })
			case online:
				want = []string{"tcp"}
			}
			if !slices.Equal(got, want) || r.ExitCode != 0 || hear() != heard {
				t.Errorf("%q, network %v: reached %q, not %q, and by UDP %v: %s", m, online, got, want, !heard, r.Output)
			}
		}
	}
}

// work is what a developer's day is made of; tools that are not there are passed over.
var work = []struct {
	name, needs, line string
	only              sandbox.Mechanism
}{
	{name: "files", line: `mkdir -p a/b && echo x > a/b/c && mv a/b/c d && ln d e && ln -s d f && rm -r a && chmod +x d && cat f`},
	{name: "a temporary file", line: `f=$(mktemp) && echo x > "$f" && rm "$f"`},
	{name: "the usual devices", line: `echo x > /dev/null; head -c 4 /dev/urandom > /dev/null; echo y > /dev/stdout; echo z > /dev/stderr`},
	{name: "pipes and substitutions", line: `cat <<E | tr a b; bash -c 'cat <(echo x)'` + "\na\nE\n"},
	{name: "shared memory", needs: "python3", line: `python3 -c 'from multiprocessing import Pool
with Pool(2) as p: print(p.map(abs, [-1, -2]))'`},
	{name: "git", needs: "git", line: `rm -rf r && mkdir r && cd r && git init -q && git config user.name n && git config user.email e && echo x > x && git add x && git commit -qm m && git log --oneline`},
	{name: "make", needs: "make", line: `printf 'all:\n\techo made > made\n' > Makefile && make -s && cat made`},
	{name: "C", needs: "cc", line: `printf 'int main(void){return 0;}' > m.c && cc -o m m.c && ./m`},
	{name: "node", needs: "node", line: `node -e 'const c=require("child_process"); c.execSync("echo x"); const f=c.fork("-e",{execArgv:["-e","process.send(1);process.disconnect()"]}); f.on("message",m=>console.log(m))'`},
	{name: "a server and its client", needs: "python3", only: sandbox.Bubblewrap, line: `python3 -c '
import socket, threading
s = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=lambda: s.accept()[0].sendall(b"hello")).start()
print(socket.create_connection(s.getsockname()).recv(5))
u = socket.socket(socket.AF_UNIX); u.bind("sock"); u.listen()
c = socket.socket(socket.AF_UNIX); c.connect("sock"); print("unix")'`},
}

func TestOrdinaryWork(t *testing.T) {
	for _, m := range mechanisms(t) {
		t.Run(string(m), func(t *testing.T) {
			j := newJail(t, m)
			for _, w := range work {
				if _, err := exec.LookPath(w.needs); w.needs != "" && err != nil || w.only != "" && w.only != m {
					continue
				}
				if r := j.run(w.line); r.ExitCode != 0 {
					t.Errorf("%s: exit %d: %s", w.name, r.ExitCode, r.Output)
				}
			}
			j.unharmed()
		})
	}
}

// A repository that is already there is worked in, though its hooks and configuration stay.
func TestGitGoesOn(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	for _, m := range mechanisms(t) {
		j := newJail(t, m)
		out, err := exec.Command("sh", "-c", `cd "$0" && rm -rf .git && git init -q && git config user.name n && git config user.email e && echo x > x && git add x && git commit -qm one && git worktree add -q ../tree`, j.work).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		for _, dir := range []string{j.work, j.path("home/tree")} {
			j.work = dir
			if r := j.run(`echo y > x && git commit -qam two && git checkout -qb side-$(basename "$PWD") && git stash list && git gc -q && git log --oneline`); r.ExitCode != 0 {
				t.Errorf("%s: %s: %s", m, dir, r.Output)
			}
			if r := j.run(`touch untracked && git clean -fdx && git stash -u && git status --porcelain`); r.ExitCode != 0 || strings.Contains(r.Output, ".tandem") {
				j.t.Errorf("%s: %s: %s", m, dir, r.Output)
			}
			if r := j.run(`git config core.hooksPath /x`); r.ExitCode == 0 && m == sandbox.Bubblewrap {
				t.Errorf("%s: its hooks were sent elsewhere", dir)
			}
		}
	}
}

// A .git file that names a folder of the developer's does not open it.
func TestAForgedWorktree(t *testing.T) {
	for _, m := range mechanisms(t) {
		for name, files := range map[string]map[string]string{
			"elsewhere":        {".git": "gitdir: $R/home/elsewhere"},
			"the folder above": {".git": "gitdir: own", "own/gitdir": "../.git", "own/commondir": "../.."},
			"a link":           {".git": "gitdir: l/worktrees/a", "own/worktrees/a/gitdir": "$R/home/work/.git", "own/worktrees/a/commondir": "$R/home/work/l"},
		} {
			j := newJail(t, m)
			if err := errors.Join(os.RemoveAll(filepath.Join(j.work, ".git")), os.Symlink("own", filepath.Join(j.work, "l"))); err != nil {
				t.Fatal(err)
			}
			for file, text := range files {
				file = filepath.Join(j.work, file)
				if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(strings.ReplaceAll(text, "$R", j.root)), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			if slices.ContainsFunc(j.policy().Write, func(path string) bool {
				return strings.HasPrefix(path, j.work+"/") || !strings.HasPrefix(path, j.path("home/")) && path != "/var/tmp"
			}) {
				t.Errorf("%s, %s: the policy opens %q", m, name, j.policy().Write)
			}
			if r := j.run(`echo x > ../elsewhere/kept`); r.ExitCode == 0 {
				t.Errorf("%s, %s: the folder was opened", m, name)
			}
			j.unharmed()
		}
	}
}

// What was writable when a session began stays the only thing that is: a command that puts a link in its place opens
// nothing to the next one.
func TestALinkInPlaceOfWhatIsWritable(t *testing.T) {
	swaps := map[string]string{
		"git":   `mv .git old; ln -s ../elsewhere .git; true`,
		"cache": `mv $R/home/tmp/x $R/home/tmp/y && mkdir $R/home/tmp/x && ln -s $R/home/elsewhere $R/home/tmp/x/cache`,
		"new":   `ln -s $R/home/elsewhere $R/home/tmp/new`,
		"none":  `ln -s $R/home/elsewhere/none $R/home/tmp/new`,
	}
	for _, m := range mechanisms(t) {
		for name, swap := range swaps {
			t.Run(string(m)+"/"+name, func(t *testing.T) {
				j := newJail(t, m)
				if err := os.MkdirAll(j.path("home/tmp/x/cache"), 0o700); err != nil {
					t.Fatal(err)
				}
				house := j.house()
				house.Write = []string{j.path("home/tmp/x/cache"), j.path("home/tmp/new")}
				p := house.Policy(m)
				p.Write = slices.DeleteFunc(p.Write, isTemporary)
				if r := await(t, j.startIn(p, swap)); r.ExitCode != 0 {
					t.Fatalf("the link was not made: %s", r.Output)
				}
				later := house.Policy(m) // of the next session
				later.Write = slices.DeleteFunc(later.Write, isTemporary)
				for _, p := range []sandbox.Policy{p, later} {
					if r := await(t, j.startIn(p, `echo fine; echo x > ../elsewhere/kept; mkdir ../elsewhere/none`)); r.ExitCode == 0 || !strings.Contains(r.Output, "fine") {
						t.Errorf("what the link leads to was opened, or no command runs any more: %+v", r)
					}
				}
				j.unharmed()
			})
		}
	}
}

// A command that locks the workspace's folder keeps no other from its start, and leaves nothing behind in the end.
func TestALockedFolder(t *testing.T) {
	if sandbox.Missing(sandbox.Bubblewrap) != "" {
		t.Skip("no other mechanism locks a folder")
	}
	j := newJail(t, sandbox.Bubblewrap)
	locked, err := os.Open(j.work)
	if err != nil {
		t.Fatal(err)
	}
	defer locked.Close()
	if err := unix.Flock(int(locked.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if r := j.run(`mkdir .tandem || echo refused`); !strings.Contains(r.Output, "refused") {
		t.Errorf("beside a lock it ran as %+v", r)
	}
	locked.Close()
	j.run("true")
	if _, err := os.Lstat(filepath.Join(j.work, ".tandem")); err == nil {
		t.Error("the placeholder was left behind")
	}
}

// A confined tree ends, stands and is told of like any other.
func TestAConfinedTreeIsHeld(t *testing.T) {
	for _, m := range mechanisms(t) {
		t.Run(string(m), func(t *testing.T) {
			j := newJail(t, m)
			for _, c := range []struct {
				line string
				want Result
			}{
				{"exit 3", Result{ExitCode: 3}},
				{"exit 143", Result{ExitCode: 143}},
				{"echo out; echo err >&2", Result{Output: "out\nerr\n"}},
				{"(sleep 300 &) ; exit 4", Result{ExitCode: 4, Leftovers: []string{"sleep 300"}}},
				{"setsid sleep 300 & exit 130", Result{ExitCode: 130, Leftovers: []string{"sleep 300"}}},
			} {
				if got := j.run(c.line); got.ExitCode != c.want.ExitCode || got.Signal != c.want.Signal || got.Output != c.want.Output || !slices.Equal(got.Leftovers, c.want.Leftovers) {
					t.Errorf("%s: %+v", c.line, got)
				}
			}
			next := fifo(t, j.work)
			for _, c := range []struct {
				line string
				want Result
			}{
				{"echo up > fifo; sleep 300", Result{ExitCode: -1, Signal: "SIGTERM"}},
				{"trap 'exit 7' TERM; echo up > fifo; while :; do sleep 0.01; done", Result{ExitCode: 7}},
			} {
				c2 := j.start(c.line)
				next()
				if err := c2.Freeze(); err != nil {
					t.Fatal(err)
				}
				for _, p := range descendants(os.Getpid()) {
					if name := commandLine(p.pid); !p.stopped && !p.standing && !strings.Contains(name, argument) {
						t.Errorf("%s runs though frozen", name)
					}
				}
				if err := c2.Thaw(); err != nil {
					t.Fatal(err)
				}
				c2.Stop()
				if got := await(t, c2); got.ExitCode != c.want.ExitCode || got.Signal != c.want.Signal || len(got.Leftovers) > 0 {
					t.Errorf("%s, stopped: %+v", c.line, got)
				}
			}
		})
	}
}

// The death of a supervisor ends a confined tree, too, whatever it did to its environment.
func TestAConfinedTreeDiesWithItsSupervisor(t *testing.T) {
	for _, m := range mechanisms(t) {
		j := newJail(t, m)
		next := fifo(t, j.work)
		c := j.start("setsid sleep 300 & echo up > fifo; sleep 301")
		next()
		for _, p := range descendants(os.Getpid()) {
			if strings.Contains(commandLine(p.pid), argument) {
				if err := exec.Command("kill", "-9", fmt.Sprint(p.pid)).Run(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if r := await(t, c); r.Signal != "SIGKILL" {
			t.Errorf("%s: %+v", m, r)
		}
	}
}

// What cannot be set up does not run, and says so.
func TestASandboxThatCannotBeSetUp(t *testing.T) {
	j := newJail(t, sandbox.Mechanism("none such"))
	spec := Spec{Line: "echo x > ran", Dir: j.work, Env: []string{}, Sandbox: sandbox.Policy{Mechanism: "none such"}}
	if _, err := Start(spec, nil); err == nil || !strings.Contains(err.Error(), "there is no none such on this system") {
		t.Error(err)
	}
	spec.Sandbox = sandbox.Policy{Mechanism: sandbox.Landlock, Write: []string{"relative"}}
	if _, err := Start(spec, nil); err == nil || !strings.Contains(err.Error(), `the path "relative" is not absolute`) {
		t.Error(err)
	}
	if sandbox.Missing(sandbox.Bubblewrap) == "" { // a workspace that lies in what is hidden cannot be entered
		spec.Sandbox = sandbox.Policy{Mechanism: sandbox.Bubblewrap, Hidden: []string{j.path("home")}}
		if _, err := Start(spec, nil); err == nil || !strings.Contains(err.Error(), "set up the sandbox") || !strings.Contains(err.Error(), "bwrap") {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(j.work, "ran")); err == nil {
		t.Error("it ran")
	}
	noneLeft(t)
}
