package tripwire

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// parseTOML reads TOML as far as dependencies need it: every table, array and text as it is, and
// numbers, truths and times as the words that they are written with.
func parseTOML(text string) (map[string]any, error) {
	p := &toml{text: strings.ReplaceAll(text, "\r\n", "\n"), root: map[string]any{}}
	p.table = p.root
	for {
		p.skip(true)
		if p.at == len(p.text) {
			return p.root, nil
		}
		if err := p.statement(); err != nil {
			return nil, fmt.Errorf("line %d: %w", 1+strings.Count(p.text[:min(p.at, len(p.text))], "\n"), err)
		}
	}
}

// toml is a text that is being read. It never backs up.
type toml struct {
	text  string
	at    int
	root  map[string]any
	table map[string]any // where keys go
}

func (p *toml) has(s string) bool { return strings.HasPrefix(p.text[p.at:], s) }

// take steps over a text, if it stands here.
func (p *toml) take(s string) bool {
	ok := p.has(s)
	if ok {
		p.at += len(s)
	}
	return ok
}

// skip steps over blanks, and with lines also over line ends and comments.
func (p *toml) skip(lines bool) {
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == ' ' || c == '\t' || (lines && c == '\n'):
			p.at++
		case lines && c == '#':
			p.comment()
		default:
			return
		}
	}
}

func (p *toml) comment() {
	if i := strings.IndexByte(p.text[p.at:], '\n'); i >= 0 {
		p.at += i
		return
	}
	p.at = len(p.text)
}

// statement reads a table's head, or a key with its value, up to the end of the line.
func (p *toml) statement() error {
	var err error
	switch {
	case p.take("[["):
		err = p.head(true)
	case p.take("["):
		err = p.head(false)
	default:
		err = p.assignment(p.table, 0)
	}
	if err != nil {
		return err
	}
	p.skip(false)
	if p.has("#") {
		p.comment()
	}
	if p.at < len(p.text) && !p.has("\n") {
		return errors.New("something follows on the line")
	}
	return nil
}

func (p *toml) head(list bool) error {
	keys, err := p.keys()
	if err != nil {
		return err
	}
	end := "]"
	if list {
		end = "]]"
	}
	if !p.take(end) {
		return fmt.Errorf("the table's name does not end in %s", end)
	}
	last := keys[len(keys)-1]
	in, err := enter(p.root, keys[:len(keys)-1])
	if err != nil {
		return err
	}
	if !list {
		p.table, err = enter(in, keys[len(keys)-1:])
		return err
	}
	all, ok := in[last].([]any)
	if _, taken := in[last]; taken && !ok {
		return fmt.Errorf("%s is no array of tables", last)
	}
	p.table = map[string]any{}
	in[last] = append(all, p.table)
	return nil
}

// enter gives the table below another by its keys, and makes what is not there. Of an array of
// tables it is the last one.
func enter(t map[string]any, keys []string) (map[string]any, error) {
	for _, k := range keys {
		switch v := t[k].(type) {
		case nil:
			next := map[string]any{}
			t[k], t = next, next
		case map[string]any:
			t = v
		case []any:
			last, ok := map[string]any(nil), len(v) > 0
			if ok {
				last, ok = v[len(v)-1].(map[string]any)
			}
			if !ok {
				return nil, fmt.Errorf("%s is no table", k)
			}
			t = last
		default:
			return nil, fmt.Errorf("%s is no table", k)
		}
	}
	return t, nil
}

// assignment reads a key and its value into a table.
func (p *toml) assignment(t map[string]any, depth int) error {
	keys, err := p.keys()
	if err != nil {
		return err
	}
	if !p.take("=") {
		return errors.New("a key and = are wanted")
	}
	p.skip(false)
	v, err := p.value(depth)
	if err != nil {
		return err
	}
	if t, err = enter(t, keys[:len(keys)-1]); err != nil {
		return err
	}
	last := keys[len(keys)-1]
	if _, taken := t[last]; taken {
		return fmt.Errorf("%s stands twice", last)
	}
	t[last] = v
	return nil
}

