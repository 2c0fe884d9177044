package main

import (
	"errors"
	"os"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/policy/why"
	"jjm/internal/storage/spool"
	"jjm/xmldb/head"
)

// why returns, from the records, the causes for which the jobs of each reference wait. If there are several references,
// an error about one of them is in its entry. If there is only one, why returns its error.
func (o *offline) why(refs []string) ([]wire.Why, error) {
	out := make([]wire.Why, len(refs))
	var asOf jjm.Time
	for i, text := range refs {
		one, id, err := o.whyOf(text)
		if err != nil && len(refs) == 1 {
			return nil, err
		}
		if err != nil {
			one = wire.Why{ID: id, Error: wire.ErrorOf(err)}
		}
		out[i] = one
		asOf = max(asOf, one.AsOf)
	}
	o.say(asOf)
	o.c.say("records do not know orders, limits and what the batch systems say now: the daemon tells the rest")
	return out, nil
}

// whyOf returns, from the record, the causes for which the jobs of one reference wait, and the id of the grid job. If
// there is no record, the submission may still be in the spool; this is then the cause.
func (o *offline) whyOf(text string) (wire.Why, jjm.GridID, error) {
	h, ref, err := o.head(text)
	if err != nil {
		if since, found := o.spooled(text); found {
			c := why.InSpool(since)
			return wire.Why{Status: string(why.Spooled), Grid: wireCause(c), Stale: true}, 0, nil
		}
		return wire.Why{}, ref.Grid, err
	}
	out := wire.Why{ID: ref.Grid, Status: h.Grid.Status.String(), Stale: true, AsOf: h.Written}
	want := ref
	if !ref.Locals {
		want = jjm.Ref{Grid: ref.Grid, Locals: true, Last: -1}
	}
	locals, err := head.Locals(o.dir, want, mostLocals)
	if err != nil {
		return out, ref.Grid, o.unknown(err)
	}
	if len(locals) == 0 && ref.Locals && ref.Last >= 0 {
		return out, ref.Grid, o.unknown(jjm.Errorf(jjm.Gone, "%s is not in it", ref))
	}
	out.Total = len(locals)
	var groups, ends why.Groups
	for i := range locals {
		l := &locals[i]
		if !l.Over() {
			out.Unfinished++
			groups.Add(l.ID, why.FromRecord(l, h.Written))
		} else if ref.Locals {
			ends.Add(l.ID, why.OfEnded(l))
		}
	}
	var left int
	out.Causes, out.LeftOut = wireCauses(&groups)
	out.Ended, left = wireCauses(&ends)
	out.LeftOut += left
	facts := why.GridFacts{ID: ref.Grid, Status: h.Grid.Status, Reason: h.Grid.Reason, Accepted: h.Grid.Accepted,
		Ended: h.Grid.Ended, Prepared: h.Grid.Step.Prepared, Closed: h.Grid.Step.Closed, Unfinished: out.Unfinished}
	if ref.Locals {
		facts.Unfinished = max(out.Unfinished, 1) // the other local jobs were not read
	}
	if c, any := why.GridFromRecord(facts); any {
		out.Grid = wireCause(c)
	}
	return out, ref.Grid, nil
}

// spooled reports whether the submission with a handle is in the spool, and since when. For root it searches the
// submissions of all accounts, otherwise only those of this account.
func (o *offline) spooled(text string) (since jjm.Time, found bool) {
	h, _, ok := jjm.CutHandle(text)
	if !ok {
		return 0, false
	}
	at, found, err := spool.Submitted(o.spool, os.Getuid(), h)
	if err != nil && !errors.Is(err, os.ErrPermission) {
		o.c.say("jjm %s: %v", o.name, err)
	}
	return jjm.At(at), found
}

// mostCauses is the greatest number of causes in an answer about a grid job. The daemon has the same limit.
const mostCauses = 20

// wireCauses converts groups of local jobs with the same cause to the form of answers. left is the number of local jobs
// in the groups that exceed mostCauses.
func wireCauses(groups *why.Groups) (causes []wire.Cause, left int) {
	all, left := groups.All(mostCauses)
	for _, g := range all {
		c := wireCause(g.Cause)
		c.Jobs, c.First = g.Jobs, g.First.String()
		causes = append(causes, *c)
	}
	return causes, left
}

// wireCause converts a cause to the form of answers.
func wireCause(c why.Cause) *wire.Cause {
	return &wire.Cause{Code: string(c.Code), Text: c.Text, Since: c.Since, Until: c.Until, Remedy: c.Remedy}
}
