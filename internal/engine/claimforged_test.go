package engine_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/engine"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
	"jjm/sandbox"
)

// anothers is the batch id that a forged claim names.
const anothers = "sim77_0"

// forgeClaim replaces the claim of a local job, as the job's account can do, by a claim that names another batch job.
func (w *world) forgeClaim(l jjm.LocalJob) {
	w.t.Helper()
	text, err := json.Marshal(jjm.Claim{Holder: jjm.HolderWrapper, Batch: anothers, Host: "elsewhere", Nonce: "n", PID: 1,
		Time: 1})
	w.must(err)
	dir := filepath.Join(w.area(owner(alice)).Root(), sandbox.BulkDir(l.Tag), "claims")
	w.must(os.WriteFile(filepath.Join(dir, fmt.Sprint(l.Pos)), text, 0o600))
}

// forgeResult writes a result whose claim names another batch job, with invented times and resources.
func (w *world) forgeResult(l jjm.LocalJob) {
	const absurd = 1 << 52
	w.plant(w.doneFolder(l), fmt.Sprintf("%d.json", l.Pos), forged(l, func(r *jjm.Result) {
		r.Claim.Batch, r.Claim.Host = anothers, "elsewhere"
		r.Started, r.Ended, r.WallMS, r.UserMS, r.SysMS, r.RSSKB = 1, absurd, absurd, absurd, 0, absurd
	}))
}

// The claim file belongs to the job's account, so the batch id in a claim proves nothing. The engine uses the batch
// system's report about the job that jjm submitted.
func TestForgedClaim_TheBatchSystemsReportOfTheJobCounts(t *testing.T) {
	t.Parallel()
	for name, forge := range map[string]func(w *world, l jjm.LocalJob){
		"in the claim":  (*world).forgeClaim,
		"in the result": (*world).forgeResult,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play := always(adaptertest.Play{NoResult: true, Life: 10 * time.Minute})
			settings := func(c *engine.Config) { c.BatchSettle = jjm.Duration(time.Hour) }
			inWorld(t, options{play: play, config: settings}, func(t *testing.T, w *world) {
				id := w.submit(alice, plain(1))
				w.running(id, 1)
				before := w.locals(id)[0]
				forge(w, before)
				w.final(3*time.Hour, id)
				l := w.locals(id)[0]
				if l.BatchID != before.BatchID || l.Host != before.Host || l.Started != before.Started {
					t.Errorf("%s on %q since %s: want %s on %q since %s", l.BatchID, l.Host, l.Started, before.BatchID, before.Host,
						before.Started)
				}
				u := w.lookup(id).Usage
				tenth := int64(10 * time.Minute / time.Millisecond)
				if u == nil || u.Batch != before.BatchID || u.WallMS != tenth || u.UserMS+u.SysMS != tenth ||
					u.Host != before.Host || u.MaxRSSKB != 100<<10 {
					t.Errorf("it used %+v: want %s on %s and %d ms", u, before.BatchID, before.Host, tenth)
				}
				attempts, err := w.store.Attempts(t.Context(), l.ID)
				w.must(err)
				if r := attempts[0].Evidence.Batch; r.ID != before.BatchID || r.State != jjm.BatchEndedOK {
					t.Errorf("the accounting has %+v: want the end of %s", r, before.BatchID)
				}
				w.verifyQuiet()
			})
		})
	}
}

// A kill cancels the batch job that jjm submitted, and not the batch job that a forged claim names.
func TestForgedClaim_AKillGoesToTheJobThatWasSubmitted(t *testing.T) {
	t.Parallel()
	play := always(adaptertest.Play{NoResult: true, Life: 10 * time.Hour})
	inWorld(t, options{play: play}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(1))
		w.running(id, 1)
		w.forgeClaim(w.locals(id)[0])
		w.adapter.onRefs.set(func(refs []adapters.Ref) {
			for _, ref := range refs {
				if ref.ID == anothers {
					t.Errorf("the batch system is told to cancel %s", anothers)
				}
			}
		})
		w.kill(id.String())
		w.final(10*time.Minute, id)
		w.verify(id, ends(jjm.Aborted, 1, endsOf(1, jjm.Killed)))
		w.verifyQuiet()
	})
}
