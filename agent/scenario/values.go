package scenario

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// readJSON reads one value, its numbers as they are written.
func readJSON(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more behind the value")
	}
	return v, nil
}

// values compares two values; at is where they stand, as a JSON pointer in which an element of a list
// with keys is written [KEY=VALUE].
func (d *differences) values(name, at string, a, b any) {
	if x, ok := a.(map[string]any); ok {
		if y, ok := b.(map[string]any); ok {
			d.objects(name, at, x, y)
			return
		}
	}
	if x, ok := a.([]any); ok {
		if y, ok := b.([]any); ok {
			d.lists(name, at, x, y)
			return
		}
	}
	if !equal(a, b) {
		d.say(name+at, written(a), written(b))
	}
}

func (d *differences) objects(name, at string, a, b map[string]any) {
	all := maps.Clone(a)
	maps.Copy(all, b)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		x, had := a[key]
		y, has := b[key]
		d.pair(name, at+"/"+escaped(key), x, y, had, has)
	}
}

// pair compares what may be there on one side alone.
func (d *differences) pair(name, at string, a, b any, had, has bool) {
	switch {
	case !had:
		d.say(name+at, notThere, written(b))
	case !has:
		d.say(name+at, written(a), notThere)
	default:
		d.values(name, at, a, b)
	}
}

// lists compares by key where all elements of both are objects with one; else by place, behind
// what both begin with and before what both end with.
func (d *differences) lists(name, at string, a, b []any) {
	if key, ok := keyOf(a, b); ok {
		d.keyed(name, at, key, a, b)
		return
	}
	from := 0
	for from < min(len(a), len(b)) && equal(a[from], b[from]) {
		from++
	}
	x, y := a[from:], b[from:]
	for len(x) > 0 && len(y) > 0 && equal(x[len(x)-1], y[len(y)-1]) {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	for i := range max(len(x), len(y)) {
		var p, q any
		if i < len(x) {
			p = x[i]
		}
		if i < len(y) {
			q = y[i]
		}
		d.pair(name, at+"/"+strconv.Itoa(from+i), p, q, i < len(x), i < len(y))
	}
}

func (d *differences) keyed(name, at, key string, a, b []any) {
	was, now := byKey(key, a), byKey(key, b)
	for _, v := range a {
		k := keyValue(key, v)
		y, has := now[k]
		d.pair(name, fmt.Sprintf("%s[%s=%s]", at, key, k), v, y, true, has)
	}
	for _, v := range b {
		k := keyValue(key, v)
		if _, had := was[k]; !had {
			d.pair(name, fmt.Sprintf("%s[%s=%s]", at, key, k), nil, v, false, true)
		}
	}
}

// keyOf is the field that every element has with a value of its own: one that is named as a key, with texts
// or whole numbers, else one with texts.
func keyOf(a, b []any) (string, bool) {
	if len(a) == 0 && len(b) == 0 {
		return "", false
	}
	first, ok := slices.Concat(a, b)[0].(map[string]any)
	if !ok {
		return "", false
	}
	names := slices.Sorted(maps.Keys(first))
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	for _, key := range names {
		if _, text := first[key].(string); (text || rank(key) < notNamed) && unique(key, a) && unique(key, b) {
			return key, true
		}
	}
	return "", false
}

// notNamed is the rank of a name that does not say that it is a key.
const notNamed = 2

// rank puts names that say that they are keys before others.
func rank(name string) int {
	name = strings.ToLower(name)
	switch {
	case name == "id":
		return 0
	case strings.HasSuffix(name, "id"), strings.HasSuffix(name, "_no"), strings.HasSuffix(name, "key"), name == "name", name == "number":
		return 1
	}
	return notNamed
}

func unique(key string, list []any) bool {
	known := map[string]bool{}
	for _, v := range list {
		k := keyValue(key, v)
		if k == "" || known[k] {
			return false
		}
		known[k] = true
	}
	return true
}

// keyValue is an element's key, a text or a whole number, as text; "" when it has none.
func keyValue(key string, v any) string {
	object, ok := v.(map[string]any)
	if !ok {
		return ""
	}
	switch k := object[key].(type) {
	case string:
		return k
	case json.Number:
		if !strings.ContainsAny(k.String(), ".eE") {
			return k.String()
		}
	}
	return ""
}

func byKey(key string, list []any) map[string]any {
	out := map[string]any{}
	for _, v := range list {
		out[keyValue(key, v)] = v
	}
	return out
}

// equal compares numbers by value and all else as it is.
func equal(a, b any) bool {
	x, ok := a.(json.Number)
	y, ok2 := b.(json.Number)
	if ok && ok2 {
		return sameNumber(x.String(), y.String())
	}
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, equal)
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, equal)
	}
	return reflect.DeepEqual(a, b)
}

