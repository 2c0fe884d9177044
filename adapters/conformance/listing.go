package conformance

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

func listingChecks() []Check {
	return []Check{
		{Name: "a listing carries everything", Bearable: true, files: true, test: (*suite).listing,
			Part:   "[list], [account], [times] and [states]",
			Proves: "id, host, states and times of a job through its life, and the same facts from the accounting"},
		{Name: "since hides what ended before", Bearable: true, lacks: unlisted("ended"), test: (*suite).since,
			Part:   "[list] and [times]",
			Proves: "a listing since a later time leaves out jobs that ended earlier"},
		{Name: "a hundred jobs in a bulk", test: (*suite).hundred,
			Proves: "each of a hundred jobs of one bulk runs once"},
		{Name: "listings are whole while jobs run", Bearable: true, test: wholeRunning,
			Part:   "[list]",
			Proves: "of a dozen jobs that were submitted each listing has all, once, until they are over; they run until several listings have shown eight of them at once, or as many as there are slots",
			Remedy: "run the command that lists jobs by hand while a dozen of them run: it must not cut its output, list the jobs of one queue only, or leave out a state"},
		{Name: "listings are whole while jobs start and end", test: (*suite).whole,
			Proves: "over many short jobs, polled all the time, none is listed twice, none is missing once submitted, and no end is taken back"},
		{Name: "all methods may be called at once", Bearable: true, test: (*suite).concurrent,
			Part:   "[submit] and [list]",
			Proves: "many bulks submitted, listed and searched for from many goroutines"},
	}
}

func (s *suite) listing() {
	before := jjm.At(time.Now().Add(-2 * time.Second))
	b := s.shell(1, `i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; while [ ! -e go ]; do sleep 0.2; done`)
	s.submit(b)
	first := s.list(b.Tag)
	if r, ok := first[0]; ok && (r.ID == "" || r.State == jjm.BatchUnknown) {
		s.Errorf("right after its submission it has no id or no known state: %+v", r)
	}
	r := s.until("running", b.Tag, 1, running)[0]
	after := jjm.At(time.Now().Add(2 * time.Second))
	if r.ID == "" || r.Index != 0 || r.Host == "" && s.lists("host") {
		s.Errorf("while it runs, want its id and its host: %+v", r)
	}
	if r.Submitted < before && s.lists("submitted") || r.Started < r.Submitted && s.lists("started") ||
		r.Started > after || r.Ended != 0 {
		s.Errorf("while it runs its times cannot be right (now it is %s): %+v", time.Now().Format(time.TimeOnly), r)
	}
	s.write("go")
	e := s.wait(b)[0]
	if e.ID != r.ID || e.Submitted != r.Submitted || e.Started != r.Started {
		s.Errorf("it changed its identity: %+v, then %+v", r, e)
	}
	if e.Ended < e.Started && s.lists("ended") || e.State != jjm.BatchEndedOK || e.Restarts != 0 {
		s.Errorf("after its end, want OK, its times and no restart: %+v", e)
	}
	s.accounted(e)
}

// accounted compares the accounting record of an ended job with the job's last listed report.
func (s *suite) accounted(want jjm.Report) {
	s.Helper()
	if !s.Adapter.Capabilities().Accounting {
		return
	}
	for end := time.Now().Add(s.Patience); ; s.pause() {
		got, err := s.Adapter.Account(s.Context(), s.Owner, []adapters.Ref{jobRef(want)})
		switch {
		case err != nil:
			s.Fatalf("%v", err)
		case len(got) == 1:
			r := got[0]
			if r.Tag != want.Tag || r.Index != want.Index || r.State != want.State || r.Exit != want.Exit {
				s.Errorf("the accounting contradicts the listing: %+v, and %+v", r, want)
			}
			return
		case time.Now().After(end):
			s.Fatalf("accounting does not know the job after %v", s.Patience)
		}
	}
}

