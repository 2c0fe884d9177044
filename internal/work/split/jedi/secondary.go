package jedi

import "math"

// many is larger than the number of secondary files of any job. It requests all files that belong to the job's records.
const many = 10000

// secondaries adds the secondary files that go with the master records of this round.
func (f *fill) secondaries() {
	firstSecondary := true
	for n, d := range f.Secondary {
		if d.NoSplit {
			if f.first {
				f.addAll(n, d)
			}
			continue
		}
		if d.PerJob > 0 && !f.first {
			continue
		}
		f.addSecondary(n, d, firstSecondary)
		firstSecondary = false
	}
}

// addAll adds all files of a dataset to the job.
func (f *fill) addAll(n int, d *Dataset) {
	for i := range d.Records {
		f.use(n + 1)
		f.now.total++
		f.add(&f.now, n, &d.Records[i])
	}
	d.Used += len(d.Records)
	f.got[n] = append(f.got[n], d.Records...)
}

// add adds the size of a secondary record to a load.
func (f *fill) add(l *load, n int, r *Record) {
	out := 0.0
	if f.r.OutPerByte != nil {
		out = float64(r.Size) * *f.r.OutPerByte
	}
	f.grow(l, n+1, float64(r.Size), out)
}

// addSecondary adds the files of a secondary dataset that go with the job's master records.
func (f *fill) addSecondary(n int, d *Dataset, firstSecondary bool) {
	want := d.PerJob
	if want == 0 {
		want = d.filesFor(f.now.files) - f.secFiles[n]
		if d.Events > 0 && f.now.events > 0 || f.split() && f.r.Boundary.InSplit != 3 {
			want = many
		}
	}
	if d.Reusable && int64(d.Used)+want > int64(len(d.Records)) {
		d.Used = 0
	}
	batch := d.next(want)
	if d.Repeat && d.PerJob > 0 {
		batch = d.around(want)
	}
	for i := range batch {
		r := &batch[i]
		if f.boundary != Unknown && f.split() && f.boundary != r.Boundary && !f.bounded[r.Boundary] {
			return
		}
		if d.Events > 0 && f.now.events > 0 && float64(f.now.secEvents[n])/float64(f.now.events) >= d.Events {
			return
		}
		f.use(n + 1)
		f.got[n] = append(f.got[n], *r)
		f.add(&f.now, n, r)
		d.Used++
		f.secFiles[n]++
		f.now.total++
		f.countEvents(&f.now, n, r, firstSecondary && !f.ranges)
	}
	f.noteLack(n, d, want-int64(len(batch)))
}

// noteLack notes that a dataset has too few files, if the dataset is not repeated or has fewer files than each job must
// get. With the attribute er, it notes that the remaining files have too few events.
func (f *fill) noteLack(n int, d *Dataset, missing int64) {
	switch {
	case f.lacks != nil || missing <= 0:
		return
	case (d.Repeat || d.Reusable) && d.PerJob <= int64(len(d.Records)):
		return
	case d.PerJob == 0 && d.Events > 0 && f.now.events > 0:
		need := int64(math.Ceil(d.Events * float64(f.now.events)))
		if have := f.now.secEvents[n]; have < need {
			f.lacks = &Lack{Dataset: d.Name, Need: need, Have: have, Unit: "events"}
		}
	case d.PerJob == 0 && f.split() && f.r.Boundary.InSplit != 3: // the job takes all files of its boundary
		return
	default:
		f.lacks = &Lack{Dataset: d.Name, Need: f.secFiles[n] + missing, Have: f.secFiles[n], Unit: "files"}
	}
}

// emptyDataset returns the first dataset from which the job got no file although every available file is added. The
// dataset then has no files, or no files of the job's boundary. emptyDataset returns nil if there is no such dataset.
func (f *fill) emptyDataset() *Lack {
	for n, d := range f.Secondary {
		chosen := !d.NoSplit && f.boundary != Unknown && f.split() && f.r.Boundary.InSplit != 3
		if len(f.got[n]) == 0 && (chosen || len(d.Records) == 0) {
			return &Lack{Dataset: d.Name, Need: 1, Unit: "files"}
		}
	}
	return nil
}

// countEvents counts the events of a secondary record. If jobs is set, the events also count as events of the job; this
// happens for the first secondary dataset if the master dataset has no ranges.
func (f *fill) countEvents(l *load, n int, r *Record, jobs bool) {
	if jobs && f.bounds.events >= 0 && (r.ranged() || r.Events != Unknown) {
		l.events += r.span()
	}
	if r.Events != Unknown {
		l.secEvents[n] += r.Events
	}
}

// nextExceeds adds the next batch to a copy of the load and reports whether the copy exceeds a bound.
func (f *fill) nextExceeds() bool {
	l := f.now.clone()
	bounded := map[int64]bool{}
	last, ranges := f.tryMaster(&l, bounded)
	f.trySecondaries(&l, last, bounded, ranges)
	reserve := false
	if size, out := f.bounds.size, l.largest(); size >= 0 && out < reserveOut {
		reserve = size-reserveOut < l.size-out
	}
	return reserve || !l.within(&f.bounds)
}

// tryMaster adds the next batch of master records to a load. It returns the last record that it examined, and whether a
// record was a range.
func (f *fill) tryMaster(l *load, bounded map[int64]bool) (last *Record, ranges bool) {
	start := f.nextStart
	batch := f.Master.next(f.bounds.batch)
	for i := range batch {
		last = &batch[i]
		if f.bounds.events >= 0 && last.ranged() {
			ranges = true
			l.events += last.span()
			if start != Unknown && start != last.Start {
				return last, ranges
			}
			start = last.End + 1
		}
		if f.otherBoundary(last) || f.otherBlock(last) || f.r.Fields != nil && fields(last.LFN, f.r.Fields) != f.fields {
			return last, ranges
		}
		f.measure(l, last, false)
		if f.split() {
			bounded[last.Boundary] = true
		}
	}
	return last, ranges
}

// trySecondaries adds the secondary files that go with the records of tryMaster to a load.
func (f *fill) trySecondaries(l *load, last *Record, bounded map[int64]bool, ranges bool) {
	firstSecondary := true
	for n, d := range f.Secondary {
		if d.NoSplit || d.PerJob > 0 {
			continue
		}
		if f.otherBoundary(last) {
			return
		}
		batch := d.next(d.filesFor(l.files) - f.secFiles[n])
		for i := range batch {
			last = &batch[i]
			if f.split() && f.boundary != Unknown && f.boundary != last.Boundary &&
				!f.bounded[last.Boundary] && !bounded[last.Boundary] {
				break
			}
			if d.Events > 0 && l.events > 0 && float64(l.secEvents[n])/float64(l.events) >= d.Events {
				break
			}
			l.total++
			f.add(l, n, last)
			f.countEvents(l, n, last, firstSecondary && !ranges)
		}
		firstSecondary = false
	}
}
