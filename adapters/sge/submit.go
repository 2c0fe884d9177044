package sge

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"jjm"
	"jjm/adapters"
	"jjm/run"
)

// Submit submits a bulk as one array job, held.
func (a *Adapter) Submit(ctx context.Context, b adapters.Bulk) (adapters.Receipt, error) {
	argv, err := a.prepare(ctx, b)
	if err != nil {
		return adapters.Receipt{}, a.wrap(err, "submit %s", b.Tag)
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
	return submitArgv(b, append(append(opts, job...), hook...)), nil
}

// submitArgv returns the command line that submits a bulk; the script is its input. It sets
// every option that default request files (sge_request(5): the site's, the user's) could
// change: a -sync y there would make qsub wait for the jobs. -C with an empty prefix keeps
// qsub from reading options from lines that begin with "#$", which a job's arguments may
// contain.
func submitArgv(b adapters.Bulk, opts []string) []string {
	argv := []string{"qsub", "-h", "-terse", "-t", "1-" + strconv.Itoa(b.N), "-N", string(b.Tag),
		"-r", "n", "-b", "n", "-C", "", "-S", "/bin/sh", "-sync", "n", "-now", "n", "-m", "n",
		"-wd", "/", "-o", "/dev/null", "-j", "y"}
	return append(argv, opts...)
}

// arrayLine matches what qsub -terse prints for an array: "42.1-100:1".
var arrayLine = regexp.MustCompile(`^([1-9][0-9]*)\.1-([0-9]+):1$`)

// receipt reads the answer of qsub. A site's qsub may print more (a banner, a warning of a
// JSV); the id is on a line of its own.
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

// exitFull is the exit code of a submission beyond max_u_jobs or max_jobs (sge_conf(5)),
// and also beyond max_aj_tasks (measured on 8.1.9).
const exitFull = 25

// refusal classifies a qsub that did not exit with 0. The kind is certain only for messages
// that are known to come before anything was sent, or from the qmaster as a refusal; all
// others are Ambiguous.
func refusal(out run.Output) error {
	text := strings.ToLower(string(out.Stderr))
	has := func(parts ...string) bool {
		for _, p := range parts {
			if strings.Contains(text, p) {
				return true
			}
		}
		return false
	}
	kind, mark := jjm.Ambiguous, unmarked
	switch {
	case out.Signal != 0:
	case has("more than") && has("tasks"): // max_aj_tasks
		kind, mark = jjm.Busy, adapters.TooMany
	case out.Exit == exitFull, has("jobs are allowed per"): // an array counts as one job, so smaller ones do not help
		kind = jjm.Busy
	case has("connection refused"):
		kind = jjm.Busy
	case has("connection reset", "read error", "timeout", "failed receiving", "unable to send message"):
		// The request had been sent: the qmaster was killed while qsub waited.
	case has("minimum user id", "minimum group id", "no access", "not allowed", "permission", "is no submit host",
		"does not have access", "necessary privileges"):
		kind = jjm.Denied
	case has("job rejected", "was rejected", "denied:", "unknown resource", "unknown option", "is not a ",
		"not allowed in",
		"no suitable queues", "does not exist", "invalid option", "can't resolve hostname"):
		kind = jjm.Invalid
	case text != "":
		mark = adapters.Unexplained
	}
	return mark(jjm.Errorf(kind, "qsub: exit %d: %s", out.Exit, brief(out.Stderr, out.Stdout)))
}

func unmarked(err error) error { return err }
