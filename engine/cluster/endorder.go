package cluster

import (
	"log/slog"

	"jjm"
)

// position is the position of a member in a bulk.
type position struct {
	tag jjm.Tag
	pos int32
}

// orderEnds leaves orders to end in the work area, for wrappers that the batch system
// does not end or has forgotten. Wrappers look for them at each heartbeat. Workers that
// do not see the work area cannot be ordered this way.
func (c *Cluster) orderEnds(owner jjm.Owner, of []position) {
	if len(of) == 0 || !c.caps().SharedFS {
		return
	}
	err := c.leaveOrders(owner, of)
	if err != nil {
		c.b.Complain(slog.LevelWarn, "order/"+c.name+"/"+owner.User, "orders to end could not be left in the work area, "+
			"will be repeated", "cluster", c.name, "jobs", len(of), "error", err)
	}
}

func (c *Cluster) leaveOrders(owner jjm.Owner, of []position) error {
	ar, err := c.cs.areas.Of(owner)
	if err != nil {
		return err
	}
	for _, p := range of {
		if err := ar.OrderEnd(p.tag, p.pos); err != nil {
			return err
		}
	}
	return nil
}
