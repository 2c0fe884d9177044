package web

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"jjm/internal/api/plain"
	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// mostSorted bounds the grid jobs that are sorted by another column than their ids: the newest are sorted.
const mostSorted = 500

// jobRow is one grid job in a table.
type jobRow struct {
	ID                        jjm.GridID
	Name, Type, Owner, Status string
	Counts                    wire.Counts
	Accepted, Ended           jjm.Time
	Message                   string
	// Expected is the rough end of a running grid job, for people. It changes all the time, so no listener is told.
	Expected string `json:"-"`
}

// gridList is a page of the list of grid jobs. Newer and Older are the addresses of the neighbouring pages, "" if there
// is none. Cut is set if only the newest mostSorted grid jobs were sorted.
type gridList struct {
	Query        gridQuery
	Rows         []jobRow
	Heads        []head
	Newer, Older string
	Cut          bool
}

// head is the heading of a column. Href sorts by the column, "" if the column cannot be sorted by. Order is the value
// of aria-sort, "" if the list is not sorted by the column.
type head struct{ Text, Href, Order string }

// gridQuery is the query of an address of the list of grid jobs: the filters, the column to sort by, and the place of
// the page in the list. The place is Before if the newest grid jobs come first, and From if they do not.
type gridQuery struct {
	State, Owner, Type string
	Sort               string // the name of a column, with "-" in front if the largest value comes first
	Before, From       int64
}

// newest is the order of the list if the query has none.
const newest = "-id"

// column is a column of the list of grid jobs. sort is its name in queries, "" if the list cannot be sorted by it.
// first is the order after the first click on its heading.
type column struct {
	text, sort, first string
	compare           func(a, b *jobRow) int
}

// columns returns the columns of the list of grid jobs, in the order of the table.
func columns() []column {
	return []column{
		{"Id", "id", newest, func(a, b *jobRow) int { return cmp.Compare(a.ID, b.ID) }},
		{text: "Name"},
		{text: "Type"},
		{"Owner", "owner", "owner", func(a, b *jobRow) int { return cmp.Compare(a.Owner, b.Owner) }},
		{"State", "state", "state", func(a, b *jobRow) int { return cmp.Compare(a.Status, b.Status) }},
		{text: "Progress"},
		{text: "Local jobs"},
		{"Failed", "failed", "-failed", func(a, b *jobRow) int { return cmp.Compare(a.Counts.Failed, b.Counts.Failed) }},
		{"Submitted", "submitted", "-submitted", func(a, b *jobRow) int { return cmp.Compare(a.Accepted, b.Accepted) }},
		{"End", "end", "-end", compareEnds},
	}
}

// compareEnds compares the ends of grid jobs. A grid job that has not ended is after all others.
func compareEnds(a, b *jobRow) int {
	if a.Ended == 0 || b.Ended == 0 {
		return cmp.Compare(b.Ended, a.Ended)
	}
	return cmp.Compare(a.Ended, b.Ended)
}

// gridParams returns the names of the parameters of the list of grid jobs.
func gridParams() []string { return []string{"state", "owner", "type", "sort", "before", "from"} }

// gridQueryOf returns the query of a request. The error is of kind Invalid, and names the value.
func gridQueryOf(r *http.Request) (q gridQuery, err error) {
	values := r.URL.Query()
	q = gridQuery{State: values.Get("state"), Owner: values.Get("owner"), Type: values.Get("type"),
		Sort: cmp.Or(values.Get("sort"), newest)}
	if q.Before, err = number(r, "before"); err != nil {
		return q, err
	}
	if q.From, err = number(r, "from"); err != nil {
		return q, err
	}
	if _, err = jjm.GridStatuses(q.State); err != nil {
		return q, jjm.Errorf(jjm.Invalid, "state=%.40q: %w", q.State, err)
	}
	if q.column().compare == nil {
		return q, jjm.Errorf(jjm.Invalid, "sort=%.40q: want %s; with - in front, the largest comes first", q.Sort,
			strings.Join(sortNames(), ", "))
	}
	return q, nil
}

// sortNames returns the names of the columns that the list can be sorted by.
func sortNames() (out []string) {
	for _, c := range columns() {
		if c.sort != "" {
			out = append(out, c.sort)
		}
	}
	return out
}

// column returns the column that the list is sorted by. Its compare is nil if there is no such column.
func (q gridQuery) column() column {
	for _, c := range columns() {
		if c.sort != "" && c.sort == strings.TrimPrefix(q.Sort, "-") {
			return c
		}
	}
	return column{}
}

// Filtered reports whether the query has a filter.
func (q gridQuery) Filtered() bool { return q.State+q.Owner+q.Type != "" }

