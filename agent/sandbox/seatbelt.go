package sandbox

import (
	"fmt"
	"strings"
)

// seatbeltProfile is a policy in Seatbelt's language, in which a later line goes before an earlier one. A path stands
// for what is below it, too.
func (p Policy) seatbeltProfile() string {
	var b strings.Builder
	b.WriteString("(version 1)\n(allow default)\n(deny file-write*)\n")
	b.WriteString(`(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/dtracehelper") (regex #"^/dev/fd/"))` + "\n")
	for _, r := range p.rules() {
		path := seatbeltText(r.path)
		switch r.right {
		case write:
			fmt.Fprintf(&b, "(allow file-write* (subpath %s))\n", path)
		case readOnly:
			fmt.Fprintf(&b, "(deny file-write* (subpath %s))\n", path)
		case hidden:
			fmt.Fprintf(&b, "(deny file-read* file-write* (subpath %s))\n", path)
		}
	}
	b.WriteString("(deny process-info* (target others))\n(allow process-info* (target same-sandbox))\n")
	b.WriteString("(deny signal)\n(allow signal (target same-sandbox))\n(deny mach-priv-task-port)\n")
	b.WriteString("(deny network-outbound (remote unix-socket))\n")
	if p.Root != "" {
		fmt.Fprintf(&b, "(allow network-outbound (remote unix-socket (subpath %s)))\n", seatbeltText(p.Root))
	}
	if !p.Network {
		b.WriteString("(deny network*)\n(allow network* (local ip \"localhost:*\") (remote ip \"localhost:*\"))\n")
	}
	return b.String()
}

// seatbeltText is a text as the language writes it.
func seatbeltText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
