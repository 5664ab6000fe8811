package tripwire

import (
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// numeral is what counts as a number: decimal, with an exponent of at most three digits, so that
// a short text cannot stand for a number that fills the memory.
var numeral = lazily(`^[-+]?[0-9]{1,200}(\.[0-9]{1,200})?([eE][-+]?[0-9]{1,3})?$`)

// parseNumber reads a number exactly.
func parseNumber(text string) (*big.Rat, error) {
	if text = strings.TrimSpace(text); numeral().MatchString(text) {
		if r, ok := new(big.Rat).SetString(text); ok {
			return r, nil
		}
	}
	return nil, fmt.Errorf("%s is no number", shown(text))
}

// decimal writes a number that is a sum of decimals, exactly.
func decimal(r *big.Rat) string {
	digits, exact := r.FloatPrec()
	if !exact {
		return r.RatString()
	}
	return r.FloatString(digits)
}

// total adds decimals exactly: 0.1 and 0.2 are 0.3. Those of up to 17 digits are added as whole
// numbers, one sum for each count of digits behind the point.
type total struct {
	sums [18]int64
	rest big.Rat
}

// add adds the number that a text is.
func (t *total) add(text string) error {
	if units, scale, ok := units(text); ok {
		if sum := t.sums[scale] + units; (sum > t.sums[scale]) == (units > 0) {
			t.sums[scale] = sum
			return nil
		}
	}
	r, err := parseNumber(text)
	if err != nil {
		return err
	}
	t.rest.Add(&t.rest, r)
	return nil
}

// units reads a plain decimal as a whole number of its last digit's units.
func units(text string) (n int64, scale int, ok bool) {
	whole, part, point := strings.Cut(text, ".")
	digits := strings.TrimLeft(whole, "+-")
	if len(whole)-len(digits) > 1 || digits == "" || (point && part == "") || len(digits)+len(part) > 17 {
		return 0, 0, false
	}
	if point {
		text = whole + part
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, len(part), err == nil
}

func (t *total) rat() *big.Rat {
	sum := new(big.Rat).Set(&t.rest)
	for scale, units := range t.sums {
		ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)
		sum.Add(sum, new(big.Rat).SetFrac(big.NewInt(units), ten))
	}
	return sum
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// lazily compiles an expression when it is first used: most starts never need it.
func lazily(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
