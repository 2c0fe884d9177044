package verdict

import (
	"context"
	"hash/maphash"
	"log/slog"

	"jjm"
	"jjm/engine/areas"
	"jjm/engine/endings"
	"jjm/xmldb"
)

// recordFragment puts what an attempt adds to the record of its local job there, unless it
// is there. It is checked as what lies in the drop folder is; it may be about nothing else.
func (ju *Judge) recordFragment(ctx context.Context, id jjm.AttemptID, xml string) {
	if xml == "" || !ju.phases.anew(id, xml) {
		return
	}
	err := ju.takeFragment(ctx, id, []byte(xml))
	if jjm.KindOf(err) == jjm.Busy {
		ju.phases.drop(id) // to be tried again
	}
	if err != nil {
		ju.b.Complain(slog.LevelWarn, "fragment/"+id.LocalID.String(), "a fragment of a local job's record is not taken",
			"local", id.LocalID, "error", err)
	}
}

// takeFragment checks a fragment of an attempt, and hands it to the record.
func (ju *Judge) takeFragment(ctx context.Context, id jjm.AttemptID, xml []byte) error {
	f, err := xmldb.ParseFragment(xml)
	if err != nil {
		return err
	}
	if f.Ref() != id.LocalID.String() {
		return jjm.Errorf(jjm.Denied, "it is about %s", f.Ref())
	}
	if err := f.Keyed(); err != nil {
		return err
	}
	return ju.phases.record(ctx, f)
}

// recordLast takes the last fragment of an attempt that is about to be judged.
func (ju *Judge) recordLast(ctx context.Context, ar *areas.Area, l *jjm.LocalJob, id jjm.AttemptID,
	en *endings.Ending) {
	if en.Result != nil {
		ju.recordFragment(ctx, id, en.Result.Fragment)
		return
	}
	xml, err := ar.ReadFragment(l.Tag, l.Pos)
	if err != nil {
		ju.b.Log.Warn("what an attempt adds to its record cannot be read", "local", id.LocalID, "error", err)
	}
	ju.recordFragment(ctx, id, string(xml))
}

// drop forgets the fragment of an attempt.
func (pb *phaseBook) drop(id jjm.AttemptID) {
	pb.mu.Lock()
	defer pb.mu.Unlock()
	delete(pb.fragments, id)
}

// anew notes the fragment of an attempt, and reports whether it is another one than before.
func (pb *phaseBook) anew(id jjm.AttemptID, xml string) bool {
	pb.mu.Lock()
	defer pb.mu.Unlock()
	sum := maphash.String(pb.seed, xml)
	if last, known := pb.fragments[id]; known && last == sum {
		return false
	}
	pb.fragments[id] = sum
	return true
}
