package store

import (
	"context"
	"math"
	"slices"
	"strings"

	"jjm/internal/jjm"
)

// Journal appends entries. The store sets Seq. It also sets the time of an entry whose time is 0.
func (tx *Tx) Journal(es ...jjm.JournalEntry) error {
	now := jjm.At(tx.s.o.Now())
	err := tx.insertMany("INSERT INTO journal (time, grid, first, last, was, became, cause, source, actor)", 9, len(es),
		func(a args, i int) args {
			e := &es[i]
			at := e.Time
			if at == 0 {
				at = now
			}
			a = a.int(int64(at)).int(int64(e.Grid)).int(int64(e.First)).int(int64(e.Last))
			return a.text(e.From).value(e.To).text(e.Cause).text(e.Source).text(e.Actor)
		})
	if err != nil {
		return tx.fail(err, "append %d entries to the journal", len(es))
	}
	return nil
}

// LastChange returns the number of the last entry about a grid job and its local jobs, 0 if there is no entry.
func (s *Store) LastChange(ctx context.Context, id jjm.GridID) (seq int64, err error) {
	err = s.view(ctx, func(c *conn) error {
		seq, err = c.number("SELECT coalesce((SELECT seq FROM journal WHERE grid = ? ORDER BY seq DESC LIMIT 1), 0)",
			args{}.int(int64(id)))
		return err
	})
	if err != nil {
		return 0, s.fail(err, "find the last change of grid job %d", id)
	}
	return seq, nil
}

// OrdersBefore returns at most limit entries of the journal that belong to no grid job, newest first. Only entries with
// a number less than before are returned; before 0 means no bound.
func (s *Store) OrdersBefore(ctx context.Context, before int64, limit int) ([]jjm.JournalEntry, error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	es, err := s.entries(ctx, entryColumns+" WHERE grid = 0 AND seq < ? ORDER BY seq DESC LIMIT ?",
		args{}.int(before).int(int64(limit)))
	if err != nil {
		return nil, s.fail(err, "read the history of orders")
	}
	return es, nil
}

const entryColumns = "SELECT seq, time, grid, first, last, was, became, cause, source, actor FROM journal"

// entries returns the journal entries that a query selects. The query must begin with entryColumns.
func (s *Store) entries(ctx context.Context, query string, a args) (es []jjm.JournalEntry, err error) {
	err = s.view(ctx, func(c *conn) error {
		return c.query(ctx, query, a, func(r row) error {
			es = append(es, jjm.JournalEntry{
				Seq: r.int(0), Time: jjm.Time(r.int(1)), Grid: jjm.GridID(r.int(2)), First: int32(r.int(3)), Last: int32(r.int(4)),
				From: r.text(5), To: r.text(6), Cause: r.text(7), Source: r.text(8), Actor: r.text(9),
			})
			return nil
		})
	})
	return es, err
}

// History returns the journal's entries about the jobs that ref selects, oldest first. For a grid job these are all its
// entries, including entries about its local jobs; for local jobs, the entries whose range includes a selected local
// job. If limit is positive, only the newest limit entries are returned.
func (s *Store) History(ctx context.Context, ref jjm.Ref, limit int) ([]jjm.JournalEntry, error) {
	if !ref.Locals {
		return s.history(ctx, ref.Grid, nil, limit)
	}
	return s.history(ctx, ref.Grid, []jjm.Ref{ref}, limit)
}

// HistoryOf returns the journal's entries whose ranges include a local job that one of refs selects, oldest first. All
// refs must select local jobs of the same grid job. If limit is positive, only the newest limit entries are returned.
func (s *Store) HistoryOf(ctx context.Context, refs []jjm.Ref, limit int) ([]jjm.JournalEntry, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	return s.history(ctx, refs[0].Grid, refs, limit)
}

// history returns the entries about the local jobs that refs select, or all entries of a grid job without refs.
func (s *Store) history(ctx context.Context, id jjm.GridID, refs []jjm.Ref, limit int) ([]jjm.JournalEntry, error) {
	query, a := entryColumns+" WHERE grid = ?", args{}.int(int64(id))
	var ranges []string
	for _, ref := range refs {
		last := int64(ref.Last)
		if last < 0 {
			last = maxLocal
		}
		ranges, a = append(ranges, "first <= ? AND last >= ?"), a.int(last).int(int64(ref.First))
	}
	if len(ranges) > 0 {
		query += " AND first >= 0 AND (" + strings.Join(ranges, " OR ") + ")"
	}
	query += " ORDER BY seq DESC"
	if limit > 0 {
		query, a = query+" LIMIT ?", a.int(int64(limit))
	}
	es, err := s.entries(ctx, query, a)
	if err != nil {
		return nil, s.fail(err, "read the history of grid job %s", id)
	}
	slices.Reverse(es)
	return es, nil
}
