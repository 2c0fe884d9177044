package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"jjm/internal/api/serve"
	"jjm/internal/api/server"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running returns a running job of the account that runs the test.
func running(id jjm.GridID) servertest.Job {
	return servertest.Job{UID: os.Getuid(), Status: wire.Status{Lookup: wire.Lookup{
		ID: id, Status: "running", GRAM: jjm.GRAMActive, Counts: wire.Counts{Expected: 2, Total: 2, Running: 2}}}}
}

// raw is a connection on which a test can send any bytes.
type raw struct {
	*net.UnixConn
	r *bufio.Reader
}

func dial(t *testing.T, socket string) raw {
	t.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(await.Guard(2 * time.Minute))); err != nil {
		t.Fatal(err)
	}
	u := c.(*net.UnixConn)
	return raw{u, bufio.NewReader(u)}
}

func (c raw) say(t *testing.T, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

// answer is an answer of any verb. It has the members that the tests read.
type answer struct {
	wire.Reply
	Version string
	Submit  *wire.Submitted
	Lookup  []wire.Lookup
	Kill    []wire.Killed
	Status  []wire.Status
	Record  []string
	Log     []string
	Output  *wire.Output
	Bytes   int64
}

func (c raw) answer(t *testing.T) (a answer) {
	t.Helper()
	line, err := wire.ReadLine(c.r, wire.MaxAnswer, nil)
	if err != nil {
		t.Fatalf("read the answer: %v", err)
	}
	if err := json.Unmarshal(line, &a); err != nil || !a.OK && a.Error == nil {
		t.Fatalf("answer %.200s: %v", line, err)
	}
	return a
}

func ask(t *testing.T, socket, line string) answer {
	t.Helper()
	c := dial(t, socket)
	c.say(t, line+"\n")
	return c.answer(t)
}

// eventually waits until ok returns true. what describes the awaited condition in the message of a failure.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	await.True(t, what, ok)
}

func TestGate_AnswersEveryVerb(t *testing.T) {
	f := servertest.New()
	j := running(7)
	j.Record, j.Log = []string{"<gridjob id=\"7\"/>"}, []string{"accepted"}
	f.Put(j)
	f.Version = "1.2"
	s := servertest.Serve(t, f.Verbs(), server.Config{}, nil)
	for _, c := range []struct {
		line string
		ok   func(answer) bool
	}{
		{`{"verb":"ping"}`, func(a answer) bool { return a.Version == "1.2" }},
		{`{"verb":"submit","submit":{"name":"a.toml","text":"jobs = 3","base_dir":"/"}}`,
			func(a answer) bool { return a.Submit.ID == 2 }},
		{`{"verb":"submit","submit":{"name":"a.toml","text":"jobs = 3","base_dir":"/","dry_run":true}}`,
			func(a answer) bool { return a.Submit.Plan.Jobs == 3 }},
		{`{"verb":"lookup","refs":["7","99"]}`, func(a answer) bool {
			return a.Lookup[0].GRAM == jjm.GRAMActive && a.Lookup[1].Error.Kind == jjm.Gone
		}},
		{`{"verb":"status","refs":["7"]}`, func(a answer) bool { return a.Status[0].Lookup.ID == 7 }},
		{`{"verb":"list"}`, func(a answer) bool { return len(a.Status) == 2 }},
		{`{"verb":"list","list":{"limit":1}}`, func(a answer) bool { return len(a.Status) == 1 }},
		{`{"verb":"record","refs":["7"],"path":"gridjob"}`, func(a answer) bool { return len(a.Record) == 1 }},
		{`{"verb":"log","refs":["7"]}`, func(a answer) bool { return a.Log[0] == "accepted" }},
		{`{"verb":"kill","refs":["7"]}`, func(a answer) bool { return a.Kill[0].Ref == "7" && a.Kill[0].Error == nil }},
	} {
		if a := ask(t, s.Socket, c.line); !a.OK || !c.ok(a) {
			t.Errorf("%s: answer %+v", c.line, a)
		}
	}
}

