package engine_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// submitBy returns an action that submits a job file under a request key, as submitAs, for another caller than alice.
func submitBy(who wire.Caller, key, text string) func(*stage) error {
	return func(s *stage) error {
		got, err := s.trySubmit(who, key, text)
		if err == nil {
			s.ids[key] = got.ID
		}
		return err
	}
}

func ban(b wire.Ban) func(*stage) error {
	return func(s *stage) error {
		_, err := s.engine.Ban(context.Background(), admin, &b)
		return err
	}
}

func TestBan_RefusesKillsAndOutlivesTheDaemon(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: time.Hour, Slots: 12}}, func(t *testing.T, w *world) {
		mine := w.submit(alice, mc(4))
		s, err := w.trySubmit(bob, "k", mc(4))
		w.must(err)
		waits := w.submit(bob, mc(9))
		w.until(10*time.Minute, "some of bob's run", func() bool {
			return w.lookup(s.ID).Counts.Running+w.lookup(waits).Counts.Running >= 4
		})
		got, err := w.engine.Ban(t.Context(), admin, &wire.Ban{Name: "bob", Reason: "mines coins"})
		w.must(err)
		if !slices.Equal(got.Killed, []jjm.GridID{s.ID, waits}) || len(got.Bans) != 1 || got.Bans[0].UID != admin.UID {
			t.Errorf("banned: %+v", got)
		}
		w.reopen()
		refused := func() {
			t.Helper()
			_, err := w.trySubmit(bob, "new", mc(1))
			if jjm.KindOf(err) != jjm.Denied ||
				!strings.Contains(err.Error(), "user bob (uid 70001) is banned by admin (uid ") ||
				!strings.Contains(err.Error(), "mines coins") {
				t.Errorf("a new grid job: %v", err)
			}
			_, err = w.engine.Submit(t.Context(), bob, wire.Submit{Name: "j.toml", Text: mc(1), BaseDir: w.dir, DryRun: true})
			if jjm.KindOf(err) != jjm.Denied {
				t.Errorf("a dry run: %v", err)
			}
		}
		refused()
		if again, err := w.trySubmit(bob, "k", mc(4)); err != nil || again.ID != s.ID || !again.Existed {
			t.Errorf("the same submission again: %+v, %v", again, err)
		}
		if l := w.lookup(s.ID); !strings.Contains(l.Message, "its owner is banned: mines coins") {
			t.Errorf("while it is killed: %q", l.Message)
		}
		w.final(3*time.Hour, mine, s.ID, waits)
		if l := w.lookup(s.ID); !strings.HasPrefix(l.Message, "its owner is banned: mines coins; 4 local jobs") &&
			!strings.HasPrefix(l.Message, "its owner is banned: mines coins; 0 of 4 local jobs done") {
			t.Errorf("once it is over: %q", l.Message)
		}
		w.verify(mine, done(4))
		w.verify(s.ID, ends(jjm.Aborted, 4, endsOf(4, jjm.Killed)))
		w.verify(waits, ends(jjm.Aborted, 9, endsOf(9, jjm.Killed)))
		refused()
		history, err := w.engine.History(t.Context(), admin, jjm.Ref{Grid: s.ID}, 0)
		w.must(err)
		if !slices.ContainsFunc(history, func(en jjm.JournalEntry) bool {
			return en.To == "aborting" && strings.Contains(en.Cause, "mines coins") &&
				en.Actor == jjm.ActorOf("admin", admin.UID)
		}) {
			t.Errorf("history of the killed: %+v", history)
		}
		lifted, err := w.engine.Ban(t.Context(), admin, &wire.Ban{Name: "bob", Lift: true, Reason: "he is sorry"})
		if err != nil || len(lifted.Bans) != 1 || lifted.Bans[0].Reason != "mines coins" {
			t.Errorf("lifted: %+v, %v", lifted, err)
		}
		w.reopen()
		w.submit(bob, mc(1))
		journal, err := w.store.History(t.Context(), jjm.Ref{}, 0)
		if err != nil || len(journal) != 2 || journal[0].To != "banned" || journal[1].To != "admitted" ||
			journal[0].Actor != jjm.ActorOf("admin", admin.UID) || journal[0].Cause != "user bob (uid 70001): mines coins" ||
			journal[1].Cause != "user bob (uid 70001): he is sorry" {
			t.Errorf("journal: %+v, %v", journal, err)
		}
	})
}

