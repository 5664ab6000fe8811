package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

const pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIB\nqqqq\n-----END RSA PRIVATE KEY-----"

func TestValuesOfTheEnvironment(t *testing.T) {
	r := New([]string{"A_KEY=hunter2-hunter2", "B_TOKEN=hunter2", "c_secret=lowercase", "D_PASSWORD=short",
		"E_PASSWORD=ünïcode", "PLAIN=visible", "F_KEY", "_KEY=underscore", `G_SECRET=a"b\c<d>`})
	for _, test := range []struct{ in, want string }{
		{"nothing to hide", "nothing to hide"},
		{"see hunter2-hunter2.", "see [A_KEY redacted]."}, // the longest first
		{"hunter2", "[B_TOKEN redacted]"},
		{"lowercase and visible", "[c_secret redacted] and visible"},
		{"short stays: it stands in any text", "short stays: it stands in any text"},
		{"ünïcode", "[E_PASSWORD redacted]"},
		{`see a"b\c<d> and {"x":"a\"b\\c<d>"} and {"x":"a\"b\\c\u003cd\u003e"}`, `see [G_SECRET redacted] and {"x":"[G_SECRET redacted]"} and {"x":"[G_SECRET redacted]"}`},
		{"underscore", "[_KEY redacted]"},
		{"a\n" + pem + "\nb", "a\n[private key redacted]\nb"},
		{"-----BEGIN PRIVATE KEY-----\nMIIE", "[private key redacted]"}, // its end is still to come
		{"-----BEGIN OPENSSH PRIVATE KEY-----x-----END OPENSSH PRIVATE KEY----- and " + pem, "[private key redacted] and [private key redacted]"},
		{"-----BEGIN PUBLIC KEY-----\nMIIE", "-----BEGIN PUBLIC KEY-----\nMIIE"},
	} {
		if got := r.Text(test.in); got != test.want {
			t.Errorf("%q became %q, want %q", test.in, got, test.want)
		}
	}
	if got := (*Redactor)(nil).Text("as it is"); got != "as it is" {
		t.Errorf("the nil redactor made %q", got)
	}
}

func TestNamesOfSecrets(t *testing.T) {
	for _, name := range []string{"A_KEY", "A_TOKEN", "A_SECRET", "A_PASSWORD", "PASSWORD", "TOKEN", "SECRET", "PASSWD", "PGPASSWORD", "MYSQL_PWD",
		"DB_PASS", "GH_PAT", "AWS_SECRET_ACCESS_KEY", "SECRET_KEY_BASE", "db_password", "NPM_CONFIG__AUTHTOKEN", "APIKEY", "X_CREDENTIALS"} {
		if !isSecret(name) {
			t.Errorf("%s is no secret", name)
		}
	}
	for _, name := range []string{"PWD", "OLDPWD", "PATH", "HOME", "KEYBOARD", "MONKEY", "COMPASS", "MAX_TOKENS_PER_TURN", "SSH_AUTH_SOCK", "TERM", "PUBLIC_KEY_ID"} {
		if isSecret(name) {
			t.Errorf("%s is a secret", name)
		}
	}
}

