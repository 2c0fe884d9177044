package main

import (
	"strings"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// after returns the grid jobs of --after. It returns an error if --after-end is set without --after.
func (s *submit) after() (ids []jjm.GridID, err error) {
	for _, text := range s.After {
		ref, err := jjm.ParseRef(strings.TrimSpace(text))
		if err != nil || ref.Locals {
			return nil, usage("--after %s: want the number of a grid job, such as 17", printable(text))
		}
		ids = append(ids, ref.Grid)
	}
	if s.End != "" && len(ids) == 0 {
		return nil, usage("--after-end %s has no effect without --after", printable(s.End))
	}
	return ids, nil
}

// afterText returns the grid jobs that must end before a grid job begins, and how they must end: "12, 13: ok".
func afterText(st *wire.Status) string {
	if len(st.After) == 0 {
		return ""
	}
	return idsText(st.After) + ": " + st.AfterEnd
}

// idsText returns ids of grid jobs: "18, 19".
func idsText(ids []jjm.GridID) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	return strings.Join(texts, ", ")
}
