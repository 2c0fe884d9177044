package engine_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// remove requests the removal of grid jobs, and returns the answer for each.
func (w *world) remove(c wire.Caller, force bool, ids ...jjm.GridID) []wire.Removed {
	w.t.Helper()
	var refs []jjm.Ref
	for _, id := range ids {
		refs = append(refs, all(id))
	}
	return w.engine.Remove(context.Background(), c, refs, force, false)
}

// refusedRemoval requires that a grid job cannot be removed now, with an error that contains a text.
func (w *world) refusedRemoval(c wire.Caller, id jjm.GridID, kind jjm.Kind, text string) {
	w.t.Helper()
	err := w.remove(c, false, id)[0].Error
	if err == nil || err.Kind != kind || !strings.Contains(err.Text, text) {
		w.t.Errorf("grid job %s: %+v, want an error of kind %s with %q", id, err, kind, text)
	}
}

// removed reports whether a grid job has been removed completely.
func (w *world) removed(id jjm.GridID) bool {
	w.t.Helper()
	_, gone, err := w.store.Kept(context.Background(), id)
	w.must(err)
	return gone != nil && gone.Done != 0
}

// verifyRemoved requires that no file of a grid job is left on disk, that people learn that it was removed, and that
// its gatekeeper still gets the same answer as before.
func (w *world) verifyRemoved(told wire.Lookup) {
	w.t.Helper()
	id, ctx := told.ID, context.Background()
	for _, path := range []string{"work/alice/jobs/" + id.String(), "records/" + id.String()} {
		if _, err := os.Lstat(filepath.Join(w.dir, path)); !errors.Is(err, fs.ErrNotExist) {
			w.t.Errorf("%s is there: %v", path, err)
		}
	}
	now := w.lookup(id)
	if now.Removed == nil || !strings.HasPrefix(now.Removed.By, "alice") ||
		!strings.Contains(now.Message, "was removed by alice") {
		w.t.Errorf("the gatekeeper is told %+v", now)
	}
	told.Tar, told.Message, told.Removed, now.Message = "", "", now.Removed, ""
	if d := cmp.Diff(told, now); d != "" {
		w.t.Errorf("the gatekeeper of grid job %s is told something else: %s", id, d)
	}
	_, record := w.engine.Record(ctx, alice, id, "")
	_, _, _, output := w.engine.Output(ctx, alice, all(id), wire.Wanted{})
	_, verify := w.engine.Verify(ctx, alice, id, "")
	st, err := w.engine.Status(ctx, alice, []jjm.Ref{all(id)})
	w.must(err)
	for what, err := range map[string]error{"record": record, "output": output, "verify": verify,
		"status":   st[0].Lookup.Error.Err(),
		"kill":     w.engine.Kill(ctx, alice, []jjm.Ref{all(id)}, wire.KillHow{})[0].Error.Err(),
		"resubmit": w.engine.Resubmit(ctx, alice, []jjm.Ref{all(id)}, wire.ResubmitHow{})[0].Error.Err(),
		"remove":   w.remove(alice, true, id)[0].Error.Err()} {
		if want := "grid job " + id.String() + " was removed by alice"; jjm.KindOf(err) != jjm.Gone ||
			!strings.Contains(err.Error(), want) {
			w.t.Errorf("%s: error %v, want %q", what, err, want)
		}
	}
	lines, err := w.engine.Log(ctx, alice, id)
	w.must(err)
	if text := strings.Join(lines, "\n"); !strings.Contains(text, "accepted") ||
		!strings.Contains(text, " removed: work area") {
		w.t.Errorf("its log: %s", text)
	}
	all, err := w.engine.List(ctx, admin, wire.List{All: true})
	w.must(err)
	for _, st := range all {
		if st.Lookup.ID == id {
			w.t.Errorf("it is listed: %+v", st)
		}
	}
}

