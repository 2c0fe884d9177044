package store

import (
	"strings"
	"testing"

	"jjm/internal/jjm"
)

// tryRecover stores an ended recovery of a grid job. It asks nothing before, so only the schema can refuse the
// recovery.
func tryRecover(t *testing.T, s *Store, of jjm.GridID, number int) (jjm.GridID, error) {
	t.Helper()
	g := sampleGrid()
	g.Spec.Recovers, g.Spec.RecoversNumber = of, number
	if err := s.Update(t.Context(), func(tx *Tx) error { return tx.InsertGrid(g) }); err != nil {
		return 0, err
	}
	g.Status = jjm.GridFailed
	update(t, s, func(tx *Tx) error { return tx.SaveGrid(g) })
	return g.ID, nil
}

// A recovery is stored only if it has the number of the next recovery of its grid job, and if no later recovery further
// up in the chain may do the same work. The schema itself refuses all other recoveries.
func TestRecovery_SchemaRefusesTheSameWorkTwice(t *testing.T) {
	s := fresh(t)
	over(t, s, 2)
	for _, step := range []struct {
		of     jjm.GridID
		number int
		want   string // "" if the recovery is stored
	}{
		{of: 1, number: 2, want: "it is recovery 2 of grid job 1, whose next recovery is recovery 1"},
		{of: 1}, // 2: without a number it is the first one
		{of: 1, want: "it is recovery 1 of grid job 1, whose next recovery is recovery 2"},
		{of: 1, number: 1, want: "it is recovery 1 of grid job 1, whose next recovery is recovery 2"},
		{of: 1, number: 3, want: "it is recovery 3 of grid job 1, whose next recovery is recovery 2"},
		{of: 2, number: 1}, // 3
		{of: 3, number: 1}, // 4
		{of: 1, number: 3, want: "it is recovery 3 of grid job 1, whose next recovery is recovery 4"},
		{of: 2, number: 2, want: "it is recovery 2 of grid job 2, whose next recovery is recovery 3"},
		{of: 2, number: 3}, // 5
		{of: 4, number: 1, want: "grid job 5, a later recovery than grid job 4, may do the same work"},
		{of: 3, number: 2, want: "grid job 5, a later recovery than grid job 3, may do the same work"},
		{of: 1, number: 5}, // 6
		{of: 5, number: 1, want: "grid job 6, a later recovery than grid job 5, may do the same work"},
		{of: 6, number: 1}, // 7
		{of: 2, number: 4, want: "grid job 7, a later recovery than grid job 2, may do the same work"},
	} {
		id, err := tryRecover(t, s, step.of, step.number)
		if step.want == "" && err != nil || step.want != "" &&
			(jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), step.want)) {
			t.Fatalf("%+v: grid job %s, error %v of kind %q", step, id, err, jjm.KindOf(err))
		}
	}
}

// A grid job was reopened after it was recovered, and may do the work of that recovery. The schema then refuses a
// recovery of the recovery.
func TestRecovery_SchemaRefusesWhatAReopenedGridJobMayDo(t *testing.T) {
	s := fresh(t)
	g := over(t, s, 2)
	for range 2 { // 2 recovers 1, 3 recovers 2
		if _, err := tryRecover(t, s, g.ID+jjm.GridID(number(t, s, "SELECT count(*) FROM recoveries")), 1); err != nil {
			t.Fatal(err)
		}
	}
	request(t, s, g)
	_, err := tryRecover(t, s, 3, 1)
	wantKind(t, err, jjm.Invalid)
	if want := "grid job 1, which grid job 2 recovers, was reopened since"; !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// A removed recovery does not hinder others. If the grid job that two recoveries recover is removed, the later one
// still hinders recoveries of the earlier one.
func TestRecovery_SchemaIgnoresRemovedRecoveries(t *testing.T) {
	s := fresh(t)
	over(t, s, 2)
	for n := range 2 {
		if _, err := tryRecover(t, s, 1, n+1); err != nil {
			t.Fatal(err)
		}
	}
	orderRemoval(t, s, 1)
	if _, err := tryRecover(t, s, 2, 1); err == nil || !strings.Contains(err.Error(), "grid job 3, a later recovery") {
		t.Errorf("grid job 3 is still there: %v", err)
	}
	orderRemoval(t, s, 3)
	if _, err := tryRecover(t, s, 2, 1); err != nil {
		t.Errorf("grid job 3 is removed: %v", err)
	}
}
