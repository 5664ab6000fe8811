// Package secretfile tells by its path whether a file holds secrets, such as .env or a private key. It
// looks into no file: one with another name it does not know.
package secretfile

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Rules say which files hold secrets. Those that are known by their names do with the zero value.
type Rules struct{ more, allow []string }

// New are rules with more globs of files that hold secrets, and with some that hold none whatever else
// is said of them. A glob without a slash is of names, one with a slash of paths from the workspace.
func New(more, allow []string) (Rules, error) {
	for _, glob := range slices.Concat(more, allow) {
		if !doublestar.ValidatePattern(glob) {
			return Rules{}, fmt.Errorf("%q is no glob: an example is **/*.secret", glob)
		}
	}
	return Rules{folded(more), folded(allow)}, nil
}

func folded(globs []string) []string {
	var out []string
	for _, g := range globs {
		out = append(out, strings.ToLower(strings.TrimPrefix(g, "./")))
	}
	return out
}

// folders hold secrets in everything below them.
var folders = []string{".ssh", ".aws", ".gnupg", ".azure", ".config/gcloud"}

// certain are files that hold secrets wherever they are named.
var certain = []string{".env", ".env.*", ".envrc", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".git-credentials", ".htpasswd", ".dockercfg",
	".docker/config.json", ".kube/config", ".vault-token", ".my.cnf", ".s3cfg", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk",
	"credentials.json", "credentials.yml", "credentials.yaml", "credentials.toml", "credentials.ini", "credentials.csv", "credentials.xml", "credentials.yml.enc",
	"secrets.json", "secrets.yml", "secrets.yaml", "secrets.toml"}

// likely are files that hold secrets where they are files: as words they may be anything, such as the
// field of an object.
var likely = []string{"*.pem", "*.key", "*.p12", "*.pfx", "*.keystore", "*.jks", "*.kdbx", "*.ppk", "credentials"}

// examples are made to be read.
var examples = []string{".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults"}

// Holds says that the file at a path holds secrets. Paths are slash-separated; one in the workspace is
// relative to it. Case tells nothing, since on some systems it does not tell files apart.
func (r Rules) Holds(name string) bool {
	name = Plain(name)
	return !fits(r.allow, name) && (fits(r.more, name) || secret(name, slices.Concat(certain, likely)))
}

// Names says that a word of a command line names a file with secrets, whether or not there is one.
func (r Rules) Names(word string) bool {
	name := Plain(word)
	return !fits(r.allow, name) && (fits(r.more, name) || secret(name, certain))
}

func secret(name string, globs []string) bool {
	if slices.Contains(examples, path.Base(name)) {
		return false
	}
	for _, dir := range folders {
		if strings.Contains("/"+name+"/", "/"+dir+"/") {
			return true
		}
	}
	return slices.ContainsFunc(globs, func(glob string) bool {
		return matches(glob, path.Base(name)) || strings.Contains(glob, "/") && matches("**/"+glob, name)
	})
}

// fits says that a path is of one of the globs that somebody has set.
func fits(globs []string, name string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		if !strings.Contains(glob, "/") {
			return matches(glob, path.Base(name))
		}
		return matches(glob, name)
	})
}

func matches(glob, name string) bool { return doublestar.MatchUnvalidated(glob, name) }

// Plain is a path by which rules tell files apart: in lower case, without what systems leave out when they open it.
func Plain(name string) string {
	parts := strings.Split(path.Clean(strings.ToLower(strings.ReplaceAll(name, `\`, "/"))), "/")
	for i, p := range parts {
		if p != "." && p != ".." {
			parts[i] = strings.TrimRight(p, ". ")
		}
	}
	return strings.Join(parts, "/")
}

// between are the characters that part the words of a command line: blanks, quotes, the shell's own, and
// what programs set before a file's name.
const between = " \t\r\n'\"`$(){}[]<>|&;=,:@*?!#"

// home are the ways in which shells write the home folder.
var home = strings.NewReplacer("${HOME}", "~", "$HOME", "~")

// Words are what a command line may name files by, each once; the home folder is ~ in them. It is a
// plain look at its words: a shell has many other ways to name a file.
func Words(line string) []string {
	var out []string
	seen := map[string]bool{}
	line = home.Replace(line)
	for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(between, r) }) {
		if !seen[word] {
			seen[word] = true
			out = append(out, word)
		}
	}
	return out
}