// packages are the names of the packages of alice.
func (w *world) packages() (names []string) {
	w.t.Helper()
	entries, err := os.ReadDir(filepath.Join(w.area(owner(alice)).Root(), "packages"))
	w.must(err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A grid job with two generations is removed completely. Files that other grid jobs use stay. Afterwards the id and the
// request key still refer to the grid job, and its gatekeeper still gets its end.
func TestRemove_NothingIsLeftButTheAnswer(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: unluckyOnce(1, 4), chunk: 2}, func(t *testing.T, w *world) {
		w.must(os.WriteFile(filepath.Join(w.dir, "cards"), []byte("x"), 0o600))
		const inputs = `inputs = [{path = "cards"}]`
		first, err := w.trySubmit(alice, "k", mc(6, inputs))
		w.must(err)
		second := w.submit(alice, mc(2, inputs))
		w.refusedRemoval(alice, first.ID, jjm.Conflict, "kill it first (jjm kill 1)")
		w.final(time.Hour, first.ID, second)
		told := w.lookup(first.ID)
		w.resubmit(false, "1")
		// It is being reopened, or it runs.
		if no := w.remove(alice, false, first.ID)[0].Error; no == nil || no.Kind != jjm.Busy && no.Kind != jjm.Conflict {
			t.Errorf("a grid job that was reopened: %+v, want that its removal is refused as busy or conflict", no)
		}
		w.over(time.Hour, first.ID)
		w.refusedRemoval(bob, first.ID, jjm.Denied, "belongs to alice")
		w.refusedRemoval(alice, 99, jjm.Gone, "no grid job 99")
		if dry := w.engine.Remove(t.Context(), alice, []jjm.Ref{all(1)}, false, true)[0]; dry.Error != nil {
			t.Errorf("%+v", dry)
		}
		w.pass(time.Minute)
		if _, gone, err := w.store.Kept(t.Context(), 1); gone != nil || err != nil {
			t.Errorf("a dry run removes: %+v, %v", gone, err)
		}
		got := w.remove(alice, false, first.ID, first.ID)
		if len(got) != 1 || got[0].Error != nil {
			t.Fatalf("%+v", got)
		}
		st, err := w.engine.Status(t.Context(), alice, []jjm.Ref{all(1)})
		w.must(err)
		if e := st[0].Lookup.Error; e == nil || e.Kind != jjm.Gone || !strings.Contains(e.Text, "removed") {
			t.Errorf("at once people see %+v", st)
		}
		w.until(time.Hour, "removed", func() bool { return w.removed(first.ID) })
		w.verifyRemoved(told)
		if n := len(w.packages()); n != 1 {
			t.Errorf("%d packages, want the one that grid job %s uses", n, second)
		}
		onlyFirst := wire.KillHow{First: true}
		if k := w.engine.Kill(t.Context(), alice, []jjm.Ref{all(1)}, onlyFirst)[0]; !k.NoChange || k.Error != nil {
			t.Errorf("a gatekeeper's kill of what is over for it: %+v", k)
		}
		if again, err := w.trySubmit(alice, "k", mc(6, inputs)); err != nil || again.ID != first.ID || !again.Existed {
			t.Errorf("the same request again: %+v, %v", again, err)
		}
		w.remove(alice, false, second)
		w.until(time.Hour, "removed", func() bool { return w.removed(second) })
		if names := w.packages(); len(names) != 0 {
			t.Errorf("packages %v", names)
		}
		w.reopen()
		w.verifyRemoved(told)
		if id := w.submit(alice, mc(1)); id != 3 {
			t.Errorf("the next id is %s, want 3", id)
		}
		w.must(w.store.Check(t.Context()))
	})
}

// A grid job cannot be removed before its gatekeeper was told its end, unless the removal is forced.
func TestRemove_WaitsForTheGatekeeper(t *testing.T) {
	t.Parallel()
	inWorld(t, options{}, func(t *testing.T, w *world) {
		for _, key := range []string{"a", "b", "c"} {
			_, err := w.trySubmit(alice, key, mc(1))
			w.must(err)
		}
		w.until(time.Hour, "in the history", func() bool { return w.archived(1, 2, 3) })
		w.refusedRemoval(alice, 1, jjm.Conflict, "nobody has asked yet by its key how it ended: ask once with jjm lookup 1")
		told := w.lookup(1)
		if got := w.remove(alice, false, 1)[0]; got.Error != nil {
			t.Errorf("told: %+v", got.Error)
		}
		w.lookup(2)
		w.pass(time.Minute)
		w.reopen() // the answer for the gatekeeper must come from the store
		if got := w.remove(alice, false, 2)[0]; got.Error != nil {
			t.Errorf("told: %+v", got.Error)
		}
		if got := w.remove(admin, true, 3)[0]; got.Error != nil {
			t.Errorf("forced: %+v", got.Error)
		}
		w.until(time.Hour, "removed", func() bool { return w.removed(1) && w.removed(2) && w.removed(3) })
		w.verifyRemoved(told)
		if l := w.lookup(3); l.Status != "done" || l.Removed == nil || !strings.HasPrefix(l.Removed.By, "admin") {
			t.Errorf("one that asks later is told %+v", l)
		}
	})
}

