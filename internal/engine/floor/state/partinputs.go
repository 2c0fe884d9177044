package state

import (
	"context"

	"jjm/internal/jjm"
)

// ReadInputs reads Part.Input and Origin of the local jobs ls from the store and sets these fields in ls. Memory does
// not contain them, because they are large.
func (s *State) ReadInputs(ctx context.Context, ls []jjm.LocalJob) error {
	wanted := map[jjm.GridID][]int32{}
	along := map[jjm.GridID]bool{} // grid jobs whose parts of events or rows may have inputs
	for i := range ls {
		id := ls[i].ID.Grid
		if _, known := along[id]; !known {
			along[id] = s.readsAlong(id)
		}
		if unit := ls[i].Part.Unit; along[id] || unit != jjm.UnitEvent && unit != jjm.UnitRow {
			wanted[ls[i].ID.Grid] = append(wanted[ls[i].ID.Grid], ls[i].ID.N)
		}
	}
	for id, numbers := range wanted {
		inputs, err := s.B.Store.PartInputs(ctx, id, numbers)
		if err != nil {
			return err
		}
		for i := range ls {
			if in, ok := inputs[ls[i].ID.N]; ok && ls[i].ID.Grid == id {
				ls[i].Part.Input, ls[i].Origin = in.Input, in.Origin
			}
		}
	}
	return nil
}

// readsAlong reports whether a part of a grid job may have an Input even though the part owns events or rows: the Input
// then contains files of secondary datasets, or settings. For a grid job that is not live it returns true.
func (s *State) readsAlong(id jjm.GridID) bool {
	v := s.View()
	defer v.Close()
	g := v.Grid(id)
	return g == nil || len(g.Job.Spec.Datasets) > 0 || g.Job.Spec.Split != nil
}
