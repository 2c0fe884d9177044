package web

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
)

// subscribe connects to the live updates of a page, and returns the HTTP status of the answer. The channel receives the
// data of each event, and is closed when the updates end.
func subscribe(t *testing.T, at net.Addr, user, path string) (int, <-chan string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at.String()+"/live"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if user != "" {
		r.Header.Set("Authorization", "Bearer "+secret(user))
	}
	a, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Body.Close() })
	all := make(chan string, 100)
	go func() {
		defer close(all)
		lines := bufio.NewScanner(a.Body)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				all <- data
			}
		}
	}()
	return a.StatusCode, all
}

// receive returns the next version of a page.
func receive(t *testing.T, from <-chan string) string {
	t.Helper()
	return await.Receive(t, "a live update", from)
}

// A listener gets the version of the page immediately and after each change, and the page itself has the same version.
func TestLive_SendsAVersionAtEachChange(t *testing.T) {
	f := newFake()
	p := f.page(Config{Tokens: tokenFile(t)}, -1)
	at := listen(t, p, "tcp", "127.0.0.1:0")
	for _, path := range []string{"/", "/clusters/farm", "/jobs/17", "/jobs/17.3"} {
		code, all := subscribe(t, at, "ann", path)
		if code != 200 {
			t.Fatalf("%s: %d", path, code)
		}
		first := receive(t, all)
		if _, text := answer(t, p, "ann", path); !strings.Contains(text, `data-version="`+first+`"`) {
			t.Errorf("%s: the page has another version than %s", path, first)
		}
		f.set(func() {
			f.clusters[0].Running++
			f.jobs[1].Lookup.Counts.Completed++
		})
		second := receive(t, all)
		if _, text := answer(t, p, "ann", path); second == first || !strings.Contains(text, second) {
			t.Errorf("%s: version %s after %s", path, second, first)
		}
	}
}

// The local jobs of a grid job that is over are not read at each poll. A grid job that is reopened is watched again.
func TestLive_TheLocalJobsOfAGridJobThatIsOverAreNotRead(t *testing.T) {
	f := newFake()
	f.jobs[1].Lookup.Status = "done"
	at := listen(t, f.page(Config{Tokens: tokenFile(t)}, -1), "tcp", "127.0.0.1:0")
	_, all := subscribe(t, at, "ann", "/jobs/17")
	first := receive(t, all)
	count := func() (lists, urgent int) {
		f.set(func() { lists, urgent = f.lists, f.urgent })
		return lists, urgent
	}
	const polls = 2 * mostSettled
	await.True(t, "the page is polled", func() bool { lists, _ := count(); return lists > polls })
	// One read is the first, one fills the settled state, and one is due after mostSettled polls.
	if lists, urgent := count(); urgent > 3+lists/mostSettled {
		t.Errorf("%d polls read the local jobs %d times", lists, urgent)
	}
	f.set(func() { f.jobs[1].Reopening = &wire.Reopening{Generation: 2} })
	second := receive(t, all)
	if second == first {
		t.Errorf("version %s of a reopened grid job", second)
	}
	f.set(func() { f.jobs[1].Reopening, f.jobs[1].Lookup.Status, f.locals[3].State = nil, "running", jjm.Failed })
	if third := receive(t, all); third == second {
		t.Errorf("version %s of a grid job that runs again", third)
	}
}

// If a job is removed, its live page gets an empty version, and then no more updates.
func TestLive_ARemovedJobIsAChange(t *testing.T) {
	f := newFake()
	at := listen(t, f.page(Config{Tokens: tokenFile(t)}, -1), "tcp", "127.0.0.1:0")
	_, all := subscribe(t, at, "ann", "/jobs/17")
	receive(t, all)
	f.set(func() { f.jobs = f.jobs[:1] })
	if v := receive(t, all); v != "" {
		t.Errorf("version %q of a job that is gone", v)
	}
	if v, more := <-all; more {
		t.Errorf("then %q", v)
	}
}

// One account cannot take all listeners. A listener that disconnects makes room for another listener.
func TestLive_ListenersAreBounded(t *testing.T) {
	f := newFake()
	p := f.page(Config{Tokens: tokenFile(t)}, -1)
	at := listen(t, p, "tcp", "127.0.0.1:0")
	for range mostOfOne {
		if code, all := subscribe(t, at, "", "/"); code != 200 || receive(t, all) == "" {
			t.Fatalf("a listener: %d", code)
		}
	}
	if code, _ := subscribe(t, at, "", "/"); code != 503 {
		t.Errorf("one more: %d, want 503", code)
	}
	if code, _ := subscribe(t, at, "ann", "/"); code != 200 {
		t.Errorf("a listener of another account: %d", code)
	}
	var l = listeners{by: map[string]int{}}
	n := 0
	for _, account := range []string{"a", "b", "c", "d", "e"} {
		for l.add(account) {
			n++
		}
	}
	if n != mostListeners {
		t.Errorf("%d listeners, want %d", n, mostListeners)
	}
	l.remove("a")
	if !l.add("e") && !l.add("a") {
		t.Error("a listener that is gone makes no room")
	}
}

// A listener that disconnects is no longer counted.
func TestLive_AListenerThatIsGoneIsNotCounted(t *testing.T) {
	p := newFake().page(Config{}, -1)
	at := listen(t, p, "tcp", "127.0.0.1:0")
	conn, err := net.Dial("tcp", at.String())
	if err != nil {
		t.Fatal(err)
	}
	count := func() int {
		p.listeners.mu.Lock()
		defer p.listeners.mu.Unlock()
		return p.listeners.all
	}
	if _, err := io.WriteString(conn, "GET /live/ HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	await.True(t, "the listener is counted", func() bool { return count() == 1 })
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	await.True(t, "the listener is no longer counted", func() bool { return count() == 0 })
}

// Clients that send nothing, or do not read their answers, do not delay other readers, even if there are many of them.
func TestServe_SlowReadersHoldUpNobody(t *testing.T) {
	p := newFake().page(Config{}, -1)
	at := listen(t, p, "tcp", "127.0.0.1:0")
	for i := range mostConnections + 50 {
		conn, err := net.Dial("tcp", at.String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		if i%2 == 0 {
			for range 50 {
				if _, err := io.WriteString(conn, "GET /assets/uPlot.iife.min.js HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
					break // jjm closed the connection
				}
			}
		}
	}
	await.Nil(t, "a page beside slow readers", func() error {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
		r, err := client.Get("http://" + at.String() + "/")
		if err != nil {
			return err
		}
		defer func() { _ = r.Body.Close() }()
		_, err = io.Copy(io.Discard, r.Body)
		return err
	})
}

func TestServe_AListenerThatFailsIsAnError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	p := newFake().page(Config{}, -1)
	p.d.Log = slog.New(slog.DiscardHandler)
	if err := p.Serve(context.Background(), l); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v", err)
	}
}
