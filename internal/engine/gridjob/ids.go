package gridjob

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// mostSkipped is the greatest number of ids that one submission skips because their folders exist.
const mostSkipped = 1000

// lookPatience is how long a submission waits for the list of names in its owner's work area. If the list arrives
// later, only the next submission uses the list. If an id was chosen whose folder exists, prepare returns an error.
const lookPatience = time.Second

// unreserved is the error for an id that must first be reserved outside the store (base.IDs).
type unreserved struct{ id jjm.GridID }

func (u unreserved) Error() string { return fmt.Sprintf("id %d is not reserved", u.id) }

// ids chooses the ids of new grid jobs. An id is skipped if a folder of another grid job has its number, for example
// after the store was replaced by an older copy. Therefore ids holds, by account, the folders in work areas that no
// grid job of this store has made. It reads a work area once, before the owner's first grid job is accepted.
type ids struct {
	b     *base.Base
	areas *areas.Areas

	mu sync.Mutex
	of map[int]*strange
}

// reserving stores a grid job by calling do. If do returns an unreserved, reserving reserves the id and calls do again.
// Thus no transaction waits for the file system on which ids are reserved.
func (is *ids) reserving(ctx context.Context, do func() error) error {
	for {
		err := do()
		var u unreserved
		if !errors.As(err, &u) {
			return err
		}
		if err := is.b.Deps.IDs.Reserve(ctx, u.id); err != nil {
			return err
		}
	}
}

// passOver skips the ids whose folder or record exists, and returns the paths of these folders and records. The error
// is an unreserved if the next id is not reserved.
func (is *ids) passOver(c *state.Change, owner jjm.Owner, there map[jjm.GridID]bool) (skipped []string, err error) {
	next, err := c.Tx.NextGrid()
	if err != nil {
		return nil, err
	}
	for {
		path := is.occupied(owner, next, there)
		if path == "" {
			break
		}
		if skipped = append(skipped, path); len(skipped) == mostSkipped {
			return nil, jjm.Errorf(jjm.Busy, "the next %d ids have folders of other grid jobs, from %s to %s: move them away",
				mostSkipped, skipped[0], path)
		}
		next++
	}
	if skipped != nil {
		if err := c.Tx.SkipGrids(next - 1); err != nil {
			return nil, err
		}
	}
	if ids := is.b.Deps.IDs; ids != nil && !ids.Reserved(next) {
		return nil, unreserved{next}
	}
	return skipped, nil
}

// occupied returns the path of the folder or record of a grid job that is not stored, "" if neither exists.
func (is *ids) occupied(owner jjm.Owner, id jjm.GridID, there map[jjm.GridID]bool) string {
	if there[id] {
		return is.areas.GridPath(owner, id)
	}
	record := filepath.Join(is.b.Deps.RecordDir, id.String())
	if _, err := os.Lstat(record); err == nil {
		return record
	}
	return ""
}

// warnSkipped logs each folder that made jjm skip an id.
func (is *ids) warnSkipped(id jjm.GridID, skipped []string) {
	for _, path := range skipped {
		is.b.Log.Warn("an id is skipped: a folder of a grid job that this store does not know has its number; move it away",
			"folder", path, "job", id)
	}
}

// strange holds the ids of the folders in one work area that no grid job of this store has made.
type strange struct {
	done chan struct{} // closed when ids is set
	ids  map[jjm.GridID]bool
}

// strangersOf returns the ids above the highest id of this store that have folders in the owner's area. It returns nil
// if the area does not answer in time.
func (is *ids) strangersOf(ctx context.Context, owner jjm.Owner) map[jjm.GridID]bool {
	is.mu.Lock()
	s := is.of[owner.UID]
	first := s == nil
	if first {
		s = &strange{done: make(chan struct{})}
		is.of[owner.UID] = s
	}
	is.mu.Unlock()
	if first {
		go is.readStrangers(s, owner)
		t := time.NewTimer(lookPatience)
		defer t.Stop()
		select {
		case <-s.done:
		case <-t.C:
		case <-ctx.Done():
		}
	}
	select {
	case <-s.done:
		return s.ids
	default: // the area has not answered in time
		return nil
	}
}

// readStrangers reads the names in an area. After an error, the next submission of the owner reads the names again.
func (is *ids) readStrangers(s *strange, owner jjm.Owner) {
	defer close(s.done)
	have, err := is.b.Store.Content(context.Background())
	if err == nil {
		s.ids, err = is.areas.GridsAbove(owner, have.Highest)
	}
	if err != nil {
		is.mu.Lock()
		delete(is.of, owner.UID)
		is.mu.Unlock()
	}
}

// giveOut records outside the store that an id is in use, so that an old copy of the store can be detected. The grid
// job is stored already, so an error is only logged and the grid job is not refused.
func (is *ids) giveOut(id jjm.GridID) {
	if is.b.Deps.IDs == nil {
		return
	}
	if err := is.b.Deps.IDs.Reach(id); err != nil {
		is.b.Complain(slog.LevelError, "ids", "an old copy of the store might not be found out", "job", id, "error", err)
	}
}
