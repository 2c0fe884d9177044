package engine

import (
	"jjm/internal/engine/floor/state"
)

// transaction returns the participants of every change in the order in which they store their share. Why is the reason
// for a participant's place in this order.
func (e *Engine) transaction() []state.Participant {
	return []state.Participant{
		{Name: "datasets begin", Why: "a prepared grid job reads its datasets from now on", Do: e.datasets.Begin},
		{Name: "merges begin", Why: "sets a field of the grid job, whose row is stored later", Do: e.feeder.Begin},
		{Name: "unmerged kills", Why: "ends local jobs, whose rows are stored later", Do: e.feeder.KillUnmerged},
		{Name: "gone files", Why: "local jobs that do the work again read the files that are left", Do: e.feeder.LoseFiles},
		{Name: "successors", Why: "gives the work of failed jobs back before their rows say failed", Do: e.feeder.Successors},
		{Name: "new bulks", Why: "attempts point to them", Do: (*state.Change).PutBulks},
		{Name: "ends of attempts", Why: "before local jobs' rows name the next attempt", Do: (*state.Change).PutEnds},
		{Name: "local jobs", Why: "participants below read the new states", Do: (*state.Change).PutLocals},
		{Name: "inputs", Why: "old owners give up inputs before new ones get them", Do: e.feeder.InputsOver},
		{Name: "merges", Why: "settles local jobs whose outputs were merged", Do: e.feeder.MergesOver},
		{Name: "new local jobs", Why: "they own what was given back above", Do: (*state.Change).PutNew},
		{Name: "outputs", Why: "outputs of completed jobs enter datasets that others read", Do: e.feeder.AddOutputs},
		{Name: "outputs end", Why: "closes a dataset once its last outputs are in", Do: e.feeder.EndOutputs},
		{Name: "what rooms left", Why: "further statements of rooms, which need the local jobs' rows", Do: (*state.Change).PutThen},
		{Name: "bulks and grid jobs", Why: "their counts include all of the above", Do: (*state.Change).PutRows},
		{Name: "journal", Why: "last: all of the above add entries", Do: (*state.Change).PutJournal},
	}
}
