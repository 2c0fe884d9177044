package cover_test

import (
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"jjm/internal/jjm"
	"jjm/internal/work/cover"
)

// plain returns a step of 10 events in two completed local jobs, which both report how many units they processed.
func plain() *world {
	return &world{
		facts: cover.Facts{Unit: jjm.UnitEvent, Spans: []jjm.Span{{First: 1, Count: 10}}, Made: 2, Closed: true, Over: true},
		jobs: []cover.Job{{N: 0, State: jjm.Completed, Count: 5, Processed: &jjm.Processed{Count: 5}},
			{N: 1, State: jjm.Completed, Count: 5, Processed: &jjm.Processed{Count: 5, Unit: "events"}}},
		rows: []cover.Row{{First: 1, Last: 5}, {First: 6, Last: 10, Local: 1}},
	}
}

// If a local job reports fewer units than its part has, the difference is short and not proven.
func TestVerify_ShortUnitsAreNotProven(t *testing.T) {
	w := plain()
	w.jobs[1].Processed.Count = 3
	r, err := w.verify(nil)
	if err != nil || r.Expected != 10 || r.Proven != 8 || r.Short != 2 {
		t.Errorf("%+v %v", r, err)
	}
}

func TestVerify_Verdicts(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(w *world)
		verdict cover.Verdict
		exit    int
		whole   bool
		why     string
	}{
		{"as it must be", func(*world) {}, cover.Proven, 0, true, "10 events processed exactly once"},
		{"one says nothing", func(w *world) { w.jobs[1].Processed = nil }, cover.Undecidable, 3, true, "5 events assumed"},
		{"one counts something else", func(w *world) {
			w.jobs[1].Processed.Unit = "files"
		}, cover.Undecidable, 3, true, "assumed"},
		{"a file without sections", func(w *world) {
			*w = world{facts: cover.Facts{Unit: jjm.UnitLumi, Closed: true, Over: true},
				files: []cover.File{{LFN: "a.dat", State: jjm.FileDropped, PassedOver: "x", Reason: jjm.LeftNoSections}}}
		}, cover.Gap, 1, false, "1 section missing"},
		{"a file without sections, as the job file asks", func(w *world) {
			*w = world{facts: cover.Facts{Unit: jjm.UnitLumi, Closed: true, Over: true},
				files: []cover.File{{LFN: "a.dat", State: jjm.FileDropped,
					PassedOver: "x", Reason: jjm.LeftNoSections, Asked: true}}}
		}, cover.Undecidable, 3, true, "nothing was done: 1 file passed over"},
		{"nothing but what was left out", func(w *world) {
			*w = world{facts: cover.Facts{Unit: jjm.UnitFile, Closed: true, Over: true},
				files: []cover.File{{LFN: "a.dat", State: jjm.FileDropped, PassedOver: "it failed elsewhere"}}}
		}, cover.Undecidable, 3, true, "nothing was done: 1 file passed over"},
		{"one failed", func(w *world) { w.jobs[1].State = jjm.Failed }, cover.Gap, 1, false, "5 events missing"},
		{"one runs", func(w *world) {
			w.jobs[1].State = jjm.Running
			w.facts.Over = false
		}, cover.Undecidable, 3, false, "5 events not done yet"},
		{"not cut yet", func(w *world) {
			w.facts.Made, w.jobs, w.rows = 1, w.jobs[:1], w.rows[:1]
			w.facts.Closed, w.facts.Over = false, false
		}, cover.Undecidable, 3, false, "not done yet"},
		{"never cut", func(w *world) {
			w.facts.Made, w.jobs, w.rows = 1, w.jobs[:1], w.rows[:1]
		}, cover.Gap, 1, false, "missing"},
		{"one says too little", func(w *world) { w.jobs[1].Processed.Count = 4 }, cover.Gap, 1, false, "1 event less"},
		{"one says too much", func(w *world) {
			w.jobs[1].Processed.Count = 7
		}, cover.Overlapping, 2, false, "2 events processed beyond"},
		{"owned twice", func(w *world) {
			w.rows[1].First = 5
			w.jobs[1].Count = 6
			w.jobs[1].Processed.Count = 6
		}, cover.Overlapping, 2, false, "1 event owned twice"},
		{"processed twice after a give-back", func(w *world) {
			w.rows[0] = cover.Row{First: 1, Last: 6, Released: true}
			w.jobs[0].Count, w.jobs[0].Processed.Count = 6, 6
		}, cover.Overlapping, 2, false, "1 event processed twice"},
		{"overlap outranks gap", func(w *world) {
			w.rows[1].First = 5
			w.rows[1].Last = 9
		}, cover.Overlapping, 2, false, "owned twice"},
		{"owned beyond the work", func(w *world) {
			w.rows[1].Last = 11
			w.jobs[1].Count, w.jobs[1].Processed.Count = 6, 6
		}, cover.Undecidable, 3, false, "1 local job does not agree"},
		{"part and ledger differ", func(w *world) {
			w.jobs[1].Count = 4
			w.jobs[1].Processed.Count = 4
		}, cover.Undecidable, 3, false, "not agree"},
		{"a local job is gone", func(w *world) { w.jobs = w.jobs[:1] }, cover.Gap, 1, false, "5 events missing"},
		{"one too many", func(w *world) {
			w.jobs = append(w.jobs, cover.Job{N: 2})
		}, cover.Undecidable, 3, false, "not agree"},
		{"one twice", func(w *world) { w.jobs = append(w.jobs, w.jobs[0]) }, cover.Undecidable, 3, false, "not agree"},
		{"a row of nobody", func(w *world) {
			w.rows = append(w.rows, cover.Row{First: 10, Last: 10, Local: 7})
		}, cover.Overlapping, 2, false, "owned twice"},
		{"nothing to do", func(w *world) {
			w.facts.Spans, w.facts.Made, w.jobs, w.rows = nil, 0, nil, nil
		}, cover.Proven, 0, true, "0 events"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := plain()
			c.change(w)
			r, err := w.verify(nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict != c.verdict || r.Verdict.Exit() != c.exit || r.Whole() != c.whole || !strings.Contains(r.Why, c.why) {
				t.Errorf("got %s, exit %d, whole %v, %q\nwant %s, %d, %v, %q\n%+v", r.Verdict, r.Verdict.Exit(), r.Whole(), r.Why,
					c.verdict, c.exit, c.whole, c.why, r)
			}
		})
	}
}

