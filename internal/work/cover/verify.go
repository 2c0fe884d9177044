package cover

import (
	"cmp"
	"fmt"
	"iter"

	"jjm/internal/jjm"
)

// Verify compares the work with the ledger and the local jobs. It calls the function each, unless nil, with every
// finding. Verify stops at an error of each or of a stream and returns the error unchanged. files is nil for steps of
// events or rows. The error is of kind Internal if a stream is out of order or a row is impossible.
func Verify(f Facts, jobs iter.Seq2[Job, error], files iter.Seq2[File, error], rows iter.Seq2[Row, error],
	each func(Finding) error) (Report, error) {
	v := &verifier{facts: f, each: each, jobs: make([]job, f.Made)}
	v.report.Unit = f.Unit
	v.report.Recovered = make([]int64, len(f.Recoveries))
	if v.facts.Keep == 0 {
		v.facts.Keep = 1000
	}
	for j, err := range jobs {
		if err == nil {
			err = v.job(&j)
		}
		if err != nil {
			return v.report, err
		}
	}
	if files == nil {
		files = noFiles
	} else {
		files = v.noted(files)
	}
	if f.Once && f.Unit == jjm.UnitLumi {
		var err error
		if files, rows, err = oneFile(files, rows); err != nil {
			return v.report, err
		}
	}
	if err := v.walk(files, rows); err != nil {
		return v.report, err
	}
	if err := v.accounts(); err != nil {
		return v.report, err
	}
	v.report.conclude()
	return v.report, nil
}

// noted returns the stream of files unchanged. It adds the files that were left out to the report, with the reasons.
func (v *verifier) noted(files iter.Seq2[File, error]) iter.Seq2[File, error] {
	return func(yield func(File, error) bool) {
		for f, err := range files {
			if err == nil {
				v.note(&f)
			}
			if !yield(f, err) {
				return
			}
		}
	}
}

// note adds a file that the splitter left out to the report, with the reason.
func (v *verifier) note(f *File) {
	if f.State != jjm.FileDropped {
		return
	}
	why := cmp.Or(f.PassedOver, f.GivenUp, "it was left out")
	v.report.Left.Add(jjm.LeftOut{What: "file", N: 1, Reason: cmp.Or(f.Reason, jjm.LeftSplitter), Why: why, Such: f.LFN,
		Asked: f.Asked})
}

// job holds what Verify remembers of a local job, in 24 bytes.
type job struct {
	count, owned int64
	state        uint8 // jjm.State + 1; 0 = not in the stream; or the constant other
	said, short  bool
	forced       bool
}

// other is the state of a local job of another step. Such a local job owns nothing in this step.
const other = 255

// verifier is the state of one Verify.
type verifier struct {
	facts  Facts
	each   func(Finding) error
	jobs   []job
	report Report
	kept   map[Kind]int
}

// find passes a finding to the callback, and adds it to the report if the report has less than Keep findings of its
// kind.
func (v *verifier) find(f Finding) error {
	if v.kept == nil {
		v.kept = map[Kind]int{}
	}
	if v.kept[f.Kind] < v.facts.Keep {
		v.kept[f.Kind]++
		v.report.Findings = append(v.report.Findings, f)
	}
	if v.each == nil {
		return nil
	}
	return v.each(f)
}

// disagree reports a local job that contradicts the ledger.
func (v *verifier) disagree(local int32, format string, args ...any) error {
	v.report.Disagree++
	return v.find(Finding{Kind: Unaccounted, Last: -1, Locals: []int32{local}, Why: fmt.Sprintf(format, args...)})
}

// job stores a local job and compares its count with the count that its application reports.
func (v *verifier) job(j *Job) error {
	if j.N < 0 || int(j.N) >= len(v.jobs) {
		return v.disagree(j.N, "there should be local jobs 0 to %d only", len(v.jobs)-1)
	}
	to := &v.jobs[j.N]
	if to.state != 0 {
		return v.disagree(j.N, "it is there twice")
	}
	if j.Other {
		to.state = other
		return nil
	}
	v.report.Jobs++
	to.state, to.count, to.forced = uint8(j.State)+1, j.Count, j.Forced
	if j.State != jjm.Completed {
		return nil
	}
	v.report.Completed++
	owned, known := comparable(v.facts.Unit, j)
	switch {
	case !known && v.facts.Unit == jjm.UnitRow:
		if j.Exit == 0 {
			v.report.ByExit++
		} else {
			v.report.ByType++
		}
		to.said = true
		return nil
	case !known:
		v.report.Silent++
		return nil
	}
	to.said = true
	diff := j.Processed.Count - owned
	why := fmt.Sprintf("its application says that it processed %d of %d", j.Processed.Count, owned)
	switch {
	case diff == 0:
		return nil
	case diff > 0:
		v.report.Over += diff
	case j.Merged:
		v.report.Short -= diff
		why += "; what it made is in a merged file, so no recovery can replace it"
	default:
		v.report.Short -= diff
		to.short = true
	}
	return v.find(Finding{Kind: Unaccounted, Last: -1, Locals: []int32{j.N}, Why: why})
}

// IsShort reports whether a local job completed but processed fewer units than it owns, so that a recovery can process
// its part again.
func IsShort(unit string, j *Job) bool {
	owned, known := comparable(unit, j)
	return j.State == jjm.Completed && known && !j.Merged && j.Processed.Count < owned
}

// comparable returns how many units a local job owns, counted in the same way as the count that its application
// reports. It returns false if the application reports no count, or if the number of owned units is unknown.
func comparable(unit string, j *Job) (int64, bool) {
	if j.Processed == nil {
		return 0, false
	}
	own := j.Processed.Unit == "" || j.Processed.Unit == jjm.CountedAs(unit)
	switch {
	case own && unit != jjm.UnitRange:
		return j.Count, true
	case own || j.Processed.Unit == "events":
		return j.Events, j.Events > 0
	}
	return 0, false
}

// EventsOf returns the number of events in the input of a part, for Job.Events; 0 if the number is unknown. length
// returns the number of events of a file, 0 if unknown.
func EventsOf(p *jjm.Part, length func(lfn string) int64) int64 {
	if p.Unit == jjm.UnitEvent {
		return p.Count
	}
	if p.Input == nil || p.Unit != jjm.UnitFile && p.Unit != jjm.UnitRange {
		return 0
	}
	var sum int64
	if p.Unit == jjm.UnitRange {
		for _, r := range p.Input.Events {
			if r.Count <= 0 || length(p.Input.Files[r.File]) <= 0 {
				return 0
			}
			sum += r.Count
		}
		return sum
	}
	for _, lfn := range p.Input.Files {
		n := length(lfn)
		if n <= 0 {
			return 0
		}
		sum += n
	}
	return sum
}

// accounts compares the units that each local job owns in the ledger with the count of its part.
func (v *verifier) accounts() error {
	for n := range v.jobs {
		j := &v.jobs[n]
		var err error
		switch {
		case j.state == 0 && j.owned > 0:
			err = v.disagree(int32(n), "the ledger names it, and it is not there")
		case j.state == 0:
			err = v.disagree(int32(n), "it should be there and is not")
		case j.owned != j.count:
			err = v.disagree(int32(n), "its part has %d units, and in the ledger it owns %d", j.count, j.owned)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
