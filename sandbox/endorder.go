package sandbox

import "jjm/internal/jjm"

// OrderEnd orders the wrapper of a position to end. The wrapper looks for the order at each heartbeat, and then ends
// its application in the same way as after a signal TERM. The order is for batch jobs that still run although the batch
// system was told to cancel them, or has forgotten them. An existing order stays.
func (a *Area) OrderEnd(tag jjm.Tag, pos int32) error {
	if err := checkTag(tag); err != nil {
		return err
	}
	name := posFile(tag, endOrders, pos, "")
	if err := a.fs.MkdirAll(BulkDir(tag)+"/"+endOrders, dirMode); err != nil {
		return a.wrap(err, "order the end of position %d of bulk %s", pos, tag)
	}
	return a.wrap(a.replaceBytes(name, quick, nil), "write order %s", name)
}

// EndOrdered reports whether the wrapper of a position was ordered to end. After an error it returns false; the next
// heartbeat looks again.
func (a *Area) EndOrdered(tag jjm.Tag, pos int32) bool {
	_, err := a.fs.Lstat(posFile(tag, endOrders, pos, ""))
	return err == nil
}

// endOrders is the folder of a bulk for orders to end.
const endOrders = "end"
