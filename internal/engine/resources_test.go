package engine_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// failsWithout returns a play in which every attempt of some local jobs fails permanently if the attempt requests less
// than the given memory.
func failsWithout(memory int64, locals ...int32) func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play {
	return func(id jjm.AttemptID, job adaptertest.SimJob) adaptertest.Play {
		if slices.Contains(locals, id.N) && job.Request.MemoryMB < memory {
			return adaptertest.Play{Keyword: "FAILED", Data: "out of memory"}
		}
		return adaptertest.Play{}
	}
}

// requests records the resources that attempts request from the batch system.
type requests struct {
	t     *testing.T
	mu    sync.Mutex
	of    map[jjm.AttemptID]jjm.Request
	bulks map[string]jjm.Request
}

func (r *requests) noting(play func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play) func(jjm.AttemptID,
	adaptertest.SimJob) adaptertest.Play {
	r.of, r.bulks = map[jjm.AttemptID]jjm.Request{}, map[string]jjm.Request{}
	return func(id jjm.AttemptID, job adaptertest.SimJob) adaptertest.Play {
		r.mu.Lock()
		defer r.mu.Unlock()
		if was, known := r.bulks[job.Bulk]; known && was != job.Request {
			r.t.Errorf("bulk %s has jobs that request %+v and %+v", job.Bulk, was, job.Request)
		}
		r.of[id], r.bulks[job.Bulk] = job.Request, job.Request
		return play(id, job)
	}
}

// want requires that an attempt ran with the given request.
func (r *requests) want(id jjm.GridID, n, attempt int32, want jjm.Request) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	at := jjm.AttemptID{LocalID: jjm.LocalID{Grid: id, N: n}, Attempt: attempt}
	if got, ran := r.of[at]; !ran || got != want {
		r.t.Errorf("attempt %v requested %+v (it ran: %v), want %+v", at, got, ran, want)
	}
}

// with resubmits local jobs as alice with other resources.
func (w *world) with(asked jjm.Resources, dry bool, refs ...string) wire.Resubmitted {
	w.t.Helper()
	var parsed []jjm.Ref
	for _, text := range refs {
		ref, err := jjm.ParseRef(text)
		w.must(err)
		parsed = append(parsed, ref)
	}
	how := wire.ResubmitHow{Resources: &asked, DryRun: dry}
	return w.engine.Resubmit(context.Background(), alice, parsed, how)[0]
}

// askedFor returns the resources that resubmissions set for a local job, as people see them.
func (w *world) askedFor(id jjm.GridID, n int32) *jjm.Resources {
	w.t.Helper()
	ref := jjm.Ref{Grid: id, Locals: true, First: n, Last: n}
	all, err := w.engine.Status(context.Background(), alice, []jjm.Ref{ref})
	w.must(err)
	w.must(all[0].Lookup.Error.Err())
	return all[0].Detail.Asked
}

// askedOnly requires that exactly the given local jobs of a grid job have the memory that a resubmission set.
func (s *stage) askedOnly(key string, locals ...int32) {
	s.t.Helper()
	for _, l := range s.locals(s.ids[key]) {
		a := s.askedFor(s.ids[key], l.ID.N)
		if asked := a != nil && a.MemoryMB == 5000; asked != slices.Contains(locals, l.ID.N) {
			s.t.Errorf("local job %s requests %+v since it was resubmitted", l.ID, a)
		}
	}
}

// Local jobs of a grid job that is not over are resubmitted with other resources. They request these resources in all
// their later attempts. All other local jobs, including those not submitted yet, request the resources of the job file.
func TestResources_OfAGridJobThatGoesOn(t *testing.T) {
	t.Parallel()
	seen := &requests{t: t}
	play := seen.noting(func(id jjm.AttemptID, job adaptertest.SimJob) adaptertest.Play {
		switch {
		case id.N == 0 && id.Attempt == 1:
			return adaptertest.Play{Keyword: "RETRY", Data: "once more"}
		case id.N < 2 && job.Request.MemoryMB < 5000:
			return adaptertest.Play{Keyword: "FAILED", Data: "out of memory"}
		}
		return adaptertest.Play{Life: time.Hour}
	})
	sim := adaptertest.SimConfig{Slots: 3, MaxBulk: 4, Life: time.Minute}
	inWorld(t, options{play: play, sim: sim}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(8, "request = {memory_mb = 1000, walltime = \"1h\"}"))
		w.until(time.Hour, "two failed", func() bool { return w.lookup(id).Counts.Failed == 2 })
		got := w.with(jjm.Resources{MemoryMB: 5000, Queue: "long"}, true, id.String())
		if got.Jobs != 2 || got.Error != nil || got.Resources == nil || got.Resources.MemoryMB != 5000 {
			t.Errorf("the dry run says %+v", got)
		}
		if w.askedFor(id, 0) != nil || w.lookup(id).Counts.Failed != 2 {
			t.Error("the dry run changed something")
		}
		got = w.with(jjm.Resources{MemoryMB: 5000, Queue: "long"}, false, id.String())
		if got.Jobs != 2 || got.Error != nil || len(got.Left) != 0 {
			t.Fatalf("%+v", got)
		}
		w.reopen()
		a, other := w.askedFor(id, 1), w.askedFor(id, 5)
		if a == nil || *a != (jjm.Resources{MemoryMB: 5000, Queue: "long"}) || other != nil {
			t.Errorf("people see %+v, and %+v of another one", a, other)
		}
		w.final(20*time.Hour, id)
		w.verify(id, done(8))
		old := jjm.Request{MemoryMB: 1000, Walltime: jjm.Duration(time.Hour)}
		asked := jjm.Request{MemoryMB: 5000, Walltime: jjm.Duration(time.Hour), Queue: "long"}
		for n := range int32(8) {
			seen.want(id, n, 0, old)
		}
		seen.want(id, 0, 1, asked)
		seen.want(id, 0, 2, asked)
		seen.want(id, 1, 1, asked)
		if w.journaled(id, 0, "resubmitted with memory 5000 MiB, queue long") != 1 {
			t.Error("the history does not say with what it was resubmitted")
		}
		w.verifyQuiet()
	})
}

