package adaptertest

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// SimConfig describes a simulated batch system. If it has only a clock, every job starts immediately and runs for a
// minute.
type SimConfig struct {
	// Name is the cluster's name; "sim" by default.
	Name string
	// Now is the simulation's clock, which must not go back. The simulation advances only in Step and in calls of the
	// adapter.
	Now func() time.Time
	// Slots is the maximum number of running jobs; 0 for no limit.
	Slots int
	// MaxBulk is the largest number of jobs in a bulk; 1000 by default.
	MaxBulk int
	// MaxMemoryMB and MaxWalltime are the limits of one job in [adapters.Capabilities]; 0 for no limit.
	MaxMemoryMB int64
	MaxWalltime time.Duration
	// MaxJobs is the maximum number of jobs of one owner; further jobs are refused with [adapters.TooMany]. 0 means no
	// limit; see [Sim.SetMaxJobs].
	MaxJobs int
	// QueueMaxJobs is, by queue, the maximum number of jobs of one owner in that queue; further jobs are refused in the
	// same way as jobs beyond MaxJobs. A queue that is not in it has no limit.
	QueueMaxJobs map[string]int
	// TwoPhase means that bulks are submitted held, and run after a Release.
	TwoPhase bool
	// NoSharedFS means that workers do not see the work area.
	NoSharedFS bool
	// RenewsProxies is copied to the field of this name in the capabilities and has no other effect.
	RenewsProxies bool
	// ExcludesHosts is copied to the field of this name in the capabilities and has no other effect.
	ExcludesHosts bool
	// Idempotent means that a second Submit of a tag returns the id of the first bulk. Without it, Submit creates a second
	// bulk, like real batch systems.
	Idempotent bool
	// Settle is how long Find returns NotYetKnown after a Submit whose reply was lost, even if the bulk exists. The
	// capabilities report it.
	Settle time.Duration
	// Wait is the shortest time that a job waits before it starts.
	Wait time.Duration
	// Life is how long a job runs unless Play sets another time; a minute by default. Jitter is the maximum of a random
	// addition to Life, drawn with Seed.
	Life, Jitter time.Duration
	Seed         uint64
	// Play returns the script of a job's run. If Play is nil, every job succeeds. Play is called once for each run, in the
	// order of the starts.
	Play func(job SimJob) Play
	// Hold, unless nil, is called whenever a job enters the queue; held is how often the job was held before. If code or
	// text is not empty, the job is held.
	Hold func(job SimJob, held int) (code, text string)
	// Wrapper imitates jjm-wrapper. If it is nil, there are no claims and no results.
	Wrapper Wrapper
}

// SimJob describes a simulated job. Scripts and wrappers receive it.
type SimJob struct {
	Owner   jjm.Owner
	Request jjm.Request
	Tag     jjm.Tag
	Index   int32
	// ID is the id of the job, "sim17_3"; Bulk is the id of its bulk, "sim17".
	ID, Bulk string
	Restarts int
	// Attempt is the attempt that the job runs. It is set only if there is a wrapper, and only after the wrapper's Start.
	Attempt jjm.AttemptID
}

// Play is the script of one run of a job. With the zero value the job succeeds.
type Play struct {
	// Life is how long the run takes; 0 for the configured time.
	Life time.Duration
	// Keyword and Data are the line that the application writes to the GLF. If both are empty, the line is SUCCEEDED
	// out.dat. With the keyword "-" no line is written.
	Keyword, Data string
	// Exit and Signal describe the end of the application. If there is a wrapper, the batch job itself exits with 0.
	Exit, Signal int
	// State is the state that the batch system reports at the end. BatchUnknown stands for OK or FAILED, depending on the
	// exit code.
	State jjm.BatchState
	// Reason is the text that the batch system reports at the end.
	Reason string
	// If NoClaim is set, the wrapper dies before its claim; if NoResult is set, it dies after its claim.
	NoClaim, NoResult bool
	// Phases and Fragment are copied to the result.
	Phases   []jjm.AppPhase
	Fragment string
}

