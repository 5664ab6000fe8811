package daemon

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"tandem/protocol"
)

// A client says initialize first. What comes before it, and it, are no longer than this.
const maxHello = 16 << 20

// Hello is what a client said until it named its workspace.
type Hello struct {
	// Frames is everything that was read, framed anew, to be sent to the daemon as it is.
	Frames []byte
	// Workspace is the folder's path on this machine; empty when the client named none.
	Workspace string
}

// ReadHello reads frames up to the initialize request. Anything else that a client sends before
// it is the daemon's to refuse, and kept. The errors are for the client's developer: that it
// frames its messages in another way, or hung up, or has its workspace elsewhere.
func ReadHello(in *bufio.Reader) (Hello, error) {
	var h Hello
	for {
		body, err := readFrame(in, maxHello-len(h.Frames))
		if err != nil {
			return h, fmt.Errorf("read the client's initialize: %w", err)
		}
		h.Frames = fmt.Appendf(h.Frames, "Content-Length: %d\r\n\r\n%s", len(body), body)
		var m struct {
			Method string                    `json:"method"`
			Params protocol.InitializeParams `json:"params"`
		}
		err = json.Unmarshal(body, &m)
		if m.Method != protocol.LSPInitialize {
			continue
		}
		if err != nil {
			return h, fmt.Errorf("read the client's initialize: %w", err)
		}
		h.Workspace, err = folder(m.Params)
		return h, err
	}
}

func readFrame(in *bufio.Reader, most int) ([]byte, error) {
	first, err := in.Peek(1)
	if err != nil {
		return nil, err
	}
	if first[0] == '{' || first[0] == '[' {
		return nil, errors.New("it came without a header; send «Content-Length: N», an empty line, then N bytes")
	}
	header, err := textproto.NewReader(in).ReadMIMEHeader()
	if err != nil {
		return nil, err
	}
	n, err := strconv.ParseUint(header.Get("Content-Length"), 10, 31)
	if err != nil {
		return nil, fmt.Errorf("its Content-Length is %.40q", header.Get("Content-Length"))
	}
	if int(n) > most {
		return nil, fmt.Errorf("its %d bytes are more than an initialize has", n)
	}
	var body bytes.Buffer // grows with what arrives
	if _, err := io.CopyN(&body, in, int64(n)); err != nil {
		return nil, err
	}
	return body.Bytes(), nil
}

// folder is the workspace that a client names: its first folder, else its root.
func folder(p protocol.InitializeParams) (string, error) {
	switch {
	case len(p.WorkspaceFolders) > 0:
		return filePath(string(p.WorkspaceFolders[0].URI))
	case p.RootURI != "":
		return filePath(string(p.RootURI))
	}
	return p.RootPath, nil
}

// filePath is the path of a file URI, which editors spell in more than one way.
func filePath(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return "", fmt.Errorf("the workspace %s is no URI: %w", uri, err)
	}
	if !strings.EqualFold(u.Scheme, "file") || u.Path == "" {
		return "", fmt.Errorf("the workspace %s is not a folder of this machine; Tandem has to run where the files are", uri)
	}
	path := u.Path
	if u.Host != "" && !strings.EqualFold(u.Host, "localhost") {
		path = "//" + u.Host + path
	}
	if len(path) > 2 && path[0] == '/' && path[2] == ':' {
		path = path[1:] // /c:/work
	}
	return filepath.FromSlash(path), nil
}
