package answer

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/xmldb/head"
)

// Lookup returns the status of each grid job as gatekeepers see it. It takes live grid jobs from memory and ended grid
// jobs from the store. After the end of the first generation, the status is always the status at that end. An error
// about one grid job is in its Lookup.Error.
func (an *Answers) Lookup(ctx context.Context, caller wire.Caller, r wire.LookupRequest) (wire.LookupAnswer, error) {
	out := make([]wire.Lookup, len(r.Jobs))
	for i, ref := range r.Jobs {
		l, err := an.lookup(ctx, caller, ref.Grid)
		if err != nil {
			l = wire.Lookup{ID: ref.Grid, Error: wire.ErrorOf(err)}
		}
		out[i] = l
	}
	return wire.LookupAnswer{Lookup: out}, nil
}

func (an *Answers) lookup(ctx context.Context, caller wire.Caller, id jjm.GridID) (wire.Lookup, error) {
	v := an.s.View()
	if _, doomed := v.Removal(id); v.Grid(id) != nil && !doomed {
		defer v.Close()
		g := v.Grid(id)
		if !caller.May(g.Job.Owner.UID) {
			return wire.Lookup{}, jjm.Errorf(jjm.Denied, "grid job %s belongs to %s", id, g.Job.Owner.User)
		}
		if was, past := g.Job.AtEnd(1); past {
			g = state.NewGrid(was)
		}
		an.noteTold(&g.Job)
		return an.answer(v.Memory, g), nil
	}
	v.Close()
	job, gone, err := an.s.Kept(ctx, caller, id)
	if err != nil {
		return wire.Lookup{}, err
	}
	v = an.s.View()
	defer v.Close()
	l := an.answer(v.Memory, state.NewGrid(job.Told()))
	if gone == nil {
		told := job.Told()
		an.noteTold(&told)
		return l, nil
	}
	// The status at the end is not changed, but the tar can no longer be fetched.
	l.Removed, l.Tar = &wire.Removal{By: gone.Actor, Time: gone.Time, Done: gone.Done}, ""
	l.Message = strings.TrimPrefix(l.Message+"; "+gone.Text(), "; ")
	return l, nil
}

// noteTold notes that a gatekeeper learns the end of a grid job, if a gatekeeper submitted the grid job.
func (an *Answers) noteTold(told *jjm.GridJob) {
	if told.Status.Final() && (told.Origin != nil || told.Spec.Key != "") {
		an.rooms.Told(told.ID)
	}
}

// answer returns the status of a grid job for gatekeepers and people. g may be made of a row
// of the history.
func (an *Answers) answer(mem state.Memory, g *state.Grid) wire.Lookup {
	v := an.rooms.Records.Outside(mem, g)
	return wire.Lookup{
		ID: g.Job.ID, Status: g.Job.Status.String(), GRAM: v.Gram, Code: v.Code,
		Message: v.Message, Master: v.Master, Exit: v.Exit,
		Counts: wire.CountsOf(v.Counts, v.Total, g.Job.Step.Expected), Tar: an.areas.TarPath(&g.Job),
		Usage: g.Usage(), Memo: g.Memo(),
	}
}

// maxLocals is the greatest number of local jobs in one answer; it equals the default of max_local_jobs.
const maxLocals = 100_000

// Status returns the details of grid jobs, and of the local jobs that the request selects. An error about one reference
// is in its Lookup.Error; the returned error means that ctx ended.
func (an verbs) Status(ctx context.Context, caller wire.Caller, r wire.StatusRequest) (wire.StatusAnswer, error) {
	all, err := an.statuses(ctx, caller, r.Jobs)
	if err != nil {
		return wire.StatusAnswer{}, err
	}
	for i, ref := range r.Jobs {
		if ref.Locals || all[i].Lookup.Error != nil {
			continue
		}
		if r.Urgent != nil {
			if all[i].Locals, err = (urgency{an.Answers, *r.Urgent}).locals(ctx, ref.Grid); err != nil {
				return wire.StatusAnswer{}, err
			}
		}
		if r.Hosts {
			if err := addHosts(ctx, an.Answers, &all[i]); err != nil {
				return wire.StatusAnswer{}, err
			}
		}
	}
	return wire.StatusAnswer{Status: all}, nil
}

