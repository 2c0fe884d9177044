package condor

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/adapters"
	"jjm/internal/jjm"
)

var ann = jjm.Owner{UID: 1000, GID: 1000, User: "ann"}

func TestJobOf_ReadsBothKindsOfReferences(t *testing.T) {
	tests := map[adapters.Ref]string{
		{ID: "17", Index: 0}:     "17.0",
		{ID: "17", Index: 250}:   "17.250",
		{ID: "17.3", Index: -1}:  "17.3",
		{ID: "17", Index: -1}:    "",
		{ID: "17.3", Index: 2}:   "",
		{ID: "17.3.4", Index: 1}: "",
		{ID: "sim1", Index: 1}:   "",
		{ID: "-5", Index: 1}:     "",
		{ID: "17.-3", Index: -1}: "",
		{ID: "", Index: 1}:       "",
		{ID: "17 || true"}:       "",
	}
	for ref, want := range tests {
		id, ok := jobOf(ref)
		if ok != (want != "") || ok && id.String() != want {
			t.Errorf("%+v: %v, %v", ref, id, ok)
		}
	}
}

func FuzzJobOf(f *testing.F) {
	for _, id := range []string{"17", "17.3", "", "1.2.3", "x", "99999999999999999999", "1 || true"} {
		f.Add(id, int32(0))
		f.Add(id, int32(-1))
	}
	f.Fuzz(func(t *testing.T, id string, index int32) {
		got, ok := jobOf(adapters.Ref{ID: id, Index: index})
		if ok && (got.cluster < 0 || got.proc < 0) {
			t.Errorf("%q, %d: %v", id, index, got)
		}
	})
}

func refsOf(tag jjm.Tag, id string, indices ...int32) []adapters.Ref {
	var out []adapters.Ref
	for _, i := range indices {
		out = append(out, adapters.Ref{Tag: tag, ID: id, Index: i})
	}
	return out
}

func TestConstraints_RangesWithTheirTags(t *testing.T) {
	refs := append(refsOf("b", "9", 0), refsOf("a", "7", 5, 1, 2, 3, 5)...)
	refs = append(refs, adapters.Ref{Tag: "a", ID: "7.8", Index: -1}, adapters.Ref{Tag: "bad tag", ID: "7"},
		adapters.Ref{Tag: "a", ID: "x"})
	want := []string{`(JJMTag =?= "a" && (ClusterId == 7 && ((ProcId >= 1 && ProcId <= 3) || ProcId == 5 || ProcId == 8)))` +
		` || (JJMTag =?= "b" && (ClusterId == 9 && (ProcId == 0)))`}
	if diff := cmp.Diff(want, jobSet(refs).constraints()); diff != "" {
		t.Error(diff)
	}
	if got := jobSet(nil).constraints(); len(got) != 0 {
		t.Errorf("no jobs: %q", got)
	}
}

func TestConstraints_NoneIsTooLongForACommand(t *testing.T) {
	var refs []adapters.Ref
	for i := range int32(20_000) {
		refs = append(refs, adapters.Ref{Tag: "a", ID: "1234567", Index: 2 * i})
	}
	all := jobSet(refs).constraints()
	terms := 0
	for _, c := range all {
		terms += strings.Count(c, "ProcId ==")
		if len(c) > 100<<10 {
			t.Errorf("%d bytes", len(c))
		}
	}
	if terms != len(refs) {
		t.Errorf("%d of %d jobs are in %d constraints", terms, len(refs), len(all))
	}
}

func TestDecide_ActsOnlyWhereItMust(t *testing.T) {
	states := map[int32]record{
		0: {status: idle}, 1: {status: running}, 2: {status: removed}, 3: {status: completed},
		4: {status: held, hold: 15}, 5: {status: held, hold: 46}, 6: {status: suspended}, 7: {status: transferring},
	}
	seen := map[tagged]record{}
	for proc, r := range states {
		r.jobID, r.tag, r.owner = jobID{17, proc}, "a", "ann"
		seen[tagged{"a", r.jobID}] = r
	}
	seen[tagged{"a", jobID{17, 8}}] = record{jobID: jobID{17, 8}, tag: "a", owner: "bob", status: idle}
	refs := refsOf("a", "17", 0, 1, 2, 3, 4, 5, 6, 7, 8, 9)
	refs = append(refs, adapters.Ref{Tag: "b", ID: "17", Index: 0}, adapters.Ref{Tag: "a", ID: "no", Index: 0})
	tests := map[adapters.Op]struct {
		todo []int32
		odd  map[int]jjm.Kind
	}{
		adapters.Cancel: {todo: []int32{0, 1, 4, 5, 6, 7}, odd: map[int]jjm.Kind{8: jjm.Denied}},
		adapters.HoldJobs: {todo: []int32{0},
			odd: map[int]jjm.Kind{1: jjm.Conflict, 6: jjm.Conflict, 7: jjm.Conflict, 8: jjm.Denied}},
		adapters.Release: {todo: []int32{4}, odd: map[int]jjm.Kind{8: jjm.Denied}},
	}
	for op, tt := range tests {
		answers, todo := decide(op, ann, refs, seen, nil)
		var acts []int32
		for _, ref := range todo {
			acts = append(acts, ref.Index)
		}
		if diff := cmp.Diff(tt.todo, acts); diff != "" {
			t.Errorf("%v: %s", op, diff)
		}
		for i, err := range answers {
			if jjm.KindOf(err) != tt.odd[i] || (err != nil) != (tt.odd[i] != jjm.Unclassified) {
				t.Errorf("%v, job %d: %v", op, i, err)
			}
		}
	}
}

func TestFound_HasEveryClusterOnce(t *testing.T) {
	bulks := []bulk{{"a", 9}, {"a", 9}, {"a", 10}, {"a", 9}, {"c", 11}}
	want := []adapters.Found{
		{Tag: "b", Presence: adapters.Absent},
		{Tag: "a", Presence: adapters.Present, IDs: []string{"9", "10"}},
	}
	if diff := cmp.Diff(want, found([]jjm.Tag{"b", "a"}, bulks, nil)); diff != "" {
		t.Error(diff)
	}
}
