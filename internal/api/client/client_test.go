package client_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"jjm/internal/api/client"
	"jjm/internal/api/server"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func job(id jjm.GridID, status string) servertest.Job {
	l := wire.Lookup{ID: id, Status: status, GRAM: jjm.GRAMActive}
	return servertest.Job{UID: os.Getuid(), Status: wire.Status{Lookup: l}}
}

func submit(t *testing.T, c *client.Client, text string) (wire.SubmitAnswer, error) {
	t.Helper()
	req := wire.SubmitRequest{Submit: &wire.Submit{Text: text, BaseDir: "/"}}
	return client.Call(t.Context(), c, wire.VerbSubmit(), req)
}

func TestCall_AnswersAndClassifiesErrors(t *testing.T) {
	f := servertest.New()
	f.Version = "v"
	f.Put(job(1, "running"))
	c := client.Client{Socket: servertest.Serve(t, f.Verbs(), server.Config{}, nil).Socket}
	a, err := client.Call(t.Context(), &c, wire.VerbPing(), wire.PingRequest{})
	if err != nil || a.Version != "v" {
		t.Errorf("ping: %+v, %v", a, err)
	}
	_, err = client.Call(t.Context(), &c, wire.VerbRecord(), wire.RecordRequest{One: wire.OneRef("9")})
	if jjm.KindOf(err) != jjm.Gone {
		t.Errorf("an unknown job: %v", err)
	}
	_, err = submit(t, &c, "bad")
	var ps jjm.Problems
	if !errors.As(err, &ps) || len(ps) != 2 {
		t.Errorf("a bad job file: %v", err)
	}
	if _, err := submit(t, &c, strings.Repeat("x", wire.MaxRequest)); jjm.KindOf(err) != jjm.Invalid {
		t.Errorf("too long a request: %v", err)
	}
}

func TestCall_FindsNoDaemon(t *testing.T) {
	for _, path := range []string{"/no/such/jjm.sock", "", "/" + strings.Repeat("s", 200), "/dev/null"} {
		c := client.Client{Socket: path}
		if _, err := client.Call(t.Context(), &c, wire.VerbPing(), wire.PingRequest{}); !client.IsUnreachable(err) {
			t.Errorf("%.40q: error %v", path, err)
		}
	}
}

func TestCall_RepeatsARequestToABusyDaemon(t *testing.T) {
	f := servertest.New()
	var calls atomic.Int32
	f.Hook = func(context.Context, string) error {
		if calls.Add(1) < 3 {
			return jjm.Errorf(jjm.Busy, "not now")
		}
		return nil
	}
	c := client.Client{Socket: servertest.Serve(t, f.Verbs(), server.Config{}, nil).Socket}
	if _, err := client.Call(t.Context(), &c, wire.VerbList(), wire.ListRequest{}); err != nil || calls.Load() != 3 {
		t.Errorf("error %v after %d calls", err, calls.Load())
	}
	calls.Store(-1 << 20)
	c.Timeout = await.Provoked(250 * time.Millisecond)
	if _, err := client.Call(t.Context(), &c, wire.VerbList(), wire.ListRequest{}); jjm.KindOf(err) != jjm.Busy {
		t.Errorf("a daemon that stays busy: %v", err)
	}
}

// silent starts a server that reads a line from each connection, and then hangs or closes the connection. It returns
// the path of the socket.
func silent(t *testing.T, hang bool) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "jjm")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = bufio.NewReader(c).ReadString('\n')
			if hang {
				_, _ = io.Copy(io.Discard, c)
			}
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-over; _ = os.RemoveAll(dir) })
	return path
}

