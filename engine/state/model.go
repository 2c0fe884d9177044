package state

import (
	"container/heap"
	"strings"
	"sync"

	"jjm"
	"jjm/plan"
)

// Grid is a live grid job in memory.
type Grid struct {
	Job    jjm.GridJob
	Locals []jjm.LocalJob // index = number
	// uses is the state's: local jobs of live grid jobs by their last bulk.
	uses map[jjm.Tag]int
	// mine is the state's count of its account, counted its share of the local jobs.
	mine    *plan.PerUser
	counted int
	counts
	sending
	// failure is why the grid job cannot go on (before anything was submitted).
	failure string
	// trouble is why its next step cannot be done just now, for people.
	trouble string
	// Pub is held while the record is written.
	Pub *sync.Mutex
	published
	cutting *Cutting
	// Reads is how far it is with its datasets, nil if it reads none.
	Reads *Reads
	// Merge is how far its second step is, nil if it merges nothing.
	Merge *Reads
}

// counts are of the local jobs of a grid job.
type counts struct {
	Counts [jjm.NumStates]int // of those whose work was not given back
	// GivenBack counts the others.
	GivenBack int
	// bySteps counts all of them step by step.
	bySteps [jjm.StepMerge + 1]tallied
	// On counts by cluster those that are or were in a bulk.
	On map[string]*tally
	// retrying counts those between two attempts.
	retrying int
	// Held counts those that are held, by whomever.
	Held int
	// Asked counts those that are not over and carry a kill.
	Asked int
	// Ran and Submitted remember that any ever was.
	Ran, Submitted bool
	// Producing counts those of the first step that may still make something, Merging
	// those that wait for their merging, MergesLive those of the second step that are
	// not over.
	Producing, Merging, MergesLive int
}

// sending is what of a grid job is to be submitted, and where to.
type sending struct {
	// refused are clusters that will never take its local jobs of a place, and
	// why; after a restart they are asked once more.
	refused map[Spot]string
	// ready are local jobs to submit, by their place, in order; waiting those whose
	// time has not come. Both may hold entries that no longer apply.
	ready   queues
	waiting waitHeap
	// UnsentAt counts by place those that no batch system has got yet, or that wait
	// for their next attempt.
	UnsentAt counter
}

// Bulk is a bulk that is not closed.
type Bulk struct {
	jjm.Bulk
	Open int // members whose attempt has not ended
	// seen[i] is the cycle in which position i was last listed; the watch loop's alone.
	seen []uint32
	// tried is when the command last ran or began to.
	tried jjm.Time
	// released is when a held bulk was released: a listing from before tells
	// nothing about holds. 0 since a restart.
	released jjm.Time
	// Look is how far its folders were looked at.
	Look Look
}

// Released is when a held bulk was released: a listing from before tells nothing about
// holds. 0 since a restart.
func (b *Bulk) Released() jjm.Time { return b.released }

// See notes that a position was listed in a cycle. Only the watch loop calls it.
func (b *Bulk) See(pos int32, cycle uint32) { b.seen[pos] = cycle }

// SeenIn reports whether a position was last listed in a cycle. Only the watch loop
// calls it.
func (b *Bulk) SeenIn(pos int, cycle uint32) bool { return b.seen[pos] == cycle }

// Look is how far the folders of a bulk were looked at.
type Look struct {
	// Done is the time of the folder of results at the last look, in nanoseconds;
	// NextDone the position at which a look that was cut short goes on.
	Done     int64
	NextDone int32
	// Progress and Fragments are those of files that attempts write again and again.
	Progress, Fragments LiveLook
}

// LiveLook is how far a folder of such files was looked at. Times are in nanoseconds.
type LiveLook struct {
	Seen int64 // the folder's time at the last look that came to its end
	At   int64 // when the last look was
	Next int32 // the position at which a look that was cut short goes on
}

