package cluster

import (
	"time"

	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/why"
)

// hangsAfter is the time after which people are told what to do about a submission that has not returned.
const hangsAfter = 5 * time.Second

// hangs returns what a person can do about a submission of c that began at since, "" if it began only a moment ago.
func (c *Cluster) hangs(since, now jjm.Time) string {
	if now.Sub(since) < hangsAfter {
		return ""
	}
	limit, setting := c.CommandTime()
	text := "find out why the command " + c.SubmitCommand() + " does not return; jjm ends it after " +
		jjm.HowLong(limit) + " (" + setting + ") and goes on by itself"
	if d := c.Diagnosis(); d != "" {
		text += "; " + d + " shows whether the batch system of cluster " + c.Name + " runs"
	}
	return text
}

// handing returns the running submissions for whose end the local jobs of g with a place wait, because an account has
// one submission at a time. The result is the cause of the first cluster. It has no code unless a submission runs on
// each of the clusters to which the local jobs may go.
func (cs Causes) handing(mem state.Memory, g *state.Grid, place int32, now jjm.Time) why.Cause {
	var first why.Cause
	for _, name := range cs.site.Open(mem, g, place, now) {
		c := cs.all[name]
		r := c.submitter.Running(c.Account(g.Job.Owner))
		if r.Tag == "" {
			return why.Cause{}
		}
		if first.Code == "" {
			first = why.Cause{Code: why.Submitting, Since: r.Since, Remedy: c.hangs(r.Since, now),
				Text: "cluster " + name + " is being given other local jobs of the account; it is submitted after them"}
		}
	}
	return first
}