func TestCall_DaemonThatHangsOrDiesIsUnreachable(t *testing.T) {
	for _, hang := range []bool{true, false} {
		c := client.Client{Socket: silent(t, hang), Timeout: await.Provoked(250 * time.Millisecond)}
		if _, err := client.Call(t.Context(), &c, wire.VerbList(), wire.ListRequest{}); !client.IsUnreachable(err) {
			t.Errorf("hang %v: list: %v", hang, err)
		}
		for command, req := range map[string]wire.KillRequest{
			"jjm status 17": {Many: wire.Refs("17.3")}, "jjm list": {Many: wire.Refs("17", "18")},
		} {
			_, err := client.Call(t.Context(), &c, wire.VerbKill(), req)
			if !client.IsUnreachable(err) || !strings.HasPrefix(err.Error(), "the request was sent, but the daemon at ") ||
				!strings.Contains(err.Error(), "it is not known whether the request was carried out: "+command+" shows it") {
				t.Errorf("hang %v: kill: %v", hang, err)
			}
		}
		dry := wire.KillRequest{Many: wire.Refs("17"), KillHow: wire.KillHow{DryRun: true}}
		if _, err := client.Call(t.Context(), &c, wire.VerbKill(), dry); !strings.Contains(err.Error(), "no daemon answers") {
			t.Errorf("hang %v: a dry run: %v", hang, err)
		}
		_, err := submit(t, &c, "x")
		if jjm.KindOf(err) != jjm.Ambiguous || !strings.Contains(err.Error(), "request key") {
			t.Errorf("hang %v: submit: %v", hang, err)
		}
	}
}