// note notes a look: its next is negative if it came to the end.
func (l *LiveLook) note(next int32, seen, now int64) {
	if l.Next, l.At = max(next, 0), now; next < 0 {
		l.Seen = seen
	}
}

// ShardOf returns the number of the record shard of a local job.
func ShardOf(n int32) int { return int(n) / ShardSize }

// ShardSize is the number of local jobs in one shard of a record.
const ShardSize = 1000

func NewGrid(job jjm.GridJob) *Grid {
	g := &Grid{Job: job, uses: map[jjm.Tag]int{}, Pub: &sync.Mutex{},
		published: published{dirty: map[int]bool{}, headDirty: true}}
	if len(job.Spec.Datasets) > 0 {
		g.Reads = &Reads{}
	}
	if job.Spec.Merge != nil {
		g.Merge = &Reads{}
	}
	return g
}

// track returns a grid job that shares the engine's count of bulks in use.
func (s *State) track(job jjm.GridJob) *Grid {
	g := NewGrid(job)
	g.uses = s.uses
	g.mine = s.account(job.Owner.UID)
	g.mine.GridJobs++
	s.Accounts.Put(job.ID, job.Owner.UID)
	return g
}

// put stores a row and keeps the aggregates in step.
func (g *Grid) put(l jjm.LocalJob) {
	defer g.recount()
	n := int(l.ID.N)
	switch {
	case n < len(g.Locals):
		g.tally(&g.Locals[n], -1)
		g.stage(&g.Locals[n], -1)
		g.count(&g.Locals[n], -1)
		g.Asked -= asked(&g.Locals[n])
		g.retrying -= retrying(&g.Locals[n])
		g.UnsentAt.add(g.Locals[n].Place, -Unsent(&g.Locals[n]))
		g.Held -= holding(&g.Locals[n])
		g.release(g.Locals[n].Tag)
		l.Progress = keepProgress(g.Locals[n], l)
		l.Waits = keepWaits(g.Locals[n], l)
		g.Locals[n] = l
	case n == len(g.Locals):
		g.Locals = append(g.Locals, l)
	default:
		return // dense by construction; load checks it
	}
	g.tally(&l, 1)
	g.stage(&l, 1)
	g.count(&l, 1)
	g.Asked += asked(&l)
	g.retrying += retrying(&l)
	g.UnsentAt.add(l.Place, Unsent(&l))
	g.Held += holding(&l)
	if l.Tag != "" {
		g.uses[l.Tag]++
	}
	g.dirty[ShardOf(l.ID.N)] = true
	g.headDirty = true
	tried := l.Counters != (jjm.Counters{}) // by an attempt that ended; one that was refused counts nowhere
	g.Submitted = g.Submitted || l.Submitted != 0 || tried
	g.Ran = g.Ran || l.Started != 0 || tried
	switch {
	case l.State == jjm.New && !l.Kill && l.Step == jjm.StepMerge: // before all others (JEDI: priority 5000)
		g.ready.pushFront(l.Place, l.ID.N)
	case l.State == jjm.New && !l.Kill:
		g.ready.Push(l.Place, l.ID.N)
	case l.State == jjm.Submitting && l.Phase == jjm.RetryWait && !l.Kill:
		heap.Push(&g.waiting, waiting{l.NotBefore, l.ID.N})
	}
}

// stage counts a local job by where it stands between the steps, by d.
func (g *Grid) stage(l *jjm.LocalJob, d int) {
	switch {
	case l.State.Final():
	case l.Step == jjm.StepMerge:
		g.MergesLive += d
	case l.IsMerging():
		g.Merging += d
	default:
		g.Producing += d
	}
}

// release counts one use less of a bulk.
func (g *Grid) release(tag jjm.Tag) {
	if tag != "" {
		g.uses[tag]--
	}
}

func asked(l *jjm.LocalJob) int {
	if l.Kill && !l.State.Final() {
		return 1
	}
	return 0
}

func retrying(l *jjm.LocalJob) int {
	if l.State == jjm.Submitting && l.Phase == jjm.RetryWait {
		return 1
	}
	return 0
}

