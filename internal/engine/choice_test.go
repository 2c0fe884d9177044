package engine_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"jjm/internal/api/selection"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// named returns the job file text, of the helper mc or plain, with another name of the grid job.
func named(text, name string) string {
	return strings.NewReplacer(`name = "mc"`, `name = "`+name+`"`, `name = "plain"`, `name = "`+name+`"`).Replace(text)
}

// selected returns the references that a selection returns, separated by blanks, or the kind of the error. It checks
// the counts of the answer.
func (w *world) selected(caller wire.Caller, r wire.SelectRequest) string {
	w.t.Helper()
	got, err := w.engine.Select(context.Background(), caller, r)
	if err != nil {
		return jjm.KindOf(err).String()
	}
	grids, locals := 0, 0
	for _, text := range got.Refs {
		p, err := selection.ParsePattern(text)
		w.must(err)
		if n, _ := p.Jobs(); p.Ref.Locals {
			locals += n
		} else {
			grids += n
		}
	}
	if all := len(r.Refs) > 0 && strings.Contains(r.Refs[0], "*") && !r.Where.Any() && got.Grids == 0; !all &&
		(got.Grids != grids || got.Locals != locals) {
		w.t.Errorf("%+v: counts %+v", r, got)
	}
	return strings.Join(got.Refs, " ")
}

// In this test, grid job 1 is over and two of its local jobs failed, grid job 2 is live, and grid job 3 is live and
// belongs to bob.
func TestSelect_FindsWhatIsLiveAndWhatIsOver(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: unluckyOnce(1, 2, 4)}, func(t *testing.T, w *world) {
		w.final(time.Hour, w.submit(alice, named(mc(6), "mc-over")))
		w.submit(alice, named(plain(3), "live"))
		w.submit(bob, named(plain(2), "mc-live"))
		w.until(time.Hour, "made", func() bool { return len(w.locals(2)) == 3 && len(w.locals(3)) == 2 })
		where := func(f selection.Filters) wire.SelectRequest { return wire.SelectRequest{Where: f} }
		pattern := func(refs ...string) wire.SelectRequest { return wire.SelectRequest{Refs: refs} }
		byName := func(name string, f selection.Filters) wire.SelectRequest {
			return wire.SelectRequest{Refs: []string{name}, Where: f}
		}
		to := func(command selection.Purpose, r wire.SelectRequest) wire.SelectRequest {
			r.For = command
			return r
		}
		for _, c := range []struct {
			caller wire.Caller
			r      wire.SelectRequest
			want   string
		}{
			{alice, pattern("name:mc*"), "1"},
			{admin, pattern("name:mc*"), "1 3"},
			{alice, pattern("2.1", "name:*", "99"), "2.1 1 2 99"},
			{alice, pattern("name:nothing"), "gone"},
			{alice, to(selection.ToResubmit, byName("name:nothing", selection.Filters{State: "failed"})), "gone"},
			{alice, to(selection.ToKill, byName("name:nothing", selection.Filters{State: "running"})), "gone"},
			{alice, to(selection.ToResubmit, byName("name:mc*", selection.Filters{State: "killed"})), ""},
			{alice, to(selection.ToKill, byName("name:mc*", selection.Filters{State: "running"})), ""},
			{alice, to(selection.ToShow, byName("name:mc*", selection.Filters{Status: "done"})), ""},
			{alice, to(selection.ToShow, byName("name:mc*", selection.Filters{User: "nobody"})), ""},
			{alice, byName("name:mc-live", selection.Filters{Type: "script"}), "gone"},
			{alice, to(selection.ToShow, where(selection.Filters{State: "failed"})), "1.1-2 1.4"},
			{alice, to(selection.ToShow, where(selection.Filters{User: "alice"})), "1 2"},
			{alice, to(selection.ToShow, wire.SelectRequest{Refs: []string{"1.2-9"}, Where: selection.Filters{State: "failed"}}),
				"1.2 1.4"},
			{alice, to(selection.ToKill, pattern("name:mc*")), ""},
			{alice, to(selection.ToRemove, pattern("name:*")), "1"},
			{bob, to(selection.ToRelease, pattern("name:*")), ""},
			{alice, pattern("1.*"), "1.*"},
			{alice, where(selection.Filters{State: "failed"}), "1"},
			{alice, to(selection.ToResubmit, where(selection.Filters{State: "failed"})), "1.1-2 1.4"},
			{alice, to(selection.ToResubmit, wire.SelectRequest{Refs: []string{"1.2-5"},
				Where: selection.Filters{State: "failed"}}), "1.2 1.4"},
			{alice, to(selection.ToResubmit, where(selection.Filters{Reason: "*good luck*"})), ""},
			{alice, to(selection.ToKill, where(selection.Filters{User: "alice"})), "2"},
			{alice, to(selection.ToKill, where(selection.Filters{User: "bob"})), ""},
			{admin, to(selection.ToKill, where(selection.Filters{User: "bob"})), "3"},
			{alice, to(selection.ToKill, where(selection.Filters{Age: "30d"})), ""},
			{admin, to(selection.ToKill, where(selection.Filters{State: "new,submitting,submitted,running"})), "2.0-2 3.0-1"},
			{alice, to(selection.ToKill, where(selection.Filters{Cluster: "nowhere"})), ""},
			{alice, to(selection.ToRelease, where(selection.Filters{User: "alice"})), ""},
			{bob, wire.SelectRequest{Refs: []string{"1"}, Where: selection.Filters{State: "failed"}}, "denied"},
		} {
			if got := w.selected(c.caller, c.r); got != c.want {
				t.Errorf("%s: %+v: %s, want %s", c.caller.User, c.r, got, c.want)
			}
		}
		got, err := w.engine.Select(t.Context(), alice, pattern("1.*", "2"))
		if err != nil || got.Locals != 6 || got.Grids != 1 {
			t.Errorf("%+v, %v", got, err)
		}
		list, err := w.engine.List(t.Context(), admin, wire.List{All: true, Limit: 1, Refs: []string{"name:mc*"},
			Where: selection.Filters{State: "failed"}})
		if err != nil || len(list) != 1 || list[0].Lookup.ID != 1 {
			t.Errorf("list: %+v, %v", list, err)
		}
	})
}

