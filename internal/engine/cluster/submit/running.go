package submit

import (
	"sync"

	"jjm/internal/jjm"
)

// Running is a running call of the adapter that submits a bulk. Since is its start.
type Running struct {
	Tag   jjm.Tag
	Since jjm.Time
}

// running contains the running submission of each account. It is only in memory, for people. Its methods may be called
// from many goroutines.
type running struct {
	// mu is taken after the memory lock, never before.
	mu sync.Mutex
	of map[jjm.Owner]Running
}

// begin notes that a submission of an account runs, until the caller calls end.
func (r *running) begin(account jjm.Owner, s Running) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[jjm.Owner]Running{}
	}
	r.of[account] = s
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.of, account)
	}
}

// Running returns the submission of an account that runs now. Its tag is empty if none runs.
func (sb *Submitter) Running(account jjm.Owner) Running {
	sb.running.mu.Lock()
	defer sb.running.mu.Unlock()
	return sb.running.of[account]
}
