package engine

import (
	"jjm/engine/state"
)

// transaction is the order in which the rooms take part in a change.
func (e *Engine) transaction() []state.Participant {
	return []state.Participant{
		{Name: "datasets begin", Why: "what is prepared is read from now on", Do: e.datasets.Begin},
		{Name: "merges begin", Why: "sets a field of the grid job, whose row comes later", Do: e.feeder.Begin},
		{Name: "unmerged kills", Why: "ends local jobs, whose rows come later", Do: e.feeder.KillUnmerged},
		{Name: "successors", Why: "gives back what failed, before the rows that say so", Do: e.feeder.Successors},
		{Name: "new bulks", Why: "attempts point to them", Do: (*state.Change).PutBulks},
		{Name: "ends of attempts", Why: "before the rows move on to the next attempt", Do: (*state.Change).PutEnds},
		{Name: "local jobs", Why: "what was owned is told by their states", Do: (*state.Change).PutLocals},
		{Name: "inputs", Why: "first what was owned goes back, then it is owned anew", Do: e.feeder.InputsOver},
		{Name: "merges", Why: "settles those whose outputs were in merges that end", Do: e.feeder.MergesOver},
		{Name: "new local jobs", Why: "own what the others gave back", Do: (*state.Change).PutNew},
		{Name: "outputs", Why: "what completed enters the datasets that others read", Do: e.feeder.AddOutputs},
		{Name: "outputs end", Why: "the last outputs are in", Do: e.feeder.EndOutputs},
		{Name: "what rooms left", Why: "further changes of the rooms, after the local jobs", Do: (*state.Change).PutThen},
		{Name: "bulks and grid jobs", Why: "their counts tell of all that came before", Do: (*state.Change).PutRows},
		{Name: "journal", Why: "last: everybody has written into it", Do: (*state.Change).PutJournal},
	}
}
