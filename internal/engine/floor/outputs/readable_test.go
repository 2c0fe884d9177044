package outputs

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

func TestReadable_KeepsTheReadableFilesOfAPart(t *testing.T) {
	t.Parallel()
	files := []string{"a", "b", "c"}
	ranges := []jjm.EventRange{{File: 0, First: 5, Count: 10}, {File: 1, Count: 3}, {File: 2, Count: jjm.ToTheEnd}}
	lumis := []jjm.FileLumis{{File: 1, LumiRange: jjm.LumiRange{Run: 1, First: 1, Last: 4}},
		{File: 2, LumiRange: jjm.LumiRange{Run: 1, First: 7, Last: 8}}}
	for unit, want := range map[string]jjm.Part{
		jjm.UnitFile: {Count: 2, Input: &jjm.PartInput{Files: []string{"a", "c"}}},
		jjm.UnitRange: {Count: 11, Input: &jjm.PartInput{Files: []string{"a", "c"},
			Events: []jjm.EventRange{{First: 5, Count: 10}, {File: 1, Count: jjm.ToTheEnd}}}},
		jjm.UnitLumi: {Count: 2, Input: &jjm.PartInput{Files: []string{"a", "c"},
			Lumis: []jjm.FileLumis{{File: 1, LumiRange: jjm.LumiRange{Run: 1, First: 7, Last: 8}}}}},
	} {
		in := &jjm.PartInput{Files: files}
		p := jjm.Part{Unit: unit, Count: 3, Input: in}
		switch unit {
		case jjm.UnitRange:
			in.Events, p.Count = ranges, 14
		case jjm.UnitLumi:
			in.Lumis, p.Count = lumis, 6
		}
		want.Unit = unit
		if diff := cmp.Diff(want, Readable(p, map[string]bool{"b": true})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", unit, diff)
		}
		if got := Readable(p, map[string]bool{"a": true, "b": true, "c": true}); got.Count != 0 || len(in.Files) != 3 {
			t.Errorf("%s, nothing can be read: %+v; the part itself has now %v", unit, got, in.Files)
		}
	}
}
