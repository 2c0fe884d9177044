package state

import (
	"container/heap"
	"strings"
	"sync"

	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// Grid is a live grid job in memory, with the rows of its local jobs and facts that are derived from them.
type Grid struct {
	Job    jjm.GridJob
	Locals []jjm.LocalJob // the index is the number of the local job
	// uses is the map rows.uses of the State, which all live grid jobs share.
	uses map[jjm.Tag]int
	// mine is the entry of the owner's account in rows.live; nil if the Grid was made by NewGrid for a row of the history.
	// counted is how many local jobs of this grid job are counted in that entry.
	mine    *plan.PerUser
	counted int
	counts
	sending
	// revived is true from the time when the rows of the ended grid job are read into memory again until the grid job is
	// reopened.
	revived bool
	// failure is the reason why the grid job can never continue, "" if it can. It is set only before a local job is
	// submitted.
	failure string
	// trouble is the reason, for people, why the grid job's next step fails at present; "" if it does not fail.
	trouble string
	// Pub is locked while the record of the grid job is written, so that only one goroutine writes it.
	Pub *sync.Mutex
	published
	cutting *Cutting
	// Reads describes the datasets that the first step reads, nil if the step reads no dataset.
	Reads *Reads
	// Merge describes the dataset of the second step, which merges outputs of the first step; nil if the grid job does not
	// merge.
	Merge *Reads
}

// counts counts the local jobs of a grid job. The method put keeps the counters up to date.
type counts struct {
	Counts [jjm.NumStates]int // by state, without the local jobs counted in GivenBack
	// GivenBack counts the local jobs whose work other local jobs do again.
	GivenBack int
	// Unsubmitted counts the local jobs in state new that will not be submitted, because a batch system refused them or a
	// refusal stopped the submissions of the grid job.
	Unsubmitted int
	// Forced counts the local jobs that a person forced to completed.
	Forced int
	// bySteps counts the local jobs by step and state.
	bySteps [jjm.StepMerge + 1]tallied
	// causes counts the local jobs that failed or will be tried again, by the cause of the failure.
	causes causes
	// ByCluster counts the local jobs that are or were in a bulk, by the cluster of their last bulk.
	ByCluster map[string]*tally
	// retrying counts the local jobs whose last attempt has ended and whose next attempt is not submitted yet.
	retrying int
	// Held counts the local jobs that the application, the batch system or a person holds.
	Held int
	// KillsPending counts the local jobs that are to be killed and have not ended yet.
	KillsPending int
	// Ran is set if a local job ever ran, Submitted if a local job was ever submitted.
	Ran, Submitted bool
	// Producing counts the local jobs of the first step that may still make outputs. Merging counts the local jobs
	// whose outputs wait to be merged. MergesLive counts the local jobs of the second step that have not ended.
	Producing, Merging, MergesLive int
}

// sending holds the local jobs of a grid job that are to be submitted.
type sending struct {
	// refused are the clusters that permanently refused local jobs of a place, each with the reason. The field is not
	// stored: after a restart, jjm submits to these clusters once more.
	refused map[Spot]string
	// ready are the numbers of the local jobs that may be submitted now: a queue for each place. waiting are the local
	// jobs whose next attempt must not start before a time in the future (NotBefore). Both may contain stale entries; trim
	// and eligible find these.
	ready   queues
	waiting waitHeap
	// queuedAt holds, for each local job, its only valid entry in ready. Without queuedAt, a local job would be submitted
	// twice if it is held and released, or moved to another place, while it is in ready.
	queuedAt entries
	// UnsentAt counts, by place, the local jobs that wait for their first or next
	// submission.
	UnsentAt counter
}

// Bulk is an open bulk in memory. Its members are numbered by position, from 0.
type Bulk struct {
	jjm.Bulk
	Open int // number of members whose attempt has not ended
	// seen[i] is the number of the last round of listings that showed the batch job at position i. Only the watch loop of
	// the cluster uses it.
	seen []uint32
	// tried is when the submission command of the bulk last started, 0 if it has not started since the daemon's start.
	tried jjm.Time
	// unsent is set if every submission since the bulk was made ended before a command of the batch system started. Then
	// the batch system cannot have the bulk. unsent is not stored, and is false after a restart. If it were stored, every
	// submission command would need a commit before it that clears unsent, because a daemon that dies during the command
	// must not find it set. After a restart, jjm searches the batch system for each such bulk instead. The search changes
	// nothing, and the first answer of the batch system ends it.
	unsent bool
	// released is when jjm last ordered the batch system to release the bulk, which was submitted held; 0 if not since the
	// daemon's start. A listing from before that time still shows jjm's own hold.
	released jjm.Time
	// Look records how far the folders of the bulk were read.
	Look Look
}

// Released returns when jjm last ordered the batch system to release the bulk, which was submitted held; 0 if not since
// the daemon's start. A listing from before that time still shows jjm's own hold.
func (b *Bulk) Released() jjm.Time { return b.released }

// See notes that the round of listings with the number cycle showed the batch job at a position. Only the watch loop
// calls See.
func (b *Bulk) See(pos int32, cycle uint32) { b.seen[pos] = cycle }

// SeenIn reports whether the last round of listings that showed the batch job at a position has the number cycle. Only
// the watch loop calls SeenIn.
func (b *Bulk) SeenIn(pos int, cycle uint32) bool { return b.seen[pos] == cycle }

// Look records how far the folders of a bulk were read.
type Look struct {
	// Done is the time stamp of the folder of results at the last complete look, in nanoseconds since 1970; -1 before the
	// first complete look. NextDone is the position of the member at which an incomplete look continues.
	Done     int64
	NextDone int32
	// Progress describes the folder of progress files, Fragments the folder of fragments of records. Running attempts
	// rewrite the files in both.
	Progress, Fragments LiveLook
}

// LiveLook records how far a folder was read in which running attempts rewrite files. Times are in nanoseconds since
// 1970.
type LiveLook struct {
	Seen int64 // the folder's time stamp at the last complete look
	At   int64 // time of the last look
	Next int32 // the position at which an incomplete look continues
}

// note records a look at the folder. next is the position at which an incomplete look continues, negative if the look
// was complete. seen is the folder's time stamp; note ignores it after an incomplete look.
func (l *LiveLook) note(next int32, seen, now int64) {
	if l.Next, l.At = max(next, 0), now; next < 0 {
		l.Seen = seen
	}
}

// ShardOf returns the number of the record shard of a local job.
func ShardOf(n int32) int { return int(n) / ShardSize }

// ShardSize is the number of local jobs in one shard of a record. A record is the description of a grid job on disk,
// for people and programs: a head, and shards with the local jobs.
const ShardSize = 1000

// NewGrid returns a grid job in memory that is not part of any State. It is used, for instance, for a row of the
// history.
func NewGrid(job jjm.GridJob) *Grid {
	g := &Grid{Job: job, uses: map[jjm.Tag]int{}, Pub: &sync.Mutex{},
		counts:    counts{Submitted: job.Generation > 1}, // true in a later generation: the earlier one was submitted
		published: published{dirty: map[int]bool{}, headDirty: true}}
	if len(job.Spec.Datasets) > 0 {
		g.Reads = &Reads{}
	}
	if job.Spec.Merge != nil {
		g.Merge = &Reads{}
	}
	return g
}

// track returns the Grid of a row. The State then counts the grid job for its owner's account, and later its local jobs
// for the account and for the bulks in use. track does not add the Grid to rows.grids.
func (s *State) track(job jjm.GridJob) *Grid {
	g := NewGrid(job)
	g.uses = s.uses
	g.mine = s.account(job.Owner.UID)
	g.mine.GridJobs++
	s.Accounts.Put(job.ID, job.Owner.UID)
	return g
}

// put replaces the row of a local job, or adds the row of the local job with the next number, and updates all counters.
// If the local job may be submitted, put adds it to ready; if it waits for its next attempt, put adds it to waiting.
// put ignores a row whose number is greater than the next number.
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
	tried := l.Counters != (jjm.Counters{}) // an attempt ended; refused submissions are not in Counters
	g.Submitted = g.Submitted || l.Submitted != 0 || tried
	g.Ran = g.Ran || l.Started != 0 || tried
	switch {
	case l.IsUnsubmitted():
	case l.State == jjm.New && !l.Kill && l.Step == jjm.StepMerge: // merges are submitted first (JEDI: priority 5000)
		if g.queuedAt.add(l.ID.N, l.Place) {
			g.ready.pushFront(l.Place, l.ID.N)
		}
	case l.State == jjm.New && !l.Kill:
		g.makeReady(l.ID.N)
	case l.State == jjm.Submitting && l.Phase == jjm.RetryWait && !l.Kill:
		heap.Push(&g.waiting, waiting{l.NotBefore, l.ID.N})
	}
}

