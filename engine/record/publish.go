package record

import (
	"context"
	"iter"
	"log/slog"
	"slices"
	"time"

	"jjm"
	"jjm/engine/fair"
	"jjm/engine/state"
	"jjm/plan"
	"jjm/wire"
	"jjm/xmldb"
	"jjm/xmldb/head"
)

// publishShare is the part of the time that publishing may take: a fortieth.
// The records of a hundred thousand live local jobs, of which one in a hundred
// changes every ten seconds, are then behind by some seconds.
const publishShare = 40

// publishCredit is the most publishing, in time, that may be saved up: enough
// for the first record of a hundred thousand local jobs several times over.
const publishCredit = time.Second

// publishPause is the longest that records wait for publishing to come back
// within its share.
const publishPause = 10 * time.Second

// Loop writes dirty records. What it may spend accrues at a fortieth
// of the time, up to a credit.
func (pu *Publisher) Loop(ctx context.Context) {
	credit, last := publishCredit, time.Now()
	fair.Kick(pu.s.PubKick) // what changed before the last stop may not be published
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

// dirtyGrids lists the grid jobs whose record is behind.
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

// PublishNow writes the dirty parts of one record. Trouble is logged; what
// could not be written stays dirty.
func (pu *Publisher) PublishNow(ctx context.Context, id jjm.GridID) {
	if pu.b.Crash("publish.before") != nil {
		return
	}
	v := pu.s.View()
	g := v.Grid(id)
	v.Close()
	if g == nil {
		return
	}
	g.Pub.Lock() // what is taken first is written first
	defer g.Pub.Unlock()
	head, shards, ok := pu.takeDirty(id)
	if !ok {
		return
	}
	if err := pu.write(ctx, head, shards); err != nil {
		if ctx.Err() == nil {
			pu.b.Complain(slog.LevelError, "record/"+id.String(), "record could not be written, trying again", "job", id,
				"error", err)
		}
		pu.s.Mark(func(m *state.Marks) { m.Stale(id, shards...) })
		return
	}
	if !pu.pointHandle(g) {
		pu.s.Mark(func(m *state.Marks) { m.Stale(id) })
		return
	}
	_ = pu.b.Crash("publish.after")
}

// write writes the head of a record, and shards of it.
func (pu *Publisher) write(ctx context.Context, head xmldb.Head, shards []int) error {
	if err := pu.FillHead(ctx, &head); err != nil {
		return err
	}
	return pu.b.Deps.Records.Publish(ctx, head, pu.shards(head.Grid.ID, shards))
}

// FillHead adds to a record what the grid job reads, as it is stored, and the steps
// if memory does not tell.
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

// Behind reports whether a grid job's record is not as it should be.
func (pu *Publisher) Behind(id jjm.GridID) bool {
	v := pu.s.View()
	defer v.Close()
	return v.Behind(id)
}

// takeDirty takes what is to be written.
func (pu *Publisher) takeDirty(id jjm.GridID) (head xmldb.Head, shards []int, some bool) {
	pu.s.Mark(func(m *state.Marks) {
		if shards, some = m.TakeStale(id); some {
			head = pu.Head(m.Memory, m.Grid(id))
		}
	})
	return head, shards, some
}

// shards copies the rows of each shard when it is its turn.
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

// Head is the aggregate of a grid job as published.
func (pu *Publisher) Head(mem state.Memory, g *state.Grid) xmldb.Head {
	v := pu.Outside(mem, g)
	h := xmldb.Head{
		Grid: g.Job, Counts: v.Counts, Jobs: v.Total, ClusterJobs: g.ClusterJobs(),
		GRAM: v.Gram, GRAMCode: v.Code, Message: v.Message, Master: v.Master, Exit: v.Exit,
		Tar: pu.areas.TarPath(&g.Job), Written: jjm.At(pu.b.Now()), Steps: g.Steps(),
	}
	if !g.Job.Status.Final() {
		h.Phases = g.Phases()
	}
	return h
}

// Outside derives the aggregates.
func (pu *Publisher) Outside(mem state.Memory, g *state.Grid) state.Outside {
	v := state.Outside{Counts: g.Counts, Exit: -1}
	if g.Job.Status.Final() {
		v.Counts, v.Exit = g.Job.Counts, g.Job.Exit
	}
	for _, n := range v.Counts {
		v.Total += n
	}
	v.Total = max(v.Total, g.Job.Step.Made) // those whose work was given back are in no count
	v.Gram, v.Code, v.Message = plan.GRAM(plan.GRAMFacts{
		Status: g.Job.Status, Counts: v.Counts, EverSubmitted: g.Submitted, EverRan: g.Ran,
		Closed: g.Closed(), Reason: g.Job.Reason,
	})
	if g.Trouble() != "" && !g.Job.Status.Final() {
		v.Message += "; " + g.Trouble()
	}
	if sent := g.Job.Step.Closed && g.Unsent() == 0; !sent && !g.Job.Kill && !g.Job.Status.Final() &&
		g.Job.Status != jjm.Pending && g.Job.Status != jjm.Paused { // of these the reason says it
		reasons, _ := pu.waits(mem, g, jjm.At(pu.b.Now()))
		for _, why := range reasons {
			v.Message += "; " + why
		}
	}
	more := plan.MoreToCome(g.Job.Status, g.Job.Kill, g.Closed(), v.Counts)
	v.Master = plan.Master(v.Counts, more, pu.b.Conf().RunningFirst)
	return v
}

// ResumeRecords finds the records that are behind, after a start.
func (pu *Publisher) ResumeRecords() {
	for _, job := range pu.live() {
		pu.loadPending(&job)
		pu.loadHandle(&job)
	}
}

// live copies the rows of the live grid jobs.
func (pu *Publisher) live() (jobs []jjm.GridJob) {
	v := pu.s.View()
	defer v.Close()
	for _, g := range v.Grids() {
		jobs = append(jobs, g.Job)
	}
	return jobs
}

// pointHandle lets clients find the record of a grid job by its handle while
// the daemon is down. It reports whether that is done.
func (pu *Publisher) pointHandle(g *state.Grid) bool {
	v := pu.s.View()
	done, key, owner, id := g.Pointed(), g.Job.Spec.Key, g.Job.Owner.UID, g.Job.ID
	v.Close()
	if done || key == "" {
		return true
	}
	if err := head.Point(pu.b.Deps.RecordDir, jjm.HandleOf(owner, key), id); err != nil {
		pu.b.Complain(slog.LevelError, "handle/"+id.String(), "handle could not be written down, trying again", "job", id,
			"error", err)
		return false
	}
	pu.s.Mark(func(m *state.Marks) { m.Point(id, true) })
	return true
}

// loadHandle marks a grid job whose handle does not lead to it yet.
func (pu *Publisher) loadHandle(job *jjm.GridJob) {
	if job.Spec.Key == "" {
		return
	}
	id, err := head.ByHandle(pu.b.Deps.RecordDir, jjm.HandleOf(job.Owner.UID, job.Spec.Key))
	pu.s.Mark(func(m *state.Marks) { m.Point(job.ID, err == nil && id >= job.ID) })
}

// loadPending marks the shards for which fragments of a record still wait.
func (pu *Publisher) loadPending(job *jjm.GridJob) {
	shards, own, err := pu.b.Deps.Records.Pending(job.ID)
	if err != nil {
		pu.b.Log.Warn("waiting fragments cannot be listed", "job", job.ID, "error", err)
		return
	}
	if own || len(shards) > 0 {
		pu.s.Mark(func(m *state.Marks) { m.Stale(job.ID, shards...) })
	}
}

// InputsOf returns what a grid job reads, for people.
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
