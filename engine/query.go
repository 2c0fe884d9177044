package engine

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"jjm"
	"jjm/plan"
	"jjm/sandbox"
	"jjm/store"
	"jjm/wire"
	"jjm/xmldb/head"
)

// Lookup answers from memory for live grid jobs, from the store for finished
// ones.
func (e *Engine) Lookup(ctx context.Context, caller wire.Caller, ids []jjm.GridID) []wire.Lookup {
	out := make([]wire.Lookup, len(ids))
	for i, id := range ids {
		l, err := e.lookup(ctx, caller, id)
		if err != nil {
			l = wire.Lookup{ID: id, Error: wire.ErrorOf(err)}
		}
		out[i] = l
	}
	return out
}

func (e *Engine) lookup(ctx context.Context, caller wire.Caller, id jjm.GridID) (wire.Lookup, error) {
	e.mem.RLock()
	if g := e.grids[id]; g != nil {
		defer e.mem.RUnlock()
		if !caller.May(g.job.Owner.UID) {
			return wire.Lookup{}, jjm.Errorf(jjm.Denied, "grid job %s belongs to %s", id, g.job.Owner.User)
		}
		return e.answer(g), nil
	}
	e.mem.RUnlock()
	job, err := e.find(ctx, caller, id)
	if err != nil {
		return wire.Lookup{}, err
	}
	return e.answer(newGrid(job)), nil
}

