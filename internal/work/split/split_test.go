package split

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

func mustGet(t testing.TB, name string) Splitter {
	t.Helper()
	s, err := Get(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEvents_LastPartIsShorter(t *testing.T) {
	parts, left, carry, err := mustGet(t, ByEvents).Cut(Work{First: 1, Events: 600}, Limits{}, Params{EventsPerJob: 250},
		Carry{})
	if err != nil || left.More {
		t.Fatalf("more %v, error %v", left.More, err)
	}
	want := []jjm.Part{
		{Unit: "event", First: 1, Count: 250, Serial: 1},
		{Unit: "event", First: 251, Count: 250, Serial: 2},
		{Unit: "event", First: 501, Count: 100, Serial: 3},
	}
	if diff := cmp.Diff(want, parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Carry{Next: 600, Serial: 3}, carry); diff != "" {
		t.Errorf("carry (-want +got):\n%s", diff)
	}
}

func TestRows_OnePartPerRow(t *testing.T) {
	work := Work{Rows: [][]string{{"a", "b"}, nil, {""}}}
	parts, left, _, err := mustGet(t, ByRows).Cut(work, Limits{}, Params{}, Carry{})
	if err != nil || left.More {
		t.Fatalf("more %v, error %v", left.More, err)
	}
	want := []jjm.Part{
		{Unit: "row", First: 0, Count: 1, Serial: 1, Args: []string{"a", "b"}},
		{Unit: "row", First: 1, Count: 1, Serial: 2},
		{Unit: "row", First: 2, Count: 1, Serial: 3, Args: []string{""}},
	}
	if diff := cmp.Diff(want, parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	_ = append(parts[0].Args, "x")
	if len(work.Rows[0]) != 2 || cap(parts[0].Args) != 2 {
		t.Error("appending to a part's words may overwrite the work")
	}
}

func TestCut_RefusesInvalidWork(t *testing.T) {
	tests := map[string]struct {
		splitter string
		work     Work
		params   Params
		carry    Carry
		want     string
		kind     jjm.Kind
	}{
		"no size":       {ByEvents, Work{Events: 5}, Params{}, Carry{}, "events_per_job is 0", jjm.Invalid},
		"negative size": {ByEvents, Work{Events: 5}, Params{EventsPerJob: -3}, Carry{}, "events_per_job is -3", jjm.Invalid},
		"negative work": {ByEvents, Work{Events: -5}, Params{EventsPerJob: 1}, Carry{}, "-5 events", jjm.Invalid},
		"negative start": {ByEvents, Work{First: -1, Events: 5}, Params{EventsPerJob: 1}, Carry{},
			"from event -1", jjm.Invalid},
		"too far": {ByEvents, Work{First: 1 << 53, Events: 1}, Params{EventsPerJob: 1}, Carry{},
			"want numbers from 0 to 9007199254740992", jjm.Invalid},
		"overflow": {ByEvents, Work{First: math.MaxInt64, Events: math.MaxInt64}, Params{EventsPerJob: 1}, Carry{},
			"want numbers", jjm.Invalid},
		"too many": {ByEvents, Work{Events: 1 << 52}, Params{EventsPerJob: 2}, Carry{},
			"would make 2251799813685248 parts: at most 10000000", jjm.Invalid},
		"shrunk": {ByRows, Work{Rows: make([][]string, 2)}, Params{}, Carry{Next: 3, Serial: 3},
			"3 units were cut before, but the work now has 2", jjm.Conflict},
		"bad carry": {ByEvents, Work{Events: 2}, Params{EventsPerJob: 1}, Carry{Next: -1}, "-1 units", jjm.Conflict},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			parts, _, carry, err := mustGet(t, test.splitter).Cut(test.work, Limits{}, test.params, test.carry)
			if err == nil || !strings.Contains(err.Error(), test.want) || jjm.KindOf(err) != test.kind {
				t.Errorf("error is %v (%v), want %q (%v)", err, jjm.KindOf(err), test.want, test.kind)
			}
			if parts != nil || !cmp.Equal(carry, test.carry) {
				t.Errorf("made %d parts, carry %+v", len(parts), carry)
			}
		})
	}
}

func TestGet_UnknownSplitterNamesTheKnown(t *testing.T) {
	_, err := Get("lumis")
	want := `splitter: unknown splitter "lumis": known are ArgSplitter, `
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error is %v, want %s...", err, want)
	}
	if _, err := Get("FilesBased"); err == nil || err.Error() !=
		`splitter: unknown splitter "FilesBased": did you mean FileBased?` {
		t.Errorf("a name with one letter too much: %v", err)
	}
	for _, name := range Names() {
		if got := mustGet(t, name).Name(); got != name {
			t.Errorf("splitter %q calls itself %q", name, got)
		}
	}
}

func TestCut_NoWorkMakesNoParts(t *testing.T) {
	for _, name := range []string{ByEvents, ByRows} {
		parts, left, carry, err := mustGet(t, name).Cut(Work{First: 7}, Limits{MaxParts: 3}, Params{EventsPerJob: 5}, Carry{})
		if len(parts) != 0 || left.More || err != nil || !cmp.Equal(carry, Carry{}) {
			t.Errorf("%s: %d parts, carry %+v, more %v, error %v", name, len(parts), carry, left.More, err)
		}
	}
}

// drawWork draws work and parameters for which the splitter makes at most a few thousand parts.
func drawWork(t *rapid.T, name string) (Work, Params) {
	if name == ByRows {
		return Work{Rows: rapid.SliceOfN(rapid.SliceOfN(rapid.String(), 0, 3), 0, 300).Draw(t, "rows")}, Params{}
	}
	size := rapid.Int64Range(1, 1<<40).Draw(t, "size")
	events := rapid.Int64Range(0, min(2000*size, 1<<52)).Draw(t, "events")
	return Work{First: rapid.Int64Range(0, 1<<52).Draw(t, "first"), Events: events}, Params{EventsPerJob: size}
}

