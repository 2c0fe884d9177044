package wire

import "jjm/internal/jjm"

// CountsOf returns Counts from n, the number of local jobs in each state. Frozen local jobs also count as completed or
// failed, as in Ganga's summary of subjobs. total is the present number of local jobs, and expected the final number.
// Local jobs that total includes and n does not are counted as given back.
func CountsOf(n [jjm.NumStates]int, total, expected int) Counts {
	sum := 0
	for _, k := range n {
		sum += k
	}
	return Counts{
		Expected: expected, Total: total, GivenBack: max(0, total-sum),
		New: n[jjm.New], Submitting: n[jjm.Submitting], Submitted: n[jjm.Submitted],
		Running: n[jjm.Running], Completing: n[jjm.Completing], Completed: n[jjm.Completed] + n[jjm.CompletedFrozen],
		Failed: n[jjm.Failed] + n[jjm.FailedFrozen], Killed: n[jjm.Killed], Held: n[jjm.Held],
		CompletedFrozen: n[jjm.CompletedFrozen], FailedFrozen: n[jjm.FailedFrozen],
	}
}

// States returns the number of local jobs in each state, from which CountsOf made the Counts.
func (c Counts) States() (n [jjm.NumStates]int) {
	n[jjm.New], n[jjm.Submitting], n[jjm.Submitted] = c.New, c.Submitting, c.Submitted
	n[jjm.Running], n[jjm.Completing], n[jjm.Held], n[jjm.Killed] = c.Running, c.Completing, c.Held, c.Killed
	n[jjm.Completed], n[jjm.CompletedFrozen] = c.Completed-c.CompletedFrozen, c.CompletedFrozen
	n[jjm.Failed], n[jjm.FailedFrozen] = c.Failed-c.FailedFrozen, c.FailedFrozen
	return n
}

// StepsOf converts the steps of a grid job to the form in which they are sent.
func StepsOf(all []jjm.StepCounts) []Step {
	var out []Step
	for _, c := range all {
		total := c.GivenBack
		for _, k := range c.Counts {
			total += k
		}
		out = append(out, Step{Step: c.Step, Name: jjm.StepName(c.Step), Done: c.Done(), Merging: c.Merging,
			Closed: c.Closed, Counts: CountsOf(c.Counts, total, c.Expected)})
	}
	return out
}

// WarningsOf converts the warnings of a grid job to the form in which they are sent.
func WarningsOf(job *jjm.GridJob) []Warning {
	var out []Warning
	for _, w := range job.Warnings {
		one := Warning{Kind: string(w.Kind), Line: w.Line(job.ID), Text: w.Text, Count: w.Count}
		if w.Kind != jjm.InputsAgain {
			one.First = jjm.LocalID{Grid: job.ID, N: w.First}.String()
		}
		out = append(out, one)
	}
	return out
}

// ClusterJobsOf converts the cluster jobs of the grid job id to the form in which they are sent.
func ClusterJobsOf(id jjm.GridID, all []jjm.ClusterJob) []ClusterJob {
	var out []ClusterJob
	for _, j := range all {
		out = append(out, ClusterJob{ID: j.ID(id), Cluster: j.Cluster, Counts: CountsOf(j.Counts, j.Jobs(), 0)})
	}
	return out
}