// recoveredPlain returns the step of plain, but with a failed second local job and a recovery that did the work of this
// local job in two local jobs.
func recoveredPlain() *world {
	w := plain()
	w.jobs[1].State, w.jobs[1].Processed = jjm.Failed, nil
	w.facts.Made, w.facts.Recoveries = 4, []int32{2}
	w.jobs = append(w.jobs, cover.Job{N: 2, State: jjm.Completed, Count: 2, Processed: &jjm.Processed{Count: 2}},
		cover.Job{N: 3, State: jjm.Completed, Count: 3, Processed: &jjm.Processed{Count: 3}})
	w.rows = []cover.Row{{First: 1, Last: 5}, {First: 6, Last: 10, Local: 1}, {First: 6, Last: 7, Local: 2},
		{First: 8, Last: 10, Local: 3}}
	return w
}

func TestVerify_WithARecovery(t *testing.T) {
	for _, c := range []struct {
		name      string
		change    func(w *world)
		verdict   cover.Verdict
		recovered int64
		why       string
	}{
		{"as it must be", func(*world) {}, cover.Proven, 5, "10 events processed exactly once"},
		{"part of it runs", func(w *world) {
			w.jobs[3].State, w.jobs[3].Processed = jjm.Running, nil
		}, cover.Undecidable, 2, "3 events not done yet"},
		{"part of it failed", func(w *world) {
			w.jobs[3].State, w.jobs[3].Processed = jjm.Failed, nil
		}, cover.Gap, 2, "3 events missing"},
		{"it does what was done", func(w *world) {
			w.jobs[1].State, w.jobs[1].Processed = jjm.Completed, &jjm.Processed{Count: 5}
		}, cover.Overlapping, 0, "5 events owned twice"},
		{"it does what still runs", func(w *world) {
			w.jobs[1].State, w.facts.Over = jjm.Running, false
		}, cover.Overlapping, 5, "5 events owned twice"},
		{"it does what is no part of it", func(w *world) {
			w.rows[3].Last, w.jobs[3].Count, w.jobs[3].Processed.Count = 11, 4, 4
		}, cover.Undecidable, 5, "1 local job does not agree"},
	} {
		w := recoveredPlain()
		c.change(w)
		r, err := w.verify(nil)
		if err != nil || r.Verdict != c.verdict || r.Recovered[0] != c.recovered || !strings.Contains(r.Why, c.why) {
			t.Errorf("%s: %v %+v", c.name, err, r)
		}
	}
}

