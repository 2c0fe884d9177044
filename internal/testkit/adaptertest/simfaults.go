package adaptertest

import (
	"maps"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// OnSubmit sets the faults of the next calls of Submit, one fault for each call. Later calls succeed.
func (s *Sim) OnSubmit(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// Lie sets up the next n listings to leave out the jobs for which drop returns true. If drop is nil, they leave out all
// jobs.
func (s *Sim) Lie(n int, drop func(job SimJob) bool) {
	if drop == nil {
		drop = func(SimJob) bool { return true }
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lyingListings, s.dropFromListing = n, drop
}

// Down sets up all calls to return an error of kind Busy for the time d. Jobs continue meanwhile.
func (s *Sim) Down(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = s.c.Now().Add(d)
}

// SetMaxJobs changes the maximum number of jobs of one owner; 0 for no limit.
func (s *Sim) SetMaxJobs(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.c.MaxJobs = n
}

// SetMaxBulk changes the largest number of jobs in a bulk.
func (s *Sim) SetMaxBulk(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.c.MaxBulk = n
}

// jobsOf returns how many jobs of an owner wait or run.
func (s *Sim) jobsOf(o jjm.Owner) (n int) {
	s.step()
	for _, b := range s.bulks {
		if b.Owner == o {
			n += b.alive
		}
	}
	return n
}

// IgnoreCancels sets up the next n cancels of living jobs to succeed without effect.
func (s *Sim) IgnoreCancels(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ignoreCancels = n
}

// Vanish removes jobs from the batch system as if they had never existed: neither List nor Account returns them, and a
// running job leaves no result.
func (s *Sim) Vanish(jobs ...adapters.Ref) {
	s.each(jobs, func(k simKey) {
		if s.job(k).state.Alive() {
			s.end(k, jjm.BatchAborted, jjm.At(s.c.Now()), 0, 0, "")
		}
		s.job(k).gone = true
	})
}

// Abort ends jobs as if their node had failed: without a result, in state ABORTED.
func (s *Sim) Abort(reason string, jobs ...adapters.Ref) {
	s.each(jobs, func(k simKey) {
		if s.job(k).state.Alive() {
			s.end(k, jjm.BatchAborted, jjm.At(s.c.Now()), 0, 0, reason)
		}
	})
}

// CancelInBatch cancels live jobs as if an operator had run the batch system's own cancel command.
func (s *Sim) CancelInBatch(jobs ...adapters.Ref) {
	s.each(jobs, func(k simKey) {
		if s.job(k).state.Alive() {
			s.cancel(k, "cancelled by an operator")
		}
	})
}

// enqueue puts a job in the queue, unless SimConfig.Hold holds it.
func (s *Sim) enqueue(k simKey) {
	if s.c.Hold != nil {
		if code, text := s.c.Hold(s.describe(k), s.holds[k]); code != "" || text != "" {
			s.holds[k]++
			s.job(k).state, s.codes[k], s.reasons[k] = jjm.BatchHold, code, text
			return
		}
	}
	s.queue = append(s.queue, k)
}

// HoldInBatch holds waiting jobs as if the batch system itself or an operator had held them.
func (s *Sim) HoldInBatch(reason string, jobs ...adapters.Ref) {
	s.each(jobs, func(k simKey) {
		if j := s.job(k); j.state == jjm.BatchQueued {
			j.state = jjm.BatchHold
			s.reasons[k] = reason
		}
	})
}

// Requeue stops running jobs without a result and puts them back into the queue, like a preemption. The batch id stays
// the same, and the restart count increases.
func (s *Sim) Requeue(jobs ...adapters.Ref) {
	s.each(jobs, func(k simKey) {
		if j := s.job(k); j.state == jjm.BatchRunning {
			s.running--
			delete(s.runs, k)
			j.state, j.started = jjm.BatchQueued, 0
			j.restarts++
			s.enqueue(k)
		}
	})
}

// each calls do for the named jobs of any owner. An empty ID means every bulk of the tag; an Index below 0 means every
// job of a bulk.
func (s *Sim) each(jobs []adapters.Ref, do func(simKey)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.step()
	for _, ref := range jobs {
		for _, b := range s.tags[ref.Tag] {
			if ref.ID != "" && ref.ID != b.id {
				continue
			}
			for i := range b.jobs {
				if ref.Index == int32(i) || ref.Index < 0 {
					do(simKey{b.number, int32(i)})
				}
			}
		}
	}
	s.notify()
}

// Runs returns how often the application of each attempt was run by a wrapper that won the
// claim. No count may be above 1.
func (s *Sim) Runs() map[jjm.AttemptID]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.counts)
}

// Calls counts calls and events since the start of the simulation.
type Calls struct {
	Submits int // calls of Submit, including failed calls
	Bulks   int // bulks accepted
	Starts  int // runs started, including runs that lost the claim
	Lists   int // calls of List
}

// Calls returns the counts so far.
func (s *Sim) Calls() Calls {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Calls{Submits: s.submits, Bulks: len(s.bulks), Starts: s.starts, Lists: s.lists}
}

// Troubles returns the errors of the wrapper. A test expects no errors.
func (s *Sim) Troubles() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]error(nil), s.troubles...)
}

// Next returns the time of the next end or start, to which a test can move its clock. It returns false if no job will
// end or start by itself.
func (s *Sim) Next() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.nextStart()
	for len(s.ends) > 0 {
		e := s.ends[0]
		if j := s.job(e.key); j.state != jjm.BatchRunning || j.due != e.at {
			s.ends.pop() // this end no longer counts, for example because the job was cancelled
			continue
		}
		if !ok || e.at < at {
			at, ok = e.at, true
		}
		break
	}
	return at.Time(), ok
}

// jobsIn returns how many jobs of an owner wait or run in a queue.
func (s *Sim) jobsIn(queue string, o jjm.Owner) (n int) {
	s.step()
	for _, b := range s.bulks {
		if b.Owner == o && b.Request.Queue == queue {
			n += b.alive
		}
	}
	return n
}