func TestCall_EndsWithItsContext(t *testing.T) {
	c := client.Client{Socket: silent(t, true)}
	ctx, cancel := context.WithTimeout(t.Context(), await.Provoked(30*time.Millisecond))
	defer cancel()
	if _, err := client.Call(ctx, &c, wire.VerbList(), wire.ListRequest{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

func TestWatch_ReturnsEveryLineAndReportsALostDaemon(t *testing.T) {
	f := servertest.New()
	f.Put(job(1, "running"))
	s := servertest.Serve(t, f.Verbs(), server.Config{}, nil)
	c := client.Client{Socket: s.Socket}
	req := wire.WaitRequest{Many: wire.Refs("1")}
	var seen []string
	err := client.Watch(t.Context(), &c, wire.VerbWait(), req, func(a wire.StatusAnswer) error {
		seen = append(seen, a.Status[0].Lookup.Status)
		f.Change(1, func(j *servertest.Job) { j.Status.Lookup.Status = "done" })
		return nil
	})
	if err != nil || strings.Join(seen, " ") != "running done done" {
		t.Errorf("saw %v, error %v", seen, err)
	}
	f.Put(job(1, "running"))
	err = client.Watch(t.Context(), &c, wire.VerbWait(), req, func(wire.StatusAnswer) error { s.Stop(); return nil })
	if jjm.KindOf(err) != jjm.Busy {
		t.Errorf("a stopping daemon: %v", err)
	}
	if err := client.Watch(t.Context(), &c, wire.VerbWait(), req, nil); !client.IsUnreachable(err) {
		t.Errorf("no daemon: %v", err)
	}
	s.Start()
	ctx, cancel := context.WithCancel(t.Context())
	err = client.Watch(ctx, &c, wire.VerbWait(), req, func(wire.StatusAnswer) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestOpen_ReturnsTheBytesAndReportsMissingOnes(t *testing.T) {
	f := servertest.New()
	j := job(1, "done")
	j.Tar = []byte(strings.Repeat("tar", 1000))
	f.Put(j)
	c := client.Client{Socket: servertest.Serve(t, f.Verbs(), server.Config{}, nil).Socket}
	a, r, err := client.Open(t.Context(), &c, wire.VerbOutput(), wire.OutputRequest{One: wire.OneRef("1")})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(r); err != nil || int64(len(b)) != a.Bytes || string(b) != string(j.Tar) {
		t.Errorf("%d bytes, error %v", len(b), err)
	}
	_ = r.Close()
	_, _, err = client.Open(t.Context(), &c, wire.VerbOutput(), wire.OutputRequest{One: wire.OneRef("2")})
	if jjm.KindOf(err) != jjm.Gone {
		t.Errorf("an unknown job: %v", err)
	}
	c.Socket = scripted(t, `{"ok":true,"bytes":100,"output":{"name":"x"}}`+"\nshort")
	_, r, err = client.Open(t.Context(), &c, wire.VerbOutput(), wire.OutputRequest{One: wire.OneRef("1")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if _, err := io.ReadAll(r); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("missing bytes: %v", err)
	}
}

// scripted starts a server that answers one connection with a text, and returns the path of the socket.
func scripted(t *testing.T, text string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "jjm")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		if c, err := l.Accept(); err == nil {
			_, _ = bufio.NewReader(c).ReadString('\n')
			_, _ = io.WriteString(c, text)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-over; _ = os.RemoveAll(dir) })
	return path
}

func TestCall_OtherTextAsAnswerIsInternal(t *testing.T) {
	for _, text := range []string{"hello\n", "{}\n", "[1]\n"} {
		c := client.Client{Socket: scripted(t, text)}
		if _, err := client.Call(t.Context(), &c, wire.VerbPing(), wire.PingRequest{}); jjm.KindOf(err) != jjm.Internal {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// If the daemon leaves out a member of its answer, the error is of kind Internal, and the client does not panic.
func TestCall_AnswerWithoutItsMemberIsInternal(t *testing.T) {
	c := client.Client{Socket: scripted(t, `{"ok":true}`+"\n")}
	if _, err := submit(t, &c, "x"); jjm.KindOf(err) != jjm.Internal || !strings.Contains(err.Error(), "member submit") {
		t.Errorf("error %v", err)
	}
}

// A dry run stores nothing, so after a lost answer the error is not Ambiguous.
func TestCall_LostDryRunIsUnreachable(t *testing.T) {
	c := client.Client{Socket: silent(t, false), Timeout: await.Guard(4 * time.Minute)}
	req := wire.SubmitRequest{Submit: &wire.Submit{Text: "x", BaseDir: "/", DryRun: true}}
	_, err := client.Call(t.Context(), &c, wire.VerbSubmit(), req)
	if !client.IsUnreachable(err) || jjm.KindOf(err) == jjm.Ambiguous {
		t.Errorf("error %v", err)
	}
}

func TestPlace_FindsTheDaemon(t *testing.T) {
	for _, c := range []struct {
		name          string
		p             client.Place
		env           map[string]string
		state, socket string
	}{
		{"told", client.Place{State: "/s", Socket: "/k"}, nil, "/s", "/k"},
		{"a state told outranks the variable", client.Place{State: "/s"}, map[string]string{"JJM_SOCKET": "/k"}, "/s",
			"/s/jjm.sock"},
		{"variables", client.Place{}, map[string]string{"JJM_STATE": "/e", "JJM_SOCKET": "/k"}, "/e", "/k"},
		{"state variable", client.Place{}, map[string]string{"JJM_STATE": "/e"}, "/e", "/e/jjm.sock"},
		{"XDG", client.Place{}, map[string]string{"XDG_STATE_HOME": "/x", "HOME": "/h"}, "/x/jjm", "/x/jjm/jjm.sock"},
		{"a relative XDG is ignored", client.Place{}, map[string]string{"XDG_STATE_HOME": "x", "HOME": "/h"},
			"/h/.local/state/jjm", "/h/.local/state/jjm/jjm.sock"},
		{"home", client.Place{}, map[string]string{"HOME": "/h"}, "/h/.local/state/jjm", "/h/.local/state/jjm/jjm.sock"},
	} {
		if _, err := os.Stat("/var/lib/jjm"); err == nil && c.p.State == "" && c.env["JJM_STATE"] == "" {
			continue // a machine with an installed jjm has this folder
		}
		c.p.Getenv = func(k string) string { return c.env[k] }
		if got := c.p.StateDir(); got != c.state {
			t.Errorf("%s: state %q, want %q", c.name, got, c.state)
		}
		if got := c.p.SocketPath(); got != c.socket {
			t.Errorf("%s: socket %q, want %q", c.name, got, c.socket)
		}
	}
	p := client.Place{State: "/s", Getenv: func(string) string { return "" }}
	if got := p.RecordsDir(); got != "/s/records" {
		t.Errorf("records %q", got)
	}
}
