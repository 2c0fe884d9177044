package verdict

import (
	"context"
	"hash/maphash"
	"log/slog"
	"slices"
	"sync"

	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/endings"
	"jjm/internal/jjm"
	"jjm/sandbox"
	"jjm/xmldb"
)

// phaseBook remembers which phases and fragments of running attempts are in the records. A phase is recorded when the
// next phase starts or the attempt ends.
type phaseBook struct {
	record func(context.Context, xmldb.Fragment) error // adds a fragment to a record
	seed   maphash.Seed

	mu       sync.Mutex
	recorded map[jjm.AttemptID][]jjm.AppPhase
	// fragments are hashes of the last fragment of each attempt that was recorded.
	fragments map[jjm.AttemptID]uint64
}

func newPhaseBook(record func(context.Context, xmldb.Fragment) error) phaseBook {
	return phaseBook{record: record, seed: maphash.MakeSeed(), recorded: map[jjm.AttemptID][]jjm.AppPhase{},
		fragments: map[jjm.AttemptID]uint64{}}
}

// news returns those of the given phases that are not in the record yet, or that have other values there.
func (pb *phaseBook) news(id jjm.AttemptID, phases []jjm.AppPhase) []jjm.AppPhase {
	pb.mu.Lock()
	defer pb.mu.Unlock()
	var out []jjm.AppPhase
	for _, p := range phases {
		if !slices.Contains(pb.recorded[id], p) {
			out = append(out, p)
		}
	}
	return out
}

func (pb *phaseBook) keep(id jjm.AttemptID, phases []jjm.AppPhase) {
	pb.mu.Lock()
	defer pb.mu.Unlock()
	pb.recorded[id] = phases
}

func (pb *phaseBook) forget(id jjm.AttemptID) {
	pb.mu.Lock()
	defer pb.mu.Unlock()
	delete(pb.recorded, id)
	delete(pb.fragments, id)
}

// recordPhases adds to the record of an attempt the phases that the record does not have yet. Phases are only for
// people: an error is logged and delays nothing.
func (ju *Judge) recordPhases(ctx context.Context, id jjm.AttemptID, phases []jjm.AppPhase) {
	fresh := ju.phases.news(id, phases)
	if len(fresh) == 0 {
		return
	}
	f, err := xmldb.Phases(id, fresh)
	if err == nil {
		err = ju.phases.record(ctx, f)
	}
	if err != nil {
		ju.b.Complain(slog.LevelWarn, "phases/"+id.LocalID.String(), "phases of a local job could not be recorded", "local",
			id.LocalID, "error", err)
		return
	}
	ju.phases.keep(id, phases)
}

// recordEarlier records the phases of a running attempt that have ended. The last phase is
// shown as the attempt's progress.
func (ju *Judge) recordEarlier(ctx context.Context, id jjm.AttemptID, said []jjm.AppPhase) {
	last := sandbox.LastPhase(said)
	ju.recordPhases(ctx, id, slices.Delete(slices.Clone(said), last, last+1))
}

// recordAll records all phases of an attempt that is about to be judged, and returns the progress that the attempt
// shows from now on. It takes the phases from the result. If there is no result, or the wrapper could not read the
// phases, recordAll reads them from the bulk's folder.
func (ju *Judge) recordAll(ctx context.Context, ar *areas.Area, l *jjm.LocalJob, id jjm.AttemptID,
	en *endings.Ending) jjm.Progress {
	var said []jjm.AppPhase
	if r := en.Result; r != nil && (len(r.Phases) > 0 || l.Progress.Phase == "") {
		said = r.Phases
	} else {
		var err error
		if said, err = ar.Phases(l.Tag, l.Pos); err != nil {
			ju.b.Log.Warn("phases of an attempt could not be read", "local", id.LocalID, "error", err)
		}
	}
	ju.recordPhases(ctx, id, said)
	if len(said) == 0 {
		return l.Progress
	}
	return ju.types.progressOf(id, said)
}
