package record

import (
	"context"

	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/xmldb"
)

// Add adds a fragment to a record. The caller has checked that the fragment's writer may change the record. The
// fragment appears when its shard or head is next written, which is soon. If the record on disk does not have the local
// job yet, Add publishes the record first. The kinds of errors are the same as of [xmldb.DB.Add].
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
