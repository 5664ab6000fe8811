package workspace

import (
	"context"
	"fmt"
)

// A document that is open in an editor has two copies, and this file keeps them from drifting
// apart. The agent changes the editor's. Where the file on disk held the same text before, it is
// given the new one too: commands read the disk, and a test of what the agent has just changed
// would test the old text otherwise. The editor finds on disk what it shows, so it has nothing to
// reload, and a save writes the same bytes. Where the editor held unsaved text, the file stays as
// it is: when it is saved is the developer's choice, and the agent is told.

const unsavedNote = "The file has unsaved text in the editor, so the change stands there alone: commands see the file as it is on disk until the developer saves it."

// applied changes an open document through its editor. The images are those of its text.
func (w *Workspace) applied(ctx context.Context, name string, version int32, before, after string, notes []string) (Result, error) {
	if w.apply == nil {
		return Result{}, fmt.Errorf("%s is open in the editor, which takes no edits: nothing was changed", name)
	}
	change := Change{Path: name, Before: &Image{Mode: 0o644}, After: &Image{Mode: 0o644}}
	if info, err := w.root.Stat(name); err == nil {
		change.Before.Mode, change.After.Mode = info.Mode(), info.Mode()
	}
	if err := w.keep(change.Before, before); err != nil {
		return Result{}, err
	}
	disk, err := w.load(name)
	saved := err == nil && disk.holds(before)
	now, err := w.apply(ctx, name, version, before, after)
	if err != nil {
		return Result{}, fmt.Errorf("edit %s in the editor: %w", name, err)
	}
	note := unsavedNote
	if saved {
		note = w.save(disk, now)
	}
	if note != "" {
		notes = append(notes, note)
	}
	err = w.keep(change.After, now) // last: the change is there, whatever becomes of its image
	w.remember(name, change.After)
	return w.result(change, []byte(before), []byte(now), notes), err
}

// keep makes an image that of a text, and keeps the text.
func (w *Workspace) keep(i *Image, text string) (err error) {
	i.Size = int64(len(text))
	i.Digest, err = w.store.Put([]byte(text))
	return err
}

// save gives a file the text that its editor has now, in the file's own form, and says what the
// agent has to know of it.
func (w *Workspace) save(f *file, text string) (note string) {
	d, err := decode(f.data)
	if err == nil {
		d.text = text
		var data []byte
		if data, err = d.encode(); err == nil {
			_, err = w.replace(f, data)
		}
	}
	if err == nil {
		w.buffers.Saved(f.name)
		return ""
	}
	if now, again := w.load(f.name); again == nil && now.holds(text) { // the editor has saved it
		return ""
	}
	return fmt.Sprintf("The change stands in the editor, but was not written to the file on disk, which commands see (%v): ask the developer to save it.", err)
}

// holds tells whether a file has a text; no file has the empty one.
func (f *file) holds(text string) bool {
	if f.image == nil {
		return text == ""
	}
	return Holds(f.data, text)
}

// Holds tells whether the bytes of a file are a text, whatever their encoding and line ends.
func Holds(data []byte, text string) bool {
	d, err := decode(data)
	return err == nil && (d.text == text || lf(d.text) == lf(text))
}