func TestGate_RefusesBadRequestsWithAReason(t *testing.T) {
	f := servertest.New()
	s := servertest.Serve(t, f.Verbs(), server.Config{}, nil)
	for _, c := range []struct{ name, line, want string }{
		{"garbage", "GET / HTTP/1.1", "want one JSON object"},
		{"NUL", "\x00\x00\x00", "invalid character"},
		{"invalid UTF-8", "{\"verb\":\"\xff\xfe\"}", "not UTF-8"},
		{"unknown verb", `{"verb":"destroy"}`, "want ping, submit, lookup, kill, select, status"},
		{"unknown member", `{"verb":"lookup","ids":["1"]}`, "unknown member"},
		{"a local job in lookup", `{"verb":"lookup","refs":["1.2"]}`, "want a grid job"},
		{"traversal in an id", `{"verb":"record","refs":["../../etc"]}`, "want 12, 12.3"},
		{"all local jobs in cat", `{"verb":"cat","refs":["1.*"],"file":"stdout"}`, "want one local job"},
		{"empty line", "", "want one JSON object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := ask(t, s.Socket, c.line)
			if a.OK || a.Error.Kind != jjm.Invalid || !strings.Contains(a.Error.Text, c.want) {
				t.Errorf("answer %+v", a.Error)
			}
		})
	}
	a := ask(t, s.Socket, `{"verb":"submit","submit":{"name":"j.toml","text":"bad","base_dir":"/"}}`)
	if len(a.Error.Problems) != 2 || a.Error.Problems[1].Field != "params.events" {
		t.Errorf("problems %+v", a.Error)
	}
	if f.Jobs() != 0 {
		t.Errorf("%d jobs were made", f.Jobs())
	}
}

func TestGate_CallerComesFromTheKernel(t *testing.T) {
	var got server.Caller
	ping := serve.Handle(wire.VerbPing(), serve.Anyone,
		func(_ context.Context, c server.Caller, _ wire.PingRequest) (wire.PingAnswer, error) {
			got = c
			return wire.PingAnswer{}, nil
		})
	s := servertest.Serve(t, []serve.Verb{ping}, server.Config{UserName: func(int) string { return "alice" }}, nil)
	ask(t, s.Socket, `{"verb":"ping"}`)
	want := server.Caller{UID: os.Getuid(), GID: os.Getgid(), PID: os.Getpid(), User: "alice", Admin: true}
	if got != want {
		t.Errorf("caller %+v, want %+v", got, want)
	}
}

func TestGate_PanicEndsItsRequestOnly(t *testing.T) {
	f := servertest.New()
	f.Hook = func(_ context.Context, verb string) error {
		if verb == "status" {
			panic("a defect")
		}
		return nil
	}
	var logged safeBuilder
	s := servertest.Serve(t, f.Verbs(), server.Config{}, slog.New(slog.NewTextHandler(&logged, nil)))
	a := ask(t, s.Socket, `{"verb":"status","refs":["1"]}`)
	if a.OK || a.Error.Kind != jjm.Internal {
		t.Errorf("answer %+v", a)
	}
	if a := ask(t, s.Socket, `{"verb":"ping"}`); !a.OK {
		t.Errorf("after a panic: %+v", a.Error)
	}
	if !strings.Contains(logged.String(), "a request caused a panic") || !strings.Contains(logged.String(), "servertest") {
		t.Errorf("the log does not show the panic and its stack: %s", logged.String())
	}
}

type safeBuilder struct {
	mu sync.Mutex
	b  strings.Builder
}

func (s *safeBuilder) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *safeBuilder) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

func TestGate_AClosedConnectionCancelsItsRequest(t *testing.T) {
	f := servertest.New()
	began, ended := make(chan struct{}), make(chan error, 1)
	f.Hook = func(ctx context.Context, verb string) error {
		close(began)
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	}
	s := servertest.Serve(t, f.Verbs(), server.Config{}, nil)
	c := dial(t, s.Socket)
	c.say(t, `{"verb":"list"}`+"\n")
	<-began
	_ = c.Close()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("ctx ended with %v", err)
		}
	case <-time.After(await.Guard(time.Minute)):
		t.Fatal("the request was not cancelled")
	}
}

