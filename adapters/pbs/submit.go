package pbs

import (
	"context"
	"regexp"
	"strconv"
	"strings"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// Submit submits one bulk as held jobs; a bulk whose id was lost therefore never runs. qsub reads the script from
// standard input. The options of qsub contain no user text, because listings show the options to all accounts, and some
// values break the listings' JSON.
func (a *Adapter) Submit(ctx context.Context, b adapters.Bulk) (adapters.Receipt, error) {
	argv, d, err := a.prepare(ctx, b)
	if err != nil {
		return adapters.Receipt{}, a.wrap("submit", adapters.NotStarted(err))
	}
	if b.N > 1 && d == openpbs {
		keeps, done := a.keepRoom(ctx)
		defer done()
		ctx = keeps
	}
	out, err := a.run(ctx, []byte(script(b)), argv...)
	if out.Truncated { // qsub ran, so the jobs may exist
		err = jjm.Errorf(jjm.Ambiguous, "%w", err)
	}
	if err != nil {
		return adapters.Receipt{}, a.wrap("submit "+string(b.Tag), err)
	}
	id, err := receiptID(out, b.N > 1)
	if err != nil {
		return adapters.Receipt{}, a.wrap("submit "+string(b.Tag), err)
	}
	a.mu.Lock()
	a.memoryOf(b.Owner).noteBulk(id, b.Tag, b.N > 1)
	a.mu.Unlock()
	if b.N > 1 && d == openpbs {
		if err := a.forbidRerun(ctx, id); err != nil {
			return adapters.Receipt{}, a.wrap("submit "+string(b.Tag),
				jjm.Errorf(jjm.Ambiguous, "array %s[] is there and held: %w", id, err))
		}
	}
	return adapters.Receipt{ID: id}, nil
}

// prepare checks a bulk and returns the command line that submits it.
func (a *Adapter) prepare(ctx context.Context, b adapters.Bulk) ([]string, dialect, error) {
	if err := adapters.CheckBulk(b, a.Capabilities()); err != nil {
		return nil, unknownDialect, err
	}
	if err := a.Check(b.Request); err != nil {
		return nil, unknownDialect, err
	}
	if err := a.checkSize(b); err != nil {
		return nil, unknownDialect, err
	}
	d, err := a.findDialect(ctx)
	if err != nil {
		return nil, d, err
	}
	more, err := a.extraOptions(ctx, b)
	return append(submitArgs(b, a.config, d), more...), d, err
}

// extraOptions returns the options that the site, its hook and the job file add.
func (a *Adapter) extraOptions(ctx context.Context, b adapters.Bulk) ([]string, error) {
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

// submitArgs returns the command for a bulk. A bulk with one job is a plain job, because OpenPBS rejects arrays with
// one member. The output goes to /dev/null: PBS does not copy that file back, and a job whose output cannot be copied
// back would stay in state E for half a minute. OpenPBS rejects -r n for arrays (see forbidRerun).
func submitArgs(b adapters.Bulk, c Config, d dialect) []string {
	argv := []string{"qsub", "-h", "-N", string(b.Tag)}
	if b.N > 1 {
		option := "-J"
		if d == torque {
			option = "-t"
		}
		argv = append(argv, option, "0-"+strconv.Itoa(b.N-1))
	}
	if b.N == 1 || d == torque {
		argv = append(argv, "-r", "n")
	}
	argv = append(argv, "-S", "/bin/sh", "-o", "/dev/null", "-e", "/dev/null")
	return append(argv, requestArgs(b.Request, c, d)...)
}

// script returns the script of the jobs. Its second line is a command, where qsub stops looking for directives.
func script(b adapters.Bulk) string {
	return adapters.JobScript(b, `"${PBS_ARRAY_INDEX:-${PBS_ARRAYID:-0}}"`, `"${PBS_JOBID%%.*}"`)
}

// plainID matches the last line of a successful qsub.
var plainID = regexp.MustCompile(`(?:^|\n)([0-9]+)(\[\])?\.[A-Za-z0-9_.:-]+\r?\n$`)

// receiptID returns the bulk's id from the answer of qsub, or an error that says why the answer has no id.
func receiptID(out run.Output, array bool) (string, error) {
	if out.Exit != 0 {
		return "", refusal(out)
	}
	m := plainID.FindStringSubmatch(string(out.Stdout))
	if m == nil || (m[2] != "") != array {
		return "", jjm.Errorf(jjm.Ambiguous, "qsub: exit 0, but no job id in %.100q: %s", out.Stdout, complaint(out.Stderr))
	}
	return m[1], nil
}