func (an *Answers) statuses(ctx context.Context, caller wire.Caller, refs []jjm.Ref) ([]wire.Status, error) {
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

// firstError returns the first error in answers, nil if there is none.
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
	s.ExpectedEnd = expectedEnd(g, jjm.At(an.b.Now()))
	if live && !job.Status.Final() && !job.Kill {
		s.WaitsFor = an.waitsFor(v.Memory, g)
	}
	if live && ref.Locals {
		s.Locals = pick(g.Locals, ref)
		an.rooms.Clusters.ShowWaits(v.Memory, g, s.Locals, jjm.At(an.b.Now()))
	}
	v.Close()
	an.showGenerations(&job, &s)
	if s.Inputs, err = an.rooms.Records.InputsOf(ctx, &job); err != nil {
		return wire.Status{}, err
	}
	if err := an.showSteps(ctx, &job, &s); err != nil {
		return wire.Status{}, err
	}
	if s.RecoveredBy, err = recoveredBy(ctx, an.b.Store, &job); err != nil {
		return wire.Status{}, err
	}
	if err := showUntold(ctx, an.b.Store, &job, &s); err != nil {
		return wire.Status{}, err
	}
	if len(s.ClusterJobs) == 0 && job.Status.Final() {
		jobs, err := an.b.Store.ClusterJobs(ctx, ref.Grid)
		if err != nil {
			return wire.Status{}, err
		}
		s.ClusterJobs = wire.ClusterJobsOf(job.ID, jobs)
	}
	if !live && ref.Locals {
		if s.Locals, err = an.b.Store.Locals(ctx, ref.Grid, ref.First, ref.Last); err != nil {
			return wire.Status{}, err
		}
	}
	if ref.Locals && ref.Last >= 0 && len(s.Locals) == 0 {
		return wire.Status{}, noLocal(ref, s.Lookup)
	}
	if ref.Locals && ref.First == ref.Last && len(s.Locals) == 1 {
		return s, an.showDetail(ctx, &job, &s)
	}
	return s, nil
}

// recoveredBy returns the grid jobs that recover a grid job that ended and is not done.
func recoveredBy(ctx context.Context, from *store.Store, job *jjm.GridJob) ([]jjm.GridID, error) {
	if !job.Status.Final() || job.Status == jjm.Done {
		return nil, nil
	}
	return from.Recoveries(ctx, job.ID)
}

// showUntold adds to s.Trouble the reason why the last notice about the grid job was given up, if a notice was given
// up.
func showUntold(ctx context.Context, from *store.Store, job *jjm.GridJob, s *wire.Status) error {
	if len(job.Spec.Notify) == 0 && job.Spec.Callback == nil {
		return nil
	}
	reason, err := from.UntoldOf(ctx, job.ID)
	if reason != "" {
		s.Trouble = append(s.Trouble, reason)
	}
	return err
}

// noLocal returns an error of kind Gone with the reason why the local job does not exist, and whether it may still be
// made.
func noLocal(ref jjm.Ref, l wire.Lookup) error {
	c := l.Counts
	switch {
	case c.Total == 0 && c.Expected == 0:
		return jjm.Errorf(jjm.Gone, "%s: grid job %s is %s and has no local jobs so far", ref, ref.Grid, l.Status)
	case c.Total < c.Expected:
		return jjm.Errorf(jjm.Gone, "%s: grid job %s is %s and has the first %d of its %s so far", ref, ref.Grid,
			l.Status, c.Total, jjm.Count(c.Expected, "local job"))
	}
	return jjm.Errorf(jjm.Gone, "%s: grid job %s has %s, numbered from 0", ref, ref.Grid,
		jjm.Count(c.Total, "local job"))
}

// pick returns copies of the rows that ref selects, at most maxLocals.
func pick(locals []jjm.LocalJob, ref jjm.Ref) []jjm.LocalJob {
	from := min(int(ref.First), len(locals))
	to := len(locals)
	if ref.Last >= 0 {
		to = min(int(ref.Last)+1, to)
	}
	return slices.Clone(locals[from:min(to, from+maxLocals)])
}

