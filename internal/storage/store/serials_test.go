package store

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

// numbered stores a grid job with two output templates and a template for merged files. The serials of the first
// template begin at first and end at most; most 0 means no limit.
func numbered(tb testing.TB, s *Store, first, most int64) *jjm.GridJob {
	tb.Helper()
	g := sampleGrid()
	g.Spec.FirstSerial = first
	g.Spec.OutputTemplates = []jjm.OutputTemplate{{Name: "a.${SN}", Stream: "A", MaxSerial: most},
		{Name: "b.${SN:2}", Source: "b"}}
	g.Spec.Merge = &jjm.Merge{Concat: true, Output: "m.${SN}"}
	update(tb, s, func(tx *Tx) error { return tx.InsertGrid(g) })
	g.Merging = &jjm.MergeStep{Splitter: "any"}
	update(tb, s, func(tx *Tx) error { return tx.SaveGrid(g) })
	return g
}

// insertNext inserts n local jobs of a step and returns them. Their numbers begin with from.
func insertNext(tx *Tx, g *jjm.GridJob, from, n int, step int32) ([]jjm.LocalJob, error) {
	ls := make([]jjm.LocalJob, n)
	for i := range ls {
		ls[i] = sampleLocal(g.ID, from+i)
		ls[i].Step = step
	}
	return ls, tx.InsertLocals(ls)
}