// makeReady adds a local job to the queue of its place in ready, unless the local job is in that queue.
func (g *Grid) makeReady(n int32) {
	if place := g.Locals[n].Place; g.queuedAt.add(n, place) {
		g.ready.Push(place, n)
	}
}

// countStage adds d to the counter for a local job that is not over: MergesLive for the second step; for the first step
// Merging if its outputs wait to be merged, else Producing.
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

// release subtracts one local job from the number that uses a bulk. It does nothing if the tag is "", which stands for
// no bulk.
func (g *Grid) release(tag jjm.Tag) {
	if tag != "" {
		g.uses[tag]--
	}
}

// killPending returns 1 if a local job is counted in KillsPending, else 0.
func killPending(l *jjm.LocalJob) int {
	if l.Kill && !l.Over() {
		return 1
	}
	return 0
}

// retrying returns 1 if a local job is counted in the field retrying, else 0.
func retrying(l *jjm.LocalJob) int {
	if l.State == jjm.Submitting && l.Phase == jjm.RetryWait {
		return 1
	}
	return 0
}

// holding returns 1 if a local job is counted in Held, else 0.
func holding(l *jjm.LocalJob) int {
	if l.IsHeld() {
		return 1
	}
	return 0
}

// Live returns the number of local jobs that have not ended. Local jobs that will not be submitted count as ended.
func (g *Grid) Live() int {
	return len(g.Locals) - g.GivenBack - jjm.Ended(g.Counts) - g.Unsubmitted
}

