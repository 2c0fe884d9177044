package slurm

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

func restBulk() adapters.Bulk {
	return adapters.Bulk{
		Tag: "jabc", N: 3, Dir: "/", Argv: []string{"/bin/true"}, Owner: jjm.Owner{UID: 7, User: "ann"},
		Request: jjm.Request{Cores: 2, GPUs: 1, Walltime: jjm.Duration(61 * time.Second)},
	}
}

// restServer starts a server that answers each submission with the next of the given answers, and any further
// submission with the last one. An answer is an HTTP status with a body ("CODE BODY"), or "cut" to close the
// connection. It returns the URL, the number of requests so far, the last request, and the body of the last request.
func restServer(t *testing.T, answers ...string) (url string, asked *atomic.Int32, last *http.Request, body *[]byte) {
	t.Helper()
	asked, last, body = new(atomic.Int32), new(http.Request), new([]byte)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(asked.Add(1)) - 1
		*last = *r
		*body, _ = io.ReadAll(r.Body)
		code, text, _ := strings.Cut(answers[min(n, len(answers)-1)], " ")
		if code == "cut" {
			panic(http.ErrAbortHandler)
		}
		w.WriteHeader(map[string]int{"200": 200, "400": 400, "401": 401, "500": 500}[code])
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked, last, body
}

func restAdapter(t *testing.T, url string) *Adapter {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("SLURM_JWT=secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := DefaultConfig()
	c.Rest, c.TokenFile = url, path
	return testAdapter(t, c)
}

func TestRest_ASubmission(t *testing.T) {
	url, asked, last, body := restServer(t, `200 {"errors":[],"job_id":3056}`)
	r, err := restAdapter(t, url).Submit(t.Context(), restBulk())
	if err != nil || r.ID != "3056" || asked.Load() != 1 {
		t.Fatalf("%+v, error %v, asked %d times", r, err, asked.Load())
	}
	if last.URL.Path != "/slurm/v0.0.38/job/submit" || last.Header.Get("X-SLURM-USER-NAME") != "ann" ||
		last.Header.Get("X-SLURM-USER-TOKEN") != "secret" {
		t.Errorf("%s %v", last.URL, last.Header)
	}
	var got restSubmission
	if err := json.Unmarshal(*body, &got); err != nil {
		t.Fatal(err)
	}
	j := got.Job
	if j.Name != "jabc" || j.Array != "0-2" || j.CPUs != 2 || j.GRES != "gpu:1" || j.Minutes != 2 ||
		j.Environment["USER"] != "ann" ||
		!strings.HasPrefix(got.Script, "#!/bin/sh\n") {
		t.Errorf("%+v", got)
	}
}

func TestRest_OnlyWhatCertainlyDidNotHappenIsTriedAgain(t *testing.T) {
	tests := []struct {
		name    string
		answers []string
		kind    jjm.Kind
		asked   int32
	}{
		{"no such partition", []string{`500 {"errors":[{"error_code":2000,"error":"Invalid partition name specified"}]}`},
			jjm.Invalid, 1},
		{"it cannot read the request", []string{`400 {"errors":[{"error_code":9001,"error":"Failure during parsing"}]}`},
			jjm.Invalid, 1},
		{"the controller is down", []string{`500 {"errors":[{"error":"Unable to contact slurm controller (connect failure)"}]}`}, jjm.Busy, 1},
		{"the controller is slow", []string{`500 {"errors":[{"error":"Socket timed out on send/recv operation"}]}`},
			jjm.Ambiguous, 1},
		{"unknown trouble", []string{`500 {"errors":[{"error":"Unspecified error"}]}`}, jjm.Ambiguous, 1},
		{"the connection is cut", []string{"cut"}, jjm.Ambiguous, 1},
		{"no JSON", []string{"200 <html>"}, jjm.Ambiguous, 1},
		{"no id", []string{`200 {"errors":[]}`}, jjm.Ambiguous, 1},
		{"the token is refused", []string{"401 Authentication failure"}, jjm.Denied, 2},
		{"the token was old", []string{"401 Authentication failure", `200 {"job_id":7}`}, 0, 2},
	}
	for _, tt := range tests {
		url, asked, _, _ := restServer(t, tt.answers...)
		_, err := restAdapter(t, url).Submit(t.Context(), restBulk())
		if jjm.KindOf(err) != tt.kind || (err == nil) != (tt.kind == 0) || asked.Load() != tt.asked {
			t.Errorf("%s: error %v of kind %v, want %v; asked %d times, want %d", tt.name, err, jjm.KindOf(err), tt.kind,
				asked.Load(), tt.asked)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the token is told: %v", err)
		}
	}
}

func TestRest_NobodyListensIsBusy(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	for _, url := range []string{"http://" + l.Addr().String(), "unix:" + filepath.Join(t.TempDir(), "sock")} {
		_, err := restAdapter(t, url).Submit(t.Context(), restBulk())
		if !adapters.IsNotStarted(err) && (os.Geteuid() != 0 || !strings.HasPrefix(url, "unix:")) {
			t.Errorf("%s: error %v of kind %v", url, err, jjm.KindOf(err))
		}
	}
}

func TestRest_ADeadlineIsAmbiguous(t *testing.T) {
	reached := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		close(reached)
		<-r.Context().Done()
	}))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-reached; cancel() }()
	_, err := restAdapter(t, s.URL).Submit(ctx, restBulk())
	if jjm.KindOf(err) != jjm.Ambiguous {
		t.Errorf("error %v", err)
	}
}

func TestRest_TextThatJSONCannotCarryIsRefused(t *testing.T) {
	b := restBulk()
	b.Argv = append(b.Argv, "\xff")
	if _, err := restAdapter(t, "http://127.0.0.1:1").Submit(t.Context(), b); jjm.KindOf(err) != jjm.Invalid {
		t.Errorf("error %v", err)
	}
}
