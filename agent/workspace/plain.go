package workspace

// TextOf is the text that the bytes of a file are, as an editor shows it; ok is false where they are none.
func TextOf(data []byte) (text string, ok bool) {
	d, err := decode(data)
	return d.text, err == nil
}
