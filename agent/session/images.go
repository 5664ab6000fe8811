package session

import (
	"io/fs"

	"tandem/agent"
	"tandem/agent/workspace"
)

// imageOf and image turn an image of the workspace into one of the session and back.

func imageOf(i *workspace.Image) *agent.Image {
	if i == nil {
		return nil
	}
	return &agent.Image{Digest: i.Digest, Size: i.Size, Mode: uint32(i.Mode), Link: i.Link}
}

func image(i *agent.Image) *workspace.Image {
	if i == nil {
		return nil
	}
	return &workspace.Image{Digest: i.Digest, Size: i.Size, Mode: fs.FileMode(i.Mode), Link: i.Link}
}
