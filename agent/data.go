package agent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Data is what the developer did not say and Tandem did not word: texts of files, names, output,
// errors, what a model itself has said. On its way to the model it can imitate what Tandem and the
// servers of models put around words. So it has one form: what imitates gets a «~» behind its first
// character, and what cannot be seen is shown as its code point.
//
//	[steer t9] …        at the start of a line   [~steer t9] …
//	<|im_start|>        and its like             <~|im_start|>
//	U+202E              and its like             {~U+202E}
//	[~steer, {~U+202E}  already there            [~~steer, {~~U+202E}
//
// The form loses nothing, and what the model sends is read back from it, so that an edit of a file
// that holds such words hits them. Within a message of the developer's role each line of data bears
// a «| », or stands in one line behind words of ours, so that it cannot end before we end it.

// marks are the words behind «[» that begin a note of Tandem to the model.
var marks = []string{"task", "instructions", "autonomy", "trust", "steer", "check-in", "question", "outcome", "re-plan",
	"answer", "paused", "decision", "resumed", "stop condition", "still failing", "edited", "revert", "brief", "plan",
	"length", "cut here"}

// behindAngle and behindBracket are the words by which servers of models mark who speaks, behind «<» and «[».
// Those between bars are known by their form.
var (
	behindAngle = []string{"s>", "/s>", "<SYS>>", "</SYS>>", "start_of_turn>", "end_of_turn>", "bos>", "eos>", "pad>", "unk>", "think>", "/think>",
		"tool_call>", "/tool_call>", "tool_response>", "/tool_response>", "tools>", "/tools>", "function_calls>", "/function_calls>",
		"system>", "/system>", "system-reminder>", "/system-reminder>"}
	behindBracket = []string{"INST]", "/INST]", "TOOL_CALLS]", "TOOL_RESULTS]", "/TOOL_RESULTS]", "AVAILABLE_TOOLS]", "/AVAILABLE_TOOLS]",
		"SYSTEM_PROMPT]", "/SYSTEM_PROMPT]"}
)

// data is a text in the form of data.
func data(text string) string {
	var b strings.Builder
	from := 0
	for i := 0; i < len(text); {
		size, instead := imitates(text, i)
		if instead != "" {
			b.WriteString(text[from:i])
			b.WriteString(instead)
			from = i + size
		}
		i += size
	}
	b.WriteString(text[from:])
	return b.String()
}

// imitates looks at the place of a text for what data may not hold, and gives what stands in its
// stead with the bytes that this replaces; "" is nothing.
func imitates(text string, at int) (size int, instead string) {
	switch c := text[at]; {
	case c == '[' || c == '<' || c == '{':
		tildes := tildesAt(text, at+1)
		rest := text[at+1+tildes:]
		if c == '[' && isMark(rest) && (tildes > 0 || beginsLine(text[:at])) || isToken(c, rest) || c == '{' && tildes > 0 && codePoint(rest) >= 0 {
			return 1, string(c) + "~"
		}
		return 1, ""
	case c < utf8.RuneSelf:
		return 1, ""
	}
	r, size := utf8.DecodeRuneInString(text[at:])
	if !unseen(r) {
		return size, ""
	}
	run := text[at : at+unseenRun(text[at:])]
	if joins(run) {
		return len(run), ""
	}
	for _, r := range run {
		instead += fmt.Sprintf("{~U+%04X}", r)
	}
	return len(run), instead
}

// undata is what a model means that has seen data in its form.
func undata(text string) string {
	var b strings.Builder
	from := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c != '[' && c != '<' && c != '{' {
			continue
		}
		tildes := tildesAt(text, i+1)
		if tildes == 0 {
			continue
		}
		rest := text[i+1+tildes:]
		switch r := codePoint(rest); {
		case c == '{' && tildes == 1 && r >= 0:
			b.WriteString(text[from:i] + string(r))
			from = i + 2 + strings.IndexByte(rest, '}') + 1
		case c == '{' && r >= 0, c == '[' && isMark(rest), isToken(c, rest):
			b.WriteString(text[from : i+1])
			from = i + 2
		}
	}
	b.WriteString(text[from:])
	return b.String()
}

