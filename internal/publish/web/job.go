package web

import (
	"context"
	"encoding/json"
	"net/http"

	"jjm/internal/api/plain"
	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/publish/report"
)

const (
	// mostLocals bounds the local jobs on a page, and mostEvidence the examples of failures.
	mostLocals   = 25
	mostEvidence = 3
	// mostEntries bounds the entries of the journal that are read for a page.
	mostEntries = 4000
)

// jobView is the page of a grid job or, if One is set, of one of its local jobs. A listener receives an update when a
// field changes, except the fields of jobDetail.
type jobView struct {
	Ref string
	S   wire.Status
	One bool
	// Shown are the local jobs on the page, the most urgent first. From is the position of the first local job on the
	// page; Next and Prev are the first positions of the neighbouring pages, -1 if there is none.
	Shown            []jjm.LocalJob
	From, Next, Prev int64

	jobDetail `json:"-"`
}

// jobDetail holds the facts that are read only when the page is shown.
type jobDetail struct {
	Counts   []count
	Locals   []localRow
	Why      *wire.Why
	Evidence []example
	// Errors are the last lines that the local job wrote to standard error.
	Errors   []string
	Usage    []report.Resource
	Attempts []wire.Attempt
	Curve    []point
	// Hosts is the table of the hosts without its heading. MoreHosts is a text about the hosts that are left out.
	Hosts     [][]string
	MoreHosts string
	// Cut is set if the page may not show the whole history, because only the last mostEntries entries of the journal were
	// read.
	Cut bool
	// Start and End bound the timeline. Marks are the starts of the daemon and the outages on it.
	Start, End jjm.Time
	Marks      []siteMark
}

// localRow is one local job in a table.
type localRow struct {
	jjm.LocalJob
	Word string
	Bars []bar
	Text string // the timeline in words
}

// example is a local job that failed, with the evidence about its last attempt, and the last lines that the local job
// wrote to standard error.
type example struct {
	Local, Text string
	Errors      []string
}

// job returns the view of a grid job, with up to mostLocals of its local jobs, or of one local job.
func (p *Page) job(ctx context.Context, v viewer, r *http.Request) (any, error) {
	if !v.known {
		return nil, jjm.Errorf(jjm.Denied, "jobs are shown only to their owners and to administrators: sign in at the proxy "+
			"of this site, or send a token")
	}
	ref, err := jjm.ParseRef(r.PathValue("id"))
	if err != nil || ref.Locals && !ref.One() {
		return nil, jjm.Errorf(jjm.Gone, "%.40q is no id of a job: want an id such as 17 or 17.3", r.PathValue("id"))
	}
	if ref.Locals {
		if err := checkQuery(r.URL.RawQuery, nil); err != nil {
			return nil, err
		}
	}
	from, err := number(r, "from")
	if err != nil {
		return nil, err
	}
	out := &jobView{Ref: ref.String(), One: ref.Locals, From: from - from%mostLocals, Next: -1, Prev: -1}
	out.S, err = p.status(ctx, v, out.Ref, &wire.Urgent{From: int(out.From), Limit: mostLocals})
	out.Shown, out.S.Locals = out.S.Locals, nil
	if total := int64(out.S.Lookup.Counts.Total); err != nil || out.One || out.From >= total {
		return out, err
	}
	if out.From > 0 {
		out.Prev = out.From - mostLocals
	}
	if out.From+mostLocals < int64(out.S.Lookup.Counts.Total) {
		out.Next = out.From + mostLocals
	}
	return out, nil
}

// settledJob returns the row of a grid job in the list of grid jobs if the grid job is over, else "". The local jobs of
// a grid job that is over cannot change before the grid job is reopened or removed, which its row shows. The daemon
// reads one row, and no local jobs.
func (p *Page) settledJob(ctx context.Context, v viewer, r *http.Request) (string, error) {
	ref, err := jjm.ParseRef(r.PathValue("id"))
	if err != nil {
		return "", nil // the view returns the mistake
	}
	a, err := serve.Ask(ctx, p.d.Verbs, wire.VerbList(), v.Caller,
		wire.ListRequest{List: &wire.List{All: true, Before: int64(ref.Grid) + 1, Limit: 1}})
	if err != nil || len(a.Status) != 1 || a.Status[0].Lookup.ID != ref.Grid || !a.Status[0].Over() {
		return "", err
	}
	row, err := json.Marshal(a.Status[0])
	return string(row), err
}

// status returns the status of a job. If it is a grid job, the status has the part urgent of its local jobs. If the
// reader may not see the job, the error is of kind Gone, which does not reveal that the job exists.
func (p *Page) status(ctx context.Context, v viewer, ref string, urgent *wire.Urgent) (wire.Status, error) {
	return p.askStatus(ctx, v, wire.StatusRequest{Many: wire.Refs(ref), Urgent: urgent})
}

