package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/publish/report"
)

// views are the addresses of all kinds of pages, each with the HTTP status that account ann gets.
var views = map[string]int{"/": 200, "/?before=18": 200, "/clusters/farm": 200, "/clusters/ill": 200, "/jobs/17": 200,
	"/jobs/17?from=25": 200, "/jobs/17.3": 200, "/jobs/18": 404, "/jobs/17.*": 404, "/jobs/x": 404, "/clusters/none": 404,
	"/none": 404, "/?before=x": 400, "/?sort=-failed&state=running": 200, "/?sort=x": 400,
	"/?state=sunny": 400, "/?from=-3": 400, "/jobs/17?from=-1": 400, "/assets/page.css": 200, "/assets/page.js": 200,
	"/assets/uPlot.LICENSE": 200, "/assets/none": 404, "/assets/..%2fpage.go": 404}

// Every answer forbids inline code and frames of other sites, and names its content type.
func TestPage_EveryAnswerHasTheHeadersAndNoInlineCode(t *testing.T) {
	p := newFake().page(Config{Tokens: tokenFile(t)}, -1)
	inline := regexp.MustCompile(`(?i)<script>|<script[^>]*>[^<]|<style| style=|\son[a-z]+="|javascript:`)
	for path, code := range views {
		r, text := answer(t, p, "ann", path)
		if r.StatusCode != code {
			t.Errorf("%s: %d, want %d\n%s", path, r.StatusCode, code, text)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; " +
				"img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: %s: %q, want %q", path, name, got, want)
			}
		}
		if r.Header.Get("Content-Type") == "" || r.Header.Get("Cache-Control") == "" {
			t.Errorf("%s: %v", path, r.Header)
		}
		if strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
			if found := inline.FindString(text); found != "" {
				t.Errorf("%s has inline code: %q", path, found)
			}
		}
	}
}

// Markup and control characters in texts of users, batch systems and applications have no effect. They are shown as
// text or as escapes.
func TestPage_HostileTextsAreInert(t *testing.T) {
	p := newFake().page(Config{Tokens: tokenFile(t)}, -1)
	const want = `&lt;script&gt;alert(1)&lt;/script&gt;&#34;&#39;&gt;&lt;img src=x onerror=alert(2)&gt;\u202egnp.exe\x1b[2J{{.}}`
	for path, atLeast := range map[string]int{"/": 3, "/clusters/ill": 2, "/jobs/17": 30, "/jobs/17.1": 5} {
		_, text := answer(t, p, "ann", path)
		if n := strings.Count(text, want); n < atLeast {
			t.Errorf("%s: the text is there %d times, want at least %d\n%s", path, n, atLeast, text)
		}
		for _, bad := range []string{"<script>alert", "<img", "\u202e", "\x1b"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %q", path, bad)
			}
		}
	}
	r, text := answer(t, p, "ann", "/clusters/%3Cscript%3Ealert(1)%3C%2Fscript%3E")
	if r.StatusCode != 404 || strings.Contains(text, "<script>alert") {
		t.Errorf("an address with markup: %d\n%s", r.StatusCode, text)
	}
}

// Each page has landmarks, a heading, a way past the navigation, and tables whose cells have headings.
func TestPage_CanBeReadAloudAndUsedByKeyboard(t *testing.T) {
	p := newFake().page(Config{Tokens: tokenFile(t)}, -1)
	for path, code := range views {
		r, text := answer(t, p, "ann", path)
		if !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
			continue
		}
		for _, want := range []string{`<html lang="en">`, `<a class="skip" href="#main">`, `<main id="main"`, "<nav ", "<h1>",
			"<header>", "<footer>", "<title>", `name="viewport"`} {
			if strings.Count(text, want) < 1 {
				t.Errorf("%s (%d) has no %s", path, code, want)
			}
		}
		tables := strings.Count(text, "<table")
		if tables != strings.Count(text, "<caption>") {
			t.Errorf("%s: %d tables, and %d captions", path, tables, strings.Count(text, "<caption>"))
		}
		if n := strings.Count(text, "<th>"); n > 0 {
			t.Errorf("%s: %d headings without a scope", path, n)
		}
		ids := map[string]bool{}
		for _, m := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(text, -1) {
			if ids[m[1]] {
				t.Errorf("%s: two elements have the id %s", path, m[1])
			}
			ids[m[1]] = true
		}
	}
}

