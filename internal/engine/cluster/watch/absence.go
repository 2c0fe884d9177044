package watch

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"jjm/adapters"
	"jjm/internal/engine/cluster/system"
	"jjm/internal/engine/floor/endings"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// absences returns the attempts of an account that the present listing should have shown and did not show, each with
// the number of such listings and the time since the first one. asked is when the listing was started. Bulks that the
// batch system acknowledged after that time are left out.
//
// unread are records of the listing that could not be read. An attempt that may be described by such a record is
// unknown: it is not returned, and its earlier absences no longer count. There is one exception: records without a
// readable tag and id may describe any attempt, so they excuse an attempt only for a limited time
// ([plan.Absence.Excuses]).
func (w *Watcher) absences(asked jjm.Time, account jjm.Owner, unread []adapters.Unread) map[jjm.AttemptID]plan.Absence {
	v := w.s.View()
	defer v.Close()
	out := map[jjm.AttemptID]plan.Absence{}
	watched := w.clocks[account].For
	for _, b := range v.Bulks() {
		if b.Cluster != w.sys.Name || w.sys.Account(b.Owner) != account || b.State == jjm.BulkIntent || b.Settled >= asked {
			continue
		}
		for pos, m := range b.Members {
			if b.SeenIn(pos, w.cycle) {
				delete(w.missing, m)
				continue
			}
			if l := v.Current(m); l != nil && l.Tag == b.Tag {
				a := w.missing[m]
				if may, nameless := mayBe(unread, b, l); may && (!nameless || a.Excuses(asked)) {
					w.missing[m] = a.Unread(asked)
					continue
				}
				a = a.Missed(asked, b.Settled, watched)
				w.missing[m] = a
				out[m] = a
			}
		}
	}
	return out
}

// absent judges each missing attempt by its absence and carries out the judgement: it waits, asks accounting, or proves
// that the batch system no longer has the attempt. One command asks about many attempts, because a batch system that
// loses jobs loses thousands at the same time.
func (w *Watcher) absent(ctx context.Context, account jjm.Owner, missing map[jjm.AttemptID]plan.Absence) {
	var ask, prove []system.Job
	for id, a := range missing {
		verdict, ref, known := w.judgeAbsence(id, a, w.clocks[account].For)
		switch {
		case !known:
			delete(w.missing, id)
			continue
		case verdict == plan.AskAccounting:
			ask = append(ask, system.Job{ID: id, Ref: ref})
			continue
		case verdict == plan.Prove:
			prove = append(prove, system.Job{ID: id, Ref: ref})
		}
		w.ends.Absent(id, verdict)
	}
	w.lookInto(ctx, account, ask, prove)
}

// lookInto looks up the attempts ask in accounting, and proves the absence of the attempts prove, in the lane of the
// account. It does nothing while an earlier inquiry for the account is running; in that case the watch loop calls it
// again after the next listing.
func (w *Watcher) lookInto(ctx context.Context, account jjm.Owner, ask, prove []system.Job) {
	if len(ask)+len(prove) == 0 || w.inquiries.Taken(account) {
		return
	}
	w.inquiries.Do(account, func() {
		for some := range slices.Chunk(ask, system.MostNamed) {
			w.askAccounting(ctx, account, some)
		}
		for some := range slices.Chunk(prove, system.MostNamed) {
			w.prove(ctx, account, some)
		}
	}, func() {})
}

// judgeAbsence returns the verdict of package plan on one missing attempt, and the attempt's batch job. watched is how
// long the account's jobs have been observed. known is false if the attempt is no longer current.
func (w *Watcher) judgeAbsence(id jjm.AttemptID, a plan.Absence, watched time.Duration) (v plan.AbsenceVerdict,
	ref adapters.Ref, known bool) {
	l, _, ok := w.s.AttemptRow(id)
	if !ok {
		return plan.AbsentWait, adapters.Ref{}, false
	}
	rules := plan.AbsenceRules{Listings: w.b.Conf().AbsentListings, Age: w.b.Conf().AbsentFor.D()}
	asked := w.ends.Unaccounted(id) || !w.sys.Caps().Accounting
	ref, _, _ = system.RefOf(w.s, &l)
	return plan.Missing(a, watched, asked, !w.ends.Stale(id), rules), ref, true
}

