package gatekeeper

import (
	"context"
	"time"

	"jjm/internal/jjm"
)

// The first and the longest pause between two attempts of Persist.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
)

// Persist submits a job again and again until the daemon accepts or refuses it, or patience is over. It is for
// gatekeepers that hold or fail a job after the first refused submission. All attempts have the same request key, a
// random key if the job has none, so that they create only one grid job. submit is [Client.Submit].
//
// Persist returns the last error, of kind Busy if patience is over.
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
		if err == nil || !undecided(err) {
			return r, err
		}
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			t.Stop()
			return r, jjm.Errorf(jjm.Busy, "submit: gave up after %s: %w", jjm.HowLong(patience), err)
		case <-t.C:
		}
	}
}