// sameNumber compares exactly; one with a huge exponent is compared as it is written.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	const long = 400
	if f, err := strconv.ParseFloat(a, 64); err != nil || f > 1e300 || f < -1e300 || len(a)+len(b) > long {
		return false
	}
	x, ok := new(big.Rat).SetString(a)
	y, ok2 := new(big.Rat).SetString(b)
	return ok && ok2 && x.Cmp(y) == 0
}

// written is a value as a person reads it: a text as it is, unless one cannot see it.
func written(v any) string {
	if s, ok := v.(string); ok && strings.TrimSpace(s) != "" && s != notThere {
		return s
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // what was read can be written
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(b.String())
}

// escaped is a key in a JSON pointer.
func escaped(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }

// tables compares by the first column whose values are all there and each its own on both sides; it says that
// there is none. What stands in another order is no change.
func (d *differences) tables(name string, a, b table) bool {
	key, ok := keyColumn(a, b)
	if !ok {
		return false
	}
	d.columns(name, a.head, b.head)
	was, now := a.byKey(key), b.byKey(key)
	for _, row := range a.rows {
		k := a.at(row, key)
		at := fmt.Sprintf("%s %s=%s", name, key, k)
		other, has := now[k]
		if !has {
			d.say(at, strings.Join(row, ", "), notThere)
			continue
		}
		for _, column := range a.head {
			if x, y := a.at(row, column), b.at(other, column); x != y && slices.Contains(b.head, column) {
				d.say(at+" "+column, shown(x), shown(y))
			}
		}
	}
	for _, row := range b.rows {
		if k := b.at(row, key); was[k] == nil {
			d.say(fmt.Sprintf("%s %s=%s", name, key, k), notThere, strings.Join(row, ", "))
		}
	}
	return true
}

// columns says which columns one side alone has.
func (d *differences) columns(name string, a, b []string) {
	for _, column := range a {
		if !slices.Contains(b, column) {
			d.say(name+" column "+column, "there", notThere)
		}
	}
	for _, column := range b {
		if !slices.Contains(a, column) {
			d.say(name+" column "+column, notThere, "there")
		}
	}
}

// shown is a field that can be seen when it is empty.
func shown(field string) string {
	if strings.TrimSpace(field) == "" {
		return strconv.Quote(field)
	}
	return field
}

func keyColumn(a, b table) (string, bool) {
	for _, column := range a.head {
		if slices.Contains(b.head, column) && a.unique(column) && b.unique(column) {
			return column, true
		}
	}
	return "", false
}

// at is a row's field by the name of its column; "" where the row is too short.
func (t table) at(row []string, column string) string {
	if i := slices.Index(t.head, column); i >= 0 && i < len(row) {
		return row[i]
	}
	return ""
}

func (t table) unique(column string) bool {
	known := map[string]bool{}
	for _, row := range t.rows {
		v := t.at(row, column)
		if v == "" || known[v] {
			return false
		}
		known[v] = true
	}
	return true
}

func (t table) byKey(column string) map[string][]string {
	out := map[string][]string{}
	for _, row := range t.rows {
		out[t.at(row, column)] = row
	}
	return out
}
