package cluster

import (
	"sync"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// failing is since when the commands of a cluster have failed, listings and submissions of any account, and why the
// first did. It is for people: see health for what is decided on. Without it a cluster whose probe says nothing, and
// whose only account cannot be listed, would be shown as one that nobody asked anything.
type failing struct {
	mu    sync.Mutex
	since jjm.Time // 0: the last command was answered
	cause string
}

// note notes how a command ended.
func (f *failing) note(err error, now jjm.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err == nil:
		f.since, f.cause = 0, ""
	case f.since == 0:
		f.since, f.cause = now, err.Error()
	}
}

// tell sets what w says of a cluster that has answered no command yet, and no probe with a number.
func (f *failing) tell(w *wire.Cluster) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.since != 0 && w.Healthy && w.LastSeen == 0 && w.Slots == 0 {
		w.Healthy, w.Since, w.Cause = false, f.since, f.cause
	}
}

// last returns since when the commands have failed, and why the first did; 0 if the last one was answered.
func (f *failing) last() (since jjm.Time, cause string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.since, f.cause
}
