package adaptertest

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// Submit accepts a bulk, unless a scripted fault is next.
func (s *Sim) Submit(ctx context.Context, b adapters.Bulk) (adapters.Receipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.submits++
	if err := s.available(ctx); err != nil {
		return adapters.Receipt{}, err
	}
	if err := s.check(b); err != nil {
		return adapters.Receipt{}, err
	}
	if have := s.jobsOf(b.Owner); s.c.MaxJobs > 0 && have+b.N > s.c.MaxJobs {
		return adapters.Receipt{}, adapters.TooMany(jjm.Errorf(jjm.Busy, "%s: simulated: at most %d jobs of an account",
			s.c.Name, s.c.MaxJobs))
	}
	if most := s.c.QueueMaxJobs[b.Request.Queue]; most > 0 && s.jobsIn(b.Request.Queue, b.Owner)+b.N > most {
		return adapters.Receipt{}, adapters.TooMany(jjm.Errorf(jjm.Busy,
			"%s: simulated: at most %d jobs of an account in queue %s", s.c.Name, most, b.Request.Queue))
	}
	fault := Accept
	if len(s.faults) > 0 {
		fault, s.faults = s.faults[0], s.faults[1:]
	}
	lost := jjm.Errorf(jjm.Ambiguous, "%s: submit bulk of tag %s: simulated: the reply was lost", s.c.Name, b.Tag)
	switch fault {
	case LoseRequest:
		s.doubtful[b.Tag] = jjm.At(s.c.Now().Add(s.c.Settle))
		return adapters.Receipt{}, lost
	case Refuse:
		return adapters.Receipt{}, jjm.Errorf(jjm.Invalid, "%s: submit bulk of tag %s: simulated: refused", s.c.Name, b.Tag)
	case SayBusy:
		return adapters.Receipt{}, jjm.Errorf(jjm.Busy, "%s: submit bulk of tag %s: simulated: busy", s.c.Name, b.Tag)
	case Mutter:
		return adapters.Receipt{}, adapters.Unexplained(jjm.Errorf(jjm.Ambiguous,
			"%s: submit bulk of tag %s: simulated: words that nobody knows", s.c.Name, b.Tag))
	case Deny:
		return adapters.Receipt{}, jjm.Errorf(jjm.Denied, "%s: submit bulk of tag %s: simulated: denied", s.c.Name, b.Tag)
	}
	id := s.take(b)
	if fault == LoseReply {
		s.doubtful[b.Tag] = jjm.At(s.c.Now().Add(s.c.Settle))
		return adapters.Receipt{}, lost
	}
	return adapters.Receipt{ID: id}, nil
}

// MaxBulkOf returns the limit on jobs in the queue of a request.
func (s *Sim) MaxBulkOf(r jjm.Request) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.c.QueueMaxJobs[r.Queue]
}

func (s *Sim) check(b adapters.Bulk) error {
	bad := func(text string) error {
		return jjm.Errorf(jjm.Invalid, "%s: submit bulk of tag %.20q: %s", s.c.Name, string(b.Tag), text)
	}
	switch {
	case !b.Tag.Valid():
		return bad("tag: not a tag")
	case b.N < 1:
		return bad("n: want 1 to " + strconv.Itoa(s.c.MaxBulk) + " jobs")
	case b.N > s.c.MaxBulk:
		return adapters.CheckBulk(b, adapters.Capabilities{MaxBulk: s.c.MaxBulk})
	case s.c.QueueMaxJobs[b.Request.Queue] > 0 && b.N > s.c.QueueMaxJobs[b.Request.Queue]:
		return adapters.CheckBulk(b, adapters.Capabilities{MaxBulk: s.c.QueueMaxJobs[b.Request.Queue]})
	case len(b.Argv) == 0 || strings.Contains(strings.Join(b.Argv, ""), "\x00"):
		return bad("argv: want a command without NUL characters")
	case b.Transfer == nil && !filepath.IsAbs(b.Dir):
		return bad("dir: want an absolute path")
	}
	return nil
}

