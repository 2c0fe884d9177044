package cluster

import (
	"context"
	"fmt"
	"time"

	"jjm/adapters/idealize"
	"jjm/internal/engine/floor/state"
	"jjm/internal/jjm"
	"jjm/internal/policy/why"
)

// liner is implemented by adapters behind an idealizer, which says what prevents the next submission from starting.
type liner interface {
	Line(ctx context.Context) idealize.Line
}

// line returns what prevents the next submission in an account from starting. The Line is empty if nothing does, or if
// the cluster has no limit on commands.
func (c *Cluster) line(account jjm.Owner) idealize.Line {
	a, ok := c.Adapter.(liner)
	if !ok {
		return idealize.Line{}
	}
	ctx, done := c.Command(context.Background(), account)
	defer done()
	return a.Line(ctx)
}

// ceilingOf returns the limit on commands as the cause for which local jobs wait. The cause has no code if the limit is
// not reached.
func ceilingOf(cluster string, l idealize.Line) why.Cause {
	if l.Full == "" {
		return why.Cause{}
	}
	noun, verb := "command", "runs"
	if l.Used != 1 {
		noun, verb = "commands", "run"
	}
	text := fmt.Sprintf("%d %s of cluster %s %s at once", l.Used, noun, cluster, verb)
	if l.Full == idealize.PerMinute {
		text = fmt.Sprintf("%d %s of cluster %s began within a minute", l.Used, noun, cluster)
	}
	text += fmt.Sprintf(", as many as may (%s = %d", l.Full, l.Setting)
	switch {
	case l.Own:
		text += ", half for one account"
	case l.Kept > 0:
		text += fmt.Sprintf(", %d of them for kills, holds and releases", l.Kept)
	}
	return why.Cause{Code: why.Ceiling, Text: text + ")", Since: timeOf(l.Since), Until: timeOf(l.Until),
		Remedy: fmt.Sprintf("it is submitted by itself when there is room; a greater %s of cluster %s makes room sooner",
			l.Full, cluster)}
}

// timeOf returns a time, 0 for the zero time.
func timeOf(t time.Time) jjm.Time {
	if t.IsZero() {
		return 0
	}
	return jjm.At(t)
}

// ceilings returns the limit on commands for which no cluster can be given the local jobs of g with a place now. The
// result is the cause of the first cluster. It has no code unless the limit of each of these clusters is reached.
func (cs Causes) ceilings(mem state.Memory, g *state.Grid, place int32, now jjm.Time) why.Cause {
	var first why.Cause
	for _, name := range cs.site.Open(mem, g, place, now) {
		c := cs.all[name]
		cause := ceilingOf(name, c.line(c.Account(g.Job.Owner)))
		if cause.Code == "" {
			return why.Cause{}
		}
		if first.Code == "" {
			first = cause
		}
	}
	return first
}
