package web

import (
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// rowsOf returns the ids of the grid jobs in a page, in their order.
func rowsOf(text string) (out []string) {
	for _, m := range regexp.MustCompile(`<th scope="row"><a href="/jobs/(\d+)">`).FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// day returns a site with four grid jobs of two owners.
func day() *fake {
	f := newFake()
	job := func(id jjm.GridID, owner, kind, status string, failed int, accepted, ended jjm.Time) wire.Status {
		return wire.Status{Owner: owner, Type: kind, Accepted: accepted, Ended: ended,
			Lookup: wire.Lookup{ID: id, Status: status, Counts: wire.Counts{Total: 50, Failed: failed}}}
	}
	f.jobs = []wire.Status{job(4, "bob", "script", "running", 2, 4000, 0), job(3, "ann", "mcg", "failed", 9, 3000, 9000),
		job(2, "ann", "script", "done", 0, 2000, 8000), job(1, "bob", "mcg", "done", 0, 1000, 8500)}
	f.jobs[0].ExpectedEnd = &wire.ExpectedEnd{At: 3_600_000, Ended: 10, Within: jjm.Duration(time.Hour)}
	return f
}

func TestGrids_SortAndFilter(t *testing.T) {
	p := day().page(Config{Tokens: tokenFile(t)}, -1)
	for path, want := range map[string]string{
		"/": "4 3 2 1", "/?sort=id": "1 2 3 4", "/?sort=-failed": "3 4 2 1", "/?sort=failed": "2 1 4 3",
		"/?sort=state": "2 1 3 4", "/?sort=owner": "3 2 4 1", "/?sort=-submitted": "4 3 2 1", "/?sort=-end": "4 3 1 2",
		"/?sort=end": "2 1 3 4", "/?state=done": "2 1", "/?state=done,failed": "3 2 1", "/?owner=ann": "3 2",
		"/?type=mcg&sort=id": "1 3", "/?owner=ann&type=mcg&state=failed": "3", "/?owner=nobody": "",
		"/?from=2&sort=id": "3 4",
	} {
		r, text := answer(t, p, "root", path)
		if got := strings.Join(rowsOf(text), " "); r.StatusCode != 200 || got != want {
			t.Errorf("%s: %d, grid jobs %q, want %q", path, r.StatusCode, got, want)
		}
	}
	if _, text := answer(t, p, "ann", "/?owner=bob"); len(rowsOf(text)) > 0 ||
		!strings.Contains(text, "No grid job that you may see matches the filter.") {
		t.Errorf("ann asks for the grid jobs of bob:\n%s", text)
	}
}

// The heading of each sortable column is a link that keeps the filter. The heading of the sorted column turns the order
// round.
func TestGrids_HeadsAreLinks(t *testing.T) {
	p := day().page(Config{Tokens: tokenFile(t)}, -1)
	_, text := answer(t, p, "root", "/?sort=-failed&state=done,failed")
	text = html.UnescapeString(text)
	for _, want := range []string{
		`<th scope="col" aria-sort="descending"><a href="/?sort=failed&state=done%2Cfailed">Failed</a>`,
		`<th scope="col"><a href="/?state=done%2Cfailed">Id</a>`,
		`<th scope="col"><a href="/?sort=-end&state=done%2Cfailed">End</a>`,
		`name="state" size="24" maxlength="200" value="done,failed"`, `name="sort" value="-failed"`,
		`<a href="/">All grid jobs</a>`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// A running grid job shows its expected end in the words of "jjm status".
func TestGrids_ExpectedEnds(t *testing.T) {
	f := day()
	p := f.page(Config{Tokens: tokenFile(t)}, -1)
	_, text := answer(t, p, "root", "/")
	want := plain.RoughEnd(f.jobs[0].ExpectedEnd, p.d.Now())
	if want == "" || strings.Count(text, ">"+want+"</td>") != 1 {
		t.Errorf("not once %q in\n%s", want, text)
	}
}

func TestGrids_BadQueriesGetAMessage(t *testing.T) {
	p := day().page(Config{Tokens: tokenFile(t)}, -1)
	for path, want := range map[string]string{
		"/?sort=size":            `sort="size": want id, owner, state, failed, submitted, end`,
		"/?sort=-":               `sort="-": want id`,
		"/?state=odd":            `state="odd": `,
		"/?from=x":               `from="x": want a number of 0 or more`,
		"/?before=-1":            `before="-1": want a number of 0 or more`,
		"/?sort=%3Cb>":           `sort="<b>": want id`,
		"/?stat=done":            `no parameter "stat": did you mean state? it takes state, owner, type, sort, before, from`,
		"/?x%3Cb>=1":             `no parameter "x<b>"; it takes state, owner`,
		"/?sort=id&sort=owner":   "sort has 2 values: want one",
		"/?state=%zz":            `invalid URL escape "%zz"; it takes state`,
		"/?state=done;owner=ann": "invalid semicolon separator in query; it takes state",
		"/jobs/4?form=25":        `no parameter "form": did you mean from? it takes from`,
		"/jobs/4?from=-1":        `from="-1": want a number of 0 or more`,
		"/jobs/4?from=1e3":       `from="1e3": want a number of 0 or more`,
		"/jobs/4.1?from=25":      `no parameter "from"; it takes no parameters`,
		"/clusters/farm?from=1":  `no parameter "from"; it takes no parameters`,
	} {
		r, text := answer(t, p, "root", path)
		if live, _ := answer(t, p, "root", "/live"+path); live.StatusCode != 400 {
			t.Errorf("/live%s: %d, want 400", path, live.StatusCode)
		}
		if text = html.UnescapeString(text); r.StatusCode != 400 || !strings.Contains(text, want) {
			t.Errorf("%s: %d, want %q in\n%s", path, r.StatusCode, want, text)
		}
	}
	if r, text := answer(t, p, "root", "/?type="+strings.Repeat("x", 999)); r.StatusCode >= 500 {
		t.Errorf("a long type: %d\n%s", r.StatusCode, text)
	}
	if r, text := answer(t, p, "root", "/?from=4611686018427387903&sort=id"); r.StatusCode != 200 {
		t.Errorf("a page behind the end: %d\n%s", r.StatusCode, text)
	}
}

// A sorted list has pages, and says that only the newest grid jobs were sorted.
func TestGrids_SortedListsArePaged(t *testing.T) {
	f := newFake()
	f.jobs = nil
	for id := range 600 {
		f.jobs = append(f.jobs, wire.Status{Owner: "ann", Lookup: wire.Lookup{ID: jjm.GridID(600 - id), Status: "done"}})
	}
	p := f.page(Config{Tokens: tokenFile(t)}, -1)
	path, next := "/?sort=id", regexp.MustCompile(`href="([^"]*)">Next`)
	var seen []string
	for range mostSorted / mostRows {
		_, text := answer(t, p, "ann", path)
		if !strings.Contains(text, fmt.Sprintf("the newest %d, sorted", mostSorted)) {
			t.Fatalf("%s does not say that the list is cut:\n%s", path, text)
		}
		seen = append(seen, rowsOf(text)...)
		m := next.FindStringSubmatch(text)
		if m == nil {
			break
		}
		path = html.UnescapeString(m[1])
	}
	if len(seen) != mostSorted || seen[0] != "101" || seen[mostSorted-1] != "600" ||
		len(slices.Compact(slices.Sorted(slices.Values(seen)))) != mostSorted {
		t.Errorf("%d grid jobs: %v", len(seen), seen)
	}
}

// The page of a local job has the times of its attempt, and none of its grid job.
func TestJob_ALocalJobHasItsOwnTimes(t *testing.T) {
	f := newFake()
	const accepted, ended = 86_400_000, 4 * 86_400_000
	f.jobs[1].Accepted, f.jobs[1].Ended = accepted, ended
	f.locals[3].Submitted, f.locals[3].Started, f.locals[3].Ended = 100_000_000, 110_000_000, 120_000_000
	_, text := answer(t, f.page(Config{Tokens: tokenFile(t)}, -1), "ann", "/jobs/17.3")
	text, _, _ = strings.Cut(text, "</section>")
	for name, at := range map[string]jjm.Time{"Submitted": 100_000_000, "Started": 110_000_000, "Ended": 120_000_000} {
		if want := fmt.Sprintf("<dt>%s</dt><dd><time datetime=%q>", name, at.Time().Format(time.RFC3339)); !strings.Contains(
			html.UnescapeString(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, at := range []jjm.Time{accepted, ended} {
		if bad := at.Local(); strings.Contains(text, bad) {
			t.Errorf("a time of the grid job, %s, in\n%s", bad, text)
		}
	}
}
