package server_test

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"jjm/internal/api/server"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/servertest"
)

func TestHostile_EndlessLineIsRefusedEarly(t *testing.T) {
	s := servertest.Serve(t, servertest.New().Verbs(), server.Config{}, nil)
	c := dial(t, s.Socket)
	block := []byte(strings.Repeat("x", 1<<20))
	sent := 0
	for sent < 100<<20 {
		n, err := c.Write(block)
		sent += n
		if err != nil {
			break // the server closed the connection
		}
	}
	if sent > 2*wire.MaxRequest {
		t.Errorf("the server read %d bytes", sent)
	}
	if a := c.answer(t); a.Error == nil || a.Error.Kind != jjm.Invalid || !strings.Contains(a.Error.Text, "longer than") {
		t.Errorf("answer %+v", a)
	}
}

// patient is a time limit of the server that only a hang reaches.
var patient = jjm.Duration(await.Guard(time.Minute))

func TestHostile_AnIncompleteRequestTimesOut(t *testing.T) {
	soon := server.Config{RequestTime: jjm.Duration(50 * time.Millisecond)}
	s := servertest.Serve(t, servertest.New().Verbs(), soon, nil)
	c := dial(t, s.Socket)
	_, _ = io.WriteString(c, `{"verb":"pi`) // on a busy machine the server has already closed the connection
	if a := c.answer(t); a.Error == nil || !strings.Contains(a.Error.Text, "line was not complete after 50 ms") {
		t.Errorf("answer %+v", a)
	}
}

func TestHostile_ARequestWithoutItsNewlineIsRefused(t *testing.T) {
	s := servertest.Serve(t, servertest.New().Verbs(), server.Config{RequestTime: patient}, nil)
	ended := dial(t, s.Socket)
	ended.say(t, `{"verb":"ping"}`)
	if err := ended.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if a := ended.answer(t); a.Error == nil || !strings.Contains(a.Error.Text, "without its newline") {
		t.Errorf("answer %+v", a)
	}
}

func TestHostile_TextAfterTheRequestIsIgnored(t *testing.T) {
	s := servertest.Serve(t, servertest.New().Verbs(), server.Config{}, nil)
	c := dial(t, s.Socket)
	c.say(t, "{\"verb\":\"ping\"}\n{\"verb\":\"kill\",\"refs\":[\"1\"]}\n\x00\xff")
	if a := c.answer(t); !a.OK {
		t.Errorf("answer %+v", a.Error)
	}
	if rest, _ := io.ReadAll(c.r); len(rest) != 0 {
		t.Errorf("a second answer: %q", rest)
	}
}

func TestHostile_ConnectionsAboveTheLimitAreAnsweredBusy(t *testing.T) {
	cfg := server.Config{Connections: 10, RequestTime: patient}
	s := servertest.Serve(t, servertest.New().Verbs(), cfg, nil)
	// The ping may be counted before the silent connections, so that one of the silent connections is refused instead.
	// Therefore each round opens a new silent connection until all are in use.
	var refused answer
	eventually(t, "a refusal", func() bool {
		dial(t, s.Socket)
		c := dial(t, s.Socket)
		_, _ = io.WriteString(c, "{\"verb\":\"ping\"}\n")
		refused = c.answer(t)
		return !refused.OK
	})
	if refused.Error.Kind != jjm.Busy || !strings.Contains(refused.Error.Text, "10 connections") {
		t.Errorf("told %+v", refused.Error)
	}
}

func TestHostile_ThousandsOfConnectionsDoNotStopTheGate(t *testing.T) {
	const conns, others = 400, 8
	s := servertest.Serve(t, servertest.New().Verbs(), server.Config{Connections: 64}, nil)
	before := runtime.NumGoroutine()
	ctx, dialer := await.Context(t, time.Minute), net.Dialer{}
	var wg sync.WaitGroup
	var reached atomic.Int32
	for range others {
		wg.Go(func() {
			for range conns {
				c, err := dialer.DialContext(ctx, "unix", s.Socket)
				if err != nil {
					continue
				}
				if _, err := io.WriteString(c, `{"verb":"lookup","re`); err == nil {
					reached.Add(1)
				}
				_ = c.Close()
			}
		})
	}
	wg.Wait()
	if n := reached.Load(); n < conns {
		t.Errorf("only %d of %d connections said anything: the attack did not take place", n, conns*others)
	}
	eventually(t, "a ping is answered", func() bool { return ask(t, s.Socket, `{"verb":"ping"}`).OK })
	eventually(t, "no seat is kept by who has left", func() bool {
		all := make([]raw, 60)
		for i := range all {
			all[i] = dial(t, s.Socket)
			defer all[i].Close()
		}
		return ask(t, s.Socket, `{"verb":"ping"}`).OK
	})
	eventually(t, "the goroutines of who has left end", func() bool { return runtime.NumGoroutine() <= before+80 })
}