func TestCut_PartsCoverTheWorkOnceHoweverItIsCut(t *testing.T) {
	for _, name := range []string{ByEvents, ByRows} {
		t.Run(name, func(t *testing.T) {
			s := mustGet(t, name)
			rapid.Check(t, func(t *rapid.T) {
				work, params := drawWork(t, name)
				want, left, _, err := s.Cut(work, Limits{}, params, Carry{})
				if err != nil || left.More {
					t.Fatalf("more %v, error %v", left.More, err)
				}
				if n, err := s.Count(work, params); err != nil || n != int64(len(want)) {
					t.Fatalf("Count says %d (%v), Cut made %d", n, err, len(want))
				}
				covers(t, work, params, want)
				var got []jjm.Part
				var carry Carry
				for more := true; more; {
					limits := Limits{MaxParts: rapid.IntRange(1, 500).Draw(t, "limit")}
					var some []jjm.Part
					some, left, carry, err = s.Cut(work, limits, params, carry)
					if err != nil {
						t.Fatal(err)
					}
					more = left.More
					if len(some) > limits.MaxParts || more && len(some) != limits.MaxParts {
						t.Fatalf("%d parts for a limit of %d, more %v", len(some), limits.MaxParts, more)
					}
					got = append(got, some...)
				}
				if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(got)); diff != "" {
					t.Fatalf("cut progressively (-at once +progressively):\n%s", diff)
				}
			})
		})
	}
}

// covers requires that the parts are in order, are not empty, have no gaps or overlaps, and have the requested size.
func covers(t *rapid.T, work Work, params Params, parts []jjm.Part) {
	next := work.First
	for i, p := range parts {
		full := max(params.EventsPerJob, 1)
		switch {
		case p.First != next || p.Serial != int64(i)+1:
			t.Fatalf("part %d is %+v, want it to start at %d", i, p, next)
		case p.Count < 1 || p.Count > full || p.Count < full && i < len(parts)-1:
			t.Fatalf("part %d of %d has %d units, want %d", i, len(parts), p.Count, full)
		}
		next += p.Count
	}
	if next != work.First+work.Events+int64(len(work.Rows)) {
		t.Fatalf("the parts end at %d", next)
	}
}

func TestCut_MakesPartsWithoutAnAllocationForEach(t *testing.T) {
	rows := Work{Rows: make([][]string, 10_000)}
	events := Work{First: 1, Events: 2_500_000}
	for name, work := range map[string]Work{ByEvents: events, ByRows: rows} {
		s := mustGet(t, name)
		n := testing.AllocsPerRun(1, func() {
			if parts, _, _, err := s.Cut(work, Limits{}, Params{EventsPerJob: 250}, Carry{}); err != nil ||
				len(parts) != 10_000 {
				t.Errorf("%s: %d parts, error %v", name, len(parts), err)
			}
		})
		if n > 200 {
			t.Errorf("%s: %v allocations for 10000 parts", name, n)
		}
	}
}

func BenchmarkCut(b *testing.B) {
	s := mustGet(b, ByEvents)
	for b.Loop() {
		if _, _, _, err := s.Cut(Work{First: 1, Events: 25_000_000}, Limits{}, Params{EventsPerJob: 250},
			Carry{}); err != nil {
			b.Fatal(err)
		}
	}
}

func TestOnly_CutsTheChosenUnitsWithTheirNumbers(t *testing.T) {
	work := Work{First: 1, Events: 600,
		Only: []jjm.Span{{First: 1, Count: 30}, {First: 500, Count: 5}, {First: 600, Count: 1}}}
	s := mustGet(t, ByEvents)
	params := Params{EventsPerJob: 20}
	if n, err := s.Count(work, params); n != 4 || err != nil {
		t.Errorf("counted %d, %v", n, err)
	}
	var got []jjm.Part
	carry := Carry{Serial: 30}
	for more := true; more; { // one part at a time, as after restarts
		parts, left, next, err := s.Cut(work, Limits{MaxParts: 1}, params, carry)
		if err != nil {
			t.Fatal(err)
		}
		got, carry, more = append(got, parts...), next, left.More
	}
	var want []jjm.Part
	for i, span := range []jjm.Span{{First: 1, Count: 20}, {First: 21, Count: 10}, {First: 500, Count: 5},
		{First: 600, Count: 1}} {
		want = append(want, jjm.Part{Unit: jjm.UnitEvent, First: span.First, Count: span.Count, Serial: int64(31 + i)})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	rows := Work{Rows: [][]string{{"a"}, {"b"}, {"c"}}, Only: []jjm.Span{{First: 2, Count: 1}}}
	parts, _, _, err := mustGet(t, ByRows).Cut(rows, Limits{}, Params{}, Carry{})
	if err != nil || len(parts) != 1 || parts[0].First != 2 || parts[0].Args[0] != "c" {
		t.Errorf("%+v, %v", parts, err)
	}
}

func TestOnly_RefusesInvalidRanges(t *testing.T) {
	for name, only := range map[string][]jjm.Span{
		"before":   {{First: 0, Count: 1}},
		"beyond":   {{First: 600, Count: 2}},
		"empty":    {{First: 5}},
		"overlap":  {{First: 5, Count: 5}, {First: 9, Count: 1}},
		"backward": {{First: 5, Count: 5}, {First: 1, Count: 1}},
		"overflow": {{First: 5, Count: math.MaxInt64}},
	} {
		_, err := mustGet(t, ByEvents).Count(Work{First: 1, Events: 600, Only: only}, Params{EventsPerJob: 1})
		if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), "within 1 to 600") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
