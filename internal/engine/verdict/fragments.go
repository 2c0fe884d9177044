package verdict

import (
	"context"
	"hash/maphash"
	"log/slog"

	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/endings"
	"jjm/internal/jjm"
	"jjm/xmldb"
)

// recordFragment adds a fragment that an attempt wrote to the record of its local job,
// unless the record has it already. The fragment is checked like fragments in the drop
// folder, and must be about this local job.
func (ju *Judge) recordFragment(ctx context.Context, id jjm.AttemptID, xml string) {
	if xml == "" || !ju.phases.isNew(id, xml) {
		return
	}
	err := ju.takeFragment(ctx, id, []byte(xml))
	if jjm.KindOf(err) == jjm.Busy {
		ju.phases.drop(id) // so that the fragment is tried again
	}
	if err != nil {
		ju.b.Complain(slog.LevelWarn, "fragment/"+id.LocalID.String(), "a fragment for a local job's record is refused",
			"local", id.LocalID, "error", err)
	}
}

// takeFragment checks a fragment of an attempt and adds it to the record.
func (ju *Judge) takeFragment(ctx context.Context, id jjm.AttemptID, xml []byte) error {
	f, err := xmldb.ParseFragment(xml)
	if err != nil {
		return err
	}
	if f.Ref() != id.LocalID.String() {
		return jjm.Errorf(jjm.Denied, "fragment of %s: it is about %s", id.LocalID, f.Ref())
	}
	if err := f.CheckKeys(); err != nil {
		return err
	}
	return ju.phases.record(ctx, f)
}

// recordLast adds the last fragment of an attempt, which is about to be judged, to the record of its local job.
func (ju *Judge) recordLast(ctx context.Context, ar *areas.Area, l *jjm.LocalJob, id jjm.AttemptID,
	en *endings.Ending) {
	if en.Result != nil {
		ju.recordFragment(ctx, id, en.Result.Fragment)
		return
	}
	xml, err := ar.ReadFragment(l.Tag, l.Pos)
	if err != nil {
		ju.b.Log.Warn("fragment for a local job's record could not be read", "local", id.LocalID, "error", err)
	}
	ju.recordFragment(ctx, id, string(xml))
}

// drop forgets the fragment of an attempt.
func (pb *phaseBook) drop(id jjm.AttemptID) {
	pb.mu.Lock()
	defer pb.mu.Unlock()
	delete(pb.fragments, id)
}

// isNew notes the fragment of an attempt, and reports whether it differs from the fragment
// noted before.
func (pb *phaseBook) isNew(id jjm.AttemptID, xml string) bool {
	pb.mu.Lock()
	defer pb.mu.Unlock()
	sum := maphash.String(pb.seed, xml)
	if last, known := pb.fragments[id]; known && last == sum {
		return false
	}
	pb.fragments[id] = sum
	return true
}