// askStatus returns the answer to a request about one job. Its errors are those of status.
func (p *Page) askStatus(ctx context.Context, v viewer, r wire.StatusRequest) (wire.Status, error) {
	a, err := serve.Ask(ctx, p.d.Verbs, wire.VerbStatus(), v.Caller, r)
	if err != nil {
		return wire.Status{}, err
	}
	if len(a.Status) != 1 {
		return wire.Status{}, jjm.Errorf(jjm.Internal, "status %s: %d answers", r.Refs[0], len(a.Status))
	}
	s := a.Status[0]
	s.ExpectedEnd = nil // the expected end changes all the time
	switch err := s.Lookup.Error.Err(); jjm.KindOf(err) {
	case jjm.Denied, jjm.Gone:
		return s, jjm.Errorf(jjm.Gone, "there is no job %s, or it belongs to another account", r.Refs[0])
	default:
		return s, err
	}
}

// fillJob adds to the view the causes, the evidence about failures, the resources, the timeline and the plot.
func (p *Page) fillJob(ctx context.Context, v viewer, state any) error {
	out := state.(*jobView)
	out.Counts = countsOf(out.S.Lookup.Counts)
	why, err := serve.Ask(ctx, p.d.Verbs, wire.VerbWhy(), v.Caller, wire.WhyRequest{Many: wire.Refs(out.Ref)})
	if err != nil {
		return err
	}
	if len(why.Why) == 1 && why.Why[0].Error == nil {
		out.Why = &why.Why[0]
	}
	history, err := serve.Ask(ctx, p.d.Verbs, wire.VerbHistory(), v.Caller,
		wire.HistoryRequest{Many: wire.Refs(out.Ref), Limit: mostEntries})
	if err != nil {
		return err
	}
	out.Attempts = history.Attempts
	out.Cut = len(history.History) == mostEntries
	now := jjm.At(p.d.Now())
	if !out.One {
		if err := p.hosts(ctx, v, out); err != nil {
			return err
		}
		out.Curve = curve(history.History, out.S.Lookup.Counts.Completed, now, out.S.Ended)
		if len(out.Shown) > 0 {
			if history, err = serve.Ask(ctx, p.d.Verbs, wire.VerbHistory(), v.Caller, wire.HistoryRequest{
				Many: wire.Refs(idsOf(out.Shown)...), Limit: mostEntries}); err != nil {
				return err
			}
		}
		if err := p.examples(ctx, v, out); err != nil {
			return err
		}
	}
	p.addErrors(ctx, v, out)
	out.Usage = report.Resources(&out.S, out.One)
	out.draw(history.History, now)
	site, err := serve.Ask(ctx, p.d.Verbs, wire.VerbHistory(), v.Caller,
		wire.HistoryRequest{Orders: true, Limit: mostEntries})
	out.mark(site.History)
	return err
}

// hosts adds the table of the hosts. The table is empty if the daemon no longer has the local jobs in memory.
func (p *Page) hosts(ctx context.Context, v viewer, out *jobView) error {
	s, err := p.askStatus(ctx, v, wire.StatusRequest{Many: wire.Refs(out.Ref), Hosts: true})
	if err == nil {
		out.Hosts, out.MoreHosts = report.HostRows(s.Hosts)[1:], report.OtherHosts(s.MoreHosts)
	}
	return err
}

// hostHeads returns the headings of the table of the hosts, one for each cell of report.HostRows.
func hostHeads() []string {
	return []string{"Host", "Running", "Ended", "Failed", "Share", "Mean wall", "Mean CPU", "Compared"}
}

// idsOf returns the ids of local jobs.
func idsOf(locals []jjm.LocalJob) (ids []string) {
	for i := range locals {
		ids = append(ids, locals[i].ID.String())
	}
	return ids
}

// draw makes the rows of the table of local jobs, each with its timeline. entries are the entries of the journal about
// these local jobs.
func (j *jobView) draw(entries []jjm.JournalEntry, now jjm.Time) {
	spans := map[int32][]report.Span{}
	for i := range j.Shown {
		n := j.Shown[i].ID.N
		spans[n] = report.Started(report.Spans(entries, n, now, mostSpans), j.Shown[i].Started)
		for _, s := range spans[n] {
			if j.Start == 0 || s.From < j.Start {
				j.Start = s.From
			}
			j.End = max(j.End, s.To)
		}
	}
	for _, l := range j.Shown {
		row := localRow{LocalJob: l, Word: jjm.StateWord(l.State, l.Phase)}
		row.Bars, row.Text = bars(spans[l.ID.N], j.Start, j.End)
		j.Locals = append(j.Locals, row)
	}
}

// mark adds the marks to the timeline. entries are the entries of the journal that belong to no grid job.
func (j *jobView) mark(entries []jjm.JournalEntry) {
	if j.Start == 0 {
		return
	}
	for _, m := range plain.SiteMarks(jjm.During(entries, j.Shown, j.Start, j.End)) {
		j.Marks = append(j.Marks, siteMark{m, place(m.At, j.Start, j.End)})
	}
}

// examples adds the evidence about failures: for each of the first mostEvidence causes, the evidence about the first
// local job with this cause.
func (p *Page) examples(ctx context.Context, v viewer, out *jobView) error {
	for _, c := range out.S.Causes[:min(len(out.S.Causes), mostEvidence)] {
		s, err := p.status(ctx, v, c.First, nil)
		switch {
		case jjm.KindOf(err) == jjm.Gone: // the job was removed, or runs again under another number
		case err != nil:
			return err
		case s.Detail != nil && s.Detail.Evidence != nil:
			out.Evidence = append(out.Evidence, example{Local: c.First, Text: s.Detail.Evidence.Text()})
		}
	}
	return nil
}
