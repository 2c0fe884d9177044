package cover

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"jjm/internal/jjm"
)

// want is a range of units that must be processed.
type want struct {
	run         uint32
	first, last int64
	file        int64
	lfn         string
	state       jjm.FileState
	givenUp     string
	// whole is set if the range stands for a whole file without sections, in a step that counts sections.
	whole bool
}

// wantsOf returns the ranges of a file that must be processed, ascending. A dropped file has no ranges. There is an
// exception in a step that counts sections: a file without sections has one want for the whole file, unless the job
// file asks to leave such files out. The want is given up if the file was dropped.
func wantsOf(unit string, f *File) []want {
	w := want{file: f.N, lfn: f.LFN, state: f.State, givenUp: f.GivenUp}
	switch {
	case unit == jjm.UnitLumi && blank(f) && (f.State != jjm.FileDropped || !f.Asked):
		s := jjm.WholeFile()
		w.run, w.first, w.last, w.whole = s.Run, int64(s.First), int64(s.Last), true
		if f.State == jjm.FileDropped {
			w.givenUp = cmp.Or(f.PassedOver, jjm.NoSections)
		}
		return []want{w}
	case f.State == jjm.FileDropped:
		return nil
	case unit == jjm.UnitFile:
		return []want{w}
	case unit == jjm.UnitRange:
		if w.last = f.Events - 1; f.Events <= 0 {
			w.last = Unbounded
		}
		return []want{w}
	}
	ws := make([]want, 0, len(f.Lumis))
	for _, r := range f.Lumis {
		if r.Count() > 0 {
			w.run, w.first, w.last = r.Run, int64(r.First), int64(r.Last)
			ws = append(ws, w)
		}
	}
	return disjoint(ws)
}

// blank reports whether a file has no sections.
func blank(f *File) bool {
	return !slices.ContainsFunc(f.Lumis, func(r jjm.LumiRange) bool { return r.Count() > 0 })
}

// disjoint sorts ranges and removes the units that an earlier range already has.
func disjoint(ws []want) []want {
	slices.SortStableFunc(ws, func(a, b want) int {
		return cmp.Or(cmp.Compare(a.run, b.run), cmp.Compare(a.first, b.first))
	})
	out := ws[:0]
	for _, w := range ws {
		if n := len(out); n > 0 && out[n-1].run == w.run && out[n-1].last >= w.first {
			w.first = out[n-1].last + 1
		}
		if w.first <= w.last {
			out = append(out, w)
		}
	}
	return out
}

// noFiles yields one file without a name, for a step that reads no files.
func noFiles(yield func(File, error) bool) { yield(File{}, nil) }

// walk reads the streams of files and rows together, both ordered by file, and passes each row to the sweep of its
// file.
func (v *verifier) walk(files iter.Seq2[File, error], rows iter.Seq2[Row, error]) error {
	next, stop := iter.Pull2(files)
	defer stop()
	s := sweep{v: v}
	last := Row{File: -1}
	w := walker{v: v, next: next, sweep: &s, at: -1}
	for r, err := range rows {
		if err == nil {
			err = checkRow(&last, &r)
		}
		if err == nil {
			err = w.to(r.File)
		}
		if err == nil {
			err = s.row(r)
		}
		if err != nil {
			return err
		}
		last = r
	}
	return w.to(-1)
}

// checkRow returns an error of kind Internal if a row is out of order or impossible.
func checkRow(last, r *Row) error {
	order := cmp.Or(cmp.Compare(last.File, r.File), cmp.Compare(last.Run, r.Run), cmp.Compare(last.First, r.First))
	if order > 0 || r.File < 0 || r.First < 0 || r.Last < r.First {
		return jjm.Errorf(jjm.Internal,
			"cover: file %d, run %d, units %d to %d of local job %d after file %d, run %d, unit %d: want ascending rows of at least one unit",
			r.File, r.Run, r.First, r.Last, r.Local, last.File, last.Run, last.First)
	}
	return nil
}

// walker moves the sweep to the file of each row.
type walker struct {
	v     *verifier
	next  func() (File, error, bool)
	sweep *sweep
	at    int64 // number of the file that the sweep is in, -1 = none
	ahead *File // the next file, if already read
	over  bool  // whether no file is left
	seen  bool  // whether prev is set
	prev  int64 // number of the last file that was read, to check the order
}

