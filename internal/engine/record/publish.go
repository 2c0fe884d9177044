package record

import (
	"context"
	"iter"
	"log/slog"
	"slices"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/xmldb"
	"jjm/xmldb/head"
)

// publishShare limits publishing to 1/publishShare of the time. With a hundred thousand live local jobs, of which one
// in a hundred changes every ten seconds, the records are then some seconds late.
const publishShare = 40

// publishCredit is the most time for publishing that can be saved: enough to write a record of a hundred thousand local
// jobs several times.
const publishCredit = time.Second

// publishPause is the longest pause after publishing took more than its share.
const publishPause = 10 * time.Second

// Loop writes records that have changed. Its time budget grows by 1/publishShare of elapsed time, up to publishCredit.
func (pu *Publisher) Loop(ctx context.Context) {
	credit, last := publishCredit, time.Now()
	fair.Kick(pu.s.PubKick) // changes from before the last stop may not be published
	for ctx.Err() == nil {
		fair.WaitKick(ctx, pu.s.PubKick, time.Minute)
		fair.Pause(ctx, pu.b.Conf().PublishEvery.D())
		credit = min(credit+time.Since(last)/publishShare, publishCredit)
		last = time.Now()
		if credit < 0 {
			fair.Pause(ctx, -credit*publishShare)
			continue
		}
		for _, id := range pu.dirtyGrids() {
			if ctx.Err() != nil {
				return
			}
			pu.PublishNow(ctx, id)
		}
		credit = max(credit-time.Since(last), -publishPause/publishShare)
		last = time.Now()
	}
}

