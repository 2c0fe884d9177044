package record

import (
	"context"
	"iter"
	"log/slog"
	"time"

	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/xmldb"
	"jjm/xmldb/head"
)

const (
	// mendShare limits the writing of lost records to 1/mendShare of the time.
	mendShare = 10
	// mendPage is the number of grid jobs examined between two pauses.
	mendPage = 500
	// mendAgain is the time after which a record that could not be written is tried again.
	mendAgain = 5 * time.Minute
	// lowAgain is the time between two checks by MendLoop whether a full disk has space again.
	lowAgain = 5 * time.Second
)

// Mend wakes MendLoop. It is called when records may have been lost.
func (pu *Publisher) Mend() { fair.Kick(pu.mend) }

// MendLoop writes missing records of grid jobs in the history from the store: after a start, and after Mend. It writes
// one record at a time, newest first, within a share of the time. Loop writes the records of live grid jobs and does
// not wait for MendLoop.
func (pu *Publisher) MendLoop(ctx context.Context) {
	pu.Mend()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-pu.mend:
		}
		for made, ok := pu.mendAll(ctx); !ok; made, ok = pu.mendAll(ctx) {
			pu.logMended(made)
			fair.WaitKick(ctx, pu.mend, mendAgain)
			if ctx.Err() != nil {
				return
			}
		}
	}
}

func (pu *Publisher) logMended(made int) {
	if made > 0 {
		pu.b.Log.Info("missing records of ended grid jobs were made again", "records", made)
	}
}

// mendAll looks at the record of every grid job in the history once, and returns how many records were made again. ok
// is false if a record could not be made again.
func (pu *Publisher) mendAll(ctx context.Context) (made int, ok bool) {
	ok = true
	for before := jjm.GridID(0); ctx.Err() == nil; {
		began := time.Now()
		page, err := pu.b.Store.Archived(ctx, before, mendPage)
		if err != nil {
			return made, pu.cannotMend(ctx, "history", err)
		}
		if len(page) == 0 {
			break
		}
		before = page[len(page)-1].ID
		missing := pu.missing(page)
		pu.rest(ctx, began)
		for _, a := range missing {
			began := time.Now()
			if err := pu.mendOne(ctx, a); err != nil {
				ok = pu.cannotMend(ctx, a.ID.String(), err)
			} else {
				made++
			}
			pu.rest(ctx, began)
		}
	}
	if ok {
		pu.unwritten.note(history, nil, 0)
	}
	return made, ok
}

// cannotMend logs the error and notes it for Unpublished, unless ctx has ended. It always returns false, so that
// mendAll can return its result as ok.
func (pu *Publisher) cannotMend(ctx context.Context, what string, err error) bool {
	if ctx.Err() == nil {
		pu.unwritten.note(history, err, jjm.At(pu.b.Now()))
		pu.b.Complain(slog.LevelError, "mend/"+what, "missing record could not be made again, will try again", "job", what,
			"error", err)
	}
	return false
}

// rest pauses for mendShare-1 times the time since began, and then until the site accepts new work again: while it does
// not, a disk is full.
func (pu *Publisher) rest(ctx context.Context, began time.Time) {
	fair.Pause(ctx, time.Since(began)*(mendShare-1))
	for ctx.Err() == nil && pu.s.Low() != "" {
		fair.Pause(ctx, lowAgain)
	}
}

// missing returns the grid jobs of a page whose record lacks a file.
func (pu *Publisher) missing(page []store.Archived) (missing []store.Archived) {
	for _, a := range page {
		if !pu.b.Deps.Records.Has(a.ID, a.Locals) {
			missing = append(missing, a)
		}
	}
	return missing
}

// mendOne writes the record of a grid job in the history. If the grid job was removed meanwhile, mendOne removes the
// record again. If the grid job was reopened, mendOne marks the record for Loop to write.
func (pu *Publisher) mendOne(ctx context.Context, a store.Archived) error {
	job, gone, err := pu.b.Store.Kept(ctx, a.ID)
	if err != nil || gone != nil || pu.isLive(a.ID) {
		return err
	}
	if err := pu.writeArchived(ctx, job, a.Locals); err != nil {
		return err
	}
	if err := pu.pointArchived(ctx, &job); err != nil {
		return err
	}
	if _, gone, err = pu.b.Store.Kept(ctx, a.ID); err != nil {
		return err
	}
	if gone != nil {
		return pu.b.Deps.Records.Remove(a.ID)
	}
	pu.s.Mark(func(m *state.Marks) { m.StaleWhole(a.ID) })
	return nil
}

// isLive reports whether a grid job is in memory. Loop writes the records of these grid jobs.
func (pu *Publisher) isLive(id jjm.GridID) bool {
	v := pu.s.View()
	defer v.Close()
	return v.Grid(id) != nil
}

// writeArchived writes the whole record of a grid job from the store.
func (pu *Publisher) writeArchived(ctx context.Context, job jjm.GridJob, locals int) error {
	g := state.NewGrid(job)
	v := pu.s.View()
	head := pu.Head(v.Memory, g)
	v.Close()
	var err error
	if head.ClusterJobs, err = pu.b.Store.ClusterJobs(ctx, job.ID); err != nil {
		return err
	}
	if err := pu.FillHead(ctx, &head); err != nil {
		return err
	}
	var failed error
	if err := pu.b.Deps.Records.Publish(ctx, head, pu.archivedShards(ctx, g, locals, &failed)); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	return pu.writeHistory(ctx, job.ID)
}

// archivedShards returns the shards of a grid job in the history. It reads a shard only when the shard is requested.
// After an error it sets *failed and stops.
func (pu *Publisher) archivedShards(ctx context.Context, g *state.Grid, locals int,
	failed *error) iter.Seq[xmldb.Shard] {
	return func(yield func(xmldb.Shard) bool) {
		for n := 0; n*state.ShardSize < locals; n++ {
			first := int32(n * state.ShardSize)
			rows, err := pu.b.Store.Locals(ctx, g.Job.ID, first, first+state.ShardSize-1)
			if err != nil {
				*failed = err
				return
			}
			state.ShowPlaces(g, rows, jjm.At(pu.b.Now()))
			if !yield(xmldb.Shard{N: n, Jobs: rows}) {
				return
			}
		}
	}
}

// pointArchived writes the file by which clients find the record by its handle, unless the handle names a later grid
// job.
func (pu *Publisher) pointArchived(ctx context.Context, job *jjm.GridJob) error {
	if job.Spec.Key == "" {
		return nil
	}
	name := jjm.HandleOf(job.Owner.UID, job.Spec.Key)
	h, err := pu.b.Store.Handle(ctx, name)
	if err != nil && jjm.KindOf(err) != jjm.Gone {
		return err
	}
	if err == nil && h.Grid != job.ID {
		return nil
	}
	return head.WriteHandle(pu.b.Deps.RecordDir, name, job.ID)
}
