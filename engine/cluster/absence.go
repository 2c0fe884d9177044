package cluster

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"jjm"
	"jjm/adapters"
	"jjm/engine/endings"
	"jjm/plan"
)

// absences lists the attempts of this cluster that should have been listed and
// were not. Bulks acknowledged after the question was asked do not count.
func (w *watcher) absences(asked jjm.Time, account jjm.Owner) map[jjm.AttemptID]plan.Absence {
	v := w.s.View()
	defer v.Close()
	out := map[jjm.AttemptID]plan.Absence{}
	watched := w.clocks[account].For
	for _, b := range v.Bulks() {
		if b.Cluster != w.name || w.c.account(b.Owner) != account || b.State == jjm.BulkIntent || b.Settled >= asked {
			continue
		}
		for pos, m := range b.Members {
			if b.SeenIn(pos, w.cycle) {
				delete(w.missing, m)
				continue
			}
			if l := v.Current(m); l != nil && l.Tag == b.Tag {
				a := w.missing[m].Missed(asked, b.Settled, watched)
				w.missing[m] = a
				out[m] = a
			}
		}
	}
	return out
}

// absentee is an attempt that is missing, and its batch job.
type absentee struct {
	id  jjm.AttemptID
	ref adapters.Ref
}

// absentees is how many are asked about in one command: as many ids as fit a
// command line and an answer.
const absentees = 500

// absent asks plan what each absence means so far and does it, for many with one
// command: when a batch system loses its jobs it loses them by the thousand.
func (w *watcher) absent(ctx context.Context, account jjm.Owner, missing map[jjm.AttemptID]plan.Absence) {
	var ask, prove []absentee
	for id, a := range missing {
		verdict, ref, known := w.judgeAbsence(id, a, w.clocks[account].For)
		switch {
		case !known:
			delete(w.missing, id)
			continue
		case verdict == plan.AskAccounting:
			ask = append(ask, absentee{id, ref})
			continue
		case verdict == plan.Prove:
			prove = append(prove, absentee{id, ref})
		}
		w.ends.Absent(id, verdict)
	}
	w.lookInto(ctx, account, ask, prove)
}

// lookInto asks about what is missing, unless that is under way: an account may hold
// up its own commands, and the listings of others do not wait for them.
func (w *watcher) lookInto(ctx context.Context, account jjm.Owner, ask, prove []absentee) {
	if len(ask)+len(prove) == 0 || w.absents.Taken(account) {
		return
	}
	w.absents.Do(account, func() {
		for some := range slices.Chunk(ask, absentees) {
			w.askAccounting(ctx, account, some)
		}
		for some := range slices.Chunk(prove, absentees) {
			w.prove(ctx, account, some)
		}
	}, func() {})
}

// judgeAbsence returns what plan says of one absence, by the clock of its account;
// known is false if the attempt is over.
func (w *watcher) judgeAbsence(id jjm.AttemptID, a plan.Absence, watched time.Duration) (v plan.AbsenceVerdict,
	ref adapters.Ref, known bool) {
	l, _, ok := w.s.AttemptRow(id)
	if !ok {
		return plan.AbsentWait, adapters.Ref{}, false
	}
	rules := plan.AbsenceRules{Listings: w.b.Conf().AbsentListings, Age: w.b.Conf().AbsentFor.D()}
	asked := w.ends.Accounted(id) || !w.c.caps().Accounting
	ref, _, _ = w.c.cs.RefOf(&l)
	return plan.Missing(a, watched, asked, w.c.cs.heartbeatFresh(id), rules), ref, true
}

