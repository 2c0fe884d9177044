package answer

import (
	"context"
	"path/filepath"
	"slices"

	"jjm"
	"jjm/engine/state"
	"jjm/wire"
	"jjm/xmldb/head"
)

// Lookup answers from memory for live grid jobs, from the store for finished
// ones.
func (an *Answers) Lookup(ctx context.Context, caller wire.Caller, ids []jjm.GridID) []wire.Lookup {
	out := make([]wire.Lookup, len(ids))
	for i, id := range ids {
		l, err := an.lookup(ctx, caller, id)
		if err != nil {
			l = wire.Lookup{ID: id, Error: wire.ErrorOf(err)}
		}
		out[i] = l
	}
	return out
}

func (an *Answers) lookup(ctx context.Context, caller wire.Caller, id jjm.GridID) (wire.Lookup, error) {
	v := an.s.View()
	if g := v.Grid(id); g != nil {
		defer v.Close()
		if !caller.May(g.Job.Owner.UID) {
			return wire.Lookup{}, jjm.Errorf(jjm.Denied, "grid job %s belongs to %s", id, g.Job.Owner.User)
		}
		return an.answer(v.Memory, g), nil
	}
	v.Close()
	job, err := an.s.Find(ctx, caller, id)
	if err != nil {
		return wire.Lookup{}, err
	}
	v = an.s.View()
	defer v.Close()
	return an.answer(v.Memory, state.NewGrid(job)), nil
}

// answer is the one honest status. G may be one of the history.
func (an *Answers) answer(mem state.Memory, g *state.Grid) wire.Lookup {
	v := an.rooms.Records.Outside(mem, g)
	return wire.Lookup{
		ID: g.Job.ID, Status: g.Job.Status.String(), GRAM: v.Gram, Code: v.Code,
		Message: v.Message, Master: v.Master, Exit: v.Exit,
		Counts: counts(v.Counts, v.Total, &g.Job), Tar: an.areas.TarPath(&g.Job),
		Usage: g.Usage(), Memo: g.Memo(),
	}
}

func counts(n [jjm.NumStates]int, total int, job *jjm.GridJob) wire.Counts {
	sum := 0
	for _, k := range n {
		sum += k
	}
	return wire.Counts{
		Expected: job.Step.Expected, Total: total, GivenBack: total - sum,
		New: n[jjm.New], Submitting: n[jjm.Submitting], Submitted: n[jjm.Submitted],
		Running: n[jjm.Running], Completing: n[jjm.Completing], Completed: n[jjm.Completed],
		Failed: n[jjm.Failed], Killed: n[jjm.Killed], Held: n[jjm.Held],
	}
}

// maxLocals bounds the local jobs in one answer.
const maxLocals = 100_000

// Status returns the detail of grid jobs and of the local jobs asked for; what is
// wrong with one is in its answer.
func (an *Answers) Status(ctx context.Context, caller wire.Caller, refs []jjm.Ref) ([]wire.Status, error) {
	out := make([]wire.Status, 0, len(refs))
	for _, ref := range refs {
		s, err := an.status(ctx, caller, ref)
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			s = wire.Status{Lookup: wire.Lookup{ID: ref.Grid, Error: wire.ErrorOf(err)}}
		}
		out = append(out, s)
	}
	return out, nil
}

// firstError returns the first of the errors in answers.
func firstError(answers []wire.Status) error {
	for i := range answers {
		if err := answers[i].Lookup.Error; err != nil {
			return err.Err()
		}
	}
	return nil
}

func (an *Answers) status(ctx context.Context, caller wire.Caller, ref jjm.Ref) (wire.Status, error) {
	job, err := an.s.Find(ctx, caller, ref.Grid)
	if err != nil {
		return wire.Status{}, err
	}
	v := an.s.View()
	g := v.Grid(ref.Grid)
	live := g != nil && (len(g.Locals) > 0 || !job.Status.Final())
	if !live {
		g = state.NewGrid(job)
	}
	s := an.statusOf(v.Memory, g)
	if live && ref.Locals {
		s.Locals = pick(g.Locals, ref)
		state.ShowPlaces(g, s.Locals, jjm.At(an.b.Now()))
	}
	v.Close()
	if s.Inputs, err = an.rooms.Records.InputsOf(ctx, &job); err != nil {
		return wire.Status{}, err
	}
	if err := an.showSteps(ctx, &job, &s); err != nil {
		return wire.Status{}, err
	}
	if len(s.ClusterJobs) == 0 && job.Status.Final() {
		jobs, err := an.b.Store.ClusterJobs(ctx, ref.Grid)
		if err != nil {
			return wire.Status{}, err
		}
		s.ClusterJobs = clusterJobs(&job, jobs)
	}
	if !live && ref.Locals {
		if s.Locals, err = an.b.Store.Locals(ctx, ref.Grid, ref.First, ref.Last); err != nil {
			return wire.Status{}, err
		}
	}
	if ref.Locals && ref.Last >= 0 && len(s.Locals) == 0 {
		return wire.Status{}, noLocal(ref, s.Lookup)
	}
	return s, nil
}