// keepProgress returns the progress for the new row l of a local job. Rows from the store have no progress; if the
// attempt is the same as in the old row, keepProgress returns the progress of the old row.
func keepProgress(old, l jjm.LocalJob) jjm.Progress {
	if l.Progress == (jjm.Progress{}) && old.Attempt == l.Attempt {
		return old.Progress
	}
	return l.Progress
}

// keepWaits returns the field Waits for the new row l of a local job: Waits of the old row if the same attempt still
// waits in the batch system, else nil.
func keepWaits(old, l jjm.LocalJob) *jjm.Waiting {
	if l.State == jjm.Submitted && old.Attempt == l.Attempt {
		return old.Waits
	}
	return nil
}

// eligible reports whether the entry of local job n in the queue of a place is valid and the local job may be submitted
// now. The entry is stale if, for instance, a resubmission changed the place of the local job after the entry was made.
func (g *Grid) eligible(n, place int32, now jjm.Time) bool {
	l := &g.Locals[n]
	if l.Kill || l.Place != place || !g.queuedAt.has(n, place) {
		return false
	}
	return l.State == jjm.New && !Withholds(g, l) ||
		l.State == jjm.Submitting && l.Phase == jjm.RetryWait && l.NotBefore <= now
}

// trim drops stale entries from the front of the queue of a place, and returns the length of the rest. Entries behind
// the first entry may still be stale.
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

// Trouble returns the reason, for people, why the grid job's next step fails at present; "" if it does not fail.
func (g *Grid) Trouble() string { return g.trouble }

// Cutting returns how the job type cuts the grid job into parts. It returns nil if the job type was not asked since the
// daemon's start.
func (g *Grid) Cutting() *Cutting { return g.cutting }

// Local returns the row of a local job, or nil if its grid job is not live or has no local job with this number.
func (m Memory) Local(id jjm.LocalID) *jjm.LocalJob {
	g := m.Grid(id.Grid)
	if g == nil || int(id.N) >= len(g.Locals) || id.N < 0 {
		return nil
	}
	return &g.Locals[id.N]
}

// Current returns the row of the local job of an attempt, if the attempt is the local job's current attempt and a batch
// system may have it. Otherwise it returns nil.
func (m Memory) Current(id jjm.AttemptID) *jjm.LocalJob {
	l := m.Local(id.LocalID)
	if l == nil || l.Attempt != id.Attempt || !l.State.InBatch() || l.Tag == "" || l.Phase == jjm.RetryWait ||
		l.IsMerging() {
		return nil
	}
	return l
}

// JobOf returns a copy of the row of a live grid job, or the zero GridJob if the grid job is not live.
func (s *State) JobOf(id jjm.GridID) jjm.GridJob {
	s.mem.RLock()
	defer s.mem.RUnlock()
	if g := s.grids[id]; g != nil {
		return g.Job
	}
	return jjm.GridJob{}
}

// AttemptRow returns a copy of the row of an attempt's local job, and the owner of the grid job. The last result is
// false if Memory.Current returns nil for the attempt.
func (s *State) AttemptRow(id jjm.AttemptID) (jjm.LocalJob, jjm.Owner, bool) {
	s.mem.RLock()
	defer s.mem.RUnlock()
	l := Memory{s}.Current(id)
	if l == nil {
		return jjm.LocalJob{}, jjm.Owner{}, false
	}
	return *l, s.grids[id.Grid].Job.Owner, true
}

// PartOf reports whether the batch system's id of a job, job, belongs to the bulk whose id is bulk: job is equal to
// bulk, or begins with bulk followed by a character other than a digit. For instance, "42_7" and "42.7" belong to "42",
// and "427" does not. No job belongs to the id "".
func PartOf(job, bulk string) bool {
	rest, ok := strings.CutPrefix(job, bulk)
	return ok && bulk != "" && (rest == "" || rest[0] < '0' || rest[0] > '9')
}
