package engine

import (
	"context"
	"iter"
	"log/slog"
	"slices"
	"time"

	"jjm"
	"jjm/plan"
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

// publishLoop writes dirty records. What it may spend accrues at a fortieth
// of the time, up to a credit.
func (e *Engine) publishLoop(ctx context.Context) {
	credit, last := publishCredit, time.Now()
	kick(e.pubKick) // what changed before the last stop may not be published
	for ctx.Err() == nil {
		waitKick(ctx, e.pubKick, time.Minute)
		pause(ctx, e.conf().PublishEvery.D())
		credit = min(credit+time.Since(last)/publishShare, publishCredit)
		last = time.Now()
		if credit < 0 {
			pause(ctx, -credit*publishShare)
			continue
		}
		for _, id := range e.dirtyGrids() {
			if ctx.Err() != nil {
				return
			}
			e.publishNow(ctx, id)
		}
		credit = max(credit-time.Since(last), -publishPause/publishShare)
		last = time.Now()
	}
}

// dirtyGrids lists the grid jobs whose record is behind.
func (e *Engine) dirtyGrids() []jjm.GridID {
	e.mem.RLock()
	defer e.mem.RUnlock()
	var ids []jjm.GridID
	for id, g := range e.grids {
		if g.headDirty || len(g.dirty) > 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// publishNow writes the dirty parts of one record. Trouble is logged; what
// could not be written stays dirty.
func (e *Engine) publishNow(ctx context.Context, id jjm.GridID) {
	if e.crash("publish.before") != nil {
		return
	}
	e.mem.RLock()
	g := e.grids[id]
	e.mem.RUnlock()
	if g == nil {
		return
	}
	g.pub.Lock() // what is taken first is written first
	defer g.pub.Unlock()
	head, shards, ok := e.takeDirty(id)
	if !ok {
		return
	}
	err := e.fillHead(ctx, &head)
	if err == nil {
		err = e.deps.Records.Publish(ctx, head, e.shards(id, shards))
	}
	if err == nil && !e.pointHandle(g) {
		e.mem.Lock()
		g.headDirty = true
		e.mem.Unlock()
		return
	}
	if err == nil {
		_ = e.crash("publish.after")
		return
	}
	if ctx.Err() == nil {
		e.complain(slog.LevelError, "record/"+id.String(), "record could not be written, trying again", "job", id, "error", err)
	}
	e.mem.Lock()
	if g := e.grids[id]; g != nil {
		g.headDirty = true
		for _, n := range shards {
			g.dirty[n] = true
		}
	}
	e.mem.Unlock()
}

// fillHead adds to a record what the grid job reads, as it is stored, and the steps
// if memory does not tell.
func (e *Engine) fillHead(ctx context.Context, h *xmldb.Head) (err error) {
	if h.Steps == nil {
		if h.Steps, err = e.stepsOf(ctx, &h.Grid); err != nil {
			return err
		}
	}
	inputs, err := e.inputsOf(ctx, &h.Grid)
	for _, in := range inputs {
		h.Inputs = append(h.Inputs, xmldb.Input{Name: in.Dataset, Master: in.Master, Open: in.Open, Counts: in.Counts})
	}
	return err
}

// behind reports whether a grid job's record is not as it should be.
func (e *Engine) behind(id jjm.GridID) bool {
	e.mem.RLock()
	defer e.mem.RUnlock()
	g := e.grids[id]
	return g != nil && (g.headDirty || len(g.dirty) > 0)
}

// takeDirty takes what is to be written. While the cutting goes on only the
// head is: the shards would be rewritten with every chunk.
func (e *Engine) takeDirty(id jjm.GridID) (xmldb.Head, []int, bool) {
	e.mem.Lock()
	defer e.mem.Unlock()
	g := e.grids[id]
	if g == nil || !g.headDirty && len(g.dirty) == 0 {
		return xmldb.Head{}, nil, false
	}
	var shards []int
	if g.job.Step.Closed || g.job.Status.Final() || g.idle() != "" {
		for n := range g.dirty {
			shards = append(shards, n)
		}
		clear(g.dirty)
	}
	if !g.headDirty && len(shards) == 0 {
		return xmldb.Head{}, nil, false
	}
	g.headDirty = false
	slices.Sort(shards)
	return e.head(g), shards, true
}

// shards copies the rows of each shard when it is its turn.
func (e *Engine) shards(id jjm.GridID, numbers []int) iter.Seq[xmldb.Shard] {
	return func(yield func(xmldb.Shard) bool) {
		for _, n := range numbers {
			e.mem.RLock()
			var rows []jjm.LocalJob
			if g := e.grids[id]; g != nil {
				from := min(n*shardSize, len(g.locals))
				to := min(from+shardSize, len(g.locals))
				rows = slices.Clone(g.locals[from:to])
				showPlaces(g, rows, jjm.At(e.now()))
			}
			e.mem.RUnlock()
			if len(rows) > 0 && !yield(xmldb.Shard{N: n, Jobs: rows}) {
				return
			}
		}
	}
}

// head is the aggregate of a grid job as published. The memory lock is held.
func (e *Engine) head(g *grid) xmldb.Head {
	v := e.view(g)
	h := xmldb.Head{
		Grid: g.job, Counts: v.counts, Jobs: v.total, ClusterJobs: g.clusterJobs(),
		GRAM: v.gram, GRAMCode: v.code, Message: v.message, Master: v.master, Exit: v.exit,
		Tar: e.tarPath(&g.job), Written: jjm.At(e.now()), Steps: g.steps(),
	}
	if !g.job.Status.Final() {
		h.Phases = phases(g)
	}
	return h
}

// view is what a grid job looks like from outside.
type view struct {
	counts  [jjm.NumStates]int
	total   int
	gram    jjm.GRAM
	code    int
	message string
	master  string
	exit    int
}

// view derives the aggregates. The memory lock is held.
func (e *Engine) view(g *grid) view {
	v := view{counts: g.counts, exit: -1}
	if g.job.Status.Final() {
		v.counts, v.exit = g.job.Counts, g.job.Exit
	}
	for _, n := range v.counts {
		v.total += n
	}
	v.total = max(v.total, g.job.Step.Made) // those whose work was given back are in no count
	v.gram, v.code, v.message = plan.GRAM(plan.GRAMFacts{
		Status: g.job.Status, Counts: v.counts, EverSubmitted: g.submitted, EverRan: g.ran,
		Closed: g.closed(), Reason: g.job.Reason,
	})
	if g.trouble != "" && !g.job.Status.Final() {
		v.message += "; " + g.trouble
	}
	if sent := g.job.Step.Closed && g.unsent() == 0; !sent && !g.job.Kill && !g.job.Status.Final() && g.job.Status != jjm.Pending {
		reasons, _ := e.waits(g, jjm.At(e.now()))
		for _, why := range reasons {
			v.message += "; " + why
		}
	}
	more := plan.MoreToCome(g.job.Status, g.job.Kill, g.closed(), v.counts)
	v.master = plan.Master(v.counts, more, e.conf().RunningFirst)
	return v
}

// phases sums the progress of the local jobs that run.
func phases(g *grid) []jjm.Progress {
	var out []jjm.Progress
	at := map[string]int{}
	if g.counts[jjm.Running] == 0 && g.counts[jjm.Submitted] == 0 {
		return nil
	}
	for i := range g.locals {
		l := &g.locals[i]
		if l.Progress.Phase == "" || l.State.Final() {
			continue
		}
		n, known := at[l.Progress.Phase]
		if !known {
			if len(out) == 32 {
				continue
			}
			n = len(out)
			at[l.Progress.Phase] = n
			out = append(out, jjm.Progress{Phase: l.Progress.Phase})
		}
		out[n].Done += l.Progress.Done
		out[n].Total += l.Progress.Total
	}
	return out
}

// resumeRecords finds the records that are behind, after a start.
func (e *Engine) resumeRecords() {
	for _, g := range e.grids {
		e.loadPending(g)
		e.loadHandle(g)
	}
}

// pointHandle lets clients find the record of a grid job by its handle while
// the daemon is down. It reports whether that is done.
func (e *Engine) pointHandle(g *grid) bool {
	e.mem.RLock()
	done, key, owner, id := g.pointed, g.job.Spec.Key, g.job.Owner.UID, g.job.ID
	e.mem.RUnlock()
	if done || key == "" {
		return true
	}
	if err := head.Point(e.deps.RecordDir, jjm.HandleOf(owner, key), id); err != nil {
		e.complain(slog.LevelError, "handle/"+id.String(), "handle could not be written down, trying again", "job", id, "error", err)
		return false
	}
	e.mem.Lock()
	g.pointed = true
	e.mem.Unlock()
	return true
}

// loadHandle marks a grid job whose handle does not lead to it yet.
func (e *Engine) loadHandle(g *grid) {
	if g.job.Spec.Key == "" {
		return
	}
	id, err := head.ByHandle(e.deps.RecordDir, jjm.HandleOf(g.job.Owner.UID, g.job.Spec.Key))
	g.pointed = err == nil && id >= g.job.ID
	g.headDirty = g.headDirty || !g.pointed
}

// loadPending marks the shards for which fragments of a record still wait.
func (e *Engine) loadPending(g *grid) {
	shards, own, err := e.deps.Records.Pending(g.job.ID)
	if err != nil {
		e.log.Warn("waiting fragments cannot be listed", "job", g.job.ID, "error", err)
		return
	}
	g.headDirty = g.headDirty || own
	for _, n := range shards {
		g.dirty[n] = true
	}
}
