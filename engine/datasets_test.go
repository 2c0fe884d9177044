package engine_test

import (
	"context"
	"errors"
	"testing"

	"jjm"
	"jjm/wire"
)

// What a job file asks for and the daemon does not do is refused, not ignored.
func TestDatasets_WhatIsNotCarriedOutIsRefused(t *testing.T) {
	for field, text := range map[string]string{
		"datasets":       "[[datasets]]\nname = \"raw\"\n",
		"split":          "[split]\nby = \"FileBased\"\n",
		"output_dataset": "output_dataset = \"out\"\n",
	} {
		inWorld(t, options{}, func(t *testing.T, w *world) {
			text := "type = \"script\"\n" + text
			if field != "output_dataset" {
				text += "\n"
			}
			_, err := w.engine.Submit(context.Background(), alice, wire.Submit{Name: "j.toml", Text: text + "[params]\ncommand = [\"true\"]\n", BaseDir: w.dir})
			var ps jjm.Problems
			if !errors.As(err, &ps) || len(ps) != 1 || ps[0].Field != field {
				t.Errorf("%s: %v", field, err)
			}
		})
	}
}
