package pbs

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// live returns the jobs that have not ended: the jobs of all accounts, or at least the jobs of the owner. Normally live
// makes one listing of all jobs, which costs the server least (OpenPBS 23.06.06: 100 ids take 612 ms, all of 1000 jobs
// 101 ms) and needs one port. If that listing was too large, live looks up the owner's ids. If members is set, the
// listing expands arrays. Some of the returned jobs may just have ended; Torque's listing includes all jobs that ended
// within keep_completed.
func (a *Adapter) live(ctx context.Context, owner jjm.Owner, members bool) ([]job, dialect, error) {
	return a.liveFor(ctx, ordinary, owner, members)
}

// liveFor is live for a command of the purpose why.
func (a *Adapter) liveFor(ctx context.Context, why purpose, owner jjm.Owner, members bool) ([]job, dialect, error) {
	d, err := a.findDialect(ctx)
	if err != nil {
		return nil, d, err
	}
	if d == torque {
		raws, err := a.listTorque(ctx, members)
		if err != nil {
			return nil, d, err
		}
		return jobsOf(raws, d), d, nil
	}
	if !a.mayList(listing{members: members}) {
		jobs, asked, err := a.liveByID(ctx, owner, members)
		if asked || err != nil {
			return jobs, d, err
		}
	}
	raws, err := a.listAll(ctx, why, listing{members: members})
	if err != nil {
		return nil, d, err
	}
	return jobsOf(raws, d), d, nil
}