func (s *suite) since() {
	b := s.shell(1, "exit 0")
	s.submit(b)
	r := s.wait(b)[0]
	l, err := s.Adapter.List(s.Context(), s.Owner, r.Ended.Time().Add(time.Hour))
	if err != nil {
		s.Fatalf("%v", err)
	}
	for _, r := range l.Reports {
		if r.Tag == b.Tag {
			s.Errorf("listed an hour after its end: %+v", r)
		}
	}
}

func (s *suite) hundred() {
	n := s.fit(100)
	b := s.shell(n, `echo x >> seen.$JJM_INDEX`)
	s.submit(b)
	for _, r := range s.wait(b) {
		if r.State != jjm.BatchEndedOK {
			s.Errorf("want OK: %+v", r)
		}
	}
	seen, err := filepath.Glob(s.path("seen.*"))
	if err != nil || len(seen) != n {
		s.Errorf("%d of %d jobs ran, error %v", len(seen), n, err)
	}
	for _, path := range seen {
		if text, err := os.ReadFile(path); err != nil || string(text) != "x\n" {
			s.Errorf("%s: %q, error %v", path, text, err)
		}
	}
}

// whole lists while other goroutines submit. Every bulk that was acknowledged before a listing began must be in that
// listing.
func (s *suite) whole() {
	size := s.fit(20)
	bulks := make([]adapters.Bulk, max(1, s.Jobs/size))
	for i := range bulks {
		bulks[i] = s.shell(size, "exit 0")
		s.made = append(s.made, bulks[i].Tag)
	}
	s.needBulks(size)
	book := newLedger(s.Adapter.Capabilities().Lag)
	var mu sync.Mutex
	var known []adapters.Bulk
	var submitting sync.WaitGroup
	submitting.Go(func() {
		for _, b := range bulks {
			if !s.submitAndRelease(b) {
				return
			}
			mu.Lock()
			known = append(known, b)
			mu.Unlock()
		}
	})
	defer submitting.Wait()
	for end := time.Now().Add(3 * s.Patience); !book.done(len(bulks) * size); s.pause() {
		mu.Lock()
		for _, b := range known {
			book.expect(b.Tag, b.N)
		}
		known = nil
		mu.Unlock()
		for _, problem := range book.look(time.Now(), s.reports()) {
			s.Errorf("%s", problem)
		}
		if s.Failed() {
			return
		}
		if time.Now().After(end) {
			s.Fatalf("%d of %d jobs had ended after %v", book.ended, len(bulks)*size, 3*s.Patience)
		}
	}
	s.Logf("%s in %s", jjm.Count(len(bulks)*size, "job"), jjm.Count(book.looks, "listing"))
}

// submitAndRelease submits and releases a bulk. It may be called from any goroutine.
func (s *suite) submitAndRelease(b adapters.Bulk) bool {
	r, err := s.Adapter.Submit(s.Context(), b)
	if err != nil {
		s.because(refusal(err))
		s.Errorf("%v", err)
		return false
	}
	if !s.Adapter.Capabilities().TwoPhase {
		return true
	}
	answers, err := s.Adapter.Control(s.Context(), s.Owner, adapters.Release, refs(b, r))
	if err = errors.Join(append(answers, err)...); err != nil {
		s.Errorf("release of %s: %v", b.Tag, err)
	}
	return err == nil
}

func (s *suite) concurrent() {
	var all sync.WaitGroup
	bulks := make([]adapters.Bulk, 8)
	for i := range bulks {
		bulks[i] = s.shell(s.fit(max(1, min(5, s.Jobs/20))), "exit 0")
		s.made = append(s.made, bulks[i].Tag)
	}
	s.needBulks(bulks[0].N)
	for _, b := range bulks {
		all.Go(func() { s.submitAndRelease(b) })
		all.Go(func() {
			if _, err := s.Adapter.List(s.Context(), s.Owner, s.began); err != nil {
				s.Errorf("%v", err)
			}
			if _, err := s.Adapter.Find(s.Context(), s.Owner, []jjm.Tag{b.Tag}); err != nil {
				s.Errorf("%v", err)
			}
		})
	}
	all.Wait()
	if s.Failed() {
		return
	}
	for _, b := range bulks {
		s.wait(b)
	}
}
