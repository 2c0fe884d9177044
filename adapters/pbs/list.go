package pbs

import (
	"bytes"
	"context"
	"strings"
	"time"

	"jjm"
	"jjm/adapters"
	"jjm/run"
)

// look runs the one listing that there is: everything, since asking for ids
// costs the server several times more than asking for all (OpenPBS 23.06.06:
// 100 ids 612 ms, all of 1000 jobs 101 ms). members expands arrays.
func (a *Adapter) look(ctx context.Context, members bool) ([]job, dialect, error) {
	d, err := a.speak(ctx)
	if err != nil {
		return nil, d, err
	}
	var raws []raw
	if d == torque {
		raws, err = a.lookTorque(ctx, members)
	} else {
		raws, err = a.lookOpenPBS(ctx, members)
	}
	if err != nil {
		return nil, d, err
	}
	jobs := make([]job, 0, len(raws))
	for _, r := range raws {
		j, ok := jobOf(r, d)
		if !ok {
			return nil, d, jjm.Errorf(jjm.Busy, "qstat: job id %.40q cannot be read", r.id)
		}
		jobs = append(jobs, j)
	}
	return jobs, d, nil
}

// lookOpenPBS lists with the history, and without if there is none: PBS says
// so with exit 0.
func (a *Adapter) lookOpenPBS(ctx context.Context, members bool) ([]raw, error) {
	argv := []string{"qstat", "-x", "-f", "-F", "json"}
	if members {
		argv = append(argv, "-t")
	}
	a.mu.Lock()
	off := a.noHistory
	a.mu.Unlock()
	if !off {
		out, err := a.config.Run(ctx, nil, argv...)
		if err != nil {
			return nil, adapters.AsBusy(err)
		}
		if !saysNoHistory(out.Stderr) {
			return parseListing(out, argv, parseJSON)
		}
		a.mu.Lock()
		a.noHistory = true
		a.mu.Unlock()
	}
	argv = append(argv[:1], argv[2:]...)
	out, err := a.config.Run(ctx, nil, argv...)
	if err != nil {
		return nil, adapters.AsBusy(err)
	}
	return parseListing(out, argv, parseJSON)
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

// mine keeps the jobs that carry a tag and belong to an owner. A job that could
// not be read, and may be among them, is an error.
func mine(jobs []job, owner jjm.Owner) ([]job, error) {
	var out []job
	for _, j := range jobs {
		ours := owner.User == "" || j.owner == "" || accountOf(j.owner) == owner.User
		switch {
		case !ours:
		case j.damaged || j.name == "" || j.state == "":
			return nil, jjm.Errorf(jjm.Busy, "qstat: the listing of job %s cannot be read", j.id)
		case j.tag.Valid():
			out = append(out, j)
		}
	}
	return out, nil
}

// reports returns the reports of tagged jobs, each once.
func (a *Adapter) reports(ctx context.Context, owner jjm.Owner) ([]job, []jjm.Report, error) {
	all, d, err := a.look(ctx, true)
	if err != nil {
		return nil, nil, err
	}
	jobs, err := mine(all, owner)
	if err != nil {
		return nil, nil, err
	}
	var kept []job
	var out []jjm.Report
	seen := make(map[jobID]bool, len(jobs))
	for _, j := range jobs {
		if !j.isTask() {
			continue
		}
		if seen[j.jobID] {
			return nil, nil, jjm.Errorf(jjm.Busy, "qstat: job %s is listed twice", j.id)
		}
		seen[j.jobID] = true
		kept, out = append(kept, j), append(out, j.report(d, a.zone))
	}
	return kept, out, nil
}

// List returns every tagged job of the owner that is alive or ended after since.
func (a *Adapter) List(ctx context.Context, owner jjm.Owner, since time.Time) (adapters.Listing, error) {
	now := a.env.Now()
	jobs, reports, err := a.reports(ctx, owner)
	if err != nil {
		return adapters.Listing{}, a.wrap("list", err)
	}
	l := adapters.Listing{At: now}
	for i, r := range reports {
		if !r.State.Ended() || r.Ended == 0 || !a.lastSeen(jobs[i], r).Before(since) {
			l.Reports = append(l.Reports, r)
		}
	}
	return l, nil
}

// lastSeen is when a job ended, or went into the history if that was later:
// the exit status may have been missing before.
func (a *Adapter) lastSeen(j job, r jjm.Report) time.Time {
	end := r.Ended.Time()
	if t := stamp(j.history, a.zone); t.After(end) {
		return t
	}
	return end
}

// Find looks for tags in a listing, which is a whole one or an error; the
// answer of qselect cannot be told from none.
func (a *Adapter) Find(ctx context.Context, owner jjm.Owner, tags []jjm.Tag) ([]adapters.Found, error) {
	all, _, err := a.look(ctx, false)
	if err != nil {
		return nil, a.wrap("find", err)
	}
	jobs, err := mine(all, owner)
	if err != nil {
		return nil, a.wrap("find", err)
	}
	ids := map[jjm.Tag][]string{}
	for _, j := range jobs {
		ids[j.tag] = appendNew(ids[j.tag], j.seq)
	}
	out := make([]adapters.Found, len(tags))
	for i, tag := range tags {
		out[i] = adapters.Found{Tag: tag, Presence: adapters.Absent, IDs: ids[tag]}
		if len(ids[tag]) > 0 {
			out[i].Presence = adapters.Present
		}
	}
	return out, nil
}

func appendNew(list []string, s string) []string {
	for _, old := range list {
		if old == s {
			return list
		}
	}
	return append(list, s)
}

// Account returns the final facts of jobs that ended, as far as the history goes.
func (a *Adapter) Account(ctx context.Context, owner jjm.Owner, jobs []adapters.Ref) ([]jjm.Report, error) {
	_, reports, err := a.reports(ctx, owner)
	if err != nil {
		return nil, a.wrap("account", err)
	}
	type key struct {
		tag   jjm.Tag
		seq   string
		index int32
	}
	known := make(map[key]jjm.Report, len(reports))
	for _, r := range reports {
		id, _ := parseID(r.ID)
		known[key{r.Tag, id.seq, r.Index}] = r
	}
	var out []jjm.Report
	for _, ref := range jobs {
		id, ok := refID(ref)
		if !ok {
			continue
		}
		if r, ok := known[key{ref.Tag, id.seq, max(id.index, 0)}]; ok && r.State.Ended() {
			out = append(out, r)
		}
	}
	return out, nil
}

// refID is the id that a reference means: its own, or the member with its index
// of the bulk that it names. The index of a plain job is 0.
func refID(ref adapters.Ref) (jobID, bool) {
	id, ok := parseID(ref.ID)
	if ok && ref.Index >= 0 {
		id = jobID{seq: id.seq, index: ref.Index}
	}
	return id, ok
}

// wrap says which cluster and which verb an error is of.
func (a *Adapter) wrap(verb string, err error) error {
	kind := jjm.KindOf(err)
	if kind == jjm.Unclassified {
		kind = jjm.Busy
	}
	return jjm.Errorf(kind, "cluster %s: %s: %w", a.name, verb, err)
}
