package daemon_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"jjm/internal/api/wire"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
)

// browser is a headless Chromium with one tab.
type browser struct {
	t    *testing.T
	ctx  context.Context
	root string // the address of the page

	mu     sync.Mutex
	faults []string // errors of scripts and of the Content-Security-Policy
}

// openBrowser starts a browser for the pages below an address.
func openBrowser(t *testing.T, root string) *browser {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(needs.Program(t, "chromium", "chromium")), chromedp.NoSandbox, // root has no sandbox
		chromedp.WindowSize(1200, 900))
	ctx, stop := chromedp.NewExecAllocator(await.Context(t, 10*time.Minute), options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	b := &browser{t: t, ctx: ctx, root: root}
	messages := chromedp.Console(ctx)
	go func() {
		for m, err := range messages {
			if err != nil {
				return // the browser is closed
			}
			b.note(m)
		}
	}()
	return b
}

// note stores an error. Chromium also reports every response that is not a success.
func (b *browser) note(m chromedp.ConsoleMessage) {
	failed := m.Type == chromedp.ConsoleError || m.IsException()
	absent := strings.HasSuffix(m.URL, "/favicon.ico") || strings.HasSuffix(m.URL, "/jobs/9") ||
		strings.HasSuffix(m.URL, "/?sort=x")
	if !failed || m.Source == "network" && absent {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.faults = append(b.faults, fmt.Sprintf("%s (%s)", m, m.URL))
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// value returns the value of an expression in the page.
func (b *browser) value(expression string) string {
	b.t.Helper()
	out, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("String("+expression+")"))
	if err != nil {
		b.t.Fatal(err)
	}
	return out
}

// visit loads a page, and keeps a picture of it if JJM_SCREENSHOTS names a folder.
func (b *browser) visit(path, picture string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.root + path))
	b.picture(picture)
}

func (b *browser) picture(name string) {
	b.t.Helper()
	dir := os.Getenv("JJM_SCREENSHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// proxyTo returns the address of a proxy that sends every request to a Unix socket as an account.
func proxyTo(t *testing.T, socket, account string) string {
	t.Helper()
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "jjm"})
	proxy.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("X-Remote-User", account)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return server.URL
}

// hostileReason is the reason of an order, with HTML that would run a script on the page if the page did not escape it.
const hostileReason = `<script>document.title='taken'</script><img src=x onerror="document.title='taken'">`

// In a real browser, every view is displayed, a page updates itself, and hostile texts have no effect.
func TestBrowser_ShowsEveryViewAndUpdatesIt(t *testing.T) {
	needs.Campaign(t, needs.Systems)
	t.Parallel()
	socket, me := shortDir(t)+"/page", ownName(t)
	d := start(t, fmt.Sprintf("[web]\nlisten = %q\nuser_header = \"X-Remote-User\"\nproxy = %q\n", socket, me))
	waits := "while ! test -e " + d.dir + "/go; do sleep 0.1; done"
	d.write("waits.toml", fmt.Sprintf("type = \"script\"\nname = \"waits\"\n[request]\nmemory_mb = 100\n[params]\n"+
		"command = [\"/bin/sh\", \"-c\", %q]\n", waits))
	d.write("fails.toml", "type = \"script\"\nname = \"fails\"\n[params]\ncommand = [\"/bin/sh\", \"-c\", "+
		"\"echo the disk of the node is full >&2; exit 3\"]\n")
	if out, code := d.says("submit", "waits.toml"); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	if out, code := d.says("submit", "fails.toml", "--wait"); code == 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	for range 2 { // the second one finds no slot
		if out, code := d.says("submit", "waits.toml"); code != 0 {
			t.Fatalf("exit %d\n%s", code, out)
		}
	}
	for _, order := range [][]string{{"pause", "1"}, {"drain", "cluster", "local"}} {
		if out, code := d.says(append(order, "--reason", hostileReason)...); code != 0 {
			t.Fatalf("%v: exit %d\n%s", order, code, out)
		}
	}
	b := openBrowser(t, proxyTo(t, socket, me))
	b.visit("/", "farm")
	for path, want := range map[string]string{"/": "fails", "/clusters/local": "Guarantee", "/jobs/1": "Timeline",
		"/jobs/1.0": "Attempts", "/jobs/2": "the disk of the node is full",
		"/jobs/2.0": "the disk of the node is full", "/jobs/9": "no job 9"} {
		b.visit(path, strings.NewReplacer("/", "_", ".", "_").Replace(path))
		if text := b.value("document.body.innerText"); !strings.Contains(text, want) {
			t.Errorf("%s: no %q in\n%s", path, want, text)
		}
		if title := b.value("document.title"); title == "taken" {
			t.Errorf("%s: the reason of an order ran as a script", path)
		}
	}
	for _, id := range []string{"4", "4.0"} {
		b.explains(id, func() string { out, _ := d.says("why", id, "--json"); return out })
	}
	for _, path := range []string{"/jobs/1", "/clusters/local"} {
		b.visit(path, "hostile")
		if text := b.value("document.body.innerText"); !strings.Contains(text, hostileReason) {
			t.Errorf("%s does not show the reason of an order:\n%s", path, text)
		}
	}
	for _, order := range [][]string{{"resume", "1"}, {"resume", "cluster", "local"}} {
		if out, code := d.says(order...); code != 0 {
			t.Fatalf("%v: exit %d\n%s", order, code, out)
		}
	}
	b.updates(d.dir + "/go")
	b.looks()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.faults) > 0 {
		t.Errorf("the browser reports\n%s", strings.Join(b.faults, "\n"))
	}
}

