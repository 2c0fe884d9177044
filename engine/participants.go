package engine

// transaction is the order in which the rooms take part in a change.
func (e *Engine) transaction() []participant {
	return []participant{
		{"unmerged kills", "ends local jobs, whose rows come later", (*change).killUnmerged},
		{"successors", "gives back what failed, before the rows that say so", (*change).justEnded},
		{"new bulks", "attempts point to them", (*change).putBulks},
		{"ends of attempts", "before the rows move on to the next attempt", (*change).putEnds},
		{"local jobs", "what was owned is told by their states", (*change).putLocals},
		{"inputs", "first what was owned goes back, then it is owned anew", (*change).inputsOver},
		{"merges", "settles those whose outputs were in merges that end", (*change).mergesOver},
		{"new local jobs", "own what the others gave back", (*change).putNew},
		{"outputs", "what completed enters the datasets that others read", (*change).addOutputs},
		{"what rooms left", "further changes of the rooms, after the local jobs", (*change).putThen},
		{"bulks and grid jobs", "their counts tell of all that came before", (*change).putRows},
		{"journal", "last: everybody has written into it", (*change).putJournal},
	}
}
