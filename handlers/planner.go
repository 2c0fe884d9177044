package handlers

import (
	"maps"
	"strings"
	"time"

	"jjm"
)

// Planner is what a handler implements that decides once how a job is done, when it is
// accepted: what it says then is stored with the job file, below params, and all else of
// the handler follows from that alone. So a program that answers otherwise tomorrow
// changes nothing of a job that was accepted today.
type Planner interface {
	// Plan returns what is stored, by keys that begin with [OwnKey]. It may take seconds;
	// what it finds wrong is told like mistakes of Check.
	Plan(spec *jjm.Spec, site Site) (map[string]any, jjm.Problems)
}

// OwnKey begins the keys below params that are a Planner's, and no person's.
const OwnKey = "jjm_"

// Program is a run of a type's program.
type Program struct {
	Path  string
	Stdin []byte
	// Limit is how long it may take.
	Limit time.Duration
	// MaxOutput is the most that it may write to each of its outputs, in bytes.
	MaxOutput int64
}

// Ran is what a program left. Exit is its exit code, 128+n after signal n; Truncated says
// that it wrote too much.
type Ran struct {
	Stdout, Stderr []byte
	Exit           int
	Truncated      bool
}

// Unplanned returns what a [Planner] planned of a job file, and the job file without it.
func Unplanned(spec *jjm.Spec) (plan map[string]any, bare *jjm.Spec) {
	plan = map[string]any{}
	out := *spec
	out.Params = map[string]any{}
	for key, v := range spec.Params {
		if strings.HasPrefix(key, OwnKey) {
			plan[key] = v
			continue
		}
		out.Params[key] = v
	}
	return plan, &out
}

// Planned returns a job file with what its type plans, if that is a [Planner]. A recovery
// keeps what the job that it recovers was given, for the same units must be made again.
func Planned(h Handler, spec *jjm.Spec, site Site) (*jjm.Spec, jjm.Problems) {
	p, ok := h.(Planner)
	if !ok {
		return spec, nil
	}
	for key := range spec.Params {
		if !strings.HasPrefix(key, OwnKey) {
			continue
		}
		if spec.Recovers != 0 {
			return spec, nil
		}
		return spec, jjm.Problems{{Field: "params." + key, Text: "is for jjm alone: leave it out"}}
	}
	plan, problems := p.Plan(spec, site)
	if len(problems) > 0 {
		return spec, problems
	}
	planned := *spec
	planned.Params = maps.Clone(spec.Params)
	if planned.Params == nil {
		planned.Params = map[string]any{}
	}
	maps.Copy(planned.Params, plan)
	return &planned, nil
}