// askAccounting looks for the ends of attempts that the listing has forgotten.
func (w *watcher) askAccounting(ctx context.Context, account jjm.Owner, lost []absentee) {
	cmd, cancel := w.c.command(ctx, account)
	defer cancel()
	refs := make([]adapters.Ref, len(lost))
	for i := range lost {
		refs[i] = lost[i].ref
	}
	reports, err := w.c.adapter.Account(cmd, account, refs)
	if err != nil {
		if ctx.Err() == nil {
			w.b.Complain(slog.LevelWarn, "accounting/"+w.name, "accounting gives no answer", "cluster", w.name,
				"local", lost[0].id.LocalID, "jobs", len(lost), "error", err)
		}
		return
	}
	ends := map[adapters.Ref]jjm.Report{}
	for _, r := range reports {
		if r.State.Ended() {
			ends[adapters.Ref{Tag: r.Tag, Index: r.Index}] = r
			ends[adapters.Ref{Tag: r.Tag, ID: r.ID, Index: -1}] = r
		}
	}
	found := false
	for _, a := range lost {
		key := a.ref
		if key.Index >= 0 {
			key.ID = ""
		}
		if r, ok := ends[key]; ok {
			w.ends.Report(a.id, r, jjm.At(w.b.Now()))
			found = true
		} else {
			w.ends.Asked(a.id)
		}
	}
	if found {
		w.ends.Wake()
	}
}

// prove cancels what is missing and then looks for its tags: only both together
// prove that nothing is left of it in the batch system. A process that the batch
// system has forgotten is ordered to end through the work area.
func (w *watcher) prove(ctx context.Context, account jjm.Owner, lost []absentee) {
	cmd, cancel := w.c.command(ctx, account)
	defer cancel()
	refs := make([]adapters.Ref, len(lost))
	for i, a := range lost {
		refs[i] = a.ref
		w.ends.With(a.id, func(en *endings.Ending) { en.Proving = true })
	}
	err := w.cancelAndLook(ctx, cmd, account, lost, refs)
	if err != nil && ctx.Err() == nil {
		w.b.Complain(slog.LevelWarn, "absence/"+w.name, "absence cannot be proven yet", "cluster", w.name,
			"local", lost[0].id.LocalID, "jobs", len(lost), "error", err)
	}
	ends := map[jjm.Owner][]position{}
	for _, a := range lost {
		if l, owner, ok := w.s.AttemptRow(a.id); ok {
			ends[owner] = append(ends[owner], position{l.Tag, l.Pos})
		}
	}
	for owner, of := range ends {
		w.c.orderEnds(owner, of)
	}
}

// cancelAndLook cancels jobs and looks for their tags, which cmd bounds, and has the watch
// loop take note of both.
func (w *watcher) cancelAndLook(ctx, cmd context.Context, account jjm.Owner, lost []absentee,
	refs []adapters.Ref) error {
	results, err := w.c.adapter.Control(cmd, account, adapters.Cancel, refs)
	if err != nil {
		return err
	}
	if err := answered(len(results), len(refs)); err != nil {
		return err
	}
	found, err := w.presence(cmd, account, refs)
	if err != nil {
		return err
	}
	w.tell(ctx, func() { w.proven(lost, results, found) })
	return errors.Join(results...)
}

// presence looks for the tags of jobs.
func (w *watcher) presence(ctx context.Context, account jjm.Owner, refs []adapters.Ref) (map[jjm.Tag]adapters.Presence,
	error) {
	var tags []jjm.Tag
	out := map[jjm.Tag]adapters.Presence{}
	for _, r := range refs {
		if _, known := out[r.Tag]; !known {
			out[r.Tag] = adapters.NotYetKnown
			tags = append(tags, r.Tag)
		}
	}
	found, err := w.c.adapter.Find(ctx, account, tags)
	if err != nil {
		return nil, err
	}
	for _, f := range found {
		if _, asked := out[f.Tag]; asked {
			out[f.Tag] = f.Presence
		}
	}
	return out, nil
}

// proven notes those whose cancel succeeded and whose tag was then looked for. A
// bulk may be present for the sake of its other members: then the cancel, and
// the listings that lack this one, are the proof.
func (w *watcher) proven(lost []absentee, results []error, found map[jjm.Tag]adapters.Presence) {
	for i, l := range lost {
		if results[i] == nil && found[l.ref.Tag] != adapters.NotYetKnown {
			if a, still := w.missing[l.id]; still {
				a.Proven = true
				w.missing[l.id] = a
			}
		}
	}
}
