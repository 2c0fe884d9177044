package adaptertest

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// clock is a clock that a test moves.
type clock struct{ now time.Time }

func newClock() *clock {
	return &clock{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

func (c *clock) Now() time.Time              { return c.now }
func (c *clock) pass(d time.Duration)        { c.now = c.now.Add(d) }
func (c *clock) at(d time.Duration) jjm.Time { return jjm.At(newClock().now.Add(d)) }

var ann = jjm.Owner{UID: 1000, GID: 1000, User: "ann"}

func simBulkOf(tag jjm.Tag, n int) adapters.Bulk {
	return adapters.Bulk{Tag: tag, Owner: ann, N: n, Argv: []string{"/bin/true"}, Dir: "/"}
}

func submitted(t *testing.T, s *Sim, tag jjm.Tag, n int) adapters.Receipt {
	t.Helper()
	r, err := s.Submit(t.Context(), simBulkOf(tag, n))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func listed(t *testing.T, s *Sim) []jjm.Report {
	t.Helper()
	l, err := s.List(t.Context(), ann, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return l.Reports
}

func TestSim_JobsRunInOrderForTheirTimeInTheirSlots(t *testing.T) {
	c := newClock()
	s := NewSim(SimConfig{Now: c.Now, Slots: 2, Life: 10 * time.Second})
	submitted(t, s, "a", 3)
	s.Step()
	c.pass(25 * time.Second) // the third job started at 10 s, not at the present time
	got := listed(t, s)
	type span struct{ started, ended jjm.Time }
	want := []span{{c.at(0), c.at(10 * time.Second)}, {c.at(0), c.at(10 * time.Second)},
		{c.at(10 * time.Second), c.at(20 * time.Second)}}
	for i, r := range got {
		if (span{r.Started, r.Ended}) != want[i] || r.State != jjm.BatchEndedOK || r.ID != fmt.Sprintf("sim1_%d", i) {
			t.Errorf("%+v", r)
		}
	}
}

func TestSim_ScriptsDecideHowJobsEnd(t *testing.T) {
	c := newClock()
	s := NewSim(SimConfig{Now: c.Now, Life: time.Minute, Wait: time.Second, Play: func(j SimJob) Play {
		return map[int32]Play{
			0: {}, 1: {Exit: 7}, 2: {Signal: 9}, 3: {State: jjm.BatchOOM, Reason: "out of memory"}, 4: {Life: time.Hour},
		}[j.Index]
	}})
	submitted(t, s, "a", 5)
	c.pass(62 * time.Second)
	got := listed(t, s)
	want := []jjm.Report{
		{State: jjm.BatchEndedOK}, {State: jjm.BatchEndedFailed, Exit: 7},
		{State: jjm.BatchEndedFailed, Exit: 137, Signal: 9},
		{State: jjm.BatchOOM, Reason: "out of memory"}, {State: jjm.BatchRunning},
	}
	for i, r := range got {
		if (jjm.Report{State: r.State, Exit: r.Exit, Signal: r.Signal, Reason: r.Reason}) != want[i] {
			t.Errorf("%+v", r)
		}
	}
}

func TestSim_SubmitFaults(t *testing.T) {
	tests := []struct {
		fault    Fault
		kind     jjm.Kind
		presence adapters.Presence
	}{
		{Accept, jjm.Unclassified, adapters.Present},
		{LoseReply, jjm.Ambiguous, adapters.Present},
		{LoseRequest, jjm.Ambiguous, adapters.Absent},
		{Refuse, jjm.Invalid, adapters.Absent},
		{SayBusy, jjm.Busy, adapters.Absent},
		{Deny, jjm.Denied, adapters.Absent},
	}
	for _, tt := range tests {
		c := newClock()
		s := NewSim(SimConfig{Now: c.Now, Settle: time.Minute})
		s.OnSubmit(tt.fault)
		_, err := s.Submit(t.Context(), simBulkOf("a", 1))
		if jjm.KindOf(err) != tt.kind || (err == nil) != (tt.fault == Accept) {
			t.Errorf("fault %d: error %v", tt.fault, err)
		}
		find := func() adapters.Presence {
			found, err := s.Find(t.Context(), ann, []jjm.Tag{"a"})
			if err != nil {
				t.Fatal(err)
			}
			return found[0].Presence
		}
		if tt.kind == jjm.Ambiguous && find() != adapters.NotYetKnown {
			t.Errorf("fault %d: known before it settled", tt.fault)
		}
		c.pass(time.Minute)
		if got := find(); got != tt.presence {
			t.Errorf("fault %d: presence %d, want %d", tt.fault, got, tt.presence)
		}
		if _, err := s.Submit(t.Context(), simBulkOf("b", 1)); err != nil {
			t.Errorf("fault %d: the next one: %v", tt.fault, err)
		}
	}
}

func TestSim_ASecondSubmitDoublesUnlessIdempotent(t *testing.T) {
	for idempotent, want := range map[bool][]string{false: {"sim1", "sim2"}, true: {"sim1"}} {
		s := NewSim(SimConfig{Now: newClock().Now, Idempotent: idempotent})
		submitted(t, s, "a", 1)
		submitted(t, s, "a", 1)
		found, err := s.Find(t.Context(), ann, []jjm.Tag{"a"})
		if err != nil || !reflect.DeepEqual(found[0].IDs, want) {
			t.Errorf("idempotent %v: %+v, error %v", idempotent, found, err)
		}
	}
}

func TestSim_LieAffectsTheNextListingsOnly(t *testing.T) {
	s := NewSim(SimConfig{Now: newClock().Now})
	submitted(t, s, "a", 3)
	s.Lie(2, func(j SimJob) bool { return j.Index == 1 })
	for i, want := range []int{2, 2, 3} {
		if got := len(listed(t, s)); got != want {
			t.Errorf("listing %d has %d jobs, want %d", i, got, want)
		}
	}
	s.Lie(1, nil)
	if got := len(listed(t, s)); got != 0 {
		t.Errorf("%d jobs", got)
	}
}

func TestSim_WhileDownEveryCallIsBusyAndJobsGoOn(t *testing.T) {
	c := newClock()
	s := NewSim(SimConfig{Now: c.Now, Life: time.Minute})
	submitted(t, s, "a", 1)
	s.Down(2 * time.Minute)
	_, err1 := s.Submit(t.Context(), simBulkOf("b", 1))
	_, err2 := s.List(t.Context(), ann, time.Time{})
	_, err3 := s.Find(t.Context(), ann, nil)
	_, err4 := s.Account(t.Context(), ann, nil)
	_, err5 := s.Control(t.Context(), ann, adapters.Cancel, nil)
	for i, err := range []error{err1, err2, err3, err4, err5} {
		if jjm.KindOf(err) != jjm.Busy {
			t.Errorf("call %d: %v", i, err)
		}
	}
	c.pass(2 * time.Minute)
	if r := listed(t, s)[0]; r.State != jjm.BatchEndedOK || r.Ended != c.at(time.Minute) {
		t.Errorf("%+v", r)
	}
}

func TestSim_AContextThatEndedStopsTheCall(t *testing.T) {
	s := NewSim(SimConfig{Now: newClock().Now})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Submit(ctx, simBulkOf("a", 1)); jjm.KindOf(err) != jjm.Busy {
		t.Error(err)
	}
	if s.Calls().Bulks != 0 {
		t.Error("it was taken all the same")
	}
}

func TestSim_TroubleInTheBatchSystem(t *testing.T) {
	c := newClock()
	s := NewSim(SimConfig{Now: c.Now, Life: time.Hour, Slots: 4})
	r := submitted(t, s, "a", 6) // jobs 0 to 3 run, jobs 4 and 5 wait
	ref := func(i int32) adapters.Ref { return adapters.Ref{Tag: "a", ID: r.ID, Index: i} }
	s.Step()
	s.HoldInBatch("JobHeld", ref(5))
	s.Vanish(ref(0))
	s.Abort("node lost", ref(1))
	s.CancelInBatch(ref(2))
	s.Requeue(ref(3))
	c.pass(time.Second)
	got := map[int32]jjm.Report{}
	for _, r := range listed(t, s) {
		got[r.Index] = r
	}
	want := map[int32]jjm.Report{
		1: {State: jjm.BatchAborted, Reason: "node lost"},
		2: {State: jjm.BatchCancelled, Reason: "cancelled by an operator", Signal: 15},
		3: {State: jjm.BatchRunning, Restarts: 1}, 4: {State: jjm.BatchRunning}, 5: {State: jjm.BatchHold, Reason: "JobHeld"},
	}
	for i, r := range got {
		got[i] = jjm.Report{State: r.State, Reason: r.Reason, Restarts: r.Restarts, Signal: r.Signal}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	reports, err := s.Account(t.Context(), ann,
		[]adapters.Ref{ref(0), ref(1), ref(3), {Tag: "a", ID: r.ID + "_2", Index: -1}})
	if err != nil || len(reports) != 2 || reports[0].State != jjm.BatchAborted || reports[1].State != jjm.BatchCancelled {
		t.Errorf("accounted %+v, error %v", reports, err)
	}
}

func TestSim_ControlIsByOwnerAndIdempotent(t *testing.T) {
	c := newClock()
	s := NewSim(SimConfig{Now: c.Now, TwoPhase: true, Life: time.Minute})
	r := submitted(t, s, "a", 2)
	jobs := []adapters.Ref{{Tag: "a", ID: r.ID, Index: 0}, {Tag: "a", ID: r.ID, Index: 1}}
	c.pass(time.Hour)
	for _, r := range listed(t, s) {
		if r.State != jjm.BatchHold {
			t.Errorf("before its release: %+v", r)
		}
	}
	act := func(o jjm.Owner, op adapters.Op, want jjm.BatchState) {
		t.Helper()
		answers, err := s.Control(t.Context(), o, op, jobs)
		if err != nil || answers[0] != nil || answers[1] != nil {
			t.Errorf("%v: %v, error %v", op, answers, err)
		}
		for _, r := range listed(t, s) {
			if r.State != want {
				t.Errorf("after %v: %+v", op, r)
			}
		}
	}
	act(jjm.Owner{UID: 7}, adapters.Release, jjm.BatchHold)
	act(ann, adapters.Release, jjm.BatchRunning)
	act(ann, adapters.Release, jjm.BatchRunning)
	s.IgnoreCancels(2)
	act(ann, adapters.Cancel, jjm.BatchRunning)
	act(ann, adapters.Cancel, jjm.BatchCancelled)
	act(ann, adapters.Cancel, jjm.BatchCancelled)
}

func TestSim_NextTellsWhenSomethingHappens(t *testing.T) {
	c := newClock()
	s := NewSim(SimConfig{Now: c.Now, Wait: 5 * time.Second, Life: time.Minute})
	if at, ok := s.Next(); ok {
		t.Errorf("nothing is there, and it happens at %v", at)
	}
	submitted(t, s, "a", 1)
	var events []time.Duration
	for {
		at, ok := s.Next()
		if !ok {
			break
		}
		events = append(events, at.Sub(newClock().now))
		c.now = at
		s.Step()
	}
	if diff := cmp.Diff([]time.Duration{5 * time.Second, 65 * time.Second}, events); diff != "" {
		t.Error(diff)
	}
}

func TestSim_TheSameSeedGivesTheSameRun(t *testing.T) {
	story := func(seed uint64, steps []int) []jjm.Report {
		c := newClock()
		s := NewSim(SimConfig{Now: c.Now, Slots: 3, Life: time.Second, Jitter: time.Minute, Seed: seed})
		submitted(t, s, "a", 20)
		for _, n := range steps {
			c.pass(time.Duration(n) * time.Second)
			s.Step()
		}
		c.pass(time.Duration(3000-sum(steps)) * time.Second)
		return listed(t, s)
	}
	rapid.Check(t, func(rt *rapid.T) {
		seed := rapid.Uint64().Draw(rt, "seed")
		steps := rapid.SliceOfN(rapid.IntRange(0, 100), 0, 20).Draw(rt, "steps")
		// The result does not depend on how often the simulation is advanced.
		if diff := cmp.Diff(story(seed, nil), story(seed, steps)); diff != "" {
			rt.Fatal(diff)
		}
	})
	if cmp.Equal(story(1, nil), story(2, nil)) {
		t.Error("two seeds give one story")
	}
}

func sum(ns []int) (n int) {
	for _, k := range ns {
		n += k
	}
	return n
}

func TestSim_AHundredThousandJobsAreSmall(t *testing.T) {
	const n = 100_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	c := newClock()
	s := NewSim(SimConfig{Now: c.Now})
	for i := range n / 1000 {
		submitted(t, s, jjm.Tag(fmt.Sprintf("t%d", i)), 1000)
	}
	s.Step()
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (after.HeapAlloc - before.HeapAlloc) / n
	if each > 150 {
		t.Errorf("%d bytes a job", each)
	}
	if got := len(listed(t, s)); got != n {
		t.Fatalf("%d jobs", got)
	}
}

func BenchmarkSimList(b *testing.B) {
	s := NewSim(SimConfig{Now: newClock().Now})
	for i := range 100 {
		if _, err := s.Submit(b.Context(), simBulkOf(jjm.Tag(fmt.Sprintf("t%d", i)), 1000)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.List(b.Context(), ann, time.Time{}); err != nil {
			b.Fatal(err)
		}
	}
}
