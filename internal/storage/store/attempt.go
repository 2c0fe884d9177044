package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"jjm/internal/jjm"
)

// attemptID reads grid, local and attempt from three columns.
func attemptID(r row, i int) jjm.AttemptID {
	return jjm.AttemptID{
		LocalID: jjm.LocalID{Grid: jjm.GridID(r.int(i)), N: int32(r.int(i + 1))},
		Attempt: int32(r.int(i + 2)),
	}
}

func attemptArgs(a args, id jjm.AttemptID) args {
	return a.int(int64(id.Grid)).int(int64(id.N)).int(int64(id.Attempt))
}

// AttemptEnd is the end of an attempt, with its evidence and verdict. Ended must be set.
type AttemptEnd struct {
	ID       jjm.AttemptID
	Ended    jjm.Time
	Evidence jjm.Evidence
	Verdict  jjm.Verdict
}

// EndAttempts stores permanently the ends of open attempts, with evidence and verdict. It stores only the last [MaxGLF]
// bytes of a GBS log file. The error is of kind Gone if an attempt is unknown, and Conflict if an attempt has already
// ended.
func (tx *Tx) EndAttempts(ends []AttemptEnd) error {
	for first := 0; first < len(ends); {
		n := alike(len(ends)-first, func(i int) bool { return ends[first+i].follows(&ends[first+i-1]) })
		run := ends[first : first+n]
		if err := tx.endRun(run); err != nil {
			return tx.fail(err, "end attempt %s #%d", run[0].ID.LocalID, run[0].ID.Attempt)
		}
		first += n
	}
	return tx.insertEvidence(ends)
}

// follows reports whether e and other are ends of attempts of consecutive local jobs, other's first, with the same
// attempt number and the same time.
func (e *AttemptEnd) follows(other *AttemptEnd) bool {
	next := other.ID
	next.N++
	return e.ID == next && e.Ended == other.Ended
}

// alike returns the length of the first run among n values. joins(i) reports whether value i belongs to the same run as
// value i-1.
func alike(n int, joins func(i int) bool) int {
	i := 1
	for i < n && joins(i) {
		i++
	}
	return i
}

// endRun ends the attempts of a run at the same time. A run consists of attempts each of which follows the previous one
// (see follows).
func (tx *Tx) endRun(run []AttemptEnd) error {
	if run[0].Ended == 0 {
		return jjm.Errorf(jjm.Internal, "the time of its end is not set")
	}
	if len(run) == 1 {
		return tx.endOne(&run[0])
	}
	const which = " WHERE grid = ?1 AND local BETWEEN ?2 AND ?3 AND attempt = ?4 AND ended = 0"
	id := run[0].ID
	a := args{}.int(int64(id.Grid)).int(int64(id.N)).int(int64(run[len(run)-1].ID.N)).int(int64(id.Attempt))
	if tx.c == nil {
		return errOver()
	}
	open, err := tx.c.number("SELECT count(*) FROM attempts"+which, a)
	if err != nil {
		return err
	}
	if open == int64(len(run)) {
		_, err = tx.exec("UPDATE attempts SET ended = ?5"+which, a.int(int64(run[0].Ended)))
		return err
	}
	for i := range run {
		if err := tx.endOne(&run[i]); err != nil {
			return err
		}
	}
	return nil
}

// endOne ends one attempt.
func (tx *Tx) endOne(e *AttemptEnd) error {
	n, err := tx.exec("UPDATE attempts SET ended = ? WHERE grid = ? AND local = ? AND attempt = ? AND ended = 0",
		attemptArgs(args{}.int(int64(e.Ended)), e.ID))
	if err != nil || n > 0 {
		return err
	}
	return tx.mustBeOpen(e.ID)
}

// insertEvidence stores evidence and verdicts of attempts that end.
func (tx *Tx) insertEvidence(ends []AttemptEnd) error {
	texts := make([][2]string, len(ends))
	for i := range ends {
		evidence, err := json.Marshal(trimmed(ends[i].Evidence))
		if err != nil {
			return tx.fail(jjm.Errorf(jjm.Internal, "evidence: %w", err), "end attempt %s", ends[i].ID.LocalID)
		}
		verdict, err := json.Marshal(ends[i].Verdict)
		if err != nil {
			return tx.fail(jjm.Errorf(jjm.Internal, "verdict: %w", err), "end attempt %s", ends[i].ID.LocalID)
		}
		texts[i] = [2]string{string(evidence), string(verdict)}
	}
	if len(ends) == 0 {
		return nil
	}
	last, err := tx.c.number("SELECT "+lastEvidenceID, nil)
	if err != nil {
		return tx.fail(err, "number the evidence of %d attempts", len(ends))
	}
	err = tx.insertMany("INSERT INTO evidence (id, grid, local, attempt, evidence, verdict, ran_on, ran_from, ran_until)",
		9, len(ends), func(a args, i int) args {
			a = attemptArgs(a.int(last+1+int64(i)), ends[i].ID).value(texts[i][0]).value(texts[i][1])
			host, started, ended := ends[i].ran()
			return a.text(host).int(int64(started)).int(int64(ended))
		})
	if err != nil {
		return tx.fail(err, "store the evidence of %d attempts", len(ends))
	}
	return nil
}

