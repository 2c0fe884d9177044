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

// live returns the jobs that have not ended, of everybody or at least of the owner: one
// listing of the whole, which costs the server least (OpenPBS 23.06.06: 100 ids 612 ms,
// all of 1000 jobs 101 ms), or by the owner's ids where that was too much. members
// expands arrays. Some may have ended meanwhile; Torque's listing has all that did, for
// keep_completed.
func (a *Adapter) live(ctx context.Context, owner jjm.Owner, members bool) ([]job, dialect, error) {
	d, err := a.speak(ctx)
	if err != nil {
		return nil, d, err
	}
	if d != torque && !a.appetiteNow().whole(a.env.Now()) {
		jobs, err := a.lookByID(ctx, owner, members)
		return jobs, d, err
	}
	look := a.lookWhole
	if d == torque {
		look = a.lookTorque
	}
	raws, err := look(ctx, members)
	if err != nil {
		return nil, d, err
	}
	jobs, err := jobsOf(raws, d)
	return jobs, d, err
}

// jobsOf understands listed jobs: each, or none.
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

// qstatArgs is a qstat of OpenPBS.
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

// lookWhole lists everything that has not ended. If that is too much it is not asked for
// again for a while.
func (a *Adapter) lookWhole(ctx context.Context, members bool) ([]raw, error) {
	argv := qstatArgs(false, members)
	out, err := a.config.Run(ctx, nil, argv...)
	if why := tooMuch(out, err); why != "" {
		return nil, a.refrain(argv, why, out, err)
	}
	if err != nil {
		return nil, adapters.AsBusy(err)
	}
	raws, err := parseListing(out, argv, parseJSON)
	if err == nil {
		a.setAppetite(appetite.wholeWorked)
	}
	return raws, err
}

// refrain notes that a listing of the whole was too much, and returns the error that
// says so.
func (a *Adapter) refrain(argv []string, why string, out run.Output, err error) error {
	now, what := a.env.Now(), strings.Join(argv, " ")
	next := a.setAppetite(func(x appetite) appetite { return x.wholeFailed(now, what+": "+why) })
	a.env.Warn("a listing of all jobs was too much; they are asked for by id for a while", "cluster", a.name,
		"command", what, "why", why, "ids at once", next.chunk, "until", next.until)
	if err == nil {
		err = errors.New(complaint(out.Stderr))
	}
	return jjm.Errorf(jjm.Busy, "%s: %s (%w); jobs are asked for by id until %s, %d at once", what, why, err,
		next.until.UTC().Format(time.RFC3339), next.chunk)
}

func (a *Adapter) appetiteNow() appetite {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.appetite
}

func (a *Adapter) setAppetite(change func(appetite) appetite) appetite {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.appetite = change(a.appetite)
	return a.appetite
}

// lookByID lists what the owner has that has not ended, and what is remembered as alive,
// by id.
func (a *Adapter) lookByID(ctx context.Context, owner jjm.Owner, members bool) ([]job, error) {
	ids, err := a.selectIDs(ctx, owner)
	if err != nil {
		return nil, err
	}
	var ask []string
	for _, id := range ids {
		ask = append(ask, id.String())
	}
	a.mu.Lock()
	for seq, b := range a.pastOf(owner).bulks {
		if !b.over && !slices.Contains(ask, b.id(seq)) {
			ask = append(ask, b.id(seq))
		}
	}
	a.mu.Unlock()
	return a.jobsByID(ctx, ask, members)
}

// byID asks for jobs by their ids, in the history too, and hands over what the server
// has of each chunk of them. Chunks that are too much are made smaller.
func (a *Adapter) byID(ctx context.Context, ids []string, members bool,
	take func(ids []string, has []raw) error) error {
	for len(ids) > 0 {
		some := ids[:min(len(ids), a.appetiteNow().chunk)]
		history := !a.historyOff()
		argv := qstatArgs(history, members, some...)
		out, err := a.config.Run(ctx, nil, argv...)
		if why := tooMuch(out, err); why != "" {
			late := errors.Is(err, context.DeadlineExceeded)
			a.setAppetite(func(x appetite) appetite { return x.chunkFailed(a.env.Now(), len(some), late) })
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
			continue // without it
		}
		a.setAppetite(func(x appetite) appetite { return x.chunkWorked(a.env.Now()) })
		if err := take(some, raws); err != nil {
			return err
		}
		ids = ids[len(some):]
	}
	return nil
}

// unknownID is what qstat says of a job that the server does not have.
var unknownID = regexp.MustCompile(`^qstat: Unknown Job Id +[0-9]+(\[[^\]]*\])?(\.[^ ]*)? *$`)

// exitUnknown is the exit code where the last id is of a job that is not there
// (PBSE_UNKJOBID & 0xFF).
const exitUnknown = 153

