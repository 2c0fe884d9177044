package command

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// Probe runs the description's probes and stores the limits that they report. If a probe fails, Probe returns its error
// and stores nothing. Without probes it always succeeds.
func (a *Adapter) Probe(ctx context.Context) error {
	caps := a.d.caps
	limits := map[string]int64{}
	for i, p := range a.d.probes {
		out, _, err := a.runQuery(ctx, fmt.Sprintf("probe %d", i+1), p.command, p.outcomes, p.values(a.config.Queue))
		if err != nil {
			return err
		}
		p.read(string(out.Stdout), limits)
	}
	if err := ctx.Err(); err != nil {
		return jjm.Errorf(jjm.Busy, "%s: probe: %w", a.name, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.caps = withLimits(caps, limits)
	a.caps.SharedFS = true
	a.caps.MaxBulk = a.config.Bulk(a.caps.MaxBulk)
	return nil
}

// Diagnosis returns the command of the description's first probe, "" if the description has no probe.
func (a *Adapter) Diagnosis() string {
	if len(a.d.probes) == 0 {
		return ""
	}
	p := a.d.probes[0]
	return strings.Join(p.command.argv(p.values(a.config.Queue)), " ")
}

// SubmitCommand returns the first word of the description's submit command.
func (a *Adapter) SubmitCommand() string { return a.d.submit.command.words[0].fill(values{}, "") }

// values returns the words that replace %__OPTIONS__ in the command: the words that select the cluster's default queue,
// if the cluster has one.
func (p probe) values(queue string) values {
	v := values{words: map[string]string{"QUEUE": queue}, lists: map[string][]string{"OPTIONS": {}}}
	if queue == "" {
		return v
	}
	for _, t := range p.queue {
		v.lists["OPTIONS"] = append(v.lists["OPTIONS"], t.fill(v, ""))
	}
	return v
}

// read adds the limits in an output to limits. If several lines report a limit, it combines their numbers:
//
// slots                    the sum
// max_bulk, max_queued     the smallest number, because these limits hold for the whole system
// max_cores, memory        the greatest number, because nodes differ
func (p probe) read(text string, limits map[string]int64) {
	for line := range lines(text) {
		for _, re := range p.find {
			m := re.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			for i, name := range re.SubexpNames() {
				n, err := strconv.ParseInt(m[i], 10, 63)
				if name == "" || err != nil {
					continue
				}
				old, known := limits[name]
				switch {
				case !known:
					limits[name] = n
				case name == "slots":
					limits[name] = old + n
				case slices.Contains([]string{"max_bulk", "max_queued"}, name):
					limits[name] = min(old, n)
				default:
					limits[name] = max(old, n)
				}
			}
		}
	}
}

// withLimits returns capabilities with the limits that probes found. A max_bulk from a probe can only lower the
// max_bulk of the description, which is the adapter's own limit.
func withLimits(c adapters.Capabilities, limits map[string]int64) adapters.Capabilities {
	fits := func(n int64) bool { return n > 0 && n < 1<<31 }
	if n := limits["max_bulk"]; fits(n) {
		c.MaxBulk = min(c.MaxBulk, int(n))
	}
	for name, to := range map[string]*int{"max_queued": &c.MaxQueued, "slots": &c.Slots, "max_cores": &c.MaxCores} {
		if n := limits[name]; fits(n) {
			*to = int(n)
		}
	}
	if n := limits["max_memory_mb"]; n > 0 {
		c.MaxMemoryMB = n
	}
	return c
}
