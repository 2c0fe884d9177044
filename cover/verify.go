package cover

import (
	"fmt"
	"iter"

	"jjm"
)

// Verify holds the work against the ledger and the local jobs. each, which may be
// nil, is told every finding; its error ends it and comes back as it is, as does
// one of the streams. Files are nil for steps of events or rows. A stream out of
// order, or a row that cannot be, is an error of kind Internal.
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

// job is what is kept of a local job.
type job struct {
	count, owned int64
	state        uint8 // jjm.State + 1; 0 = it was not given; other
	said, short  bool
}

// other is the state of a local job of another step: it owns nothing here.
const other = 255

// verifier is the state of one Verify.
type verifier struct {
	facts  Facts
	each   func(Finding) error
	jobs   []job
	report Report
	kept   map[Kind]int
}

// find reports a finding.
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

// disagree reports local jobs that contradict the ledger.
func (v *verifier) disagree(local int32, format string, args ...any) error {
	v.report.Disagree++
	return v.find(Finding{Kind: Unaccounted, Last: -1, Locals: []int32{local}, Why: fmt.Sprintf(format, args...)})
}

// job takes a local job, and holds what its application says against what it has.
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
	to.state, to.count = uint8(j.State)+1, j.Count
	if j.State != jjm.Completed {
		return nil
	}
	v.report.Completed++
	owned, known := comparable(v.facts.Unit, j)
	switch {
	case !known && v.facts.Unit == jjm.UnitRow:
		v.report.ByExit++
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

// IsShort reports whether a completed local job says that it processed less than it
// owns, and its part can be done anew.
func IsShort(unit string, j *Job) bool {
	owned, known := comparable(unit, j)
	return j.State == jjm.Completed && known && !j.Merged && j.Processed.Count < owned
}

// comparable returns what a local job owns in the unit in which its application
// counts; false if it does not say, or if that is not known.
func comparable(unit string, j *Job) (int64, bool) {
	if j.Processed == nil {
		return 0, false
	}
	words := map[string]string{jjm.UnitEvent: "events", jjm.UnitRange: "events", jjm.UnitFile: "files",
		jjm.UnitLumi: "sections", jjm.UnitRow: "rows"}
	own := j.Processed.Unit == "" || j.Processed.Unit == words[unit]
	switch {
	case own && unit != jjm.UnitRange:
		return j.Count, true
	case own || j.Processed.Unit == "events":
		return j.Events, j.Events > 0
	}
	return 0, false
}

// EventsOf returns how many events the input of a part holds, for Job.Events: 0 if
// that is not known. length gives the events of a file, 0 = not known.
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

// accounts holds what each local job owns in the ledger against its part.
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