// A daemon that hung for a while reads requests whose clients have closed the connection long ago. It does not carry
// out these requests.
func TestGate_DoesNotStartARequestWhoseClientHasClosed(t *testing.T) {
	f := servertest.New()
	verbs := make(chan string, 2)
	f.Hook = func(_ context.Context, verb string) error {
		verbs <- verb
		return nil
	}
	dir, err := os.MkdirTemp("", "jjm")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	socket := filepath.Join(dir, "s")
	l, err := server.Listen(socket, server.Config{})
	if err != nil {
		t.Fatal(err)
	}
	gone, there := dial(t, socket), dial(t, socket)
	gone.say(t, `{"verb":"kill","refs":["1"]}`+"\n")
	_ = gone.Close()
	there.say(t, `{"verb":"list"}`+"\n")
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- server.New(f.Verbs(), server.Config{}, discard()).Serve(ctx, l) }()
	if a := there.answer(t); !a.OK {
		t.Errorf("answer %+v", a.Error)
	}
	stop()
	if err := <-over; err != nil { // Serve returns after all sessions have ended
		t.Error(err)
	}
	close(verbs)
	for verb := range verbs {
		if verb != "list" {
			t.Errorf("the daemon did the %s of a client that had gone", verb)
		}
	}
}

func TestGate_HalfClosedClientGetsItsAnswer(t *testing.T) {
	f := servertest.New()
	began, goOn := make(chan struct{}), make(chan struct{})
	f.Hook = func(ctx context.Context, _ string) error {
		close(began)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-goOn:
			return nil
		}
	}
	s := servertest.Serve(t, f.Verbs(), server.Config{}, nil)
	c := dial(t, s.Socket)
	c.say(t, `{"verb":"list"}`+"\n")
	if err := c.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	<-began
	// pause: longer than the time between two checks of the connection
	time.AfterFunc(300*time.Millisecond, func() { close(goOn) })
	if a := c.answer(t); !a.OK {
		t.Errorf("answer %+v", a.Error)
	}
}

func TestGate_AnswersBusyAfterTheAnswerTime(t *testing.T) {
	f := servertest.New()
	f.Hook = func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() }
	s := servertest.Serve(t, f.Verbs(), server.Config{AnswerTime: jjm.Duration(30 * time.Millisecond)}, nil)
	if a := ask(t, s.Socket, `{"verb":"list"}`); a.OK || a.Error.Kind != jjm.Busy {
		t.Errorf("answer %+v", a.Error)
	}
	a := ask(t, s.Socket, `{"verb":"submit","submit":{"name":"a","text":"x","base_dir":"/"}}`)
	if a.OK || a.Error.Kind != jjm.Ambiguous || !strings.Contains(a.Error.Text, "request key") {
		t.Errorf("answer %+v", a.Error)
	}
}

func TestGate_WatchSendsChangesUntilTheEnd(t *testing.T) {
	f := servertest.New()
	f.Put(running(1))
	s := servertest.Serve(t, f.Verbs(), server.Config{}, nil)
	c := dial(t, s.Socket)
	c.say(t, `{"verb":"wait","refs":["1"]}`+"\n")
	if a := c.answer(t); a.Last || a.Status[0].Lookup.Status != "running" {
		t.Fatalf("first answer %+v", a)
	}
	f.Change(1, func(j *servertest.Job) { j.Status.Lookup.Counts.Completed = 1 })
	if a := c.answer(t); a.Last || a.Status[0].Lookup.Counts.Completed != 1 {
		t.Fatalf("second answer %+v", a)
	}
	f.Change(1, func(j *servertest.Job) { j.Status.Lookup.Status = "done" })
	c.answer(t)
	if a := c.answer(t); !a.Last || a.Status[0].Lookup.Status != "done" {
		t.Fatalf("last answer %+v", a)
	}
	if _, err := c.r.ReadByte(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last line: %v", err)
	}
	if a := ask(t, s.Socket, `{"verb":"wait","refs":["9"]}`); a.Error == nil || a.Error.Kind != jjm.Gone || !a.Last {
		t.Errorf("an unknown job: %+v", a)
	}
}

