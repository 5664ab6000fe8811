package main

import (
	"fmt"
	"regexp"
	"strings"
)

// page is a text in Markdown while it is written.
type page struct{ strings.Builder }

// head begins a part.
func (p *page) head(level int, text string) {
	if p.Len() > 0 {
		p.WriteString("\n")
	}
	fmt.Fprintf(p, "%s %s\n\n", strings.Repeat("#", level), text)
}

// item is one entry of a list, at a depth from 0.
func (p *page) item(depth int, format string, args ...any) {
	fmt.Fprintf(p, "%s- %s\n", strings.Repeat("  ", depth), strings.TrimSpace(fmt.Sprintf(format, args...)))
}

// list is a part of entries that are words; it is left out where there are none.
func (p *page) list(title string, texts []string) {
	if len(texts) == 0 {
		return
	}
	p.head(2, title)
	for _, text := range texts {
		p.item(0, "%s", prose(text))
	}
}

// quote is what somebody said, with its lines as they stood.
func (p *page) quote(text string) {
	for l := range strings.Lines(strings.TrimSpace(clean(text))) {
		p.WriteString(strings.TrimSpace("> "+prose(l)) + "\n")
	}
}

// row is a row of a table; the cells are Markdown.
func (p *page) row(cells ...string) {
	p.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}

// markup is what words could be taken for.
var markup = strings.NewReplacer(`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "|", `\|`, "~", `\~`, "#", `\#`,
	"&", "&amp;", "<", "&lt;", ">", "&gt;")

// begins is what words could begin a list with.
var begins = regexp.MustCompile(`^(\d+)([.)])|^([-+=])`)

// prose is words of a model or a person on one line, none of which Markdown takes for markup.
func prose(text string) string {
	text = markup.Replace(strings.Join(strings.Fields(clean(text)), " "))
	return begins.ReplaceAllString(text, `$1\$2$3`)
}

// code is a text as it stands, on one line.
func code(text string) string {
	text = strings.Join(strings.Fields(clean(text)), " ")
	if text == "" {
		return ""
	}
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return fence + text + fence
}

// cell is code inside a table, where a bar would end the cell.
func cell(text string) string {
	if text == "" {
		return ""
	}
	return strings.ReplaceAll(code(text), "|", `\|`)
}

// said puts words in their quotes.
func said(text string) string { return "«" + prose(text) + "»" }
