package conformance

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// witness is an adapter that notes the jobs that a check submits, until an answer of the batch system shows them.
type witness struct {
	adapters.Adapter
	jobs *unseenJobs
}

func newWitness(a adapters.Adapter) witness {
	return witness{a, &unseenJobs{refs: map[jobKey]adapters.Ref{}}}
}

// Submit notes the jobs of the bulk if the batch system accepted them.
func (w witness) Submit(ctx context.Context, b adapters.Bulk) (adapters.Receipt, error) {
	r, err := w.Adapter.Submit(ctx, b)
	if err == nil {
		w.jobs.add(refs(b, r))
	}
	return r, err
}

// List notes that the jobs of the listing were seen.
func (w witness) List(ctx context.Context, owner jjm.Owner, since time.Time) (adapters.Listing, error) {
	l, err := w.Adapter.List(ctx, owner, since)
	w.jobs.reported(l.Reports)
	return l, err
}

// Account notes that the jobs of the answer were seen.
func (w witness) Account(ctx context.Context, owner jjm.Owner, jobs []adapters.Ref) ([]jjm.Report, error) {
	reports, err := w.Adapter.Account(ctx, owner, jobs)
	w.jobs.reported(reports)
	return reports, err
}

// unseenJobs holds the submitted jobs that no answer has shown yet. Its methods may be called from many goroutines.
type unseenJobs struct {
	mu   sync.Mutex
	refs map[jobKey]adapters.Ref
}

// add adds submitted jobs.
func (u *unseenJobs) add(jobs []adapters.Ref) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, job := range jobs {
		u.refs[jobKey{job.Tag, job.Index}] = job
	}
}

// reported removes the jobs that the reports show.
func (u *unseenJobs) reported(reports []jjm.Report) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, r := range reports {
		delete(u.refs, jobKey{r.Tag, r.Index})
	}
}

// found removes the jobs of the bulks that a search found.
func (u *unseenJobs) found(answers []adapters.Found) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, f := range answers {
		maps.DeleteFunc(u.refs, func(key jobKey, _ adapters.Ref) bool {
			return key.tag == f.Tag && f.Presence == adapters.Present
		})
	}
}

// forget removes jobs of which the batch system may keep no record.
func (u *unseenJobs) forget(jobs []adapters.Ref) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, job := range jobs {
		delete(u.refs, jobKey{job.Tag, job.Index})
	}
}

// left returns the jobs that no answer has shown, in the order of their tags and indices.
func (u *unseenJobs) left() []adapters.Ref {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.SortedFunc(maps.Values(u.refs), func(a, b adapters.Ref) int {
		return cmp.Or(cmp.Compare(a.Tag, b.Tag), cmp.Compare(a.Index, b.Index))
	})
}

// everyJobSeen fails the check if a job that it submitted is in no listing and in no accounting, and its tag is not
// found either. A job may have ended between two listings: then the accounting shows it, and without accounting the
// search for its tag.
func (s *suite) everyJobSeen() {
	s.Helper()
	for end := time.Now().Add(s.Patience); len(s.unseen.left()) > 0; s.pause() {
		s.lookForUnseen()
		left := s.unseen.left()
		if len(left) == 0 || time.Now().Before(end) {
			continue
		}
		s.because(causeUnlisted)
		s.Fatalf("%s submitted, and after %v no listing, no accounting and no search by name shows %s", wereJobs(len(left)),
			s.Patience, list(left[:min(len(left), 3)], tellRef))
	}
}

// wereJobs returns the beginning of a sentence about n jobs.
func wereJobs(n int) string {
	if n == 1 {
		return "a job was"
	}
	return jjm.Count(n, "job") + " were"
}

// lookForUnseen lists all jobs, and then looks up those that are still unseen in the accounting and by their tags.
func (s *suite) lookForUnseen() {
	s.Helper()
	s.reports()
	if left := s.unseen.left(); len(left) > 0 && s.Adapter.Capabilities().Accounting {
		if _, err := s.Adapter.Account(s.Context(), s.Owner, left); err != nil {
			s.Fatalf("%v", err)
		}
	}
	var tags []jjm.Tag
	for _, job := range s.unseen.left() {
		tags = append(tags, job.Tag)
	}
	if tags = slices.Compact(tags); len(tags) > 0 {
		answers, err := s.Adapter.Find(s.Context(), s.Owner, tags)
		if err != nil {
			s.Fatalf("%v", err)
		}
		s.unseen.found(answers)
	}
}