func TestGate_OutputIsALineAndThenTheBytes(t *testing.T) {
	f := servertest.New()
	j := running(1)
	j.Tar = []byte(strings.Repeat("0123456789", 100_000))
	f.Put(j)
	s := servertest.Serve(t, f.Verbs(), server.Config{}, nil)
	if a := ask(t, s.Socket, `{"verb":"output","refs":["1"]}`); a.Error == nil || a.Error.Kind != jjm.Conflict {
		t.Errorf("of a running job: %+v", a)
	}
	partial := dial(t, s.Socket)
	partial.say(t, `{"verb":"output","refs":["1"],"partial":true}`+"\n")
	if a := partial.answer(t); a.Bytes != -1 || !a.Output.Partial {
		t.Errorf("partial: %+v", a)
	}
	if b, err := io.ReadAll(partial.r); err != nil || string(b) != string(j.Tar) {
		t.Errorf("partial: %d bytes, error %v", len(b), err)
	}
	f.Change(1, func(j *servertest.Job) { j.Status.Lookup.Status = "done" })
	c := dial(t, s.Socket)
	c.say(t, `{"verb":"output","refs":["1"]}`+"\n")
	if a := c.answer(t); a.Bytes != 1_000_000 || a.Output.Name != "jjm-1.tar" {
		t.Errorf("answer %+v", a)
	}
	if b, err := io.ReadAll(c.r); err != nil || string(b) != string(j.Tar) {
		t.Errorf("%d bytes, error %v", len(b), err)
	}
}

func TestGate_CatFollowsAFileUntilItsJobIsOver(t *testing.T) {
	f := servertest.New()
	j := running(1)
	j.Live, j.Files = true, map[string]string{"0/stdout": "one\n"}
	f.Put(j)
	s := servertest.Serve(t, f.Verbs(), server.Config{}, nil)
	c := dial(t, s.Socket)
	c.say(t, `{"verb":"cat","refs":["1.0"],"file":"stdout","follow":true}`+"\n")
	if a := c.answer(t); !a.OK || a.Bytes != -1 {
		t.Fatalf("answer %+v", a)
	}
	line := func() string { s, _ := c.r.ReadString('\n'); return s }
	if got := line(); got != "one\n" {
		t.Fatalf("first line %q", got)
	}
	f.Change(1, func(j *servertest.Job) { j.Files["0/stdout"] += "two\n" })
	if got := line(); got != "two\n" {
		t.Fatalf("second line %q", got)
	}
	f.Change(1, func(j *servertest.Job) { j.Files["0/stdout"] += "three\n"; j.Live = false })
	if rest, err := io.ReadAll(c.r); err != nil || string(rest) != "three\n" {
		t.Fatalf("rest %q, error %v", rest, err)
	}
	if a := ask(t, s.Socket, `{"verb":"cat","refs":["1.0"],"file":"glf"}`); a.Error == nil || a.Error.Kind != jjm.Gone {
		t.Errorf("a file that is not there: %+v", a)
	}
}

func TestGate_CatFollowsAFileThatIsNotThereYet(t *testing.T) {
	for _, text := range []string{"late\n", ""} { // "": nothing is ever written to the file
		f := servertest.New()
		j := running(1)
		j.Live, j.Files = true, map[string]string{}
		f.Put(j)
		s := servertest.Serve(t, f.Verbs(), server.Config{}, nil)
		a := ask(t, s.Socket, `{"verb":"cat","refs":["1.0"],"file":"stdout"}`)
		if a.Error == nil || a.Error.Kind != jjm.Gone {
			t.Errorf("without follow: %+v", a)
		}
		c := dial(t, s.Socket)
		c.say(t, `{"verb":"cat","refs":["1.0"],"file":"stdout","follow":true}`+"\n")
		if a := c.answer(t); !a.OK || a.Bytes != -1 {
			t.Fatalf("answer %+v", a)
		}
		f.Change(1, func(j *servertest.Job) {
			if j.Live = false; text != "" {
				j.Files["0/stdout"] = text
			}
		})
		if got, err := io.ReadAll(c.r); err != nil || string(got) != text {
			t.Errorf("followed %q, error %v; want %q", got, err, text)
		}
	}
}

