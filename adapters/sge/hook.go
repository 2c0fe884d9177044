package sge

import (
	"context"
	"fmt"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// askHook returns the options that the site's hook adds to a bulk. It returns an error of kind Invalid if an option is
// not allowed.
func (a *Adapter) askHook(ctx context.Context, b adapters.Bulk) ([]string, error) {
	printed, err := a.cfg.Hook.Ask(ctx, a.name, b)
	if err != nil {
		return nil, err
	}
	opts, err := words(printed)
	if err != nil {
		return nil, jjm.Errorf(jjm.Invalid, "the site's hook %s: %w", a.cfg.Hook, err)
	}
	return opts, nil
}

// brief returns the outputs of a command as one short quoted line.
func brief(outputs ...[]byte) string {
	var text []byte
	for _, out := range outputs {
		for _, c := range out {
			if c == '\n' || c == '\t' {
				c = ' '
			}
			text = append(text, c)
		}
	}
	if len(text) > 400 {
		text = append(text[:400], "..."...)
	}
	return fmt.Sprintf("%q", text)
}
