package store

import (
	"context"
	"reflect"
	"testing"

	"jjm/internal/jjm"
)

// SaveLocalsAfter stores local jobs that change in the same way exactly as SaveLocals does, even together with local
// jobs that change differently.
func TestSaveLocalsAfter_StoresWhatSaveLocalsStores(t *testing.T) {
	t.Parallel()
	const n = 30
	id := jjm.GridID(1)
	var read [2][]jjm.LocalJob
	for i := range read {
		s := fresh(t)
		fill(t, s, n, n)
		submit(t, s, id, "tag", 0, n-1)
		before, after := make([]*jjm.LocalJob, n), make([]*jjm.LocalJob, n)
		for k := range n {
			l := sampleLocal(id, k)
			l.State, l.Tag, l.Pos, l.BatchID, l.Cluster = jjm.Submitted, "tag", int32(k), "7."+string(rune('a'+k)), "local"
			before[k] = &l
			killed := l
			killed.State, killed.Phase, killed.Kill, killed.Ended, killed.Message = jjm.Killed, jjm.ByPerson, true, 9, "killed"
			switch k {
			case 3:
				killed.BatchID = "8"
			case 11:
				killed.Pos = 77
			case 12:
				killed.RetryArgs = []string{"-x"}
			case 13:
				killed.Holding = &jjm.Holding{}
			case 14:
				killed.Message = "lost"
			case 16:
				killed.Again.Times = 2
			case 20, 21:
				killed.Progress.Done = 5
			}
			after[k] = &killed
		}
		after[1], after[2] = after[2], after[1]
		update(t, s, func(tx *Tx) error { return saveEnds(tx, before) })
		update(t, s, func(tx *Tx) error {
			if i == 0 {
				return tx.SaveLocals(after)
			}
			return tx.SaveLocalsAfter(after, func(id jjm.LocalID) *jjm.LocalJob { return before[id.N] })
		})
		var err error
		if read[i], err = s.Locals(context.Background(), id, 0, -1); err != nil {
			t.Fatal(err)
		}
	}
	for k := range n {
		if !reflect.DeepEqual(read[0][k], read[1][k]) {
			t.Errorf("local job %d:\n %+v\nwant %+v", k, read[1][k], read[0][k])
		}
	}
}

// sameLife and keepsPlace together compare every field of two local jobs that may change. The test fails if a new field
// is not compared.
func TestSameLife_ComparesEveryField(t *testing.T) {
	t.Parallel()
	constant := map[string]bool{"ID": true, "Part": true, "Step": true, "Place": true, "Origin": true, "Waits": true}
	apart := map[string]bool{"Pos": true, "BatchID": true} // keepsPlace compares these fields
	a, b := sampleLocal(1, 0), sampleLocal(1, 1)
	if !sameLife(&a, &b) {
		t.Fatal("two new local jobs are not alike")
	}
	for i := range reflect.TypeFor[jjm.LocalJob]().NumField() {
		name := reflect.TypeFor[jjm.LocalJob]().Field(i).Name
		if constant[name] {
			continue
		}
		other := b
		other.RetryArgs, other.Holding = nil, nil
		change(t, reflect.ValueOf(&other).Elem().Field(i))
		if same := sameLife(&a, &other); same != apart[name] {
			t.Errorf("local jobs with another %s are alike: %v", name, same)
		}
		if kept := keepsPlace(&other, &b); kept == apart[name] {
			t.Errorf("a local job with another %s keeps its place: %v", name, kept)
		}
	}
}

// change sets a field to a different value.
func change(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Struct:
		change(t, v.Field(0))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	default:
		switch {
		case v.CanInt():
			v.SetInt(v.Int() + 1)
		case v.CanUint():
			v.SetUint(v.Uint() + 1)
		default:
			t.Fatalf("a field of kind %v", v.Kind())
		}
	}
}

// If one attempt of many cannot end, no attempt ends, and the error names the attempt.
func TestEndAttempts_NamesTheOneThatCannotEnd(t *testing.T) {
	t.Parallel()
	s := fresh(t)
	g := fill(t, s, 20, 20)
	b := submit(t, s, g.ID, "tag", 0, 9)
	update(t, s, func(tx *Tx) error { return tx.EndAttempts([]AttemptEnd{sampleEnd(b.Members[4])}) })
	var ends []AttemptEnd
	for n := range int32(12) {
		ends = append(ends, sampleEnd(jjm.AttemptID{LocalID: jjm.LocalID{Grid: g.ID, N: n}}))
	}
	fails := func(kind jjm.Kind, ends ...AttemptEnd) {
		t.Helper()
		wantKind(t, s.Update(context.Background(), func(tx *Tx) error { return tx.EndAttempts(ends) }), kind)
		if n := number(t, s, "SELECT count(*) FROM attempts WHERE ended <> 0"); n != 1 {
			t.Errorf("%d attempts have ended, want 1", n)
		}
	}
	fails(jjm.Conflict, ends...)
	fails(jjm.Gone, ends[5:]...)
	update(t, s, func(tx *Tx) error { return tx.EndAttempts(append(ends[5:10:10], ends[:4]...)) })
	if n := number(t, s, "SELECT count(*) FROM evidence JOIN attempts USING (grid, local, attempt) WHERE ended = 5000"); n != 10 {
		t.Errorf("%d attempts have ended with evidence, want 10", n)
	}
}
