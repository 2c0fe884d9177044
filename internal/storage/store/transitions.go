package store

import (
	"fmt"
	"strings"

	"jjm/internal/jjm"
)

// holdTransitions creates a trigger with which the writer refuses every change of a local job's state that is not in
// [jjm.Transitions]. The trigger is temporary and belongs to the connection. So the list is written only once, in
// package jjm, and a new transition needs no new step of the schema.
func holdTransitions(c *conn) error {
	var pairs []string
	for _, t := range jjm.Transitions() {
		pairs = append(pairs, fmt.Sprintf("(%d, %d)", t.From, t.To))
	}
	return c.script(`CREATE TEMP TRIGGER local_jobs_transitions BEFORE UPDATE OF state ON main.local_jobs
		WHEN NEW.state <> OLD.state AND (OLD.state, NEW.state) NOT IN (VALUES ` + strings.Join(pairs, ", ") + `) BEGIN
		SELECT RAISE(ABORT, format('local job %d.%d: no local job goes from state %d to state %d',
			OLD.grid, OLD.n, OLD.state, NEW.state));
	END;`)
}
