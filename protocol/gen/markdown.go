package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"text/template"
)

// page is the reference without its tables; its order is the order of the README.
//
//go:embed reference.md
var page string

var mdDialect = dialect{
	words: map[kind]string{text: "string", boolean: "boolean", integer: "integer", number: "number", moment: "time", unknown: "any JSON"},
	name:  "%s", list: "%s[]", dict: "object of %s", orNull: "%s or null",
}

// markdown writes the page that a person reads.
func markdown(r *reference) (string, error) {
	tmpl, err := template.New("reference.md").Option("missingkey=error").Parse(page)
	if err != nil {
		return "", fmt.Errorf("parse the page: %w", err)
	}
	bodies, entities := r.split()
	var b strings.Builder
	err = tmpl.Execute(&b, map[string]string{
		"Version":       r.Version,
		"Requests":      mdRequests(r.Requests),
		"Notifications": mdNotifications(r.Notifications),
		"Errors":        mdErrors(r.Errors),
		"Bodies":        mdTypes(bodies),
		"Entities":      mdTypes(entities),
	})
	if err != nil {
		return "", fmt.Errorf("fill the page: %w", err)
	}
	return b.String(), nil
}

// split parts the params and results of methods, in the order of these, from what they bear.
func (r *reference) split() (bodies, entities []named) {
	borne := r.borne()
	for _, t := range r.Types {
		if slices.Contains(borne, t.Name) {
			bodies = append(bodies, t)
		} else {
			entities = append(entities, t)
		}
	}
	slices.SortFunc(bodies, func(a, b named) int {
		return slices.Index(borne, a.Name) - slices.Index(borne, b.Name)
	})
	return bodies, entities
}

func mdRequests(methods []method) string {
	rows := [][]string{{"method", "params", "result", "what it does"}}
	for _, m := range methods {
		rows = append(rows, []string{code(m.Name), link(m.Params), link(m.Result), m.Doc})
	}
	return table(rows)
}

func mdNotifications(methods []method) string {
	rows := [][]string{{"method", "params", "what it tells"}}
	for _, m := range methods {
		rows = append(rows, []string{code(m.Name), link(m.Params), m.Doc})
	}
	return table(rows)
}

func mdErrors(errors []refusal) string {
	rows := [][]string{{"code", "`data.kind`", "meaning, and the way out"}}
	for _, e := range errors {
		rows = append(rows, []string{e.Code, code(e.Kind), e.Doc})
	}
	return table(rows)
}

func mdTypes(types []named) string {
	var b strings.Builder
	for i, t := range types {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "### %s\n\n%s\n", t.Name, t.Doc)
		if t.Embeds != nil {
			fmt.Fprintf(&b, "\nIt has the fields of %s too.\n", strings.Join(links(t.Embeds), " and "))
		}
		if t.Fields != nil {
			b.WriteString("\n" + mdFields(t.Fields))
		}
		if t.Values != nil {
			b.WriteString("\n" + mdValues(t.Values))
		}
		if t.Fields == nil && t.Embeds == nil && t.Values == nil {
			fmt.Fprintf(&b, "\nOn the wire: %s.\n", mdShape(t.Shape))
		}
	}
	return b.String()
}

func mdFields(fields []field) string {
	rows := [][]string{{"field", "type", "", "meaning"}}
	for _, f := range fields {
		presence := ""
		if f.Optional {
			presence = "optional"
		}
		rows = append(rows, []string{code(f.Name), mdShape(f.Shape), presence, f.Doc})
	}
	return table(rows)
}

// mdValues is a line where the values speak for themselves, else a table.
func mdValues(values []value) string {
	var names []string
	rows := [][]string{{"value", "meaning"}}
	said := false
	for _, v := range values {
		names = append(names, code(v.Literal))
		rows = append(rows, []string{code(v.Literal), v.Doc})
		said = said || v.Doc != ""
	}
	if said {
		return table(rows)
	}
	return "One of " + strings.Join(names, ", ") + ".\n"
}

// mdShape spells a shape with a link to the type in it.
func mdShape(s shape) string {
	spelt := mdDialect.spell(s)
	for _, name := range s.refs() {
		spelt = strings.Replace(spelt, name, link(name), 1)
	}
	return spelt
}

// table sets rows, the first of which is the head, as a Markdown table.
func table(rows [][]string) string {
	var b strings.Builder
	for i, row := range rows {
		for _, cell := range row {
			b.WriteString("| " + strings.ReplaceAll(cell, "|", `\|`) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString(strings.Repeat("| --- ", len(row)) + "|\n")
		}
	}
	return b.String()
}

func code(s string) string { return "`" + s + "`" }

// link leads to the heading of a type; null has none.
func link(name string) string {
	if name == null {
		return code(null)
	}
	return "[" + name + "](#" + strings.ToLower(name) + ")"
}

func links(names []string) []string {
	var all []string
	for _, name := range names {
		all = append(all, link(name))
	}
	return all
}