func TestHostile_AClientThatDoesNotReadIsCutOffAndOthersGoOn(t *testing.T) {
	f := servertest.New()
	j := running(1)
	j.Tar = make([]byte, 16<<20)
	j.Status.Lookup.Status = "done"
	f.Put(j)
	s := servertest.Serve(t, f.Verbs(), server.Config{WriteTime: jjm.Duration(50 * time.Millisecond)}, nil)
	c := dial(t, s.Socket)
	c.say(t, `{"verb":"output","refs":["1"]}`+"\n")
	if a := ask(t, s.Socket, `{"verb":"ping"}`); !a.OK {
		t.Errorf("answer %+v", a.Error)
	}
	eventually(t, "the sleeper is cut off", func() bool {
		_, err := c.Write([]byte("x"))
		return err != nil
	})
	if a := c.answer(t); !a.OK {
		t.Fatalf("answer %+v", a.Error)
	}
	if n, _ := io.Copy(io.Discard, c.r); n >= 16<<20 {
		t.Errorf("all %d bytes came", n)
	}
}

func TestHostile_LongAnswersShareOneBudget(t *testing.T) {
	f := servertest.New()
	j := running(1)
	j.Log = []string{strings.Repeat("l", 3<<20)}
	f.Put(j)
	s := servertest.Serve(t, f.Verbs(), server.Config{MemoryMB: 5, WriteTime: patient}, nil)
	first := dial(t, s.Socket)
	first.say(t, `{"verb":"log","refs":["1"]}`+"\n")
	if _, err := first.r.Peek(1); err != nil { // the server now writes the first answer
		t.Fatal(err)
	}
	if a := ask(t, s.Socket, `{"verb":"log","refs":["1"]}`); a.Error == nil || a.Error.Kind != jjm.Busy {
		t.Errorf("a second long answer beyond the budget: ok %v", a.OK)
	}
	if a := ask(t, s.Socket, `{"verb":"lookup","refs":["1"]}`); !a.OK {
		t.Errorf("a short one: %+v", a.Error)
	}
	if a := first.answer(t); !a.OK || len(a.Log[0]) != 3<<20 {
		t.Errorf("the first: %+v", a.Error)
	}
	eventually(t, "the budget is given back", func() bool { return ask(t, s.Socket, `{"verb":"log","refs":["1"]}`).OK })
}

func TestHostile_LongRequestsShareOneBudget(t *testing.T) {
	s := servertest.Serve(t, servertest.New().Verbs(), server.Config{MemoryMB: 4}, nil)
	c := dial(t, s.Socket)
	go func() { _, _ = io.WriteString(c, strings.Repeat("x", 2<<20)) }()
	if a := c.answer(t); a.Error == nil || a.Error.Kind != jjm.Busy {
		t.Errorf("answer %+v", a)
	}
	if a := ask(t, s.Socket, `{"verb":"ping"}`); !a.OK {
		t.Errorf("afterwards: %+v", a.Error)
	}
}

func TestHostile_AVerbThatIgnoresItsContextDoesNotBlockTheStop(t *testing.T) {
	f := servertest.New()
	began, goOn := make(chan struct{}), make(chan struct{})
	f.Hook = func(context.Context, string) error { close(began); <-goOn; return nil }
	cfg := server.Config{Drain: jjm.Duration(10 * time.Millisecond)}
	dir := servertest.Serve(t, servertest.New().Verbs(), cfg, nil)
	l, err := server.Listen(dir.Socket+"2", cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- server.New(f.Verbs(), cfg, discard()).Serve(ctx, l) }()
	c := dial(t, dir.Socket+"2")
	c.say(t, `{"verb":"list"}`+"\n")
	<-began
	stop()
	if err := <-over; jjm.KindOf(err) != jjm.Internal || !strings.Contains(err.Error(), "still run") {
		t.Errorf("Serve ended with %v", err)
	}
	close(goOn)
}

func TestServe_ListenerThatFailsEndsIt(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- server.New(servertest.New().Verbs(), server.Config{}, discard()).Serve(t.Context(), l) }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := <-over; jjm.KindOf(err) != jjm.Internal {
		t.Errorf("a TCP listener: %v", err)
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	err = server.New(servertest.New().Verbs(), server.Config{}, discard()).Serve(t.Context(), closed)
	if !errors.Is(err, net.ErrClosed) {
		t.Errorf("a closed listener: %v", err)
	}
}