// A grid job that is over is reopened with other resources. The next resubmission replaces the resources that it names
// and keeps all others.
func TestResources_OfAGridJobThatIsOver(t *testing.T) {
	t.Parallel()
	seen := &requests{t: t}
	play := seen.noting(func(id jjm.AttemptID, job adaptertest.SimJob) adaptertest.Play {
		if id.N == 1 && id.Attempt < 3 || id.N == 2 && id.Attempt < 1 {
			return adaptertest.Play{Keyword: "FAILED", Data: "out of time"}
		}
		return adaptertest.Play{}
	})
	inWorld(t, options{play: play, chunk: 2}, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(4))
		w.final(time.Hour, id)
		hours := func(n int) jjm.Duration { return jjm.Duration(time.Duration(n) * time.Hour) }
		again := func(got wire.Resubmitted, jobs int) {
			t.Helper()
			if got.Jobs != jobs || got.Error != nil || got.Generation == 0 {
				t.Fatalf("%+v", got)
			}
			w.until(time.Hour, "the next generation is over", func() bool {
				st := w.status(id)
				return st.Generation == got.Generation && st.Over() && w.archived(id)
			})
		}
		again(w.with(jjm.Resources{Walltime: hours(2)}, false, id.String()), 2)
		if st := w.status(id); !strings.Contains(st.Endings[0].Why, "with walltime 2h") {
			t.Errorf("%+v", st.Endings)
		}
		again(w.resubmit(false, id.String()), 1)
		again(w.with(jjm.Resources{MemoryMB: 700, Walltime: hours(9)}, false, id.String()), 1)
		seen.want(id, 1, 0, jjm.Request{})
		seen.want(id, 1, 1, jjm.Request{Walltime: hours(2)})
		seen.want(id, 2, 1, jjm.Request{Walltime: hours(2)})
		seen.want(id, 1, 2, jjm.Request{Walltime: hours(2)})
		seen.want(id, 1, 3, jjm.Request{Walltime: hours(9), MemoryMB: 700})
		if st := w.status(id); st.Lookup.Status != "done" {
			t.Errorf("%+v", st)
		}
		w.verifyQuiet()
	})
}

// Resources that no cluster allows are refused with the same error as in a submission, and nothing is stored. A cluster
// that cannot provide the new resources is left out.
func TestResources_ThatTheSiteDoesNotAllow(t *testing.T) {
	t.Parallel()
	seen := &requests{t: t}
	o := options{play: seen.noting(failsWithout(2000, 0, 1)),
		sim:  adaptertest.SimConfig{MaxMemoryMB: 1000},
		more: []adaptertest.SimConfig{{Name: "big", MaxMemoryMB: 4000, MaxWalltime: 5 * time.Hour}}}
	inWorld(t, o, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(4, "clusters = [\"sim\", \"big\"]"))
		w.final(time.Hour, id)
		for _, c := range []struct {
			asked jjm.Resources
			want  string
		}{
			{jjm.Resources{MemoryMB: 4001}, "request.memory_mb: 4001 is more than cluster big allows one job: at most 4000"},
			{jjm.Resources{MemoryMB: 2000, Walltime: jjm.Duration(6 * time.Hour)},
				"request.walltime: 6h is more than cluster big"},
			{jjm.Resources{MemoryMB: -1}, "request.memory_mb: -1 is out of range: want 1 to 16777216 (MiB)"},
			{jjm.Resources{Walltime: 1}, "request.walltime: 1ns is out of range"},
			{jjm.Resources{Queue: "-x"}, "request.queue: \"-x\": want a queue's name"},
		} {
			if text := w.refused(w.with(c.asked, false, id.String()), jjm.Invalid); !strings.Contains(text, c.want) {
				t.Errorf("%+v: %s", c.asked, text)
			}
		}
		if st := w.status(id); st.Reopening != nil || st.Generation > 1 {
			t.Fatalf("something was stored: %+v", st)
		}
		got := w.with(jjm.Resources{MemoryMB: 2000}, false, id.String())
		if got.Error != nil || len(got.Notes) != 1 || !strings.HasPrefix(got.Notes[0], "not on sim: request.memory_mb") {
			t.Fatalf("%+v", got)
		}
		w.until(time.Hour, "over again", func() bool { return w.status(id).Generation == 2 && w.isOver(id) })
		for _, n := range []int32{0, 1} {
			seen.want(id, n, 1, jjm.Request{MemoryMB: 2000})
			if l := w.locals(id)[n]; l.Cluster != "big" {
				t.Errorf("%+v", l)
			}
		}
		w.verifyQuiet()
	})
}

