package engine_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
)

// trySubmit submits a job file under a request key.
func (w *world) trySubmit(c wire.Caller, key, text string) (wire.Submitted, error) {
	return w.engine.Submit(context.Background(), c, wire.Submit{Name: "job.toml", Text: text, BaseDir: w.dir, Key: key})
}

func TestKey_TheSameKeyIsTheSameGridJob(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		var wg sync.WaitGroup
		var mu sync.Mutex
		ids := map[jjm.GridID]int{}
		fresh := 0
		for range 50 {
			wg.Go(func() {
				s, err := w.trySubmit(alice, "k1", mc(2))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				ids[s.ID]++
				if !s.Existed {
					fresh++
				}
			})
		}
		wg.Wait()
		if len(ids) != 1 || fresh != 1 {
			t.Errorf("ids %v, %d of them new", ids, fresh)
		}
		other, err := w.trySubmit(bob, "k1", mc(1))
		w.must(err)
		if ids[other.ID] > 0 || other.Existed {
			t.Errorf("another owner's key gives %+v", other)
		}
		second, err := w.trySubmit(alice, "k2", mc(1))
		w.must(err)
		w.final(time.Hour, 1, other.ID, second.ID)
		if s, err := w.trySubmit(alice, "k1", mc(3)); err != nil || ids[s.ID] == 0 || !s.Existed {
			t.Errorf("after the end: %+v, %v", s, err)
		}
		w.reopen()
		if s, err := w.trySubmit(alice, "k1", mc(3)); err != nil || ids[s.ID] == 0 || !s.Existed {
			t.Errorf("after reopening: %+v, %v", s, err)
		}
		w.verifyQuiet()
	})
}

func TestKey_IsFreeAgainAfterACancelOnlyIfTheCallerSaysSo(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"killed a moment ago", "killed and archived"} {
		t.Run(when, func(t *testing.T) {
			inWorld(t, options{sim: adaptertest.SimConfig{Life: time.Hour}}, func(t *testing.T, w *world) {
				first, err := w.trySubmit(alice, "k", mc(2))
				w.must(err)
				w.pass(time.Minute)
				if s, err := w.trySubmit(alice, "k", mc(2, `key = "k"`, "key_reuse = true")); err != nil || s.ID != first.ID {
					t.Errorf("before the kill: %+v, %v", s, err)
				}
				w.kill(first.ID.String())
				if when != "killed a moment ago" {
					w.final(time.Hour, first.ID)
				}
				if s, err := w.trySubmit(alice, "k", mc(2)); err != nil || s.ID != first.ID {
					t.Errorf("without key_reuse: %+v, %v", s, err)
				}
				second, err := w.trySubmit(alice, "k", mc(2, `key = "k"`, "key_reuse = true"))
				if err != nil || second.Existed || second.ID == first.ID {
					t.Errorf("with key_reuse: %+v, %v", second, err)
				}
				if s, err := w.trySubmit(alice, "k", mc(2)); err != nil || s.ID != second.ID || !s.Existed {
					t.Errorf("again: %+v, %v", s, err)
				}
				w.final(3*time.Hour, first.ID, second.ID)
				w.verify(first.ID, ends(jjm.Aborted, 2, endsOf(2, jjm.Killed)))
				w.verify(second.ID, done(2))
				w.verifyQuiet()
			})
		})
	}
}

func TestDryRun_DecidesAndLeavesNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		w.pass(time.Second)
		before := w.rows(t)
		s, err := w.engine.Submit(context.Background(), alice,
			wire.Submit{Name: "j.toml", Text: mc(25), BaseDir: w.dir, Key: "k", DryRun: true})
		w.must(err)
		if s.ID != 0 || s.Plan == nil || s.Plan.Jobs != 25 || len(s.Plan.Parts) != 10 || len(s.Plan.Commands) != 10 ||
			s.Plan.Cluster != "sim" {
			t.Errorf("%+v, plan %+v", s, s.Plan)
		}
		if got := fmt.Sprint(s.Plan.Commands[1]); got != "[run 11 10]" {
			t.Errorf("second command: %s", got)
		}
		w.pass(time.Minute)
		if after := w.rows(t); after != before {
			t.Errorf("a dry run left something:\n%s\nbefore:\n%s", after, before)
		}
	})
}

func TestKey_OfTheCommandIsCheckedLikeThatOfTheFile(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		for _, key := range []string{"a b", "a\nb", "\u00e6", strings.Repeat("k", 257)} {
			if s, err := w.trySubmit(alice, key, mc(1)); jjm.KindOf(err) != jjm.Invalid ||
				!strings.Contains(err.Error(), "key: ") {
				t.Errorf("key %.20q: %+v, %v", key, s, err)
			}
		}
		s, err := w.trySubmit(alice, "k", "key_reuse = true\n"+mc(1))
		w.must(err)
		w.final(time.Hour, s.ID)
	})
}