func TestServe_StopEndsStreamsAtOnceAndLetsRequestsFinish(t *testing.T) {
	f := servertest.New()
	f.Put(running(1))
	inList, goOn := make(chan struct{}), make(chan struct{})
	f.Hook = func(_ context.Context, verb string) error {
		if verb == "list" {
			close(inList)
			<-goOn
		}
		return nil
	}
	s := servertest.Serve(t, f.Verbs(), server.Config{}, nil)
	wait, list, idle := dial(t, s.Socket), dial(t, s.Socket), dial(t, s.Socket)
	wait.say(t, `{"verb":"wait","refs":["1"]}`+"\n")
	wait.answer(t)
	list.say(t, `{"verb":"list"}`+"\n")
	idle.say(t, `{"verb":`)
	<-inList
	stopped := make(chan struct{})
	go func() { s.Stop(); close(stopped) }()
	if a := wait.answer(t); a.Error == nil || a.Error.Kind != jjm.Busy || !strings.Contains(a.Error.Text, "stopping") {
		t.Errorf("a stream was told %+v", a)
	}
	if a := idle.answer(t); a.Error == nil || a.Error.Kind != jjm.Busy {
		t.Errorf("half a request was told %+v", a)
	}
	close(goOn)
	if a := list.answer(t); !a.OK {
		t.Errorf("a running request was told %+v", a.Error)
	}
	<-stopped
	if _, err := net.Dial("unix", s.Socket); err == nil {
		t.Error("the socket still answers")
	}
	if _, err := os.Lstat(s.Socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket file is left: %v", err)
	}
}

func TestServe_StopCutsRequestsThatOutliveTheDrainTime(t *testing.T) {
	f := servertest.New()
	began := make(chan struct{})
	f.Hook = func(ctx context.Context, _ string) error { close(began); <-ctx.Done(); return ctx.Err() }
	s := servertest.Serve(t, f.Verbs(), server.Config{Drain: jjm.Duration(20 * time.Millisecond)}, nil)
	c := dial(t, s.Socket)
	c.say(t, `{"verb":"list"}`+"\n")
	<-began
	go s.Stop()
	if a := c.answer(t); a.Error == nil || a.Error.Kind != jjm.Busy || !strings.Contains(a.Error.Text, "stopping") {
		t.Errorf("answer %+v", a)
	}
	s.Stop()
}

func TestGate_RefusesClientsOfOtherVersions(t *testing.T) {
	second := wire.VerbPing()
	second.Version = 2
	ping := serve.Handle(second, serve.Anyone,
		func(context.Context, server.Caller, wire.PingRequest) (wire.PingAnswer, error) {
			return wire.PingAnswer{Version: "9"}, nil
		})
	s := servertest.Serve(t, []serve.Verb{ping}, server.Config{Version: "2.1"}, nil)
	for _, c := range []struct {
		line string
		kind jjm.Kind
		want string
	}{
		{`{"verb":"ping"}`, jjm.Invalid, "the client speaks version 1 of this verb, the daemon version 2: use the jjm"},
		{`{"verb":"ping","v":3}`, jjm.Busy, "the client speaks version 3 of this verb, the daemon version 2: restart"},
		{`{"verb":"pong"}`, jjm.Invalid, `unknown verb "pong": did you mean "ping"?`},
		{`{"verb":"destroy"}`, jjm.Invalid, "the daemon is jjm 2.1: if the client is newer, restart the daemon"},
	} {
		a := ask(t, s.Socket, c.line)
		if a.OK || a.Error.Kind != c.kind || !strings.Contains(a.Error.Text, c.want) {
			t.Errorf("%s: answer %+v, want %v with %q", c.line, a.Error, c.kind, c.want)
		}
	}
	if a := ask(t, s.Socket, `{"verb":"ping","v":2}`); !a.OK || a.Version != "9" {
		t.Errorf("the same version: answer %+v", a)
	}
}

func TestGate_PassesEveryOutcomeToTheObserver(t *testing.T) {
	type outcome struct {
		verb string
		kind jjm.Kind
	}
	seen := make(chan outcome, 10)
	f := servertest.New()
	s := servertest.Serve(t, f.Verbs(), server.Config{
		Observe: func(verb string, err error) { seen <- outcome{verb, jjm.KindOf(err)} }}, nil)
	for _, c := range []struct {
		line string
		want outcome
	}{
		{`{"verb":"list"}`, outcome{"list", jjm.Unclassified}},
		{`{"verb":"record","refs":["99"],"path":"/gridjob"}`, outcome{"record", jjm.Gone}},
		{`{"verb":"nonsense"}`, outcome{"", jjm.Invalid}},
	} {
		a := ask(t, s.Socket, c.line)
		if got := <-seen; got != c.want {
			t.Errorf("%s: observed %+v, want %+v; the answer: %+v", c.line, got, c.want, a.Error)
		}
	}
}
