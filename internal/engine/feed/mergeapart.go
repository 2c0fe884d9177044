package feed

import (
	"slices"

	"jjm/handlers"
	"jjm/internal/engine/floor/outputs"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/work/split"
)

// apart is what keeps the outputs of a mergeFeed apart (merge.apart).
type apart struct {
	by plan.Apart
	// made has an entry for each file of the feed. live are the local jobs that may still make outputs; nil if others
	// may follow them.
	made []plan.Made
	live map[plan.Producing]bool
}

// apartOf returns what keeps the outputs of a grid job apart, without files.
func apartOf(g *state.Grid) apart {
	a := apart{by: plan.ApartOf(g.Job.Spec.Merge.Apart)}
	if a.by == (plan.Apart{}) || !g.Job.Step.Closed {
		return a
	}
	a.live = map[plan.Producing]bool{}
	for i := range g.Locals {
		l := &g.Locals[i]
		if l.Step != jjm.StepWork || l.Over() || l.IsMerging() {
			continue
		}
		p := plan.Producing{Cluster: l.Cluster, Priority: state.PriorityAt(&g.Job, l.Place)}
		if l.State == jjm.New || l.Phase == jjm.RetryWait {
			p.Cluster = ""
		}
		a.live[p] = true
	}
	return a
}

// madeOf describes the local job that made an output.
func madeOf(g *state.Grid, file *jjm.File) plan.Made {
	id, ok := outputs.Maker(g.Job.ID, file.LFN)
	if !ok || id.N < 0 || int(id.N) >= len(g.Locals) {
		return plan.Made{Group: file.Group}
	}
	l := &g.Locals[id.N]
	return plan.Made{Cluster: l.Cluster, Group: file.Group, Priority: state.PriorityAt(&g.Job, l.Place)}
}

// madeAt is the name of a cluster as a location of the outputs that it made.
func madeAt(cluster string) string { return "made-at:" + cluster }

// keep sets the groups of the files, and tells the splitter which files are complete. If clusters are kept apart, the
// outputs of a cluster are merged there, unless the grid job or the settings of the splitter no longer allow the
// cluster. keep returns the clusters with the locations that they read.
func (a *apart) keep(work *split.Work, clusters []string, p *split.Params) []plan.Reader {
	readers := make([]plan.Reader, len(clusters)) // all see the work area
	for i, name := range clusters {
		readers[i].Name = name
	}
	if a.by == (plan.Apart{}) {
		return readers
	}
	if a.live != nil {
		work.Complete = make([]bool, len(work.Files))
	}
	bound := false
	for i := range work.Files {
		f := &work.Files[i]
		f.Group = a.by.Key(a.made[i])
		if a.live != nil {
			work.Complete[i] = a.by.Complete(a.made[i], a.live)
		}
		if at := a.made[i].Cluster; a.by.Cluster && slices.Contains(clusters, at) && allowed(at, p) {
			f.Locations, bound = []string{madeAt(at)}, true
		}
	}
	for i := range readers {
		if bound {
			readers[i].Storages = []string{madeAt(readers[i].Name), handlers.WorkArea}
		}
	}
	return readers
}

// allowed reports whether the site lists of a splitter allow a cluster.
func allowed(cluster string, p *split.Params) bool {
	return !slices.Contains(p.SiteBlacklist, cluster) &&
		(len(p.SiteWhitelist) == 0 || slices.Contains(p.SiteWhitelist, cluster))
}

// prioritize sets the place of a new merge so that the merge has the priority of the outputs that it merges. The merge
// keeps its place if the grid job cannot have more places.
func prioritize(g *jjm.GridJob, l *jjm.LocalJob, priority int) {
	if state.PriorityAt(g, l.Place) == priority || l.Part.Failure() != nil {
		return
	}
	g.Step.Places, l.Place = plan.Prioritized(g.Step.Places, g.Step.Clusters, l.Place, priority)
}

// addGroup sets the groups of the outputs of a local job: the group that all the files have which the local job read,
// if groups are kept apart.
func addGroup(c *state.Change, job *jjm.GridJob, l *jjm.LocalJob, files []jjm.File) error {
	if !plan.ApartOf(job.Spec.Merge.Apart).Group {
		return nil
	}
	o, err := originOf(c, l)
	if err != nil {
		return err
	}
	var groups []string
	for _, lfn := range o.parents {
		f, err := c.S.B.Store.InputFile(c.Ctx, job.ID, lfn)
		if err != nil && jjm.KindOf(err) != jjm.Gone {
			return err
		}
		if groups = append(groups, f.Group); f.Group != groups[0] {
			break
		}
	}
	for i := range files {
		files[i].Group = plan.CommonGroup(groups)
	}
	return nil
}