// href returns the address of the list with this query.
func (q gridQuery) href() string {
	values := url.Values{}
	add := func(name, value, without string) {
		if value != without {
			values.Set(name, value)
		}
	}
	add("state", q.State, "")
	add("owner", q.Owner, "")
	add("type", q.Type, "")
	add("sort", q.Sort, newest)
	add("before", strconv.FormatInt(q.Before, 10), "0")
	add("from", strconv.FormatInt(q.From, 10), "0")
	if len(values) == 0 {
		return "/"
	}
	return "/?" + values.Encode()
}

// First returns the address of the first page of the list.
func (q gridQuery) First() string {
	q.Before, q.From = 0, 0
	return q.href()
}

// heads returns the headings of the list. The heading of the column that the list is sorted by turns the order round.
func (q gridQuery) heads() (out []head) {
	by := q.column().sort
	for _, c := range columns() {
		h, to := head{Text: c.text}, q
		if to.Before, to.From, to.Sort = 0, 0, c.first; c.sort == by {
			h.Order, to.Sort = "ascending", "-"+c.sort
			if strings.HasPrefix(q.Sort, "-") {
				h.Order, to.Sort = "descending", c.sort
			}
		}
		if c.sort == "" {
			h.Order = ""
		} else {
			h.Href = to.href()
		}
		out = append(out, h)
	}
	return out
}

// grids returns a page of the list of the grid jobs that the reader may see.
func (p *Page) grids(ctx context.Context, v viewer, q gridQuery) (gridList, error) {
	out := gridList{Query: q, Heads: q.heads()}
	list := &wire.List{All: true, Status: q.State, Owner: q.Owner, Type: q.Type, Limit: mostRows + 1, Before: q.Before}
	if q.Sort != newest {
		list.Limit, list.Before = mostSorted+1, 0
	}
	a, err := serve.Ask(ctx, p.d.Verbs, wire.VerbList(), v.Caller, wire.ListRequest{List: list})
	if err != nil {
		return out, err
	}
	var all []jobRow
	for i := range a.Status {
		s := &a.Status[i]
		if s.Owner != q.Owner && q.Owner != "" {
			continue // the daemon lists the own grid jobs of an account, whatever owner it asks for
		}
		all = append(all, jobRow{ID: s.Lookup.ID, Name: s.Name, Type: s.Type, Owner: s.Owner, Status: s.Lookup.Status,
			Counts: s.Lookup.Counts, Accepted: s.Accepted, Ended: s.Ended, Message: s.Lookup.Message})
	}
	if q.Sort == newest {
		out.newestFirst(all)
	} else {
		out.sorted(all)
	}
	return out, nil
}

// newestFirst shows rows that are in the order of the daemon. The page after it begins below the last id.
func (l *gridList) newestFirst(all []jobRow) {
	l.Rows = all[:min(len(all), mostRows)]
	if l.Query.Before > 0 {
		l.Newer = l.Query.First()
	}
	if len(all) > mostRows {
		to := l.Query
		to.Before, to.From = int64(l.Rows[mostRows-1].ID), 0
		l.Older = to.href()
	}
}

// sorted shows the page of the sorted rows that begins at From. Rows with the same value are newest first.
func (l *gridList) sorted(all []jobRow) {
	l.Cut = len(all) > mostSorted
	all = all[:min(len(all), mostSorted)]
	compare, down := l.Query.column().compare, strings.HasPrefix(l.Query.Sort, "-")
	slices.SortStableFunc(all, func(a, b jobRow) int {
		if down {
			return compare(&b, &a)
		}
		return compare(&a, &b)
	})
	from := int(min(l.Query.From, int64(len(all))))
	l.Rows = all[from:min(len(all), from+mostRows)]
	if from > 0 {
		l.Newer = l.Query.First()
	}
	if from+mostRows < len(all) {
		to := l.Query
		to.Before, to.From = 0, int64(from+mostRows)
		l.Older = to.href()
	}
}

// fillFarm adds the expected ends of the running grid jobs on the page.
func (p *Page) fillFarm(ctx context.Context, v viewer, state any) error {
	rows := state.(*farm).Jobs.Rows
	var refs []string
	for i := range rows {
		if rows[i].Status == jjm.GridRunning.String() {
			refs = append(refs, rows[i].ID.String())
		}
	}
	if len(refs) == 0 {
		return nil
	}
	a, err := serve.Ask(ctx, p.d.Verbs, wire.VerbStatus(), v.Caller, wire.StatusRequest{Many: wire.Refs(refs...)})
	if err != nil {
		return err
	}
	ends := map[jjm.GridID]*wire.ExpectedEnd{}
	for i := range a.Status {
		ends[a.Status[i].Lookup.ID] = a.Status[i].ExpectedEnd
	}
	now := p.d.Now()
	for i := range rows {
		rows[i].Expected = plain.RoughEnd(ends[rows[i].ID], now)
	}
	return nil
}
