package engine

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"jjm"
	"jjm/handlers"
	"jjm/plan"
	"jjm/split"
	"jjm/store"
)

// mergeFeed is what can be merged now; its drops are what nobody waits for any
// more.
type mergeFeed struct {
	feed
	lfns []string // as numbers
}

// feedMerge makes local jobs that merge what the first step made so far.
func (e *Engine) feedMerge(ctx context.Context, job *jjm.GridJob) error {
	f, err := e.startMerge(ctx, job)
	if err != nil {
		return fmt.Errorf("merge grid job %s: %w", job.ID, err)
	}
	parts, left, next := f.cutting.Next(split.Limits{MaxParts: e.chunk()})
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	if most := e.conf().MaxLocalJobs; job.Step.Made+len(parts) > most {
		return jjm.Errorf(jjm.Invalid, "grid job %s would make more than the %d local jobs that this site allows (engine.max_local_jobs): merge more files at a time", job.ID, most)
	}
	stored := false
	err = e.change(ctx, "generate", func(c *change) error {
		live := e.grids[job.ID] // to touch its copy would be news, and wake this up again
		if live == nil || live.job.Merging.Closed || !bytes.Equal(live.job.Merging.Carry, f.carry) || !live.allWait(parts) {
			return nil // overtaken: look again
		}
		over := live.job.Step.Closed && live.producing == 0 && live.merging == 0 && len(parts) == 0 && live.mergesLive == 0
		if len(parts)+len(f.drops)+len(left.Dropped) == 0 && !over {
			return nil
		}
		stored = true
		g := c.grid(job.ID)
		c.insertMerges(g, parts, text, over)
		for _, d := range left.Dropped {
			if id, ok := maker(job.ID, f.lfns[d.File]); ok && d.Failed {
				c.orphan(id, d.Why)
			}
		}
		c.then = append(c.then, func() error { return f.leaveMerge(c.tx, g, left) })
		return nil
	})
	if err == nil && !stored {
		e.restMerge(job.ID, f.news, left)
	}
	return err
}

// allWait reports whether all that parts would merge still waits for it.
func (g *grid) allWait(parts []jjm.Part) bool {
	for i := range parts {
		for _, lfn := range parts[i].Input.Files {
			if !g.waitsForMerge(lfn) {
				return false
			}
		}
	}
	return true
}

// waitsForMerge reports whether a file is of a local job that waits for merging.
func (g *grid) waitsForMerge(lfn string) bool {
	id, ok := maker(g.job.ID, lfn)
	return ok && int(id.N) < len(g.locals) && id.N >= 0 && g.locals[id.N].IsMerging() && !g.locals[id.N].Kill
}

// insertMerges makes local jobs of the merge step.
func (c *change) insertMerges(g *jjm.GridJob, parts []jjm.Part, carry []byte, over bool) {
	m := *g.Merging
	m.Carry, m.Made, m.Closed = carry, m.Made+len(parts), over
	g.Merging = &m
	first := int32(g.Step.Made)
	for i, p := range parts {
		c.inserted = append(c.inserted, jjm.LocalJob{ID: jjm.LocalID{Grid: g.ID, N: first + int32(i)}, Step: jjm.StepMerge, Part: p, Exit: -1})
	}
	if len(parts) == 0 {
		return
	}
	bind(g, c.inserted)
	g.Step.Made += len(parts)
	g.Step.Expected = max(g.Step.Expected+len(parts), g.Step.Made)
	c.journal = append(c.journal, jjm.JournalEntry{Time: c.now, Grid: g.ID, First: first, Last: first + int32(len(parts)) - 1,
		To: jjm.New.String(), Source: c.name, Cause: fmt.Sprintf("merge: cut by %s", m.Splitter)})
}

// leaveMerge stores what becomes of files that are not merged.
func (f *mergeFeed) leaveMerge(tx *store.Tx, g *jjm.GridJob, left split.Left) error {
	drops := f.drops
	for _, d := range left.Dropped {
		drops = append(drops, store.Drop{File: f.numbers[d.File], State: jjm.FileDropped, Why: d.Why})
	}
	return tx.DropFiles(g.ID, jjm.StepMerge, drops)
}

// startMerge takes notice of new outputs and packs what waits.
func (e *Engine) startMerge(ctx context.Context, job *jjm.GridJob) (*mergeFeed, error) {
	f := &mergeFeed{feed: feed{carry: job.Merging.Carry}}
	work := split.Work{Now: jjm.At(e.now())}
	e.mem.RLock()
	g := e.grids[job.ID]
	f.news = g.merge.news
	work.Closed = g.job.Step.Closed && g.producing == 0 // what is there now is all, until a merge fails
	e.mem.RUnlock()
	for more := true; more; {
		err := e.change(ctx, "notice", func(c *change) error {
			n, _, err := c.tx.NoticeFiles(job.ID, jjm.StepMerge, noticeChunk)
			more = n == noticeChunk
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	err := e.store.Available(ctx, job.ID, jjm.StepMerge, func(n int64, file jjm.File) error {
		e.mem.RLock()
		waits := g.waitsForMerge(file.LFN)
		e.mem.RUnlock()
		if !waits {
			f.drops = append(f.drops, store.Drop{File: n, State: jjm.FileDropped, Why: "its local job is over without it"})
			return nil
		}
		if job.Merging.Splitter == split.ParentlessMergeBySize {
			file = handlers.Mergeable(file, n) // in order of arrival
		}
		work.Files = append(work.Files, file)
		f.numbers, f.lfns = append(f.numbers, n), append(f.lfns, file.LFN)
		return nil
	})
	if err == nil && job.Merging.Splitter == split.WMBSMergeBySize {
		err = e.tell(ctx, family{job.ID, mergeReady}, &work, f.numbers)
	}
	if err != nil {
		return nil, err
	}
	return f, f.pack(job, work)
}

// pack lets the splitter put files together.
func (f *mergeFeed) pack(job *jjm.GridJob, work split.Work) error {
	cut, problems := handlers.MergeCutting(&job.Spec)
	if err := problems.Err(); err != nil {
		return err
	}
	sp, err := split.Get(cut.Splitter)
	if err != nil {
		return err
	}
	var carry split.Carry
	if len(job.Merging.Carry) > 0 {
		if err := json.Unmarshal(job.Merging.Carry, &carry); err != nil {
			return jjm.Errorf(jjm.Internal, "carry: %w", err)
		}
	}
	readers := make([]plan.Reader, len(job.Step.Clusters)) // all see the work area
	for i, name := range job.Step.Clusters {
		readers[i].Name = name
	}
	params := locate(&work, readers, cut.Params)
	f.cutting, err = sp.Start(work, params, carry)
	return err
}

// restMerge notes that nothing can be merged until something new is known.
func (e *Engine) restMerge(id jjm.GridID, news uint64, left split.Left) {
	e.idle(id, func(g *grid) *reads { return g.merge }, news, cmp.Or(left.Why, "all outputs that are there are being merged"))
}
