package engine_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// deed is an action of people, of a gatekeeper or of the machine in a random history of generations.
type deed struct {
	what  string
	grid  int    // the index of the grid job, from 0
	local int32  // the local job, for deeds about a single local job
	point string // the failpoint at which the daemon dies, for the deed "crash"
	after time.Duration
}

// deeds are the possible actions. An action that occurs several times in this list is drawn more often.
var deeds = []string{"submit", "submit files", "resubmit", "resubmit", "resubmit", "resubmit all", "resubmit one",
	"kill", "kill by the gatekeeper", "kill one", "retract", "retract", "retract for a new one",
	"recover", "recover with an old file", "remove", "remove", "crash", "crash", "crash", "restart", "wait", "wait long"}

func drawDeeds(t *rapid.T, points []string) []deed {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) deed {
		return deed{what: rapid.SampledFrom(deeds).Draw(t, "what"), grid: rapid.IntRange(0, 2).Draw(t, "grid"),
			local: rapid.Int32Range(0, 5).Draw(t, "local"), point: rapid.SampledFrom(points).Draw(t, "point"),
			after: time.Duration(rapid.IntRange(1, 900).Draw(t, "after")) * time.Second}
	}), 6, 18).Draw(t, "deeds")
}

// chronicle is a world that records the answers of the daemon that must never change later.
type chronicle struct {
	*world
	ids   []jjm.GridID
	files []string                   // job files of recoveries, for later deeds
	given map[jjm.GridID]bool        // all ids that were ever assigned
	told  map[jjm.GridID]wire.Lookup // last answer to the gatekeeper, by grid job whose first generation has ended
	tars  map[string]string          // checksum of every tar that was ever made
}

// do carries out a deed. The daemon may refuse a deed that is impossible. If the daemon died, do starts a new one.
func (c *chronicle) do(d deed) {
	c.t.Helper()
	if err := c.try(d); err != nil && !c.crash.isDead() {
		switch jjm.KindOf(err) {
		case jjm.Conflict, jjm.Gone, jjm.Busy, jjm.Invalid: // Invalid: the recovery of a grid job that is being reopened
		default:
			c.t.Errorf("%s: %v", d.what, err)
		}
	}
	c.pass(d.after)
	if c.crash.isDead() {
		c.reopen()
	}
	c.check()
}

func (c *chronicle) try(d deed) error {
	ctx := context.Background()
	switch d.what {
	case "submit":
		return c.add(wire.Submit{Name: "j.toml", Text: mc(5), BaseDir: c.dir})
	case "submit files":
		n := fmt.Sprintf("name = \"raw%d\"\n", len(c.ids))
		return c.add(wire.Submit{Name: "j.toml", Text: fileJob("result = \"glf\"\n", n+inline(8)), BaseDir: c.dir})
	case "crash":
		c.crash.arm(d.point)
	case "restart":
		c.reopen()
	case "wait long":
		c.pass(6 * time.Hour)
	}
	if len(c.ids) == 0 {
		return nil
	}
	id := c.ids[d.grid%len(c.ids)]
	one := []jjm.Ref{{Grid: id, Locals: true, First: d.local, Last: d.local}}
	switch d.what {
	case "resubmit", "resubmit all":
		how := wire.ResubmitHow{All: d.what == "resubmit all"}
		return c.engine.Resubmit(ctx, alice, []jjm.Ref{all(id)}, how)[0].Error.Err()
	case "resubmit one":
		return c.engine.Resubmit(ctx, alice, one, wire.ResubmitHow{})[0].Error.Err()
	case "kill":
		return c.engine.Kill(ctx, alice, []jjm.Ref{all(id)}, wire.KillHow{})[0].Error.Err()
	case "kill by the gatekeeper":
		return c.engine.Kill(ctx, alice, []jjm.Ref{all(id)}, wire.KillHow{First: true})[0].Error.Err()
	case "kill one":
		return c.engine.Kill(ctx, alice, one, wire.KillHow{})[0].Error.Err()
	case "retract", "retract for a new one":
		// if the local job completed, its output has one of the names that the loop makes
		for _, stem := range []string{"mc", "filetest"} {
			w := wire.Retract{Outputs: []string{fmt.Sprintf("%s.%s.%d.out.dat", stem, id, d.local)}, Reason: "lost",
				NewOutput: d.what != "retract"}
			if _, err := c.engine.Retract(ctx, alice, id, w); jjm.KindOf(err) != jjm.Gone {
				return err
			}
		}
	case "remove":
		return c.remove(alice, true, id)[0].Error.Err()
	case "recover":
		v, err := c.engine.Verify(ctx, alice, id, "again.json")
		if err != nil || v.Recovery == "" {
			return err
		}
		c.files = append(c.files, v.Recovery)
		return c.add(wire.Submit{Name: "again.json", Text: v.Recovery, BaseDir: c.dir})
	case "recover with an old file":
		if len(c.files) > 0 {
			return c.add(wire.Submit{Name: "again.json", Text: c.files[d.grid%len(c.files)], BaseDir: c.dir})
		}
		v, err := c.engine.Verify(ctx, alice, id, "again.json")
		if err == nil && v.Recovery != "" {
			c.files = append(c.files, v.Recovery) // kept for a later deed
		}
		return err
	}
	return nil
}

