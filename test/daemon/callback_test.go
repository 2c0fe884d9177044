package daemon_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

const hookSecret = "0123456789abcdef0123456789abcdef"

// hook is a web server that receives the events of callbacks. A callback in a job file names a URL to which the daemon
// sends the changes of status of the grid job.
type hook struct {
	*httptest.Server
	t  *testing.T
	mu sync.Mutex
	// got are the received requests, in order.
	got []hooked
}

// hooked is a request to a hook.
type hooked struct {
	path, key string
	header    http.Header
	event     struct {
		Version, Job, Generation int
		Event, Status, Previous  string
		End                      *struct{ Exit int }
	}
}

// newHook starts a receiver that calls answer for each request; n is the number of the request, from 1.
func newHook(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, n int)) *hook {
	h := &hook{t: t}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := h.note(r)
		if answer != nil {
			answer(w, r, n)
		}
	}))
	t.Cleanup(h.Close)
	return h
}

// note checks a request and its signature by the rules of docs/NOTIFY.md, and stores the request. It returns the number
// of the request, from 1.
func (h *hook) note(r *http.Request) (n int) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		h.t.Error(err)
	}
	mac := hmac.New(sha256.New, []byte(hookSecret))
	fmt.Fprintf(mac, "%s.%s", r.Header.Get("JJM-Timestamp"), body)
	if got := r.Header.Get("JJM-Signature"); got != "sha256="+hex.EncodeToString(mac.Sum(nil)) {
		h.t.Errorf("signature %q of %s", got, body)
	}
	one := hooked{path: r.URL.Path, key: r.Header.Get("Idempotency-Key"), header: r.Header}
	if err := json.Unmarshal(body, &one.event); err != nil || r.Method != http.MethodPost ||
		one.key != one.event.Event || one.event.Version != 1 || r.Header.Get("Content-Type") != "application/json" {
		h.t.Errorf("%s %q: %s: %v", r.Method, one.key, body, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.got = append(h.got, one)
	return len(h.got)
}

func (h *hook) all() []hooked {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.got)
}

// statuses returns two facts about the received events of a grid job: the statuses in them, in order and each event
// once, and, by the event's key, how often each event was delivered.
func (h *hook) statuses(job int) (once []string, times map[string]int) {
	times = map[string]int{}
	for _, one := range h.all() {
		if one.event.Job != job {
			continue
		}
		if times[one.key]++; times[one.key] == 1 {
			once = append(once, one.event.Status)
		}
	}
	return once, times
}

const hookConfig = "[engine]\nbackoff = \"0s\"\n[engine.fetch]\nnetworks = [\"127.0.0.1/32\"]\n" +
	"[notify]\ncallbacks_per_user = 2\n"

// hookJob returns a job file with a callback.
func hookJob(url, states, command string) string {
	return "type = \"script\"\nresult = \"exit\"\n[params]\ncommand = [\"" + command + "\"]\n[callback]\nurl = \"" + url +
		"\"\nsecret_file = \"secret\"\n" + states
}

// hooking starts a daemon whose configuration permits callbacks.
func hooking(t *testing.T, env ...string) *daemon {
	d := start(t, hookConfig, env...)
	d.write("secret", hookSecret+"\n")
	return d
}

// submitHook submits a job file with a callback, which the daemon must accept.
func (d *daemon) submitHook(url, states, command string) {
	d.t.Helper()
	d.write("job.toml", hookJob(url, states, command))
	if out, code := d.tells("submit", "job.toml"); code != 0 {
		d.t.Fatalf("submit: exit %d\n%s", code, out)
	}
}

// If the daemon is killed at any point of a delivery, the receiver nevertheless gets all changes in order. It gets a
// change twice only if the daemon died before it stored that the change was delivered.
func TestCallback_AKilledDaemonLosesNoEvent(t *testing.T) {
	t.Parallel()
	for _, point := range noticePoints() {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			h := newHook(t, nil)
			d := hooking(t, "JJM_FAILPOINT="+point)
			d.submitHook(h.URL, "states = [\"running\", \"finished\", \"failed\", \"done\"]\n", "false")
			_ = d.cmd.Wait() // the error is that the daemon was killed
			d.env = append(d.env, "JJM_FAILPOINT=")
			d.again()
			d.tells("wait", "1")
			d.tells("resubmit", "1")
			ended := func() (n int) {
				once, _ := h.statuses(1)
				for _, s := range once {
					if s == "failed" {
						n++
					}
				}
				return n
			}
			d.eventually("both ends are told", func() bool { return ended() == 2 })
			once, times := h.statuses(1)
			repeated := 0
			for _, n := range times {
				repeated += n - 1
			}
			want := 0
			if point == "notify.sent" {
				want = 1
			}
			if repeated != want || once[0] != "running" || once[len(once)-1] != "failed" {
				t.Errorf("%v, %d repeated, want %d", once, repeated, want)
			}
			last := h.all()[len(h.all())-1].event
			if last.Generation != 2 || last.End == nil || last.End.Exit == 0 {
				t.Errorf("the last event: %+v", last)
			}
		})
	}
}

