package control

import (
	"log/slog"

	"jjm/internal/jjm"
)

// OrderEnds leaves, in the work area, an order to end for the wrapper of each of the attempts. This ends wrappers that
// the batch system does not end or has forgotten, because wrappers look for such an order at each heartbeat. OrderEnds
// does nothing if the workers do not see the work area. An attempt that is no longer current gets no order, because the
// folder of its bulk may already be removed.
func (ct *Controller) OrderEnds(of []jjm.AttemptID) {
	if !ct.sys.Caps().SharedFS {
		return
	}
	orders := map[jjm.Owner]map[jjm.Tag][]int32{} // positions to end
	for _, id := range of {
		if l, owner, ok := ct.s.AttemptRow(id); ok {
			if orders[owner] == nil {
				orders[owner] = map[jjm.Tag][]int32{}
			}
			orders[owner][l.Tag] = append(orders[owner][l.Tag], l.Pos)
		}
	}
	for owner, bulks := range orders {
		if err := ct.leaveOrders(owner, bulks); err != nil {
			ct.b.Complain(slog.LevelWarn, "order/"+ct.sys.Name+"/"+owner.User,
				"orders to end could not be left in the work area, will be repeated",
				"cluster", ct.sys.Name, "bulks", len(bulks), "error", err)
		}
	}
}

// leaveOrders writes the orders to end for one owner's bulks, by the positions of the attempts. A sweep may have
// removed the folder of a bulk just before; then writing an order makes the folder again, and SweepLate removes it.
func (ct *Controller) leaveOrders(owner jjm.Owner, bulks map[jjm.Tag][]int32) error {
	ar, err := ct.areas.Of(owner)
	if err != nil {
		return err
	}
	for tag, positions := range bulks {
		for _, pos := range positions {
			if err = ar.OrderEnd(tag, pos); err != nil {
				break
			}
		}
		late, sweepErr := ct.sweeper.SweepLate(owner, tag)
		if late { // the order is not needed then, and may have failed because of the sweep
			err = sweepErr
		}
		if err != nil {
			return err
		}
	}
	return nil
}