func TestVerify_FileOfUnknownLength(t *testing.T) {
	w := &world{
		facts: cover.Facts{Unit: jjm.UnitRange, Made: 1, Closed: true},
		jobs:  []cover.Job{{State: jjm.Completed, Count: 1}},
		files: []cover.File{{N: 3, LFN: "a"}},
		rows:  []cover.Row{{File: 3, Last: cover.Unbounded}},
	}
	r, err := w.verify(nil)
	if err != nil || !r.Whole() || r.Assumed != 1 || r.Expected != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	w.rows[0].Released, w.jobs[0].State = true, jjm.Failed
	r, err = w.verify(nil)
	if err != nil || r.Missing != 1 || r.Findings[0].Why != "a: given back and not taken again" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestVerify_RefusesALedgerOutOfOrder(t *testing.T) {
	for name, change := range map[string]func(w *world){
		"descending": func(w *world) { w.rows[0], w.rows[1] = w.rows[1], w.rows[0] },
		"empty row":  func(w *world) { w.rows[0].Last = 0 },
		"below 0":    func(w *world) { w.rows[0].First = -1 },
	} {
		w := plain()
		change(w)
		if _, err := w.verify(nil); jjm.KindOf(err) != jjm.Internal {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVerify_ErrorsOfTheStreamsComeBack(t *testing.T) {
	mine := errors.New("mine")
	fail := func(yield func(cover.Row, error) bool) { yield(cover.Row{}, mine) }
	w := plain()
	if _, err := cover.Verify(w.facts, stream(w.jobs), nil, fail, nil); !errors.Is(err, mine) {
		t.Error(err)
	}
	w.jobs[0].State = jjm.Failed
	if _, err := w.verify(func(cover.Finding) error { return mine }); !errors.Is(err, mine) {
		t.Error(err)
	}
}

func TestVerify_KeepsFewFindingsAndReportsAll(t *testing.T) {
	w := &world{facts: cover.Facts{Unit: jjm.UnitFile, Closed: true, Keep: 3}}
	for n := range int64(50) {
		w.files = append(w.files, cover.File{N: n, LFN: "f"})
	}
	told := 0
	r, err := w.verify(func(cover.Finding) error { told++; return nil })
	if err != nil || len(r.Findings) != 3 || told != 50 || r.Missing != 50 {
		t.Errorf("%d kept, %d told, %v", len(r.Findings), told, err)
	}
}

func TestVerify_OfManyFilesProvesEveryEvent(t *testing.T) {
	for _, n := range []int64{20_000, 200_000} {
		began := time.Now()
		verifyMany(t, n)
		t.Logf("%d files: %v", n, time.Since(began))
	}
}

// verifyMany verifies n files. Every third file was given back once.
func verifyMany(t testing.TB, n int64) {
	files := func(yield func(cover.File, error) bool) {
		for i := range n {
			if !yield(cover.File{N: i, LFN: "f", Events: 100}, nil) {
				return
			}
		}
	}
	rows := func(yield func(cover.Row, error) bool) {
		for i := range n {
			if i%3 == 0 && !yield(cover.Row{File: i, Last: 99, Local: int32(i), Released: true}, nil) {
				return
			}
			if !yield(cover.Row{File: i, Last: 49, Local: int32(i)}, nil) ||
				!yield(cover.Row{File: i, First: 50, Last: 99, Local: int32(i)}, nil) {
				return
			}
		}
	}
	jobs := func(yield func(cover.Job, error) bool) {
		for i := range n {
			j := cover.Job{N: int32(i), State: jjm.Completed, Count: 100, Events: 100, Processed: &jjm.Processed{Count: 100}}
			if i%3 == 0 {
				j.Count = 200
			}
			if !yield(j, nil) {
				return
			}
		}
	}
	r, err := cover.Verify(cover.Facts{Unit: jjm.UnitRange, Made: int(n), Closed: true}, jobs, files,
		iter.Seq2[cover.Row, error](rows), nil)
	if err != nil || r.Proven != 100*n {
		t.Fatalf("%+v, %v", r, err)
	}
}

func BenchmarkVerify(b *testing.B) {
	for b.Loop() {
		verifyMany(b, 1_000_000)
	}
}
