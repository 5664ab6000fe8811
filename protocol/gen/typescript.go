package main

import (
	"fmt"
	"strings"
)

var tsDialect = dialect{
	words: map[kind]string{text: "string", boolean: "boolean", integer: "number", number: "number", moment: "string", unknown: "unknown"},
	name:  "%s", list: "%s[]", dict: "Record<string, %s>", orNull: "%s | null",
}

// typescript writes the types of the VS Code client: one for each of ours, the maps from method
// to params and result, and the codes of the errors.
func typescript(r *reference) string {
	var b strings.Builder
	b.WriteString("// Written by protocol/gen from the Go source of package protocol. Do not edit.\n")
	fmt.Fprintf(&b, "\n/** The version of the protocol that these types describe. */\nexport const version = %s;\n", r.Version)
	tsMethods(&b, "Requests", "The requests, client to daemon, each with its params and its result.", r.Requests)
	tsMethods(&b, "Notifications", "The notifications, daemon to client, each with its params.", r.Notifications)
	b.WriteString("\n/** The JSON-RPC codes of the errors particular to Tandem, by `data.kind`. */\nexport const errorCodes = {\n")
	for _, e := range r.Errors {
		fmt.Fprintf(&b, "  /** %s */\n  %s: %s,\n", tsDoc(e.Doc), e.Kind, e.Code)
	}
	b.WriteString("} as const satisfies Record<ErrorKind, number>;\n")
	for _, t := range r.Types {
		tsType(&b, t)
	}
	return b.String()
}

func tsMethods(b *strings.Builder, name, doc string, methods []method) {
	fmt.Fprintf(b, "\n/** %s */\nexport interface %s {\n", doc, name)
	for _, m := range methods {
		fmt.Fprintf(b, "  /** %s */\n  %q: { params: %s", tsDoc(m.Doc), m.Name, m.Params)
		if m.Result != "" {
			fmt.Fprintf(b, "; result: %s", m.Result)
		}
		b.WriteString(" };\n")
	}
	b.WriteString("}\n")
}

func tsType(b *strings.Builder, t named) {
	fmt.Fprintf(b, "\n/** %s */\n", tsDoc(t.Doc))
	switch {
	case t.Values != nil:
		fmt.Fprintf(b, "export type %s =", t.Name)
		for _, v := range t.Values {
			fmt.Fprintf(b, "\n  %s| %s", tsAbove(v.Doc), v.Literal)
		}
		b.WriteString(";\n")
	case t.Fields == nil && t.Embeds == nil:
		fmt.Fprintf(b, "export type %s = %s;\n", t.Name, tsDialect.spell(t.Shape))
	default:
		tsInterface(b, t)
	}
}

func tsInterface(b *strings.Builder, t named) {
	fmt.Fprintf(b, "export interface %s", t.Name)
	if t.Embeds != nil {
		fmt.Fprintf(b, " extends %s", strings.Join(t.Embeds, ", "))
	}
	b.WriteString(" {\n")
	for _, f := range t.Fields {
		fmt.Fprintf(b, "  %s%s%s: %s;\n", tsAbove(f.Doc), f.Name, mark(f.Optional), tsDialect.spell(f.Shape))
	}
	b.WriteString("}\n")
}

// mark is the sign of what may be absent.
func mark(optional bool) string {
	if optional {
		return "?"
	}
	return ""
}

// tsAbove is a comment on the line above a field or a value, where there is one.
func tsAbove(doc string) string {
	if doc == "" {
		return ""
	}
	return "/** " + tsDoc(doc) + " */\n  "
}

// tsDoc keeps a comment from ending the one that it is put in.
func tsDoc(doc string) string { return strings.ReplaceAll(doc, "*/", "*\\/") }
