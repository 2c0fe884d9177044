package site

import (
	"slices"

	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
)

// windows is the state of maintenance windows that the orders loop remembers. Only that loop uses it.
type windows struct {
	shut Shut
	// waiting are the grid jobs that waited for a window at the last look. begun are the windows that had begun by then.
	waiting map[jjm.GridID]bool
	begun   []jjm.Order
}

// lookAtWindows wakes the grid jobs whose reason to wait has changed since the last look because a maintenance window
// came near, began or ended. No change of a row wakes these grid jobs, because only time has passed. Submissions do not
// depend on lookAtWindows: they compare the windows with the clock themselves.
func (si *Site) lookAtWindows() {
	before, now := si.windows, si.windowsNow()
	si.windows = now
	if len(before.waiting)+len(now.waiting) == 0 {
		return
	}
	same := slices.Equal(before.begun, now.begun)
	var ids []jjm.GridID
	si.s.Mark(func(m *state.Marks) {
		ids = m.StaleWhere(func(g *state.Grid) bool {
			waits := now.waiting[g.Job.ID]
			return waits != before.waiting[g.Job.ID] || waits && !same
		})
	})
	for _, id := range ids {
		si.s.WakeGrid(id)
	}
	if len(ids) > 0 {
		si.s.WakeSubmit()
		fair.Kick(si.s.PubKick)
	}
}

// windowsNow returns the present state of the windows.
func (si *Site) windowsNow() windows {
	now := jjm.At(si.b.Now())
	w := windows{shut: si.windows.shut, waiting: map[jjm.GridID]bool{}}
	v := si.s.View()
	defer v.Close()
	all := v.InForce(now, func(o jjm.Order) bool { return o.Verb == jjm.OrderMaintenance })
	if len(all) == 0 {
		return w
	}
	w.begun = slices.DeleteFunc(all, func(o jjm.Order) bool { return !o.Begun(now) })
	for id, g := range v.Grids() {
		if w.shut(v.Memory, g, now) {
			w.waiting[id] = true
		}
	}
	return w
}
