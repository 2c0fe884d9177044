package pbs

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	"jjm"
	"jjm/adapters"
	"jjm/run"
)

// live returns the jobs that have not ended, of everybody or at least of the owner: from
// one listing of all, which costs the server least (OpenPBS 23.06.06: 100 ids take 612 ms,
// all of 1000 jobs 101 ms), or by the owner's ids if that was too much. members expands
// arrays. Some of the jobs may just have ended; Torque's listing includes all that ended
// within keep_completed.
func (a *Adapter) live(ctx context.Context, owner jjm.Owner, members bool) ([]job, dialect, error) {
	d, err := a.findDialect(ctx)
	if err != nil {
		return nil, d, err
	}
	if d != torque && !a.currentAskSize().mayListAll(a.env.Now()) {
		jobs, err := a.listByID(ctx, owner, members)
		return jobs, d, err
	}
	look := a.listAll
	if d == torque {
		look = a.listTorque
	}
	raws, err := look(ctx, members)
	if err != nil {
		return nil, d, err
	}
	jobs, err := jobsOf(raws, d)
	return jobs, d, err
}

// jobsOf parses listed jobs. If one cannot be read, the whole listing is an error.
func jobsOf(raws []raw, d dialect) ([]job, error) {
	jobs := make([]job, 0, len(raws))
	for _, r := range raws {
		j, ok := jobOf(r, d)
		if !ok {
			return nil, jjm.Errorf(jjm.Busy, "qstat: job id %.40q cannot be read", r.id)
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// qstatArgs returns a qstat command of OpenPBS.
func qstatArgs(history, members bool, ids ...string) []string {
	argv := []string{"qstat"}
	if history {
		argv = append(argv, "-x")
	}
	argv = append(argv, "-f", "-F", "json")
	if members {
		argv = append(argv, "-t")
	}
	return append(argv, ids...)
}

// listAll lists everything that has not ended. If that is too much it is not tried again
// for a while.
func (a *Adapter) listAll(ctx context.Context, members bool) ([]raw, error) {
	argv := qstatArgs(false, members)
	out, err := a.config.Run(ctx, nil, argv...)
	if why := tooMuch(out, err); why != "" {
		return nil, a.noteTooMuch(argv, why, out, err)
	}
	if err != nil {
		return nil, adapters.AsBusy(err)
	}
	raws, err := parseListing(out, argv, parseJSON)
	if err == nil {
		a.updateAskSize(askSize.listAllWorked)
	}
	return raws, err
}

// noteTooMuch notes that a listing of all jobs was too much, and returns the error that
// says so.
func (a *Adapter) noteTooMuch(argv []string, why string, out run.Output, err error) error {
	now, what := a.env.Now(), strings.Join(argv, " ")
	next := a.updateAskSize(func(x askSize) askSize { return x.listAllFailed(now, what+": "+why) })
	a.env.Warn("a listing of all jobs failed; jobs are asked for by id for a while", "cluster", a.name,
		"command", what, "why", why, "ids at once", next.chunk, "until", next.until)
	if err == nil {
		err = errors.New(complaint(out.Stderr))
	}
	return jjm.Errorf(jjm.Busy, "%s: %s (%w); jobs are asked for by id until %s, %d at once", what, why, err,
		next.until.UTC().Format(time.RFC3339), next.chunk)
}

func (a *Adapter) currentAskSize() askSize {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.askSize
}

func (a *Adapter) updateAskSize(change func(askSize) askSize) askSize {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.askSize = change(a.askSize)
	return a.askSize
}

// listByID lists by id the owner's jobs that have not ended, and those that are alive in
// memory.
func (a *Adapter) listByID(ctx context.Context, owner jjm.Owner, members bool) ([]job, error) {
	ids, err := a.selectIDs(ctx, owner)
	if err != nil {
		return nil, err
	}
	var ask []string
	for _, id := range ids {
		ask = append(ask, id.String())
	}
	a.mu.Lock()
	for seq, b := range a.memoryOf(owner).bulks {
		if !b.over && !slices.Contains(ask, b.id(seq)) {
			ask = append(ask, b.id(seq))
		}
	}
	a.mu.Unlock()
	return a.jobsByID(ctx, ask, members)
}

// byID asks for jobs by id, including the history, and calls take with what the server
// knows of each chunk. Chunks that are too much are made smaller.
func (a *Adapter) byID(ctx context.Context, ids []string, members bool,
	take func(ids []string, has []raw) error) error {
	for len(ids) > 0 {
		some := ids[:min(len(ids), a.currentAskSize().chunk)]
		history := !a.historyOff()
		argv := qstatArgs(history, members, some...)
		out, err := a.config.Run(ctx, nil, argv...)
		if why := tooMuch(out, err); why != "" {
			late := errors.Is(err, context.DeadlineExceeded)
			a.updateAskSize(func(x askSize) askSize { return x.chunkFailed(a.env.Now(), len(some), late) })
			if len(some) > 1 && ctx.Err() == nil {
				continue
			}
			return jjm.Errorf(jjm.Busy, "%s of %d ids, %s first: %s; fewer are asked for next", argv[0], len(some),
				some[0], why)
		}
		if err != nil {
			return adapters.AsBusy(err)
		}
		raws, kept, err := parseByID(out, argv)
		if err != nil {
			return err
		}
		if history && !kept {
			a.setHistory(false)
			continue // repeat without the history
		}
		a.updateAskSize(func(x askSize) askSize { return x.chunkWorked(a.env.Now()) })
		if err := take(some, raws); err != nil {
			return err
		}
		ids = ids[len(some):]
	}
	return nil
}

// unknownID matches what qstat prints about a job that the server does not have.
var unknownID = regexp.MustCompile(`^qstat: Unknown Job Id +[0-9]+(\[[^\]]*\])?(\.[^ ]*)? *$`)

// exitUnknown is the exit code if the last id is unknown (PBSE_UNKJOBID & 0xFF).
const exitUnknown = 153

// parseByID parses a listing by ids. Unknown ids cause complaints; any other complaint is
// an error. history is false if the server says, with exit code 0, that it keeps no
// history.
func parseByID(out run.Output, argv []string) (raws []raw, history bool, err error) {
	if saysNoHistory(out.Stderr) {
		return nil, false, nil
	}
	for line := range bytes.Lines(out.Stderr) {
		if line = bytes.TrimSpace(line); len(line) > 0 && !unknownID.Match(line) {
			return nil, true, checkClean(out, argv)
		}
	}
	if out.Exit == exitUnknown && len(bytes.TrimSpace(out.Stderr)) > 0 {
		out.Exit = 0
	}
	if out.Exit == 0 {
		out.Stderr = nil
	}
	raws, err = parseListing(out, argv, parseJSON)
	return raws, true, err
}

// selectIDs returns the ids of an owner's jobs that qselect finds: those that have not
// ended, or those that the arguments describe.
func (a *Adapter) selectIDs(ctx context.Context, owner jjm.Owner, args ...string) ([]jobID, error) {
	argv := append([]string{"qselect"}, args...)
	if owner.User != "" {
		argv = append(argv, "-u", owner.User)
	}
	out, err := a.config.Run(ctx, nil, argv...)
	if err != nil {
		return nil, adapters.AsBusy(err)
	}
	if isUnsupported(out) {
		return nil, jjm.Errorf(jjm.Busy, "%s: exit %d: %w: %s", strings.Join(argv, " "), out.Exit, errUnsupported,
			complaint(out.Stderr))
	}
	if saysNoHistory(out.Stderr) {
		a.setHistory(false)
		return nil, nil
	}
	if err := checkClean(out, argv); err != nil {
		return nil, err
	}
	return parseIDs(out.Stdout, argv)
}

// parseIDs parses the output of qselect: one id on each line, each with a newline.
func parseIDs(text []byte, argv []string) (ids []jobID, err error) {
	for line := range bytes.Lines(text) {
		id, ok := parseID(string(bytes.TrimSpace(line)))
		if !ok || line[len(line)-1] != '\n' {
			return nil, jjm.Errorf(jjm.Busy, "%s: %.60q is not a job id", strings.Join(argv, " "), line)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// maxSkew is how far the clocks of the server and of jjm may be apart.
const maxSkew = 5 * time.Minute

// errUnsupported says that a server or its client does not support a query.
var errUnsupported = errors.New("this query is not supported")

// isUnsupported reports whether a command was refused because of its query: usage (2), or
// PBSE_NOATTR, PBSE_ATTRRO, PBSE_IVALREQ or PBSE_PERM of the server.
func isUnsupported(out run.Output) bool {
	return slices.Contains([]int{2, 154, 155, 156, 159}, out.Exit) && out.Signal == 0
}

// endedSince returns the ids of an owner's jobs that ended at since or later, and perhaps a
// little earlier: it compares mtime, which a job's end changes for the last time. ok is
// false if the query is not supported; then only Account reports ends of jobs that were
// never seen alive.
func (a *Adapter) endedSince(ctx context.Context, owner jjm.Owner, since time.Time) (ids []jobID, ok bool, err error) {
	a.mu.Lock()
	no := a.noEndedSince
	a.mu.Unlock()
	if no {
		return nil, false, nil
	}
	when := later(since, time.Unix(0, 0).Add(2*maxSkew)).Add(-maxSkew).In(a.zone).Format("200601021504.05")
	ids, err = a.selectIDs(ctx, owner, "-x", "-s", "F", "-tm.ge."+when)
	if errors.Is(err, errUnsupported) {
		a.env.Warn("PBS cannot list the jobs that ended since a time", "cluster", a.name, "error", err)
		a.mu.Lock()
		a.noEndedSince = true
		a.mu.Unlock()
		return nil, false, nil
	}
	return ids, err == nil, err
}

func (a *Adapter) historyOff() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.noHistory
}

func (a *Adapter) setHistory(on bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.noHistory = !on
}

func saysNoHistory(stderr []byte) bool {
	return bytes.Contains(stderr, []byte("not configured to maintain job history"))
}

// listTorque lists in XML. Torque prints nothing when there are no jobs. That is believed
// only if the server also says that it has none; jobs may have come between the two
// commands.
func (a *Adapter) listTorque(ctx context.Context, members bool) ([]raw, error) {
	argv := []string{"qstat", "-x"}
	if members {
		argv = append(argv, "-t")
	}
	for range 2 {
		out, err := a.config.Run(ctx, nil, argv...)
		if err != nil {
			return nil, adapters.AsBusy(err)
		}
		raws, err := parseListing(out, argv, parseXML)
		if err != nil || len(raws) > 0 {
			return raws, err
		}
		if none, err := a.hasNone(ctx); err != nil || none {
			return nil, err
		}
	}
	return nil, jjm.Errorf(jjm.Busy, "qstat -x shows no jobs, but qstat -B says that there are some")
}

// hasNone asks a Torque server whether it has no jobs at all.
func (a *Adapter) hasNone(ctx context.Context) (bool, error) {
	server, err := a.objects(ctx, "qstat", "-B", "-f")
	if err != nil {
		return false, err
	}
	return server[len(server)-1].attrs["total_jobs"] == "0", nil
}

// checkClean returns an error unless a command exited with 0 and without a complaint.
// OpenPBS prints valid JSON without jobs when it cannot reach the server; only the exit
// code and standard error show that.
func checkClean(out run.Output, argv []string) error {
	if out.Exit != 0 || len(bytes.TrimSpace(out.Stderr)) > 0 {
		return jjm.Errorf(jjm.Busy, "%s: exit %d: %s", strings.Join(argv, " "), out.Exit, complaint(out.Stderr))
	}
	return nil
}

// parseListing parses the output of a command that lists.
func parseListing(out run.Output, argv []string, parse func([]byte) ([]raw, error)) ([]raw, error) {
	if err := checkClean(out, argv); err != nil {
		return nil, err
	}
	raws, err := parse(out.Stdout)
	if err != nil {
		return nil, jjm.Errorf(jjm.Busy, "%s: %w", strings.Join(argv, " "), err)
	}
	return raws, nil
}

// complaint returns the beginning of a command's error output on one line.
func complaint(stderr []byte) string {
	text := strings.Join(strings.Fields(string(stderr[:min(len(stderr), 600)])), " ")
	if text == "" {
		return "no message"
	}
	return text[:min(len(text), 300)]
}
