package cover

import (
	"fmt"
	"slices"

	"jjm/internal/jjm"
)

// sweep walks over the units of one file, run by run, and keeps the rows that have the current unit. In a sound ledger,
// at most one of these rows is not released.
//
//	run 1   wants  |-------------|        |--------|
//	        rows       |----A----|----B------|
//	                   ^at       ^end
//
// No row begins or ends within [at, end), so all units of this interval have the same result.
type sweep struct {
	v      *verifier
	file   int64
	wants  []want // the wants that are not judged yet, ascending
	run    uint32
	at     uint64 // the next unit; uint64 because it may be one beyond Unbounded
	active []Row
	// done are the completed local jobs that own the current units. holders are all local jobs that own these units
	// according to the ledger.
	done, holders []int32
}

// beyond is the position after the last unit.
const beyond = uint64(Unbounded) + 1

// begin starts the sweep of a file.
func (s *sweep) begin(file int64, wants []want) {
	s.file, s.wants, s.run, s.at, s.active = file, wants, 0, 0, s.active[:0]
}

// row adds the next row of the file: it judges all units before the row, and then keeps the row.
func (s *sweep) row(r Row) error {
	if n := r.Local; n >= 0 && int(n) < len(s.v.jobs) {
		s.v.jobs[n].owned += units(r.First, r.Last)
	} else if err := s.v.disagree(n, "the ledger names it, and there are local jobs 0 to %d only",
		len(s.v.jobs)-1); err != nil {
		return err
	}
	if err := s.toRun(r.Run); err != nil {
		return err
	}
	if err := s.to(uint64(r.First)); err != nil {
		return err
	}
	s.active = append(s.active, r)
	return nil
}

// toRun finishes the runs before run.
func (s *sweep) toRun(run uint32) error {
	for s.run < run {
		if err := s.to(beyond); err != nil {
			return err
		}
		s.at = 0
		if s.run = run; len(s.wants) > 0 && s.wants[0].run < run {
			s.run = s.wants[0].run
		}
	}
	return nil
}

// end finishes the file.
func (s *sweep) end() error {
	if err := s.to(beyond); err != nil {
		return err
	}
	for len(s.wants) > 0 {
		s.run, s.at = s.wants[0].run, 0
		if err := s.to(beyond); err != nil {
			return err
		}
	}
	return nil
}

// to judges those units of the current run that are before the position place and were not judged yet.
func (s *sweep) to(place uint64) error {
	for s.at < place {
		end := place
		for i := range s.active {
			end = min(end, uint64(s.active[i].Last)+1)
		}
		if err := s.stretch(int64(s.at), int64(end-1)); err != nil {
			return err
		}
		s.at = end
		keep := s.active[:0]
		for _, r := range s.active {
			if uint64(r.Last) >= s.at {
				keep = append(keep, r)
			}
		}
		s.active = keep
	}
	return nil
}

// stretch judges the units first..last, wanted or not. The same rows own all of them.
func (s *sweep) stretch(first, last int64) error {
	for first <= last && len(s.wants) > 0 && s.wants[0].run == s.run && s.wants[0].first <= last {
		w := &s.wants[0]
		if first < w.first {
			if err := s.stray(first, w.first-1); err != nil {
				return err
			}
			first = w.first
		}
		end := min(last, w.last)
		if err := s.judgeEach(w, first, end); err != nil {
			return err
		}
		if end == w.last {
			s.wants = s.wants[1:]
		}
		if end == Unbounded {
			return nil
		}
		first = end + 1
	}
	if first > last {
		return nil
	}
	return s.stray(first, last)
}

// stray reports the units first..last, which are not part of the work, if a local job owns them: the first such local
// job disagrees with the ledger.
func (s *sweep) stray(first, last int64) error {
	for _, r := range s.active {
		if !r.Released {
			w := want{run: s.run, lfn: fmt.Sprintf("file %d", s.file)}
			return s.v.disagree(r.Local, "it owns %s, which is no part of the work", where(s.v.facts.Unit, &w, first, last))
		}
	}
	return nil
}

// judgeEach classifies the units first..last, which are part of w and have the same rows. If no row has these units,
// the cutting has ended and the file was not given up, it calls LeavesOut and classifies the units in ranges with the
// same reason.
func (s *sweep) judgeEach(w *want, first, last int64) error {
	ask := s.v.facts.LeavesOut
	if ask == nil || len(s.active) > 0 || !s.v.facts.Closed || w.givenUp != "" {
		return s.judge(w, first, last, "")
	}
	if w.whole {
		_, reason := ask(w.run, 0, 0)
		return s.judge(w, first, last, reason)
	}
	for at := first; ; {
		until, reason := ask(w.run, at, last)
		if until < at || until > last {
			until = last
		}
		if err := s.judge(w, at, until, reason); err != nil || until == last {
			return err
		}
		at = until + 1
	}
}

