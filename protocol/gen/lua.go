package main

import (
	"fmt"
	"strings"
)

var luaDialect = dialect{
	words: map[kind]string{text: "string", boolean: "boolean", integer: "integer", number: "number", moment: "string", unknown: "any"},
	name:  "tandem.%s", list: "%s[]", dict: "table<string, %s>", orNull: "%s?",
}

// lua writes the annotations of the Neovim client, in the words of lua-language-server. The file
// is for reading alone: nothing requires it.
func lua(r *reference) string {
	var b strings.Builder
	b.WriteString("---@meta\n-- Written by protocol/gen from the Go source of package protocol. Do not edit.\n")
	fmt.Fprintf(&b, "\n---The version of the protocol that these types describe.\n---@alias tandem.Version %s\n", r.Version)
	luaMethods(&b, "Requests", "The requests, client to daemon, each with its params and its result.", r.Requests)
	luaMethods(&b, "Notifications", "The notifications, daemon to client, each with its params.", r.Notifications)
	b.WriteString("\n---The JSON-RPC codes of the errors particular to Tandem.\n---@alias tandem.ErrorCode\n")
	for _, e := range r.Errors {
		fmt.Fprintf(&b, "---| %s # %s: %s\n", e.Code, e.Kind, e.Doc)
	}
	for _, t := range r.Types {
		luaType(&b, t)
	}
	return b.String()
}

func luaMethods(b *strings.Builder, name, doc string, methods []method) {
	fmt.Fprintf(b, "\n---%s\n---@class (exact) tandem.%s\n", doc, name)
	for _, m := range methods {
		fmt.Fprintf(b, "---@field [%q] { params: tandem.%s", m.Name, m.Params)
		switch m.Result {
		case "":
		case null:
			b.WriteString(", result: nil")
		default:
			fmt.Fprintf(b, ", result: tandem.%s", m.Result)
		}
		fmt.Fprintf(b, " }%s\n", luaBehind(m.Doc))
	}
}

func luaType(b *strings.Builder, t named) {
	fmt.Fprintf(b, "\n---%s\n", t.Doc)
	switch {
	case t.Values != nil:
		fmt.Fprintf(b, "---@alias tandem.%s\n", t.Name)
		for _, v := range t.Values {
			fmt.Fprintf(b, "---| %s%s\n", v.Literal, luaBehind(v.Doc))
		}
	case t.Fields == nil && t.Embeds == nil:
		fmt.Fprintf(b, "---@alias tandem.%s %s\n", t.Name, luaDialect.spell(t.Shape))
	default:
		luaClass(b, t)
	}
}

func luaClass(b *strings.Builder, t named) {
	fmt.Fprintf(b, "---@class (exact) tandem.%s", t.Name)
	for i, name := range t.Embeds {
		fmt.Fprintf(b, "%s tandem.%s", []string{":", ","}[min(i, 1)], name)
	}
	b.WriteString("\n")
	for _, f := range t.Fields {
		fmt.Fprintf(b, "---@field %s%s %s%s\n", f.Name, mark(f.Optional), luaDialect.spell(f.Shape), luaBehind(f.Doc))
	}
}

// luaBehind is a comment at the end of a line, where there is one.
func luaBehind(doc string) string {
	if doc == "" {
		return ""
	}
	return " # " + doc
}
