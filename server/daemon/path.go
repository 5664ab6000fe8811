package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// The shortest limit on a socket's path among the systems that we run on, without its final zero.
const maxSocketPath = 103

// Path is the socket of the daemon for a workspace, whether it runs or not. It touches nothing.
// The error is that the workspace is no folder, or that no folder for sockets is fit.
func Path(workspace, build string) (string, error) {
	real, err := realFolder(workspace)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(real + "\x00" + build))
	name := hex.EncodeToString(sum[:10]) + ".sock"
	folders, err := folders()
	if err != nil {
		return "", err
	}
	for _, dir := range folders {
		if path := filepath.Join(dir, name); len(path) <= maxSocketPath {
			return path, nil
		}
	}
	return "", fmt.Errorf("the path of a socket in %s is longer than the system takes; set XDG_RUNTIME_DIR to a folder with a shorter path", folders[0])
}

func realFolder(workspace string) (string, error) {
	abs, err := filepath.Abs(workspace)
	if err != nil {
		return "", fmt.Errorf("workspace %s: %w", workspace, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("workspace %s: %w", workspace, err)
	}
	info, err := os.Stat(real)
	if err != nil {
		return "", fmt.Errorf("workspace %s: %w", workspace, err)
	}
	if !info.IsDir() {
		return "", fmt.Errorf("workspace %s is a file; a workspace is a folder", workspace)
	}
	return real, nil
}

// folders are the places for a user's sockets, the best first. A runtime folder that is set and
// cannot be used is an error, not a reason to go elsewhere: two clients must not miss each other.
func folders() ([]string, error) {
	temp := filepath.Join(os.TempDir(), "tandem")
	if uid := os.Getuid(); uid >= 0 { // it is -1 where the temporary folder is the user's own
		temp += "-" + strconv.Itoa(uid)
	}
	runtime := os.Getenv("XDG_RUNTIME_DIR")
	if !filepath.IsAbs(runtime) {
		return []string{temp}, nil
	}
	info, err := os.Stat(runtime)
	if err != nil {
		return nil, fmt.Errorf("XDG_RUNTIME_DIR: %w; create it or unset the variable", err)
	}
	if !info.IsDir() || !owned(info) {
		return nil, fmt.Errorf("XDG_RUNTIME_DIR %s is not a folder of yours; set it to one, or unset it", runtime)
	}
	return []string{filepath.Join(runtime, "tandem"), temp}, nil
}

// Folders are the folders in which a daemon of this user may have its socket. Those that are missing are made, so that
// nobody else makes them: whoever answers there is taken for a daemon.
func Folders() ([]string, error) {
	all, err := folders()
	if err != nil {
		return nil, err
	}
	for _, dir := range all {
		if err := private(dir); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// private makes a folder that only its user can enter, or sees that it is one.
func private(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the folder for sockets: %w", err)
	}
	return isPrivate(dir)
}

func isPrivate(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return fmt.Errorf("the folder for sockets: %w", err)
	case !info.IsDir() || !owned(info):
		return fmt.Errorf("%s is not a folder of yours, so its sockets are not trusted; have it removed", dir)
	case !closed(info):
		return fmt.Errorf("others may enter %s, so its sockets are not trusted; run: chmod 700 %s", dir, dir)
	}
	return nil
}
