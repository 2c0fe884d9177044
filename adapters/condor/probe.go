package condor

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// limits holds the limits that Probe found; 0 means unknown.
type limits struct {
	bulk   int // largest number of jobs in one submission
	queued int // largest number of queued jobs of one owner
	slots  int // number of cores in the pool
	// copies is set if HTCondor copies a proxy to jobs and does not delegate it.
	copies bool
}

// limitNames are the settings that Probe reads, in the order in which limitsOf expects their values.
var limitNames = []string{"MAX_JOBS_PER_SUBMISSION", "MAX_JOBS_PER_OWNER", "MAX_JOBS_SUBMITTED", delegates}

// delegates is the setting with which HTCondor makes a new, limited proxy for each job instead of a copy. With OpenSSL
// 3.4 and later HTCondor 23.9.6 cannot do that: the jobs do not start, and HTCondor retries them forever.
const delegates = "DELEGATE_JOB_GSI_CREDENTIALS"

// Probe queries the schedd for its limits and the collector for the size of the pool. If the collector does not answer,
// the schedd still accepts jobs: Probe then keeps the previous size and succeeds.
func (a *Adapter) Probe(ctx context.Context) error {
	if a.env.Owners {
		if err := a.prove(ctx, true); err != nil {
			return a.fail("probe", err)
		}
	}
	out, err := a.run(ctx, nil, append([]string{"condor_config_val", "-schedd"}, limitNames...)...)
	if err != nil {
		return a.fail("probe", adapters.AsBusy(err))
	}
	if complaint := complaints(out.Stderr); out.Exit != 0 || complaint != "" {
		return a.fail("probe", jjm.Errorf(jjm.Busy, "condor_config_val -schedd: exit %d: %s", out.Exit, complaint))
	}
	found, err := limitsOf(string(out.Stdout))
	if err != nil {
		return a.fail("probe", jjm.Errorf(jjm.Busy, "condor_config_val -schedd: %w", err))
	}
	slots, known := a.countSlots(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	if !known {
		slots = a.found.slots
	}
	found.slots = slots
	a.found = found
	return nil
}

// limitsOf parses the values of limitNames, one on each line. A limit is a number or "Not defined". The last line says
// whether HTCondor delegates proxies; HTCondor does so by default.
func limitsOf(text string) (limits, error) {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
	if len(lines) != len(limitNames) {
		return limits{}, fmt.Errorf("%d values for %s: %.200q", len(lines), strings.Join(limitNames, ", "), text)
	}
	var values [3]int
	for i := range values {
		n, err := strconv.Atoi(strings.TrimSpace(lines[i]))
		switch {
		case strings.HasPrefix(lines[i], "Not defined"), err == nil && (n <= 0 || n >= 1<<31-1):
			n = 0
		case err != nil:
			return limits{}, fmt.Errorf("%.80q is not a number", lines[i])
		}
		values[i] = n
	}
	queued := values[1]
	if all := values[2]; queued == 0 || all > 0 && all < queued {
		queued = all
	}
	return limits{bulk: values[0], queued: queued, copies: strings.EqualFold(strings.TrimSpace(lines[3]), "false")}, nil
}

// countSlots returns the number of cores in the pool's machines; known is false if the collector does not answer. It
// omits dynamic slots, because TotalSlotCpus of their partitionable slot includes them.
func (a *Adapter) countSlots(ctx context.Context) (n int, known bool) {
	out, err := a.run(ctx, nil, "condor_status", "-constraint", `SlotType =!= "Dynamic"`, "-af:ht", "TotalSlotCpus")
	if err != nil || out.Exit != 0 {
		return 0, false
	}
	heading, values, ok := strings.Cut(string(out.Stdout), "\n")
	if !ok || strings.TrimSpace(heading) != "TotalSlotCpus" {
		return 0, false
	}
	for _, text := range strings.Fields(values) {
		if v, err := strconv.Atoi(text); err == nil && v > 0 && v < 1<<20 {
			n += v
		}
	}
	return n, true
}
