package answer

import (
	"context"
	"strings"

	"jjm/handlers"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// JobTypes returns the job types of the site.
func (an verbs) JobTypes(context.Context, wire.Caller, wire.JobTypesRequest) (wire.JobTypesAnswer, error) {
	return wire.JobTypesAnswer{JobTypes: an.Types()}, nil
}

// Types returns the job types with their documentation. Types that are off come last, with their mistakes.
func (an *Answers) Types() []wire.JobType {
	var out []wire.JobType
	for _, name := range an.b.Deps.Types.Types() {
		if handlers.OffOf(an.b.Deps.Types[name]) != nil {
			continue
		}
		d := an.b.Deps.Types[name].Describe()
		t := wire.JobType{Type: name, Summary: d.Summary, Result: d.Result, Cut: d.Cut, Example: d.Example}
		for _, p := range d.Params {
			t.Params = append(t.Params, wire.JobParam{Name: p.Name, Type: p.Type, Unit: p.Unit,
				Default: p.Default, Required: p.Required, Help: p.Help})
		}
		out = append(out, t)
	}
	for _, off := range an.b.Deps.Types.AllOff(an.b.Deps.Off...) {
		t := wire.JobType{Type: off.Type, Summary: "off: " + off.Short(), Off: true, File: off.File, Remedy: off.Remedy()}
		for _, p := range off.Why {
			t.Problems = append(t.Problems, p.String())
		}
		out = append(out, t)
	}
	return out
}

// Clusters returns the state of the batch systems, with the orders about them and their queues, and the number of local
// jobs that wait and run. Local jobs whose state has been unknown for a long time are named only to administrators and
// to the owners of these local jobs.
func (an *Answers) Clusters(_ context.Context, caller wire.Caller) []wire.Cluster {
	v := an.s.View()
	defer v.Close()
	now := jjm.At(an.b.Now())
	seen := func(id jjm.GridID) bool {
		g := v.Grid(id)
		return g != nil && caller.May(g.Job.Owner.UID)
	}
	if caller.Admin {
		seen = nil
	}
	out := make([]wire.Cluster, 0, len(an.s.Names))
	for _, name := range an.s.Names {
		w := an.rooms.Clusters.View(v.Memory, name, seen, caller.May)
		w.Orders = v.InForce(now, func(o jjm.Order) bool {
			of, _, _ := strings.Cut(o.Name, "/")
			return o.Kind == jjm.OrderCluster && o.Name == name || o.Kind == jjm.OrderQueue && of == name
		})
		for _, g := range v.Grids() {
			if g.Job.Status.Final() {
				continue
			}
			w.Waiting += g.UnsentFor(name)
			if t := g.ByCluster[name]; t != nil {
				w.Waiting += t.Counts[jjm.Submitting] - t.Retrying
				w.Queued += t.Counts[jjm.Submitted]
				w.Running += t.Counts[jjm.Running]
			}
		}
		out = append(out, w)
	}
	return out
}
