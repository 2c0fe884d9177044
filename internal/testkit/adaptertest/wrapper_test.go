package adaptertest

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/adapters"
	"jjm/internal/formats/glf"
	"jjm/internal/jjm"
	"jjm/sandbox"
)

// assigned returns an area with a bulk of n attempts of grid job 17.
func assigned(t *testing.T, tag jjm.Tag, n int32) *sandbox.Area {
	t.Helper()
	area, err := sandbox.OpenArea(filepath.Join(t.TempDir(), "ann"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { area.Close() })
	assign(t, area, tag, n)
	return area
}

func assign(t *testing.T, area *sandbox.Area, tag jjm.Tag, n int32) {
	t.Helper()
	as := make([]sandbox.Assignment, n)
	for i := range as {
		as[i] = sandbox.Assignment{Grid: 17, Local: int32(i) + 5, Argv: []string{"app"}}
	}
	if err := area.WriteAssignment(tag, as); err != nil {
		t.Fatal(err)
	}
}

func attempt(n int32) jjm.AttemptID {
	return jjm.AttemptID{LocalID: jjm.LocalID{Grid: 17, N: n}}
}

func results(t *testing.T, area *sandbox.Area, tag jjm.Tag) map[int32]jjm.Result {
	t.Helper()
	found := map[int32]jjm.Result{}
	_, problems, err := area.Results(t.Context(), tag, sandbox.Look{N: 1000}, func(r *jjm.Result) bool {
		found[r.Pos] = *r
		return true
	})
	if err != nil || len(problems) != 0 {
		t.Fatalf("problems %v, error %v", problems, err)
	}
	return found
}

func TestWrapper_ClaimsRunsAndReports(t *testing.T) {
	c := newClock()
	area := assigned(t, "a", 4)
	s := NewSim(SimConfig{Now: c.Now, Life: time.Minute, Wrapper: InArea(area), Play: func(j SimJob) Play {
		return map[int32]Play{
			0: {}, 1: {Keyword: glf.Retry, Data: "from 7", Exit: 0}, 2: {Keyword: "-", Exit: 3},
			3: {NoResult: true, Exit: 137, Signal: 9},
		}[j.Index]
	}})
	submitted(t, s, "a", 4)
	c.pass(30 * time.Second)
	s.Step()
	claim, err := area.ReadClaim("a", 0)
	if err != nil || claim == nil || claim.Batch != "sim1_0" || claim.Holder != jjm.HolderWrapper {
		t.Fatalf("claim %+v, error %v", claim, err)
	}
	if got := results(t, area, "a"); len(got) != 0 {
		t.Errorf("results while it runs: %+v", got)
	}
	c.pass(time.Minute)
	for i, r := range listed(t, s) {
		want := jjm.BatchEndedOK // the wrapper exits with 0, whatever the application did
		if i == 3 {
			want = jjm.BatchEndedFailed
		}
		if r.State != want {
			t.Errorf("%+v", r)
		}
	}
	got := results(t, area, "a")
	if len(got) != 3 || got[1].Exit != 0 || got[2].Exit != 3 {
		t.Errorf("results %+v", got)
	}
	if id := got[1]; id.AttemptID() != attempt(6) {
		t.Errorf("the result is of %v", id.AttemptID())
	}
	for pos, keywords := range map[int32][]string{0: {glf.Succeeded}, 1: {glf.Retry}, 2: nil} {
		l := glf.Parse([]byte(got[pos].GLF))
		var said []string
		for _, r := range l.Terminals {
			said = append(said, r.Keyword)
		}
		if !l.Start || !l.End || l.AppExit != got[pos].Exit || l.RunSeconds() != 60 || !cmp.Equal(keywords, said) {
			t.Errorf("GLF of %d: %+v", pos, l)
		}
	}
	want := map[jjm.AttemptID]int{attempt(5): 1, attempt(6): 1, attempt(7): 1, attempt(8): 1}
	if diff := cmp.Diff(want, s.Runs()); diff != "" || len(s.Troubles()) != 0 {
		t.Errorf("runs %s, troubles %v", diff, s.Troubles())
	}
}

func TestWrapper_TheOutputCanBeCollected(t *testing.T) {
	c := newClock()
	area := assigned(t, "a", 1)
	s := NewSim(SimConfig{Now: c.Now, Life: time.Minute, Wrapper: InArea(area), Play: func(SimJob) Play {
		return Play{Keyword: glf.Succeeded, Data: `out.dat sub/more.dat ../evil -`}
	}})
	submitted(t, s, "a", 1)
	s.Step()
	c.pass(time.Minute)
	s.Step()
	r := results(t, area, "a")[0]
	if len(r.Outputs) != 3 || r.Outputs[0].Name != "work/out.dat" || r.Outputs[1].Name != "work/sub/more.dat" ||
		r.Outputs[2].Absent == "" {
		t.Fatalf("outputs %+v", r.Outputs)
	}
	for _, o := range r.Outputs[:2] {
		info, err := os.Stat(filepath.Join(area.Root(), sandbox.AttemptDir(attempt(5)), o.Name))
		if err != nil || info.Size() != o.Bytes || o.SHA256 == "" {
			t.Errorf("%+v: %v, error %v", o, info, err)
		}
	}
	f, err := area.OpenJobFile(attempt(5), "stdout")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if text, err := io.ReadAll(f); err != nil || string(text) != "output of 17.5\n" {
		t.Errorf("stdout %q, error %v", text, err)
	}
}

func TestWrapper_ALostClaimMeansNoRun(t *testing.T) {
	c := newClock()
	area := assigned(t, "a", 2)
	// The daemon counts the attempt at position 1 as lost, and has taken its claim.
	_, won, err := area.Claim("a", 1, jjm.Claim{Holder: jjm.HolderDaemon, Nonce: "n", Time: 1})
	if err != nil || !won {
		t.Fatal(won, err)
	}
	s := NewSim(SimConfig{Now: c.Now, Life: time.Minute, Wrapper: InArea(area)})
	first := submitted(t, s, "a", 2)
	submitted(t, s, "a", 2) // the same bulk submitted twice
	s.Step()
	c.pass(time.Minute)
	codes := map[string]int{}
	for _, r := range listed(t, s) {
		codes[r.ID] = r.Exit
	}
	want := map[string]int{first.ID + "_0": 0, first.ID + "_1": 91, "sim2_0": 91, "sim2_1": 91}
	if diff := cmp.Diff(want, codes); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[jjm.AttemptID]int{attempt(5): 1}, s.Runs()); diff != "" {
		t.Error(diff)
	}
	if got := results(t, area, "a"); len(got) != 1 {
		t.Errorf("results %+v", got)
	}
}