// The number of slots of a cluster that tells none is not known, and not 0.
func TestPage_SlotsThatAreNotKnownAreNoNumber(t *testing.T) {
	p := newFake().page(Config{Tokens: tokenFile(t)}, -1)
	for path, want := range map[string]string{"/clusters/farm": "<dt>Slots</dt><dd>8</dd>",
		"/clusters/ill": "<dt>Slots</dt><dd>?</dd>", "/": `<td data-label="Slots" class="number">?</td>`} {
		if _, text := answer(t, p, "ann", path); !strings.Contains(text, want) {
			t.Errorf("%s lacks %s\n%s", path, want, text)
		}
	}
}

// A job's page has its counts, causes, evidence, hosts, resources, timeline and plot.
func TestPage_AJobHasItsFacts(t *testing.T) {
	p := newFake().page(Config{Tokens: tokenFile(t)}, -1)
	for path, all := range map[string][]string{
		"/": {"<h2 id=\"clusters-title\">Clusters</h2>", "in trouble", `<a href="/jobs/17">17</a>`,
			"1 of 30 completed", `<span class="state failed">1</span>`, "2 running", "56 running"},
		"/clusters/farm": {"<dd>slurm</dd>", "0 waiting, 0 queued, 4 running"},
		"/clusters/ill":  {"In trouble since", "<h3>Trouble</h3>"},
		"/jobs/17": {"1 of 30 completed", "28 running", "What unfinished local jobs wait for", "Failures by cause",
			"Evidence of the examples", "<dt><a href=\"/jobs/17.1\">17.1</a></dt>", ">200 MiB</td>",
			"queued 1 min, running 1 min, collecting 1 s", `data-at="122000" data-n="1"`,
			"mean wall 2.4 times the mean of the other hosts", "and 4 other hosts", `href="/jobs/17?from=25">Next`},
		"/jobs/17?from=25": {`<a href="/jobs/17.29">17.29</a>`, `href="/jobs/17?from=0">Previous`},
		"/jobs/17.3": {">100 MiB at most, 50.0 %<svg class", "30 s of processor time, 50.0 % of the cores",
			"<h3>Evidence</h3>", "The attempts of this local job", `<a href="/jobs/17">17</a>`},
	} {
		_, text := answer(t, p, "ann", path)
		for _, want := range all {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", path, want, text)
			}
		}
	}
	_, text := answer(t, p, "ann", "/jobs/17")
	if strings.Count(text, `<th scope="row"><a href="/jobs/17.`) != mostLocals {
		t.Errorf("not %d local jobs in\n%s", mostLocals, text)
	}
}

// The timeline marks starts of the daemon, and outages of the clusters of its local jobs. An outage that began earlier
// is marked at the beginning.
func TestPage_TheTimelineMarksStartsAndOutages(t *testing.T) {
	f := newFake()
	for i := range f.locals {
		f.locals[i].Cluster = "farm"
	}
	entry := func(at jjm.Time, en jjm.JournalEntry) { en.Time = at; f.site = append(f.site, en) }
	_, started := jjm.Starts{}.Next(61_500)
	entry(100, jjm.Outage("farm", 10, hostile))
	entry(2000, jjm.Outage("ill", 10, "x"))
	entry(61_500, started[0])
	entry(91_000, jjm.Outage("farm", 10, ""))
	_, text := answer(t, f.page(Config{Tokens: tokenFile(t)}, -1), "ann", "/jobs/17")
	for _, want := range []string{`<line class="mark outage" x1="0" x2="0"`, `<line class="mark start" x1="300" x2="300"`,
		`<line class="mark outage" x1="446" x2="446"`, "started: the daemon", "it has answered no listing since",
		"it answers again after an outage since"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "cluster ill:") || strings.Contains(text, "<script>alert") {
		t.Errorf("a foreign cluster, or markup of a reason:\n%s", text)
	}
}