// noLocal says why there is no such local job, and whether there may be yet.
func noLocal(ref jjm.Ref, l wire.Lookup) error {
	c := l.Counts
	switch {
	case c.Total == 0 && c.Expected == 0:
		return jjm.Errorf(jjm.Gone, "%s: grid job %s is %s and has no local jobs so far", ref, ref.Grid, l.Status)
	case c.Total < c.Expected:
		return jjm.Errorf(jjm.Gone, "%s: grid job %s is %s and has the first %d of its %d local jobs so far", ref, ref.Grid,
			l.Status, c.Total, c.Expected)
	}
	return jjm.Errorf(jjm.Gone, "%s: grid job %s has %d local jobs, numbered from 0", ref, ref.Grid, c.Total)
}

// pick copies the rows that a reference means.
func pick(locals []jjm.LocalJob, ref jjm.Ref) []jjm.LocalJob {
	from := min(int(ref.First), len(locals))
	to := len(locals)
	if ref.Last >= 0 {
		to = min(int(ref.Last)+1, to)
	}
	return slices.Clone(locals[from:min(to, from+maxLocals)])
}

// statusOf is all but the local jobs. G may be one of the history.
func (an *Answers) statusOf(mem state.Memory, g *state.Grid) wire.Status {
	s := wire.Status{
		Lookup: an.answer(mem, g), Name: g.Job.Spec.Name, Type: g.Job.Spec.Type,
		Owner: g.Job.Owner.User, Key: g.Job.Spec.Key, Origin: g.Job.Origin, Cluster: g.Job.Step.Cluster,
		Clusters: g.Job.Step.Clusters, ClusterJobs: clusterJobs(&g.Job, g.ClusterJobs()), Accepted: g.Job.Accepted,
		Ended: g.Job.Ended, Why: g.Job.Step.Why,
		Record: an.recordPath(g.Job.ID), Trouble: an.rooms.Clusters.TroubleOf(mem, g), Holds: holds(g),
		Steps: wireSteps(&g.Job, g.Steps()),
	}
	if g.Job.Spec.Key != "" {
		s.Handle = jjm.HandleOf(g.Job.Owner.UID, g.Job.Spec.Key)
	}
	if !g.Job.Status.Final() {
		s.Phases = g.Phases()
	}
	if !g.Job.Status.Final() && !g.Job.Kill && !g.Closed() {
		s.Waits = g.Idle()
	}
	return s
}

// clusterJobs is how people see the cluster jobs of a grid job.
func clusterJobs(job *jjm.GridJob, all []jjm.ClusterJob) []wire.ClusterJob {
	var out []wire.ClusterJob
	for _, j := range all {
		c := counts(j.Counts, j.Jobs(), job)
		c.Expected = 0
		out = append(out, wire.ClusterJob{ID: j.ID(job.ID), Cluster: j.Cluster, Counts: c})
	}
	return out
}

// recordPath is where people find the head of the record.
func (an *Answers) recordPath(id jjm.GridID) string {
	return filepath.Join(an.b.Deps.RecordDir, id.String(), head.File)
}

// Record queries the XML record; path "" gives the whole.
func (an *Answers) Record(ctx context.Context, caller wire.Caller, id jjm.GridID, path string) ([]string, error) {
	if _, err := an.s.Find(ctx, caller, id); err != nil {
		return nil, err
	}
	an.rooms.Records.PublishNow(ctx, id)
	return an.b.Deps.Records.Query(id, path)
}

// History reads the journal; with the zero reference that of orders, which is
// nobody's own.
func (an *Answers) History(ctx context.Context, caller wire.Caller, ref jjm.Ref, limit int) ([]jjm.JournalEntry,
	error) {
	if ref == (jjm.Ref{}) {
		return an.b.Store.History(ctx, ref, limit)
	}
	if ref.Locals && ref.Last >= 0 { // a local job that never was has no history
		if _, err := an.status(ctx, caller,
			jjm.Ref{Grid: ref.Grid, Locals: true, First: ref.First, Last: ref.First}); err != nil {
			return nil, err
		}
	} else if _, err := an.s.Find(ctx, caller, ref.Grid); err != nil {
		return nil, err
	}
	return an.b.Store.History(ctx, ref, limit)
}

// Log is jjm's own log of a grid job, as it goes into the tar.
func (an *Answers) Log(ctx context.Context, caller wire.Caller, id jjm.GridID) ([]string, error) {
	if _, err := an.s.Find(ctx, caller, id); err != nil {
		return nil, err
	}
	return an.rooms.Jobs.LogLines(ctx, id)
}

// Resolve returns the grid job that a handle names, of the caller's own or to an
// administrator.
func (an *Answers) Resolve(ctx context.Context, caller wire.Caller, h jjm.Handle) (jjm.GridID, error) {
	if err := an.rooms.Settle(ctx, caller, h); err != nil { // what was left a moment ago may be about another grid job
		return 0, err
	}
	named, err := an.b.Store.Handle(ctx, h)
	switch {
	case err != nil:
		return 0, err
	case !caller.May(named.UID):
		return 0, jjm.Errorf(jjm.Denied, "%s belongs to another account", h)
	case named.Refused != "":
		return 0, &wire.Refused{Reason: named.Refused}
	}
	return named.Grid, nil
}