// A password that stands in an address is a secret by itself, as it is spelt and as it is meant.
func TestPasswordsInTheEnvironmentsAddresses(t *testing.T) {
	r := New([]string{"DATABASE_URL=postgres://app:s3cr%2Ft-horse@db/shop", "HTTPS_PROXY=http://me:proxy-pass@proxy:3128", "SITE=https://example.org/a@b",
		"GOOGLE_CREDENTIALS=/home/me/google.json"})
	got := r.Text("s3cr/t-horse s3cr%2Ft-horse proxy-pass example.org /home/me/google.json")
	if want := "[DATABASE_URL redacted] [DATABASE_URL redacted] [HTTPS_PROXY redacted] example.org /home/me/google.json"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLearn(t *testing.T) {
	r := New([]string{"A_KEY=hunter2-hunter2"})
	r.Learn("model key", "learnt-later")
	r.Learn("short", "short")
	r.Learn("again", "learnt-later")
	r.LearnAddress("database", "postgres://u:pass/word@h/d")
	if got, want := r.Text("hunter2-hunter2 learnt-later short pass/word"), "[A_KEY redacted] [model key redacted] short [database redacted]"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if r.Mark("[model key redacted]") == "" || r.Mark("[again redacted]") != "" {
		t.Error("its mark is not known, or one of nothing is")
	}
}

// A value is known in whatever it is wrapped.
func TestFormsOfValues(t *testing.T) {
	const secret = `Tr0ub4dor&3/"ß<`
	r := New([]string{"A_KEY=" + secret})
	asJSON := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	all := map[string]string{
		"plain": secret, "JSON": asJSON(secret), "JSON in JSON": asJSON(asJSON(secret)), "query": url.QueryEscape(secret), "path": url.PathEscape(secret),
		"small escapes": strings.ToLower(url.QueryEscape("ß")), "hex": hex.EncodeToString([]byte("x" + secret)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(secret + "y"))),
	}
	all["small escapes"] = strings.ReplaceAll(strings.ReplaceAll(url.QueryEscape(secret), "%C3%9F", "%c3%9f"), "%2F", "%2f")
	all["small escapes"] = strings.ReplaceAll(strings.ReplaceAll(all["small escapes"], "%3C", "%3c"), "%26", "%26")
	for before := range 4 {
		for name, enc := range map[string]*base64.Encoding{"base64": base64.StdEncoding, "URL base64": base64.RawURLEncoding} {
			all[fmt.Sprint(name, " behind ", before)] = enc.EncodeToString([]byte("user:pass"[:before] + secret + "tail"))
		}
	}
	for name, form := range all {
		if got := r.Text("a " + form + " b"); !strings.Contains(got, "[A_KEY redacted]") || !strings.HasPrefix(got, "a ") || !strings.HasSuffix(got, " b") {
			t.Errorf("%s: %q became %q", name, form, got)
		}
	}
}

// rnd is as random as a secret has to look, and stands in no other program's table of keys.
const rnd = "q7Zp2Lx9VbT4mKc8RwYd1NsF6hGj3EaU5iXo0"

// taken are texts of which the part between « and » is a secret.
var taken = []string{
	"«sk-" + rnd + "»", "«sk-proj-" + rnd + "-" + rnd + "»", "«sk-ant-api03-" + rnd + "»", "«sk-or-v1-0123456789abcdef0123456789abcdef»",
	"«ghp_" + rnd[:36] + "»", "«gho_" + rnd[:36] + "»", "«github_pat_11ABCDEFG0" + rnd + "»", "«glpat-" + rnd[:20] + "»",
	"«AKIAIOSFODNN7EXAMPLE»", "aws_secret_access_key = «wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY»", "«AIza" + rnd[:35] + "»", "«ya29." + rnd + "»",
	"«xoxb-123456789012-abcdefABCDEF»", "https://hooks.slack.com/services/«T00000000/B00000000/" + rnd[:24] + "»",
	"«sk_live_" + rnd[:24] + "»", "«whsec_" + rnd[:32] + "»", "«npm_" + rnd[:36] + "»", "«pypi-AgEIcHlwaS5vcmc" + rnd + "»", "«hf_" + rnd[:34] + "»",
	"«eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0." + rnd + "»", "«SG." + rnd[:22] + "." + rnd + "abcdef»", "bot 123456789:«AA" + rnd[:33] + "»",
	"abc8«Q~" + rnd[:34] + "»", "AccountKey=«" + rnd + rnd + "==»;EndpointSuffix=core", "«dckr_pat_" + rnd[:27] + "»", "«gsk_" + rnd + "»",
	"«hvs." + rnd + "»", "«dop_v1_" + rnd + rnd[:27] + "»", "«AGE-SECRET-KEY-1QQQQWWWWEEEERRRRTTTTYYYYUUUUIIIIOOOOPPPPAAAASSSSDDDDFFFF»",
	"postgres://app:«hunter2»@db.internal:5432/shop", "git clone https://«" + rnd + "»@host/x.git", "redis://:«p@ss:w»@cache",
	"Authorization: Bearer «" + rnd + "»", "authorization: bearer «abcdef12»", "Authorization: Basic «dXNlcjpodW50ZXIy»", `-H "X-Api-Key: «` + rnd + `»"`,
	`password = "«Tr0ub4dor&3»"`, `api_key: «` + rnd + `»`, `"clientSecret": "«` + rnd + `»",`, `{\"token\":\"«` + rnd + `»\"}`, `secret := "«` + rnd + `»"`,
	"export DB_PASSWORD=«hunter2hunter2»", "\nTOKEN='«" + rnd + "»'\n", "<password>«" + rnd + "»</password>", "--token=«" + rnd + "»", "--token «" + rnd + "» -v",
	`os.environ["API_KEY"] = "«` + rnd + `»"`, `const authToken: string = "«` + rnd + `»"`, `var dbPassword string = "«P4ss-word»"`, `SetPassword("«P4ss-word»")`,
	`SECRET_KEY_BASE=«` + strings.Repeat("0a1b2c3d", 16) + `»`, `token = b"«` + rnd + `»"`, `{"text":"a\n«ghp_` + rnd[:36] + `»"}`, `{"text":"a\npassword: «` + rnd + `»"}`,
	"client-key-data: «LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlF»", "«-----BEGIN PGP PRIVATE KEY BLOCK-----\nx\n-----END PGP PRIVATE KEY BLOCK-----»",
	"API_KEY==«" + rnd + "»", "the token is in DEPLOY_KEY=«" + rnd + "»",
}