// judge classifies the units first..last, which are part of w and have the same rows. left is the reason for which the
// settings leave these units out, "" if they do not. The first case that applies counts:
//
//	one completed owner, whose application reports fewer units   a finding Short
//	a completed owner whose application reports a count           Proven
//	a completed owner                                             Assumed
//	an owner that has not ended; or no owner yet, while cutting
//	has not ended                                                 Pending
//	left is set                                                   LeftOut
//	otherwise                                                     Missing
func (s *sweep) judge(w *want, first, last int64, left jjm.LeftReason) error {
	n := units(first, last)
	s.done, s.holders = s.done[:0], s.holders[:0]
	live, said := false, false
	for _, r := range s.active {
		j := s.jobOf(r.Local)
		state := jjm.State(j.state) - 1
		if !r.Released && !s.abandoned(j) {
			s.holders = append(s.holders, r.Local)
			live = live || j.state != 0 && !s.over(state)
		}
		if j.state != 0 && state == jjm.Completed {
			said = said || j.said
			s.done = append(s.done, r.Local)
		}
	}
	if err := s.twice(w, first, last, Overlap, &s.v.report.Overlap, s.holders); err != nil {
		return err
	}
	if err := s.twice(w, first, last, Doubled, &s.v.report.Doubled, s.done); err != nil {
		return err
	}
	rep := &s.v.report
	open := !s.v.facts.Closed && !s.v.facts.Over
	if len(s.done) > 0 {
		s.recovered(n)
	}
	switch {
	case len(s.done) == 1 && s.jobOf(s.done[0]).short:
		rep.Proven += n
		return s.v.find(s.finding(Short, w, first, last, s.done,
			where(s.v.facts.Unit, w, first, last)+": not all of it was processed"))
	case len(s.done) > 0 && said:
		rep.Proven += n
	case len(s.done) > 0:
		rep.Assumed += n
	case live, len(s.holders) == 0 && open:
		rep.Pending += n
	case left != "":
		rep.LeftOut += n
		rep.Expected -= n
		rep.Left.Add(jjm.LeftOut{What: noun(s.v.facts.Unit), N: n, Reason: left, Such: where(s.v.facts.Unit, w, first, last),
			Asked: true})
	default:
		rep.Missing += n
		return s.missing(w, first, last)
	}
	return nil
}

// abandoned reports whether a recovery may own the units of a local job: there are recoveries, and the local job ended
// without completing.
func (s *sweep) abandoned(j job) bool {
	state := jjm.State(j.state) - 1
	return len(s.v.facts.Recoveries) > 0 && j.state != 0 && s.over(state) && state != jjm.Completed
}

// over reports whether a local job in a state has ended. In a grid job that is over, this includes the new local jobs:
// they were never submitted.
func (s *sweep) over(state jjm.State) bool {
	return state.Final() || state == jjm.New && s.v.facts.Over
}

// recovered adds units to the recovery that processed them. It does nothing if no recovery processed them.
func (s *sweep) recovered(units int64) {
	for i, first := range slices.Backward(s.v.facts.Recoveries) {
		if s.done[0] >= first {
			s.v.report.Recovered[i] += units
			return
		}
	}
}

func (s *sweep) jobOf(n int32) job {
	if n < 0 || int(n) >= len(s.v.jobs) {
		return job{}
	}
	return s.v.jobs[n]
}

// twice adds a finding if several local jobs own or processed the units. It adds the number of units to total once for
// each local job except the first.
func (s *sweep) twice(w *want, first, last int64, kind Kind, total *int64, locals []int32) error {
	if len(locals) < 2 {
		return nil
	}
	*total += int64(len(locals)-1) * units(first, last)
	verb := map[Kind]string{Overlap: "owned", Doubled: "processed"}[kind]
	return s.v.find(s.finding(kind, w, first, last, locals,
		fmt.Sprintf("%s: %s by %d local jobs", where(s.v.facts.Unit, w, first, last), verb, len(locals))))
}

func (s *sweep) finding(kind Kind, w *want, first, last int64, locals []int32, why string) Finding {
	if w.whole {
		first, last = 0, 0
	}
	return Finding{Kind: kind, File: w.file, LFN: w.lfn, Run: w.run, First: first, Last: last,
		Locals: slices.Clone(locals), Why: why}
}

// missing reports units that no local job will process, with the reason.
func (s *sweep) missing(w *want, first, last int64) error {
	why := "never given to a local job"
	locals := s.holders
	switch {
	case len(s.holders) > 0:
		why = "its local job is " + s.stateOf(s.holders[0])
	case len(s.active) > 0:
		why = "given back and not taken again"
		for _, r := range s.active {
			if locals = append(locals, r.Local); !r.Released {
				why = "its local job is " + s.stateOf(r.Local)
			}
		}
	}
	if w.givenUp != "" {
		why = "the file is " + w.state.String() + ": " + w.givenUp
	}
	return s.v.find(s.finding(Missing, w, first, last, locals, where(s.v.facts.Unit, w, first, last)+": "+why))
}

// stateOf returns a text with the state of a local job, for people.
func (s *sweep) stateOf(n int32) string {
	if why, yes := s.v.facts.Retracted[n]; yes {
		return "retracted: " + why
	}
	if j := s.jobOf(n); j.forced {
		return "forced to completed by a person, which proves nothing"
	} else if j.state > 0 {
		return (jjm.State(j.state) - 1).String()
	}
	return "not there"
}