// updates requires that a page shows the end of grid job 1 without a reload. The local job of grid job 1 ends when the
// file exists.
func (b *browser) updates(file string) {
	b.t.Helper()
	b.visit("/jobs/1", "before")
	b.value("window.stays = 'yes'")
	b.value(`(window.told = [], new MutationObserver(() => told.push(document.getElementById('news').textContent)).observe(
		document.getElementById('news'), {childList: true, characterData: true, subtree: true}))`)
	if shown := b.value("document.getElementById('state').innerText"); !strings.Contains(shown, "running") {
		b.t.Errorf("a running grid job is shown as\n%s", shown)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		b.t.Fatal(err)
	}
	await.True(b.t, "the page shows that the grid job is done", func() bool {
		return strings.Contains(b.value("document.getElementById('state').innerText"), "done")
	})
	await.True(b.t, "the plot is drawn", func() bool {
		return b.value("document.querySelectorAll('#plot canvas').length") == "1"
	})
	b.picture("after")
	told := "told.filter((text, i) => text === told[i - 1] || !text.startsWith('Grid job 1: ')).length"
	if last, wrong := b.value("told.at(-1)"), b.value(told); last != "Grid job 1: done" || wrong != "0" {
		b.t.Errorf("a screen reader is told %s, last %q", b.value("JSON.stringify(told)"), last)
	}
	if b.value("window.stays") != "yes" {
		b.t.Error("the page was loaded again")
	}
}

// keys checks that the tab key reaches every control of the list of grid jobs with a visible focus, and that the enter
// key sorts the list.
func (b *browser) keys() {
	b.t.Helper()
	b.visit("/", "keys")
	const controls = `[...document.querySelectorAll('a[href], input:not([type=hidden]), button, [tabindex="0"]')]`
	seen := "0"
	for n := b.value(controls + ".length"); seen != n; seen = b.value(controls + ".filter(e => e.seen).length") {
		before := seen
		b.do(chromedp.KeyEvent("\t"))
		b.value("document.activeElement.seen = true")
		if style := b.value("getComputedStyle(document.activeElement).outlineStyle"); style == "none" {
			b.t.Errorf("no outline of %s", b.value("document.activeElement.outerHTML.slice(0, 80)"))
		}
		if seen = b.value(controls + ".filter(e => e.seen).length"); seen == before {
			b.t.Fatalf("the tab key reaches %s of %s controls", seen, n)
		}
	}
	b.value("document.querySelector('th a[href*=failed]').focus()")
	b.do(chromedp.KeyEvent("\r"))
	await.True(b.t, "the enter key sorts the list", func() bool {
		return b.value("location.search") == "?sort=-failed"
	})
}

// explains requires that the page of a waiting job has the texts of "jjm why", and a link to the cluster. why returns
// the output of "jjm why --json".
func (b *browser) explains(id string, why func() string) {
	b.t.Helper()
	await.Nil(b.t, "the page of "+id+" has the texts of jjm why", func() error {
		var said wire.Why
		if err := json.Unmarshal([]byte(why()), &said); err != nil {
			return err
		}
		b.visit("/jobs/"+id, "why_"+id)
		text := strings.Join(strings.Fields(b.value("document.getElementById('causes').innerText")), " ")
		causes := said.Causes
		if said.Grid != nil {
			causes = append(causes, *said.Grid)
		}
		if len(causes) == 0 {
			return errors.New("jjm why names no cause")
		}
		for _, c := range causes {
			for _, want := range []string{c.Code, c.Text, c.Remedy} {
				if want = strings.Join(strings.Fields(want), " "); !strings.Contains(text, want) {
					return fmt.Errorf("no %q in %q", want, text)
				}
			}
		}
		return nil
	})
	if n := b.value(`document.querySelectorAll('#state a[href="/clusters/local"]').length`); n == "0" {
		b.t.Errorf("the page of %s has no link to its cluster", id)
	}
}