func TestWhatLooksLikeASecret(t *testing.T) {
	for _, test := range taken {
		before, rest, _ := strings.Cut(test, "«")
		word, after, _ := strings.Cut(rest, "»")
		got := (*Redactor)(nil).Text(before + word + after)
		if !strings.HasPrefix(got, before+"[") || !strings.HasSuffix(got, markEnd+after) || strings.Contains(got, word) {
			t.Errorf("%q became %q", test, got)
		}
		if again := (*Redactor)(nil).Text(got); again != got {
			t.Errorf("%q became %q at the second time", got, again)
		}
		if (*Redactor)(nil).Mark(got) == "" {
			t.Errorf("the mark in %q is not known", got)
		}
	}
}

// What is random and no secret stays, and so does all that only talks about secrets.
func TestWhatIsNoSecretStays(t *testing.T) {
	image := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00\x89PNG sk-AKIA eyJ\xff\x13", 99)))
	for _, text := range []string{
		"commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad", "token: 550e8400-e29b-41d4-a716-446655440000",
		"golang.org/x/mod v0.31.0 h1:HaW9xtz0+kOcWKwli0ZXy79Ix+UW/vOfmWI5QVd2tgI=", `"integrity": "sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg=="`,
		"data:image/png;base64," + image, "src=\"data:;base64," + image + "\"", "key: linux-go-3f2a9b", "passwordHash: 3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
		"token_count: 12345678901234567890", "max_tokens=4096", "func token(s string) string { return s }", "password := getPassword(request1)", "password = os.Getenv(\"DB_PASSWORD\")",
		"token = strings.TrimPrefix(h, \"Bearer \")", "the bearer token is checked", "basic authentication with a password", "PASSWORD=${DB_PASSWORD}", "password: {{ .Values.password }}",
		"password: <your password>", "secret: changeme", "api_key=YOUR_API_KEY_1", "sk-cube-grid-wrapper-item-1", "class=\"sk-folding-cube\"", "https://example.org:8080/a@b?c=d",
		"https://user@example.org/x", "git@github.com:a/b.git", "http://localhost:11434/v1", "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----",
		"client-certificate-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUU", "public_key = \"" + rnd + "\"", "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "xAKIAIOSFODNN7EXAMPLE",
		"secretName: my-database-credentials-2", "import { createTokenizer2 } from \"./token\"", "if password == \"\" {", "tokens := lexer.Tokens2Parse()", "key = \"Ctrl+Shift+P\"",
		"postgres://app:${PASSWORD}@db/shop", "postgres://app:xxxxx@db/shop", "the password must have 8 letters, 1 digit and 1 sign", "password: \"Enter your 1st Password!\"",
		"[DB_PASSWORD redacted] and [secret redacted]", "PASSWORD=[DB_PASSWORD redacted]",
	} {
		if got := (*Redactor)(nil).Text(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// streamed gives a text in pieces that end at the given places.
func streamed(r *Redactor, text string, ends ...int) (string, []string) {
	s := r.Stream()
	var all []string
	from := 0
	for _, end := range append(ends, len(text)) {
		all = append(all, s.Next(text[from:end]))
		from = end
	}
	all = append(all, s.Rest())
	return strings.Join(all, ""), all
}

// However a text is torn, what comes out is what a whole one becomes.
func TestTornTexts(t *testing.T) {
	r := New([]string{"A_KEY=hunter2-hunter2", "B_TOKEN=nterX-and-more", "C_KEY=hunter2"})
	texts := []string{"it is hunter2-hunter2, and hunter\n" + pem + "\nend", "hunter2-hunternterX-and-more"}
	for _, test := range taken {
		texts = append(texts, "so: "+strings.NewReplacer("«", "", "»", "").Replace(test)+" and more")
	}
	for _, text := range texts {
		want := r.Text(text)
		every := make([]int, len(text))
		for i := range every {
			every[i] = i
			if got, _ := streamed(r, text, i); got != want {
				t.Errorf("%q torn at %d gave %q, want %q", text, i, got, want)
			}
		}
		if got, _ := streamed(r, text, every...); got != want {
			t.Errorf("%q, byte by byte, gave %q, want %q", text, got, want)
		}
	}
}

// What cannot be the beginning of a secret is given away at once.
func TestStreamsDoNotWait(t *testing.T) {
	r := New([]string{"A_KEY=hunter2-hunter2", "B_TOKEN=nterX-and-more"})
	for _, test := range []struct {
		text string
		held int
	}{
		{"", 0},
		{"all is well", 0},
		{"the password ", 0},
		{"the word is", 0},
		{"it is hun", 3},
		{"it is hunter", 6}, // of both that may begin here, the longer
		{"it is hunter2-hunter2", 0},
		{"it is hunter2-hunter", 14},
		{"hunter2-hunter2-hunter2", 0},
		{"hunter2-hunter2 and h", 1},
		{pem + "--", 2},
		{"----", 4},
		{"a\n-----BEGIN ", 11},
		{"a\n-----BEGIN RSA PRIV", 19},
		{"a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabcd\n", 42},
		{pem, 0},
		{"-----BEGIN CERTIFICATE-----\nMIIE", 0},
		{"password: \"hun", 3},
		{"a ghp_abc", 7},
	} {
		s := r.Stream()
		s.Next(test.text)
		if len(s.held) != test.held {
			t.Errorf("%q: holds %q, want %d bytes", test.text, s.held, test.held)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, text := range taken {
		f.Add(text, 3)
	}
	r := New([]string{"A_KEY=hunter2-hunter2", "B_TOKEN=nterX-and-more", "C_KEY=redacted"})
	f.Fuzz(func(t *testing.T, text string, at int) {
		want := r.Text(text)
		if again := r.Text(want); again != want {
			t.Errorf("%q became %q, and then %q", text, want, again)
		}
		if strings.Contains(want, "hunter2-hunter2") {
			t.Errorf("%q became %q", text, want)
		}
		if n := len(text); n > 0 && at >= 0 {
			if got, _ := streamed(r, text, at%n); strings.Contains(got, "hunter2-hunter2") {
				t.Errorf("%q torn at %d became %q", text, at%n, got)
			}
		}
	})
}

// What a megabyte costs: of code, and of what reminds of secrets at every word.
func BenchmarkRedact(b *testing.B) {
	var environ []string
	for i := range 20 {
		environ = append(environ, fmt.Sprintf("S%d_TOKEN=%x%s", i, i*7919, rnd))
	}
	r := New(environ)
	for name, line := range map[string]string{
		"code":    "func (s *Server) steer(ctx context.Context, p protocol.SteerParams) (protocol.SteerResult, error) {\n\tseq, err := s.session(p.Session).Post(ctx)\n",
		"secrets": "password: \"none\" token=abc key sk-abc https://user:@host Bearer x " + rnd + " secret\n",
		"names":   "token=token",
	} {
		text := strings.Repeat(line, 1<<20/len(line))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r.Text(text)
			}
		})
	}
	b.Run("setup", func(b *testing.B) {
		for b.Loop() {
			New(environ)
		}
	})
}
