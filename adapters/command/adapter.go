package command

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// Adapter submits jobs to a batch system through the commands of a description.
type Adapter struct {
	name   string
	config Config
	env    adapters.Env
	d      *Description

	mu   sync.Mutex // guards caps
	caps adapters.Capabilities
}

var (
	_ adapters.Adapter = (*Adapter)(nil)
	_ adapters.Checker = (*Adapter)(nil)
	_ adapters.Prober  = (*Adapter)(nil)
)

// Description returns the path of the description's file.
func (a *Adapter) Description() string { return a.config.Description.Path }

// Name returns the cluster's name.
func (a *Adapter) Name() string { return a.name }

// Capabilities returns the capabilities in the description, with the limits that the last probe found.
func (a *Adapter) Capabilities() adapters.Capabilities {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.caps
}

// Check returns an error of kind Invalid if a request has a directive that is not allowed, has a field for which the
// description has no option, or exceeds a limit.
func (a *Adapter) Check(r jjm.Request) error {
	if err := a.config.CheckDirectives(a.name, r, a.d.script.checkDirective).Err(); err != nil {
		return err
	}
	if err := a.d.submit.check(a.config.Fill(r)); err != nil {
		return err
	}
	return checkLimits(r, a.Capabilities())
}

// checkLimits returns an error if a request exceeds the limits of a job.
func checkLimits(r jjm.Request, c adapters.Capabilities) error {
	var ps jjm.Problems
	if c.MaxCores > 0 && r.Cores > c.MaxCores {
		ps = append(ps, jjm.Problem{Field: "request.cores",
			Text: fmt.Sprintf("%d: this cluster allows one job at most %d", r.Cores, c.MaxCores)})
	}
	if c.MaxMemoryMB > 0 && r.MemoryMB > c.MaxMemoryMB {
		ps = append(ps, jjm.Problem{Field: "request.memory_mb",
			Text: fmt.Sprintf("%d: this cluster allows one job at most %d", r.MemoryMB, c.MaxMemoryMB)})
	}
	if c.MaxWalltime > 0 && time.Duration(r.Walltime) > c.MaxWalltime {
		ps = append(ps, jjm.Problem{Field: "request.walltime",
			Text: fmt.Sprintf("%v: this cluster allows one job at most %v", r.Walltime, jjm.Duration(c.MaxWalltime))})
	}
	return ps.Err()
}

// run runs a command. If the program has an absolute path, it need not be in the configured folder of commands (bin).
func (a *Adapter) run(ctx context.Context, stdin []byte, argv []string) (run.Output, error) {
	cli := a.config.CLI
	if len(argv) > 0 && filepath.IsAbs(argv[0]) {
		cli.Bin = ""
	}
	return cli.Run(ctx, stdin, argv...)
}

// runQuery runs a command that changes nothing. none is true if the command's outcome is "none", which means that there
// are no jobs. If the outcome is neither "ok" nor "none", the error is of kind Busy.
func (a *Adapter) runQuery(ctx context.Context, what string, c command, os outcomes, v values) (out run.Output,
	none bool, err error) {
	out, err = a.run(ctx, nil, c.argv(v))
	if err != nil {
		return out, false, fmt.Errorf("%s: %s: %w", a.name, what, adapters.AsBusy(err))
	}
	got, err := os.judge(out, v)
	if err != nil {
		return out, false, jjm.Errorf(jjm.Busy, "%s: %s", a.name, failure(what, out, err.Error()))
	}
	if got.word != wordOK && got.word != wordNone {
		return out, false, jjm.Errorf(jjm.Busy, "%s: %s", a.name, failure(what, out, got.message))
	}
	return out, got.word == wordNone, nil
}

// query runs the command of a query and parses its output.
func (a *Adapter) query(ctx context.Context, what string, q *query, v values) (answer, error) {
	out, none, err := a.runQuery(ctx, what, q.command, q.outcomes, v)
	if err != nil || none {
		return answer{}, err
	}
	got, err := a.d.read(q, string(out.Stdout), a.env.Now())
	if err != nil {
		return answer{}, jjm.Errorf(jjm.Busy, "%s: %s: read the output: %w", a.name, what, err)
	}
	return got, nil
}

// queryValues returns the values for the names in the templates of a query.
func (a *Adapter) queryValues(q *query, owner jjm.Owner, since time.Time) values {
	v := values{words: ownerValues(owner), lists: map[string][]string{}}
	v.words["SINCE"] = write(since, q.since, a.d.times.zone)
	return v
}

// userName returns the name of an account, or its number if it has none.
func userName(o jjm.Owner) string {
	if o.User != "" {
		return o.User
	}
	return strconv.Itoa(o.UID)
}
