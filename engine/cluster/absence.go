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
func (c *Cluster) absences(asked jjm.Time, account jjm.Owner) map[jjm.AttemptID]plan.Absence {
	e := c.cs
	e.s.Mem.RLock()
	defer e.s.Mem.RUnlock()
	out := map[jjm.AttemptID]plan.Absence{}
	watched := c.vigils[account].For
	for _, b := range e.s.Bulks {
		if b.Cluster != c.name || c.account(b.Owner) != account || b.State == jjm.BulkIntent || b.Settled >= asked {
			continue
		}
		for pos, m := range b.Members {
			if b.Seen[pos] == c.cycle {
				delete(c.missing, m)
				continue
			}
			if l := e.s.Current(m); l != nil && l.Tag == b.Tag {
				a := c.missing[m].Missed(asked, b.Settled, watched)
				c.missing[m] = a
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
func (c *Cluster) absent(ctx context.Context, account jjm.Owner, missing map[jjm.AttemptID]plan.Absence) {
	var ask, prove []absentee
	for id, a := range missing {
		verdict, ref, known := c.judgeAbsence(id, a, c.vigils[account].For)
		switch {
		case !known:
			delete(c.missing, id)
			continue
		case verdict == plan.AskAccounting:
			ask = append(ask, absentee{id, ref})
			continue
		case verdict == plan.Prove:
			prove = append(prove, absentee{id, ref})
		}
		c.cs.ends.Absent(id, verdict)
	}
	c.lookInto(ctx, account, ask, prove)
}

// lookInto asks about what is missing, unless that is under way: an account may hold
// up its own commands, and the listings of others do not wait for them.
func (c *Cluster) lookInto(ctx context.Context, account jjm.Owner, ask, prove []absentee) {
	if len(ask)+len(prove) == 0 || c.absents.Taken(account) {
		return
	}
	c.absents.Do(account, func() {
		for some := range slices.Chunk(ask, absentees) {
			c.askAccounting(ctx, account, some)
		}
		for some := range slices.Chunk(prove, absentees) {
			c.prove(ctx, account, some)
		}
	}, func() {})
}

// judgeAbsence gives what plan says of one absence, by the clock of its account;
// known is false if the attempt is over.
func (c *Cluster) judgeAbsence(id jjm.AttemptID, a plan.Absence, watched time.Duration) (v plan.AbsenceVerdict, ref adapters.Ref, known bool) {
	e := c.cs
	l, _, ok := e.s.AttemptRow(id)
	if !ok {
		return plan.AbsentWait, adapters.Ref{}, false
	}
	rules := plan.AbsenceRules{Listings: e.b.Conf().AbsentListings, Age: e.b.Conf().AbsentFor.D()}
	asked := e.ends.Accounted(id) || !c.caps().Accounting
	ref, _, _ = e.RefOf(&l)
	return plan.Missing(a, watched, asked, e.heartbeatFresh(id), rules), ref, true
}

// askAccounting looks for the ends of attempts that the listing has forgotten.
func (c *Cluster) askAccounting(ctx context.Context, account jjm.Owner, lost []absentee) {
	cmd, cancel := c.command(ctx, account)
	defer cancel()
	refs := make([]adapters.Ref, len(lost))
	for i := range lost {
		refs[i] = lost[i].ref
	}
	reports, err := c.adapter.Account(cmd, account, refs)
	if err != nil {
		if ctx.Err() == nil {
			c.b.Complain(slog.LevelWarn, "accounting/"+c.name, "accounting gives no answer", "cluster", c.name,
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
			c.cs.ends.Report(a.id, r, jjm.At(c.b.Now()))
			found = true
		} else {
			c.cs.ends.Asked(a.id)
		}
	}
	if found {
		c.cs.ends.Wake()
	}
}

// prove cancels what is missing and then looks for its tags: only both together
// prove that nothing is left of it.
func (c *Cluster) prove(ctx context.Context, account jjm.Owner, lost []absentee) {
	cmd, cancel := c.command(ctx, account)
	defer cancel()
	refs := make([]adapters.Ref, len(lost))
	for i, a := range lost {
		refs[i] = a.ref
		c.cs.ends.With(a.id, func(en *endings.Ending) { en.Proving = true })
	}
	results, err := c.adapter.Control(cmd, account, adapters.Cancel, refs)
	if err == nil && len(results) != len(refs) {
		err = jjm.Errorf(jjm.Internal, "%d answers for %d jobs", len(results), len(refs))
	}
	var found map[jjm.Tag]adapters.Presence
	if err == nil {
		found, err = c.presence(cmd, account, refs)
	}
	if err == nil {
		c.tell(ctx, func() { c.proven(lost, results, found) })
		err = errors.Join(results...)
	}
	if err != nil && ctx.Err() == nil {
		c.b.Complain(slog.LevelWarn, "absence/"+c.name, "absence cannot be proven yet", "cluster", c.name,
			"local", lost[0].id.LocalID, "jobs", len(lost), "error", err)
	}
}

// presence looks for the tags of jobs.
func (c *Cluster) presence(ctx context.Context, account jjm.Owner, refs []adapters.Ref) (map[jjm.Tag]adapters.Presence, error) {
	var tags []jjm.Tag
	out := map[jjm.Tag]adapters.Presence{}
	for _, r := range refs {
		if _, known := out[r.Tag]; !known {
			out[r.Tag] = adapters.NotYetKnown
			tags = append(tags, r.Tag)
		}
	}
	found, err := c.adapter.Find(ctx, account, tags)
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
func (c *Cluster) proven(lost []absentee, results []error, found map[jjm.Tag]adapters.Presence) {
	for i, l := range lost {
		if results[i] == nil && found[l.ref.Tag] != adapters.NotYetKnown {
			if a, still := c.missing[l.id]; still {
				a.Proven = true
				c.missing[l.id] = a
			}
		}
	}
}