// take adds the bulk and returns its id. If the Sim is idempotent and already has a bulk with this tag, take only
// returns the id of that bulk.
func (s *Sim) take(b adapters.Bulk) (id string) {
	if old := s.tags[b.Tag]; len(old) > 0 && s.c.Idempotent {
		return old[0].id
	}
	s.step()
	n := int32(len(s.bulks))
	nb := &simBulk{
		Bulk: b, id: s.c.Name + strconv.Itoa(int(n)+1), number: n,
		submitted: jjm.At(s.c.Now()), jobs: make([]simJob, b.N), alive: b.N,
	}
	s.bulks = append(s.bulks, nb)
	s.tags[b.Tag] = append(s.tags[b.Tag], nb)
	nb.released = nb.submitted
	for i := range nb.jobs {
		nb.jobs[i].state = jjm.BatchQueued
		if s.c.TwoPhase {
			nb.jobs[i].state = jjm.BatchHold
			continue
		}
		s.enqueue(simKey{n, int32(i)})
	}
	s.notify()
	return nb.id
}

// available returns an error of kind Busy if the context has ended or the batch system is down.
func (s *Sim) available(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return jjm.Errorf(jjm.Busy, "%s: nothing was done: %w", s.c.Name, err)
	}
	if s.c.Now().Before(s.down) {
		return jjm.Errorf(jjm.Busy, "%s: simulated: the batch system does not answer", s.c.Name)
	}
	return nil
}

// List returns the owner's jobs that are alive or ended after since. It leaves out the jobs chosen by Lie.
func (s *Sim) List(ctx context.Context, owner jjm.Owner, since time.Time) (adapters.Listing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists++
	if err := s.available(ctx); err != nil {
		return adapters.Listing{}, err
	}
	s.step()
	from, total := jjm.At(since), 0
	for _, b := range s.bulks {
		if b.visible(owner, from) {
			total += b.N
		}
	}
	lie := s.dropFromListing
	if s.lyingListings--; s.lyingListings < 0 {
		s.lyingListings, lie = 0, nil
	}
	l := adapters.Listing{At: s.c.Now(), Reports: make([]jjm.Report, 0, total)}
	for _, b := range s.bulks {
		if b.visible(owner, from) {
			l.Reports = s.reports(l.Reports, b, from, lie)
		}
	}
	return l, nil
}

func (b *simBulk) visible(owner jjm.Owner, from jjm.Time) bool {
	return b.Owner.UID == owner.UID && (b.alive > 0 || b.lastEnd >= from)
}

// reports appends the reports of a bulk's jobs. It leaves out jobs that are gone, jobs that ended before from, and jobs
// for which lie returns true. The ids share one string to save memory.
func (s *Sim) reports(to []jjm.Report, b *simBulk, from jjm.Time, lie func(SimJob) bool) []jjm.Report {
	ids := make([]byte, 0, b.N*(len(b.id)+4))
	first := len(to)
	for i := range b.jobs {
		k := simKey{b.number, int32(i)}
		j := &b.jobs[i]
		if j.gone || j.state.Ended() && j.ended < from || lie != nil && lie(s.describe(k)) {
			continue
		}
		ids = strconv.AppendInt(append(append(ids, b.id...), '_'), int64(i), 10)
		to = append(to, s.facts(k))
		to[len(to)-1].Exit = len(ids)
	}
	all, at := string(ids), 0
	for i := first; i < len(to); i++ {
		r := &to[i]
		r.ID, at = all[at:r.Exit], r.Exit
		r.Exit = int(b.jobs[r.Index].exit)
	}
	return to
}

// facts returns the report of a job without its id.
func (s *Sim) facts(k simKey) jjm.Report {
	b, j := s.bulks[k.bulk], s.job(k)
	r := jjm.Report{
		Tag: b.Tag, Index: k.pos, State: j.state, Exit: int(j.exit), Signal: int(j.signal),
		Submitted: b.submitted, Started: j.started, Ended: j.ended, Restarts: int(j.restarts),
	}
	if len(s.reasons) > 0 {
		r.Reason = s.reasons[k]
	}
	if j.state == jjm.BatchHold {
		r.Hold = s.codes[k]
	}
	if j.started != 0 {
		r.Host = simHost
	}
	if j.started != 0 && j.ended != 0 {
		r.CPUms, r.RSSKB = int64(j.ended-j.started), 100<<10
	}
	return r
}

const simHost = "simhost"

