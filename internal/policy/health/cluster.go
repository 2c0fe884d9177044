package health

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// clusterChecks returns all checks of one cluster.
func clusterChecks(f Facts, cl *wire.Cluster) []wire.HealthCheck {
	all := []wire.HealthCheck{listing(f, cl), unsettled(f.Now, cl), missing(f.Now, cl)}
	if b := cl.Accounting; b != nil {
		all = append(all, wire.HealthCheck{State: Warning, Name: "accounting", Of: cl.Name, Since: b.Since, Detail: b.Cause,
			Text:   "the accounting of cluster " + cl.Name + " has not answered for " + jjm.HowLong(age(f.Now, b.Since)),
			Remedy: "see jjm clusters; jjm asks again by itself"})
	}
	for _, o := range cl.Orders {
		all = append(all, order(f.Now, cl.Name, o))
	}
	return all
}

// listing checks whether a cluster answers, and how old the last listing of its jobs is.
func listing(f Facts, cl *wire.Cluster) wire.HealthCheck {
	c := wire.HealthCheck{State: OK, Name: "listing", Of: cl.Name}
	if cl.LastSeen != 0 {
		c.Figures = append(c.Figures, seconds(label("listing_age", cl.Name), age(f.Now, cl.LastSeen), 0, 0))
	}
	if out := outage(f.Now, cl); out.State != "" {
		out.Figures = c.Figures
		return out
	}
	// A daemon that has just started has no listing yet.
	stale := age(f.Now, max(cl.LastSeen, f.Started))
	warning := max(StaleWarning, 3*cl.Interval.D())
	switch {
	case cl.Queued+cl.Running > 0 && stale >= warning:
		c.State = graded(stale, warning, max(StaleCritical, 2*warning))
		c.Since = cl.LastSeen
		c.Text = fmt.Sprintf("cluster %s was last listed %s ago, although it has %s", cl.Name, jjm.HowLong(stale),
			jjm.Count(cl.Queued+cl.Running, "local job"))
		c.Remedy = "see jjm clusters and the log of the daemon"
		if len(cl.Unlisted) > 0 {
			c.Detail, c.Remedy = longest(cl.Unlisted).Cause, cl.Remedy
		}
	case len(cl.Unlisted) > 0:
		out := unlisted(f.Now, cl)
		out.Figures = c.Figures
		return out
	case cl.LastSeen == 0 && cl.Slots == 0:
		c.Text = "cluster " + cl.Name + " has not been asked yet"
	case cl.LastSeen == 0:
		c.Text = "cluster " + cl.Name + " answers"
	default:
		c.Text = fmt.Sprintf("cluster %s answers, and was last listed %s ago", cl.Name,
			jjm.HowLong(age(f.Now, cl.LastSeen)))
	}
	return c
}

// outage checks the health of a cluster and its circuit breaker. If the cluster answers, the check has no state.
func outage(now jjm.Time, cl *wire.Cluster) wire.HealthCheck {
	since, cause := cl.Since, cl.Cause
	switch b := cl.Breaker; {
	case b != nil:
		since, cause = b.Since, b.Cause
	case cl.Healthy:
		return wire.HealthCheck{}
	}
	silent := age(now, since)
	return wire.HealthCheck{State: graded(silent, 0, OutageCritical), Name: "listing", Of: cl.Name, Since: since,
		Text: "cluster " + cl.Name + " has not answered for " + jjm.HowLong(silent), Detail: cause, Remedy: cl.Remedy}
}

// unlisted is the check of a cluster that answers, but does not list the jobs of some accounts. It is never critical,
// because an account can make its own listing fail.
func unlisted(now jjm.Time, cl *wire.Cluster) wire.HealthCheck {
	first := longest(cl.Unlisted)
	of := first.Account
	if n := len(cl.Unlisted) - 1; n > 0 {
		of += " and " + jjm.Count(n, "other account")
	}
	return wire.HealthCheck{State: Warning, Name: "listing", Of: cl.Name, Since: first.Since,
		Text:   "cluster " + cl.Name + " has not listed the jobs of " + of + " for " + jjm.HowLong(age(now, first.Since)),
		Detail: first.Cause, Remedy: cl.Remedy}
}

// longest returns the account whose listings have failed longest.
func longest(all []wire.Unlisted) wire.Unlisted {
	return slices.MinFunc(all, func(a, b wire.Unlisted) int { return cmp.Compare(a.Since, b.Since) })
}

// unsettled checks the submissions to a cluster for which the answer was lost.
func unsettled(now jjm.Time, cl *wire.Cluster) wire.HealthCheck {
	c := unknown(now, cl, cl.Unsettled, "unsettled")
	if u := cl.Unsettled; u != nil {
		c.Text = fmt.Sprintf("%s of %s to cluster %s not settled for %s", jjm.Count(u.Bulks, "submission"),
			jjm.Count(u.Jobs, "local job"), cl.Name, jjm.HowLong(age(now, u.Since)))
		c.Remedy = "jjm clusters names them; jjm settles them once the batch system says what became of them"
		return c
	}
	c.Text = "no submission to cluster " + cl.Name + " is in doubt for long"
	return c
}

// missing checks the local jobs of a cluster that its listings do not show.
func missing(now jjm.Time, cl *wire.Cluster) wire.HealthCheck {
	c := unknown(now, cl, cl.Missing, "missing")
	if u := cl.Missing; u != nil {
		c.Text = fmt.Sprintf("%s missing from the listings of cluster %s for %s", jjm.Count(u.Jobs, "local job"),
			cl.Name, jjm.HowLong(age(now, u.Since)))
		c.Remedy = "jjm clusters names them; ask the batch system what became of them"
		return c
	}
	c.Text = "no local job of cluster " + cl.Name + " is missing for long"
	return c
}

// unknown returns a check of local jobs whose state is unknown. The caller sets its text.
func unknown(now jjm.Time, cl *wire.Cluster, u *wire.Unknown, name string) wire.HealthCheck {
	c := wire.HealthCheck{State: OK, Name: name, Of: cl.Name}
	count, oldest := wire.HealthFigure{Name: label(name, cl.Name)}, time.Duration(0)
	if u != nil {
		oldest = age(now, u.Since)
		c.State, c.Since, count.Value = graded(oldest, 0, UnknownCritical), u.Since, int64(u.Jobs)
	}
	c.Figures = []wire.HealthFigure{count, seconds(label(name+"_age", cl.Name), oldest, 0, UnknownCritical)}
	return c
}

// order checks an order about a cluster or one of its queues. The state is OK if the order ends by itself or has not
// begun.
func order(now jjm.Time, cluster string, o jjm.Order) wire.HealthCheck {
	c := wire.HealthCheck{State: OK, Name: "order", Of: cluster, Since: o.Since, Detail: o.Reason}
	who := " by " + o.By
	switch {
	case !o.Begun(now):
		c.Text, c.Detail = o.String(), ""
	case o.Until != 0:
		c.Text = o.Kind + " " + o.Name + " is " + o.Doing() + who + " until " + o.Until.Local()
	default:
		c.State, c.Text = Warning, o.Kind+" "+o.Name+" is "+o.Doing()+who+" until somebody resumes it"
		c.Remedy = "jjm resume " + o.Kind + " " + o.Name
	}
	return c
}
