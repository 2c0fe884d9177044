package jjm

// MaxAfter is how many grid jobs another one may begin after.
const MaxAfter = 100

// The values of Spec.AfterEnd: how the grid jobs of Spec.After must end. Slurm calls them afterok, afterany and
// afternotok (sbatch(1), --dependency).
const (
	AfterOK     = "ok"     // as done
	AfterAny    = "any"    // in any way
	AfterFailed = "failed" // as finished, failed, broken or aborted: in any way but done
)

// AfterEnds returns the words that Spec.AfterEnd may have, the default first.
func AfterEnds() []string { return []string{AfterOK, AfterAny, AfterFailed} }
