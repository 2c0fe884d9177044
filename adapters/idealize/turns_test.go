package idealize_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"jjm/adapters"
	"jjm/adapters/idealize"
	"jjm/internal/jjm"
)

// manySteps is an idealized adapter whose listing takes n commands of the given length,
// under a ceiling.
func manySteps(steps, ceiling int, took time.Duration) (*scripted, adapters.Adapter) {
	s := &scripted{play: always(took, nil), steps: func(v idealize.Verb) int {
		if v == idealize.List {
			return steps
		}
		return 1
	}}
	return s, idealize.Wrap(s, settings(func(c *idealize.Config) { c.CommandsPerMinute = ceiling }), idealize.Deps{})
}

// wantAt checks when the commands started, relative to the first.
func wantAt(t *testing.T, s *scripted, want ...time.Duration) {
	t.Helper()
	ran := s.ran()
	if len(ran) != len(want) {
		t.Fatalf("%d commands, want %d", len(ran), len(want))
	}
	for i, b := range ran {
		if at := b.at.Sub(ran[0].at); at != want[i] {
			t.Errorf("command %d began after %v, want %v", i, at, want[i])
		}
	}
}

func TestTurns_EveryCommandOfACallWaits(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, a := manySteps(5, 3, 0) // one of the three commands per minute is reserved for cancels
		if err := ask(t.Context(), a, idealize.List, ""); err != nil {
			t.Error(err)
		}
		wantAt(t, s, 0, 0, time.Minute, time.Minute, 2*time.Minute)
		if st := status(a); st.Used != 1 || st.Running != 0 || st.Waiting != 0 {
			t.Errorf("%+v", st)
		}
	})
}

func TestTurns_WaitingDoesNotUseUpTheCommandsTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, a := manySteps(3, 3, 9*time.Second) // three commands of 9 s fit into the 30 s that a call may take
		if err := ask(t.Context(), a, idealize.List, ""); err != nil {
			t.Error(err)
		}
		wantAt(t, s, 0, 9*time.Second, time.Minute)
	})
	inBubble(t, func(t *testing.T) {
		s, a := manySteps(5, 3, 9*time.Second)
		err := ask(t.Context(), a, idealize.List, "")
		if jjm.KindOf(err) != jjm.Busy || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("four commands of 9 s within 30 s: %v", err)
		}
		wantAt(t, s, 0, 9*time.Second, time.Minute, 69*time.Second)
	})
}

func TestTurns_ACallThatHasItsPlaceComesBeforeANewOne(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, a := manySteps(3, 3, time.Second)
		over := make(chan error, 2)
		go func() { over <- ask(t.Context(), a, idealize.List, "") }()
		time.Sleep(500 * time.Millisecond)
		go func() { over <- ask(t.Context(), a, idealize.Find, "") }() // its second command must wait for the next minute
		time.Sleep(time.Second)
		go func() { over <- ask(t.Context(), a, idealize.Account, "") }()
		synctest.Wait()
		if st := status(a); st.Running != 1 || st.Waiting != 2 {
			t.Errorf("%+v", st)
		}
		for range 3 {
			if err := <-over; err != nil {
				t.Error(err)
			}
		}
		var verbs []idealize.Verb
		for _, b := range s.ran() {
			verbs = append(verbs, b.verb)
		}
		if len(verbs) != 5 || verbs[1] != idealize.Find || verbs[2] != idealize.List {
			t.Errorf("commands %v", verbs)
		}
	})
}

func TestTurns_ACancelGoesBeforeTheNextCommandOfACall(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		_, a := manySteps(9, 3, 0)
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan error, 1)
		go func() { over <- ask(ctx, a, idealize.List, "") }()
		synctest.Wait()
		began := time.Now()
		if err := ask(t.Context(), a, idealize.Control, ""); err != nil || time.Since(began) > 0 {
			t.Errorf("it waited %v, error %v", time.Since(began), err)
		}
		cancel()
		if err := <-over; jjm.KindOf(err) != jjm.Busy || !errors.Is(err, context.Canceled) {
			t.Errorf("the call whose caller went away: %v", err)
		}
		if st := status(a); st.Running != 0 || st.Waiting != 0 {
			t.Errorf("%+v", st)
		}
	})
}

func TestTurns_RealCommandsAreCounted(t *testing.T) {
	a := idealize.Wrap(several{&scripted{play: always(0, nil)}}, settings(nil), idealize.Deps{})
	if err := ask(t.Context(), a, idealize.List, ""); err != nil {
		t.Fatal(err)
	}
	if st := status(a); st.Used != 3 {
		t.Errorf("%d commands counted, want 3", st.Used)
	}
}

// several is an adapter whose listing runs three real commands.
type several struct{ *scripted }

func (several) List(ctx context.Context, _ jjm.Owner, _ time.Time) (adapters.Listing, error) {
	for range 3 {
		if _, err := (adapters.CLI{}).Run(ctx, nil, "true"); err != nil {
			return adapters.Listing{}, err
		}
	}
	return adapters.Listing{}, nil
}