func holding(l *jjm.LocalJob) int {
	if l.IsHeld() {
		return 1
	}
	return 0
}

// Live counts the local jobs that are not over.
func (g *Grid) Live() int {
	return len(g.Locals) - g.GivenBack - g.Counts[jjm.Completed] - g.Counts[jjm.Failed] - g.Counts[jjm.Killed]
}

// keepProgress keeps what the application said of itself while its attempt
// lasts: progress lives in memory only, never in the store.
func keepProgress(old, l jjm.LocalJob) jjm.Progress {
	if l.Progress == (jjm.Progress{}) && old.Attempt == l.Attempt {
		return old.Progress
	}
	return l.Progress
}

// keepWaits keeps what the batch system says of an attempt while it waits there.
func keepWaits(old, l jjm.LocalJob) *jjm.Waiting {
	if l.State == jjm.Submitted && old.Attempt == l.Attempt {
		return old.Waits
	}
	return nil
}

// eligible reports whether local job n is to be submitted now.
func (g *Grid) eligible(n int32, now jjm.Time) bool {
	l := &g.Locals[n]
	if l.Kill {
		return false
	}
	return l.State == jjm.New ||
		l.State == jjm.Submitting && l.Phase == jjm.RetryWait && l.NotBefore <= now
}

// trim drops what is no longer eligible from the front of what is ready of a place
// and returns its length; entries behind the front may still be stale.
func (g *Grid) trim(place int32, now jjm.Time) int {
	q := g.ready.Of(place)
	for len(q) > 0 && !g.eligible(q[0], now) {
		q = q[1:]
	}
	g.ready.Set(place, q)
	return len(q)
}

// Failure is why the grid job cannot go on (before anything was submitted), "" if it can.
func (g *Grid) Failure() string { return g.failure }

// Trouble is why its next step cannot be done just now, for people.
func (g *Grid) Trouble() string { return g.trouble }

// Cutting is what its handler decided, nil if it was not asked since the start.
func (g *Grid) Cutting() *Cutting { return g.cutting }

// Local returns the live row of a local job, or nil.
func (m Memory) Local(id jjm.LocalID) *jjm.LocalJob {
	g := m.Grid(id.Grid)
	if g == nil || int(id.N) >= len(g.Locals) || id.N < 0 {
		return nil
	}
	return &g.Locals[id.N]
}

// Current returns the live row of an attempt that is its local job's current one
// and is not over, or nil.
func (m Memory) Current(id jjm.AttemptID) *jjm.LocalJob {
	l := m.Local(id.LocalID)
	if l == nil || l.Attempt != id.Attempt || !l.State.InBatch() || l.Tag == "" || l.Phase == jjm.RetryWait ||
		l.IsMerging() {
		return nil
	}
	return l
}

// JobOf copies a live grid job's row.
func (s *State) JobOf(id jjm.GridID) jjm.GridJob {
	s.mem.RLock()
	defer s.mem.RUnlock()
	if g := s.grids[id]; g != nil {
		return g.Job
	}
	return jjm.GridJob{}
}

// AttemptRow copies the row of an attempt that is current.
func (s *State) AttemptRow(id jjm.AttemptID) (jjm.LocalJob, jjm.Owner, bool) {
	s.mem.RLock()
	defer s.mem.RUnlock()
	l := Memory{s}.Current(id)
	if l == nil {
		return jjm.LocalJob{}, jjm.Owner{}, false
	}
	return *l, s.grids[id.Grid].Job.Owner, true
}

// PartOf reports whether a job's batch id is one of a bulk's: the bulk's own id,
// followed by anything that does not go on with a digit ("42_7", "42.7").
func PartOf(job, bulk string) bool {
	rest, ok := strings.CutPrefix(job, bulk)
	return ok && bulk != "" && (rest == "" || rest[0] < '0' || rest[0] > '9')
}
