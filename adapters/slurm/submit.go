package slurm

import (
	"context"
	"fmt"

	"jjm"
	"jjm/adapters"
)

// Submit hands over a bulk as one array, also where it is of one job.
func (a *Adapter) Submit(ctx context.Context, b adapters.Bulk) (adapters.Receipt, error) {
	r, err := a.submit(ctx, b)
	if err != nil {
		return r, fmt.Errorf("slurm: submit bulk %s of %d for %s: %w", b.Tag, b.N, b.Owner.User, err)
	}
	return r, nil
}

func (a *Adapter) submit(ctx context.Context, b adapters.Bulk) (adapters.Receipt, error) {
	none := adapters.Receipt{}
	if err := adapters.CheckBulk(b, a.Capabilities()); err != nil {
		return none, err
	}
	if err := a.mayAct(ctx, b.Owner); err != nil {
		return none, err
	}
	if err := a.Check(b.Request); err != nil {
		return none, err
	}
	script := adapters.JobScript(b, `"$SLURM_ARRAY_TASK_ID"`, `"${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"`)
	if a.rest != nil {
		return a.rest.submit(ctx, b, a.config, script)
	}
	extra, err := a.config.Hook.Ask(ctx, a.name, b)
	if err != nil {
		return none, err
	}
	args, err := sbatchArgs(b, a.config, extra)
	if err != nil {
		return none, err
	}
	out, err := a.config.CLI.Run(ctx, []byte(script), args...)
	if out.Truncated { // it ran: not Busy, as for a listing
		err = jjm.Errorf(jjm.Ambiguous, "%w", err)
	}
	if err != nil {
		return none, err
	}
	return receipt(out)
}

// Check finds what this cluster cannot give: Slurm itself accepts most of it,
// and lets the job wait for ever.
func (a *Adapter) Check(r jjm.Request) error {
	var ps jjm.Problems
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Field: "request." + field, Text: fmt.Sprintf(format, args...)})
	}
	for _, f := range [][2]string{{"queue", r.Queue}, {"account", r.Account}, {"project", r.Project}, {"qos", r.QOS}} {
		if err := oddWord(f[1]); err != nil {
			bad(f[0], "%v", err)
		}
	}
	ps = append(ps, a.config.CheckDirectives(a.name, r, oddJobDirective)...)
	a.mu.Lock()
	site := a.site
	a.mu.Unlock()
	if site != nil {
		ps = append(ps, site.beyond(r, a.config.Fill(r).Queue)...)
	}
	return ps.Err()
}
