package secret

import (
	"encoding/base64"
	"strings"
)

// kind is a token that its issuer gave a beginning by which it is known.
type kind struct {
	name    string
	begins  []string
	of      func(byte) bool // what may follow
	least   int             // how much at least
	exactly bool            // and no more
	behind  bool            // the beginning itself is no secret
	fits    func(rest string) bool
}

// inToken is what URL-safe base64 is made of.
func inToken(b byte) bool  { return inWord(b) || b == '-' }
func inDotted(b byte) bool { return inToken(b) || b == '.' }
func inPath(b byte) bool   { return inToken(b) || b == '/' }
func inCaps(b byte) bool   { return isUpper(b) || isDigit(b) }

// known are the kinds of tokens. The patterns are those that their issuers document.
var known = []kind{
	{name: "API key", begins: []string{"sk-"}, of: inToken, least: 20, fits: keyLike},
	{name: "GitHub token", begins: []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}, of: inWord, least: 20},
	{name: "GitLab token", begins: []string{"glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glsoat-", "glcbt-", "glagent-"}, of: inDotted, least: 20},
	{name: "AWS key", begins: []string{"AKIA", "ASIA", "ABIA", "ACCA"}, of: inCaps, least: 16, exactly: true},
	{name: "Google key", begins: []string{"AIza"}, of: inToken, least: 30},
	{name: "Google token", begins: []string{"ya29.", "GOCSPX-"}, of: inDotted, least: 20},
	{name: "Slack token", begins: []string{"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxe.", "xapp-"}, of: inDotted, least: 10, fits: hasDigit},
	{name: "Slack webhook", begins: []string{"hooks.slack.com/services/"}, of: inPath, least: 20, behind: true},
	{name: "Discord webhook", begins: []string{"discord.com/api/webhooks/", "discordapp.com/api/webhooks/"}, of: inPath, least: 30, behind: true},
	{name: "Stripe key", begins: []string{"sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_"}, of: isAlnum, least: 16},
	{name: "npm token", begins: []string{"npm_"}, of: isAlnum, least: 30},
	{name: "PyPI token", begins: []string{"pypi-AgE"}, of: inToken, least: 16},
	{name: "RubyGems key", begins: []string{"rubygems_"}, of: isAlnum, least: 32},
	{name: "Docker token", begins: []string{"dckr_pat_", "dckr_oat_"}, of: inToken, least: 20},
	{name: "Hugging Face token", begins: []string{"hf_", "api_org_"}, of: isAlnum, least: 30},
	{name: "JSON web token", begins: []string{"eyJ"}, of: inDotted, least: 20, fits: isJWT},
	{name: "SendGrid key", begins: []string{"SG."}, of: inDotted, least: 40, fits: func(s string) bool { return strings.Count(strings.TrimRight(s, "."), ".") == 1 }},
	{name: "Groq key", begins: []string{"gsk_"}, of: isAlnum, least: 20},
	{name: "xAI key", begins: []string{"xai-"}, of: isAlnum, least: 40},
	{name: "Perplexity key", begins: []string{"pplx-"}, of: isAlnum, least: 32},
	{name: "Replicate token", begins: []string{"r8_"}, of: isAlnum, least: 32},
	{name: "DigitalOcean token", begins: []string{"dop_v1_", "doo_v1_", "dor_v1_"}, of: isAlnum, least: 40},
	{name: "Databricks token", begins: []string{"dapi"}, of: isAlnum, least: 32, fits: hasDigit},
	{name: "Shopify token", begins: []string{"shpat_", "shpss_", "shpca_", "shppa_"}, of: isAlnum, least: 24},
	{name: "Square token", begins: []string{"sq0atp-", "sq0csp-"}, of: inToken, least: 20},
	{name: "Linear key", begins: []string{"lin_api_"}, of: isAlnum, least: 30},
	{name: "Postman key", begins: []string{"PMAK-"}, of: inToken, least: 40},
	{name: "New Relic key", begins: []string{"NRAK-"}, of: isAlnum, least: 20},
	{name: "Grafana token", begins: []string{"glsa_", "glc_"}, of: inWord, least: 30},
	{name: "Vault token", begins: []string{"hvs.", "hvb.", "hvr."}, of: inToken, least: 20},
	{name: "PlanetScale token", begins: []string{"pscale_tkn_", "pscale_pw_", "pscale_oauth_"}, of: inDotted, least: 30},
	{name: "Supabase key", begins: []string{"sbp_", "sb_secret_"}, of: inToken, least: 20, fits: hasDigit},
	{name: "Figma token", begins: []string{"figd_", "figo_"}, of: inToken, least: 30},
	{name: "Atlassian token", begins: []string{"ATATT3", "ATCTT3"}, of: func(b byte) bool { return inToken(b) || b == '=' }, least: 40},
	{name: "Sentry token", begins: []string{"sntrys_", "sntryu_"}, of: func(b byte) bool { return inToken(b) || b == '=' }, least: 30},
	{name: "Mailgun key", begins: []string{"key-"}, of: isAlnum, least: 32, exactly: true, fits: func(s string) bool { return random(s, 32) }},
	{name: "age key", begins: []string{"AGE-SECRET-KEY-1"}, of: inCaps, least: 50},
}

// The marks of what is found in other ways.
var (
	keyMark      = markOf("private key")
	telegramMark = markOf("Telegram token")
	azureMark    = markOf("Azure secret")
)