// statusOf returns the status of a grid job without its local jobs. g may be made of a
// row of the history.
func (an *Answers) statusOf(mem state.Memory, g *state.Grid) wire.Status {
	s := wire.Status{
		Lookup: an.answer(mem, g), Name: g.Job.Spec.Name, Type: g.Job.Spec.Type, Model: g.Job.Spec.Model,
		Owner: g.Job.Owner.User, Key: g.Job.Spec.Key, Origin: g.Job.Origin, Cluster: g.Job.Step.Cluster,
		Clusters: g.Job.Step.Clusters, ClusterJobs: wire.ClusterJobsOf(g.Job.ID, g.ClusterJobs()), Accepted: g.Job.Accepted,
		Ended: g.Job.Ended, Request: g.Job.Spec.Request, Why: g.Job.Step.Why,
		Record: an.recordPath(g.Job.ID), Trouble: an.troubleOf(mem, g), Holds: holds(g), Causes: g.Causes(),
		Steps: wire.StepsOf(g.Steps()), Warnings: wire.WarningsOf(&g.Job), Proof: g.Job.Proof,
		After: g.Job.Spec.After, AfterEnd: g.Job.Spec.AfterEnd, Awaited: awaited(mem, &g.Job),
		Kept: g.Job.Kept(), NextAttempts: nextAttempts(g, jjm.At(an.b.Now())),
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

// troubleOf returns, for people, the errors that stop the progress of a grid job: the error of its last step, and the
// results of Clusters.TroubleOf.
func (an *Answers) troubleOf(mem state.Memory, g *state.Grid) []string {
	unknown := an.rooms.Clusters.TroubleOf(mem, g)
	if g.Trouble() == "" || g.Job.Status.Final() {
		return unknown
	}
	return append([]string{g.Trouble()}, unknown...)
}

// recordPath returns the path of the head of a grid job's record.
func (an *Answers) recordPath(id jjm.GridID) string {
	return filepath.Join(an.b.Deps.RecordDir, id.String(), head.File)
}

// Record publishes the record of a grid job and returns the results of the XPath query Path in the record; "" returns
// the whole record.
func (an *Answers) Record(ctx context.Context, caller wire.Caller, r wire.RecordRequest) (a wire.RecordAnswer,
	err error) {
	if _, err := an.s.Find(ctx, caller, r.Grid()); err != nil {
		return a, err
	}
	an.rooms.Records.PublishNow(ctx, r.Grid())
	a.Record, err = an.b.Deps.Records.Query(r.Grid(), r.Path)
	return a, err
}

// History returns the last entries of the journal about the jobs that the request names, at most Limit entries. If the
// request names one local job, it also returns the attempts. With Orders it returns the entries that belong to no grid
// job: about orders, bans, marks of files and removals of datasets. An account gets only the entries that it may see.
// The journal of a removed grid job is kept.
func (an verbs) History(ctx context.Context, caller wire.Caller, r wire.HistoryRequest) (a wire.HistoryAnswer,
	err error) {
	if r.Orders {
		a.History, err = orders(ctx, an.Answers, caller, r.Limit)
		return a, err
	}
	ref := r.Jobs[0]
	if len(r.Jobs) > 1 {
		a.History, err = historyOf(ctx, an.Answers, caller, r.Jobs, r.Limit)
		return a, err
	}
	if a.History, err = an.history(ctx, caller, ref, r.Limit); err != nil || !ref.One() {
		return a, err
	}
	a.Attempts, err = an.attempts(ctx, caller, ref)
	return a, err
}

func (an *Answers) history(ctx context.Context, caller wire.Caller, ref jjm.Ref, limit int) ([]jjm.JournalEntry,
	error) {
	if ref.Locals && ref.Last >= 0 { // refuse a local job that does not exist
		if _, err := an.status(ctx, caller,
			jjm.Ref{Grid: ref.Grid, Locals: true, First: ref.First, Last: ref.First}); err != nil {
			return nil, err
		}
	} else if _, _, err := an.s.Kept(ctx, caller, ref.Grid); err != nil {
		return nil, err
	}
	return an.b.Store.History(ctx, ref, limit)
}

// Log returns the lines of jjm's own log of a grid job, as they will be in the tar.
func (an *Answers) Log(ctx context.Context, caller wire.Caller, r wire.LogRequest) (a wire.LogAnswer, err error) {
	if _, _, err := an.s.Kept(ctx, caller, r.Grid()); err != nil {
		return a, err
	}
	a.Log, err = an.rooms.Jobs.LogLines(ctx, r.Grid())
	return a, err
}

// Resolve returns the grid job that a handle names. The error is of kind Denied if the handle belongs to another
// account and the caller is not an administrator. It is a wire.Refused if the submission with this handle was refused,
// and of kind Busy if a request about the handle is still in the spool.
func (an *Answers) Resolve(ctx context.Context, caller wire.Caller, h jjm.Handle) (jjm.GridID, error) {
	// A request in the spool may give the handle to a newer grid job.
	if err := an.rooms.Settle(ctx, caller, h); err != nil {
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
