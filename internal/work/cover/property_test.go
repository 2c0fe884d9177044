package cover_test

import (
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/internal/jjm"
	"jjm/internal/work/cover"
)

// stream returns the elements of a slice.
func stream[T any](list []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, e := range list {
			if !yield(e, nil) {
				return
			}
		}
	}
}

// world holds the inputs of Verify for a small step. Its ledger may be right or wrong.
type world struct {
	facts cover.Facts
	jobs  []cover.Job
	files []cover.File
	rows  []cover.Row
}

func (w *world) verify(each func(cover.Finding) error) (cover.Report, error) {
	var files iter.Seq2[cover.File, error]
	if w.files != nil {
		files = stream(w.files)
	}
	return cover.Verify(w.facts, stream(w.jobs), files, stream(w.rows), each)
}

// units is the number of units of one file, and of one run, in the steps of these tests.
const units = 12

// drawWorld draws a step. Its ledger may own too few units, or own units twice.
func drawWorld(t *rapid.T) *world {
	w := &world{}
	w.facts.Unit = rapid.SampledFrom([]string{jjm.UnitEvent, jjm.UnitRow, jjm.UnitFile, jjm.UnitRange,
		jjm.UnitLumi}).Draw(t, "unit")
	w.facts.Closed, w.facts.Over = rapid.Bool().Draw(t, "closed"), rapid.Bool().Draw(t, "over")
	w.facts.Once = rapid.Bool().Draw(t, "once")
	if rapid.Bool().Draw(t, "leaves out") {
		w.facts.LeavesOut = func(_ uint32, first, last int64) (int64, jjm.LeftReason) {
			switch {
			case last == cover.Unbounded:
				return last, jjm.LeftTotal
			case first%3 == 0:
				return first, jjm.LeftTotal
			}
			return first, ""
		}
	}
	w.drawWork(t)
	w.facts.Made = rapid.IntRange(0, 5).Draw(t, "made")
	for n := range w.facts.Made {
		j := cover.Job{N: int32(n), State: rapid.SampledFrom([]jjm.State{jjm.Completed, jjm.Failed, jjm.Running,
			jjm.Killed}).Draw(t, "state")}
		if rapid.Bool().Draw(t, "says") {
			j.Processed = &jjm.Processed{}
		}
		j.Exit = rapid.SampledFrom([]int{0, 0, 7}).Draw(t, "exit")
		w.jobs = append(w.jobs, j)
	}
	w.drawRows(t)
	for i := range w.jobs { // make parts and counts agree with the ledger
		j := &w.jobs[i]
		for _, r := range w.rows {
			if r.Local == j.N {
				n := r.Last - r.First + 1
				if r.Last == cover.Unbounded {
					n = 1 // a file with an unknown number of events
				}
				j.Count += n
			}
		}
		if j.Processed != nil {
			j.Processed.Count, j.Events = j.Count, j.Count
			if j.Count == 0 && w.facts.Unit == jjm.UnitRange {
				j.Processed = nil
			}
		}
	}
	return w
}

// drawWork draws the work of a step: ranges of events or rows, or files.
func (w *world) drawWork(t *rapid.T) {
	if w.facts.Unit == jjm.UnitEvent || w.facts.Unit == jjm.UnitRow {
		for first := int64(0); first < units; {
			first += rapid.Int64Range(0, 3).Draw(t, "gap")
			n := rapid.Int64Range(1, 5).Draw(t, "span")
			w.facts.Spans = append(w.facts.Spans, jjm.Span{First: first, Count: min(n, max(units-first, 1))})
			first += n
		}
		return
	}
	w.files = []cover.File{}
	for n := range rapid.Int64Range(0, 4).Draw(t, "files") {
		f := cover.File{N: n * 2, LFN: string(rune('a' + n)), Events: rapid.Int64Range(0, units).Draw(t, "events")}
		if rapid.IntRange(0, 5).Draw(t, "dropped") == 0 {
			f.State, f.Asked = jjm.FileDropped, rapid.Bool().Draw(t, "asked")
		}
		for range rapid.IntRange(0, 3).Draw(t, "lumis") {
			first := rapid.Uint32Range(0, units-1).Draw(t, "first")
			f.Lumis = append(f.Lumis, jjm.LumiRange{Run: rapid.Uint32Range(0, 2).Draw(t, "run"), First: first,
				Last: rapid.Uint32Range(first, units-1).Draw(t, "last")})
		}
		w.files = append(w.files, f)
	}
}

// drawRows draws a ledger whose rows are all inside the work. A separate test covers rows outside the work.
func (w *world) drawRows(t *rapid.T) {
	if w.facts.Made == 0 {
		return
	}
	for range rapid.IntRange(0, 10).Draw(t, "rows") {
		all := w.work()
		if len(all) == 0 {
			return
		}
		u := all[rapid.IntRange(0, len(all)-1).Draw(t, "at")]
		r := cover.Row{File: u.file, Run: u.run, First: u.n, Last: u.n,
			Local: rapid.Int32Range(0, int32(w.facts.Made)-1).Draw(t, "local"), Released: rapid.Bool().Draw(t, "released")}
		for n := rapid.Int64Range(0, 4).Draw(t, "more"); n > 0 && slices.Contains(all, unit{u.file, u.run, r.Last + 1}); n-- {
			r.Last++
		}
		if w.unknown(r.File) {
			r.Last = cover.Unbounded
		}
		w.rows = append(w.rows, r)
	}
	slices.SortStableFunc(w.rows, func(a, b cover.Row) int {
		return slices.Compare([]int64{a.File, int64(a.Run), a.First}, []int64{b.File, int64(b.Run), b.First})
	})
}