// A local job is killed before any batch system has it, and is resubmitted with other resources. It is submitted with
// the new resources, although it was queued with the old ones.
func TestResources_OfALocalJobThatWaited(t *testing.T) {
	t.Parallel()
	seen := &requests{t: t}
	play := seen.noting(func(jjm.AttemptID, adaptertest.SimJob) adaptertest.Play {
		return adaptertest.Play{Life: time.Hour}
	})
	limited := func(c *engineConfig) { c.MaxPending = 2 }
	o := options{play: play, config: limited, sim: adaptertest.SimConfig{Slots: 1, MaxBulk: 1}}
	inWorld(t, o, func(t *testing.T, w *world) {
		id := w.submit(alice, mc(6))
		w.until(time.Hour, "one runs", func() bool { return w.lookup(id).Counts.Running == 1 })
		if k := w.kill(id.String() + ".4-5"); k.Error != nil {
			t.Fatalf("%+v", k)
		}
		w.until(time.Hour, "two killed", func() bool { return w.lookup(id).Counts.Killed == 2 })
		got := w.with(jjm.Resources{MemoryMB: 5000}, false, id.String()+".4-5")
		if got.Jobs != 2 || got.Error != nil {
			t.Fatalf("%+v", got)
		}
		w.final(20*time.Hour, id)
		w.verify(id, done(6))
		seen.want(id, 3, 0, jjm.Request{})
		seen.want(id, 4, 0, jjm.Request{MemoryMB: 5000})
		seen.want(id, 5, 0, jjm.Request{MemoryMB: 5000})
		w.verifyQuiet()
	})
}

// Local jobs are resubmitted to one cluster of the grid job, and later to another. A cluster is refused if it is
// unknown, if the job file does not name it, or if it cannot read the files of a local job.
func TestResources_OfAnotherCluster(t *testing.T) {
	t.Parallel()
	play := func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
		if id.N < 2 && id.Attempt < 2 {
			return adaptertest.Play{Keyword: "FAILED", Data: "bad luck"}
		}
		return adaptertest.Play{}
	}
	inWorld(t, reading(options{play: play}), func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("result = \"glf\"\nclusters = [\"bee\", \"both\"]\n", "name = \"raw\"\n"+at(6, "b")))
		read := w.submit(alice, fileJob("result = \"glf\"\nclusters = \"any\"\n", "name = \"more\"\n"+at(6, "b")))
		w.final(time.Hour, id, read)
		for _, c := range []struct {
			id            jjm.GridID
			cluster, want string
		}{
			{id, "nowhere", "clusters: unknown cluster \"nowhere\": this site has "},
			{id, "sim", "clusters: the job file does not let it go to cluster \"sim\": want one of bee, both"},
			{read, "sim", "clusters: cluster sim cannot read the files of some of these local jobs: only "},
		} {
			got := w.refused(w.with(jjm.Resources{Cluster: c.cluster}, false, c.id.String()), jjm.Invalid)
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("%s: %s", c.cluster, got)
			}
		}
		for i, name := range []string{"both", "bee"} {
			if got := w.with(jjm.Resources{Cluster: name}, false, id.String()); got.Error != nil || got.Jobs != 2 {
				t.Fatalf("%+v", got)
			}
			w.until(time.Hour, "over again", func() bool {
				return w.status(id).Generation == i+2 && w.isOver(id) && w.archived(id)
			})
			for n := range int32(2) {
				if l := w.locals(id)[n]; l.Cluster != name {
					t.Errorf("local job %s went to %s, want %s", l.ID, l.Cluster, name)
				}
			}
		}
		if st := w.status(id); st.Lookup.Status != "done" {
			t.Errorf("%+v", st)
		}
		w.verifyPlaces(id, read)
		w.verifyQuiet()
	})
}