// to finishes all files before number n (-1: all files) and starts file n. If the stream has no file n, that file has
// no work.
func (w *walker) to(n int64) error {
	if n >= 0 && w.at == n {
		return nil
	}
	if w.at >= 0 {
		if err := w.sweep.end(); err != nil {
			return err
		}
		w.at = -1
	}
	for {
		if err := w.look(); err != nil {
			return err
		}
		if w.over || n >= 0 && w.ahead.N > n {
			break
		}
		f := w.ahead
		w.ahead = nil
		w.sweep.begin(f.N, w.v.open(f))
		if f.N == n {
			w.at = n
			return nil
		}
		if err := w.sweep.end(); err != nil {
			return err
		}
	}
	if n >= 0 {
		w.sweep.begin(n, nil)
		w.at = n
	}
	return nil
}

// look reads the next file, unless it was already read.
func (w *walker) look() error {
	if w.ahead != nil || w.over {
		return nil
	}
	f, err, ok := w.next()
	switch {
	case !ok:
		w.over = true
		return nil
	case err != nil:
		return err
	case w.seen && f.N <= w.prev || f.N < 0:
		return jjm.Errorf(jjm.Internal, "cover: file %d (%s) after file %d: want ascending files", f.N, f.LFN, w.prev)
	}
	w.ahead, w.seen, w.prev = &f, true, f.N
	return nil
}

// open counts a file in the report and returns the ranges of the file that must be processed.
func (v *verifier) open(f *File) []want {
	var ws []want
	switch {
	case v.facts.Unit == jjm.UnitEvent || v.facts.Unit == jjm.UnitRow:
		for _, s := range v.facts.Spans {
			if s.Count > 0 {
				ws = append(ws, want{first: s.First, last: s.Last()})
			}
		}
		ws = disjoint(ws)
	case f.merged != nil:
		ws = f.merged
	default:
		if ws = wantsOf(v.facts.Unit, f); len(ws) == 0 {
			v.report.Dropped++
			return nil
		}
		v.report.Files++
	}
	for i := range ws {
		v.report.Expected += units(ws[i].first, ws[i].last)
	}
	return ws
}

// firstApart is a section number above all section numbers of files.
const firstApart = 1 << 40

// oneFile merges all files and rows into one file, for Facts.Once: each section must be processed only once. The
// section belongs to the first file that has it, even if its owner reads it from another file.
func oneFile(files iter.Seq2[File, error], rows iter.Seq2[Row, error]) (iter.Seq2[File, error], iter.Seq2[Row, error],
	error) {
	all := []want{}            // never nil: even without work there is one file
	apart := map[int64]int64{} // files without sections; each gets a new section number
	for f, err := range files {
		if err != nil {
			return nil, nil, err
		}
		ws := wantsOf(jjm.UnitLumi, &f)
		if len(ws) == 1 && ws[0].whole {
			at := firstApart + int64(len(apart))
			apart[f.N], ws[0].first, ws[0].last = at, at, at
		}
		all = append(all, ws...)
	}
	var owned []Row
	last := Row{File: -1}
	for r, err := range rows {
		if err == nil {
			err = checkRow(&last, &r)
		}
		if err != nil {
			return nil, nil, err
		}
		last = r
		if at, ok := apart[r.File]; ok {
			r.First, r.Last = at, at
		}
		r.File = 0
		owned = append(owned, r)
	}
	slices.SortStableFunc(owned, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.First, b.First))
	})
	f := File{merged: disjoint(all)}
	return func(yield func(File, error) bool) { yield(f, nil) },
		func(yield func(Row, error) bool) {
			for _, r := range owned {
				if !yield(r, nil) {
					return
				}
			}
		}, nil
}

// where returns a description of units for people.
func where(unit string, w *want, first, last int64) string {
	switch {
	case unit == jjm.UnitFile, w.whole:
		return w.lfn
	case unit == jjm.UnitRange && last == Unbounded:
		return w.lfn
	case unit == jjm.UnitRange:
		return jjm.UnitsText(jjm.UnitEvent, first, last) + " of " + w.lfn
	case unit == jjm.UnitLumi:
		return fmt.Sprintf("run %d, %s of %s", w.run, jjm.UnitsText("section", first, last), w.lfn)
	}
	return jjm.UnitsText(unit, first, last)
}
