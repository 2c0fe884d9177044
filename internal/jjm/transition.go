package jjm

import "slices"

// Transition is a permitted change of a local job's state, with the reason why it is permitted.
type Transition struct {
	From, To State
	// Why is "ganga" for an arrow of Ganga's graph of job states; else it names the decision that adds the change (R1 and
	// so on, in docs/DECISIONS.md), and the occasion of the change.
	Why string
}

// ganga marks the arrows of Ganga's graph (Job.py, State; public Ganga of 2024-03-22) between states that jjm has.
const ganga = "ganga"

// transitions holds every change of state that a local job may make. Ganga's words unknown, incomplete, template and
// removed are not states of a local job.
var transitions = []Transition{
	{New, Submitting, ganga},
	{Submitting, New, ganga}, // rollback
	{Submitting, Submitted, ganga},
	{Submitting, Failed, ganga},
	{Submitted, Running, ganga},
	{Submitted, Killed, ganga},
	{Submitted, Failed, ganga},
	{Submitted, Completing, ganga},
	{Submitted, Completed, ganga},
	{Submitted, Submitting, ganga},
	{Running, Completing, ganga},
	{Running, Completed, ganga},
	{Running, Failed, ganga},
	{Running, Killed, ganga},
	{Running, Submitting, ganga},
	{Running, Submitted, ganga},
	{Completing, Completed, ganga},
	{Completing, Failed, ganga},
	{Completing, Submitting, ganga},
	{Completing, Submitted, ganga},
	{Killed, Failed, ganga},
	{Killed, Submitting, ganga},
	{Killed, Submitted, ganga},
	{Failed, Submitting, ganga},
	{Failed, Submitted, ganga},
	{Failed, Completed, ganga},
	{Completed, Failed, ganga},
	{Completed, Submitting, ganga},
	{Completed, Submitted, ganga},
	{Completed, CompletedFrozen, ganga},
	{CompletedFrozen, Completed, ganga},
	{Failed, FailedFrozen, ganga},
	{Killed, FailedFrozen, ganga},
	{FailedFrozen, Failed, ganga},

	{New, Failed, "R8: createfailed, it never reaches a batch system; or its files were withdrawn"},
	{New, Held, "R9: a person holds it before it is submitted"},
	{Held, New, "R14: released before it was first submitted"},
	{New, Killed, "R13: killed before it was submitted"},
	{Submitting, Killed, "R13: killed before it was submitted, or while that was in doubt"},
	{Submitting, Running, "R2: the batch system had it, though its acknowledgement was lost"},
	{Submitting, Completing, "R2: it was over when it was found"},
	{Submitting, Completed, "R2: it was over when it was found"},
	{Submitting, Held, "R9: it asked for a hold, and was over when it was found"},
	{Submitted, Held, "R9: it asked for a hold, and was over when it was found"},
	{Running, Held, "R9: it asked for a hold"},
	{Completing, Held, "R9: it asked for a hold"},
	{Completing, Killed, "R13: killed before its outputs were kept"},
	{Held, Submitting, "R14: released"},
	{Held, Killed, "R13: killed while it was held"},
	{Held, Failed, "R5: held for longer than a hold may last"},
	{Failed, New, "R14: resubmitted, and no batch system ever had it"},
	{Killed, New, "R14: resubmitted, and no batch system ever had it"},
}

// Transitions returns every change of state that a local job may make, Ganga's first. A local job may always stay in
// its state.
func Transitions() []Transition { return slices.Clone(transitions) }