// Fault is what goes wrong in one Submit.
type Fault uint8

// The faults.
const (
	// Accept is no fault: the bulk is accepted.
	Accept Fault = iota
	// LoseReply: the bulk is accepted, but the reply is lost. The error is of kind Ambiguous.
	LoseReply
	// LoseRequest: the request is lost, so there is no bulk. The error is of kind Ambiguous, too.
	LoseRequest
	// Refuse: the error is of kind Invalid.
	Refuse
	// SayBusy: the error is of kind Busy.
	SayBusy
	// Deny: the error is of kind Denied.
	Deny
	// Mutter: the error is of kind Ambiguous and marked by [adapters.Unexplained]; there is no bulk.
	Mutter
)

// simJob is the state of one job. It is small, because a simulation may have a hundred thousand jobs.
type simJob struct {
	state    jjm.BatchState
	exit     uint8
	signal   uint8
	restarts uint8
	gone     bool // the batch system has forgotten the job (see Vanish)
	started  jjm.Time
	ended    jjm.Time
	due      jjm.Time // the future end of the run, while the job runs
}

// simBulk is a bulk with its jobs. alive is the number of jobs that have not ended.
type simBulk struct {
	adapters.Bulk
	id        string
	number    int32
	submitted jjm.Time
	released  jjm.Time
	jobs      []simJob
	alive     int
	lastEnd   jjm.Time
}

// simKey identifies a job by the number of its bulk and its position.
type simKey struct{ bulk, pos int32 }

// simRun is a running job. It exists only if the simulation has a script or a wrapper.
type simRun struct {
	job     SimJob
	play    Play
	claimed bool
}

// Sim is a simulated batch system. It may be used from many goroutines.
type Sim struct {
	c       SimConfig
	changed chan struct{}

	mu              sync.Mutex
	rand            *rand.Rand
	bulks           []*simBulk
	tags            map[jjm.Tag][]*simBulk
	queue           []simKey // waiting jobs, in the order of their release
	ends            endHeap
	runs            map[simKey]*simRun
	reasons         map[simKey]string
	codes           map[simKey]string // codes of the holds of held jobs
	holds           map[simKey]int    // how often a job was held
	running         int
	last            jjm.Time // last time to which the simulation advanced
	faults          []Fault
	doubtful        map[jjm.Tag]jjm.Time // tags whose reply was lost; the time until which Find returns NotYetKnown
	down            time.Time            // end of the time in which every call returns an error of kind Busy
	lyingListings   int                  // number of further listings that leave out jobs
	dropFromListing func(SimJob) bool
	ignoreCancels   int // number of further cancels that have no effect
	counts          map[jjm.AttemptID]int
	starts          int
	submits         int
	lists           int
	troubles        []error
}

var (
	_ adapters.Adapter     = (*Sim)(nil)
	_ adapters.BulkLimiter = (*Sim)(nil)
	_ adapters.Watcher     = (*Sim)(nil)
)

// NewSim returns a simulation. c.Now must be set.
func NewSim(c SimConfig) *Sim {
	if c.Name == "" {
		c.Name = "sim"
	}
	if c.MaxBulk == 0 {
		c.MaxBulk = 1000
	}
	if c.Life == 0 {
		c.Life = time.Minute
	}
	return &Sim{
		c: c, changed: make(chan struct{}, 1), rand: rand.New(rand.NewPCG(c.Seed, 1)),
		tags: map[jjm.Tag][]*simBulk{}, runs: map[simKey]*simRun{}, reasons: map[simKey]string{},
		doubtful: map[jjm.Tag]jjm.Time{}, counts: map[jjm.AttemptID]int{},
		codes: map[simKey]string{}, holds: map[simKey]int{},
	}
}

// Name returns the cluster's name.
func (s *Sim) Name() string { return s.c.Name }

// Diagnosis returns the name of a command that does not exist.
func (s *Sim) Diagnosis() string { return "simulated-ping " + s.c.Name }

