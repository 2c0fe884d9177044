package split

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
	"jjm/internal/work/split/jedi"
)

// withAlong returns work of events with one secondary dataset per element of attributes. Each dataset has the given
// number of files.
func withAlong(events int64, closed bool, files int, attributes ...string) Work {
	w := Work{First: 1, Events: events, Closed: true}
	for n, text := range attributes {
		s := Stream{Dataset: jjm.Dataset{Name: fmt.Sprint("d", n), Attributes: text, Closed: closed}}
		for i := range files {
			s.Files = append(s.Files, jjm.File{LFN: fmt.Sprintf("d%d.%d", n, i), Events: 5})
		}
		w.Secondary = append(w.Secondary, s)
	}
	return w
}

// alongOf formats each part as its range of events with the names of its secondary files.
func alongOf(parts []jjm.Part) (out []string) {
	for i := range parts {
		text := fmt.Sprintf("%d+%d:", parts[i].First, parts[i].Count)
		for _, s := range parts[i].Input.More.Secondary {
			text += fmt.Sprint(" ", s.Files)
		}
		if n := parts[i].Input.More.Sequence; n != 0 {
			text += fmt.Sprint(" #", n)
		}
		out = append(out, text)
	}
	return out
}

// The attributes of a secondary dataset determine which of its files a part of events gets. The result is the same if
// the work is cut in several calls.
func TestEvents_GetSecondaryFilesByAttributes(t *testing.T) {
	p := params(t, ByEvents, func(p *Params) { p.EventsPerJob = 10 })
	w := withAlong(25, true, 4, "repeat,ratio=2", "nosplit", "er=1", "ru,np=3")
	w.Secondary[2].Files = append(w.Secondary[2].Files, jjm.File{LFN: "d2.4", Events: 5})
	w.Secondary = append(w.Secondary, Stream{Dataset: jjm.Dataset{Name: jedi.Sequence, Closed: true}})
	want := []string{
		"1+10: [d0.0 d0.1] [d1.0 d1.1 d1.2 d1.3] [d2.0 d2.1] [d3.0 d3.1 d3.2] #1",
		"11+10: [d0.2 d0.3] [d1.0 d1.1 d1.2 d1.3] [d2.2 d2.3] [d3.0 d3.1 d3.2] #2",
		"21+5: [d0.0 d0.1] [d1.0 d1.1 d1.2 d1.3] [d2.4] [d3.0 d3.1 d3.2] #3",
	}
	for _, most := range []int{0, 1, 2} {
		var got []string
		carry, left := Carry{}, Left{More: true}
		for left.More {
			parts, l, next, err := mustGet(t, ByEvents).Cut(w, Limits{MaxParts: most}, p, carry)
			if err != nil {
				t.Fatal(err)
			}
			got, carry, left = append(got, alongOf(parts)...), next, l
		}
		if diff := cmp.Diff(want, got); diff != "" || left.Waiting != 0 {
			t.Errorf("%d at a time (-want +got):\n%s%+v", most, diff, left)
		}
	}
	if n, err := mustGet(t, ByEvents).Count(w, p); n != 3 || err != nil {
		t.Errorf("count: %d, %v", n, err)
	}
}

// With repeat and np=N, each part gets N files; after the last file of the dataset the first one follows. If the
// dataset has fewer than N files, the work is refused, because a part cannot get the same file twice.
func TestEvents_RepeatedFilesAreAsManyForEachPart(t *testing.T) {
	p := params(t, ByEvents, func(p *Params) { p.EventsPerJob = 10 })
	parts, _, _, err := mustGet(t, ByEvents).Cut(withAlong(40, true, 3, "repeat,np=2"), Limits{}, p, Carry{})
	want := []string{"1+10: [d0.0 d0.1]", "11+10: [d0.2 d0.0]", "21+10: [d0.1 d0.2]", "31+10: [d0.0 d0.1]"}
	if diff := cmp.Diff(want, alongOf(parts)); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, attributes := range []string{"repeat,np=4", "ru,np=4"} {
		_, _, _, err := mustGet(t, ByEvents).Cut(withAlong(20, true, 3, attributes), Limits{}, p, Carry{})
		if err == nil || !strings.Contains(err.Error(), "dataset d0 has 3 of the 4 files that each local job needs of it: "+
			"add some, or say a smaller np in its attributes") {
			t.Errorf("%s: %v", attributes, err)
		}
		parts, left, _, err := mustGet(t, ByEvents).Cut(withAlong(20, false, 3, attributes), Limits{}, p, Carry{})
		if err != nil || len(parts) != 0 || left.Waiting == 0 {
			t.Errorf("%s, open: %d parts, %+v, %v", attributes, len(parts), left, err)
		}
	}
}

// If there are too few secondary files, Cut returns an error if the dataset is closed, and waits if it is open.
func TestEvents_TooFewFilesAreRefusedOrWaitedFor(t *testing.T) {
	p := params(t, ByEvents, func(p *Params) { p.EventsPerJob = 10 })
	_, _, _, err := mustGet(t, ByEvents).Cut(withAlong(30, true, 2, ""), Limits{}, p, Carry{})
	const says = "split by events: dataset d0 has 2 of the 3 files that local jobs need of it: " +
		"add some, or say repeat or ru in its attributes"
	if err == nil || err.Error() != says {
		t.Errorf("%v, want %s", err, says)
	}
	parts, left, next, err := mustGet(t, ByEvents).Cut(withAlong(30, false, 2, ""), Limits{}, p, Carry{})
	if err != nil || len(parts) != 2 || left.Waiting != 1 || left.Lacks == "" {
		t.Fatalf("open: %d parts, %+v, %v", len(parts), left, err)
	}
	parts, left, _, err = mustGet(t, ByEvents).Cut(withAlong(30, true, 3, ""), Limits{}, p, next)
	if diff := cmp.Diff([]string{"21+10: [d0.2]"}, alongOf(parts)); err != nil || diff != "" || left.Waiting != 0 {
		t.Errorf("once there is more (-want +got):\n%s%+v, %v", diff, left, err)
	}
	parts, left, _, err = mustGet(t, ByEvents).Cut(withAlong(30, false, 2, "nosplit"), Limits{}, p, Carry{})
	if err != nil || len(parts) != 0 || left.Waiting == 0 || left.Lacks == "" {
		t.Errorf("open, for all: %d parts, %+v, %v", len(parts), left, err)
	}
}
