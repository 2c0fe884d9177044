package store

import (
	"context"

	"jjm/internal/jjm"
)

// Notice is one message to a target about the end of a generation of a grid job.
type Notice struct {
	// Target is where the message goes, in the words of package notify.
	Target string
	// Change is the number of the entry in the journal. Notices to one target are delivered in its order.
	Change int64
	Grid   jjm.GridID
	// Generation is the generation that ended.
	Generation int
	// Since is when the generation ended, Tries the number of failed tries, and Next the time of the next try.
	Since jjm.Time
	Tries int
	Next  jjm.Time
}

// GridEnd is the end of a generation of a grid job.
type GridEnd struct {
	Change     int64
	Grid       jjm.GridID
	Generation int
	Time       jjm.Time
	// Notify are the addresses in the job file.
	Notify []string
}

// overWords are the words of the final statuses, as they are in the journal.
const overWords = "('done', 'finished', 'failed', 'broken', 'aborted')"

// LastEntry returns the number of the last entry of the journal, 0 if the journal is empty.
func (s *Store) LastEntry(ctx context.Context) (seq int64, err error) {
	err = s.view(ctx, func(c *conn) error {
		seq, err = c.number("SELECT coalesce(max(seq), 0) FROM journal", nil)
		return err
	})
	if err != nil {
		return 0, s.fail(err, "find the last entry of the journal")
	}
	return seq, nil
}

// GridEnds returns the ends, in order, of grid jobs whose job file has addresses to notify. It reads at most span
// entries of the journal, those after number after, and returns the number of the last entry that it read.
func (s *Store) GridEnds(ctx context.Context, after, span int64) (ends []GridEnd, upto int64, err error) {
	err = s.view(ctx, func(c *conn) error {
		last, err := c.number("SELECT coalesce(max(seq), 0) FROM journal", nil)
		if err != nil {
			return err
		}
		upto = max(after, min(last, after+span))
		return c.query(ctx, `SELECT j.seq, j.grid, j.time, g.spec ->> '$.notify',
				CASE g.generation WHEN 1 THEN 1 ELSE (SELECT count(*) FROM journal AS k WHERE k.grid = j.grid
					AND k.first = -1 AND k.was <> k.became AND k.became IN `+overWords+` AND k.seq <= j.seq) END
			FROM journal AS j JOIN grid_jobs AS g ON g.id = j.grid
			WHERE j.seq > ? AND j.seq <= ? AND j.first = -1 AND j.was <> j.became AND j.became IN `+overWords+`
				AND g.spec ->> '$.notify' IS NOT NULL ORDER BY j.seq`, args{}.int(after).int(upto), func(r row) error {
			e := GridEnd{Change: r.int(0), Grid: jjm.GridID(r.int(1)), Time: jjm.Time(r.int(2)), Generation: int(r.int(4))}
			list, err := decoded[[]string](r.text(3))
			if err != nil {
				return jjm.Errorf(jjm.Internal, "grid job %s: notify: %w", e.Grid, err)
			}
			if list != nil {
				e.Notify = *list
			}
			ends = append(ends, e)
			return nil
		})
	})
	if err != nil {
		return nil, 0, s.fail(err, "read the ends of grid jobs after entry %d of the journal", after)
	}
	return ends, upto, nil
}

// PutNotices stores notices that are to be delivered.
func (tx *Tx) PutNotices(ns []Notice) error {
	err := tx.insertMany("INSERT INTO notices (target, change, grid, generation, since)", 5, len(ns),
		func(a args, i int) args {
			n := &ns[i]
			return a.value(n.Target).int(n.Change).int(int64(n.Grid)).int(int64(n.Generation)).int(int64(n.Since))
		})
	if err != nil {
		return tx.fail(err, "store %d notices", len(ns))
	}
	return nil
}

// DueNotices returns the oldest notice of each target whose name begins with prefix, if the notice is to be tried now;
// at most limit.
func (s *Store) DueNotices(ctx context.Context, prefix string, now jjm.Time, limit int) ([]Notice, error) {
	// A column beside min() has the value of the row with the minimum (SQLite, "Bare columns in an aggregate query").
	return s.notices(ctx, `SELECT target, min(change), grid, generation, since, tries, next FROM notices
		WHERE substr(target, 1, length(?1)) = ?1 GROUP BY target HAVING next <= ?2 LIMIT ?3`,
		args{}.value(prefix).int(int64(now)).int(int64(limit)))
}

// NextNotices returns the oldest notices of a target, at most limit.
func (s *Store) NextNotices(ctx context.Context, target string, limit int) ([]Notice, error) {
	return s.notices(ctx, `SELECT target, change, grid, generation, since, tries, next FROM notices
		WHERE target = ? ORDER BY change LIMIT ?`, args{}.value(target).int(int64(limit)))
}

func (s *Store) notices(ctx context.Context, query string, a args) (ns []Notice, err error) {
	err = s.view(ctx, func(c *conn) error {
		return c.query(ctx, query, a, func(r row) error {
			ns = append(ns, Notice{Target: r.text(0), Change: r.int(1), Grid: jjm.GridID(r.int(2)),
				Generation: int(r.int(3)), Since: jjm.Time(r.int(4)), Tries: int(r.int(5)), Next: jjm.Time(r.int(6))})
			return nil
		})
	})
	if err != nil {
		return nil, s.fail(err, "read the notices that are to be delivered")
	}
	return ns, nil
}

// EndNotice deletes a notice that was delivered or given up.
func (tx *Tx) EndNotice(n Notice) error {
	if _, err := tx.exec("DELETE FROM notices WHERE target = ? AND change = ?",
		args{}.value(n.Target).int(n.Change)); err != nil {
		return tx.fail(err, "end the notice about entry %d of the journal", n.Change)
	}
	return nil
}

// DelayNotice stores the number of failed tries of a notice and the time of the next try.
func (tx *Tx) DelayNotice(n Notice) error {
	if _, err := tx.exec("UPDATE notices SET tries = ?, next = ? WHERE target = ? AND change = ?",
		args{}.int(int64(n.Tries)).int(int64(n.Next)).value(n.Target).int(n.Change)); err != nil {
		return tx.fail(err, "delay the notice about entry %d of the journal", n.Change)
	}
	return nil
}
