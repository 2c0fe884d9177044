package state

import (
	"jjm/internal/jjm"
)

// Participant is a step of every change between the decision and the commit. It reads what the decision set in the
// Change, adds the consequences to the Change, and stores its share in the transaction. Participants run in order, and
// each sees what the previous participants added.
type Participant struct {
	Name string
	// Why is the reason for the participant's position in the order.
	Why string
	Do  func(*Change) error
}

// flush runs the participants inside the transaction. It stops at the first error and returns it.
func (c *Change) flush() error {
	for _, p := range c.S.Participants {
		if err := p.Do(c); err != nil {
			return err
		}
	}
	return nil
}

// PutBulks stores the new bulks.
func (c *Change) PutBulks() error {
	for _, b := range c.Created {
		if err := c.Tx.InsertBulk(b); err != nil {
			return err
		}
	}
	return nil
}

// PutEnds stores the ends of attempts: evidence and verdict.
func (c *Change) PutEnds() error {
	if len(c.Ends) == 0 {
		return nil
	}
	return c.Tx.EndAttempts(c.Ends)
}

// PutLocals stores the changed local jobs.
func (c *Change) PutLocals() error {
	if len(c.Changed) == 0 {
		return nil
	}
	return c.Tx.SaveLocalsAfter(c.Changed, c.Live.Local)
}

// PutNew stores the new local jobs, and notes when they were made.
func (c *Change) PutNew() error {
	if len(c.Inserted) == 0 {
		return nil
	}
	for i := range c.Inserted {
		l := &c.Inserted[i]
		l.Since = c.Now
		if g := c.Grid(l.ID.Grid); g != nil {
			g.Step.LastMade = c.Now
		}
	}
	return c.Tx.InsertLocals(c.Inserted)
}

// PutThen runs the further statements of the change, which need the local jobs in the store.
func (c *Change) PutThen() error {
	for _, do := range c.Then {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// PutRows stores the changed bulks and the changed and new grid jobs.
func (c *Change) PutRows() error {
	for _, b := range c.bulks {
		if err := c.Tx.SaveBulk(b); err != nil {
			return err
		}
	}
	for _, g := range c.Grids {
		if err := c.Tx.SaveGrid(g); err != nil {
			return err
		}
	}
	return nil
}

// PutJournal stores the journal entries of the change.
func (c *Change) PutJournal() error { return c.Tx.Journal(coalesce(c.Journal)...) }

// coalesce joins entries about local jobs with consecutive numbers that changed in the same way. The history of a bulk
// of a thousand local jobs is then one line.
func coalesce(es []jjm.JournalEntry) []jjm.JournalEntry {
	var out []jjm.JournalEntry
	for _, e := range es {
		if n := len(out); n > 0 && joins(out[n-1], e) {
			out[n-1].Last = e.Last
			continue
		}
		out = append(out, e)
	}
	return out
}

// joins reports whether entry b can be joined to entry a: both are about local jobs, the first local job of b follows
// the last one of a, and the entries do not differ otherwise.
func joins(a, b jjm.JournalEntry) bool {
	follows := a.First >= 0 && a.Last+1 == b.First
	a.First, a.Last = b.First, b.Last
	return follows && a == b
}
