package survival_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
)

// campaign returns the size of the requested form of the campaign.
func campaign() (runs, killsEach, jobs int) {
	if whole() {
		return 25, 20, 200 // 500 kills
	}
	return 1, 5, 60
}

// TestSurvival_RandomKills kills the daemon at random times while up to 200 local jobs are in progress. JJM_SEED
// repeats a run.
func TestSurvival_RandomKills(t *testing.T) {
	t.Parallel()
	runs, kills, jobs := campaign()
	seed := uint64(time.Now().UnixNano()) % 1_000_000
	if text := os.Getenv("JJM_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("JJM_SEED: %v", err)
		}
		seed = n
	}
	for n := range runs {
		t.Run(fmt.Sprintf("run%02d", n), func(t *testing.T) {
			t.Parallel()
			t.Logf("to repeat: JJM_SEED=%d go test ./test/survival -run 'RandomKills/run%02d'", seed, n)
			randomKills(t, rand.New(rand.NewPCG(seed, uint64(n))), jobs, kills, n%2 == 0)
		})
	}
}

// randomKills plays one run. The last sleeper is killed only after the daemon was killed for the last time, so that the
// daemon never dies after the end.
func randomKills(t *testing.T, r *rand.Rand, jobs, kills int, glf bool) {
	s := newSite(t, settings{slots: 4})
	d := design{jobs: jobs, glf: glf, mix: "yes", key: "once"}
	ctx, cancel := context.WithTimeout(context.Background(), await.Guard(6*time.Minute))
	defer cancel()
	killed := make(chan struct{})
	s.start("")
	driven := s.goDrive(ctx, func(ctx context.Context, s *site, d design) (jjm.GridID, error) {
		return driveSleepers(ctx, s, d, killed)
	}, d)
	for range kills {
		// Some daemons die while they start, most after some work: a local job takes 130 ms on average, and all
		// together some 7 s in 4 slots.
		wait := time.Duration(r.IntN(120)) * time.Millisecond
		if r.IntN(4) > 0 {
			wait = time.Duration(r.IntN(7000/kills)) * time.Millisecond
			s.ready()
		}
		time.Sleep(wait) // this is the time of the fault; the test waits for nothing
		s.kill()
		s.start("")
	}
	s.await("the grid job is submitted", finalWithin, func() bool { return s.gridJobs() > 0 })
	if st := statusOf(s, s.only()); isFinal(st.Lookup.Status) {
		t.Errorf("the grid job was over before the last kill: %s", st.Lookup.Status)
	} else {
		t.Logf("after the last kill: %+v", st.Lookup.Counts)
	}
	close(killed)
	id := driven.wait(t)
	s.final(id)
	if n := s.gridJobs(); n != 1 {
		t.Errorf("%d grid jobs, want 1: the request key was not kept", n)
	}
	s.verify(id, d)
}

// driveSleepers submits a grid job and kills each sleeper some time after it ran or existed. It kills the last sleeper
// only after killed is closed.
func driveSleepers(ctx context.Context, s *site, d design, killed <-chan struct{}) (jjm.GridID, error) {
	id, err := s.submit(ctx, d)
	if err != nil {
		return 0, err
	}
	sleepers := d.sleepers()
	for i, n := range sleepers {
		ref := jjm.LocalID{Grid: id, N: n}.String()
		if i == len(sleepers)-1 {
			select {
			case <-killed:
			case <-ctx.Done():
				return id, ctx.Err()
			}
		}
		if err := s.until(ctx, ref, killable(n)); err != nil {
			return id, err
		}
		if err := s.killAll(ctx, ref); err != nil {
			return id, err
		}
	}
	return id, nil
}