// Capabilities returns the configured capabilities.
func (s *Sim) Capabilities() adapters.Capabilities {
	s.mu.Lock()
	defer s.mu.Unlock()
	return adapters.Capabilities{
		MaxBulk: s.c.MaxBulk, TwoPhase: s.c.TwoPhase, SharedFS: !s.c.NoSharedFS, RenewsProxies: s.c.RenewsProxies,
		ExcludesHosts: s.c.ExcludesHosts,
		Accounting:    true,
		MaxMemoryMB:   s.c.MaxMemoryMB, MaxWalltime: s.c.MaxWalltime,
		Guarantee: "none: a simulation", Slots: s.c.Slots, Settle: s.c.Settle,
	}
}

// Changed returns a channel that receives a value when the result of a listing changes.
func (s *Sim) Changed() <-chan struct{} { return s.changed }

func (s *Sim) notify() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Step advances the simulation to the present time of the clock. Jobs end and start one after the other, each at its
// own time.
func (s *Sim) Step() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.step()
}

// step is Step for a caller that holds s.mu.
func (s *Sim) step() {
	now := jjm.At(s.c.Now())
	moved := false
	for {
		start, canStart := s.nextStart()
		if canStart && start <= now && (len(s.ends) == 0 || start < s.ends[0].at) {
			s.start(max(start, s.last))
			moved = true
			continue
		}
		if len(s.ends) == 0 || s.ends[0].at > now {
			break
		}
		e := s.ends.pop()
		if j := s.job(e.key); j.state == jjm.BatchRunning && j.due == e.at {
			s.last = max(s.last, e.at)
			s.finish(e.key, e.at)
			moved = true
		}
	}
	s.last = max(s.last, now)
	if moved {
		s.notify()
	}
}

func (s *Sim) job(k simKey) *simJob { return &s.bulks[k.bulk].jobs[k.pos] }

// nextStart returns the time at which the first job of the queue may start. It returns false if the queue is empty or
// no slot is free.
func (s *Sim) nextStart() (jjm.Time, bool) {
	for len(s.queue) > 0 && s.job(s.queue[0]).state != jjm.BatchQueued {
		s.queue = s.queue[1:]
	}
	if len(s.queue) == 0 || s.c.Slots > 0 && s.running >= s.c.Slots {
		return 0, false
	}
	return s.bulks[s.queue[0].bulk].released.Add(s.c.Wait), true
}

// start starts the first job of the queue.
func (s *Sim) start(at jjm.Time) {
	k := s.queue[0]
	s.queue = s.queue[1:]
	j := s.job(k)
	s.last = at
	s.running++
	s.starts++
	j.state, j.started = jjm.BatchRunning, at
	life := s.c.Life
	if s.c.Jitter > 0 {
		life += time.Duration(s.rand.Int64N(int64(s.c.Jitter)))
	}
	if s.c.Play != nil || s.c.Wrapper != nil {
		r := &simRun{job: s.describe(k)}
		s.runs[k] = r
		if s.c.Play != nil {
			r.play = s.c.Play(r.job)
		}
		if r.play.Life > 0 {
			life = r.play.Life
		}
		if !s.claim(r, at) {
			life = 0
		}
	}
	j.due = at.Add(life)
	s.ends.push(simEnd{at: j.due, key: k})
}

// claim calls the wrapper's Start and reports whether the application runs. The application does not run if another
// wrapper has the claim, or if Start returns an error. Without a wrapper or with NoClaim it always runs.
func (s *Sim) claim(r *simRun, at jjm.Time) bool {
	if s.c.Wrapper == nil || r.play.NoClaim {
		return true
	}
	id, won, err := s.c.Wrapper.Start(r.job, at)
	switch {
	case err != nil:
		s.troubles = append(s.troubles, fmt.Errorf("job %s: %w", r.job.ID, err))
		r.play = Play{Exit: exitUnreadable, NoResult: true}
		return false
	case !won:
		r.play = Play{Exit: exitLost, NoResult: true}
		return false
	}
	r.job.Attempt, r.claimed = id, true
	s.counts[id]++
	return true
}

