package main

import (
	"context"
	"fmt"
	"strings"

	"tandem/protocol"
)

type watchCommand struct {
	place
	Session  string             `arg:"" optional:"" help:"The session; without it the newest here."`
	Name     string             `help:"Add a value to what is watched, under this name; the flags below say where it is read." placeholder:"NAME"`
	JSONFile string             `help:"A JSON file; --at is the pointer in it." placeholder:"FILE"`
	At       string             `help:"A JSON pointer, such as /rows." placeholder:"POINTER"`
	CSV      string             `name:"csv" help:"A CSV file; --column and --agg go with it." placeholder:"FILE"`
	Column   string             `help:"A column of the CSV file." placeholder:"NAME"`
	Agg      protocol.Aggregate `help:"What is made of the column: count, sum, min or max." enum:",count,sum,min,max" default:"" placeholder:"HOW"`
	SQL      string             `name:"sql" help:"A database, such as sqlite:orders.db; --query goes with it." placeholder:"DSN"`
	Query    string             `help:"A query with one value." placeholder:"SELECT"`
	Output   string             `help:"A regular expression on the last command's output." placeholder:"REGEX"`
	Command  string             `help:"A line for the shell, whose output is the value." placeholder:"LINE"`
	Remove   string             `help:"Take a watch away, by its id or name." placeholder:"WATCH"`
}

// Run lists the live values of a session, adds one or takes one away.
func (c *watchCommand) Run(ctx context.Context, s std) error {
	source := protocol.Source{JSON: c.JSONFile, At: c.At, CSV: c.CSV, Column: c.Column, Agg: c.Agg, SQL: c.SQL, Query: c.Query, Output: c.Output, Command: c.Command}
	adds := c.Name != "" || source != protocol.Source{}
	switch {
	case adds && c.Remove != "":
		return &exitError{exitUsage, "watch: add a value or take one away, not both at once"}
	case adds && c.Name == "":
		return &exitError{exitUsage, `watch: give the value a name, as in: tandem watch --json-file report.json --at /rows --name rows`}
	}
	return c.withSession(ctx, c.Session, adds || c.Remove != "", func(cl *client, now protocol.Session) error {
		r := protocol.WatchResult{Watches: now.Watches}
		p := protocol.WatchParams{SessionID: now.ID}
		switch {
		case adds:
			p.Add = &protocol.NewWatch{Name: c.Name, Source: source}
		case c.Remove != "":
			p.Remove = watchID(now.Watches, c.Remove)
		}
		if p.Add != nil || p.Remove != "" {
			var err error
			if r, err = ask[protocol.WatchResult](ctx, cl, protocol.MethodWatch, p); err != nil {
				return err
			}
		}
		return c.show(s, r, watchLines(r.Watches))
	})
}

// watchID is the id of a watch that a developer named by its id or its name.
func watchID(watches []protocol.Watch, named string) string {
	for _, w := range watches {
		if w.Name == named {
			return w.ID
		}
	}
	return named
}

// watchLines are the live values, each with where it is read.
func watchLines(watches []protocol.Watch) []line {
	if len(watches) == 0 {
		return []line{{text: "Nothing is watched; add a value with: tandem watch --json-file report.json --at /rows --name rows"}}
	}
	var out []line
	for _, w := range watches {
		l := line{mark: "=", text: fmt.Sprintf("%s  %s: %s", w.ID, w.Name, valueText(w)), side: sourceText(w.Source)}
		if w.Error != "" {
			l.mark, l.tone = "✗", bad
		}
		out = append(out, l)
		if w.OperationID != "" {
			out = append(out, line{indent: 2, text: "changed by " + w.OperationID + " at " + w.At.Local().Format("15:04:05"), tone: quiet})
		}
	}
	return out
}

// valueText is a watch's value with what it was before, or why there is none.
func valueText(w protocol.Watch) string {
	switch {
	case w.Error != "":
		return "cannot be read: " + w.Error
	case w.At.IsZero():
		return "not read yet"
	case w.Previous != nil:
		return fmt.Sprintf("%v  (was %v)", w.Value, w.Previous)
	}
	return fmt.Sprint(w.Value)
}

// sourceText says where a value is read.
func sourceText(s protocol.Source) string {
	switch {
	case s.JSON != "":
		return s.JSON + " " + s.At
	case s.CSV != "":
		return strings.TrimSpace(fmt.Sprintf("%s %s %s", s.CSV, s.Agg, s.Column))
	case s.SQL != "":
		return s.SQL + " " + s.Query
	case s.Output != "":
		return "output " + s.Output
	}
	return s.Command
}
