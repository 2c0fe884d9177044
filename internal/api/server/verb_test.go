package server

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/serve"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

func TestRank_AdmitsItsCallers(t *testing.T) {
	alice, admin := Caller{UID: 1001, User: "alice"}, Caller{Admin: true}
	asks, changes := wire.OrderRequest{}, wire.OrderRequest{Order: &wire.Order{}}
	silent := wire.PingRequest{} // a request without the method Changes
	for _, c := range []struct {
		rank   serve.Rank
		caller Caller
		req    wire.Request
		want   bool
	}{
		{serve.Anyone, alice, changes, true},
		{serve.Owners, alice, changes, true}, // the function of the verb checks the owner
		{serve.AnyoneReads, alice, asks, true},
		{serve.AnyoneReads, alice, changes, false},
		{serve.AnyoneReads, alice, silent, false},
		{serve.AnyoneReads, admin, changes, true},
		{serve.Administrators, alice, asks, false},
		{serve.Administrators, admin, changes, true},
		{0, admin, asks, false},
	} {
		if got := c.rank.Admits(c.caller, c.req); got != c.want {
			t.Errorf("%s, administrator %v, %+v: %v, want %v", c.rank, c.caller.Admin, c.req, got, c.want)
		}
	}
}

func TestDo_ChecksTheRankBeforeItCallsTheVerb(t *testing.T) {
	done := false
	reset := serve.Handle(wire.VerbReset(), serve.Administrators,
		func(context.Context, Caller, wire.ResetRequest) (wire.None, error) {
			done = true
			return wire.None{}, nil
		})
	line := []byte(`{"verb":"reset","cluster":"slurm"}`)
	head, err := wire.DecodeHead(line)
	if err != nil {
		t.Fatal(err)
	}
	asked, err := reset.Read(head, line)
	if err != nil {
		t.Fatal(err)
	}
	req := &request{reset, asked}
	c := &session{Server: New(nil, Config{}, slog.New(slog.DiscardHandler)), caller: Caller{UID: 1001, User: "alice"}}
	err = c.do(t.Context(), t.Context(), req)
	if jjm.KindOf(err) != jjm.Denied || !strings.Contains(err.Error(), "reset: alice is no administrator") || done {
		t.Errorf("error %v, carried out %v", err, done)
	}
}

func TestContext_HasTheTimeLimitOfTheVerb(t *testing.T) {
	stopping, stop := context.WithCancel(t.Context())
	stop()
	cfg := Config{AnswerTime: jjm.Duration(time.Hour)}
	for _, c := range []struct {
		name    string
		verb    serve.Verb
		bounded time.Duration // 0: no limit
		ends    bool          // whether the request ends when the daemon stops
	}{
		{"an answer", serve.Verb{}, time.Hour, false},
		{"a shorter one", serve.Verb{}.Within(time.Minute), time.Minute, false},
		{"none is longer than the daemon's", serve.Verb{}.Within(2 * time.Hour), time.Hour, false},
		{"a stream", serve.Verb{Streams: true}, 0, true},
		{"one that is finished", serve.Verb{Streams: true}.Finishing(), 0, false},
	} {
		before := time.Now()
		ctx, cancel := limited(stopping, t.Context(), c.verb, cfg)
		after := time.Now()
		deadline, has := ctx.Deadline()
		early, late := deadline.Before(before.Add(c.bounded)), deadline.After(after.Add(c.bounded))
		if has != (c.bounded > 0) || has && (early || late) {
			t.Errorf("%s: bounded %v, by %v, want %v", c.name, has, deadline.Sub(before), c.bounded)
		}
		if c.ends {
			<-ctx.Done()
		}
		if got := ctx.Err() != nil; got != c.ends || c.ends && jjm.KindOf(context.Cause(ctx)) != jjm.Busy {
			t.Errorf("%s: ended %v, want %v", c.name, got, c.ends)
		}
		cancel()
	}
}

func TestNew_TheLaterOfTwoVerbsCounts(t *testing.T) {
	ping := func(who serve.Rank) serve.Verb {
		return serve.Handle(wire.VerbPing(), who, func(context.Context, Caller, wire.PingRequest) (
			wire.PingAnswer, error) {
			return wire.PingAnswer{}, nil
		})
	}
	s := New([]serve.Verb{ping(serve.Anyone), ping(serve.Administrators)}, Config{}, slog.New(slog.DiscardHandler))
	if len(s.known) != 1 || s.verbs["ping"].Who != serve.Administrators {
		t.Errorf("known %v, rank %v", s.known, s.verbs["ping"].Who)
	}
}
