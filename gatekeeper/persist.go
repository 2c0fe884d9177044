package gatekeeper

import (
	"context"
	"time"

	"jjm"
)

// The pauses between two tries of Persist.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
)

// Persist submits a job until it is clear what became of it, or patience is
// over: for gatekeepers that hold or fail a job at the first submission that is
// refused. All tries have one request key, a random one if the job has none, so
// that they make one grid job. submit is [Door.Submit].
//
// The last error is returned; it is of kind Busy when time ran out.
func Persist(ctx context.Context, patience time.Duration, job Job,
	submit func(context.Context, Job) (Receipt, error)) (Receipt, error) {
	if job.Key == "" {
		job.Key = ownKey(job)
	}
	if job.Key == "" {
		key, err := randomKey()
		if err != nil {
			return Receipt{}, err
		}
		job.Key = key
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		r, err := submit(ctx, job)
		if err == nil || !unclear(err) {
			return r, err
		}
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			t.Stop()
			return r, jjm.Errorf(jjm.Busy, "submit: given up after %v: %w", patience, err)
		case <-t.C:
		}
	}
}
