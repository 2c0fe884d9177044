package plan

import (
	"fmt"
	"slices"

	"jjm/internal/jjm"
)

// Remade is what happens to the outputs of a grid job that another grid job used.
type Remade struct {
	Producer jjm.GridID
	// Generation is the generation of the producer that begins; 0 if the producer is not reopened, because its outputs are
	// only declared lost.
	Generation int
}

// Consumed decides what an ended grid job is told when a grid job for whose end it waited, or whose outputs it read, is
// reopened or loses outputs. cause is for the journal. notice is for the status: it names the command that runs the
// ended grid job again.
func Consumed(consumer *jjm.GridJob, r Remade) (cause string, notice jjm.Notice) {
	who := fmt.Sprintf("grid job %s, whose outputs this one read", r.Producer)
	if slices.Contains(consumer.Spec.After, r.Producer) {
		who = fmt.Sprintf("grid job %s, for whose end this one waited", r.Producer)
	}
	what := who + ", lost outputs"
	if cause = what; r.Generation > 0 {
		what = who + ", runs again"
		cause = fmt.Sprintf("%s: its generation %d begins", what, r.Generation)
	}
	return cause, jjm.Notice{Kind: jjm.InputsAgain, Text: what + ": " + again(consumer)}
}

// again returns, for people, the command that does the work of an ended grid job again.
func again(job *jjm.GridJob) string {
	n := &job.Counts
	if n[jjm.Completed]+n[jjm.CompletedFrozen] == 0 && ResubmitHelps(job, n[jjm.Failed]) {
		return fmt.Sprintf("jjm resubmit %s runs this one again once its inputs are there", job.ID)
	}
	return fmt.Sprintf("jjm copy %s makes a new grid job of this one's job file", job.ID)
}
