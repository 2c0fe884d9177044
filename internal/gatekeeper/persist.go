package gatekeeper

import (
	"context"
	"time"

	"jjm/internal/jjm"
)

// The pauses between two attempts of Persist: the first, and the longest.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 2 * time.Second
)

// Persist submits a job again and again until it is decided or patience is over. It serves
// gatekeepers that hold or fail a job after the first refused submission. All attempts have
// the same request key, a random one if the job has none, so that they make one grid job.
// submit is [Door.Submit].
//
// It returns the last error, of kind Busy if patience ran out.
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
