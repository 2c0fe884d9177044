package client

import (
	"jjm"
	"jjm/wire"
	"jjm/xmldb/head"
)

// FromRecord makes of a record the answer of a lookup while the daemon is away: the
// last known state, stale, of the time at which the record was written. What a
// gatekeeper left with the grid job (Memo) is told once it is over, as the daemon does.
func FromRecord(h head.Head) wire.Lookup {
	n := h.Counts
	memo := ""
	if h.Grid.Origin != nil && h.Grid.Status.Final() {
		memo = h.Grid.Origin.Memo
	}
	return wire.Lookup{
		ID: h.Grid.ID, Status: h.Grid.Status.String(), GRAM: h.GRAM, Code: h.GRAMCode, Message: h.Message,
		Master: h.Master, Exit: h.Exit, Tar: h.Tar, Usage: h.Grid.Usage, Memo: memo, Stale: true, AsOf: h.Written,
		Counts: wire.Counts{
			Expected: h.Grid.Step.Expected, Total: h.Jobs, New: n[jjm.New], Submitting: n[jjm.Submitting],
			Submitted: n[jjm.Submitted], Running: n[jjm.Running], Completing: n[jjm.Completing],
			Completed: n[jjm.Completed], Failed: n[jjm.Failed], Killed: n[jjm.Killed], Held: n[jjm.Held],
		},
	}
}
