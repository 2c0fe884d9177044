package engine

import (
	"container/heap"
	"jjm"
	"jjm/plan"
	"sync"
) // grid is a live grid job in memory. It changes only under both locks of the
// engine (Engine.change, Engine.adjust), so that holding either is enough to read
// it. What only tells publishers and watchers that there is something new - dirty,
// headDirty, pointed, version - is the memory lock's alone, for reading too.
type grid struct {
	job    jjm.GridJob // uses is the engine's: local jobs of live grid jobs by their last bulk.
	uses   map[jjm.Tag]int
	locals []jjm.LocalJob     // index = number
	counts [jjm.NumStates]int // of those whose work was not given back
	// givenBack counts the others.
	givenBack int
	// bySteps counts all of them step by step.
	bySteps [jjm.StepMerge + 1]tallied
	// on counts by cluster those that are or were in a bulk.
	on map[string]*tally
	// mine is the engine's count of its account, counted its share of the local jobs.
	mine    *plan.PerUser
	counted int
	// refused are clusters that will never take its local jobs of a place, and
	// why; after a restart they are asked once more.
	refused map[spot]string
	// ready are local jobs to submit, by their place, in order; waiting those whose
	// time has not come. Both may hold entries that no longer apply.
	ready   queues
	waiting waitHeap
	// unsentAt counts by place those that no batch system has got yet, or that wait
	// for their next attempt.
	unsentAt counter
	// retrying counts the local jobs between two attempts.
	retrying int
	// held counts the local jobs that are held, by whomever.
	held int
	// asked counts the local jobs that are not over and carry a kill.
	asked int
	// ran and submitted remember that any local job ever was.
	ran, submitted bool
	// failure is why the grid job cannot go on (before anything was submitted).
	failure string
	// trouble is why its next step cannot be done just now, for people.
	trouble string
	// dirty are the record's shards to rewrite; headDirty its head.
	dirty     map[int]bool
	headDirty bool
	pub       *sync.Mutex // held while the record is written
	// pointed is set once the handle of its key leads to its record.
	pointed bool
	// published is set once the whole record was marked for its last writing.
	published bool
	// swept is set once its bulks are not counted as in use any more.
	swept bool
	// version grows with every change: watchers compare it.
	version uint64
	cutting *cutting
	// reads is how far it is with its datasets, nil if it reads none.
	reads *reads
	// merge is how far its second step is, nil if it merges nothing.
	merge *reads
	// producing counts the local jobs of the first step that may still make
	// something, merging those that wait for their merging, mergesLive those of the
	// second step that are not over.
	producing, merging, mergesLive int
}

// bulk is a bulk that is not closed.
type bulk struct {
	jjm.Bulk
	open int // members whose attempt has not ended
	// seen[i] is the cycle in which position i was last listed.
	seen []uint32
	// tried is when the command last ran or began to.
	tried jjm.Time
	// released is when a held bulk was released: a listing from before tells
	// nothing about holds. 0 since a restart.
	released jjm.Time
	// done and progress are the folders' times at the last look, progressAt
	// when that was; nanoseconds.
	done, progress, progressAt int64
	// nextDone and nextProgress are the positions at which looks that were cut short
	// go on.
	nextDone, nextProgress int32
}

// shardOf gives the number of the record shard of a local job.
func shardOf(n int32) int { return int(n) / shardSize }

// shardSize is the number of local jobs in one shard of a record.
const shardSize = 1000

func newGrid(job jjm.GridJob) *grid {
	g := &grid{job: job, uses: map[jjm.Tag]int{}, dirty: map[int]bool{}, headDirty: true, pub: &sync.Mutex{}}
	if len(job.Spec.Datasets) > 0 {
		g.reads = &reads{}
	}
	if job.Spec.Merge != nil {
		g.merge = &reads{}
	}
	return g
}

// track gives a grid job that shares the engine's count of bulks in use.
func (e *Engine) track(job jjm.GridJob) *grid {
	g := newGrid(job)
	g.uses = e.uses
	g.mine = e.account(job.Owner.UID)
	g.mine.GridJobs++
	e.accounts.put(job.ID, job.Owner.UID)
	return g
}

// adjust changes what memory alone knows, under both locks. It waits for a change
// that is being committed, and must not be called by what decides on one.
func (e *Engine) adjust(do func()) {
	e.write.Lock()
	defer e.write.Unlock()
	e.mem.Lock()
	defer e.mem.Unlock()
	do()
}

