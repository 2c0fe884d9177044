package sandbox

import "jjm"

// OrderEnd orders the wrapper of a position to end: it looks at each heartbeat,
// and then ends its application as a signal TERM would. It is for batch jobs
// that a batch system was told to cancel and still runs, or has forgotten. An
// order that is there already stays.
func (a *Area) OrderEnd(tag jjm.Tag, pos int32) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	name := posFile(tag, endOrders, pos, "")
	if err := a.fs.MkdirAll(BulkDir(tag)+"/"+endOrders, dirMode); err != nil {
		return wrap(err, "order the end of position %d of bulk %s", pos, tag)
	}
	return wrap(a.replaceBytes(name, quick, nil), "write order %s", name)
}

// EndOrdered reports whether the wrapper of a position was ordered to end. What
// cannot be looked at counts as no order: the next heartbeat looks again.
func (a *Area) EndOrdered(tag jjm.Tag, pos int32) bool {
	_, err := a.fs.Lstat(posFile(tag, endOrders, pos, ""))
	return err == nil
}

// endOrders is the folder of a bulk that holds orders to end.
const endOrders = "end"
