package state

import (
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// inputsAgain is the word of the journal for ended grid jobs whose inputs are made again.
const inputsAgain = "inputs-again"

// TellConsumers adds an entry to the journal and a warning to each ended grid job that used the outputs of a grid job.
// actor is the person who reopened that grid job or declared its outputs lost.
func TellConsumers(c *Change, r plan.Remade, actor string) error {
	consumers, err := c.Tx.EndedConsumers(r.Producer)
	if err != nil {
		return err
	}
	for i := range consumers {
		job := &consumers[i]
		if live := c.Grid(job.ID); live != nil {
			job = live // the change stores the row
		}
		cause, notice := plan.Consumed(job, r)
		c.Note(job.ID, job.Status.String(), inputsAgain, cause, actor)
		if job.Warnings = jjm.Warned(job.Warnings, notice, 0); job != &consumers[i] {
			continue
		}
		if err := c.Tx.Warn(job.ID, job.Warnings); err != nil {
			return err
		}
	}
	return nil
}
