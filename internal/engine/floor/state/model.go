package state

import (
	"container/heap"
	"strings"
	"sync"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// Grid is a live grid job in memory.
type Grid struct {
	Job    jjm.GridJob
	Locals []jjm.LocalJob // index = number
	// uses is State.uses, shared by all live grid jobs.
	uses map[jjm.Tag]int
	// mine is the account's entry in State.live, nil for a row of the history; counted is
	// the number of this grid job's local jobs in that entry.
	mine    *plan.PerUser
	counted int
	counts
	sending
	// revived is set while the grid job is over and its rows are in memory to be reopened.
	revived bool
	// failure is the reason why the grid job can never continue. It is set only before a local job is submitted.
	failure string
	// trouble is why the grid job's next step fails at present, for people.
	trouble string
	// Pub is locked while the record is written, so that only one writer writes it.
	Pub *sync.Mutex
	published
	cutting *Cutting
	// Reads describes the datasets of the first step, nil if it reads none.
	Reads *Reads
	// Merge describes the dataset of the second step, nil if the grid job does not merge.
	Merge *Reads
}

// counts are counters of a grid job's local jobs, kept up to date by put.
type counts struct {
	Counts [jjm.NumStates]int // by state, without the local jobs that gave their work back
	// GivenBack counts the local jobs that gave their work back.
	GivenBack int
	// Unsubmitted counts the local jobs that are new and are not to be submitted.
	Unsubmitted int
	// Forced counts the local jobs that a person forced to completed.
	Forced int
	// bySteps counts the local jobs by step.
	bySteps [jjm.StepMerge + 1]tallied
	// causes counts the local jobs that failed or are tried again, by cause.
	causes causes
	// ByCluster counts the local jobs that are or were in a bulk, by their last cluster.
	ByCluster map[string]*tally
	// retrying counts the local jobs between two attempts.
	retrying int
	// Held counts the local jobs that the application, the batch system or a person holds.
	Held int
	// KillsPending counts the local jobs that are to be killed and have not ended.
	KillsPending int
	// Ran is set if a local job ever ran, Submitted if a local job was ever submitted.
	Ran, Submitted bool
	// Producing counts the local jobs of the first step that may still make outputs. Merging counts the local jobs
	// whose outputs wait to be merged. MergesLive counts the local jobs of the second step that have not ended.
	Producing, Merging, MergesLive int
}

// sending holds the local jobs of a grid job that are to be submitted.
type sending struct {
	// refused are the clusters that permanently refused local jobs of a place, each with the reason. It is not stored:
	// after a restart jjm submits to these clusters once more.
	refused map[Spot]string
	// ready are the local jobs to submit, by place, in order; waiting are the local jobs whose
	// NotBefore is in the future. Both may hold stale entries, which trim and eligible
	// sort out.
	ready   queues
	waiting waitHeap
	// queuedAt holds the only valid entry in ready of each local job. Without queuedAt, a local job that is held and
	// released, or moved, while it is ready would be submitted twice.
	queuedAt entries
	// UnsentAt counts, by place, the local jobs that wait for their first or next
	// submission.
	UnsentAt counter
}

// Bulk is a bulk that is not closed.
type Bulk struct {
	jjm.Bulk
	Open int // members whose attempt has not ended
	// seen[i] is the cycle in which position i was last listed. Only the watch loop
	// touches it.
	seen []uint32
	// tried is when the submission command last started, 0 if not since the daemon
	// started.
	tried jjm.Time
	// unsent is set if every submission since the bulk was made ended before a command of the batch system started. It
	// is not stored, and is false after a restart: if it were stored, it would have to be cleared by a commit before
	// every submission command, because a daemon that dies during the command must not find it set. After a restart each
	// such bulk is searched for instead, which changes nothing and ends with the first answer of the batch system.
	unsent bool
	// released is when a held bulk was released, 0 if not since the daemon started. A
	// listing from before that still shows jjm's own hold.
	released jjm.Time
	// Look is how far the bulk's folders were read.
	Look Look
}

// Released returns when a held bulk was released, 0 if not since the daemon started. A
// listing from before that still shows jjm's own hold.
func (b *Bulk) Released() jjm.Time { return b.released }

// See notes that a position was listed in a cycle. Only the watch loop calls it.
func (b *Bulk) See(pos int32, cycle uint32) { b.seen[pos] = cycle }

// SeenIn reports whether a position was last listed in a cycle. Only the watch loop
// calls it.
func (b *Bulk) SeenIn(pos int, cycle uint32) bool { return b.seen[pos] == cycle }

// Look is how far the folders of a bulk were read.
type Look struct {
	// Done is the time stamp of the folder of results at the last complete look, in
	// nanoseconds since 1970, -1 before the first. NextDone is the position at which an
	// incomplete look continues.
	Done     int64
	NextDone int32
	// Progress and Fragments describe the folders of files that running attempts rewrite.
	Progress, Fragments LiveLook
}

// LiveLook is how far a folder was read whose files running attempts rewrite. Times are in nanoseconds since 1970.
type LiveLook struct {
	Seen int64 // the folder's time stamp at the last complete look
	At   int64 // time of the last look
	Next int32 // the position at which an incomplete look continues
}

// note notes a look. next is the position at which it continues, negative if it was
// complete; seen is the folder's time stamp.
func (l *LiveLook) note(next int32, seen, now int64) {
	if l.Next, l.At = max(next, 0), now; next < 0 {
		l.Seen = seen
	}
}

// ShardOf returns the number of the record shard of a local job.
func ShardOf(n int32) int { return int(n) / ShardSize }

// ShardSize is the number of local jobs in one shard of a record.
const ShardSize = 1000

// NewGrid returns a grid job in memory that is not part of any State, for instance for a row of the
// history.
func NewGrid(job jjm.GridJob) *Grid {
	g := &Grid{Job: job, uses: map[jjm.Tag]int{}, Pub: &sync.Mutex{},
		counts:    counts{Submitted: job.Generation > 1}, // in an earlier generation
		published: published{dirty: map[int]bool{}, headDirty: true}}
	if len(job.Spec.Datasets) > 0 {
		g.Reads = &Reads{}
	}
	if job.Spec.Merge != nil {
		g.Merge = &Reads{}
	}
	return g
}

// track returns a grid job that takes part in the State's counts of bulks in use and of
// the account's live jobs.
func (s *State) track(job jjm.GridJob) *Grid {
	g := NewGrid(job)
	g.uses = s.uses
	g.mine = s.account(job.Owner.UID)
	g.mine.GridJobs++
	s.Accounts.Put(job.ID, job.Owner.UID)
	return g
}

// put replaces the row of a local job, or adds the row of the next local job, and updates all counters. A local job
// that may be submitted, or waits for its next attempt, is queued. A row beyond the next number is ignored.
func (g *Grid) put(l jjm.LocalJob) {
	defer g.recount()
	n := int(l.ID.N)
	switch {
	case n < len(g.Locals):
		g.tally(&g.Locals[n], -1)
		g.countStage(&g.Locals[n], -1)
		g.count(&g.Locals[n], -1)
		g.blame(&g.Locals[n], -1)
		g.KillsPending -= killPending(&g.Locals[n])
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
		return // numbers are dense: Insert makes them so, and Load checks it
	}
	g.tally(&l, 1)
	g.countStage(&l, 1)
	g.count(&l, 1)
	g.blame(&l, 1)
	g.KillsPending += killPending(&l)
	g.retrying += retrying(&l)
	g.UnsentAt.add(l.Place, Unsent(&l))
	g.Held += holding(&l)
	if l.Tag != "" {
		g.uses[l.Tag]++
	}
	g.dirty[ShardOf(l.ID.N)] = true
	g.headDirty = true
	tried := l.Counters != (jjm.Counters{}) // an attempt ended; a refused submission counts nowhere
	g.Submitted = g.Submitted || l.Submitted != 0 || tried
	g.Ran = g.Ran || l.Started != 0 || tried
	switch {
	case l.IsUnsubmitted():
	case l.State == jjm.New && !l.Kill && l.Step == jjm.StepMerge: // merges go first (JEDI: priority 5000)
		if g.queuedAt.add(l.ID.N, l.Place) {
			g.ready.pushFront(l.Place, l.ID.N)
		}
	case l.State == jjm.New && !l.Kill:
		g.makeReady(l.ID.N)
	case l.State == jjm.Submitting && l.Phase == jjm.RetryWait && !l.Kill:
		heap.Push(&g.waiting, waiting{l.NotBefore, l.ID.N})
	}
}

// makeReady adds a local job to the queue of its place, unless it is there.
func (g *Grid) makeReady(n int32) {
	if place := g.Locals[n].Place; g.queuedAt.add(n, place) {
		g.ready.Push(place, n)
	}
}

// countStage adds d to Producing, Merging or MergesLive for a local job.
func (g *Grid) countStage(l *jjm.LocalJob, d int) {
	switch {
	case l.Over():
	case l.Step == jjm.StepMerge:
		g.MergesLive += d
	case l.IsMerging():
		g.Merging += d
	default:
		g.Producing += d
	}
}

// release counts one local job less that uses a bulk. The tag "" stands for no bulk.
func (g *Grid) release(tag jjm.Tag) {
	if tag != "" {
		g.uses[tag]--
	}
}

// killPending, retrying and holding return 1 if a local job counts in KillsPending, retrying or Held, else 0.
func killPending(l *jjm.LocalJob) int {
	if l.Kill && !l.Over() {
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

// Live returns the number of local jobs that have not ended.
func (g *Grid) Live() int {
	return len(g.Locals) - g.GivenBack - jjm.Ended(g.Counts) - g.Unsubmitted
}

// keepProgress returns the progress for a new row of a local job: the progress of the old
// row while the attempt is the same, because progress is not in the store.
func keepProgress(old, l jjm.LocalJob) jjm.Progress {
	if l.Progress == (jjm.Progress{}) && old.Attempt == l.Attempt {
		return old.Progress
	}
	return l.Progress
}

// keepWaits returns Waits for a new row of a local job: the Waits of the old row while the
// same attempt waits, else nil.
func keepWaits(old, l jjm.LocalJob) *jjm.Waiting {
	if l.State == jjm.Submitted && old.Attempt == l.Attempt {
		return old.Waits
	}
	return nil
}

// eligible reports whether local job n may be submitted now from the queue of a place. A
// resubmission may have changed the local job's place since it was queued.
func (g *Grid) eligible(n, place int32, now jjm.Time) bool {
	l := &g.Locals[n]
	if l.Kill || l.Place != place || !g.queuedAt.has(n, place) {
		return false
	}
	return l.State == jjm.New && !Withholds(g, l) ||
		l.State == jjm.Submitting && l.Phase == jjm.RetryWait && l.NotBefore <= now
}

// trim drops stale entries from the front of the queue of a place and returns its length.
// Entries behind the first may still be stale.
func (g *Grid) trim(place int32, now jjm.Time) int {
	q := g.ready.Of(place)
	for len(q) > 0 && !g.eligible(q[0], place, now) {
		g.queuedAt.remove(q[0], place)
		q = q[1:]
	}
	g.ready.Set(place, q)
	return len(q)
}

// Failure returns the reason why the grid job can never continue, "" if it can continue.
func (g *Grid) Failure() string { return g.failure }

// Trouble returns why the grid job's next step fails at present, for people, "" if it does not.
func (g *Grid) Trouble() string { return g.trouble }

// Cutting returns how the job type cuts the grid job, nil if the type was not asked since
// the daemon started.
func (g *Grid) Cutting() *Cutting { return g.cutting }

// Local returns the live row of a local job, or nil.
func (m Memory) Local(id jjm.LocalID) *jjm.LocalJob {
	g := m.Grid(id.Grid)
	if g == nil || int(id.N) >= len(g.Locals) || id.N < 0 {
		return nil
	}
	return &g.Locals[id.N]
}

// Current returns the row of a local job if the attempt is its current attempt and may be in a batch system, else nil.
func (m Memory) Current(id jjm.AttemptID) *jjm.LocalJob {
	l := m.Local(id.LocalID)
	if l == nil || l.Attempt != id.Attempt || !l.State.InBatch() || l.Tag == "" || l.Phase == jjm.RetryWait ||
		l.IsMerging() {
		return nil
	}
	return l
}

// JobOf returns a copy of a live grid job's row, or a zero GridJob.
func (s *State) JobOf(id jjm.GridID) jjm.GridJob {
	s.mem.RLock()
	defer s.mem.RUnlock()
	if g := s.grids[id]; g != nil {
		return g.Job
	}
	return jjm.GridJob{}
}

// AttemptRow returns a copy of the row of a local job, and the owner, if the attempt is the local job's current
// attempt; see Memory.Current.
func (s *State) AttemptRow(id jjm.AttemptID) (jjm.LocalJob, jjm.Owner, bool) {
	s.mem.RLock()
	defer s.mem.RUnlock()
	l := Memory{s}.Current(id)
	if l == nil {
		return jjm.LocalJob{}, jjm.Owner{}, false
	}
	return *l, s.grids[id.Grid].Job.Owner, true
}

// PartOf reports whether the batch id of a job belongs to the bulk with the given id: it
// is that id, followed by nothing or by something other than a digit. "42_7" and "42.7"
// belong to "42", "427" does not.
func PartOf(job, bulk string) bool {
	rest, ok := strings.CutPrefix(job, bulk)
	return ok && bulk != "" && (rest == "" || rest[0] < '0' || rest[0] > '9')
}
