package engine_test

import (
	"sync"
	"testing"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// A job file may estimate memory and time per event. The requests of the local jobs follow from the estimates, in
// proportion to each part and rounded up. Resources that the job file requests explicitly are not changed. Successors
// and second attempts request the same.
func TestRequest_IncludesEstimates(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[int32]map[jjm.Request]int{}
	play := func(id jjm.AttemptID, job adaptertest.SimJob) adaptertest.Play {
		mu.Lock()
		defer mu.Unlock()
		if asked[id.N] == nil {
			asked[id.N] = map[jjm.Request]int{}
		}
		asked[id.N][job.Request]++
		if id.Attempt == 0 {
			return adaptertest.Play{Keyword: "RETRY", Data: "once more"}
		}
		return adaptertest.Play{}
	}
	inWorld(t, options{play: play, sim: adaptertest.SimConfig{Life: time.Minute}}, func(t *testing.T, w *world) {
		id := w.submit(alice, fileJob("result = \"glf\"\n", `name = "raw"
files = [{lfn = "a", events = 100}, {lfn = "b", events = 100}, {lfn = "c", events = 250}]
[request]
memory_mb = 777
[split]
by = "FileBased"
params = { files_per_job = 1, performance = { timePerEvent = 12.0, sizePerEvent = 3000.0, memoryRequirement = 2000.0 } }
`))
		w.final(10*time.Hour, id)
		for n, want := range []jjm.Request{
			{MemoryMB: 777, Walltime: jjm.Duration(20 * time.Minute), ScratchMB: 512},
			{MemoryMB: 777, Walltime: jjm.Duration(20 * time.Minute), ScratchMB: 512},
			{MemoryMB: 777, Walltime: jjm.Duration(50 * time.Minute), ScratchMB: 768},
		} {
			if got := asked[int32(n)]; len(got) != 1 || got[want] != 2 {
				t.Errorf("local job %d asked for %v, want %+v twice", n, got, want)
			}
		}
	})
}

// Each batch job requests the resources that GenericSplitter sets for its part. Only local jobs with the same request
// share a bulk, also after a restart and in every attempt.
func TestRequest_OfAPart(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked, bulks := map[int32]map[jjm.Request]int{}, map[string]jjm.Request{}
	play := func(id jjm.AttemptID, job adaptertest.SimJob) adaptertest.Play {
		mu.Lock()
		defer mu.Unlock()
		if asked[id.N] == nil {
			asked[id.N] = map[jjm.Request]int{}
		}
		asked[id.N][job.Request]++
		if was, known := bulks[job.Bulk]; known && was != job.Request {
			t.Errorf("bulk %s has jobs that ask for %+v and for %+v", job.Bulk, was, job.Request)
		}
		bulks[job.Bulk] = job.Request
		if asked[id.N][job.Request] == 1 {
			return adaptertest.Play{Keyword: "RETRY", Data: "once more"}
		}
		return adaptertest.Play{}
	}
	inWorld(t, options{play: play, sim: adaptertest.SimConfig{Life: time.Minute}}, func(t *testing.T, w *world) {
		id := w.submit(alice, `type = "script"
result = "glf"
[request]
walltime = "1h"
memory_mb = 100
[params]
command = ["run"]
[split]
by = "GenericSplitter"
params = {multi_attrs = {"backend.memory" = [500, 900, 500, 900], "backend.walltime" = ["2h", 60, "2h", 60]}}
`)
		w.running(id, 4)
		w.reopen()
		w.final(10*time.Hour, id)
		for n, memory := range []int64{500, 900, 500, 900} {
			want := jjm.Request{MemoryMB: memory, Walltime: jjm.Duration(2 * time.Hour)}
			if memory == 900 {
				want.Walltime = jjm.Duration(time.Minute)
			}
			if got := asked[int32(n)]; len(got) != 1 || got[want] < 2 {
				t.Errorf("local job %d asked for %v, want %+v twice", n, got, want)
			}
		}
	})
}
