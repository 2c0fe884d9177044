package command

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"jjm"
	"jjm/adapters"
)

// Probe runs the description's probes and takes over the limits that they
// tell. A description without probes tells nothing of the health of its system.
func (a *Adapter) Probe(ctx context.Context) error {
	caps := a.d.caps
	limits := map[string]int64{}
	for i, p := range a.d.probes {
		out, _, err := a.ask(ctx, fmt.Sprintf("probe %d", i+1), p.command, p.outcomes, p.values(a.config.Queue))
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

// values returns what stands for %__OPTIONS__ in the command: words for the
// cluster's default queue, if it has one.
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

// read adds what the lines of an output tell. Slots add up over lines; of
// limits for the whole system the smallest counts, of limits for one job the
// greatest, since nodes differ.
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

// withLimits returns capabilities with what a probe found. Its limit of a bulk
// may only lower the description's, which says what the adapter can do.
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
