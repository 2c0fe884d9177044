package cluster

import (
	"fmt"
	"maps"
	"strings"
	"sync"

	"jjm/internal/engine/cluster/control"
	"jjm/internal/engine/cluster/outage"
	"jjm/internal/engine/cluster/share"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/why"
)

// Causes finds out, for people, why local jobs wait. No decision depends on it.
type Causes struct{ *Clusters }

// NewCauses returns the Causes of the clusters cs.
func NewCauses(cs *Clusters) Causes { return Causes{cs} }

// Judge returns the Judge of the unfinished local jobs of g. The Judge may be used only while the caller holds the
// memory lock. It remembers what it found out about clusters and places.
func (cs Causes) Judge(mem state.Memory, g *state.Grid, now jjm.Time) why.Judge {
	kept := map[int32]why.Cause{} // by place
	silent, excluded := map[string]why.Cause{}, map[string][]jjm.Exclusion{}
	loads := sync.OnceValue(func() share.Loads { return cs.site.Loads(mem) })
	of := func(l *jjm.LocalJob, own *why.Own) why.Cause {
		f := why.Facts{Local: l, Now: now, Unsent: state.Unsent(l) != 0}
		if f.Unsent {
			k, known := kept[l.Place]
			if !known {
				k = cs.kept(mem, g, l.Place, loads, now)
				kept[l.Place] = k
			}
			f.Kept = k
			return why.Of(f)
		}
		c := cs.all[l.Cluster]
		if f.Gone = c == nil && l.Cluster != ""; c == nil {
			return why.Of(f)
		}
		if _, known := silent[l.Cluster]; !known {
			silent[l.Cluster], excluded[l.Cluster] = c.silentTo(c.Account(g.Job.Owner)), mem.ExclusionsAt(l.Cluster, now)
		}
		if own != nil {
			f.Missing, f.Unjudged, f.CancelErr = own.Missing, own.Unjudged, own.CancelErr
		}
		f.Refused, f.Silent, f.Excluded = refusedBulk(c, mem, l), silent[l.Cluster], excluded[l.Cluster]
		if b := mem.Bulk(l.Tag); b != nil {
			f.Handed = b.Created
			if r := c.submitter.Running(c.Account(b.Owner)); r.Tag == l.Tag {
				f.Handed, f.Hangs = r.Since, c.hangs(r.Since, now)
			}
		}
		if l.Waits != nil {
			f.Names = c.namesOf(g.Job.Owner, state.RequestAt(&g.Job, l.Place))
		}
		return why.Of(f)
	}
	return why.Judge{Now: now, Own: cs.own(now), Of: of}
}

// own returns a function that returns the facts that belong to a single local job: since when it has been missing from
// listings, the error that prevents its verdict, and the error of its cancels. It returns nil if no local job has such
// facts, which is the rule.
func (cs Causes) own(now jjm.Time) func(l *jjm.LocalJob) *why.Own {
	missing := map[string]map[jjm.AttemptID]outage.Absent{} // by cluster
	uncancelled := map[jjm.AttemptID]control.Failure{}
	for name, c := range cs.all {
		if m := c.health.Missing(); len(m) > 0 {
			missing[name] = m
		}
		maps.Copy(uncancelled, c.controller.FailedCancels())
	}
	unjudged := cs.ends.Trouble(now).Attempts > 0
	if !unjudged && len(missing) == 0 && len(uncancelled) == 0 {
		return nil
	}
	return func(l *jjm.LocalJob) *why.Own {
		if state.Unsent(l) != 0 || cs.all[l.Cluster] == nil {
			return nil
		}
		var own why.Own
		// a local job whose end is being collected has left the batch system, unless this takes too long
		if m := missing[l.Cluster][l.AttemptID()]; m.Overdue || l.State < jjm.Completing {
			own.Missing = m.Since
		}
		if unjudged {
			own.Unjudged.Text, own.Unjudged.Since = cs.ends.TroubleOf(l.AttemptID(), now)
		}
		if f, fails := uncancelled[l.AttemptID()]; fails {
			own.CancelErr = why.Cause{Text: f.Text, Since: f.Since, Remedy: cs.all[l.Cluster].cancelRemedy()}
		}
		if own == (why.Own{}) {
			return nil
		}
		return &own
	}
}

