package sge

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// Submit submits a bulk as one held array job.
func (a *Adapter) Submit(ctx context.Context, b adapters.Bulk) (adapters.Receipt, error) {
	argv, err := a.prepare(ctx, b)
	if err != nil {
		return adapters.Receipt{}, a.wrap(adapters.NotStarted(err), "submit %s", b.Tag)
	}
	a.mu.Lock()
	shielded := !a.site.exitCodesHarmless()
	a.mu.Unlock()
	out, err := a.cfg.Run(ctx, []byte(jobScript(b, shielded)), argv...)
	if err != nil {
		return adapters.Receipt{}, a.wrap(err, "submit %s: qsub", b.Tag)
	}
	id, err := receipt(out, b.N)
	if err != nil {
		return adapters.Receipt{}, a.wrap(err, "submit %s", b.Tag)
	}
	return adapters.Receipt{ID: id}, nil
}

// prepare checks a bulk and returns the command line that submits it.
func (a *Adapter) prepare(ctx context.Context, b adapters.Bulk) ([]string, error) {
	if err := adapters.CheckBulk(b, a.Capabilities()); err != nil {
		return nil, err
	}
	if err := a.Check(b.Request); err != nil {
		return nil, err
	}
	site, err := words(a.cfg.Directives)
	if err != nil {
		return nil, jjm.Errorf(jjm.Internal, "directives: %w", err)
	}
	job, err := words(adapters.Lines(b.Request.Directives))
	if err != nil {
		return nil, jjm.Errorf(jjm.Invalid, "request.directives: %w", err)
	}
	hook, err := a.askHook(ctx, b)
	if err != nil {
		return nil, err
	}
	opts := append(a.cfg.options(b.Request), site...)
	opts = append(append(opts, job...), hook...)
	return submitArgv(b, append(opts, excludeOptions(opts, b.Exclude)...)), nil
}

// submitArgv returns the command line that submits a bulk; the script is its input. It sets every option that the
// default request files of the site or the user (sge_request(5)) could change. Otherwise, for example, a -sync y in
// such a file would make qsub wait for the jobs. -C with an empty prefix prevents qsub from reading options from lines
// that begin with "#$", which a job's arguments may contain.
func submitArgv(b adapters.Bulk, opts []string) []string {
	argv := []string{"qsub", "-h", "-terse", "-t", "1-" + strconv.Itoa(b.N), "-N", string(b.Tag),
		"-r", "n", "-b", "n", "-C", "", "-S", "/bin/sh", "-sync", "n", "-now", "n", "-m", "n",
		"-wd", "/", "-o", "/dev/null", "-j", "y"}
	return append(argv, opts...)
}

// arrayLine matches the line that qsub -terse prints for an array: "42.1-100:1".
var arrayLine = regexp.MustCompile(`^([1-9][0-9]*)\.1-([0-9]+):1$`)

// receipt returns the array's id from the answer of qsub to a bulk of n jobs. A site's qsub may print more text (a
// banner, a warning of a JSV); the id is on a separate line. receipt returns an error if qsub failed or printed no such
// line.
func receipt(out run.Output, n int) (string, error) {
	if out.Exit != 0 {
		return "", refusal(out)
	}
	id := ""
	for line := range strings.Lines(string(out.Stdout)) {
		m := arrayLine.FindStringSubmatch(strings.TrimSpace(line))
		switch {
		case m == nil:
		case id != "" || m[2] != strconv.Itoa(n):
			return "", jjm.Errorf(jjm.Ambiguous, "qsub exited with 0 but printed no single id of an array of %d: %s", n,
				brief(out.Stdout))
		default:
			id = m[1]
		}
	}
	if id == "" {
		return "", jjm.Errorf(jjm.Ambiguous, "qsub exited with 0 but printed no id: %s", brief(out.Stdout, out.Stderr))
	}
	return id, nil
}
