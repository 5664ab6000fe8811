package session

import (
	"slices"

	"tandem/agent/workspace"
)

// Ledger is what operations have changed in a workspace while commands run in it, so that a
// command is not told to have changed what others did meanwhile. The sessions of a workspace
// share one. Of two commands side by side, a file that both could have changed is told for the
// one that ends first, or for both where they end at once.
type Ledger struct{ page chan page }

// page is the ledger's content. Whoever has taken it from the channel owns it until it is back.
type page struct {
	commands int      // that run
	entries  []*entry // since the first of them began
}

// entry is an operation that may change files. What it has changed is there once done is closed.
type entry struct {
	changes []workspace.Change
	done    chan struct{}
}

// NewLedger makes the ledger of a workspace.
func NewLedger() *Ledger {
	l := &Ledger{page: make(chan page, 1)}
	l.page <- page{}
	return l
}

// enter notes an operation that is about to change files. It has to be ended with end.
func (l *Ledger) enter() *entry {
	e := &entry{done: make(chan struct{})}
	p := <-l.page
	if p.commands > 0 { // else there is nobody to look at it
		p.entries = append(p.entries, e)
	}
	l.page <- p
	return e
}

func (e *entry) end(changes []workspace.Change) {
	e.changes = changes
	close(e.done)
}

// begin notes that a command is about to run. Its end is told with since, once.
func (l *Ledger) begin() (mark int) {
	p := <-l.page
	p.commands++
	mark = len(p.entries)
	l.page <- p
	return mark
}

// Busy says that a command runs in the workspace: what changes on disk may be its doing.
func (l *Ledger) Busy() bool {
	p := <-l.page
	l.page <- p
	return p.commands > 0
}

// since ends the command that began at mark and gives what others have done meanwhile, the
// oldest first.
func (l *Ledger) since(mark int) []*entry {
	p := <-l.page
	meanwhile := p.entries[mark:len(p.entries):len(p.entries)]
	p.commands--
	if p.commands == 0 {
		p.entries = nil
	}
	l.page <- p
	return meanwhile
}

// without is what a command changed: the differences between two looks at the workspace, less
// what others have changed between them. Where another changed the same file, the command's part
// is what leads from one known content to the next.
func without(diff []workspace.Change, meanwhile []*entry) []workspace.Change {
	var own []workspace.Change
	for _, c := range diff {
		own = append(own, parts(c, meanwhile)...)
	}
	return own
}

func parts(c workspace.Change, meanwhile []*entry) []workspace.Change {
	var links []workspace.Change
	for _, e := range meanwhile {
		<-e.done // it is short, or it has ended
		for _, m := range e.changes {
			if m.Path == c.Path {
				links = append(links, m)
			}
		}
	}
	if len(links) == 0 { // the looks have told the change, also where the content is not known
		return []workspace.Change{c}
	}
	var own []workspace.Change
	at := c.Before
	for _, l := range append(until(links, c.After), workspace.Change{Before: c.After}) {
		if !same(at, l.Before) {
			own = append(own, workspace.Change{Path: c.Path, Before: at, After: l.Before, Made: c.Made})
		}
		at = l.After
	}
	return own
}

// until are the links of a chain of changes that were made before a look found the image now:
// up to the last that led to it, or else to the first that led away from it.
func until(links []workspace.Change, now *workspace.Image) []workspace.Change {
	for i, l := range slices.Backward(links) {
		if same(l.After, now) {
			return links[: i+1 : i+1]
		}
	}
	if i := slices.IndexFunc(links, func(l workspace.Change) bool { return same(l.Before, now) }); i >= 0 {
		return links[:i:i]
	}
	return links
}

// same says that two images show the same content.
func same(a, b *workspace.Image) bool {
	if a == nil || b == nil {
		return a == b
	}
	if a.Digest == "" || b.Digest == "" {
		return a.Size == b.Size && a.Link == b.Link
	}
	return a.Digest == b.Digest && a.Link == b.Link
}
