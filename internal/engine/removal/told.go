package removal

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"jjm/internal/engine/floor/fair"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

const (
	// tellingsEvery is the time between two writes of the ends that were reported to gatekeepers. If a crash loses an
	// end, the end is reported again, or the removal is forced.
	tellingsEvery = time.Second
	// mostTold is the greatest number of ends that are remembered. When it is reached, all are forgotten. Ends may then be
	// stored again, which changes nothing.
	mostTold = 100_000
)

// tellings holds the grid jobs whose ends were reported to gatekeepers. Gatekeepers ask for the same grid job
// repeatedly, so tellings remembers the ends that are stored or about to be stored.
type tellings struct {
	mu    sync.Mutex
	known map[jjm.GridID]bool
	fresh []jjm.GridID // not stored yet
	kick  chan struct{}
}

// add adds a grid job whose end was reported, unless it is known already.
func (t *tellings) add(id jjm.GridID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known[id] {
		return
	}
	if t.known == nil || len(t.known) >= mostTold {
		t.known = map[jjm.GridID]bool{}
	}
	t.known[id] = true
	t.fresh = append(t.fresh, id)
	fair.Kick(t.kick)
}

// take returns the grid jobs whose reported ends are still to be stored. If the ends cannot be stored, back adds the
// grid jobs again.
func (t *tellings) take() (fresh []jjm.GridID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh, t.fresh = t.fresh, nil
	return fresh
}

func (t *tellings) back(ids []jjm.GridID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fresh = append(t.fresh, ids...)
}

// Told notes that the end of a grid job was reported to a gatekeeper, and returns immediately.
func (re *Remover) Told(id jjm.GridID) { re.told.add(id) }

// noteTellings stores the ends that were reported to gatekeepers, repeatedly until ctx ends.
func (re *Remover) noteTellings(ctx context.Context) {
	for ctx.Err() == nil {
		fair.WaitKick(ctx, re.told.kick, time.Minute)
		fair.Pause(ctx, tellingsEvery)
		if err := re.flushTellings(ctx); err != nil && ctx.Err() == nil {
			re.b.Complain(slog.LevelError, "told", "what gatekeepers were told could not be stored, will try again", "error", err)
		}
	}
}

// flushTellings stores the ends that were reported to gatekeepers since the last call. If it fails, the next call
// stores them.
func (re *Remover) flushTellings(ctx context.Context) error {
	ids := re.told.take()
	if len(ids) == 0 {
		return nil
	}
	err := re.b.Store.Update(ctx, func(tx *store.Tx) error { return tx.Tell(ids) })
	if err != nil {
		re.told.back(ids)
	}
	return err
}
