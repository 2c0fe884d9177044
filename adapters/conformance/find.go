package conformance

import (
	"slices"
	"strings"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

func findChecks() []Check {
	return []Check{
		{Name: "known and unknown tags are found", Bearable: true, test: (*suite).find,
			Part:   "[find], else [list]",
			Proves: "a bulk is found by its tag while it lives and after; a tag that was never used is absent"},
		{Name: "hundreds of tags in one search", Bearable: true, test: (*suite).findMany,
			Part:   "[find], else [list]",
			Proves: "one Find of 300 tags answers for each, in order"},
		{Name: "two bulks of one tag are both found", Bearable: true, test: (*suite).doubled,
			Part:   "[find], else [list], and [cancel]",
			Proves: "a doubled submission shows as two ids, one of which can be cancelled; or the first id is returned again"},
		{Name: "unknown ids are no trouble", Bearable: true, test: (*suite).unknown,
			Part:   "[ids], [account] and [cancel]",
			Proves: "accounting leaves out, and control answers success or Gone for, ids that do not exist"},
		{Name: "a recycled id is another's", Bearable: true, files: true, test: (*suite).recycled,
			Part:   "[ids], [account] and [cancel]",
			Proves: "an id that now belongs to another tag is neither accounted nor cancelled, held or released"},
	}
}

// search calls Find for tags until all answers are definite.
func (s *suite) search(tags ...jjm.Tag) []adapters.Found {
	s.Helper()
	patience := s.Patience + s.Adapter.Capabilities().Settle
	for end := time.Now().Add(patience); ; s.pause() {
		got, err := s.Adapter.Find(s.Context(), s.Owner, tags)
		if err != nil || len(got) != len(tags) {
			s.Fatalf("%d answers for %d tags, error %v", len(got), len(tags), err)
		}
		settled := true
		for i, f := range got {
			if f.Tag != tags[i] {
				s.Fatalf("answer %d is for %s, want %s", i, f.Tag, tags[i])
			}
			settled = settled && f.Presence != adapters.NotYetKnown
		}
		if settled {
			return got
		}
		if time.Now().After(end) {
			s.Fatalf("not settled after %v: %+v", patience, got[:min(len(got), 5)])
		}
	}
}

// isThere checks that the search for a tag found exactly these ids.
func (s *suite) isThere(f adapters.Found, ids ...string) {
	s.Helper()
	slices.Sort(ids)
	if got := slices.Sorted(slices.Values(f.IDs)); f.Presence != adapters.Present || !slices.Equal(got, ids) {
		s.Errorf("found %+v, want it present as %s", f, strings.Join(ids, ", "))
	}
}

func (s *suite) isAbsent(f adapters.Found) {
	s.Helper()
	if f.Presence != adapters.Absent || len(f.IDs) != 0 {
		s.Errorf("found %+v, want it absent", f)
	}
}

func (s *suite) find() {
	b, other := s.shell(s.fit(2), "exit 0"), s.newTag()
	r := s.submit(b)
	check := func() {
		s.Helper()
		got := s.search(other, b.Tag)
		s.isAbsent(got[0])
		s.isThere(got[1], r.ID)
	}
	check()
	s.wait(b)
	check() // the bulk has ended, and Find must still find it
}

func (s *suite) findMany() {
	first, last := s.shell(1, "exec sleep 600"), s.shell(1, "exec sleep 600") // the jobs outlast the search
	r1, r2 := s.submit(first), s.submit(last)
	tags := []jjm.Tag{first.Tag}
	for range 298 {
		tags = append(tags, s.newTag())
	}
	got := s.search(append(tags, last.Tag)...)
	s.isThere(got[0], r1.ID)
	s.isThere(got[299], r2.ID)
	for _, f := range got[1:299] {
		s.isAbsent(f)
	}
}

func (s *suite) doubled() {
	b := s.shell(1, lasting(s))
	r1 := s.submitOnly(b)
	r2 := s.submitOnly(b)
	if r1.ID == r2.ID { // Submit is idempotent here
		s.isThere(s.search(b.Tag)[0], r1.ID)
		return
	}
	s.isThere(s.search(b.Tag)[0], r1.ID, r2.ID)
	s.control(adapters.Cancel, refs(b, r2)...)
	for end := time.Now().Add(s.Patience); ; s.pause() {
		first, second := jjm.Report{}, jjm.Report{}
		for _, r := range s.reports() {
			switch {
			case r.Tag != b.Tag:
			case belongs(r.ID, r1.ID):
				first = r
			case belongs(r.ID, r2.ID):
				second = r
			}
		}
		if !first.State.Alive() {
			s.Fatalf("one of two was cancelled, and the other is %+v", first)
		}
		if second.State == jjm.BatchCancelled || s.ForgetsCancelled && second.ID == "" {
			return
		}
		if time.Now().After(end) {
			if running(second) {
				s.because(causeCancel)
			}
			s.Fatalf("the second of two was cancelled, and after %v it is %+v", s.Patience, second)
		}
	}
}

func (s *suite) unknown() {
	known := s.shell(1, "exit 0")
	r := s.submit(known)
	is := s.wait(known)[0]
	s.leavesAlone([]adapters.Ref{
		{Tag: s.newTag(), ID: "987654321", Index: 0},
		{Tag: s.newTag(), ID: strings.Replace(is.ID, r.ID, "987654321", 1), Index: -1},
		{Tag: s.newTag(), ID: r.ID, Index: 0}, // the id now belongs to another bulk
	})
}

// leavesAlone checks that Account and Control ignore jobs that do not belong to jjm.
func (s *suite) leavesAlone(jobs []adapters.Ref) {
	s.Helper()
	got, err := s.Adapter.Account(s.Context(), s.Owner, jobs)
	if err != nil {
		s.Fatalf("%v", err)
	}
	if len(got) != 0 {
		s.Errorf("accounted unknown jobs: %+v", got)
	}
	for _, op := range []adapters.Op{adapters.Cancel, adapters.HoldJobs, adapters.Release} {
		for i, err := range s.answers(op, jobs) {
			if err != nil && jjm.KindOf(err) != jjm.Gone {
				s.Errorf("%v of %+v, which is none of jjm's: %v", op, jobs[i], err)
			}
		}
	}
}

func (s *suite) recycled() {
	b := s.shell(1, "while [ ! -e go ]; do sleep 0.3; done")
	r := s.submit(b)
	is := s.until("running", b.Tag, 1, running)[0]
	s.leavesAlone([]adapters.Ref{
		{Tag: s.newTag(), ID: r.ID, Index: 0},
		{Tag: s.newTag(), ID: is.ID, Index: -1},
	})
	s.write("go")
	if r := s.wait(b)[0]; r.State != jjm.BatchEndedOK {
		s.Errorf("the job with the recycled id was touched: %+v", r)
	}
}