// looks checks how the page behaves with a keyboard, on a narrow screen, and with dark colours.
func (b *browser) looks() {
	b.t.Helper()
	b.visit("/", "light")
	light := b.value("getComputedStyle(document.body).backgroundColor")
	b.do(chromedp.KeyEvent("\t"))
	if at := b.value("document.activeElement.className"); at != "skip" {
		b.t.Errorf("the first tab stop is %q, want the link to the content", at)
	}
	b.keys()
	b.do(chromedp.EmulateViewport(360, 740))
	b.colours("dark")
	for _, path := range []string{"/", "/jobs/1", "/jobs/2.0", "/clusters/local"} {
		b.visit(path, "narrow"+strings.NewReplacer("/", "_", ".", "_").Replace(path))
		if wide := b.value("document.documentElement.scrollWidth"); wide != "360" {
			b.t.Errorf("%s is %s wide on a screen of 360", path, wide)
		}
	}
	if dark := b.value("getComputedStyle(document.body).backgroundColor"); dark == light {
		b.t.Errorf("dark and light pages are both %s", dark)
	}
	b.spoken()
	b.fits()
}

// spoken checks that a screen reader finds the cells and headings of tables on a narrow screen, where rows are blocks.
func (b *browser) spoken() {
	b.t.Helper()
	b.visit("/", "spoken")
	tree, err := chromedp.Call(b.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		b.t.Fatal(err)
	}
	roles := map[string]int{}
	for _, n := range tree.Nodes {
		if !n.Ignored && n.Role != nil {
			roles[strings.Trim(string(n.Role.Value), `"`)]++
		}
	}
	want := map[string]string{"table": "table", "row": "tr", "columnheader": "th[scope=col]", "rowheader": "th[scope=row]",
		"cell": "td"}
	for role, selector := range want {
		if n := b.value("document.querySelectorAll('" + selector + "').length"); fmt.Sprint(roles[role]) != n {
			b.t.Errorf("a screen reader finds %d of %s elements %s", roles[role], n, role)
		}
	}
}

// fits checks that every view fits a narrow and a wide screen, with light and with dark colours and with all details
// open, that the keyboard reaches the box of each table, that no table scrolls sideways, and that no text of a table is
// squeezed into a narrow column.
func (b *browser) fits() {
	b.t.Helper()
	for _, colours := range []string{"light", "dark"} {
		b.colours(colours)
		for _, width := range []int{420, 1280} {
			b.do(chromedp.EmulateViewport(int64(width), 800))
			for _, path := range []string{"/", "/?sort=-failed&state=failed,done", "/?sort=x", "/clusters/local", "/jobs/1",
				"/jobs/2", "/jobs/2.0", "/jobs/9"} {
				b.visit(path, fmt.Sprintf("%s%d%s", colours, width, strings.NewReplacer("/", "_", ".", "_", "?", "_", "&",
					"_").Replace(path)))
				b.value("document.querySelectorAll('details').forEach(d => d.open = true)")
				b.fit(path, width)
			}
		}
	}
}

// colours makes the browser prefer light or dark colours.
func (b *browser) colours(scheme string) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}); err != nil {
		b.t.Fatal(err)
	}
}

// fit checks the widths of the page that is shown.
func (b *browser) fit(path string, width int) {
	b.t.Helper()
	if b.value("document.documentElement.scrollWidth <= innerWidth") != "true" {
		b.t.Errorf("%s is %s wide on a screen of %d", path, b.value("document.documentElement.scrollWidth"), width)
	}
	wrong := map[string]string{
		"tables are not in a box that the keyboard scrolls": `[...document.querySelectorAll('table')].filter(t =>
			!t.closest('.wide[role=region][tabindex="0"]:is([aria-label],[aria-labelledby])'))`,
		"tables scroll sideways": `[...document.querySelectorAll('.wide')].filter(w =>
			w.scrollWidth > w.clientWidth)`,
		"cells are narrow and have more than two lines": `[...document.querySelectorAll('tbody :is(th, td)')].filter(c => {
			const text = document.createRange();
			text.selectNodeContents(c);
			const r = text.getBoundingClientRect();
			return r.width > 0 && r.width < 110 && r.height > 60})`,
	}
	if width < 640 { // rows are blocks
		wrong["states and texts have less than 200 pixels"] = `[...document.querySelectorAll('td .state, td bdi')].filter(e =>
			e.parentElement.closest('td').clientWidth < 200)`
	}
	for what, expression := range wrong {
		if n := b.value("(" + expression + ").map(e => e.outerHTML.slice(0, 200)).join(' | ')"); n != "" {
			b.t.Errorf("%s on a screen of %d: %s: %s", path, width, what, n)
		}
	}
}