// The exit codes of jjm-wrapper for a lost claim and an unreadable assignment.
const (
	exitLost       = 91
	exitUnreadable = 92
)

// finish ends a run whose end is due. If the wrapper writes a result and the script sets no state, the exit code of the
// batch job is 0.
func (s *Sim) finish(k simKey, at jjm.Time) {
	play := Play{}
	if r := s.runs[k]; r != nil {
		play = r.play
	}
	exit, signal := play.Exit, play.Signal
	if signal != 0 {
		exit = 128 + signal
	}
	state := play.State
	if s.report(k, play, at) && state == jjm.BatchUnknown {
		exit, signal = 0, 0 // the wrapper exits with 0 once its result is written
	}
	if state == jjm.BatchUnknown {
		state = jjm.BatchEndedOK
		if exit != 0 {
			state = jjm.BatchEndedFailed
		}
	}
	s.end(k, state, at, exit, signal, play.Reason)
}

// report writes the result of a job's wrapper, and returns true if it wrote a result. It writes no result if the
// wrapper has no claim, or if the script sets NoResult.
func (s *Sim) report(k simKey, play Play, at jjm.Time) bool {
	r := s.runs[k]
	if r == nil || !r.claimed || play.NoResult {
		return false
	}
	if err := s.c.Wrapper.End(r.job, play, s.job(k).started, at); err != nil {
		s.troubles = append(s.troubles, fmt.Errorf("job %s: %w", r.job.ID, err))
		return false
	}
	return true
}

// end stores that a job has ended in a final state.
func (s *Sim) end(k simKey, state jjm.BatchState, at jjm.Time, exit, signal int, reason string) {
	b, j := s.bulks[k.bulk], s.job(k)
	if j.state == jjm.BatchRunning {
		s.running--
	}
	j.state, j.ended, j.exit, j.signal = state, at, uint8(exit), uint8(signal)
	b.alive--
	b.lastEnd = max(b.lastEnd, at)
	delete(s.runs, k)
	if reason != "" {
		s.reasons[k] = reason
	}
}

// describe returns a job's description for scripts.
func (s *Sim) describe(k simKey) SimJob {
	b := s.bulks[k.bulk]
	return SimJob{
		Owner: b.Owner, Request: b.Request, Tag: b.Tag, Index: k.pos, Bulk: b.id,
		ID: b.id + "_" + strconv.Itoa(int(k.pos)), Restarts: int(b.jobs[k.pos].restarts),
	}
}

// simEnd is the future end of a running job.
type simEnd struct {
	at  jjm.Time
	key simKey
}

// endHeap is a binary heap with the earliest end first. If two ends have the same time, the job that was submitted
// first comes first. The same seed therefore always leads to the same run.
type endHeap []simEnd

func (h endHeap) less(i, k int) bool {
	a, b := h[i], h[k]
	if a.at != b.at {
		return a.at < b.at
	}
	return a.key.bulk < b.key.bulk || a.key.bulk == b.key.bulk && a.key.pos < b.key.pos
}

func (h *endHeap) push(e simEnd) {
	*h = append(*h, e)
	for i := len(*h) - 1; i > 0; {
		up := (i - 1) / 2
		if !h.less(i, up) {
			return
		}
		(*h)[i], (*h)[up] = (*h)[up], (*h)[i]
		i = up
	}
}

func (h *endHeap) pop() simEnd {
	old := *h
	first, n := old[0], len(old)-1
	old[0] = old[n]
	*h = old[:n]
	for i := 0; ; {
		low := 2*i + 1
		if low+1 < n && h.less(low+1, low) {
			low++
		}
		if low >= n || !h.less(low, i) {
			return first
		}
		(*h)[i], (*h)[low] = (*h)[low], (*h)[i]
		i = low
	}
}

// Excluded returns, for each accepted bulk in the order of the submissions, the hosts that it excluded.
func (s *Sim) Excluded() (hosts [][]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.bulks {
		hosts = append(hosts, b.Exclude)
	}
	return hosts
}
