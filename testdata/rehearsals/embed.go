// Package rehearsals holds the stories that tandem demo can play, so that the binary carries
// them. It does not read or play them; package rehearsal does.
package rehearsals

import "embed"

// Stories holds the scripts, NAME.txtar each; pair.txtar is the one that is played when none
// is named.
//
//go:embed *.txtar
var Stories embed.FS