// ran returns where and when the attempt ran, as far as its evidence says. The host is "" and the start 0 if they are
// unknown. If the evidence has no end, the end is the time at which the attempt was judged.
func (e *AttemptEnd) ran() (host string, started, ended jjm.Time) {
	b, r := &e.Evidence.Batch, e.Evidence.Result
	if r == nil {
		r = &jjm.Result{}
	}
	host = cmp.Or(b.Host, r.Claim.Host)
	if c := e.Evidence.Claim; host == "" && c != nil && c.Holder == jjm.HolderWrapper {
		host = c.Host
	}
	return host, cmp.Or(b.Started, r.Started), cmp.Or(b.Ended, r.Ended, e.Ended)
}

// mustBeOpen returns an error with the reason if an attempt cannot end, or nil.
func (tx *Tx) mustBeOpen(id jjm.AttemptID) error {
	if tx.c == nil {
		return errOver()
	}
	found := false
	err := tx.c.query(tx.ctx, "SELECT ended FROM attempts WHERE grid = ? AND local = ? AND attempt = ?",
		attemptArgs(nil, id), func(r row) error {
			if found = true; r.bool(0) {
				return jjm.Errorf(jjm.Conflict, "it ended at %s", jjm.Time(r.int(0)))
			}
			return nil
		})
	if err != nil {
		return err
	}
	if !found {
		return jjm.Errorf(jjm.Gone, "it is in no bulk, or archived")
	}
	return nil
}

// MaxGLF is the largest number of bytes of a GBS log file, counted from its end, that are stored with the evidence of
// an attempt. The whole file stays in the attempt's folder.
const MaxGLF = 16 << 10

// trimmed returns a copy of the evidence in which the log files are cut to their last MaxGLF bytes.
func trimmed(ev jjm.Evidence) jjm.Evidence {
	ev.GLF = tail(ev.GLF)
	if ev.Result != nil && len(ev.Result.GLF) > MaxGLF {
		r := *ev.Result
		r.GLF = tail(r.GLF)
		ev.Result = &r
	}
	return ev
}

// tail returns at most the last MaxGLF bytes of a text. The result begins with a whole line if possible, and otherwise
// with a whole character.
func tail(s string) string {
	if len(s) <= MaxGLF {
		return s
	}
	cut := s[len(s)-MaxGLF:]
	if _, rest, found := strings.Cut(cut, "\n"); found && rest != "" {
		return rest
	}
	for i := 0; i < utf8.UTFMax && i < len(cut); i++ {
		if utf8.RuneStart(cut[i]) {
			return cut[i:]
		}
	}
	return cut
}

// Attempt is one stored attempt. While it is open, Ended is 0 and Evidence and Verdict
// are nil.
type Attempt struct {
	ID       jjm.AttemptID
	Tag      jjm.Tag
	Pos      int32
	Ended    jjm.Time
	Evidence *jjm.Evidence
	Verdict  *jjm.Verdict
}