func TestFarm_SaysThatThereAreNoJobs(t *testing.T) {
	f := newFake()
	f.jobs = nil
	p := f.page(Config{Tokens: tokenFile(t)}, -1)
	for path, want := range map[string]string{"/": "There are no grid jobs that you may see.",
		"/?before=3": "There are no older grid jobs that you may see."} {
		if _, text := answer(t, p, "ann", path); !strings.Contains(text, want) {
			t.Errorf("%s: no %q in\n%s", path, want, text)
		}
	}
}

// The list of grid jobs has a limited number of rows, and a link to older grid jobs.
func TestFarm_IsPaged(t *testing.T) {
	f := newFake()
	f.jobs = nil
	for id := range 120 {
		f.jobs = append(f.jobs, wire.Status{Owner: "ann", Lookup: wire.Lookup{ID: jjm.GridID(120 - id), Status: "done"}})
	}
	p := f.page(Config{Tokens: tokenFile(t)}, -1)
	path, older := "/", regexp.MustCompile(`href="(/\?before=\d+)">Older`)
	var seen []string
	for range 4 {
		_, text := answer(t, p, "ann", path)
		rows := regexp.MustCompile(`<a href="/jobs/(\d+)">`).FindAllStringSubmatch(text, -1)
		if len(rows) > mostRows {
			t.Errorf("%s: %d rows, want at most %d", path, len(rows), mostRows)
		}
		for _, m := range rows {
			seen = append(seen, m[1])
		}
		next := older.FindStringSubmatch(text)
		if next == nil {
			break
		}
		path = next[1]
	}
	if len(seen) != 120 || seen[0] != "120" || seen[119] != "1" {
		t.Errorf("the pages have %d grid jobs: %v", len(seen), seen)
	}
}

// Only GET and HEAD are answered, and no request may have a body.
func TestPage_OnlyShows(t *testing.T) {
	h := newFake().page(Config{}, -1).Handler()
	for _, c := range []struct {
		method, body string
		code         int
	}{{"GET", "", 200}, {"HEAD", "", 200}, {"POST", "", 405}, {"PUT", "x", 405}, {"DELETE", "", 405}, {"OPTIONS", "", 405},
		{"GET", "x", 400}} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, "/", strings.NewReader(c.body)))
		if w.Code != c.code {
			t.Errorf("%s with %q: %d, want %d", c.method, c.body, w.Code, c.code)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodHead, "/live/", nil))
	if w.Code != 405 {
		t.Errorf("HEAD of live updates: %d, want 405", w.Code)
	}
}

// A fault of the daemon is logged and not shown. A reader who disconnects is not a fault.
func TestPage_FaultsAreLoggedAndNotShown(t *testing.T) {
	for name, c := range map[string]struct {
		gone bool
		code int
	}{"a fault": {false, 500}, "a reader who is gone": {true, 200}} {
		p := newFake().page(Config{}, -1)
		var log strings.Builder
		p.d.Log = slog.New(slog.NewTextHandler(&log, nil))
		p.views["farm"] = view{state: func(context.Context, viewer, *http.Request) (any, error) {
			return nil, errors.New("the disk is gone")
		}}
		ctx, leave := context.WithCancel(t.Context())
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
		if c.gone {
			leave()
		}
		w := httptest.NewRecorder()
		p.Handler().ServeHTTP(w, r)
		leave()
		if w.Code != c.code || strings.Contains(w.Body.String(), "disk") || strings.Contains(log.String(), "disk") == c.gone {
			t.Errorf("%s: %d\n%s\nlog: %s", name, w.Code, w.Body, &log)
		}
	}
}