// A ban and many submissions of the banned account happen at the same time. Whichever comes first, no local job of the
// account is left to run.
func TestBan_LeavesNoGapForSubmissionsAtTheSameTime(t *testing.T) {
	t.Parallel()
	inWorld(t, options{sim: adaptertest.SimConfig{Life: time.Hour}}, func(t *testing.T, w *world) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		var taken []jjm.GridID
		for i := range 30 {
			wg.Go(func() {
				if i == 15 {
					if _, err := w.engine.Ban(context.Background(), admin, &wire.Ban{Name: "bob", Reason: "x"}); err != nil {
						t.Error(err)
					}
					return
				}
				if s, err := w.trySubmit(bob, "", mc(1)); err == nil {
					mu.Lock()
					defer mu.Unlock()
					taken = append(taken, s.ID)
				} else if jjm.KindOf(err) != jjm.Denied {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, id := range taken {
			job, err := w.store.Grid(t.Context(), id)
			if err != nil || !job.Kill {
				t.Errorf("grid job %s goes on: %v", id, err)
			}
		}
	})
}

func TestBan_IsForAdministratorsAndNotOfThemselves(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		for _, b := range []*wire.Ban{nil, {Name: "alice", Reason: "x"}, {Name: "alice", Lift: true}} {
			if got, err := w.engine.Ban(t.Context(), bob, b); jjm.KindOf(err) != jjm.Denied || got.Bans != nil {
				t.Errorf("bob, %+v: %+v, %v", b, got, err)
			}
		}
		for _, name := range []string{"root", admin.User} {
			if _, err := w.engine.Ban(t.Context(), admin, &wire.Ban{Name: name, Reason: "x"}); jjm.KindOf(err) != jjm.Invalid {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got, err := w.engine.Ban(t.Context(), admin, &wire.Ban{Name: "nobody", Lift: true}); err != nil ||
			got.Bans != nil {
			t.Errorf("no ban to lift: %+v, %v", got, err)
		}
		got, err := w.engine.Ban(t.Context(), admin, nil)
		if err != nil || len(got.Bans) != 0 {
			t.Errorf("bans: %+v, %v", got, err)
		}
	})
}

// A ban is stored with the UID of the account, so it also holds if the account has a second name.
func TestBan_ComparesTheUID(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		robert := bob
		robert.User = "robert"
		refused := func(why string) {
			t.Helper()
			for _, who := range []wire.Caller{bob, robert} {
				if _, err := w.trySubmit(who, "", mc(1)); jjm.KindOf(err) != jjm.Denied {
					t.Errorf("%s: %s: %v", why, who.User, err)
				}
			}
		}
		if _, err := w.engine.Ban(t.Context(), admin,
			&wire.Ban{Name: "nosuch", Reason: "x"}); jjm.KindOf(err) != jjm.Invalid {
			t.Errorf("an unknown account: %v", err)
		}
		_, err := w.engine.Ban(t.Context(), admin, &wire.Ban{Name: "Robert", Reason: "x"})
		w.must(err)
		refused("banned by the second name")
		if got, err := w.engine.Ban(t.Context(), admin, &wire.Ban{Name: "70001", Lift: true}); err != nil ||
			len(got.Bans) != 1 {
			t.Errorf("lifted by number: %+v, %v", got, err)
		}
	})
}

func TestBan_OfADNHoldsInEveryNotation(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		_, err := w.engine.Ban(t.Context(), admin, &wire.Ban{Name: "/DC=org/CN=Mallory/Email=m@x.org", Reason: "x"})
		w.must(err)
		for _, subject := range []string{"emailAddress=M@x.org,CN=Mallory,DC=org",
			"/dc=org/cn=mallory/E=m@x.org/CN=limited proxy",
			`E=#16076D40782E6F7267,CN=\4dallory, DC=org`} {
			req := wire.Submit{Name: "j.toml", Text: mc(1), BaseDir: w.dir, Origin: &jjm.Origin{Subject: subject}}
			if _, err := w.engine.Submit(t.Context(), bob, req); jjm.KindOf(err) != jjm.Denied {
				t.Errorf("%s: %v", subject, err)
			}
		}
	})
}