// A dry run of a kill counts the local jobs and changes nothing. A kill that stops at the first failure reports the
// jobs that it did not attempt.
func TestKill_DryRunsCountAndStoppingNamesTheRest(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		id := w.submit(alice, plain(4))
		w.until(time.Hour, "made", func() bool { return len(w.locals(id)) == 4 })
		refs := []jjm.Ref{{Grid: id}, {Grid: id, Locals: true, First: 1, Last: 2}, {Grid: 99}, {Grid: id, Locals: true}}
		dry := w.engine.Kill(t.Context(), alice, refs, wire.KillHow{DryRun: true})
		if dry[0].Jobs != 4 || dry[1].Jobs != 2 || dry[2].Error == nil || dry[3].Jobs != 1 ||
			w.status(id).Lookup.Status == "aborting" {
			t.Errorf("%+v", dry)
		}
		done := w.engine.Kill(t.Context(), alice, refs[1:], wire.KillHow{Stop: true})
		if done[0].Error != nil || done[1].Error == nil || done[2].Error == nil || done[2].Error.Kind != jjm.Conflict ||
			!strings.Contains(done[2].Error.Text, "not attempted: it failed for 99 before") {
			t.Errorf("%+v", done)
		}
		for n, want := range []bool{false, true, true, false} {
			if l := w.locals(id)[n]; l.Kill != want && l.State != jjm.Killed {
				t.Errorf("local job %d is to be killed: %v, want %v", n, l.Kill, want)
			}
		}
		if got := w.engine.Release(t.Context(), alice, refs[:1], wire.ReleaseHow{DryRun: true})[0]; !got.NoChange {
			t.Errorf("%+v", got)
		}
	})
}
