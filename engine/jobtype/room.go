// Package jobtype asks the job types about a grid job, on behalf of its owner: what they
// may open is what the owner may read.
package jobtype

import (
	"jjm/engine/areas"
	"jjm/engine/base"
	"jjm/engine/state"
)

// Types asks the site's job types.
type Types struct {
	b     *base.Base
	s     *state.State
	areas *areas.Areas
}

// New returns one.
func New(s *state.State, as *areas.Areas) *Types { return &Types{s.B, s, as} }