// jobsOf parses listed jobs. It marks a job with an unreadable id as damaged.
func jobsOf(raws []raw, d dialect) []job {
	jobs := make([]job, 0, len(raws))
	for _, r := range raws {
		j, ok := jobOf(r, d)
		if !ok {
			j = job{raw: r, tag: jjm.Tag(r.name)}
			j.damaged = true
		}
		jobs = append(jobs, j)
	}
	return jobs
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

// listing is a kind of listing of all jobs of the server. Without history it contains only the jobs that have not
// ended; without members it shows each array as one job.
type listing struct{ history, members bool }

// listAll makes a listing. If the listing was too large, the next call repeats it (see listingSize). Callers share
// listings, so no caller may change the result.
func (a *Adapter) listAll(ctx context.Context, why purpose, l listing) ([]raw, error) {
	argv := qstatArgs(l.history, l.members)
	raws, err := a.shareListing(ctx, why, argv, func(ctx context.Context) ([]raw, error) {
		return a.listNow(ctx, argv, l)
	})
	if errors.Is(err, errNoHistory) {
		return a.listAll(ctx, why, listing{members: l.members})
	}
	return raws, err
}

// errNoHistory is the error of a listing with the history if the server keeps no history.
var errNoHistory = errors.New("the server keeps no history")

// listNow lists everything. The caller must have counted the command in the budget before.
func (a *Adapter) listNow(ctx context.Context, argv []string, l listing) ([]raw, error) {
	began := a.env.Now()
	out, err := a.runCounted(ctx, nil, argv)
	if why := tooMuch(out, err); why != "" {
		return nil, adapters.Later(a.noteTooMuch(l, began, argv, why, out, err))
	}
	if err != nil {
		return nil, adapters.AsBusy(err)
	}
	if l.history && saysNoHistory(out.Stderr) {
		a.setHistory(false)
		return nil, jjm.Errorf(jjm.Busy, "%s: %w", strings.Join(argv, " "), errNoHistory)
	}
	raws, err := parseListing(out, argv, parseJSON)
	if err == nil {
		a.updateListing(l, func(listingSize) listingSize { return listingSize{} })
	}
	return raws, err
}

// noteTooMuch records that a listing of all jobs was too large, and returns the error that describes the next step.
func (a *Adapter) noteTooMuch(of listing, began time.Time, argv []string, why string, out run.Output,
	err error) error {
	now, what := a.env.Now(), strings.Join(argv, " ")
	next := a.updateListing(of, func(l listingSize) listingSize { return l.tooLarge(began, now, what+": "+why) })
	if err == nil {
		err = errors.New(complaint(out.Stderr))
	}
	if next.mayTry(now) {
		return jjm.Errorf(jjm.Busy, "%s: %s (%w); it is repeated in the next cycle", what, why, err)
	}
	a.env.Warn("a listing of all jobs was too large; jobs are asked for by id for a while", "cluster", a.name,
		"command", what, "why", why, "until", next.until)
	return jjm.Errorf(jjm.Busy, "%s: %s (%w); jobs are asked for by id until %s", what, why, err,
		next.until.UTC().Format(time.RFC3339))
}

// mayList reports whether a listing may be tried. A listing is at least as large as a listing that it contains, so it
// may only be tried if every listing that it contains may be tried.
func (a *Adapter) mayList(l listing) bool {
	now := a.env.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	for part, size := range a.sizes {
		if (l.history || !part.history) && (l.members || !part.members) && !size.mayTry(now) {
			return false
		}
	}
	return true
}

// listedByID returns the reason if jobs are looked up by id, or "" if jobs come from listings. a.mu must be held.
func (a *Adapter) listedByID() string {
	for _, history := range []bool{false, true} {
		for _, members := range []bool{false, true} {
			if why := a.sizes[listing{history, members}].why; why != "" {
				return why
			}
		}
	}
	return ""
}

// updateListing applies change to the listingSize of a listing and returns the new size.
func (a *Adapter) updateListing(l listing, change func(listingSize) listingSize) listingSize {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sizes[l] = change(a.sizes[l])
	return a.sizes[l]
}

// selectIDs returns the ids of the owner's jobs that qselect finds: jobs that have not ended, or the jobs that args
// select.
func (a *Adapter) selectIDs(ctx context.Context, owner jjm.Owner, args ...string) ([]jobID, error) {
	argv := append([]string{"qselect"}, args...)
	if owner.User != "" {
		argv = append(argv, "-u", owner.User)
	}
	out, err := a.run(ctx, nil, argv...)
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

// maxSkew is the largest expected difference between the clocks of the server and of jjm.
const maxSkew = 5 * time.Minute

// errUnsupported is the error of a query that a server or its client does not support.
var errUnsupported = errors.New("this query is not supported")

// isUnsupported reports whether the server or the client rejected a command because of its query: qselect exited with 2
// (usage), or the server answered PBSE_NOATTR, PBSE_ATTRRO, PBSE_IVALREQ or PBSE_PERM.
func isUnsupported(out run.Output) bool {
	return slices.Contains([]int{2, 154, 155, 156, 159}, out.Exit) && out.Signal == 0
}

// endedSince returns the ids of an owner's jobs that ended at since or later. Because it compares mtime, which a job's
// end changes for the last time, the result may contain jobs that ended a little earlier. ok is false if the query is
// not supported; then only Account reports the ends of jobs that were never seen alive.
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

// listTorque lists jobs in XML. Torque prints nothing if there are no jobs. listTorque accepts an empty output only if
// the server also reports that it has no jobs; jobs may be submitted between the two commands.
func (a *Adapter) listTorque(ctx context.Context, members bool) ([]raw, error) {
	argv := []string{"qstat", "-x"}
	if members {
		argv = append(argv, "-t")
	}
	for range 2 {
		out, err := a.run(ctx, nil, argv...)
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

// hasNone reports whether a Torque server has no jobs at all.
func (a *Adapter) hasNone(ctx context.Context) (bool, error) {
	server, err := a.objects(ctx, "qstat", "-B", "-f")
	if err != nil {
		return false, err
	}
	return server[len(server)-1].attrs["total_jobs"] == "0", nil
}

// checkClean returns an error if a command exited with a code other than 0 or printed a complaint. OpenPBS prints valid
// JSON without jobs if it cannot reach the server; only the exit code and standard error show that.
func checkClean(out run.Output, argv []string) error {
	if out.Exit == 0 && len(bytes.TrimSpace(out.Stderr)) == 0 {
		return nil
	}
	err := jjm.Errorf(jjm.Busy, "%s: exit %d: %s", strings.Join(argv, " "), out.Exit, complaint(out.Stderr))
	if saysNoPorts(out.Stderr) {
		return adapters.Later(err)
	}
	return err
}

// parseListing parses the output of a listing command with parse.
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
