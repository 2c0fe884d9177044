package selection

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

func TestDistinct_KeepsEachJobOnce(t *testing.T) {
	for _, c := range []struct {
		words, want string
		wholes      bool
	}{
		{words: "26 26.3 26", want: "26", wholes: true},
		{words: "26.3 26 26.4", want: "26", wholes: true},
		{words: "26 26.3 26", want: "26 26.3"},
		{words: "26.0-3 27 26.2-5 26.4-9", want: "26.0-9 27"},
		{words: "26.5-9 26.0-5", want: "26.0-9"},
		{words: "26.0-3 26.4-9", want: "26.0-3 26.4-9"},
		{words: "26.3 26.* 26.9-12", want: "26.*"},
		{words: "name:a* 26 name:a*", want: "name:a* 26"},
		{words: "26.1 27.1 26.1", want: "26.1 27.1"},
	} {
		list, err := Parse(strings.Fields(c.words))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(list.Distinct(c.wholes).Words(), " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.words, got, c.want)
		}
	}
}

// The distinct list means the same local jobs as the list, and each of them once.
func TestDistinct_MeansTheSame(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var list List
		want := map[jjm.LocalID]bool{}
		for range rapid.IntRange(0, 8).Draw(rt, "ranges") {
			first := rapid.Int32Range(0, 20).Draw(rt, "first")
			ref := jjm.Ref{Grid: jjm.GridID(rapid.IntRange(1, 2).Draw(rt, "grid job")), Locals: true, First: first,
				Last: first + rapid.Int32Range(0, 6).Draw(rt, "more")}
			list = append(list, Pattern{Ref: ref})
			for n := ref.First; n <= ref.Last; n++ {
				want[jjm.LocalID{Grid: ref.Grid, N: n}] = true
			}
		}
		before := slices.Clone(list)
		got := 0
		for _, p := range list.Distinct(true) {
			for n := p.Ref.First; n <= p.Ref.Last; n++ {
				if got++; !want[jjm.LocalID{Grid: p.Ref.Grid, N: n}] {
					rt.Fatalf("%v means local job %d", p, n)
				}
			}
		}
		if got != len(want) || !slices.Equal(list, before) {
			rt.Fatalf("%v: %v means %d local jobs, want %d", before.Words(), list.Distinct(true).Words(), got, len(want))
		}
	})
}