// dirtyGrids returns the grid jobs whose record is to be written, in part or as a whole.
func (pu *Publisher) dirtyGrids() []jjm.GridID {
	v := pu.s.View()
	defer v.Close()
	var ids []jjm.GridID
	for id := range v.Grids() {
		if v.Behind(id) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// PublishNow writes the changed parts of the record of a live grid job, and the file of its handle. An error is logged,
// and the parts stay marked to be written.
func (pu *Publisher) PublishNow(ctx context.Context, id jjm.GridID) {
	if pu.b.Crash("publish.before") != nil {
		return
	}
	v := pu.s.View()
	g := v.Grid(id)
	v.Close()
	if g == nil {
		pu.unwritten.note(id, nil, 0)
		return
	}
	g.Pub.Lock() // taken before takeDirty, so that an older state is never written last
	defer g.Pub.Unlock()
	head, shards, ok := pu.takeDirty(id)
	if !ok {
		return
	}
	if err := pu.write(ctx, head, shards); err != nil {
		if ctx.Err() == nil {
			pu.unwritten.note(id, err, jjm.At(pu.b.Now()))
			pu.b.Complain(slog.LevelError, "record/"+id.String(), "record could not be written, will try again", "job", id,
				"error", err)
		}
		pu.s.Mark(func(m *state.Marks) { m.Stale(id, shards...) })
		return
	}
	if !pu.pointHandle(g) {
		pu.s.Mark(func(m *state.Marks) { m.Stale(id) })
		return
	}
	pu.unwritten.note(id, nil, 0)
	_ = pu.b.Crash("publish.after")
}

// write writes the head, some shards and the last changes of a record.
func (pu *Publisher) write(ctx context.Context, head xmldb.Head, shards []int) error {
	if err := pu.FillHead(ctx, &head); err != nil {
		return err
	}
	if err := pu.b.Deps.Records.Publish(ctx, head, pu.shards(head.Grid.ID, shards)); err != nil {
		return err
	}
	return pu.writeHistory(ctx, head.Grid.ID)
}

// toldChanges is the greatest number of changes in a record: a record has only the last changes of its grid job.
const toldChanges = 1000

// writeHistory writes the last changes of a grid job, if there are newer changes than its
// record has.
func (pu *Publisher) writeHistory(ctx context.Context, id jjm.GridID) error {
	last, err := pu.b.Store.LastChange(ctx, id)
	if err != nil {
		return err
	}
	v := pu.s.View()
	told := v.HistoryAt(id)
	v.Close()
	if told == last {
		return nil
	}
	changes, err := pu.b.Store.History(ctx, jjm.Ref{Grid: id}, toldChanges+1)
	if err != nil {
		return err
	}
	older := len(changes) > toldChanges
	changes = changes[max(0, len(changes)-toldChanges):]
	if err := pu.b.Deps.Records.PublishHistory(id, changes, older); err != nil {
		return err
	}
	if n := len(changes); n > 0 {
		last = changes[n-1].Seq // more changes may have come since LastChange
	}
	pu.s.Mark(func(m *state.Marks) { m.TellsUpTo(id, last) })
	return nil
}

// FillHead adds the parts of a record's head that only the store has: the counts of
// datasets, and the counts of steps if memory does not have all local jobs.
func (pu *Publisher) FillHead(ctx context.Context, h *xmldb.Head) (err error) {
	if h.Steps == nil {
		if h.Steps, err = pu.s.StepsOf(ctx, &h.Grid); err != nil {
			return err
		}
	}
	inputs, err := pu.InputsOf(ctx, &h.Grid)
	for _, in := range inputs {
		h.Inputs = append(h.Inputs, xmldb.Input{Name: in.Dataset, Master: in.Master, Open: in.Open, Counts: in.Counts})
	}
	return err
}

// Behind reports whether a part of a grid job's record must still be written.
func (pu *Publisher) Behind(id jjm.GridID) bool {
	v := pu.s.View()
	defer v.Close()
	return v.Behind(id)
}

// takeDirty returns the parts of a record that are to be written, and removes the marks of these parts; some is false
// if there are none.
func (pu *Publisher) takeDirty(id jjm.GridID) (head xmldb.Head, shards []int, some bool) {
	pu.s.Mark(func(m *state.Marks) {
		if shards, some = m.TakeStale(id); some {
			head = pu.Head(m.Memory, m.Grid(id))
		}
	})
	return head, shards, some
}

// shards yields one shard after another, and copies the rows of a shard only when it yields the shard.
func (pu *Publisher) shards(id jjm.GridID, numbers []int) iter.Seq[xmldb.Shard] {
	return func(yield func(xmldb.Shard) bool) {
		for _, n := range numbers {
			v := pu.s.View()
			var rows []jjm.LocalJob
			if g := v.Grid(id); g != nil {
				from := min(n*state.ShardSize, len(g.Locals))
				to := min(from+state.ShardSize, len(g.Locals))
				rows = slices.Clone(g.Locals[from:to])
				state.ShowPlaces(g, rows, jjm.At(pu.b.Now()))
			}
			v.Close()
			if len(rows) > 0 && !yield(xmldb.Shard{N: n, Jobs: rows}) {
				return
			}
		}
	}
}

// Head returns the head of a grid job's record, without the parts that FillHead adds.
func (pu *Publisher) Head(mem state.Memory, g *state.Grid) xmldb.Head {
	v := pu.Outside(mem, g)
	h := xmldb.Head{
		Grid: g.Job, Counts: v.Counts, Jobs: v.Total, ClusterJobs: g.ClusterJobs(),
		GRAM: v.Gram, GRAMCode: v.Code, Message: v.Message, Master: v.Master, Exit: v.Exit,
		Tar: pu.areas.TarPath(&g.Job), Written: jjm.At(pu.b.Now()), Steps: g.Steps(),
		Causes: g.Causes(),
	}
	if !g.Job.Status.Final() {
		h.Phases = g.Phases()
	}
	for _, e := range g.Job.Endings {
		was, _ := g.Job.AtEnd(e.Generation)
		then := pu.Outside(mem, state.NewGrid(was))
		h.Endings = append(h.Endings, head.Ending{Ending: e, GRAM: then.Gram, GRAMCode: then.Code, Message: then.Message,
			Master: then.Master, Jobs: then.Total, TarPath: pu.areas.TarPath(&was)})
	}
	return h
}

// Outside returns the status of a grid job as gatekeepers and people see it. If local jobs wait, its message includes
// the reason why the grid job makes no progress.
func (pu *Publisher) Outside(mem state.Memory, g *state.Grid) state.Outside {
	v := state.Outside{Counts: g.Counts, Exit: -1}
	if g.Job.Status.Final() {
		v.Counts, v.Exit = g.Job.Counts, g.Job.Exit
	}
	sum := 0
	for _, n := range v.Counts {
		sum += n
	}
	v.Total = max(sum, g.Job.Step.Made) // the counts leave out local jobs that gave their work back
	v.Gram, v.Code, v.Message = plan.GRAM(plan.GRAMFacts{
		Status: g.Job.Status, Counts: v.Counts, GivenBack: v.Total - sum, EverSubmitted: g.Submitted, EverRan: g.Ran,
		Closed: g.Closed(), Reason: g.Job.Reason, Unsubmitted: g.Unsubmitted,
	})
	if g.Job.Stopped != "" && !g.Job.Status.Final() && !g.Job.Kept() { // the reason of a kept grid job includes it
		v.Message += "; " + g.Job.Stopped
	}
	if g.Trouble() != "" && !g.Job.Status.Final() {
		v.Message += "; " + g.Trouble()
	}
	if sent := g.Job.Step.Closed && g.Unsent() == 0; !sent && !g.Job.Kill && !g.Job.Status.Final() &&
		g.Job.Status != jjm.Pending && g.Job.Status != jjm.Paused { // the reason of such a grid job already explains the wait
		reasons, _ := pu.waits(mem, g, jjm.At(pu.b.Now()))
		for _, why := range reasons {
			v.Message += "; " + why
		}
	}
	more := plan.MoreToCome(g.Job.Status, g.Job.Kill, g.Closed(), v.Counts[jjm.New]-g.Unsubmitted)
	v.Master = plan.Master(v.Counts, more, pu.b.Conf().RunningFirst)
	return v
}

// ResumeRecords marks, after a start, the records that must be written: records for which fragments wait, and records
// whose handle has no file that points to them.
func (pu *Publisher) ResumeRecords() {
	for _, job := range pu.live() {
		pu.loadPending(&job)
		pu.loadHandle(&job)
	}
}

// live returns copies of the rows of the live grid jobs.
func (pu *Publisher) live() (jobs []jjm.GridJob) {
	v := pu.s.View()
	defer v.Close()
	for _, g := range v.Grids() {
		jobs = append(jobs, g.Job)
	}
	return jobs
}

// pointHandle writes the file by which clients find the record of a grid job by its handle while the daemon is down. It
// returns true if the file exists, or if no file is needed because the grid job has no request key.
func (pu *Publisher) pointHandle(g *state.Grid) bool {
	v := pu.s.View()
	done, key, owner, id := g.Pointed(), g.Job.Spec.Key, g.Job.Owner.UID, g.Job.ID
	v.Close()
	if done || key == "" {
		return true
	}
	if err := head.WriteHandle(pu.b.Deps.RecordDir, jjm.HandleOf(owner, key), id); err != nil {
		pu.unwritten.note(id, err, jjm.At(pu.b.Now()))
		pu.b.Complain(slog.LevelError, "handle/"+id.String(), "file of a handle could not be written, will try again", "job", id,
			"error", err)
		return false
	}
	pu.s.Mark(func(m *state.Marks) { m.Point(id, true) })
	return true
}

// loadHandle notes whether the file of a grid job's handle points to its record, or to the record of a later grid job
// with the same handle.
func (pu *Publisher) loadHandle(job *jjm.GridJob) {
	if job.Spec.Key == "" {
		return
	}
	id, err := head.ByHandle(pu.b.Deps.RecordDir, jjm.HandleOf(job.Owner.UID, job.Spec.Key))
	pu.s.Mark(func(m *state.Marks) { m.Point(job.ID, err == nil && id >= job.ID) })
}

// loadPending marks the head and the shards for which fragments wait to be written.
func (pu *Publisher) loadPending(job *jjm.GridJob) {
	shards, own, err := pu.b.Deps.Records.Pending(job.ID)
	if err != nil {
		pu.b.Log.Warn("waiting fragments could not be listed", "job", job.ID, "error", err)
		return
	}
	if own || len(shards) > 0 {
		pu.s.Mark(func(m *state.Marks) { m.Stale(job.ID, shards...) })
	}
}

// InputsOf returns the datasets that a grid job reads, with the numbers of their files by state, for people.
func (pu *Publisher) InputsOf(ctx context.Context, job *jjm.GridJob) ([]wire.Input, error) {
	if len(job.Spec.Datasets) == 0 && job.Merging == nil {
		return nil, nil
	}
	inputs, err := pu.b.Store.Inputs(ctx, job.ID)
	var out []wire.Input
	for _, in := range inputs {
		out = append(out, wire.Input{Dataset: in.Name, Master: in.Master, Open: !in.Closed, Counts: in.Counts})
	}
	return out, err
}
