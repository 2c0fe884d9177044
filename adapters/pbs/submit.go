package pbs

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"jjm"
	"jjm/adapters"
	"jjm/run"
)

// Submit hands over one bulk, held. The script goes in on standard input, and
// nothing of a user's into qsub's options: the listing shows those to everybody,
// in JSON that some values break.
func (a *Adapter) Submit(ctx context.Context, b adapters.Bulk) (adapters.Receipt, error) {
	if err := adapters.CheckBulk(b, a.Capabilities()); err != nil {
		return adapters.Receipt{}, a.wrap("submit", err)
	}
	if err := a.Check(b.Request); err != nil {
		return adapters.Receipt{}, a.wrap("submit", err)
	}
	d, err := a.speak(ctx)
	if err != nil {
		return adapters.Receipt{}, a.wrap("submit", err)
	}
	more, err := a.extras(ctx, b)
	if err != nil {
		return adapters.Receipt{}, a.wrap("submit", err)
	}
	argv := append(submitArgs(b, a.config, d), more...)
	out, err := a.config.Run(ctx, []byte(script(b)), argv...)
	if out.Truncated { // it ran, whatever it meant
		err = jjm.Errorf(jjm.Ambiguous, "%w", err)
	}
	if err != nil {
		return adapters.Receipt{}, a.wrap("submit "+string(b.Tag), err)
	}
	id, err := acknowledged(out, b.N > 1)
	if err != nil {
		return adapters.Receipt{}, a.wrap("submit "+string(b.Tag), err)
	}
	a.mu.Lock()
	a.pastOf(b.Owner).open(id, b.Tag, b.N > 1)
	a.mu.Unlock()
	return adapters.Receipt{ID: id}, nil
}

// extras are the options that the site, its hook and the job file add.
func (a *Adapter) extras(ctx context.Context, b adapters.Bulk) ([]string, error) {
	args, err := directives(strings.Join(a.config.Directives, "\n"))
	if err != nil {
		return nil, jjm.Errorf(jjm.Invalid, "directives: %w", err)
	}
	own, err := directives(b.Request.Directives)
	if err != nil {
		return nil, jjm.Errorf(jjm.Invalid, "request.directives: %w", err)
	}
	hook, err := a.askHook(ctx, b)
	if err != nil {
		return nil, err
	}
	return append(append(args, own...), hook...), nil
}

// submitArgs is the command for a bulk. Arrays of one member are refused by
// OpenPBS, so a bulk of one is a plain job. /dev/null is delivered by not
// delivering, which spares the job half a minute in state E where its output
// cannot be copied back.
func submitArgs(b adapters.Bulk, c Config, d dialect) []string {
	argv := []string{"qsub", "-h", "-N", string(b.Tag)}
	if b.N > 1 {
		option := "-J"
		if d == torque {
			option = "-t"
		}
		argv = append(argv, option, "0-"+strconv.Itoa(b.N-1))
	}
	argv = append(argv, "-r", "n", "-S", "/bin/sh", "-o", "/dev/null", "-e", "/dev/null")
	return append(argv, requestArgs(b.Request, c, d)...)
}

// script is what the jobs run. Its second line does something, so that qsub
// looks for directives no further.
func script(b adapters.Bulk) string {
	return adapters.JobScript(b, `"${PBS_ARRAY_INDEX:-${PBS_ARRAYID:-0}}"`, `"${PBS_JOBID%%.*}"`)
}

// plainID is the last line of a qsub that succeeded.
var plainID = regexp.MustCompile(`(?:^|\n)([0-9]+)(\[\])?\.[A-Za-z0-9_.:-]+\r?\n$`)

// acknowledged reads what qsub answered: the bulk's id, or why there is none.
func acknowledged(out run.Output, array bool) (string, error) {
	if out.Exit != 0 {
		return "", refusal(out)
	}
	m := plainID.FindStringSubmatch(string(out.Stdout))
	if m == nil || (m[2] != "") != array {
		return "", jjm.Errorf(jjm.Ambiguous, "qsub: exit 0, but no job id in %.100q: %s", out.Stdout, complaint(out.Stderr))
	}
	return m[1], nil
}
