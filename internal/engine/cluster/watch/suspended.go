package watch

import (
	"maps"
	"sync"

	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// suspensions contains the attempts whose batch jobs the last listings showed as suspended, with the time of the first
// of these listings. It is only in memory, for people. Its methods may be called from many goroutines.
type suspensions struct {
	mu    sync.Mutex
	since map[jjm.AttemptID]jjm.Time
}

// note notes whether a listing that was started at asked shows the batch job of an attempt as suspended.
func (su *suspensions) note(id jjm.AttemptID, suspended bool, asked jjm.Time) {
	su.mu.Lock()
	defer su.mu.Unlock()
	_, known := su.since[id]
	switch {
	case !suspended:
		delete(su.since, id)
	case !known && su.since == nil:
		su.since = map[jjm.AttemptID]jjm.Time{id: asked}
	case !known:
		su.since[id] = asked
	}
}

// prune forgets attempts that are no longer current.
func (su *suspensions) prune(mem state.Memory) {
	su.mu.Lock()
	defer su.mu.Unlock()
	maps.DeleteFunc(su.since, func(id jjm.AttemptID, _ jjm.Time) bool { return mem.Current(id) == nil })
}

// Suspended returns the attempts whose batch jobs are suspended, with the time since which listings show so.
func (w *Watcher) Suspended() map[jjm.AttemptID]jjm.Time {
	w.suspended.mu.Lock()
	defer w.suspended.mu.Unlock()
	return maps.Clone(w.suspended.since)
}
