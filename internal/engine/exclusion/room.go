// Package exclusion keeps jjm's jobs off hosts of batch systems: it stores the hosts that administrators excluded, and
// ends exclusions whose time is over. Package cluster reads the excluded hosts from package state and names them in
// each submission. Queued and running jobs are not touched.
package exclusion

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"jjm/adapters"
	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/match"
)

// Exclusions carries out the verb exclude. Its methods may be called from many goroutines.
type Exclusions struct {
	b    *base.Base
	s    *state.State
	kick chan struct{}
}

// New returns the Exclusions. The caller runs Loop.
func New(s *state.State) *Exclusions { return &Exclusions{b: s.B, s: s, kick: make(chan struct{}, 1)} }

// Verbs returns the verbs that Exclusions carries out.
func Verbs(ex *Exclusions) []serve.Verb {
	return []serve.Verb{serve.Handle(wire.VerbExclude(), serve.Owners, ex.Exclude)}
}

// Exclude excludes hosts, or includes them again, and returns the exclusions that it set or ended. Without Exclude in
// the request it lists the exclusions in force, to every caller. Kinds of errors:
//
//	Denied    the caller is no administrator
//	Invalid   the site has no such cluster, its batch system cannot exclude hosts or does not know a host, too many hosts
//	          are excluded there, or Until is past
//	Busy      the batch system does not answer the question whether it knows the hosts
//
// Nothing is stored after an error.
func (ex *Exclusions) Exclude(ctx context.Context, caller wire.Caller,
	r wire.ExcludeRequest) (wire.ExcludeAnswer, error) {
	out := &wire.Excluded{}
	a := wire.ExcludeAnswer{Excluded: out}
	switch {
	case r.Exclude == nil:
		out.Hosts = ex.InForce()
		return a, nil
	case !caller.Admin:
		return a, jjm.Errorf(jjm.Denied,
			"exclude: %s is no administrator: want root or one of gate.admins (with gate.mode 0600 the daemon's account too)",
			caller.User)
	case r.Exclude.Include:
		return a, ex.include(ctx, caller, r.Exclude, out)
	}
	return a, ex.exclude(ctx, caller, r.Exclude, out)
}

// InForce returns the exclusions in force, sorted by cluster and host.
func (ex *Exclusions) InForce() (all []jjm.Exclusion) {
	now := jjm.At(ex.b.Now())
	v := ex.s.View()
	defer v.Close()
	for _, e := range v.Exclusions() {
		if e.InForce(now) {
			all = append(all, e)
		}
	}
	return all
}

// exclude stores the exclusions of a request.
func (ex *Exclusions) exclude(ctx context.Context, caller wire.Caller, r *wire.Exclude, out *wire.Excluded) error {
	name, adapter, err := ex.cluster(r)
	if err != nil {
		return err
	}
	if err := accepts(ctx, name, adapter, r.Hosts); err != nil {
		return err
	}
	now := jjm.At(ex.b.Now())
	given := jjm.Exclusion{Cluster: name, Reason: strings.TrimSpace(r.Reason), By: caller.Actor(), Since: now,
		Until: r.Until}
	if r.For > 0 {
		given.Until = now.Add(r.For.D())
	}
	if !given.InForce(now) {
		return jjm.Errorf(jjm.Invalid, "exclude.until %s: that time is past: want a later one", given.Until.Local())
	}
	err = ex.s.Change(ctx, "exclude", func(c *state.Change) error {
		out.Hosts = exclusionsOf(given, r.Hosts, c.Live.Exclusions())
		if n := len(union(c.Live.ExcludedAt(name, now), r.Hosts)); n > wire.MaxHosts {
			return jjm.Errorf(jjm.Invalid, "exclude: cluster %s would have %d excluded hosts: want at most %d; drain hosts "+
				"in the batch system", name, n, wire.MaxHosts)
		}
		out.Running, out.Queued = jobsThere(c.Live, name, out.Hosts)
		present, fresh := c.Live.Exclusions(), []jjm.Exclusion(nil)
		out.NoChange, out.Notes = nil, nil
		for i, e := range out.Hosts {
			if at := slices.IndexFunc(present, e.Repeats); at >= 0 {
				out.Hosts[i] = present[at]
				unchanged(out, e.Host, present[at].String())
				continue
			}
			fresh = append(fresh, e)
			c.Journal = append(c.Journal, entry(e, "excluded", e.Reason+" ("+e.Term()+")", given.By, c.Now))
			if err := c.Tx.PutExclusion(e); err != nil {
				return err
			}
		}
		c.Orders = func(a *state.Memo) { a.SetExclusions(nil, fresh) }
		return nil
	})
	if err != nil {
		return fmt.Errorf("exclude hosts of cluster %s: %w", name, err)
	}
	if len(out.NoChange) == len(r.Hosts) {
		return nil
	}
	ex.b.Log.Info("hosts are excluded", "cluster", name, "hosts", r.Hosts, "by", given.By, "reason", given.Reason,
		"until", given.Until)
	fair.Kick(ex.kick)
	return nil
}

