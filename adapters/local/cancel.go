package local

import (
	"errors"
	"os"
	"sync"

	"jjm/internal/jjm"
)

// target is a job to cancel, and the place of its answer.
type target struct {
	b      *bulk
	pos    int32
	answer *error
}

// maxSyncs is how many logs are synced to disk at once.
const maxSyncs = 16

// cancelAll ends the waiting jobs and then asks the running jobs to end, so that no cancelled job takes the place of
// another. All waiting jobs of a bulk are ended by one write to its log, which is synced: a loss of power does not
// bring them back. When it returns, a job that was being started is started and asked to end. The caller holds a.mu.
func (a *Adapter) cancelAll(targets []target) {
	waiting, running := map[*bulk][]target{}, []target{}
	for _, t := range targets {
		j := &t.b.jobs[t.pos]
		switch {
		case j.state == jjm.BatchCancelled && j.started == 0 && t.b.unsynced: // its cancel was answered by an error
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

// isStarting reports whether one of the jobs is being started at this moment. The caller holds a.mu.
func (a *Adapter) isStarting(targets []target) bool {
	for _, t := range targets {
		if a.starting != nil && t.b.procs[t.pos] == a.starting {
			return true
		}
	}
	return false
}

// cancelWaiting ends waiting jobs of a bulk. If the log cannot be written, the answer for each job is an error, and all
// of them go on waiting. The caller holds a.mu.
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

// withdrawn returns the end of a job that waits and is cancelled.
func withdrawn(j job, now jjm.Time) job {
	j.state, j.ended, j.reason = jjm.BatchCancelled, now, "cancelled before it started"
	return j
}

// syncLogs syncs the logs of bulks, and the names of new logs, so that the ends of cancelled jobs survive a loss of
// power. If a log cannot be synced, the answers for its jobs are errors, so that the cancel is repeated. The caller
// holds a.mu.
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

// syncLog makes the log of a bulk survive a loss of power.
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

// cancelRunning asks a job that runs, or is being started, to end. The caller holds a.mu.
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

// withdrawCancelled ends jobs that wait although their log asks to cancel them: the daemon ended between the two
// lines, or while the job was being started.
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
