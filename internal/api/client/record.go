package client

import (
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/xmldb/head"
)

// FromRecord makes the answer of "lookup" from the head of a record, for use while no daemon answers. The answer is the
// last known state, and is marked as stale, with the time at which the record was written. As in the daemon's answer,
// Memo is set only if the grid job is over, and the answer stays the same after the end of the first generation.
func FromRecord(h head.Head) wire.Lookup { return lookupOf(h.Told()) }

func lookupOf(h head.Head) wire.Lookup {
	memo := ""
	if h.Grid.Origin != nil && h.Grid.Status.Final() {
		memo = h.Grid.Origin.Memo
	}
	return wire.Lookup{
		ID: h.Grid.ID, Status: h.Grid.Status.String(), GRAM: h.GRAM, Code: h.GRAMCode, Message: h.Message,
		Master: h.Master, Exit: h.Exit, Tar: h.Tar, Usage: h.Grid.Usage, Memo: memo, Stale: true, AsOf: h.Written,
		Counts: wire.CountsOf(h.Counts, h.Jobs, h.Grid.Step.Expected),
	}
}

// StatusFromRecord makes the answer of "status" from the head of a record in the folder dir, for use while no daemon
// answers. Records do not contain the holds, the trouble, or the reason why no local jobs are made, so the answer does
// not contain them either.
func StatusFromRecord(dir string, h *head.Head) wire.Status {
	g := &h.Grid
	st := wire.Status{
		Lookup: lookupOf(*h), Name: g.Spec.Name, Type: g.Spec.Type, Owner: g.Owner.User, Key: g.Spec.Key,
		Origin: g.Origin, Cluster: g.Step.Cluster, ClusterJobs: wire.ClusterJobsOf(g.ID, h.ClusterJobs),
		Accepted: g.Accepted, Ended: g.Ended, Why: g.Step.Why, Steps: wire.StepsOf(h.Steps), Proof: g.Proof,
		Warnings: wire.WarningsOf(g), Causes: h.Causes, Phases: h.Phases, Record: head.Path(dir, g.ID),
		Kept: g.Kept(),
	}
	for _, in := range h.Inputs {
		st.Inputs = append(st.Inputs, wire.Input{Dataset: in.Name, Master: in.Master, Open: in.Open, Counts: in.Counts})
	}
	if g.Generation > 1 {
		st.Generation = g.Generation
	}
	for i := range h.Endings {
		e := &h.Endings[i]
		st.Endings = append(st.Endings, wire.EndingOf(&e.Ending, e.Message, e.TarPath))
	}
	if g.Spec.Key != "" {
		st.Handle = jjm.HandleOf(g.Owner.UID, g.Spec.Key)
	}
	return st
}
