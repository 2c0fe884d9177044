package main

import (
	"strings"

	"jjm/internal/api/plain"
	"jjm/internal/jjm"
)

// after returns the grid jobs that --after names. It returns an error for other words, and for --after-end without
// --after.
func (s *submit) after() (ids []jjm.GridID, err error) {
	for _, text := range s.After {
		ref, err := jjm.ParseRef(strings.TrimSpace(text))
		if err != nil || ref.Locals {
			return nil, usage("--after %s: want the number of a grid job, such as 17", plain.Printable(text))
		}
		ids = append(ids, ref.Grid)
	}
	if s.End != "" && len(ids) == 0 {
		return nil, usage("--after-end %s has no effect without --after", plain.Printable(s.End))
	}
	return ids, nil
}
