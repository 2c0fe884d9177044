package store

import (
	"context"

	"jjm/internal/jjm"
)

// Ended is an ended attempt, with the facts about its grid job that accounting needs.
type Ended struct {
	Seq      int64 // grows in the order in which ends were stored
	Attempt  jjm.AttemptID
	User     string
	Origin   *jjm.Origin
	Queue    string // the queue that the grid job requested
	Cluster  string
	Evidence jjm.Evidence
	// Known is when jjm stored the end of the attempt.
	Known jjm.Time
}

// EndedAfter returns at most limit ended attempts with a Seq above seq, in order, including archived attempts.
func (s *Store) EndedAfter(ctx context.Context, seq int64, limit int) ([]Ended, error) {
	var out []Ended
	err := s.view(ctx, func(c *conn) error {
		return c.query(ctx, `SELECT e.id, e.grid, e.local, e.attempt, e.evidence, g.user, g.origin, g.spec ->> '$.request.queue', b.cluster, coalesce(
				(SELECT ended FROM attempts AS a WHERE a.grid = e.grid AND a.local = e.local AND a.attempt = e.attempt),
				(SELECT ended FROM history_attempts AS a WHERE a.grid = e.grid AND a.local = e.local AND a.attempt = e.attempt), 0)
			FROM evidence AS e JOIN grid_jobs AS g ON g.id = e.grid
			LEFT JOIN bulks AS b ON b.tag = coalesce(
				(SELECT tag FROM attempts AS a WHERE a.grid = e.grid AND a.local = e.local AND a.attempt = e.attempt),
				(SELECT tag FROM history_attempts AS a WHERE a.grid = e.grid AND a.local = e.local AND a.attempt = e.attempt))
			WHERE e.id > ? ORDER BY e.id LIMIT ?`, args{}.int(seq).int(int64(limit)), func(r row) error {
			e := Ended{Seq: r.int(0), Attempt: jjm.AttemptID{LocalID: jjm.LocalID{Grid: jjm.GridID(r.int(1)),
				N: int32(r.int(2))}, Attempt: int32(r.int(3))},
				User: r.text(5), Queue: r.text(7), Cluster: r.text(8), Known: jjm.Time(r.int(9))}
			ev, err := decodeEvidence(r.text(4))
			if err == nil {
				e.Evidence = *ev
				e.Origin, err = decoded[jjm.Origin](r.text(6))
			}
			if err != nil {
				return jjm.Errorf(jjm.Internal, "attempt %s #%d: %w", e.Attempt.LocalID, e.Attempt.Attempt, err)
			}
			out = append(out, e)
			return nil
		})
	})
	if err != nil {
		return nil, s.fail(err, "read the attempts that ended after number %d", seq)
	}
	return out, nil
}

// LastEnded returns the Seq of the attempt that ended last, 0 if none has ended.
func (s *Store) LastEnded(ctx context.Context) (seq int64, err error) {
	err = s.view(ctx, func(c *conn) error {
		seq, err = c.number("SELECT "+lastEvidenceID, nil)
		return err
	})
	if err != nil {
		return 0, s.fail(err, "find the attempt that ended last")
	}
	return seq, nil
}
