package outage

import (
	"sync"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Failing is the present outage of the commands of a cluster: listings and submissions of any account. It contains when
// the outage began, and why the first command failed. It is only for people; decisions use Health. It is needed for a
// cluster whose probe reports no slots and that has never been listed successfully: such a cluster would otherwise be
// shown as healthy.
type Failing struct {
	mu    sync.Mutex
	since jjm.Time // 0: the last command was answered
	cause string
}

// Note notes how a command ended; err is nil if the batch system answered.
func (f *Failing) Note(err error, now jjm.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err == nil:
		f.since, f.cause = 0, ""
	case f.since == 0:
		f.since, f.cause = now, err.Error()
	}
}

// Tell sets Healthy, Since and Cause of w if commands fail at present, unless the cluster has answered a listing or a
// probe has reported its number of slots.
func (f *Failing) Tell(w *wire.Cluster) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.since != 0 && w.Healthy && w.LastSeen == 0 && w.Slots == 0 {
		w.Healthy, w.Since, w.Cause = false, f.since, f.cause
	}
}

// Last returns since when the commands have failed, and why the first of them failed. since is 0 if the last command
// was answered.
func (f *Failing) Last() (since jjm.Time, cause string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.since, f.cause
}
