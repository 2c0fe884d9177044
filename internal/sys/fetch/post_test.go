package fetch

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"jjm/internal/jjm"
)

// postOf returns an order to send an event to a URL.
func postOf(url string) Order {
	o := Defaults().PostOrder(url, Post{Header: map[string]string{"Idempotency-Key": "k"}, Body: []byte(`{"a":1}`)},
		time.Hour)
	o.Networks = loopback
	return o
}

func sent(o Order) Report {
	g := &getter{Order: o, pace: quick}
	return g.send(context.Background())
}

func TestSend_TheAnswerDecides(t *testing.T) {
	for code, want := range map[int]Report{
		200: {Done: true}, 204: {Done: true}, 410: {Trouble: "the server answers 410 Gone"},
		404: {Trouble: "the server answers 404 Not Found", Again: true},
		503: {Trouble: "the server answers 503 Service Unavailable", Again: true, Wait: jjm.Duration(7 * time.Second)},
	} {
		bodies := make(chan string, 9)
		url := served(t, func(w http.ResponseWriter, r *http.Request) {
			text, _ := io.ReadAll(r.Body)
			bodies <- r.Method + " " + r.Header.Get("Idempotency-Key") + " " + string(text)
			if code == 503 {
				w.Header().Set("Retry-After", "7")
			}
			w.WriteHeader(code)
		})
		if r := sent(postOf(url)); r != want {
			t.Errorf("%d: %+v, want %+v", code, r, want)
		}
		if got := <-bodies; got != `POST k {"a":1}` || len(bodies) > 0 {
			t.Errorf("%d: %s, %d more", code, got, len(bodies))
		}
	}
}

func TestSend_RedirectsAreCheckedAndKeepTheEvent(t *testing.T) {
	taken := make(chan string, 9)
	target := served(t, func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		taken <- r.Method + string(text)
	})
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
	for _, c := range []struct {
		code     int
		to, want string
	}{
		{307, target, ""}, {308, target, ""},
		{302, target, "302, a redirect that drops the event"}, {303, target, "303, a redirect that drops the event"},
		{307, private.URL, "127.0.0.2 is not a public address (this host)"},
		{307, "/", "redirects more than 5 times"},
		{307, "file:///etc/passwd", "only URLs of http and https"},
	} {
		r := sent(postOf(served(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", c.to)
			w.WriteHeader(c.code)
		})))
		if c.want == "" && !r.Done || c.want != "" && (r.Done || r.Again || !strings.Contains(r.Trouble, c.want)) {
			t.Errorf("%d to %s: %+v", c.code, c.to, r)
		}
		if c.want == "" {
			if got := <-taken; got != `POST{"a":1}` {
				t.Errorf("%d: %s", c.code, got)
			}
		}
	}
	if len(taken) > 0 {
		t.Errorf("%d requests too many", len(taken))
	}
}

// Send waits for a server that hangs only until the time of the order is over. Send reads only the headers of an
// answer, so an endless body does not matter.
func TestSend_AServerThatHangsIsLeft(t *testing.T) {
	over := make(chan struct{})
	t.Cleanup(func() { close(over) })
	o := postOf(raw(t, "HTTP/1.1 200 OK\r\nX-Slow: ", func(net.Conn) { <-over }))
	o.MaxTime = jjm.Duration(100 * time.Millisecond)
	if r := sent(o); r.Done || !r.Again || !strings.Contains(r.Trouble, "the server does not answer within") {
		t.Errorf("%+v", r)
	}
	endless := postOf(raw(t, "HTTP/1.1 200 OK\r\n\r\n", func(c net.Conn) {
		for {
			if _, err := fmt.Fprint(c, "x"); err != nil {
				return
			}
		}
	}))
	if r := sent(endless); !r.Done {
		t.Errorf("%+v", r)
	}
}

func TestChild_Sends(t *testing.T) {
	taken := make(chan string, 1)
	o := postOf(served(t, func(_ http.ResponseWriter, r *http.Request) { taken <- r.Method }))
	if r, err := Child(t.Context(), o); err != nil || !r.Done || <-taken != http.MethodPost {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestReadSecret_WantsOneOfItsLengths(t *testing.T) {
	if s, err := ReadSecret(strings.NewReader("0123456789abcdef\r\n")); err != nil || string(s) != "0123456789abcdef" {
		t.Errorf("%q %v", s, err)
	}
	for _, text := range []string{"", "\n", "geheim\n", strings.Repeat("geheim", 1000),
		"geheimgeheimgeheim\ngeheimgeheimgeheim\n", "geheimgeheimgeheim\n\n"} {
		if _, err := ReadSecret(strings.NewReader(text)); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Error(text[:min(len(text), 20)], err)
		}
	}
}
