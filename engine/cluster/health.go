package cluster

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"jjm"
)

// long is what of a cluster has been unknown for longer than UnknownWarn. The
// cluster's mu guards it.
type long struct {
	cluster bool                       // it gives no listing
	missing map[jjm.AttemptID]jjm.Time // from its listings, since when
	bulks   map[jjm.Tag]lateBulk       // whose submission is not settled
}

// lateBulk is a bulk that the batch system has not certainly got.
type lateBulk struct {
	since jjm.Time
	jobs  int
	why   string
}

// healthy reports whether the last listing, or the first one still to come,
// gives no reason for doubt.
func (c *Cluster) healthy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause == ""
}

// health records whether the cluster gives listings and logs a change of it; seen
// is set if it has just given one.
func (c *Cluster) health(err error, seen bool) {
	cause := ""
	if err != nil {
		cause = err.Error()
	}
	now := c.b.Now()
	c.mu.Lock()
	before := c.cause
	c.cause = cause
	switch {
	case err == nil:
		c.long.cluster = false
	case before == "":
		c.badSince = now
	}
	if seen {
		c.lastGood = now
	}
	if cause == "" && before != "" {
		c.back = now
		clear(c.retryAt) // what is in doubt is looked at now: its waits were for the outage
	}
	c.mu.Unlock()
	switch {
	case cause == before:
	case cause == "":
		c.b.Log.Info("batch system answers again", "cluster", c.name)
		c.kickGrids()
	default:
		c.b.Log.Warn("batch system gives no listing; its jobs keep their last state", "cluster", c.name, "error", cause)
		c.kickGrids()
	}
}

// backSince reports whether there was an outage that ended after a time.
func (c *Cluster) backSince(t jjm.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return jjm.At(c.back) > t
}

// warnUnknown finds what has been unknown for too long, keeps it for people, and
// warns once of each. The watch loop calls it after every round.
func (c *Cluster) warnUnknown() {
	now, limit := jjm.At(c.b.Now()), c.b.Conf().UnknownWarn.D()
	missing, bulks := c.unknownLong(now, limit)
	c.mu.Lock()
	before := c.long
	down := c.cause != "" && now.Sub(jjm.At(c.badSince)) >= limit
	c.long = long{cluster: down, missing: missing, bulks: bulks}
	cause, since := c.cause, c.badSince
	c.mu.Unlock()
	if down && !before.cluster {
		c.b.Log.Warn("batch system has given no listing for long", "cluster", c.name, "since", since, "error", cause)
	}
	var fresh []jjm.AttemptID
	for id := range missing {
		if _, known := before.missing[id]; !known {
			fresh = append(fresh, id)
		}
	}
	if len(fresh) > 0 {
		c.b.Log.Warn("local jobs have been missing from the listings for long", "cluster", c.name,
			"jobs", len(fresh), "local", slices.MinFunc(fresh, byLocal).LocalID)
	}
	for tag, b := range bulks {
		if _, known := before.bulks[tag]; !known {
			c.b.Log.Warn("a submission has not been settled for long", "cluster", c.name, "tag", tag, "jobs", b.jobs, "error", b.why)
		}
	}
}

// unknownLong lists the attempts missing from healthy listings, and the bulks
// not certainly handed over, for as long as limit.
func (c *Cluster) unknownLong(now jjm.Time, limit time.Duration) (map[jjm.AttemptID]jjm.Time, map[jjm.Tag]lateBulk) {
	missing, bulks := map[jjm.AttemptID]jjm.Time{}, map[jjm.Tag]lateBulk{}
	c.s.Mem.RLock()
	defer c.s.Mem.RUnlock()
	for id, a := range c.missing {
		if a.Since != 0 && now.Sub(a.Since) >= limit && c.s.Current(id) != nil {
			missing[id] = a.Since
		}
	}
	for tag, b := range c.s.Bulks {
		unsettled := b.State == jjm.BulkIntent || b.State == jjm.BulkAccepted
		if b.Cluster == c.name && unsettled && now.Sub(b.Created) >= limit {
			bulks[tag] = lateBulk{since: b.Created, jobs: b.Open, why: b.Error}
		}
	}
	return missing, bulks
}

func byLocal(a, b jjm.AttemptID) int {
	if a.Grid != b.Grid {
		return int(a.Grid - b.Grid)
	}
	return int(a.N - b.N)
}

// outage says that the cluster has given no listing for too long, for people;
// nil if it has.
func (c *Cluster) outage() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.long.cluster {
		return nil
	}
	return []string{fmt.Sprintf("%s has given no listing since %s: %s", c.name, jjm.At(c.badSince), c.cause)}
}

// doubts says which local jobs have been unknown here for too long, for people:
// those of one grid job, or all with id 0. The memory lock is held.
func (c *Cluster) doubts(id jjm.GridID) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	var missing []jjm.AttemptID
	oldest := jjm.Time(0)
	for m, since := range c.long.missing {
		if id == 0 || m.Grid == id {
			missing = append(missing, m)
			if oldest == 0 || since < oldest {
				oldest = since
			}
		}
	}
	if len(missing) > 0 {
		slices.SortFunc(missing, byLocal)
		out = append(out, fmt.Sprintf("%d local jobs have been missing from the listings of %s since %s: %s",
			len(missing), c.name, oldest, someOf(missing)))
	}
	return append(out, c.doubtfulBulks(id)...)
}

// doubtfulBulks is the part of doubts about submissions. The locks are held.
func (c *Cluster) doubtfulBulks(id jjm.GridID) []string {
	var out []string
	for tag, b := range c.long.bulks {
		jobs := b.jobs
		if id != 0 {
			if jobs = c.membersOf(tag, id); jobs == 0 {
				continue
			}
		}
		why := b.why
		if why == "" {
			why = "no answer yet"
		}
		out = append(out, fmt.Sprintf("the submission of %d local jobs to %s (bulk %s) has not been settled since %s: %s",
			jobs, c.name, tag, b.since, why))
	}
	slices.Sort(out)
	return out
}

// membersOf counts the attempts of a grid job that are in a bulk. The memory
// lock is held.
func (c *Cluster) membersOf(tag jjm.Tag, id jjm.GridID) int {
	n := 0
	if b := c.s.Bulks[tag]; b != nil {
		for _, m := range b.Members {
			if m.Grid == id {
				n++
			}
		}
	}
	return n
}

// someOf names the first few.
func someOf(ids []jjm.AttemptID) string {
	const most = 5
	var names []string
	for _, id := range ids[:min(len(ids), most)] {
		names = append(names, id.LocalID.String())
	}
	if len(ids) > most {
		names = append(names, "...")
	}
	return strings.Join(names, ", ")
}
