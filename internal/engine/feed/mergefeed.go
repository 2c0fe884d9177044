package feed

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"jjm/handlers"
	"jjm/internal/engine/floor/lineage"
	"jjm/internal/engine/floor/outputs"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/storage/store"
	"jjm/internal/work/split"
)

// mergeFeed is a cutting of the outputs that can be merged now. Its drops are outputs that are not merged because their
// local jobs no longer wait for a merge.
type mergeFeed struct {
	feed
	lfns  []string // the LFNs of the files, in the order of numbers
	apart apart
}

// FeedMerge makes local jobs that merge the present outputs of the first step. Each call starts a new cutting. If
// nothing can be merged now, the merge step becomes idle. The error is of kind Invalid if there would be more local
// jobs than the site allows.
func (fd *Feeder) FeedMerge(ctx context.Context, job *jjm.GridJob) error {
	f, err := fd.startMerge(ctx, job)
	if err != nil {
		return fmt.Errorf("merge grid job %s: %w", job.ID, err)
	}
	parts, left, next := f.cutting.Next(split.Limits{MaxParts: fd.b.Chunk()})
	text, err := json.Marshal(next)
	if err != nil {
		return err
	}
	if most := fd.b.Conf().MaxLocalJobs; job.Step.Made+len(parts) > most {
		return jjm.Errorf(jjm.Invalid,
			"grid job %s would make more than the %d local jobs that this site allows (engine.max_local_jobs): merge more files at a time", job.ID, most)
	}
	stored := false
	err = fd.s.Change(ctx, "generate", func(c *state.Change) error {
		live := c.Live.Grid(job.ID) // not c.Grid: a changed row counts as news and would wake this step again
		if live == nil || live.Job.Merging.Closed || !bytes.Equal(live.Job.Merging.Carry, f.carry) || !allWait(live, parts) {
			return nil // another change came first: the next call cuts again
		}
		over := live.Job.Step.Closed && live.Producing == 0 && live.Merging == 0 && len(parts) == 0 && live.MergesLive == 0
		if len(parts)+len(f.drops)+len(left.Dropped) == 0 && !over {
			return nil
		}
		stored = true
		g := c.Grid(job.ID)
		insertMerges(c, g, parts, text, over)
		for _, d := range left.Dropped {
			if id, ok := outputs.Maker(job.ID, f.lfns[d.File]); ok && d.Failed {
				failOrphan(c, id, d.Why)
			}
		}
		c.Then = append(c.Then, func() error { return f.storeDrops(c.Tx, g, left) })
		return nil
	})
	if err == nil && !stored {
		fd.setMergeIdle(job.ID, f.news, left)
	}
	return err
}

// allWait reports whether all files of the parts still wait to be merged.
func allWait(g *state.Grid, parts []jjm.Part) bool {
	for i := range parts {
		for _, lfn := range parts[i].Input.Files {
			if !waitsForMerge(g, lfn) {
				return false
			}
		}
	}
	return true
}

// waitsForMerge reports whether a file was made by a local job that waits for its outputs
// to be merged.
func waitsForMerge(g *state.Grid, lfn string) bool {
	id, ok := outputs.Maker(g.Job.ID, lfn)
	return ok && int(id.N) < len(g.Locals) && id.N >= 0 && g.Locals[id.N].IsMerging() && !g.Locals[id.N].Kill
}

