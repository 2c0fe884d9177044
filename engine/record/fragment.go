package record

import (
	"context"

	"jjm"
	"jjm/engine/fair"
	"jjm/engine/state"
	"jjm/xmldb"
)

// Add takes a fragment of a record, whose writer may speak for the job. It shows once
// the part of the record that it is about is rewritten, which it soon is. A job that the
// record on disk does not show yet is published first. Kinds: as of [xmldb.DB.Add].
func (pu *Publisher) Add(ctx context.Context, f xmldb.Fragment) error {
	err := pu.b.Deps.Records.Add(f)
	if k := jjm.KindOf(err); k == jjm.Gone || k == jjm.Busy {
		pu.PublishNow(ctx, f.Grid)
		err = pu.b.Deps.Records.Add(f)
	}
	if err != nil {
		return err
	}
	var shards []int
	if f.Local >= 0 {
		shards = append(shards, state.ShardOf(f.Local))
	}
	pu.s.Mark(func(m *state.Marks) { m.Stale(f.Grid, shards...) })
	fair.Kick(pu.s.PubKick)
	return nil
}