func (c *chronicle) add(s wire.Submit) error {
	if len(c.given) >= 5 {
		return nil
	}
	got, err := c.engine.Submit(context.Background(), alice, s)
	if c.given[got.ID] && !got.Existed {
		c.t.Errorf("id %s is given out again", got.ID)
	}
	return err
}

// meet sets ids to the grid jobs that exist and are not removed, including grid jobs whose acceptance was never
// reported.
func (c *chronicle) meet() {
	c.t.Helper()
	found, err := c.engine.List(context.Background(), admin, wire.List{All: true})
	c.must(err)
	c.ids = c.ids[:0]
	for i := range found {
		id := found[len(found)-1-i].Lookup.ID
		c.ids, c.given[id] = append(c.ids, id), true
	}
}

// check requires that the daemon's present answers agree with the recorded answers.
func (c *chronicle) check() {
	c.t.Helper()
	c.meet()
	for id, was := range c.told {
		if l := c.lookup(id); l.Removed != nil || was.Removed != nil {
			c.checkRemoved(was, l)
		}
	}
	for _, id := range c.ids {
		l := c.lookup(id)
		var st jjm.GridStatus
		c.must(st.UnmarshalText([]byte(l.Status)))
		was, told := c.told[id]
		switch {
		case told && !cmp.Equal(was, l):
			c.t.Errorf("the gatekeeper of grid job %s is told something else: %s", id, cmp.Diff(was, l))
		case st.Final():
			c.told[id] = l
		}
		now := c.status(id)
		for _, e := range now.Endings {
			c.checkTar(id, e.Generation, e.TarSHA256)
		}
		if now.Over() && now.Lookup.Tar != "" {
			c.checkTar(id, max(now.Generation, 1), "")
		}
	}
}

// checkRemoved checks that the gatekeeper of a removed grid job still gets the same answer about its end, except for
// the tar.
func (c *chronicle) checkRemoved(was, now wire.Lookup) {
	c.t.Helper()
	message := strings.Replace(now.Message, "is being removed", "was removed", 1)
	if now.Removed == nil || now.Tar != "" || !strings.Contains(now.Message, "removed") {
		c.t.Errorf("grid job %s was removed, and its gatekeeper is told %+v", now.ID, now)
	}
	if was.Removed == nil && !strings.HasPrefix(message, was.Message) {
		c.t.Errorf("its gatekeeper is told %q, and was %q", now.Message, was.Message)
	}
	c.told[now.ID] = now
	was.Tar, was.Message, was.Removed, now.Message = "", "", now.Removed, ""
	if d := cmp.Diff(was, now); d != "" {
		c.t.Errorf("the gatekeeper of grid job %s is told something else: %s", now.ID, d)
	}
}

