package answer

import (
	"cmp"
	"context"
	"strings"

	"jjm/internal/api/wire"
	"jjm/internal/formats/glf"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
)

// attempts returns the attempts of a local job in order.
func (an *Answers) attempts(ctx context.Context, caller wire.Caller, ref jjm.Ref) ([]wire.Attempt, error) {
	job, l, err := an.oneLocal(ctx, caller, ref)
	if err != nil {
		return nil, err
	}
	return attemptsOf(ctx, an.b.Store, job, l)
}

// attemptsOf returns the attempts of a local job of a grid job.
func attemptsOf(ctx context.Context, st *store.Store, job *jjm.GridJob, l *jjm.LocalJob) ([]wire.Attempt, error) {
	stored, err := st.Attempts(ctx, l.ID)
	if err != nil {
		return nil, err
	}
	all := make([]wire.Attempt, len(stored))
	for i := range stored {
		all[i] = attemptOf(&stored[i], job, l)
	}
	return all, nil
}

// attemptOf returns an attempt as people see it. Facts that are only in the row of the local job are shown for the
// local job's current or last attempt.
func attemptOf(a *store.Attempt, job *jjm.GridJob, l *jjm.LocalJob) wire.Attempt {
	row := &jjm.LocalJob{Exit: -1}
	if a.ID.Attempt == shownAttempt(l).Attempt {
		row = l
	}
	if a.Evidence == nil {
		return wire.Attempt{Attempt: a.ID.Attempt, Batch: row.BatchID, Host: row.Host, Started: row.Started, Exit: -1}
	}
	b, r := &a.Evidence.Batch, a.Evidence.Result
	out := wire.Attempt{Attempt: a.ID.Attempt, Batch: cmp.Or(b.ID, row.BatchID), Ended: a.Ended, Verdict: a.Verdict,
		Evidence: evidenceOf(a.Evidence), Exit: -1}
	if r == nil {
		r = &jjm.Result{}
	} else {
		out.Exit = r.Exit
	}
	out.Host = cmp.Or(b.Host, row.Host, r.Claim.Host)
	if own := a.Evidence.OwnHost(); !sameHost(own, out.Host) {
		out.Evidence.OwnHost = own
	}
	out.Started = cmp.Or(b.Started, row.Started, r.Started)
	out.Ended = row.Ended
	if row.Ended == 0 || row.Ended > a.Ended { // a local job that was killed before its next attempt ended later
		out.Ended = cmp.Or(b.Ended, a.Ended)
	}
	if a.Evidence.Result == nil && b.State.Ended() && (b.Started != 0 || b.Exit != 0) {
		out.Exit = b.Exit
		if b.Signal != 0 {
			out.Exit = 128 + b.Signal
		}
	}
	out.Used = &jjm.Usage{Batch: out.Batch, Host: out.Host, Signal: jjm.SignalOf(a.Evidence),
		Processors: max(job.Spec.Request.Cores, 1)}
	out.Used.Add(a.Evidence, row.Started, a.Ended)
	return out
}

// sameHost reports whether two names are equal, or differ only in that one of them lacks the domain.
func sameHost(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+".") || strings.HasPrefix(b, a+".")
}

// evidenceOf returns a summary of evidence.
func evidenceOf(ev *jjm.Evidence) *wire.Evidence {
	b := &ev.Batch
	out := &wire.Evidence{Batch: b.State.String(), BatchExit: b.Exit, BatchSignal: b.Signal, Reason: b.Reason,
		Source: b.Source}
	text := ev.GLF
	if r := ev.Result; r != nil {
		out.Result, out.Exit, out.Signal, out.Error, text = true, r.Exit, r.Signal, r.Error, r.GLF
	}
	if ev.Claim != nil {
		out.Claim = ev.Claim.Holder
	}
	log := glf.Parse([]byte(text))
	if log.Start {
		out.Log = append(out.Log, "start")
	}
	for _, said := range log.Terminals {
		if len(out.Log) > mostWords {
			break
		}
		word := said.Keyword
		if out.Exit != 0 && word == glf.Failed && said.Data == glf.FailedData(out.Exit) {
			word += " by the wrapper"
		}
		out.Log = append(out.Log, word)
	}
	if log.End {
		out.Log = append(out.Log, "end")
	}
	return out
}

// mostWords is the greatest number of keywords of a log that are shown. A correct log has one keyword.
const mostWords = 5