// An asset that the browser has is not sent again.
func TestPage_AssetsAreSentOnce(t *testing.T) {
	p := newFake().page(Config{}, -1)
	first, _ := answer(t, p, "", "/assets/page.js")
	r := httptest.NewRequest(http.MethodGet, "/assets/page.js", nil)
	r.Header.Set("If-None-Match", first.Header.Get("ETag"))
	w := httptest.NewRecorder()
	p.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusNotModified {
		t.Errorf("%d, want %d", w.Code, http.StatusNotModified)
	}
}

// A drained cluster that answers is shown as drained to every reader. A cluster in trouble is shown as in trouble,
// whatever the orders are.
func TestFarm_StatesOfClusters(t *testing.T) {
	drained := []jjm.Order{{Kind: jjm.OrderCluster, Verb: jjm.OrderDrain}}
	for want, c := range map[string]wire.Cluster{
		"ok":            {Healthy: true, LastSeen: 1},
		"not asked yet": {Healthy: true},
		"drained":       {Healthy: true, LastSeen: 1, Orders: drained},
		"in trouble":    {Orders: drained},
		"breaker open":  {Breaker: &wire.Breaker{State: "open"}, Orders: drained},
	} {
		if got := rowOf(&c, false, 5).State; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A cluster in trouble shows what a person can do, in the words of "jjm clusters", and its excluded hosts. Readers
// without an account see neither.
func TestFarm_ShowsRemediesAndExcludedHosts(t *testing.T) {
	f := newFake()
	f.clusters[1].Remedy = "qstat -B shows whether it runs; " + hostile
	f.clusters[1].Unlisted = []wire.Unlisted{{Account: "ann", Since: 5, Cause: "the listing of ann fails"}}
	f.clusters[1].Learnt = []wire.LearntLimit{{Account: "ann", Jobs: 7, Since: 5, Until: 6, Cause: "too many jobs"}}
	f.excluded = []jjm.Exclusion{{Cluster: "ill", Host: "wn13", Reason: "no disk " + hostile, By: "eve", Since: 1000},
		{Cluster: "ill", Host: "wn14", Reason: "slow", By: "eve", Since: 1000, Until: 86_400_000}}
	p := f.page(Config{Tokens: tokenFile(t)}, -1)
	for path, all := range map[string][]string{
		"/": {"What to do: <bdi>qstat -B shows whether it runs; &lt;script",
			`<a href="/clusters/ill#excluded">2 hosts excluded</a>`},
		"/clusters/ill": {"<dt>What to do</dt><dd><bdi>qstat -B shows", `id="excluded"`, "<bdi>wn13</bdi>",
			"no disk &lt;script", "somebody includes it",
			jjm.Time(86_400_000).Local(), "the listing of ann fails", "too many jobs"},
		"/clusters/farm": {"No host of this cluster is excluded."},
	} {
		_, text := answer(t, p, "ann", path)
		for _, want := range all {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", path, want, text)
			}
		}
		if strings.Contains(text, "wn13") != (path == "/clusters/ill") {
			t.Errorf("%s: the excluded host of cluster ill", path)
		}
		if _, text = answer(t, p, "", path); strings.Contains(text, "qstat -B") || strings.Contains(text, "excluded") {
			t.Errorf("%s shows the remedy or the excluded hosts to everybody:\n%s", path, text)
		}
	}
}

func TestBars_AreWithinTheDrawing(t *testing.T) {
	spans := []report.Span{{Kind: "queued", To: 500}, {Kind: "running", From: 500, To: 1000},
		{Kind: "running", Attempt: 1, From: 1000, To: 1000}}
	out, text := bars(spans, 0, 1000)
	if fmt.Sprint(out[0].X, out[0].W, out[1].X, out[1].W, out[2].X, out[2].W) != "0 300 300 300 598 2" ||
		text != "queued 500 ms, running 500 ms, attempt 1: running 0 ms" {
		t.Errorf("%v %q", out, text)
	}
	if out, _ := bars(spans[2:], 1000, 1000); out[0].X != 0 || out[0].W != 2 {
		t.Errorf("a moment: %v", out)
	}
}

func TestCurve_EndsAtTheCountOfNow(t *testing.T) {
	entry := func(at jjm.Time, jobs int32, from, to string) jjm.JournalEntry {
		return jjm.JournalEntry{Time: at, First: 0, Last: jobs - 1, From: from, To: to}
	}
	entries := []jjm.JournalEntry{entry(5, 9, "", "new"), entry(10, 2, "running", "completed"),
		entry(20, 1, "completed", "new"), entry(30, 3, "completing", "completed")}
	for name, c := range map[string]struct {
		completed int
		ended     jjm.Time
		want      []point
	}{
		"the whole journal":         {4, 0, []point{{5, 0}, {10, 2}, {20, 1}, {30, 4}, {99, 4}}},
		"a job that is over":        {4, 30, []point{{5, 0}, {10, 2}, {20, 1}, {30, 4}}},
		"the last part of it":       {10, 0, []point{{5, 6}, {10, 8}, {20, 7}, {30, 10}, {99, 10}}},
		"more than are counted now": {1, 30, []point{{5, 0}, {10, 0}, {20, 0}, {30, 1}}},
	} {
		if got := curve(entries, c.completed, 99, c.ended); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if got := curve(entries[:1], 0, 99, 0); got != nil {
		t.Errorf("nothing is completed: %v", got)
	}
	var many []jjm.JournalEntry
	for at := range jjm.Time(5000) {
		many = append(many, entry(at+1, 1, "running", "completed"))
	}
	got := curve(many, 5000, 9999, 0)
	if len(got) != mostPoints || got[0].N != 0 || got[mostPoints-1] != (point{9999, 5000}) {
		t.Errorf("%d points, from %v to %v", len(got), got[0], got[len(got)-1])
	}
}

func TestInert_ShowsWhatCannotBeSeen(t *testing.T) {
	for given, want := range map[string]string{"a b": "a b", "é": "é",
		"a\nb\tc": "a b c", "\u200f\u2066x": `\u200f\u2066x`,
		"\x00\xff": `\x00\xff`, strings.Repeat("x", maxText+5): strings.Repeat("x", maxText) + " ..."} {
		if got := inert(given); got != want {
			t.Errorf("%q: %q, want %q", given, got, want)
		}
	}
}

// The number of pages that are made simultaneously is limited. A reader who waited without success gets an error of
// kind Busy.
func TestPage_PagesThatAreMadeAreBounded(t *testing.T) {
	p := newFake().page(Config{}, -1)
	for range mostAsks {
		p.asks <- struct{}{}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	if _, _, err := p.ask(ctx, "farm", nobody(), r, false); jjm.KindOf(err) != jjm.Busy {
		t.Errorf("one page more: %v, want an error of kind busy", err)
	}
	<-p.asks
	if _, _, err := p.ask(t.Context(), "farm", nobody(), r, false); err != nil {
		t.Errorf("once a page is made: %v", err)
	}
	if len(p.asks) != mostAsks-1 {
		t.Errorf("%d pages are being made, want %d", len(p.asks), mostAsks-1)
	}
}

// Failed local jobs are on the first page, whatever their numbers are.
func TestPage_FailedLocalJobsComeFirst(t *testing.T) {
	f := newFake()
	f.locals[3].State, f.locals[29].State, f.locals[7].State = jjm.Completed, jjm.Failed, jjm.Submitted
	p := f.page(Config{Tokens: tokenFile(t)}, -1)
	ids := func(path string) (out []string) {
		_, text := answer(t, p, "ann", path)
		for _, m := range regexp.MustCompile(`<th scope="row"><a href="/jobs/17\.(\d+)`).FindAllStringSubmatch(text, -1) {
			out = append(out, m[1])
		}
		return out
	}
	first, second := ids("/jobs/17"), ids("/jobs/17?from=25")
	if len(first) != mostLocals || first[0] != "29" || first[1] != "0" {
		t.Errorf("the first page has %v", first)
	}
	if want := []string{"26", "27", "28", "7", "3"}; !slices.Equal(second, want) {
		t.Errorf("the second page has %v, want %v", second, want)
	}
}
