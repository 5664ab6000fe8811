// Command rehearse plays a rehearsal as a model server, for tests that are not written in Go: those of
// the editors.
//
//	go run ./testdata/rehearse [-pace N] [-unpack DIR] FILE
//
// Its first line on stdout is the base URL, for OPENAI_BASE_URL. It serves until its stdin ends. A line
// on stdin asks for one line of JSON on stdout:
//
//	requests    [{"at","beat","status","left"}]: every request so far; at is Unix time in milliseconds
//	body N      the body of request N, counted from 0, as it came
//
// It starts no daemon and no session, and it judges nothing.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"tandem/agent/rehearsal"
)

func main() {
	pace := flag.Float64("pace", 0, "multiply every written wait by this; 0 is at once")
	unpack := flag.String("unpack", "", "write the story's workspace into this folder first")
	flag.Parse()
	if err := run(flag.Arg(0), *unpack, *pace); err != nil {
		fmt.Fprintln(os.Stderr, "rehearse:", err)
		os.Exit(1)
	}
}

// run serves the script until stdin ends or the program is interrupted.
func run(file, unpack string, pace float64) (err error) {
	archive, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the story: %w", err)
	}
	script, err := rehearsal.Parse(file, archive)
	if err != nil {
		return err
	}
	if unpack != "" {
		if err := script.Unpack(unpack); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	server, err := rehearsal.Serve(ctx, script, rehearsal.Options{Pace: pace, Steers: steers})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	fmt.Println(server.URL)
	return answer(os.Stdin, json.NewEncoder(os.Stdout), server)
}

// steers are the steers that a message of Tandem's to the model bears: each begins a line of its own,
// and other notes may stand before it.
func steers(text string) []string {
	return strings.Split("\n"+text, "\n[steer ")[1:]
}

// answer reads questions, one a line, until there are no more.
func answer(in io.Reader, out *json.Encoder, server *rehearsal.Server) error {
	for lines := bufio.NewScanner(in); lines.Scan(); {
		reply, err := about(lines.Text(), server.Requests())
		if err != nil {
			return err
		}
		if err := out.Encode(reply); err != nil {
			return fmt.Errorf("answer %q: %w", lines.Text(), err)
		}
	}
	return nil
}

// about is the answer to one question.
func about(question string, requests []rehearsal.Request) (any, error) {
	if question == "requests" {
		return summary(requests), nil
	}
	number, ok := strings.CutPrefix(question, "body ")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 0 || n >= len(requests) {
		return nil, fmt.Errorf("%q is no question: ask for requests, or for body N with N below %d", question, len(requests))
	}
	return requests[n].Body, nil
}

type request struct {
	At     float64 `json:"at"`
	Beat   string  `json:"beat"`
	Status int     `json:"status"`
	Left   bool    `json:"left"`
}

func summary(requests []rehearsal.Request) []request {
	all := make([]request, 0, len(requests))
	for _, r := range requests {
		at := float64(r.At.UnixNano()) / float64(time.Millisecond)
		all = append(all, request{At: at, Beat: r.Beat, Status: r.Status, Left: r.Left})
	}
	return all
}