// unknown reports whether a file has an unknown number of events, in a step that counts events.
func (w *world) unknown(file int64) bool {
	return w.facts.Unit == jjm.UnitRange && slices.ContainsFunc(w.files, func(f cover.File) bool {
		return f.N == file && f.Events == 0
	})
}

// unit is one unit of the work: an event, row, file or lumi section.
type unit struct {
	file int64
	run  uint32
	n    int64
}

// work lists all units of the step's work, each once.
func (w *world) work() []unit {
	var all []unit
	for _, s := range w.facts.Spans {
		for n := range s.Count {
			all = append(all, unit{0, 0, s.First + n})
		}
	}
	for _, f := range w.files {
		switch {
		case w.blank(f.N) && (f.State != jjm.FileDropped || !f.Asked): // the file counts as one section
			all = append(all, unit{f.N, 0, 0})
		case f.State == jjm.FileDropped:
		case w.facts.Unit == jjm.UnitFile:
			all = append(all, unit{f.N, 0, 0})
		case w.facts.Unit == jjm.UnitRange && f.Events == 0: // unknown number of events: one part owns the whole file
			all = append(all, unit{f.N, 0, 0})
		case w.facts.Unit == jjm.UnitRange:
			for n := range f.Events {
				all = append(all, unit{f.N, 0, n})
			}
		default:
			for _, r := range f.Lumis {
				for n := int64(r.First); n <= int64(r.Last); n++ {
					if u := (unit{f.N, r.Run, n}); !slices.Contains(all, u) {
						all = append(all, u)
					}
				}
			}
		}
	}
	return all
}

// blank reports whether a file lists no sections in a step whose units are sections.
func (w *world) blank(n int64) bool {
	return w.facts.Unit == jjm.UnitLumi && slices.ContainsFunc(w.files, func(f cover.File) bool {
		return f.N == n && len(f.Lumis) == 0
	})
}

// dropped reports whether the splitter dropped a file.
func (w *world) dropped(n int64) bool {
	return slices.ContainsFunc(w.files, func(f cover.File) bool { return f.N == n && f.State == jjm.FileDropped })
}

// brute computes the same report as Verify in the simplest way: unit by unit and row by row.
func (w *world) brute() (r cover.Report) {
	once := w.facts.Once && w.facts.Unit == jjm.UnitLumi
	seen := map[unit]bool{}
	for _, u := range w.work() {
		gone := w.blank(u.file) && w.dropped(u.file)
		if once && !w.blank(u.file) {
			u.file = -1
		}
		if seen[u] {
			continue
		}
		seen[u] = true
		r.Expected++
		var holders, done, touched int64
		live, said := false, false
		for _, row := range w.rows {
			if once && !w.blank(row.File) {
				row.File = -1
			}
			if row.File != u.file || row.Run != u.run || u.n < row.First || u.n > row.Last {
				continue
			}
			touched++
			j := w.jobs[row.Local]
			if !row.Released {
				holders++
				live = live || !j.State.Final()
			}
			if j.State == jjm.Completed {
				said = said || j.Processed != nil || w.facts.Unit == jjm.UnitRow // a row is done if its command succeeded
				done++
			}
		}
		r.Overlap += max(holders-1, 0)
		r.Doubled += max(done-1, 0)
		switch {
		case done > 0 && said:
			r.Proven++
		case done > 0:
			r.Assumed++
		case live || holders == 0 && !w.facts.Closed && !w.facts.Over:
			r.Pending++
		case touched == 0 && w.facts.Closed && w.facts.LeavesOut != nil && !gone && u.n%3 == 0:
			r.LeftOut++
			r.Expected--
		default:
			r.Missing++
		}
	}
	return r
}

func TestVerify_EqualsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		var missing int64
		got, err := w.verify(func(f cover.Finding) error {
			if f.Kind == cover.Missing {
				missing += f.Units()
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want := w.brute()
		numbers := func(r cover.Report) []int64 {
			return []int64{r.Expected, r.Proven, r.Assumed, r.Missing, r.Pending, r.LeftOut, r.Overlap, r.Doubled}
		}
		if diff := cmp.Diff(numbers(want), numbers(got)); diff != "" {
			t.Fatalf("expected, proven, assumed, missing, pending, left out, overlap, doubled (-one by one +verify):\n%s%+v",
				diff, got)
		}
		if missing != got.Missing {
			t.Fatalf("the findings tell of %d missing units, the report of %d", missing, got.Missing)
		}
		if sum := got.Proven + got.Assumed + got.Missing + got.Pending; sum != got.Expected {
			t.Fatalf("%d units are accounted for, of %d", sum, got.Expected)
		}
		if whole := got.Missing+got.Pending+got.Overlap+got.Doubled == 0; got.Disagree == 0 && whole != got.Whole() {
			t.Fatalf("Whole is %v: %+v", got.Whole(), got)
		}
		if got.Verdict == cover.Proven && (!got.Whole() || got.Assumed > 0) {
			t.Fatalf("proven: %+v", got)
		}
		if want := w.proof(&got); got.Proof != want {
			t.Fatalf("the proof is %q, want %q: %+v", got.Proof, want, got)
		}
	})
}

// proof computes the proof of a verdict by looking at each local job.
func (w *world) proof(r *cover.Report) jjm.Proof {
	if r.Verdict != cover.Proven {
		return ""
	}
	proof := jjm.ProofCount
	for _, j := range w.jobs {
		switch {
		case j.State != jjm.Completed || j.Processed != nil:
		case j.Exit == 0:
			proof = proof.Weaker(jjm.ProofExit)
		default:
			proof = proof.Weaker(jjm.ProofType)
		}
	}
	return proof
}