// A grid job that another grid job needs cannot be removed: a dataset refers to its outputs, a grid job reads the
// dataset that it filled, its recovery is not over, or it is a recovery whose work counts in a verification.
func TestRemove_RefusesWhatOthersNeed(t *testing.T) {
	t.Parallel()
	inWorld(t, options{play: unluckyOnce(1)}, func(t *testing.T, w *world) {
		maker := w.submit(alice, fileJob("output_dataset = \"made\"\n", "name = \"raw\"\n"+inline(4)))
		failed := w.submit(alice, mc(3))
		w.final(time.Hour, maker, failed)
		reader := w.submit(alice, fileJob("", "name = \"made\"\n"))
		recovery, err := w.engine.Submit(t.Context(), alice, wire.Submit{Name: "again.json", BaseDir: w.dir,
			Text: w.proof(failed, "again.json").Recovery})
		w.must(err)
		w.refusedRemoval(alice, failed, jjm.Conflict, "which recovers it, is not over")
		w.final(time.Hour, reader, recovery.ID)
		w.refusedRemoval(alice, maker, jjm.Conflict, "dataset made refers to its outputs, such as filetest.1.")
		w.refusedRemoval(alice, recovery.ID, jjm.Conflict, "it recovers grid job 2, whose verification counts what it did")
		for lfn := range w.owners(reader) {
			_, err := w.engine.Dataset(t.Context(), alice, wire.Dataset{Do: wire.DatasetMark, Name: "made", LFNs: []string{lfn},
				State: "lost", Reason: "not needed"})
			w.must(err)
		}
		w.refusedRemoval(alice, maker, jjm.Conflict, "grid job 3 reads dataset made, which it filled")
		// one request removes several grid jobs in the order of their dependencies, whatever the order of the ids
		for _, got := range w.remove(alice, false, recovery.ID, failed, reader) {
			if got.Error != nil {
				t.Errorf("%+v", got)
			}
		}
		if got := w.remove(alice, false, maker)[0]; got.Error != nil {
			t.Errorf("%+v", got.Error)
		}
		w.until(time.Hour, "removed", func() bool {
			return w.removed(maker) && w.removed(failed) && w.removed(reader) && w.removed(recovery.ID)
		})
		after := w.submit(alice, fileJob("", "name = \"made\"\n"))
		w.final(time.Hour, after)
		if l := w.lookup(after); l.Counts.Total != 0 {
			t.Errorf("one that reads what is lost: %+v", l)
		}
		w.must(w.store.Check(t.Context()))
	})
}

// writeInput returns an action that writes a file which job files name as an input.
func writeInput(name string) func(*stage) error {
	return func(s *stage) error { return os.WriteFile(filepath.Join(s.dir, name), []byte(name), 0o600) }
}

// removeOf returns an action that removes the grid jobs with these request keys.
func removeOf(keys ...string) func(*stage) error {
	return func(s *stage) error {
		for _, key := range keys {
			s.lookup(s.ids[key])
			err := s.remove(alice, true, s.ids[key])[0].Error
			if err != nil && err.Kind != jjm.Gone { // Gone: the removal was stored before the engine died
				return err.Err()
			}
		}
		return nil
	}
}

// gone returns a check that the grid jobs removed are removed, and that the grid jobs kept are not.
func gone(removed, kept string) func(*stage) {
	return func(s *stage) {
		s.t.Helper()
		for _, key := range strings.Fields(removed) {
			told := s.lookup(s.ids[key])
			told.Removed = nil
			s.verifyRemoved(told)
		}
		for _, key := range strings.Fields(kept) {
			if st := s.status(s.ids[key]); !st.Over() {
				s.t.Errorf("%s: %+v", key, st)
			}
		}
		if n := len(s.packages()); n != 1 {
			s.t.Errorf("%d packages, want that of what is kept", n)
		}
	}
}

// The work area of one account hangs. The removals of grid jobs of other accounts are not delayed.
func TestRemove_ASlowAccountDelaysNoOther(t *testing.T) {
	t.Parallel()
	users := &slowUsers{user: mallory.User}
	inWorld(t, options{users: users}, func(t *testing.T, w *world) {
		var slow, quick []jjm.GridID
		for range 8 {
			slow, quick = append(slow, w.submit(mallory, mc(1))), append(quick, w.submit(bob, mc(1)))
		}
		w.until(time.Hour, "in the history", func() bool { return w.archived(append(slow, quick...)...) })
		users.act.Store(int64(19 * time.Second))
		w.remove(admin, false, append(slow, quick...)...)
		w.until(10*time.Second, "those of the other account removed", func() bool {
			return w.removed(quick[0]) && w.removed(quick[7])
		})
		if w.removed(slow[0]) {
			t.Error("the slow account is not slow")
		}
		w.until(3*time.Hour, "all removed", func() bool { return w.removed(slow[7]) })
	})
}