// answer is the one honest status. The memory lock is held, or g is our own.
func (e *Engine) answer(g *grid) wire.Lookup {
	v := e.view(g)
	return wire.Lookup{
		ID: g.job.ID, Status: g.job.Status.String(), GRAM: v.gram, Code: v.code,
		Message: v.message, Master: v.master, Exit: v.exit,
		Counts: counts(v.counts, v.total, &g.job), Tar: e.tarPath(&g.job),
		Usage: g.usage(), Memo: g.memo(),
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

// Status gives the detail of grid jobs and of the local jobs asked for; what is
// wrong with one is in its answer.
func (e *Engine) Status(ctx context.Context, caller wire.Caller, refs []jjm.Ref) ([]wire.Status, error) {
	out := make([]wire.Status, 0, len(refs))
	for _, ref := range refs {
		s, err := e.status(ctx, caller, ref)
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

// firstError gives the first of the errors in answers.
func firstError(answers []wire.Status) error {
	for i := range answers {
		if err := answers[i].Lookup.Error; err != nil {
			return err.Err()
		}
	}
	return nil
}

func (e *Engine) status(ctx context.Context, caller wire.Caller, ref jjm.Ref) (wire.Status, error) {
	job, err := e.find(ctx, caller, ref.Grid)
	if err != nil {
		return wire.Status{}, err
	}
	e.mem.RLock()
	g := e.grids[ref.Grid]
	live := g != nil && (len(g.locals) > 0 || !job.Status.Final())
	if !live {
		g = newGrid(job)
	}
	s := e.statusOf(g)
	if live && ref.Locals {
		s.Locals = pick(g.locals, ref)
		showPlaces(g, s.Locals, jjm.At(e.now()))
	}
	e.mem.RUnlock()
	if s.Inputs, err = e.inputsOf(ctx, &job); err != nil {
		return wire.Status{}, err
	}
	if err := e.showSteps(ctx, &job, &s); err != nil {
		return wire.Status{}, err
	}
	if len(s.ClusterJobs) == 0 && job.Status.Final() {
		jobs, err := e.store.ClusterJobs(ctx, ref.Grid)
		if err != nil {
			return wire.Status{}, err
		}
		s.ClusterJobs = clusterJobs(&job, jobs)
	}
	if !live && ref.Locals {
		if s.Locals, err = e.store.Locals(ctx, ref.Grid, ref.First, ref.Last); err != nil {
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
		return jjm.Errorf(jjm.Gone, "%s: grid job %s is %s and has the first %d of its %d local jobs so far", ref, ref.Grid, l.Status, c.Total, c.Expected)
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

// statusOf is all but the local jobs. The memory lock is held, or g is our own.
func (e *Engine) statusOf(g *grid) wire.Status {
	s := wire.Status{
		Lookup: e.answer(g), Name: g.job.Spec.Name, Type: g.job.Spec.Type,
		Owner: g.job.Owner.User, Key: g.job.Spec.Key, Origin: g.job.Origin, Cluster: g.job.Step.Cluster,
		Clusters: g.job.Step.Clusters, ClusterJobs: clusterJobs(&g.job, g.clusterJobs()), Accepted: g.job.Accepted, Ended: g.job.Ended, Why: g.job.Step.Why,
		Record: e.recordPath(g.job.ID), Trouble: e.troubleOf(g), Holds: holds(g), Steps: wireSteps(&g.job, g.steps()),
	}
	if g.job.Spec.Key != "" {
		s.Handle = jjm.HandleOf(g.job.Owner.UID, g.job.Spec.Key)
	}
	if !g.job.Status.Final() {
		s.Phases = phases(g)
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
func (e *Engine) recordPath(id jjm.GridID) string {
	return filepath.Join(e.deps.RecordDir, id.String(), head.File)
}

// defaultList is how many grid jobs a list shows unless asked.
const defaultList = 50

// List gives grid jobs that the caller may see, newest first.
func (e *Engine) List(ctx context.Context, caller wire.Caller, l wire.List) ([]wire.Status, error) {
	f := store.Filter{Status: l.Status, Type: l.Type, Owner: l.Owner, All: l.All, Limit: l.Limit, Before: jjm.GridID(l.Before)}
	if !caller.Admin {
		f.Owner = caller.User
	}
	if f.Limit <= 0 {
		f.Limit = defaultList
	}
	jobs, err := e.store.Grids(ctx, f)
	if err != nil {
		return nil, err
	}
	out := make([]wire.Status, 0, len(jobs))
	for _, job := range jobs {
		if !caller.May(job.Owner.UID) {
			continue
		}
		e.mem.RLock()
		g := e.grids[job.ID]
		if g == nil {
			g = newGrid(job)
		}
		s := e.statusOf(g)
		e.mem.RUnlock()
		if err := e.showSteps(ctx, &job, &s); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// watchEvery is how often a watcher's grid jobs are compared.
const watchEvery = 250 * time.Millisecond

// Watch sends the state of the grid jobs at once and after every change until
// all are final.
func (e *Engine) Watch(ctx context.Context, caller wire.Caller, refs []jjm.Ref, send func([]wire.Status) error) error {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var last []uint64
	for {
		versions := e.versions(refs)
		if last == nil || !slices.Equal(versions, last) {
			last = versions
			states, err := e.Status(ctx, caller, refs)
			if err == nil {
				err = firstError(states)
			}
			if err != nil {
				return err
			}
			if err := send(states); err != nil {
				return err
			}
			if allFinal(states) {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func allFinal(states []wire.Status) bool {
	return !slices.ContainsFunc(states, func(s wire.Status) bool {
		var st jjm.GridStatus
		return st.UnmarshalText([]byte(s.Lookup.Status)) != nil || !st.Final()
	})
}

func (e *Engine) versions(refs []jjm.Ref) []uint64 {
	e.mem.RLock()
	defer e.mem.RUnlock()
	out := make([]uint64, len(refs))
	for i, ref := range refs {
		if g := e.grids[ref.Grid]; g != nil {
			out[i] = g.version + 1
		}
	}
	return out
}

// Record queries the XML record; path "" gives the whole.
func (e *Engine) Record(ctx context.Context, caller wire.Caller, id jjm.GridID, path string) ([]string, error) {
	if _, err := e.find(ctx, caller, id); err != nil {
		return nil, err
	}
	e.publishNow(ctx, id)
	return e.deps.Records.Query(id, path)
}

// Output opens the tar. With partial, an unfinished grid job gives a tar of
// what there is so far.
func (e *Engine) Output(ctx context.Context, caller wire.Caller, id jjm.GridID, partial bool) (io.ReadCloser, int64, wire.Output, error) {
	job, err := e.find(ctx, caller, id)
	if err != nil {
		return nil, 0, wire.Output{}, err
	}
	if job.Tar == "" {
		if !partial {
			return nil, 0, wire.Output{}, jjm.Errorf(jjm.Conflict,
				"grid job %s is %s: its output tar is not complete (--partial gives what there is)", id, job.Status)
		}
		return e.partial(ctx, &job)
	}
	ar, err := e.areas.of(job.Owner)
	if err != nil {
		return nil, 0, wire.Output{}, err
	}
	f, err := ar.OpenTar(sandbox.TarDir(id) + "/" + job.Tar)
	if err != nil {
		return nil, 0, wire.Output{}, jjm.Errorf(jjm.Gone, "output tar of grid job %s: %w", id, err)
	}
	return f, job.TarBytes, wire.Output{Name: job.Tar, SHA256: job.TarSHA256, Path: e.tarPath(&job)}, nil
}

// partial makes a tar of what has ended so far; it is removed when read.
func (e *Engine) partial(ctx context.Context, job *jjm.GridJob) (io.ReadCloser, int64, wire.Output, error) {
	ar, err := e.areas.of(job.Owner)
	if err != nil {
		return nil, 0, wire.Output{}, err
	}
	name := fmt.Sprintf("%s/partial.%d.%s", sandbox.TarDir(job.ID), e.partials.Add(1), tarName(job))
	entries := e.tarEntries(ctx, job, &plan.GridFacts{}, func() {})
	info, err := ar.WriteTar(ctx, name, stem(job), entries, e.conf().MaxTarBytes)
	if err != nil {
		return nil, 0, wire.Output{}, err
	}
	f, err := ar.OpenTar(name)
	if err != nil {
		return nil, 0, wire.Output{}, err
	}
	_ = ar.RemoveTar(name) // its readers keep it by their handle
	return f, info.Bytes, wire.Output{Name: tarName(job), SHA256: info.SHA256, Partial: true}, nil
}

// History reads the journal; with the zero reference that of orders, which is
// nobody's own.
func (e *Engine) History(ctx context.Context, caller wire.Caller, ref jjm.Ref, limit int) ([]jjm.JournalEntry, error) {
	if ref == (jjm.Ref{}) {
		return e.store.History(ctx, ref, limit)
	}
	if ref.Locals && ref.Last >= 0 { // a local job that never was has no history
		if _, err := e.status(ctx, caller, jjm.Ref{Grid: ref.Grid, Locals: true, First: ref.First, Last: ref.First}); err != nil {
			return nil, err
		}
	} else if _, err := e.find(ctx, caller, ref.Grid); err != nil {
		return nil, err
	}
	return e.store.History(ctx, ref, limit)
}

// Log is jjm's own log of a grid job, as it goes into the tar.
func (e *Engine) Log(ctx context.Context, caller wire.Caller, id jjm.GridID) ([]string, error) {
	if _, err := e.find(ctx, caller, id); err != nil {
		return nil, err
	}
	return e.logLines(ctx, id)
}

// JobTypes documents the job types.
func (e *Engine) JobTypes() []wire.JobType {
	var out []wire.JobType
	for _, name := range e.deps.Types.Types() {
		d := e.deps.Types[name].Describe()
		t := wire.JobType{Type: name, Summary: d.Summary, Result: d.Result, Example: d.Example}
		for _, p := range d.Params {
			t.Params = append(t.Params, wire.JobParam{Name: p.Name, Type: p.Type, Unit: p.Unit,
				Default: p.Default, Required: p.Required, Help: p.Help})
		}
		out = append(out, t)
	}
	return out
}

// Clusters gives the state of the batch systems.
func (e *Engine) Clusters(context.Context) []wire.Cluster {
	e.mem.RLock()
	defer e.mem.RUnlock()
	now := jjm.At(e.now())
	out := make([]wire.Cluster, 0, len(e.names))
	for _, name := range e.names {
		c := e.clusters[name]
		w := c.view()
		w.Orders = e.inForce(now, func(o jjm.Order) bool { return o.Kind == jjm.OrderCluster && o.Name == name })
		for _, g := range e.grids {
			if g.job.Status.Final() {
				continue
			}
			w.Waiting += g.unsentFor(name)
			if t := g.on[name]; t != nil {
				w.Waiting += t.counts[jjm.Submitting] - t.retrying
				w.Queued += t.counts[jjm.Submitted]
				w.Running += t.counts[jjm.Running]
			}
		}
		out = append(out, w)
	}
	return out
}

// Resolve gives the grid job that a handle names, of the caller's own or to an
// administrator.
func (e *Engine) Resolve(ctx context.Context, caller wire.Caller, h jjm.Handle) (jjm.GridID, error) {
	if err := e.settle(ctx, caller, h); err != nil { // what was left a moment ago may be about another grid job
		return 0, err
	}
	named, err := e.store.Handle(ctx, h)
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