// Find returns NotYetKnown for a tag during the settling time after a Submit whose reply was lost.
func (s *Sim) Find(ctx context.Context, owner jjm.Owner, tags []jjm.Tag) ([]adapters.Found, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.available(ctx); err != nil {
		return nil, err
	}
	s.step()
	now := jjm.At(s.c.Now())
	found := make([]adapters.Found, len(tags))
	for i, tag := range tags {
		found[i].Tag = tag
		if now < s.doubtful[tag] {
			continue
		}
		found[i].Presence = adapters.Absent
		for _, b := range s.tags[tag] {
			if b.Owner.UID == owner.UID && !b.vanished() {
				found[i].Presence = adapters.Present
				found[i].IDs = append(found[i].IDs, b.id)
			}
		}
	}
	return found, nil
}

func (b *simBulk) vanished() bool {
	for i := range b.jobs {
		if !b.jobs[i].gone {
			return false
		}
	}
	return true
}

// Account returns the reports of the given jobs that have ended. Unknown jobs are left out.
func (s *Sim) Account(ctx context.Context, owner jjm.Owner, jobs []adapters.Ref) ([]jjm.Report, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.available(ctx); err != nil {
		return nil, err
	}
	s.step()
	var out []jjm.Report
	for _, ref := range jobs {
		k, err := s.find(owner, ref)
		if err == nil && s.job(k).state.Ended() {
			r := s.facts(k)
			r.ID = s.describe(k).ID
			out = append(out, r)
		}
	}
	return out, nil
}

// find returns the key of a job. The error is of kind Gone if the job is unknown.
func (s *Sim) find(owner jjm.Owner, ref adapters.Ref) (simKey, error) {
	id, pos := ref.ID, ref.Index
	if pos < 0 {
		bulk, index, _ := strings.Cut(id, "_")
		n, err := strconv.ParseInt(index, 10, 32)
		if err != nil {
			return simKey{}, jjm.Errorf(jjm.Invalid, "job id %.40q: want %s17_3", id, s.c.Name)
		}
		id, pos = bulk, int32(n)
	}
	for _, b := range s.tags[ref.Tag] {
		if (id == "" || b.id == id) && b.Owner.UID == owner.UID && int(pos) < b.N && !b.jobs[pos].gone {
			return simKey{b.number, pos}, nil
		}
	}
	return simKey{}, jjm.Errorf(jjm.Gone, "job %s, index %d, tag %s: not known", id, pos, ref.Tag)
}

// Control applies an operation to jobs, with immediate effect. An unknown job counts as gone, which is not an error.
func (s *Sim) Control(ctx context.Context, owner jjm.Owner, op adapters.Op, jobs []adapters.Ref) ([]error, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.available(ctx); err != nil {
		return nil, err
	}
	s.step()
	answers := make([]error, len(jobs))
	for i, ref := range jobs {
		k, err := s.find(owner, ref)
		switch {
		case err != nil && jjm.KindOf(err) != jjm.Gone:
			answers[i] = err
		case err == nil:
			answers[i] = s.act(op, k)
		}
	}
	s.step() // released jobs may start
	s.notify()
	return answers, nil
}

func (s *Sim) act(op adapters.Op, k simKey) error {
	j := s.job(k)
	now := jjm.At(s.c.Now())
	switch {
	case j.state.Ended():
	case op == adapters.Cancel:
		if s.ignoreCancels > 0 {
			s.ignoreCancels--
			return nil
		}
		s.cancel(k, "cancelled by the owner")
	case op == adapters.HoldJobs && j.state == jjm.BatchQueued:
		j.state = jjm.BatchHold
	case op == adapters.HoldJobs && j.state == jjm.BatchRunning:
		return jjm.Errorf(jjm.Conflict, "job %s: it runs already", s.describe(k).ID)
	case op == adapters.Release && j.state == jjm.BatchHold:
		j.state = jjm.BatchQueued
		s.bulks[k.bulk].released = now
		delete(s.reasons, k)
		delete(s.codes, k)
		s.enqueue(k)
	}
	return nil
}

// cancel ends a job. A running job ends as after a SIGTERM, so its wrapper still writes a result.
func (s *Sim) cancel(k simKey, reason string) {
	now := jjm.At(s.c.Now())
	signal := 0
	if s.job(k).state == jjm.BatchRunning {
		signal = 15
		s.report(k, Play{Keyword: "-", Exit: 128 + signal, Signal: signal}, now)
	}
	s.end(k, jjm.BatchCancelled, now, 0, signal, reason)
}
