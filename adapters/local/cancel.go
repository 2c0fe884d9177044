package local

import (
	"errors"
	"os"
	"sync"

	"jjm/internal/jjm"
)

// target is a job to cancel.
type target struct {
	b      *bulk
	pos    int32  // of the job in the bulk
	answer *error // where the result of the cancel is stored
}

// maxSyncs is the largest number of logs that are synced to disk at the same time.
const maxSyncs = 16

// cancelAll ends the waiting jobs first and then asks the running jobs to end. In the opposite order, a waiting job
// that is about to be cancelled could start on the cores of an ended job. One write to the log of a bulk ends all its
// waiting jobs; the log is synced, so a loss of power does not bring these jobs back. If one of the jobs is being
// started, cancelAll waits for the end of that start and asks the job to end. The caller holds a.mu.
func (a *Adapter) cancelAll(targets []target) {
	waiting, running := map[*bulk][]target{}, []target{}
	for _, t := range targets {
		j := &t.b.jobs[t.pos]
		switch {
		case j.state == jjm.BatchCancelled && j.started == 0 && t.b.unsynced: // an earlier cancel was not synced
			waiting[t.b] = append(waiting[t.b], t)
		case j.state.Ended() || j.endAsked&byCancel != 0 && t.b.procs[t.pos] != nil:
		case t.b.procs[t.pos] == nil:
			waiting[t.b] = append(waiting[t.b], t)
		default:
			running = append(running, t)
		}
	}
	for b, of := range waiting {
		a.cancelWaiting(b, of)
	}
	a.syncLogs(waiting)
	if len(waiting) > 0 {
		a.crashPoint("local.withdrawn")
	}
	for _, t := range running {
		if err := a.cancelRunning(t.b, t.pos); err != nil {
			*t.answer = err
		}
	}
	for a.isStarting(targets) {
		a.startOver.Wait()
	}
}

// isStarting reports whether one of the jobs is being started now. The caller holds a.mu.
func (a *Adapter) isStarting(targets []target) bool {
	for _, t := range targets {
		if a.starting != nil && t.b.procs[t.pos] == a.starting {
			return true
		}
	}
	return false
}

// cancelWaiting ends waiting jobs of a bulk. If the log cannot be written, the answer for each job is an error, and all
// the jobs still wait. The caller holds a.mu.
func (a *Adapter) cancelWaiting(b *bulk, of []target) {
	now := jjm.At(a.env.Now())
	lines := make([][]byte, 0, 2*len(of))
	for _, t := range of {
		over := b.jobs[t.pos]
		if !over.state.Ended() {
			over = withdrawn(over, now)
		}
		lines = append(lines, lineOf("cancel", t.pos), lineEnd(t.pos, &over))
	}
	if err := b.append(false, lines...); err != nil {
		for _, t := range of {
			*t.answer = err
		}
		return
	}
	b.unsynced = true
	for _, t := range of {
		j := &b.jobs[t.pos]
		if !j.state.Ended() { // a job may be named twice
			over := withdrawn(*j, now)
			j.endAsked |= byCancel
			a.settle(b, t.pos, over)
		}
	}
}

// withdrawn returns the end of a waiting job that is cancelled.
func withdrawn(j job, now jjm.Time) job {
	j.state, j.ended, j.reason = jjm.BatchCancelled, now, "cancelled before it started"
	return j
}

// syncLogs syncs the logs of bulks, and the names of new logs; the ends of cancelled jobs then survive a loss of power.
// If a log cannot be synced, the answers for its jobs are errors, and the caller repeats the cancel. The caller holds
// a.mu.
func (a *Adapter) syncLogs(of map[*bulk][]target) {
	var wg sync.WaitGroup
	places := make(chan struct{}, maxSyncs)
	for b, targets := range of {
		if b.log == nil { // nothing was written
			continue
		}
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			if err := b.syncLog(a.Sync); err != nil {
				err = jjm.Errorf(jjm.Busy, "sync the log of spool entry %d: %w", b.ID, err)
				for _, t := range targets {
					*t.answer = err
				}
				return
			}
			b.unsynced = false
		})
	}
	wg.Wait()
}

// syncLog ensures that the log of a bulk survives a loss of power.
func (b *bulk) syncLog(sync func(*os.File) error) error {
	if err := sync(b.log); err != nil || b.logKept {
		return err
	}
	dir, err := os.Open(b.dir)
	if err != nil {
		return err
	}
	err = errors.Join(sync(dir), dir.Close())
	b.logKept = err == nil
	return err
}

// cancelRunning asks a job that runs or is being started to end. It returns an error if the request cannot be written
// to the log. The caller holds a.mu.
func (a *Adapter) cancelRunning(b *bulk, pos int32) error {
	j := &b.jobs[pos]
	if j.endAsked&byCancel != 0 {
		return nil
	}
	if err := b.append(false, lineOf("cancel", pos)); err != nil {
		return err
	}
	j.endAsked |= byCancel
	a.crashPoint("local.cancelling")
	a.terminate(b.procs[pos])
	return nil
}

// withdrawCancelled ends waiting jobs whose log has a request to cancel them but no end. Such a log exists if the
// daemon died between the writing of these two lines, or while the job was being started.
func (b *bulk) withdrawCancelled(now jjm.Time) {
	for pos := range b.jobs {
		j := &b.jobs[pos]
		if j.endAsked&byCancel == 0 || j.state != jjm.BatchQueued && j.state != jjm.BatchHold {
			continue
		}
		over := withdrawn(*j, now)
		b.set(int32(pos), jjm.BatchCancelled)
		j.ended, j.reason = over.ended, over.reason
		b.lastEnd = max(b.lastEnd, j.ended)
		b.pending = append(b.pending, lineEnd(int32(pos), &over)...)
	}
}
