package handlers

import (
	"maps"
	"strings"
	"time"

	"jjm/internal/jjm"
)

// Planner is implemented by handlers whose behaviour can change while jobs run, because it comes from a program or a
// file. A Planner plans each job only once, when the job is accepted. The plan is stored with the job file, below
// params, and all other methods of the handler must depend only on the plan.
type Planner interface {
	// Plan returns the plan, as keys and values; the keys begin with [OwnKey]. It may take seconds. Its problems are
	// reported in the same way as the problems of Check.
	Plan(spec *jjm.Spec, site Site) (map[string]any, jjm.Problems)
}

// OwnKey is the prefix of the keys below params that hold a plan. Job files of users must not contain such keys.
const OwnKey = "jjm_"

// Program describes one run of a type's program: its path, its input and its limits.
type Program struct {
	Path  string
	Stdin []byte
	// Limit is the longest time that the program may take.
	Limit time.Duration
	// MaxOutput is the largest size of each of its two outputs, in bytes.
	MaxOutput int64
}

// Ran is the result of a run. Exit is the exit code, 128+n after signal n. Truncated is set if one of the outputs was
// longer than MaxOutput.
type Ran struct {
	Stdout, Stderr []byte
	Exit           int
	Truncated      bool
}

// Unplanned returns the plan that a [Planner] stored in a job file, and the job file without the plan.
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

// Planned returns a job file with the plan of its type, if the type is a [Planner]. A recovery keeps the plan of the
// job that it recovers, because it has to make the same units again. In any other job file, Planned returns a problem
// for a key of a plan.
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