// askAccounting looks up missing attempts in the batch system's accounting. If accounting has the end of an attempt,
// the end is reported. If accounting has a record that may belong to the attempt and cannot be read, nothing is noted,
// so that accounting is asked again. In all other cases, the attempt is noted as unaccounted.
func (w *Watcher) askAccounting(ctx context.Context, account jjm.Owner, lost []system.Job) {
	cmd, cancel := w.sys.Command(ctx, account)
	defer cancel()
	refs := make([]adapters.Ref, len(lost))
	for i := range lost {
		refs[i] = lost[i].Ref
	}
	reports, err := w.sys.Adapter.Account(cmd, account, refs)
	if err != nil {
		if ctx.Err() == nil {
			w.b.Complain(slog.LevelWarn, "accounting/"+w.sys.Name, "accounting does not answer", "cluster", w.sys.Name,
				"local", lost[0].ID.LocalID, "jobs", len(lost), "error", err)
		}
		return
	}
	told := map[adapters.Ref]jjm.Report{}
	for _, r := range reports {
		told[adapters.Ref{Tag: r.Tag, Index: r.Index}] = r
		told[adapters.Ref{Tag: r.Tag, ID: r.ID, Index: -1}] = r
	}
	found := false
	for _, a := range lost {
		key := a.Ref
		if key.Index >= 0 {
			key.ID = ""
		}
		switch r, ok := told[key]; {
		case ok && r.State.Ended():
			w.ends.Report(a.ID, r, jjm.At(w.b.Now()))
			found = true
		case ok && r.State == jjm.BatchUnknown: // the attempt is not lost, as the job may exist
			w.b.Complain(slog.LevelWarn, "unread-end/"+a.ID.LocalID.String(), "accounting may have a record that cannot be read",
				"cluster", w.sys.Name, "local", a.ID.LocalID, "record", r.Reason)
		default:
			w.ends.NoteUnaccounted(a.ID)
		}
	}
	if found {
		w.ends.Wake()
	}
}

// prove cancels missing batch jobs and then searches for their tags. Only both together prove that the batch system no
// longer has the attempts. A wrapper may still run although the batch system has forgotten its job; prove therefore
// also leaves an order to end for each wrapper in the work area.
func (w *Watcher) prove(ctx context.Context, account jjm.Owner, lost []system.Job) {
	cmd, cancel := w.sys.Command(ctx, account)
	defer cancel()
	refs := make([]adapters.Ref, len(lost))
	for i, a := range lost {
		refs[i] = a.Ref
		w.ends.With(a.ID, func(en *endings.Ending) { en.Proving = true })
	}
	err := w.cancelAndLook(ctx, cmd, account, lost, refs)
	if err != nil && ctx.Err() == nil {
		w.b.Complain(slog.LevelWarn, "absence/"+w.sys.Name, "absence cannot be proven yet", "cluster", w.sys.Name,
			"local", lost[0].ID.LocalID, "jobs", len(lost), "error", err)
	}
	ids := make([]jjm.AttemptID, len(lost))
	for i := range lost {
		ids[i] = lost[i].ID
	}
	w.control.OrderEnds(ids)
}

// cancelAndLook cancels batch jobs and searches for their tags, both within the deadline of cmd. It passes the results
// to the watch loop, which marks the proven absences (proven). The error says why a command failed, or which cancels
// failed.
func (w *Watcher) cancelAndLook(ctx, cmd context.Context, account jjm.Owner, lost []system.Job,
	refs []adapters.Ref) error {
	results, err := w.sys.Adapter.Control(cmd, account, adapters.Cancel, refs)
	if err != nil {
		return err
	}
	if err := system.Answered(len(results), len(refs)); err != nil {
		return err
	}
	found, err := w.presence(cmd, account, refs)
	if err != nil {
		return err
	}
	w.tell(ctx, func() { w.proven(lost, results, found) })
	return errors.Join(results...)
}

// presence searches the batch system for the tags of batch jobs and returns the answer for each tag. A tag that the
// answer leaves out is NotYetKnown.
func (w *Watcher) presence(ctx context.Context, account jjm.Owner, refs []adapters.Ref) (map[jjm.Tag]adapters.Presence,
	error) {
	var tags []jjm.Tag
	out := map[jjm.Tag]adapters.Presence{}
	for _, r := range refs {
		if _, known := out[r.Tag]; !known {
			out[r.Tag] = adapters.NotYetKnown
			tags = append(tags, r.Tag)
		}
	}
	found, err := w.sys.Adapter.Find(ctx, account, tags)
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

// proven marks the absences of those attempts as proven whose cancel succeeded and whose tag was then searched for with
// an answer. The answer may be that the tag is present, because other members of the bulk have the same tag. In this
// case, too, the cancel and the listings without the attempt are the proof.
func (w *Watcher) proven(lost []system.Job, results []error, found map[jjm.Tag]adapters.Presence) {
	for i, l := range lost {
		if results[i] == nil && found[l.Ref.Tag] != adapters.NotYetKnown {
			if a, still := w.missing[l.ID]; still {
				a.Proven = true
				w.missing[l.ID] = a
			}
		}
	}
}