var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]+`)

// keys reads a key of one part or several with dots, and the blanks around it.
func (p *toml) keys() ([]string, error) {
	var keys []string
	for {
		p.skip(false)
		var k string
		var err error
		if p.has(`"`) || p.has("'") {
			k, err = p.quoted()
		} else if k = bareKey.FindString(p.text[p.at:]); k == "" {
			err = errors.New("a key is wanted")
		} else {
			p.at += len(k)
		}
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
		p.skip(false)
		if !p.take(".") {
			return keys, nil
		}
	}
}

// deepest bounds how deep arrays and tables may stand in each other.
const deepest = 100

var bareValue = regexp.MustCompile(`^([0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9:.Zz+-]+|[A-Za-z0-9+_.:-]+)`)

func (p *toml) value(depth int) (any, error) {
	switch {
	case depth > deepest:
		return nil, errors.New("arrays and tables stand too deep in each other")
	case p.has(`"`) || p.has("'"):
		return p.quoted()
	case p.take("["):
		return p.array(depth)
	case p.take("{"):
		return p.inline(depth)
	}
	word := bareValue.FindString(p.text[p.at:])
	if word == "" {
		return nil, errors.New("a value is wanted")
	}
	p.at += len(word)
	return word, nil
}

func (p *toml) array(depth int) (any, error) {
	list := []any{}
	for {
		p.skip(true)
		if p.take("]") {
			return list, nil
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		p.skip(true)
		if !p.take(",") && !p.has("]") {
			return nil, errors.New("an array does not end")
		}
	}
}

func (p *toml) inline(depth int) (any, error) {
	t := map[string]any{}
	for {
		p.skip(true)
		if p.take("}") {
			return t, nil
		}
		if err := p.assignment(t, depth+1); err != nil {
			return nil, err
		}
		p.skip(true)
		if !p.take(",") && !p.has("}") {
			return nil, errors.New("a table does not end")
		}
	}
}

// quoted reads a text in any of the four kinds of quotes.
func (p *toml) quoted() (string, error) {
	quote := p.text[p.at : p.at+1]
	long := p.has(strings.Repeat(quote, 3))
	end := quote
	if long {
		end = strings.Repeat(quote, 3)
	}
	p.at += len(end)
	if long {
		p.take("\n")
	}
	var b strings.Builder
	for p.at < len(p.text) {
		switch {
		case p.take(end):
			for long && p.take(quote) { // up to two may stand before the end
				b.WriteString(quote)
			}
			return b.String(), nil
		case p.has("\n") && !long:
			return "", errors.New("a text does not end on its line")
		case quote == `"` && p.take(`\`):
			if err := p.escape(&b); err != nil {
				return "", err
			}
		default:
			_, n := utf8.DecodeRuneInString(p.text[p.at:])
			b.WriteString(p.text[p.at : p.at+n])
			p.at += n
		}
	}
	return "", errors.New("a text does not end")
}

var escapes = map[byte]string{'b': "\b", 't': "\t", 'n': "\n", 'f': "\f", 'r': "\r", 'e': "\x1b", '"': `"`, '\\': `\`}

var lineEnd = regexp.MustCompile(`^[ \t]*\n[ \t\n]*`)

// escape reads what follows a backslash.
func (p *toml) escape(b *strings.Builder) error {
	if blank := lineEnd.FindString(p.text[p.at:]); blank != "" {
		p.at += len(blank)
		return nil
	}
	c := (p.text + " ")[p.at]
	if s, ok := escapes[c]; ok {
		p.at++
		b.WriteString(s)
		return nil
	}
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if digits == 0 || p.at+1+digits > len(p.text) {
		return errors.New("a backslash is followed by nothing known")
	}
	n, err := strconv.ParseUint(p.text[p.at+1:p.at+1+digits], 16, 32)
	if err != nil || !utf8.ValidRune(rune(n)) {
		return errors.New("a character's number is wrong")
	}
	p.at += 1 + digits
	b.WriteRune(rune(n))
	return nil
}
