package store

import (
	"context"

	"jjm/internal/jjm"
)

// Notice is one message to a target about a change of a grid job's status.
type Notice struct {
	// Target is where the message goes, in the words of package notify.
	Target string
	// Change is the number of the entry in the journal. Notices to one target are delivered in its order.
	Change int64
	Grid   jjm.GridID
	// Generation is the generation that changed.
	Generation int
	// From and To are the statuses before and after the change. UID is the account of the owner.
	From, To string
	UID      int
	// Since is when the status changed, Tries the number of failed tries, and Next the time of the next try.
	Since jjm.Time
	Tries int
	Next  jjm.Time
}

// GridChange is a change of a grid job's status.
type GridChange struct {
	Change     int64
	Grid       jjm.GridID
	Generation int
	Time       jjm.Time
	To         jjm.GridStatus
	// Notify are the addresses in the job file, and Callback is the server in the job file.
	Notify   []string
	Callback *jjm.Callback
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

// GridChanges returns changes of status that may need a notice, in order: all changes of grid jobs whose job file has a
// callback, and the ends of grid jobs whose job file has addresses to notify. It reads at most span entries of the
// journal, beginning after entry number after, and returns the number of the last entry that it read.
func (s *Store) GridChanges(ctx context.Context, after, span int64) (changes []GridChange, upto int64, err error) {
	err = s.view(ctx, func(c *conn) error {
		last, err := c.number("SELECT coalesce(max(seq), 0) FROM journal", nil)
		if err != nil {
			return err
		}
		upto = max(after, min(last, after+span))
		return c.query(ctx, `SELECT j.seq, j.grid, j.time, j.became, g.spec ->> '$.notify', g.spec ->> '$.callback',
				CASE g.generation WHEN 1 THEN 1 ELSE (SELECT count(*) FROM journal AS k WHERE k.grid = j.grid
					AND k.first = -1 AND k.was <> k.became AND k.became IN `+overWords+` AND k.seq < j.seq) + 1 END
			FROM journal AS j JOIN grid_jobs AS g ON g.id = j.grid
			WHERE j.seq > ? AND j.seq <= ? AND j.first = -1 AND j.was <> j.became
				AND (g.spec ->> '$.callback' IS NOT NULL OR j.became IN `+overWords+` AND g.spec ->> '$.notify' IS NOT NULL)
			ORDER BY j.seq`, args{}.int(after).int(upto), func(r row) error {
			ch, isStatus, err := scanChange(r)
			if isStatus {
				changes = append(changes, ch)
			}
			return err
		})
	})
	if err != nil {
		return nil, 0, s.fail(err, "read the changes of grid jobs after entry %d of the journal", after)
	}
	return changes, upto, nil
}

// scanChange reads a change. isStatus is false if the entry of the journal is not about a status.
func scanChange(r row) (ch GridChange, isStatus bool, err error) {
	ch = GridChange{Change: r.int(0), Grid: jjm.GridID(r.int(1)), Time: jjm.Time(r.int(2)), Generation: int(r.int(6))}
	if ch.To.UnmarshalText([]byte(r.text(3))) != nil {
		return ch, false, nil
	}
	list, err := decoded[[]string](r.text(4))
	if err != nil {
		return ch, false, jjm.Errorf(jjm.Internal, "grid job %s: notify: %w", ch.Grid, err)
	}
	if list != nil {
		ch.Notify = *list
	}
	if ch.Callback, err = decoded[jjm.Callback](r.text(5)); err != nil {
		return ch, false, jjm.Errorf(jjm.Internal, "grid job %s: callback: %w", ch.Grid, err)
	}
	return ch, true, nil
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

// DueNotices returns, for each account, the first notices of targets whose name begins with prefix, at most limit for
// an account. It returns only the oldest notice of each target, if that notice is to be tried now. Notices with fewer
// tries come first.
func (s *Store) DueNotices(ctx context.Context, prefix string, now jjm.Time, limit int) ([]Notice, error) {
	// A column beside min() has the value of the row with the minimum (SQLite, "Bare columns in an aggregate query").
	return s.notices(ctx, `SELECT target, change, grid, generation, since, tries, next, '', '', uid FROM (
			SELECT n.*, g.uid, row_number() OVER (PARTITION BY g.uid ORDER BY n.tries, n.change) AS place FROM (
				SELECT target, min(change) AS change, grid, generation, since, tries, next FROM notices
				WHERE target >= ?1 AND target < ?1 || char(1114111) GROUP BY target HAVING next <= ?2) AS n
			JOIN grid_jobs AS g ON g.id = n.grid)
		WHERE place <= ?3 ORDER BY tries, change`,
		args{}.value(prefix).int(int64(now)).int(int64(limit)))
}

// NextNotices returns the oldest notices of a target, at most limit.
func (s *Store) NextNotices(ctx context.Context, target string, limit int) ([]Notice, error) {
	return s.notices(ctx, `SELECT n.target, n.change, n.grid, n.generation, n.since, n.tries, n.next,
			coalesce(j.was, ''), j.became, g.uid
		FROM notices AS n JOIN journal AS j ON j.seq = n.change JOIN grid_jobs AS g ON g.id = n.grid
		WHERE n.target = ? ORDER BY n.change LIMIT ?`, args{}.value(target).int(int64(limit)))
}

func (s *Store) notices(ctx context.Context, query string, a args) (ns []Notice, err error) {
	err = s.view(ctx, func(c *conn) error {
		return c.query(ctx, query, a, func(r row) error {
			ns = append(ns, Notice{Target: r.text(0), Change: r.int(1), Grid: jjm.GridID(r.int(2)),
				Generation: int(r.int(3)), Since: jjm.Time(r.int(4)), Tries: int(r.int(5)), Next: jjm.Time(r.int(6)),
				From: r.text(7), To: r.text(8), UID: int(r.int(9))})
			return nil
		})
	})
	if err != nil {
		return nil, s.fail(err, "read the notices that are to be delivered")
	}
	return ns, nil
}

// Untold holds the facts about notices that were not delivered.
type Untold struct {
	// Waiting is the number of notices that have failed at least once and will be tried again. Oldest is the time of the
	// oldest change of status among these notices.
	Waiting int
	Oldest  jjm.Time
	// GivenUp is the number of notices that were given up since a time, and Last the time when the last of them was given
	// up.
	GivenUp int
	Last    jjm.Time
}

// Untold returns the facts about waiting notices, and about notices that were given up since a time.
func (s *Store) Untold(ctx context.Context, since jjm.Time) (u Untold, err error) {
	err = s.view(ctx, func(c *conn) error {
		return c.query(ctx, `SELECT (SELECT count(*) FROM notices WHERE tries > 0),
				(SELECT coalesce(min(since), 0) FROM notices WHERE tries > 0), count(*), coalesce(max(time), 0)
			FROM journal WHERE became = '`+NotNotified+`' AND time >= ?`, args{}.int(int64(since)), func(r row) error {
			u = Untold{Waiting: int(r.int(0)), Oldest: jjm.Time(r.int(1)), GivenUp: int(r.int(2)), Last: jjm.Time(r.int(3))}
			return nil
		})
	})
	if err != nil {
		return u, s.fail(err, "count the notices that are not delivered")
	}
	return u, nil
}

// UntoldOf returns why the last undelivered notice about a grid job was given up. It returns "" if no notice was given
// up.
func (s *Store) UntoldOf(ctx context.Context, id jjm.GridID) (reason string, err error) {
	err = s.view(ctx, func(c *conn) error {
		return c.query(ctx, `SELECT cause FROM journal WHERE grid = ? AND first = -1 AND became = '`+NotNotified+`'
			ORDER BY seq DESC LIMIT 1`, args{}.int(int64(id)), func(r row) error {
			reason = r.text(0)
			return nil
		})
	})
	if err != nil {
		return "", s.fail(err, "read the notices of grid job %s that were given up", id)
	}
	return reason, nil
}

// NotNotified is the word in the journal for a notice that was given up.
const NotNotified = "not-notified"

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
