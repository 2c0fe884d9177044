package verdict

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"os"

	"jjm/adapters"
	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/endings"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/sandbox"
)

// settleDuplicate cancels one of two batch jobs of an attempt once a claim shows which batch job runs. A claim is a
// file in the folder of the bulk. Whoever creates the file first, a wrapper or the daemon, has the attempt, so an
// attempt never runs twice. If the second batch job runs, the first is cancelled here, and plan.Ending makes the
// attempt point to the second.
func (ju *Judge) settleDuplicate(l *jjm.LocalJob, owner jjm.Owner, id jjm.AttemptID, en *endings.Ending) {
	claim := en.Claim
	if en.Result != nil {
		claim = &en.Result.Claim
	}
	if en.Suspect.ID == l.BatchID { // the attempt points to the second batch job by now
		ju.ends.With(id, func(en *endings.Ending) { en.Suspect = nil })
		return
	}
	if claim == nil {
		return // either batch job may claim the attempt at any moment, and the claimant must not be cancelled
	}
	out := adapters.Ref{Tag: l.Tag, ID: en.Suspect.ID, Index: -1}
	if claim.Holder == jjm.HolderWrapper && claim.Batch == out.ID {
		out, _, _ = ju.systems.RefOf(l)
	}
	ju.systems.CancelDuplicate(l, owner, out)
	ju.ends.With(id, func(en *endings.Ending) { en.Suspect = nil })
}

// readClaim reads the attempt's claim into en, unless the claim is known already or there
// is a result, which has the claim.
func (ju *Judge) readClaim(ar *areas.Area, l *jjm.LocalJob, id jjm.AttemptID, en *endings.Ending) {
	if en.Result != nil || en.Claim != nil {
		return
	}
	claim, err := ar.ReadClaim(l.Tag, l.Pos)
	if err != nil {
		ju.b.Complain(slog.LevelWarn, "claim/"+l.ID.String(), "claim could not be read", "local", l.ID, "tag", l.Tag, "error",
			err)
		return
	}
	if claim == nil {
		claim = lostClaim(ar, l)
	}
	if claim != nil {
		en.Claim, en.ClaimAt = claim, jjm.At(ju.b.Now())
	}
	ju.ends.With(id, func(live *endings.Ending) { live.Claim, live.ClaimAt = en.Claim, en.ClaimAt })
}

// lostClaim returns a claim for an attempt whose claim file is gone, or nil if the attempt was not
// started. A wrapper creates its log file only while it holds the claim, so an attempt with a log
// file was started; if it were treated as never started, it would run twice.
func lostClaim(ar *areas.Area, l *jjm.LocalJob) *jjm.Claim {
	f, err := ar.OpenJobFile(l.AttemptID(), sandbox.GLF)
	if err != nil {
		return nil
	}
	_ = f.Close()
	if claim, err := ar.ReadClaim(l.Tag, l.Pos); err == nil && claim != nil {
		return claim // the claim was made after the first look
	}
	return &jjm.Claim{Holder: jjm.HolderWrapper}
}

// shows reports whether the batch system knows the batch job that the claim names as a job of this
// attempt: a listing has shown the job under the attempt's tag and index, or the job belongs to the
// bulk and no listing has shown the attempt yet.
func (ju *Judge) shows(l *jjm.LocalJob, en *endings.Ending) bool {
	if en.Claim == nil {
		return false
	}
	if _, ok := en.Shown(en.Claim.Batch); ok {
		return true
	}
	v := ju.s.View()
	defer v.Close()
	b := v.Bulk(l.Tag)
	return l.BatchID == "" && b != nil && state.PartOf(en.Claim.Batch, b.ID)
}

// takeClaim takes the attempt's claim for the daemon, so that no wrapper can start the attempt any longer. If a wrapper
// has the claim, the wrapper keeps it. If the attempt is no longer current, takeClaim may do nothing.
func (ju *Judge) takeClaim(ar *areas.Area, l *jjm.LocalJob, id jjm.AttemptID) error {
	host, _ := os.Hostname() // the host's name is only for people
	nonce := make([]byte, 8)
	if _, err := rand.Read(nonce); err != nil {
		return err
	}
	mine := jjm.Claim{Holder: jjm.HolderDaemon, Host: host,
		PID: os.Getpid(), Nonce: hex.EncodeToString(nonce), Time: jjm.At(ju.b.Now())}
	holder, _, err := ar.Claim(l.Tag, l.Pos, mine)
	if errors.Is(err, fs.ErrNotExist) {
		_, owner, current := ju.s.AttemptRow(id)
		if !current {
			return nil // meanwhile the bulk was refused, and its folder removed
		}
		if ar.RestoreClaims(l.Tag, id.Grid) == nil {
			holder, _, err = ar.Claim(l.Tag, l.Pos, mine)
			if late, err := ju.sweeper.SweepLate(owner, l.Tag); late {
				return err
			}
			ju.b.Complain(slog.LevelWarn, "claims/"+string(l.Tag), "the folder of a bulk was removed by somebody else",
				"tag", l.Tag)
		}
	}
	if err != nil {
		return err
	}
	ju.ends.With(id, func(en *endings.Ending) { en.Claim, en.ClaimAt = &holder, jjm.At(ju.b.Now()) })
	return ju.b.Crash("settle.claimed")
}

// repoint makes the attempt point to the batch job that holds the attempt's claim, and drops the notes about the other
// batch job.
func (ju *Judge) repoint(ctx context.Context, id jjm.AttemptID, step plan.EndStep) error {
	ju.ends.With(id, func(en *endings.Ending) {
		if en.Report.ID != step.To {
			en.Report, en.Ended = jjm.Report{}, 0
		}
		en.Suspect, en.Missing, en.Absence = nil, false, plan.AbsentWait
	})
	return ju.s.Change(ctx, "repoint", func(c *state.Change) error {
		if c.Live.Current(id) == nil {
			return nil
		}
		l := c.Local(id.LocalID)
		if l.BatchID != "" {
			c.Journal = append(c.Journal, jjm.JournalEntry{Time: c.Now, Grid: id.Grid, First: id.N, Last: id.N,
				From: l.BatchID, To: step.To, Cause: step.Why, Source: c.Name})
		}
		l.BatchID = step.To
		return nil
	})
}