// kinds are the anchors of all that is a secret by its look.
func kinds() []anchor {
	out := []anchor{
		{word: keyHead, look: privateKey},
		{word: base64Head, free: true, look: privateKeyInBase64},
		{word: "://", look: userinfo},
		{word: "bearer ", folded: true, look: bearer},
		{word: "basic ", folded: true, look: basic},
		{word: ":AA", look: telegram},
		{word: "Q~", look: azure},
	}
	for _, word := range []string{"pass", "pwd", "secret", "token", "key", "credential"} {
		out = append(out, anchor{word: word, folded: true, look: assigned})
	}
	for _, k := range known {
		for _, begin := range k.begins {
			out = append(out, anchor{word: begin, free: true, look: k.look(begin)})
		}
	}
	return out
}

func kindMarks() []string {
	out := []string{keyMark, secretMark, passwordMark, bearerMark, telegramMark, azureMark}
	for _, k := range known {
		out = append(out, markOf(k.name))
	}
	return out
}

// look is what the beginning of a token leads to.
func (k kind) look(begin string) func(string, int) hit {
	mark := markOf(k.name)
	return func(text string, at int) hit {
		from := at + len(begin)
		to := run(text, from, k.of)
		h := hit{open: to == len(text) && !(k.exactly && to-from > k.least), begin: at}
		rest := text[from:to]
		fits := len(rest) >= k.least && !(k.exactly && len(rest) > k.least) && !repeats(rest) && (k.fits == nil || k.fits(rest))
		if !fits {
			return h
		}
		if h.span = (span{at, to, mark}); k.behind {
			h.from = from
		}
		return h
	}
}

// run is where a run of bytes ends.
func run(text string, at int, of func(byte) bool) int {
	for at < len(text) && of(text[at]) {
		at++
	}
	return at
}

// repeats tells xxxxxxxx and its like.
func repeats(rest string) bool {
	var seen set
	distinct := 0
	for i := range min(len(rest), judged) {
		if !seen[rest[i]] {
			seen[rest[i]] = true
			distinct++
		}
	}
	return distinct < 5
}

func hasDigit(rest string) bool { return strings.ContainsAny(rest, "0123456789") }

// keyLike tells a key from a name with many dashes: a digit, and a long part without one.
func keyLike(rest string) bool {
	longest := 0
	for part := range strings.FieldsFuncSeq(rest, func(r rune) bool { return r == '-' }) {
		longest = max(longest, len(part))
	}
	return longest >= 16 && hasDigit(rest)
}

// isJWT wants the second part of a token, which is JSON too, or a third.
func isJWT(rest string) bool { return strings.Contains(rest, ".eyJ") || strings.Count(rest, ".") >= 2 }

// telegram looks at the secret part of a bot's token, which stands behind the bot's number.
func telegram(text string, at int) hit {
	if at < 8 || run(text, at-8, isDigit) < at {
		return hit{}
	}
	to := run(text, at+1, inToken)
	h := hit{open: to == len(text), begin: at}
	if n := to - at - 1; n >= 33 && n <= 36 {
		h.span = span{at + 1, to, telegramMark}
	}
	return h
}

// azure looks at a client secret, which bears Q~ behind three letters and a digit.
func azure(text string, at int) hit {
	of := func(b byte) bool { return inDotted(b) || b == '~' }
	if at < 4 || !isDigit(text[at-1]) || run(text, at-4, of) < at {
		return hit{}
	}
	to := run(text, at+2, of)
	h := hit{open: to == len(text), begin: at}
	if n := to - at - 2; n >= 30 && n <= 36 {
		h.span = span{at, to, azureMark}
	}
	return h
}

// keyHead begins a private key.
const (
	keyHead = "-----BEGIN "
	keyTail = "-----END "
	keyName = "PRIVATE KEY"
)

// privateKey looks at a block between its head and its end, or the end of the text: it may be cut.
func privateKey(text string, at int) hit {
	from := at + len(keyHead)
	end := min(len(text), from+longestName)
	to := from
	for to < end && (isUpper(text[to]) || isDigit(text[to]) || text[to] == ' ') {
		to++
	}
	if to == len(text) { // what it is is still to come
		return hit{open: true, begin: at}
	}
	name := text[from:to]
	if !strings.Contains(name, keyName) || !strings.HasPrefix(text[to:], "-----") {
		return hit{open: len(text)-to < len("-----") && strings.Trim(text[to:], "-") == "", begin: at}
	}
	last := strings.Index(text[to:], keyTail+name+"-----")
	if last < 0 {
		return hit{span: span{at, len(text), keyMark}, open: true, begin: at}
	}
	return hit{span: span{at, to + last + len(keyTail) + len(name) + len("-----"), keyMark}}
}

// base64Head is keyHead in base64, as far as it does not depend on what follows.
const base64Head = "LS0tLS1CRUdJTi"

func privateKeyInBase64(text string, at int) hit {
	of := func(b byte) bool { return isAlnum(b) || b == '+' || b == '/' }
	to := run(text, at, of)
	h := hit{open: to == len(text), begin: at}
	head := text[at : at+(min(to-at, 2*longestName)&^3)]
	if plain, err := base64.RawStdEncoding.DecodeString(head); err == nil && strings.Contains(string(plain), keyName) {
		h.span = span{at, to, keyMark}
	}
	return h
}
