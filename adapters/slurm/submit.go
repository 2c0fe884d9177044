package slurm

import (
	"context"
	"fmt"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// Submit submits a bulk as one array, even a bulk of one job.
func (a *Adapter) Submit(ctx context.Context, b adapters.Bulk) (adapters.Receipt, error) {
	r, err := a.submit(ctx, b)
	err = a.withLimit(withoutHosts(err, b.Exclude), b)
	if err != nil {
		return r, fmt.Errorf("slurm: submit bulk %s of %d for %s: %w", b.Tag, b.N, b.Owner.User, err)
	}
	return r, nil
}

func (a *Adapter) submit(ctx context.Context, b adapters.Bulk) (adapters.Receipt, error) {
	none := adapters.Receipt{}
	if err := a.checkBulk(ctx, b); err != nil {
		return none, adapters.NotStarted(err)
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
	if out.Truncated { // sbatch ran, so the error is Ambiguous, not Busy
		err = jjm.Errorf(jjm.Ambiguous, "%w", err)
	}
	if err != nil {
		return none, err
	}
	return receipt(out, b.N)
}

// checkBulk returns an error if a bulk must not be submitted now.
func (a *Adapter) checkBulk(ctx context.Context, b adapters.Bulk) error {
	if err := adapters.CheckBulk(b, a.Capabilities()); err != nil {
		return err
	}
	if err := a.checkAccount(ctx, b.Owner); err != nil {
		return err
	}
	if err := a.Check(b.Request); err != nil {
		return err
	}
	return a.checkSize(b)
}

// Check returns an error of kind Invalid if this cluster cannot satisfy a request. Slurm itself accepts most such
// requests, and the job then waits forever.
func (a *Adapter) Check(r jjm.Request) error {
	var ps jjm.Problems
	bad := func(field, format string, args ...any) {
		ps = append(ps, jjm.Problem{Field: "request." + field, Text: fmt.Sprintf(format, args...)})
	}
	for _, f := range [][2]string{{"queue", r.Queue}, {"account", r.Account}, {"project", r.Project}, {"qos", r.QOS}} {
		if err := checkWord(f[1]); err != nil {
			bad(f[0], "%v", err)
		}
	}
	ps = append(ps, a.config.CheckDirectives(a.name, r, checkJobDirective)...)
	a.mu.Lock()
	site := a.site
	a.mu.Unlock()
	if site != nil {
		ps = append(ps, site.overLimits(r, a.config.Fill(r).Queue)...)
	}
	return ps.Err()
}