// include ends the exclusions of the hosts of a request. It succeeds for hosts that are not excluded.
func (ex *Exclusions) include(ctx context.Context, caller wire.Caller, r *wire.Exclude, out *wire.Excluded) error {
	err := ex.end(ctx, caller.Actor(), func(e jjm.Exclusion, _ jjm.Time) (string, bool) {
		return strings.TrimSpace(r.Reason), slices.Contains(r.Hosts, e.Host) && (r.Cluster == "" || r.Cluster == e.Cluster)
	}, out)
	if err != nil {
		return fmt.Errorf("include hosts: %w", err)
	}
	for _, host := range r.Hosts {
		if !slices.ContainsFunc(out.Hosts, func(e jjm.Exclusion) bool { return e.Host == host }) {
			unchanged(out, host, notExcluded(host, r.Cluster))
		}
	}
	if len(out.Hosts) > 0 {
		ex.b.Log.Info("hosts are included again", "hosts", r.Hosts, "by", caller.Actor(), "reason", r.Reason)
	}
	return nil
}

// unchanged notes in an answer that nothing changed for a host, and why.
func unchanged(out *wire.Excluded, host, why string) {
	out.NoChange, out.Notes = append(out.NoChange, host), append(out.Notes, why)
}

// notExcluded returns the reason, for people, why a host cannot be included in a cluster. The cluster "" means every
// cluster.
func notExcluded(host, cluster string) string {
	if cluster == "" {
		return "host " + host + " is not excluded"
	}
	return "host " + host + " is not excluded from cluster " + cluster
}

// end deletes the stored exclusions for which the function over returns true, with the reason for the journal, and adds
// them to out. by is the account that ends them; "" for jjm itself.
func (ex *Exclusions) end(ctx context.Context, by string, over func(jjm.Exclusion, jjm.Time) (string, bool),
	out *wire.Excluded) error {
	return ex.s.Change(ctx, "exclude", func(c *state.Change) error {
		var ended []jjm.Exclusion
		for _, e := range c.Live.Exclusions() {
			why, ends := over(e, c.Now)
			if !ends {
				continue
			}
			ended = append(ended, e)
			c.Journal = append(c.Journal, entry(e, "included", why, by, c.Now))
			if err := c.Tx.DropExclusion(e); err != nil {
				return err
			}
		}
		out.Hosts = ended
		c.Orders = func(a *state.Memo) { a.SetExclusions(ended, nil) }
		return nil
	})
}

// cluster returns the name and the adapter of the cluster of a request.
func (ex *Exclusions) cluster(r *wire.Exclude) (string, adapters.Adapter, error) {
	names := ex.s.Names
	if r.Cluster == "" && len(names) > 1 {
		return "", nil, jjm.Errorf(jjm.Invalid, "exclude.cluster is missing: want one of %s", strings.Join(names, ", "))
	}
	at, known := ex.s.Positions[cmp.Or(r.Cluster, names[0])]
	if !known {
		return "", nil, jjm.Errorf(jjm.Invalid, "exclude.cluster %.80q: this site has %s", r.Cluster,
			strings.Join(names, ", "))
	}
	return names[at], ex.b.Deps.Clusters[at].Adapter, nil
}

