package scenario

import (
	"context"
	"fmt"
	"os"

	"tandem/protocol"
)

// Outputs keeps a scenario's outputs as they stand in the workspace: those of a run that somebody else
// has made there.
func (p *Place) Outputs(ctx context.Context, s Scenario) ([]protocol.Output, error) {
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	files, err := look(ctx, root, s.Outputs)
	if err != nil {
		return nil, fmt.Errorf("look at the outputs of %s: %w", s.Name, err)
	}
	var out []protocol.Output
	for _, f := range files {
		o, err := p.output(root, f)
		if err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}
