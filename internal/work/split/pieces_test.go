package split

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

func TestPieces_AreMadeInAnyNumberOfCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var w Work
		var p Params
		for _, lfn := range []string{"a", "b", "c"} {
			f := jjm.File{LFN: lfn, Events: 50, FirstEvent: 7}
			for at := rapid.Int64Range(0, 20).Draw(t, "at"); at < 50; at += rapid.Int64Range(1, 20).Draw(t, "gap") {
				n := min(rapid.Int64Range(1, 20).Draw(t, "count"), 50-at)
				p.Pieces = append(p.Pieces, Piece{lfn, at, n})
				at += n
			}
			w.Files = append(w.Files, f)
		}
		if len(p.Pieces) == 0 {
			return
		}
		w.Closed = true
		s, err := Get(Pieces)
		if err != nil {
			t.Fatal(err)
		}
		var got []Piece
		var carry Carry
		for more := true; more; {
			parts, left, next, err := s.Cut(w, Limits{MaxParts: rapid.IntRange(1, 4).Draw(t, "limit")}, p, carry)
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range parts {
				r := part.Input.Events[0]
				if part.Count != r.Count || part.Input.Mask.Events.First != 7+r.First || part.Serial != int64(len(got))+1 {
					t.Fatalf("%+v", part)
				}
				got = append(got, Piece{part.Input.Files[0], r.First, r.Count})
			}
			w.Files = notDone(w.Files, left.Done)
			carry, more = next, left.More
		}
		if diff := cmp.Diff(p.Pieces, got); diff != "" {
			t.Fatal(diff)
		}
		if len(w.Files) != 0 {
			t.Fatalf("not done: %v", w.Files)
		}
	})
}

// notDone returns the files that are not done, as the store does before the next cut.
func notDone(files []jjm.File, done []int32) (out []jjm.File) {
	gone := map[int32]bool{}
	for _, i := range done {
		gone[i] = true
	}
	for i, f := range files {
		if !gone[int32(i)] {
			out = append(out, f)
		}
	}
	return out
}

func TestPieces_WaitForTheirFile(t *testing.T) {
	p := Params{Pieces: []Piece{{"late", 0, jjm.ToTheEnd}}}
	s := mustGet(t, Pieces)
	parts, left, carry, err := s.Cut(Work{}, Limits{}, p, Carry{})
	if err != nil || len(parts) != 0 || left.Waiting != 1 || left.More {
		t.Fatal(parts, left, err)
	}
	parts, left, _, err = s.Cut(Work{Files: []jjm.File{{LFN: "late"}}, Closed: true}, Limits{}, p, carry)
	if err != nil || len(parts) != 1 || parts[0].Count != 1 || parts[0].Input.Mask.Events.Count != jjm.ToTheEnd ||
		left.Waiting != 0 {
		t.Fatal(parts, left, err)
	}
}

func TestPieces_RefusesInvalidPieces(t *testing.T) {
	for name, pieces := range map[string][]Piece{
		"none":     {},
		"empty":    {{"a", 5, 0}},
		"negative": {{"a", -1, 5}},
		"overlap":  {{"a", 0, 5}, {"a", 4, 5}},
		"backward": {{"a", 20, 5}, {"a", 0, 5}},
		"beyond":   {{"a", 45, 6}},
		"unknown":  {{"b", 0, 5}},
		"whole":    {{"a", 0, -1}},
		"twice":    {{"n", 0, -1}, {"n", 5, 5}},
		"overflow": {{"n", 5, 1<<63 - 1}},
	} {
		_, _, _, err := mustGet(t, Pieces).Cut(Work{Files: []jjm.File{{LFN: "a", Events: 50}, {LFN: "n"}}, Closed: true},
			Limits{}, Params{Pieces: pieces}, Carry{})
		if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), "pieces") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