// accepts returns an error if the batch system of a cluster cannot exclude hosts, or if it does not know one of the
// hosts.
func accepts(ctx context.Context, name string, a adapters.Adapter, hosts []string) error {
	can := a.Capabilities()
	if can.OneHost {
		return jjm.Errorf(jjm.Invalid, "cluster %s runs all its jobs on the host of the daemon, and no host can be excluded: "+
			"%s; jjm pause cluster %s stops submissions, jjm resume cluster %[1]s lets them go on, and jjm kill "+
			"ends jobs that run", name, strings.Join(hosts, ", "), name)
	}
	if !can.ExcludesHosts {
		return jjm.Errorf(jjm.Invalid, "the batch system of cluster %s cannot exclude hosts: %s; drain the host there, or "+
			"stop all submissions: jjm pause cluster %s", name, strings.Join(hosts, ", "), name)
	}
	checker, checks := a.(adapters.HostChecker)
	if !checks {
		return nil
	}
	unknown, err := checker.UnknownHosts(ctx, hosts)
	if err != nil {
		return fmt.Errorf("ask cluster %s for its hosts: %w", name, err)
	}
	if len(unknown) > 0 {
		return jjm.Errorf(jjm.Invalid, "exclude.hosts: cluster %s has no host %s: want the name that its batch system shows",
			name, strings.Join(unknown, ", "))
	}
	return nil
}

// exclusionsOf returns an exclusion for each host, with the properties of given. A host that is excluded already keeps
// the time since which it is excluded.
func exclusionsOf(given jjm.Exclusion, hosts []string, present []jjm.Exclusion) (all []jjm.Exclusion) {
	for _, host := range hosts {
		e := given
		e.Host = host
		if at := slices.IndexFunc(present, e.Same); at >= 0 && present[at].InForce(given.Since) {
			e.Since = present[at].Since
		}
		all = append(all, e)
	}
	return all
}

// union returns the names that are in one of two lists.
func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// jobsThere returns the number of local jobs that run on excluded hosts of a cluster, and the number of local jobs that
// wait in the cluster and were submitted before one of these hosts was excluded.
func jobsThere(mem state.Memory, cluster string, hosts []jjm.Exclusion) (running, queued int) {
	newest := slices.MaxFunc(hosts, func(a, b jjm.Exclusion) int { return cmp.Compare(a.Since, b.Since) }).Since
	for _, g := range mem.Grids() {
		for i := range g.Locals {
			l := &g.Locals[i]
			switch {
			case l.Cluster != cluster:
			case (l.State == jjm.Submitting || l.State == jjm.Submitted) && l.Submitted <= newest:
				queued++
			case slices.ContainsFunc(hosts, func(e jjm.Exclusion) bool { return match.RunsOn(l, e.Host, 0, 0) }):
				running++
			}
		}
	}
	return running, queued
}

// entry returns the journal entry of an exclusion, which belongs to no grid job.
func entry(e jjm.Exclusion, became, why, by string, now jjm.Time) jjm.JournalEntry {
	text := "host " + e.Host + " of cluster " + e.Cluster
	if why != "" {
		text += ": " + why
	}
	return jjm.JournalEntry{Time: now, First: -1, Last: -1, To: became, Cause: text, Source: jjm.SourceExclude, Actor: by}
}

// Loop ends the exclusions whose time is over, until ctx ends.
func (ex *Exclusions) Loop(ctx context.Context) {
	fair.EndLoop(ctx, ex.kick, ex.endExpired, func(err error) {
		ex.b.Complain(slog.LevelError, "exclusions", "expired exclusions could not be ended, will try again", "error", err)
	})
}

// endExpired deletes the exclusions whose time is over; InForce already ignores them. It returns the time after which
// the next exclusion may end; if no exclusion has an end, it returns an hour.
func (ex *Exclusions) endExpired(ctx context.Context) (time.Duration, error) {
	now := jjm.At(ex.b.Now())
	next, over := time.Hour, false
	v := ex.s.View()
	for _, e := range v.Exclusions() {
		switch {
		case !e.InForce(now):
			over = true
		case e.Until != 0:
			next = fair.UntilEnd(next, e.Until.Sub(now))
		}
	}
	v.Close()
	if !over {
		return next, nil
	}
	out := &wire.Excluded{}
	err := ex.end(ctx, "", func(e jjm.Exclusion, now jjm.Time) (string, bool) {
		return "its time is over", !e.InForce(now)
	}, out)
	if err == nil && len(out.Hosts) > 0 {
		ex.b.Log.Info("the time of exclusions is over", "hosts", len(out.Hosts))
	}
	return next, err
}