func TestRefusal_NamesAllProblemsAndLeavesNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"unknown type": {"type = \"mount\"\n[params]\n", []string{"montecarlo", "script"}},
		"not TOML":     {"type = ", []string{"job.toml"}},
		"empty":        {"", []string{"type"}},
		"two mistakes": {"type = \"montecarlo\"\n[params]\ncommand = [\"run\"]\nevents = -1\nevents_per_jobs = 3\n",
			[]string{"events", "events_per_job"}},
		"too many":         {mc(100_001), []string{"100000"}},
		"missing input":    {mc(1, "[[inputs]]", `path = "nowhere"`), []string{"inputs[0].path", "nowhere"}},
		"input is a pipe":  {mc(1, "[[inputs]]", `path = "pipe"`), []string{"inputs[0].path", "regular"}},
		"unknown cluster":  {mc(1, `clusters = ["moon"]`), []string{"moon", "sim"}},
		"NUL in a command": {strings.Replace(mc(1), `"run"`, `"ru\u0000n"`, 1), []string{"command"}},
		"of the file, the type and the site": {"type = \"montecarlo\"\noutptus = []\ncluster = \"moon\"\n[[inputs]]\npath = \"nowhere\"\n[params]\nevents = 0\n",
			[]string{"5 problems", "job.toml:2: outptus", "job.toml:3: cluster: ", "moon", "nowhere", "params.command",
				"params.events"}},
		"of an unknown type and a bad file": {"type = \"mount\"\nmode = \"x\"\n",
			[]string{"job.toml:1: type", "job.toml:2: mode"}},
		"request too large": {mc(1, "[request]", "cores = 1000000000"), []string{"cores"}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, options{}, func(t *testing.T, w *world) {
				w.must(syscall.Mkfifo(filepath.Join(w.dir, "pipe"), 0o644))
				w.pass(time.Second)
				before := w.rows(t)
				_, err := w.trySubmit(alice, "k", test.text)
				if jjm.KindOf(err) != jjm.Invalid {
					if name == "request too large" && err == nil {
						return // the simulation does not limit requests
					}
					t.Fatalf("error %v, kind %s", err, jjm.KindOf(err))
				}
				for _, word := range test.want {
					if !strings.Contains(err.Error(), word) {
						t.Errorf("%q does not say %q", err, word)
					}
				}
				w.pass(time.Minute)
				if after := w.rows(t); after != before {
					t.Errorf("a refusal left something:\n%s\nbefore:\n%s", after, before)
				}
			})
		})
	}
}

func TestInput_ThatIsGoneBeforeThePreparationBreaksTheGridJob(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		file := filepath.Join(w.dir, "cards.txt")
		w.must(os.WriteFile(file, []byte("x"), 0o644))
		c := w.crash
		c.mu.Lock()
		c.on = func(point string) {
			if point == "accept.after-commit" {
				os.Remove(file)
			}
		}
		c.mu.Unlock()
		s, err := w.trySubmit(alice, "", mc(3, "[[inputs]]", `path = "cards.txt"`))
		w.must(err)
		w.final(time.Hour, s.ID)
		l := w.lookup(s.ID)
		if !strings.Contains(l.Message, "cards.txt") {
			t.Errorf("message %q", l.Message)
		}
		w.verify(s.ID, want{status: jjm.Broken, gram: jjm.GRAMFailed, jobs: 0})
		w.verifyQuiet()
	})
}

func TestSubmit_ADeadContextStoresNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		w.pass(time.Second)
		before := w.rows(t)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := w.engine.Submit(ctx, alice, wire.Submit{Name: "j.toml", Text: mc(1), BaseDir: w.dir})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if after := w.rows(t); after != before {
			t.Errorf("left:\n%s\nbefore:\n%s", after, before)
		}
	})
}

// A repeated submission with the same request key returns its grid job, even if the site would refuse it by now,
// because the gatekeeper may not have got the first answer. A submission with another key is refused.
func TestKey_ARepeatedSubmissionIsNotExaminedAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		cards := filepath.Join(w.dir, "cards")
		w.must(os.WriteFile(cards, []byte("x"), 0o600))
		text := mc(2, `inputs = [{path = "cards"}]`)
		first, err := w.trySubmit(alice, "k", text)
		w.must(err)
		w.must(os.Remove(cards))
		if again, err := w.trySubmit(alice, "k", text); err != nil || !again.Existed || again.ID != first.ID ||
			again.Handle != first.Handle {
			t.Errorf("repeated: %+v, %v", again, err)
		}
		if _, err := w.trySubmit(alice, "other", text); err == nil || !strings.Contains(err.Error(), "inputs[0].path") {
			t.Errorf("another submission: %v", err)
		}
	})
}