// A receiver that is busy gets the event again. A receiver that hangs does not delay the events for other receivers.
func TestCallback_ABusyOrHangingServer(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	hangs := newHook(t, func(_ http.ResponseWriter, r *http.Request, _ int) {
		select {
		case <-over:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(over) })
	trickles := newHook(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		w.WriteHeader(http.StatusOK) // the status is enough: jjm does not read the body
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
				return
			}
		}
	})
	busy := newHook(t, func(w http.ResponseWriter, _ *http.Request, n int) {
		if n == 1 {
			w.Header().Set("Retry-After", "3")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	d := hooking(t)
	for _, url := range []string{hangs.URL, trickles.URL, busy.URL + "/%0d%0aX-Evil:%201?-oProxy=x"} {
		d.submitHook(url, "", "true")
	}
	d.eventually("the hanging server is asked", func() bool { return len(hangs.all()) > 0 })
	d.eventually("the busy server is asked again", func() bool { return len(busy.all()) == 2 })
	d.logs("the server answers 503 Service Unavailable")
	once, times := busy.statuses(3)
	if len(times) != 1 || !slices.Equal(once, []string{"done"}) {
		t.Errorf("%v %v", once, times)
	}
	for _, one := range busy.all() {
		if one.header.Get("X-Evil") != "" || one.path != "/\r\nX-Evil: 1" {
			t.Errorf("%q %v", one.path, one.header)
		}
	}
	if n := len(trickles.all()); n != 1 {
		t.Errorf("an endless answer: asked %d times", n)
	}
}

// jjm refuses to call servers at private addresses, even after a redirect, and shows this refusal.
func TestCallback_APrivateAddressIsRefused(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	private := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a server at a private address is asked")
	}))
	private.Listener = l
	private.Start()
	t.Cleanup(private.Close)
	redirects := newHook(t, func(w http.ResponseWriter, _ *http.Request, _ int) {
		w.Header().Set("Location", private.URL)
		w.WriteHeader(http.StatusTemporaryRedirect)
	})
	d := hooking(t)
	refused := func(url, want string) {
		t.Helper()
		d.write("job.toml", hookJob(url, "", "true"))
		out, code := d.tells("submit", "job.toml")
		if words := strings.Join(strings.Fields(out), " "); code != 5 || !strings.Contains(words, want) {
			t.Errorf("%s: exit %d, want %q\n%s", url, code, want, out)
		}
	}
	refused(private.URL, "callback.url: "+private.URL+": 127.0.0.2 is not a public address (this host)")
	refused("https://169.254.169.254/", "is not a public address (link-local")
	refused("-oProxyCommand=x", "only URLs of http and https can be called back")
	refused("file:///etc/passwd", "only URLs of http and https can be called back")
	refused("https://me:geheim@example.org/", "has a user or a password before the @")
	refused("https://example.org/\\r\\nX-Evil: 1", "contains a blank or a control character")
	d.write("secret", "short\n")
	refused("https://example.org/", "callback.secret_file: secret: want one line with a secret of 16 to 1024 bytes")
	d.write("secret", hookSecret)

	d.submitHook(redirects.URL, "", "true")
	d.eventually("the event is given up", func() bool {
		out, _ := d.tells("history", "1")
		return strings.Contains(out, "not-notified")
	})
	for _, look := range [][]string{{"status", "1"}, {"history", "1"}} {
		if out, _ := d.tells(look...); !strings.Contains(strings.Join(strings.Fields(out), " "),
			"the notice of done to the server of the callback is given up: 127.0.0.2 is not a public address (this host)") {
			t.Errorf("jjm %s:\n%s", look[0], out)
		}
	}
	if out, code := d.tells("health"); code != 1 || !strings.Contains(out, "1 notice given up within") {
		t.Errorf("health: exit %d\n%s", code, out)
	}
	if !strings.Contains(d.log.String(), "a notice could not be delivered and is given up") {
		t.Errorf("the log:\n%s", d.log)
	}
}