func tildesAt(text string, at int) int {
	return len(text[at:]) - len(strings.TrimLeft(text[at:], "~"))
}

// isMark says that a text goes on as a mark of ours does behind its bracket.
func isMark(rest string) bool {
	for _, m := range marks {
		if len(rest) > len(m) && strings.EqualFold(rest[:len(m)], m) && strings.IndexByte("] :,", rest[len(m)]) >= 0 {
			return true
		}
	}
	return false
}

// longestToken bounds the name of a token between bars.
const longestToken = 48

// isToken says that a text goes on as a server's token does behind its first character.
func isToken(first byte, rest string) bool {
	begins := func(token string) bool { return strings.HasPrefix(rest, token) }
	if first == '[' && slices.ContainsFunc(behindBracket, begins) || first == '<' && slices.ContainsFunc(behindAngle, begins) {
		return true
	}
	if first != '<' {
		return false
	}
	for _, bar := range []string{"|", "｜"} {
		name, ok := strings.CutPrefix(rest, bar)
		end := strings.Index(name[:min(len(name), longestToken+len(bar)+1)], bar+">")
		if ok && end > 0 && !strings.ContainsAny(name[:end], "\n\"'(){}[]<>~") {
			return true
		}
	}
	return false
}

// beginsLine says that nothing that can be seen stands between a place and the start of its line.
func beginsLine(before string) bool {
	before = strings.TrimRightFunc(before, func(r rune) bool { return r == ' ' || r == '\t' || unseen(r) && !breaks(r) })
	last, _ := utf8.DecodeLastRuneInString(before)
	return before == "" || last == '\n' || last == '\r' || breaks(last) || strings.HasSuffix(before, `\n`)
}

func breaks(r rune) bool { return r == '\u0085' || r == '\u2028' || r == '\u2029' }

// unseen says that a character shows nothing of itself: it hides text from who reads along, or
// turns the order in which that is read.
func unseen(r rune) bool {
	switch {
	case breaks(r), r == '\u00ad', r == '\u034f', r == '\u061c', r == '\u115f', r == '\u1160', r == '\u180e', r == '\u3164', r == '\ufeff', r == '\uffa0':
		return true
	case r >= '\u200b' && r <= '\u200f', r >= '\u202a' && r <= '\u202e', r >= '\u2060' && r <= '\u206f', r >= '\ufe00' && r <= '\ufe0f', r >= '\ufff9' && r <= '\ufffb':
		return true
	}
	return r >= 0xe0000 && r <= 0xe0fff
}

// unseenRun is the length of the run of such characters that a text begins with.
func unseenRun(text string) int {
	return len(text) - len(strings.TrimLeftFunc(text, unseen))
}

// joins says that a run of unseen characters is what scripts and emoji need between two that are
// seen, and too short to say anything.
func joins(run string) bool {
	return utf8.RuneCountInString(run) <= 2 && strings.Trim(run, "\u200c\u200d\ufe0e\ufe0f") == ""
}

// codePoint reads «U+202E}», only as data writes it; -1 where it is none.
func codePoint(rest string) rune {
	digits, ok := strings.CutPrefix(rest, "U+")
	end := strings.IndexByte(digits[:min(len(digits), 6)], '}')
	if !ok || end < 4 || strings.Trim(digits[:end], "0123456789ABCDEF") != "" {
		return -1
	}
	r, err := strconv.ParseUint(digits[:end], 16, 32)
	if err != nil || !unseen(rune(r)) || fmt.Sprintf("%04X", r) != digits[:end] {
		return -1
	}
	return rune(r)
}

// quote is data of any length within a message of the developer's role: each line behind a bar.
func quote(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	return "| " + strings.ReplaceAll(data(text), "\n", "\n| ")
}

// inline is data within a sentence of ours: one line.
func inline(text string) string {
	return data(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' || breaks(r) }), " "))
}

// inlines are several of them.
func inlines(texts []string) string {
	var out []string
	for _, t := range texts {
		out = append(out, inline(t))
	}
	return strings.Join(out, ", ")
}
