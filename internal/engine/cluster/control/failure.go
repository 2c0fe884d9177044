package control

import (
	"jjm/internal/engine/cluster/system"
	"jjm/internal/jjm"
)

// Failure is why the last cancel of an attempt failed, and since when all of its cancels have failed. Text is "" if the
// last cancel did not fail. It is only in memory, for people.
type Failure struct {
	Text  string
	Since jjm.Time
}

// next returns the failure after a cancel that ended at now with the error err, which may be nil.
func (f Failure) next(err error, now jjm.Time) Failure {
	switch {
	case err == nil:
		return Failure{}
	case f.Text == "":
		f.Since = now
	}
	f.Text = err.Error()
	return f
}

// noteCancels notes how the cancels of jobs ended: all with err if it is not nil, otherwise each with its result.
func (ct *Controller) noteCancels(jobs []system.Job, results []error, err error) {
	now := jjm.At(ct.b.Now())
	ct.mu.Lock()
	defer ct.mu.Unlock()
	for i := range jobs {
		c, known := ct.cancels[jobs[i].ID]
		if !known {
			continue // a duplicate, or an attempt that has ended
		}
		how := err
		if how == nil && i < len(results) {
			how = results[i]
		}
		c.fails = c.fails.next(how, now)
		ct.cancels[jobs[i].ID] = c
	}
}

// FailedCancels returns the attempts whose cancels fail.
func (ct *Controller) FailedCancels() map[jjm.AttemptID]Failure {
	ct.mu.Lock()
	defer ct.mu.Unlock()
	failed := map[jjm.AttemptID]Failure{}
	for id, c := range ct.cancels {
		if c.fails.Text != "" {
			failed[id] = c.fails
		}
	}
	return failed
}