// checkTar requires that the tar of a generation exists and is unchanged.
func (c *chronicle) checkTar(id jjm.GridID, generation int, sum string) {
	c.t.Helper()
	if sum == "" && c.status(id).Lookup.Tar == "" {
		return // failed before it had a tar
	}
	r, _, out, err := c.engine.Output(context.Background(), alice, all(id), wire.Wanted{Generation: generation})
	if err != nil {
		c.t.Errorf("the tar of generation %d of grid job %s: %v", generation, id, err)
		return
	}
	defer r.Close()
	h, buffer := sha256.New(), bytes.Buffer{}
	_, err = io.Copy(h, io.TeeReader(r, &buffer))
	c.must(err)
	key, got := fmt.Sprintf("%s#%d", id, generation), hex.EncodeToString(h.Sum(nil))
	if was, known := c.tars[key]; got != out.SHA256 || sum != "" && got != sum || known && got != was {
		c.t.Errorf("tar %s: %d bytes of %s, announced with %s and %s, was %s", key, buffer.Len(), got, out.SHA256, sum, was)
	}
	c.tars[key] = got
}

// finish lets all grid jobs end, and checks that nothing was done twice.
func (c *chronicle) finish() {
	c.t.Helper()
	for _, id := range c.ids {
		c.until(60*time.Hour, "over and archived", func() bool {
			if c.crash.isDead() {
				c.reopen()
			}
			return c.isOver(id) && c.archived(id)
		})
	}
	for id := range c.given {
		if _, gone, err := c.store.Kept(context.Background(), id); err == nil && gone != nil {
			c.until(time.Hour, "removed", func() bool { return c.removed(id) })
		}
	}
	c.check()
	for _, id := range c.ids {
		st := c.status(id)
		var status jjm.GridStatus
		c.must(status.UnmarshalText([]byte(st.Lookup.Status)))
		job, err := c.store.Grid(context.Background(), id)
		c.must(err)
		lost, err := c.store.Retracted(context.Background(), id)
		c.must(err)
		// neither a recovery, whose parts have gaps, nor a grid job with lost outputs, which are not in its tar
		if job.Spec.Recovers == 0 && len(lost) == 0 {
			c.verify(id, want{status: status, gram: st.Lookup.GRAM, jobs: -1})
		}
		if v := c.proof(id, ""); v.Overlap+v.Doubled+v.Disagree+v.Pending > 0 {
			c.t.Errorf("grid job %s: %+v", id, v.Report)
		}
	}
	c.must(c.store.Check(context.Background()))
	c.verifyQuiet()
}

// People, gatekeepers and crashes act on grid jobs and their generations. Whatever the order of these actions: no
// physics event is owned by two local jobs, no tar is lost or changed before its grid job is removed, an end that was
// reported to a gatekeeper does not change, a removal is carried out, and no id is assigned twice.
func TestProperty_WhatWasToldOfAnEndStays(t *testing.T) {
	drawLives(t)
	points := failpoints(t)
	rapid.Check(t, func(rt *rapid.T) {
		deeds := drawDeeds(rt, points)
		plays := rapid.SliceOfN(rapid.SampledFrom([]adaptertest.Play{{}, {}, {Keyword: "FAILED", Data: "x"},
			{Keyword: "FAILED", Data: "y"}, {Keyword: "-", Exit: 2}, {NoResult: true, Exit: 1}}), 11, 11).Draw(rt, "plays")
		o := options{chunk: rapid.IntRange(1, 3).Draw(rt, "chunk"), config: func(c *engineConfig) { c.Backoff = 0 },
			sim: adaptertest.SimConfig{MaxBulk: rapid.IntRange(1, 4).Draw(rt, "bulk"),
				Slots: rapid.IntRange(2, 6).Draw(rt, "slots"), TwoPhase: rapid.Bool().Draw(rt, "two-phase"),
				Life: time.Minute, Jitter: 2 * time.Minute, Seed: rapid.Uint64().Draw(rt, "seed")},
			play: func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
				return plays[(int(id.Grid)+3*int(id.N)+5*int(id.Attempt))%len(plays)]
			}}
		ok := t.Run("", func(t *testing.T) {
			inWorld(t, o, func(t *testing.T, w *world) {
				c := &chronicle{world: w, given: map[jjm.GridID]bool{}, told: map[jjm.GridID]wire.Lookup{},
					tars: map[string]string{}}
				c.do(deed{what: "submit", after: time.Minute})
				for _, d := range deeds {
					c.do(d)
				}
				c.finish()
			})
		})
		if !ok {
			rt.Fatalf("see above")
		}
	})
}
