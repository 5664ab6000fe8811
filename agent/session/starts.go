package session

import (
	"path"
	"slices"
	"strings"

	"tandem/agent/secretfile"
)

// startFolders hold what editors, hooks, containers, build servers and other agents run by themselves.
var startFolders = []string{".vscode", ".idea", ".fleet", ".zed", ".helix", ".devcontainer", ".husky", ".githooks", ".github/workflows", ".github/actions",
	".circleci", ".buildkite", ".cursor", ".claude"}

// startFiles are such files outside of these folders, by name.
var startFiles = []string{".envrc", ".exrc", ".nvimrc", ".nvim.lua", ".vimrc", ".lvimrc", ".dir-locals.el", "*.code-workspace", "*.sublime-project",
	".devcontainer.json", ".pre-commit-config.yaml", "lefthook.y*ml", ".lefthook.y*ml", ".mise.toml", "mise.toml", ".mcp.json", ".gitlab-ci.yml"}

// startsByItself says that programs of the developer's run what a file says without being asked to: when its folder
// is opened or entered, at a commit, at a push. name is a path in the workspace, also that of a whole folder. What is
// run by a command that somebody gives, such as a Makefile, is none.
func startsByItself(name string) bool {
	name = "/" + secretfile.Plain(name) + "/"
	return slices.ContainsFunc(startFolders, func(dir string) bool {
		above, _, nested := strings.Cut(dir, "/")
		return strings.Contains(name, "/"+dir+"/") || nested && strings.HasSuffix(name, "/"+above+"/")
	}) || slices.ContainsFunc(startFiles, func(glob string) bool {
		ok, err := path.Match(glob, path.Base(name))
		return ok && err == nil
	})
}