// put stores a row and keeps the aggregates in step.
func (g *grid) put(l jjm.LocalJob) {
	defer g.recount()
	n := int(l.ID.N)
	switch {
	case n < len(g.locals):
		g.tally(&g.locals[n], -1)
		g.stage(&g.locals[n], -1)
		g.count(&g.locals[n], -1)
		g.asked -= asked(&g.locals[n])
		g.retrying -= retrying(&g.locals[n])
		g.unsentAt.add(g.locals[n].Place, -unsent(&g.locals[n]))
		g.held -= holding(&g.locals[n])
		g.release(g.locals[n].Tag)
		l.Progress = keepProgress(g.locals[n], l)
		l.Waits = keepWaits(g.locals[n], l)
		g.locals[n] = l
	case n == len(g.locals):
		g.locals = append(g.locals, l)
	default:
		return // dense by construction; load checks it
	}
	g.tally(&l, 1)
	g.stage(&l, 1)
	g.count(&l, 1)
	g.asked += asked(&l)
	g.retrying += retrying(&l)
	g.unsentAt.add(l.Place, unsent(&l))
	g.held += holding(&l)
	if l.Tag != "" {
		g.uses[l.Tag]++
	}
	g.dirty[shardOf(l.ID.N)] = true
	g.headDirty = true
	tried := l.Counters != (jjm.Counters{}) // by an attempt that ended; one that was refused counts nowhere
	g.submitted = g.submitted || l.Submitted != 0 || tried
	g.ran = g.ran || l.Started != 0 || tried
	switch {
	case l.State == jjm.New && !l.Kill && l.Step == jjm.StepMerge: // before all others (JEDI: priority 5000)
		g.ready.pushFront(l.Place, l.ID.N)
	case l.State == jjm.New && !l.Kill:
		g.ready.push(l.Place, l.ID.N)
	case l.State == jjm.Submitting && l.Phase == jjm.RetryWait && !l.Kill:
		heap.Push(&g.waiting, waiting{l.NotBefore, l.ID.N})
	}
}

// stage counts a local job by where it stands between the steps, by d.
func (g *grid) stage(l *jjm.LocalJob, d int) {
	switch {
	case l.State.Final():
	case l.Step == jjm.StepMerge:
		g.mergesLive += d
	case l.IsMerging():
		g.merging += d
	default:
		g.producing += d
	}
}

// release counts one use less of a bulk.
func (g *grid) release(tag jjm.Tag) {
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

// live counts the local jobs that are not over.
func (g *grid) live() int {
	return len(g.locals) - g.givenBack - g.counts[jjm.Completed] - g.counts[jjm.Failed] - g.counts[jjm.Killed]
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

// due moves the waiting local jobs whose time has come to ready.
func (g *grid) due(now jjm.Time) {
	for len(g.waiting) > 0 && g.waiting[0].at <= now {
		w := heap.Pop(&g.waiting).(waiting)
		g.ready.push(g.locals[w.n].Place, w.n)
	}
}

// eligible reports whether local job n is to be submitted now.
func (g *grid) eligible(n int32, now jjm.Time) bool {
	l := &g.locals[n]
	if l.Kill {
		return false
	}
	return l.State == jjm.New ||
		l.State == jjm.Submitting && l.Phase == jjm.RetryWait && l.NotBefore <= now
}

// trim drops what is no longer eligible from the front of what is ready of a place
// and gives its length; entries behind the front may still be stale.
func (g *grid) trim(place int32, now jjm.Time) int {
	q := g.ready.of(place)
	for len(q) > 0 && !g.eligible(q[0], now) {
		q = q[1:]
	}
	g.ready.set(place, q)
	return len(q)
}

type waiting struct {
	at jjm.Time
	n  int32
}

// waitHeap orders waiting local jobs by time.
type waitHeap []waiting

func (h waitHeap) Len() int           { return len(h) }
func (h waitHeap) Less(i, j int) bool { return h[i].at < h[j].at }
func (h waitHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *waitHeap) Push(x any) { *h = append(*h, x.(waiting)) }

// Pop implements heap.Interface.
func (h *waitHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// local gives the live row of a local job, or nil.
func (e *Engine) local(id jjm.LocalID) *jjm.LocalJob {
	g := e.grids[id.Grid]
	if g == nil || int(id.N) >= len(g.locals) || id.N < 0 {
		return nil
	}
	return &g.locals[id.N]
}

// current gives the live row of an attempt that is its local job's current one
// and is not over, or nil.
func (e *Engine) current(id jjm.AttemptID) *jjm.LocalJob {
	l := e.local(id.LocalID)
	if l == nil || l.Attempt != id.Attempt || !l.State.InBatch() || l.Tag == "" || l.Phase == jjm.RetryWait || l.IsMerging() {
		return nil
	}
	return l
}

// jobOf copies a live grid job's row.
func (e *Engine) jobOf(id jjm.GridID) jjm.GridJob {
	e.mem.RLock()
	defer e.mem.RUnlock()
	if g := e.grids[id]; g != nil {
		return g.job
	}
	return jjm.GridJob{}
}

// attemptRow copies the row of an attempt that is current.
func (e *Engine) attemptRow(id jjm.AttemptID) (jjm.LocalJob, jjm.Owner, bool) {
	e.mem.RLock()
	defer e.mem.RUnlock()
	l := e.current(id)
	if l == nil {
		return jjm.LocalJob{}, jjm.Owner{}, false
	}
	return *l, e.grids[id.Grid].job.Owner, true
}