// parseByID reads a listing by ids: who is not there is complained of, and nothing else
// may be. history is false where the server says that it keeps none, which it does with
// exit 0.
func parseByID(out run.Output, argv []string) (raws []raw, history bool, err error) {
	if saysNoHistory(out.Stderr) {
		return nil, false, nil
	}
	for line := range bytes.Lines(out.Stderr) {
		if line = bytes.TrimSpace(line); len(line) > 0 && !unknownID.Match(line) {
			return nil, true, clean(out, argv)
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
// ended, or what the arguments say.
func (a *Adapter) selectIDs(ctx context.Context, owner jjm.Owner, args ...string) ([]jobID, error) {
	argv := append([]string{"qselect"}, args...)
	if owner.User != "" {
		argv = append(argv, "-u", owner.User)
	}
	out, err := a.config.Run(ctx, nil, argv...)
	if err != nil {
		return nil, adapters.AsBusy(err)
	}
	if refusesQuestion(out) {
		return nil, jjm.Errorf(jjm.Busy, "%s: exit %d: %w: %s", strings.Join(argv, " "), out.Exit, errQuestion,
			complaint(out.Stderr))
	}
	if saysNoHistory(out.Stderr) {
		a.setHistory(false)
		return nil, nil
	}
	if err := clean(out, argv); err != nil {
		return nil, err
	}
	return parseIDs(out.Stdout, argv)
}

// parseIDs reads what qselect prints: a line an id, each whole.
func parseIDs(text []byte, argv []string) (ids []jobID, err error) {
	for line := range bytes.Lines(text) {
		id, ok := parseID(string(bytes.TrimSpace(line)))
		if !ok || line[len(line)-1] != '\n' {
			return nil, jjm.Errorf(jjm.Busy, "%s: %.60q is no job id", strings.Join(argv, " "), line)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// skew is by how much the clocks of the server and of jjm may differ.
const skew = 5 * time.Minute

// errQuestion is that a server, or its client, does not take a question.
var errQuestion = errors.New("it does not take the question")

// refusesQuestion reports whether a command was refused for what it asks: usage (2), or
// PBSE_NOATTR, PBSE_ATTRRO, PBSE_IVALREQ, PBSE_PERM of the server.
func refusesQuestion(out run.Output) bool {
	return slices.Contains([]int{2, 154, 155, 156, 159}, out.Exit) && out.Signal == 0
}

// endedSince returns the ids of an owner's jobs that ended at a time or later, and
// maybe a little before; the server changes a job at its end for the last time (mtime).
// ok is false where no such question is taken: then ends of jobs that were never seen
// alive are told by Account only.
func (a *Adapter) endedSince(ctx context.Context, owner jjm.Owner, since time.Time) (ids []jobID, ok bool, err error) {
	a.mu.Lock()
	no := a.noWindow
	a.mu.Unlock()
	if no {
		return nil, false, nil
	}
	when := later(since, time.Unix(0, 0).Add(2*skew)).Add(-skew).In(a.zone).Format("200601021504.05")
	ids, err = a.selectIDs(ctx, owner, "-x", "-s", "F", "-tm.ge."+when)
	if errors.Is(err, errQuestion) {
		a.env.Warn("PBS does not tell which jobs ended since a time", "cluster", a.name, "error", err)
		a.mu.Lock()
		a.noWindow = true
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

// lookTorque lists in XML. Torque prints nothing when there are no jobs, which
// only counts if the server says so too; jobs may have come between the two.
func (a *Adapter) lookTorque(ctx context.Context, members bool) ([]raw, error) {
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

// clean wants a command to have ended well and without a complaint. OpenPBS
// prints valid JSON without jobs when it cannot reach the server; only the exit
// code and stderr tell.
func clean(out run.Output, argv []string) error {
	if out.Exit != 0 || len(bytes.TrimSpace(out.Stderr)) > 0 {
		return jjm.Errorf(jjm.Busy, "%s: exit %d: %s", strings.Join(argv, " "), out.Exit, complaint(out.Stderr))
	}
	return nil
}

// parseListing reads the output of a command that lists.
func parseListing(out run.Output, argv []string, parse func([]byte) ([]raw, error)) ([]raw, error) {
	if err := clean(out, argv); err != nil {
		return nil, err
	}
	raws, err := parse(out.Stdout)
	if err != nil {
		return nil, jjm.Errorf(jjm.Busy, "%s: %w", strings.Join(argv, " "), err)
	}
	return raws, nil
}

// complaint is the first of what a command complained of, on one line.
func complaint(stderr []byte) string {
	text := strings.Join(strings.Fields(string(stderr[:min(len(stderr), 600)])), " ")
	if text == "" {
		return "no message"
	}
	return text[:min(len(text), 300)]
}