func TestWrapper_ARequeuedRunLosesToItsFirst(t *testing.T) {
	c := newClock()
	area := assigned(t, "a", 1)
	s := NewSim(SimConfig{Now: c.Now, Life: time.Minute, Wrapper: InArea(area)})
	submitted(t, s, "a", 1)
	s.Step()
	s.Requeue(adapters.Ref{Tag: "a", Index: 0})
	c.pass(time.Hour)
	if r := listed(t, s)[0]; r.Exit != 91 || r.Restarts != 1 {
		t.Errorf("%+v", r)
	}
	if got := s.Runs()[attempt(5)]; got != 1 || s.Calls().Starts != 2 {
		t.Errorf("%d runs, %+v", got, s.Calls())
	}
}

func TestWrapper_ACancelledRunReports(t *testing.T) {
	c := newClock()
	area := assigned(t, "a", 2)
	s := NewSim(SimConfig{Now: c.Now, Life: time.Hour, Slots: 1, Wrapper: InArea(area)})
	r := submitted(t, s, "a", 2)
	s.Step()
	c.pass(time.Minute)
	jobs := []adapters.Ref{{Tag: "a", ID: r.ID, Index: 0}, {Tag: "a", ID: r.ID, Index: 1}}
	if _, err := s.Control(t.Context(), ann, adapters.Cancel, []adapters.Ref{jobs[1], jobs[0]}); err != nil {
		t.Fatal(err)
	}
	got := results(t, area, "a")
	if len(got) != 1 || got[0].Exit != 143 || got[0].Signal != 15 {
		t.Errorf("results %+v", got)
	}
	l := glf.Parse([]byte(got[0].GLF))
	if !l.End || l.AppExit != 143 || len(l.Terminals) != 0 {
		t.Errorf("GLF %+v", l)
	}
}

func TestWrapper_TroubleIsTold(t *testing.T) {
	c := newClock()
	area := assigned(t, "a", 1)
	s := NewSim(SimConfig{Now: c.Now, Wrapper: InArea(area)})
	submitted(t, s, "b", 1) // a bulk without an assignment
	s.Step()
	c.pass(time.Minute)
	if r := listed(t, s)[0]; r.Exit != 92 || r.State != jjm.BatchEndedFailed {
		t.Errorf("%+v", r)
	}
	if ts := s.Troubles(); len(ts) != 1 || !errors.Is(ts[0], os.ErrNotExist) {
		t.Errorf("troubles %v", ts)
	}
}

func TestWrapper_BareLeavesResultsOnly(t *testing.T) {
	c := newClock()
	area := assigned(t, "a", 1)
	w := InArea(area)
	w.Bare = true
	s := NewSim(SimConfig{Now: c.Now, Wrapper: w})
	submitted(t, s, "a", 1)
	s.Step()
	c.pass(time.Minute)
	s.Step()
	if got := results(t, area, "a"); len(got) != 1 || len(got[0].Outputs) != 0 {
		t.Errorf("results %+v", got)
	}
	if _, err := os.Stat(filepath.Join(area.Root(), "jobs")); !os.IsNotExist(err) {
		t.Errorf("the attempt's folder: %v", err)
	}
}