// refusedBulk returns why the bulk of a local job was not submitted so far, if it certainly was not: a submission of
// its account waits for its turn, or the last one was refused. Otherwise it returns the zero Cause.
func refusedBulk(c *Cluster, mem state.Memory, l *jjm.LocalJob) why.Cause {
	if l.State != jjm.Submitting || l.Phase == jjm.Doubtful {
		return why.Cause{}
	}
	b := mem.Bulk(l.Tag)
	if b == nil {
		return why.Cause{}
	}
	if line := c.line(c.Account(b.Owner)); line.Waits {
		return ceilingOf(c.Name, line)
	}
	if b.Error == "" {
		return why.Cause{}
	}
	silence := clusterFacts{name: c.Name, silent: c.silent()}
	if o := silence.obstacle(); o.code != "" {
		return o.cause(b.Owner.User)
	}
	out := why.Cause{Code: why.SubmitFailing, Text: fmt.Sprintf("cluster %s: %s", c.Name, b.Error), Since: b.Created,
		Remedy: "see jjm clusters; jjm tries again by itself"}
	if learnt, words := c.share.Most(c.Account(b.Owner)); learnt > 0 && words == b.Error {
		out.Code, out.Remedy = why.Limit, why.OnRefusal(b.Error, c.namesOf(b.Owner, b.Request))
		out.Since = c.share.LimitSince(c.Account(b.Owner))
	}
	return out
}

// namesOf returns the names that local jobs of an owner with a request have in the batch system.
func (c *Cluster) namesOf(owner jjm.Owner, r jjm.Request) why.Names {
	return why.Names{QOS: r.QOS, Account: r.Account, User: c.Account(owner).User}
}

// kept returns the cause that prevents the submission of the local jobs of g with a place now. It checks the possible
// causes in the order of Waits and Full. The cause has no code if nothing prevents the submission.
func (cs Causes) kept(mem state.Memory, g *state.Grid, place int32, loads func() share.Loads, now jjm.Time) why.Cause {
	if o := cs.siteObstacle(mem, g, now); o.code != "" {
		return o.cause(g.Job.Owner.User)
	}
	if c := cs.refusedBy(mem, g, place, now); c.Code != "" {
		return c
	}
	if text, since := cs.site.FullSince(mem, g, place, loads(), now); text != "" {
		return why.Cause{Code: why.Limit, Text: text, Since: since, Remedy: why.OnRefusal(text, why.Names{})}
	}
	if c := cs.submissionFails(mem, g, place, now); c.Code != "" {
		return c
	}
	if c := cs.ceilings(mem, g, place, now); c.Code != "" {
		return c
	}
	return cs.handing(mem, g, place, now)
}

// refusedBy returns why no cluster accepts the local jobs of g with a place. If the clusters have different causes, the
// result is the cause of the first cluster, with the texts of all causes. It has no code if a cluster accepts the local
// jobs.
func (cs Causes) refusedBy(mem state.Memory, g *state.Grid, place int32, now jjm.Time) why.Cause {
	if len(g.Among(place)) == 0 {
		return why.Cause{}
	}
	var first why.Cause
	var texts []string
	for i, o := range cs.placeObstacles(mem, g, place, now) {
		c := o.cause(g.Job.Owner.User)
		if i == 0 {
			first = c
		}
		texts = append(texts, c.Text)
	}
	first.Text = strings.Join(texts, "; ")
	return first
}

// submissionFails returns why the commands of the clusters fail to which local jobs of g with a place may go. The
// result is the cause of the first cluster. It has no code unless the last command of each of these clusters failed.
func (cs Causes) submissionFails(mem state.Memory, g *state.Grid, place int32, now jjm.Time) why.Cause {
	var first why.Cause
	for _, name := range cs.site.Open(mem, g, place, now) {
		since, cause := cs.all[name].failing.Last()
		if since == 0 {
			return why.Cause{}
		}
		if first.Code == "" {
			first = why.Cause{Code: why.SubmitFailing, Text: fmt.Sprintf("cluster %s: %s", name, cause), Since: since,
				Remedy: "see jjm clusters; jjm tries again by itself"}
		}
	}
	return first
}