// serialsOf returns the serials of all local jobs of a grid job, in the order of the local jobs, by step.
func serialsOf(t interface{ Fatal(...any) }, s *Store, id jjm.GridID) (all [2][][]int64) {
	ls, err := s.Locals(context.Background(), id, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range ls {
		all[l.Step] = append(all[l.Step], l.Part.Serials)
	}
	return all
}

func TestSerials_EachNewLocalJobTakesTheNextOfEachTemplate(t *testing.T) {
	s := fresh(t)
	g := numbered(t, s, 11, 0)
	update(t, s, func(tx *Tx) error {
		ls, err := insertNext(tx, g, 0, 2, jjm.StepWork)
		if !slices.Equal(ls[1].Part.Serials, []int64{12, 12}) {
			t.Errorf("the second has %v", ls[1].Part.Serials)
		}
		return err
	})
	crash := errors.New("crash")
	err := s.Update(t.Context(), func(tx *Tx) error {
		_, err := insertNext(tx, g, 2, 5, jjm.StepWork)
		return errors.Join(err, crash)
	})
	if !errors.Is(err, crash) {
		t.Fatal(err)
	}
	update(t, s, func(tx *Tx) error {
		_, err := insertNext(tx, g, 2, 1, jjm.StepMerge)
		_, more := insertNext(tx, g, 3, 1, jjm.StepWork)
		return errors.Join(err, more)
	})
	got := serialsOf(t, s, g.ID)
	if !slices.EqualFunc(got[0], [][]int64{{11, 11}, {12, 12}, {13, 13}}, slices.Equal) ||
		!slices.EqualFunc(got[1], [][]int64{{11}}, slices.Equal) {
		t.Errorf("the numbers are %v", got)
	}
	n, err := s.LocalWithSerial(t.Context(), g.ID, jjm.StepWork, 1, 13)
	if err != nil || n != 3 {
		t.Errorf("local job %d has number 13, %v", n, err)
	}
	_, err = s.LocalWithSerial(t.Context(), g.ID, jjm.StepMerge, 0, 12)
	wantKind(t, err, jjm.Gone)
}

func TestSerials_EndWithTheLargest(t *testing.T) {
	s := fresh(t)
	g := numbered(t, s, 0, 3)
	update(t, s, func(tx *Tx) error { _, err := insertNext(tx, g, 0, 2, jjm.StepWork); return err })
	left, err := s.SerialsLeft(t.Context(), g.ID, jjm.StepWork)
	if err != nil || !slices.Equal(left, []int64{1, -1}) {
		t.Errorf("%v are left, %v", left, err)
	}
	err = s.Update(t.Context(), func(tx *Tx) error { _, err := insertNext(tx, g, 2, 2, jjm.StepWork); return err })
	wantKind(t, err, jjm.Invalid)
	if !strings.Contains(err.Error(), "the numbers of output template 0 end with 3") {
		t.Error(err)
	}
	update(t, s, func(tx *Tx) error { _, err := insertNext(tx, g, 2, 1, jjm.StepWork); return err })
	update(t, s, func(tx *Tx) error { // the first step has no numbers left, but the merge step has
		left, err := tx.SerialsLeft(g.ID, jjm.StepWork)
		if !slices.Equal(left, []int64{0, -1}) {
			t.Errorf("%v are left", left)
		}
		_, more := insertNext(tx, g, 3, 1, jjm.StepMerge)
		return errors.Join(err, more)
	})
}

func TestSerials_StayWithTheHistory(t *testing.T) {
	s := fresh(t)
	g := numbered(t, s, 0, 0)
	g.Step.Made, g.Merging.Closed = 2, true
	update(t, s, func(tx *Tx) error {
		_, err := insertNext(tx, g, 0, 2, jjm.StepWork)
		return errors.Join(err, tx.SaveGrid(g))
	})
	finish(t, s, submit(t, s, g.ID, "jone", 0, 1))
	complete(t, s, g)
	archive(t, s, g.ID, 1)
	if got := serialsOf(t, s, g.ID)[0]; !slices.EqualFunc(got, [][]int64{{1, 1}, {2, 2}}, slices.Equal) {
		t.Errorf("archived with %v", got)
	}
	if n, err := s.LocalWithSerial(t.Context(), g.ID, jjm.StepWork, 0, 2); n != 1 || err != nil {
		t.Errorf("local job %d, %v", n, err)
	}
}

// The schema itself refuses a serial that is used twice, a gap between serials, and a change of a serial.
func TestSerials_TheSchemaEnforcesThem(t *testing.T) {
	s := fresh(t)
	g := numbered(t, s, 0, 5)
	update(t, s, func(tx *Tx) error { _, err := insertNext(tx, g, 0, 2, jjm.StepWork); return err })
	with := func(serials string) string {
		text := strings.Replace(insertLocal(1, 2, "event", 9000, 1), "n,", "n, serials,", 1)
		return strings.Replace(text, "(1, 2,", "(1, 2, "+serials+",", 1)
	}
	for _, lie := range []struct{ sql, want string }{
		{with("'[2,3]'"), "local job 1.2: output template 0: number 2, but the next is 3"},
		{with("'[3,4]'"), "local job 1.2: output template 1: number 4, but the next is 3"},
		{with("'[3]'"), "its output names need 2 numbers, and it has [3]"},
		{with("'[3,3,3]'"), "its output names need 2 numbers"},
		{with("NULL"), "its output names need 2 numbers, and it has none"},
		{`UPDATE local_jobs SET serials = '[7,7]' WHERE n = 1`, "the numbers of its output names never change"},
		{`UPDATE local_jobs SET serials = NULL WHERE n = 1`, "the numbers of its output names never change"},
		{`UPDATE output_templates SET last = 1`, "only goes up"},
		{`UPDATE output_templates SET most = 99`, "only goes up"},
		{`UPDATE output_templates SET last = 6 WHERE n = 0 AND step = 0`, "CHECK"},
		{`DELETE FROM output_templates`, "is kept"},
	} {
		if err := raw(s, lie.sql); err == nil || !strings.Contains(err.Error(), lie.want) {
			t.Errorf("%s: %v, want %s", lie.sql, err, lie.want)
		}
	}
}

// If some transactions fail, the serials of each template still begin at the first number and have no gaps and no
// duplicates.
func TestSerials_AreDenseWhateverFails(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := fresh(t)
		first := rapid.Int64Range(0, 3).Draw(rt, "first")
		g := numbered(t, s, first, 0)
		made := 0
		for range rapid.IntRange(1, 8).Draw(rt, "changes") {
			n, step := rapid.IntRange(1, 4).Draw(rt, "n"), rapid.Int32Range(0, 1).Draw(rt, "step")
			fails := rapid.Bool().Draw(rt, "fails")
			err := s.Update(t.Context(), func(tx *Tx) error {
				if _, err := insertNext(tx, g, made, n, step); err != nil || !fails {
					return err
				}
				return errors.New("crash")
			})
			if err == nil {
				made += n
			} else if !fails {
				rt.Fatal(err)
			}
		}
		for step, all := range serialsOf(rt, s, g.ID) {
			for i, numbers := range all {
				want := slices.Repeat([]int64{max(first, 1) + int64(i)}, 2-step)
				if !slices.Equal(numbers, want) {
					rt.Fatalf("step %d: local job %d has %v, want %v", step, i, numbers, want)
				}
			}
		}
	})
}