// Attempts returns all attempts of a local job in order, including archived attempts. The result is empty for an
// unknown local job.
func (s *Store) Attempts(ctx context.Context, id jjm.LocalID) ([]Attempt, error) {
	var as []Attempt
	err := s.view(ctx, func(c *conn) error {
		for _, table := range [...]string{"history_attempts", "attempts"} {
			err := c.query(ctx, "SELECT grid, local, attempt, tag, pos, ended, e.evidence, e.verdict FROM "+table+
				" LEFT JOIN evidence AS e USING (grid, local, attempt) WHERE grid = ? AND local = ? ORDER BY attempt",
				args{}.int(int64(id.Grid)).int(int64(id.N)), func(r row) error {
					a, err := scanAttempt(r)
					as = append(as, a)
					return err
				})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, s.fail(err, "read the attempts of local job %s", id)
	}
	return as, nil
}

func scanAttempt(r row) (Attempt, error) {
	a := Attempt{ID: attemptID(r, 0), Tag: jjm.Tag(r.text(3)), Pos: int32(r.int(4)), Ended: jjm.Time(r.int(5))}
	if a.Ended == 0 {
		return a, nil
	}
	a.Evidence, a.Verdict = new(jjm.Evidence), new(jjm.Verdict)
	err := errors.Join(json.Unmarshal([]byte(r.text(6)), a.Evidence), json.Unmarshal([]byte(r.text(7)), a.Verdict))
	if err != nil {
		err = jjm.Errorf(jjm.Internal, "attempt %s #%d: %w", a.ID.LocalID, a.ID.Attempt, err)
	}
	return a, err
}

// resultsPage is how many local jobs ResultsOf reads from one snapshot. ResultsOf is called to write a tar. Writing
// takes long, and a snapshot must not be held for the whole time.
const resultsPage = 500

// ResultsOf calls fn for every local job of a grid job in order. ev is the evidence of the local job's last ended
// attempt, nil if no attempt has ended. If the local job is completed, its last ended attempt completed it. ResultsOf
// stops at an error of fn and returns the error unchanged. The error is of kind Gone if the grid job is unknown.
func (s *Store) ResultsOf(ctx context.Context, id jjm.GridID, fn func(l jjm.LocalJob, ev *jjm.Evidence) error) error {
	type result struct {
		local    jjm.LocalJob
		evidence string
	}
	if _, err := s.Grid(ctx, id); err != nil {
		return err
	}
	page := make([]result, 0, resultsPage)
	for first := int64(0); ; {
		page = page[:0]
		err := s.view(ctx, func(c *conn) error {
			err := eachLocal(ctx, c, id, int32(first), int32(min(first+resultsPage-1, maxLocal)), func(l jjm.LocalJob) error {
				page = append(page, result{local: l})
				return nil
			})
			if err != nil {
				return err
			}
			if len(page) == 0 {
				return nil
			}
			return lastEvidences(ctx, c, page[0].local.ID, page[len(page)-1].local.ID.N, func(n int32, text string) {
				if i := int(n - page[0].local.ID.N); i < len(page) { // local jobs are numbered densely
					page[i].evidence = text
				}
			})
		})
		if err != nil {
			return s.fail(err, "read the results of grid job %d", id)
		}
		for i := range page {
			ev, err := decodeEvidence(page[i].evidence)
			if err != nil {
				return s.fail(err, "read the results of local job %s", page[i].local.ID)
			}
			if err := fn(page[i].local, ev); err != nil {
				return err
			}
		}
		if first += resultsPage; len(page) < resultsPage || first > maxLocal {
			return nil
		}
	}
}

// ResultOf returns a local job with the evidence of its last ended attempt; ev is nil if no attempt has ended. The
// error is of kind Gone if the local job is unknown.
func (s *Store) ResultOf(ctx context.Context, id jjm.LocalID) (l jjm.LocalJob, ev *jjm.Evidence, err error) {
	text, found := "", false
	err = s.view(ctx, func(c *conn) error {
		err := eachLocal(ctx, c, id.Grid, id.N, id.N, func(one jjm.LocalJob) error {
			l, found = one, true
			return nil
		})
		if err != nil {
			return err
		}
		text, err = lastEvidence(ctx, c, id)
		return err
	})
	if err != nil {
		return l, nil, s.fail(err, "read the result of local job %s", id)
	}
	if !found {
		return l, nil, jjm.Errorf(jjm.Gone, "no local job %s", id)
	}
	if ev, err = decodeEvidence(text); err != nil {
		return l, nil, s.fail(err, "read the result of local job %s", id)
	}
	return l, ev, nil
}

func lastEvidence(ctx context.Context, c *conn, id jjm.LocalID) (text string, err error) {
	err = c.query(ctx, "SELECT evidence FROM evidence WHERE grid = ? AND local = ? ORDER BY attempt DESC LIMIT 1",
		args{}.int(int64(id.Grid)).int(int64(id.N)), func(r row) error {
			text = r.text(0)
			return nil
		})
	return text, err
}

// lastEvidences calls fn for each local job from first to number last that has an ended attempt, with the evidence of
// its last ended attempt.
func lastEvidences(ctx context.Context, c *conn, first jjm.LocalID, last int32, fn func(n int32, text string)) error {
	return c.query(ctx, "SELECT e.local, e.evidence FROM evidence AS e WHERE e.grid = ? AND e.local BETWEEN ? AND ? AND "+
		"e.attempt = (SELECT max(attempt) FROM evidence WHERE grid = e.grid AND local = e.local)",
		args{}.int(int64(first.Grid)).int(int64(first.N)).int(int64(last)), func(r row) error {
			fn(int32(r.int(0)), r.text(1))
			return nil
		})
}

func decodeEvidence(text string) (*jjm.Evidence, error) {
	if text == "" {
		return nil, nil
	}
	ev := new(jjm.Evidence)
	if err := json.Unmarshal([]byte(text), ev); err != nil {
		return nil, jjm.Errorf(jjm.Internal, "column evidence: %w", err)
	}
	return ev, nil
}