// insertMerges makes one local job of the merge step for each part, and stores the splitter's carry. If over is true,
// it closes the merge step.
func insertMerges(c *state.Change, g *jjm.GridJob, parts []jjm.Part, carry []byte, over bool) {
	m := *g.Merging
	m.Carry, m.Made, m.Closed = carry, m.Made+len(parts), over
	g.Merging = &m
	first := int32(g.Step.Made)
	for i, p := range parts {
		c.Inserted = append(c.Inserted,
			jjm.LocalJob{ID: jjm.LocalID{Grid: g.ID, N: first + int32(i)}, Step: jjm.StepMerge, Part: p, Exit: -1})
	}
	if len(parts) == 0 {
		return
	}
	state.SetPlaces(g, c.Inserted)
	if live := c.Live.Grid(g.ID); plan.ApartOf(g.Spec.Merge.Apart).Priority {
		for i := range c.Inserted {
			l := &c.Inserted[i]
			prioritize(g, l, madeOf(live, &jjm.File{LFN: l.Part.Input.Files[0]}).Priority)
		}
	}
	g.Step.Made += len(parts)
	g.Step.Expected = max(g.Step.Expected+len(parts), g.Step.Made)
	c.Journal = append(c.Journal, jjm.JournalEntry{Time: c.Now, Grid: g.ID, First: first,
		Last: first + int32(len(parts)) - 1,
		To:   jjm.New.String(), Source: c.Name, Cause: fmt.Sprintf("merge: cut by %s", m.Splitter)})
}

// storeDrops stores the files that will not be merged.
func (f *mergeFeed) storeDrops(tx *store.Tx, g *jjm.GridJob, left split.Left) error {
	drops := f.drops
	for _, d := range left.Dropped {
		drops = append(drops, store.Drop{File: f.numbers[d.File], State: jjm.FileDropped, Why: d.Why})
	}
	return tx.DropFiles(g.ID, jjm.StepMerge, drops)
}

// startMerge adds new outputs to the files of the step, and starts a cutting of the outputs
// that wait to be merged.
func (fd *Feeder) startMerge(ctx context.Context, job *jjm.GridJob) (*mergeFeed, error) {
	f := &mergeFeed{feed: feed{carry: job.Merging.Carry}}
	work := split.Work{Now: jjm.At(fd.b.Now())}
	v := fd.s.View()
	g := v.Grid(job.ID)
	f.news = g.Merge.News()
	f.apart = apartOf(g)
	work.Closed = g.Job.Step.Closed && g.Producing == 0 // no more outputs come, unless a merge fails
	v.Close()
	for more := true; more; {
		err := fd.s.Change(ctx, "notice", func(c *state.Change) error {
			n, _, err := c.Tx.NoticeFiles(job.ID, jjm.StepMerge, noticeChunk)
			more = n == noticeChunk
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	err := fd.b.Store.Available(ctx, job.ID, jjm.StepMerge, func(n int64, file jjm.File) error {
		v = fd.s.View()
		waits, made := waitsForMerge(g, file.LFN), madeOf(g, &file)
		v.Close()
		if !waits {
			f.drops = append(f.drops, store.Drop{File: n, State: jjm.FileDropped, Why: "its local job is over without it"})
			return nil
		}
		if job.Merging.Splitter != split.WMBSMergeBySize {
			file = handlers.Mergeable(file, n) // numbered in the order of arrival
		}
		work.Files = append(work.Files, file)
		f.numbers, f.lfns = append(f.numbers, n), append(f.lfns, file.LFN)
		f.apart.made = append(f.apart.made, made)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if job.Merging.Splitter == split.WMBSMergeBySize {
		err := fd.lineage.Tell(ctx, lineage.Family{Maker: job.ID, Success: lineage.MergeReady}, &work, f.numbers)
		if err != nil {
			return nil, err
		}
	}
	return f, f.pack(job, work)
}

// pack starts the splitter's cutting of the files.
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
	readers := f.apart.keep(&work, job.Step.Clusters, &cut.Params)
	params := state.Locate(&work, readers, cut.Params)
	f.cutting, err = sp.Start(work, params, carry)
	return err
}

// setMergeIdle notes in memory that nothing can be merged until there are more outputs, with the reason for people.
func (fd *Feeder) setMergeIdle(id jjm.GridID, news uint64, left split.Left) {
	why := cmp.Or(left.Why, "all outputs that are there are being merged")
	fd.s.Adjust(func(a *state.Memo) { a.SetIdle(id, jjm.StepMerge, news, why) })
}
