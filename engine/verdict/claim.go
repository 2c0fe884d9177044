package verdict

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"log/slog"
	"os"

	"jjm"
	"jjm/adapters"
	"jjm/engine/areas"
	"jjm/engine/endings"
	"jjm/engine/state"
	"jjm/plan"
	"jjm/sandbox"
)

// settleDuplicate cancels a second batch job of an attempt once a claim decides
// which one runs, unless that is the one: then plan.Ending points the attempt to
// it, and the first becomes the duplicate.
func (ju *Judge) settleDuplicate(l *jjm.LocalJob, owner jjm.Owner, id jjm.AttemptID, en *endings.Ending) {
	claim := en.Claim
	if en.Result != nil {
		claim = &en.Result.Claim
	}
	if en.Suspect.ID == l.BatchID { // the attempt was pointed to it meanwhile
		ju.ends.With(id, func(en *endings.Ending) { en.Suspect = nil })
		return
	}
	if claim == nil {
		return // whichever starts first holds it: to cancel one now could hit that one
	}
	out := adapters.Ref{Tag: l.Tag, ID: en.Suspect.ID, Index: -1}
	if claim.Holder == jjm.HolderWrapper && claim.Batch == out.ID {
		out, _, _ = ju.systems.RefOf(l)
	}
	ju.systems.CancelDuplicate(l, owner, out)
	ju.ends.With(id, func(en *endings.Ending) { en.Suspect = nil })
}

// readClaim reads the attempt's claim where it matters and is not known yet.
func (ju *Judge) readClaim(ar *areas.Area, l *jjm.LocalJob, id jjm.AttemptID, en *endings.Ending) {
	if en.Result != nil || en.Claim != nil {
		return
	}
	claim, err := ar.ReadClaim(l.Tag, l.Pos)
	if err != nil {
		ju.b.Complain(slog.LevelWarn, "claim/"+l.ID.String(), "claim cannot be read", "local", l.ID, "tag", l.Tag, "error",
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

// lostClaim stands in for a claim whose file is gone. A wrapper makes its log
// file only once it holds the claim, so an attempt with a log file was started,
// and to give up on it as never started would run it twice.
func lostClaim(ar *areas.Area, l *jjm.LocalJob) *jjm.Claim {
	f, err := ar.OpenJobFile(l.AttemptID(), sandbox.GLF)
	if err != nil {
		return nil
	}
	_ = f.Close()
	if claim, err := ar.ReadClaim(l.Tag, l.Pos); err == nil && claim != nil {
		return claim // it was made between the first look and this one
	}
	return &jjm.Claim{Holder: jjm.HolderWrapper}
}

// shows reports whether the batch system knows the batch job that the claim names as
// one of the attempt: its listings show it under the attempt's tag and index, or it
// is of the bulk as acknowledged, and no listing has told the attempt's own id yet.
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

// takeClaim takes the claim for the daemon, so that no wrapper can start the
// attempt any more; a wrapper that was first keeps it.
func (ju *Judge) takeClaim(ar *areas.Area, l *jjm.LocalJob, id jjm.AttemptID) error {
	host, _ := os.Hostname() // for people only
	nonce := make([]byte, 8)
	if _, err := rand.Read(nonce); err != nil {
		return err
	}
	mine := jjm.Claim{Holder: jjm.HolderDaemon, Host: host,
		PID: os.Getpid(), Nonce: hex.EncodeToString(nonce), Time: jjm.At(ju.b.Now())}
	holder, _, err := ar.Claim(l.Tag, l.Pos, mine)
	if errors.Is(err, fs.ErrNotExist) && ar.RestoreClaims(l.Tag, id.Grid) == nil {
		ju.b.Complain(slog.LevelWarn, "claims/"+string(l.Tag), "somebody removed the folder of a bulk", "tag", l.Tag)
		holder, _, err = ar.Claim(l.Tag, l.Pos, mine)
	}
	if err != nil {
		return err
	}
	ju.ends.With(id, func(en *endings.Ending) { en.Claim, en.ClaimAt = &holder, jjm.At(ju.b.Now()) })
	return ju.b.Crash("settle.claimed")
}

// repoint lets the attempt point to the batch job that holds its claim.
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
