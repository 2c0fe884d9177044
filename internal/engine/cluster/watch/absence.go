package watch

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"jjm/adapters"
	"jjm/internal/engine/cluster/system"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/endings"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// absences are the attempts that are missing from listings. It searches for them and proves that the batch system no
// longer has them. Only the watch loop uses the map.
type absences struct {
	sys     *system.System
	b       *base.Base
	s       *state.State
	ends    *endings.Endings
	control Control
	missing map[jjm.AttemptID]plan.Absence
	// inquiries runs the commands about missing attempts, in a lane for each account.
	inquiries *fair.Lanes
	// tell passes a function to the watch loop (Watcher.tell).
	tell func(ctx context.Context, then func())
}

// applied is a listing that is being applied to memory.
type applied struct {
	account jjm.Owner
	asked   jjm.Time      // when it was started
	cycle   uint32        // the number of its round
	watched time.Duration // how long the account's jobs have been observed
}

// missed returns the attempts of an account that a listing should have shown and did not show, each with the number of
// such listings and the time since the first one. Bulks that the batch system acknowledged after the listing was
// started are left out.
//
// unread are records of the listing that could not be read. An attempt that may be described by such a record is
// unknown: it is not returned, and its earlier absences no longer count. There is one exception: records without a
// readable tag and id may describe any attempt, so they excuse an attempt only for a limited time
// ([plan.Absence.Excuses]).
func (ab *absences) missed(of applied, unread []adapters.Unread) map[jjm.AttemptID]plan.Absence {
	v := ab.s.View()
	defer v.Close()
	out := map[jjm.AttemptID]plan.Absence{}
	for _, b := range v.Bulks() {
		if b.Cluster != ab.sys.Name || ab.sys.Account(b.Owner) != of.account || b.State == jjm.BulkIntent ||
			b.Settled >= of.asked {
			continue
		}
		for pos, m := range b.Members {
			if b.SeenIn(pos, of.cycle) {
				delete(ab.missing, m)
				continue
			}
			if l := v.Current(m); l != nil && l.Tag == b.Tag {
				a := ab.missing[m]
				if may, nameless := mayBe(unread, b, l); may && (!nameless || a.Excuses(of.asked)) {
					ab.missing[m] = a.Unread(of.asked)
					continue
				}
				a = a.Missed(of.asked, b.Settled, of.watched)
				ab.missing[m] = a
				out[m] = a
			}
		}
	}
	return out
}

// follow judges each missing attempt by its absence and carries out the judgement: it waits, asks accounting, or proves
// that the batch system no longer has the attempt. One command asks about many attempts, because a batch system that
// loses jobs loses thousands at the same time.
func (ab *absences) follow(ctx context.Context, of applied, missing map[jjm.AttemptID]plan.Absence) {
	var ask, prove []system.Job
	for id, a := range missing {
		verdict, ref, known := ab.judge(id, a, of.watched)
		switch {
		case !known:
			delete(ab.missing, id)
			continue
		case verdict == plan.AskAccounting:
			ask = append(ask, system.Job{ID: id, Ref: ref})
			continue
		case verdict == plan.Prove:
			prove = append(prove, system.Job{ID: id, Ref: ref})
		}
		ab.ends.Absent(id, verdict)
	}
	ab.lookInto(ctx, of.account, ask, prove)
}

// lookInto looks up the attempts ask in accounting, and proves the absence of the attempts prove, in the lane of the
// account. It does nothing while an earlier inquiry for the account is running; in that case the watch loop calls it
// again after the next listing.
func (ab *absences) lookInto(ctx context.Context, account jjm.Owner, ask, prove []system.Job) {
	if len(ask)+len(prove) == 0 || ab.inquiries.Taken(account) {
		return
	}
	ab.inquiries.Do(account, func() {
		for some := range slices.Chunk(ask, system.MostNamed) {
			ab.askAccounting(ctx, account, some)
		}
		for some := range slices.Chunk(prove, system.MostNamed) {
			ab.prove(ctx, account, some)
		}
	}, func() {})
}

// judge returns the verdict of package plan on one missing attempt, and the attempt's batch job. watched is how
// long the account's jobs have been observed. known is false if the attempt is no longer current.
func (ab *absences) judge(id jjm.AttemptID, a plan.Absence, watched time.Duration) (v plan.AbsenceVerdict,
	ref adapters.Ref, known bool) {
	l, _, ok := ab.s.AttemptRow(id)
	if !ok {
		return plan.AbsentWait, adapters.Ref{}, false
	}
	rules := plan.AbsenceRules{Listings: ab.b.Conf().AbsentListings, Age: ab.b.Conf().AbsentFor.D()}
	asked := ab.ends.Unaccounted(id) || !ab.sys.Caps().Accounting
	ref, _, _ = system.RefOf(ab.s, &l)
	return plan.Missing(a, watched, asked, !ab.ends.Stale(id), rules), ref, true
}

