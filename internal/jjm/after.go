package jjm

// MaxAfter is the greatest number of grid jobs in Spec.After.
const MaxAfter = 100

// The values of Spec.AfterEnd: how the grid jobs of Spec.After must end. Slurm calls them afterok, afterany and
// afternotok (sbatch(1), --dependency).
const (
	AfterOK     = "ok"     // with the status done
	AfterAny    = "any"    // with any final status
	AfterFailed = "failed" // with the status finished, failed, broken or aborted: any final status but done
)

// AfterEnds returns the words that Spec.AfterEnd may have, the default first.
func AfterEnds() []string { return []string{AfterOK, AfterAny, AfterFailed} }
