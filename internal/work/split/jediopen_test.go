package split

import (
	"fmt"
	"strings"
	"testing"

	"jjm/internal/jjm"
)

// ownEvents lists the ranges of events that parts own, such as "m:0+100".
func ownEvents(parts []jjm.Part) (out []string) {
	for i := range parts {
		for _, r := range parts[i].Input.Events {
			out = append(out, fmt.Sprintf("%s:%d+%d", parts[i].Input.Files[r.File], r.First, r.Count))
		}
	}
	return out
}

// While its dataset is open, a file may be cut only in part. The rest is cut exactly once later, even if files arrive
// in the meantime whose names sort before it.
func TestJEDI_AnOpenDatasetContinuesInTheMiddleOfAFile(t *testing.T) {
	p := params(t, JEDI, func(p *Params) {
		p.Records.RealEvents, p.Records.EventsPerJob, p.ChunksToWait = true, 100, 1
	})
	files := []jjm.File{file("m", 150)}
	var got []string
	carry, left := Carry{}, Left{}
	for _, more := range []string{"b", "z", ""} {
		parts, l, next, err := mustGet(t, JEDI).Cut(Work{Closed: more == "", Files: files}, Limits{}, p, carry)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, ownEvents(parts)...)
		carry, left = next, l
		if files = notDone(files, l.Done); more != "" {
			files = append(files, file(more, 30))
		}
	}
	want := "m:0+100 m:100+50 b:0+30 z:0+20 z:20+10"
	if text := strings.Join(got, " "); text != want || left.Waiting != 0 || carry.Checkpoint != nil {
		t.Errorf("%s, want %s; %+v", text, want, left)
	}
}

// The rest of a file is also cut exactly once if the next part waits for a secondary dataset, even with very small
// pieces.
func TestJEDI_ASecondaryDatasetContinuesInTheMiddleOfAFile(t *testing.T) {
	p := params(t, JEDI, func(p *Params) { p.Records.RealEvents, p.Records.EventsPerJob = true, 5 })
	second := func(n int) []Stream {
		s := Stream{Dataset: jjm.Dataset{Name: "mb", Closed: n > 3}}
		for i := range n {
			s.Files = append(s.Files, file(fmt.Sprint("x", i), 1))
		}
		return []Stream{s}
	}
	for _, most := range []int{0, 1} {
		files := []jjm.File{file("a", 10), file("b", 10)}
		var got []string
		carry, left := Carry{}, Left{More: true}
		for n := 3; n < 5; {
			parts, l, next, err := mustGet(t, JEDI).Cut(Work{Closed: true, Files: files, Secondary: second(n)},
				Limits{MaxParts: most}, p, carry)
			if err != nil {
				t.Fatal(err)
			}
			got, carry, left = append(got, ownEvents(parts)...), next, l
			if files = notDone(files, l.Done); !l.More {
				n++
			}
		}
		if text := strings.Join(got, " "); text != "a:0+5 a:5+5 b:0+5 b:5+5" || left.Waiting != 0 || len(files) != 0 {
			t.Errorf("%d at a time: %s; %+v", most, text, left)
		}
	}
}
