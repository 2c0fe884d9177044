package verdict

import (
	"context"
	"hash/maphash"
	"log/slog"
	"slices"
	"sync"

	"jjm"
	"jjm/engine/areas"
	"jjm/engine/endings"
	"jjm/sandbox"
	"jjm/xmldb"
)

// phaseBook remembers what of running attempts is in their records. A phase enters when
// the next one begins, or the attempt ends.
type phaseBook struct {
	record func(context.Context, xmldb.Fragment) error
	seed   maphash.Seed

	mu   sync.Mutex
	told map[jjm.AttemptID][]jjm.AppPhase
	// fragments are hashes of what they added themselves.
	fragments map[jjm.AttemptID]uint64
}

func newPhaseBook(record func(context.Context, xmldb.Fragment) error) phaseBook {
	return phaseBook{record: record, seed: maphash.MakeSeed(), told: map[jjm.AttemptID][]jjm.AppPhase{},
		fragments: map[jjm.AttemptID]uint64{}}
}

// news returns those of some phases that are not in the record as they are now.
func (pb *phaseBook) news(id jjm.AttemptID, phases []jjm.AppPhase) []jjm.AppPhase {
	pb.mu.Lock()
	defer pb.mu.Unlock()
	var out []jjm.AppPhase
	for _, p := range phases {
		if !slices.Contains(pb.told[id], p) {
			out = append(out, p)
		}
	}
	return out
}

func (pb *phaseBook) keep(id jjm.AttemptID, phases []jjm.AppPhase) {
	pb.mu.Lock()
	defer pb.mu.Unlock()
	pb.told[id] = phases
}

func (pb *phaseBook) forget(id jjm.AttemptID) {
	pb.mu.Lock()
	defer pb.mu.Unlock()
	delete(pb.told, id)
	delete(pb.fragments, id)
}

// recordPhases puts phases of an attempt into its record, as far as they are not there.
// They are for people: trouble is told, and holds nothing up.
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

// recordEarlier does so for the phases of a running attempt that are over: what it says of
// the last one is shown as its progress.
func (ju *Judge) recordEarlier(ctx context.Context, id jjm.AttemptID, said []jjm.AppPhase) {
	last := sandbox.LastPhase(said)
	ju.recordPhases(ctx, id, slices.Delete(slices.Clone(said), last, last+1))
}

// recordAll does so for all phases of an attempt that is about to be judged. They come
// with its result; without one, or with one of an older wrapper, what lies in the bulk's
// folder counts.
func (ju *Judge) recordAll(ctx context.Context, ar *areas.Area, l *jjm.LocalJob, id jjm.AttemptID, en *endings.Ending) {
	if r := en.Result; r != nil && (len(r.Phases) > 0 || l.Progress.Phase == "") {
		ju.recordPhases(ctx, id, en.Result.Phases)
		return
	}
	said, err := ar.Phases(l.Tag, l.Pos)
	if err != nil {
		ju.b.Log.Warn("phases of an attempt cannot be read", "local", id.LocalID, "error", err)
	}
	ju.recordPhases(ctx, id, said)
}