// askAccounting looks up missing attempts in the batch system's accounting. If accounting has the end of an attempt,
// the end is reported. If accounting has a record that may belong to the attempt and cannot be read, nothing is noted,
// so that accounting is asked again. In all other cases, the attempt is noted as unaccounted.
func (ab *absences) askAccounting(ctx context.Context, account jjm.Owner, lost []system.Job) {
	cmd, cancel := ab.sys.Command(ctx, account)
	defer cancel()
	refs := make([]adapters.Ref, len(lost))
	for i := range lost {
		refs[i] = lost[i].Ref
	}
	reports, err := ab.sys.Adapter.Account(cmd, account, refs)
	if err != nil {
		if ctx.Err() == nil {
			ab.b.Complain(slog.LevelWarn, "accounting/"+ab.sys.Name, "accounting does not answer", "cluster", ab.sys.Name,
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
			ab.ends.Report(a.ID, r, jjm.At(ab.b.Now()))
			found = true
		case ok && r.State == jjm.BatchUnknown: // the attempt is not lost, as the job may exist
			ab.b.Complain(slog.LevelWarn, "unread-end/"+a.ID.LocalID.String(),
				"accounting may have a record that cannot be read", "cluster", ab.sys.Name, "local", a.ID.LocalID,
				"record", r.Reason)
		default:
			ab.ends.NoteUnaccounted(a.ID)
		}
	}
	if found {
		ab.ends.Wake()
	}
}

// prove cancels missing batch jobs and then searches for their tags. Only both together prove that the batch system no
// longer has the attempts. A wrapper may still run although the batch system has forgotten its job; prove therefore
// also leaves an order to end for each wrapper in the work area.
func (ab *absences) prove(ctx context.Context, account jjm.Owner, lost []system.Job) {
	cmd, cancel := ab.sys.Command(ctx, account)
	defer cancel()
	refs := make([]adapters.Ref, len(lost))
	for i, a := range lost {
		refs[i] = a.Ref
		ab.ends.With(a.ID, func(en *endings.Ending) { en.Proving = true })
	}
	err := ab.cancelAndLook(ctx, cmd, account, lost, refs)
	if err != nil && ctx.Err() == nil {
		ab.b.Complain(slog.LevelWarn, "absence/"+ab.sys.Name, "absence cannot be proven yet", "cluster", ab.sys.Name,
			"local", lost[0].ID.LocalID, "jobs", len(lost), "error", err)
	}
	ids := make([]jjm.AttemptID, len(lost))
	for i := range lost {
		ids[i] = lost[i].ID
	}
	ab.control.OrderEnds(ids)
}

// cancelAndLook cancels batch jobs and searches for their tags, both within the deadline of cmd. It passes the results
// to the watch loop, which marks the proven absences (proven). The error says why a command failed, or which cancels
// failed.
func (ab *absences) cancelAndLook(ctx, cmd context.Context, account jjm.Owner, lost []system.Job,
	refs []adapters.Ref) error {
	results, err := ab.sys.Adapter.Control(cmd, account, adapters.Cancel, refs)
	if err != nil {
		return err
	}
	if err := system.Answered(len(results), len(refs)); err != nil {
		return err
	}
	found, err := ab.presence(cmd, account, refs)
	if err != nil {
		return err
	}
	ab.tell(ctx, func() { ab.proven(lost, results, found) })
	return errors.Join(results...)
}

// presence searches the batch system for the tags of batch jobs and returns the answer for each tag. A tag that the
// answer leaves out is NotYetKnown.
func (ab *absences) presence(ctx context.Context, account jjm.Owner,
	refs []adapters.Ref) (map[jjm.Tag]adapters.Presence, error) {
	var tags []jjm.Tag
	out := map[jjm.Tag]adapters.Presence{}
	for _, r := range refs {
		if _, known := out[r.Tag]; !known {
			out[r.Tag] = adapters.NotYetKnown
			tags = append(tags, r.Tag)
		}
	}
	found, err := ab.sys.Adapter.Find(ctx, account, tags)
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
func (ab *absences) proven(lost []system.Job, results []error, found map[jjm.Tag]adapters.Presence) {
	for i, l := range lost {
		if results[i] == nil && found[l.Ref.Tag] != adapters.NotYetKnown {
			if a, still := ab.missing[l.ID]; still {
				a.Proven = true
				ab.missing[l.ID] = a
			}
		}
	}
}
