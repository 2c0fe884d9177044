package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// bulkChecks returns the checks of bulks with several jobs, and of calls with several bulks.
func bulkChecks() []Check {
	return []Check{
		{Name: "a bulk of two is accepted", Bearable: true, early: true, lacks: oneJob, test: (*suite).bulkOfTwo,
			Part:   "[submit], [ids] and [list]",
			Proves: "two jobs in one submission are taken and listed; on a site the checks with bulks are not tried without",
			Remedy: "submit an array of two jobs by hand as this account: if the batch system refuses arrays, set " +
				"max_bulk = 1 for this cluster; if it refuses an option, tell the authors of jjm's adapter"},
		{Name: "scattered jobs of a bulk can be cancelled", Bearable: true, lacks: oneJob, test: (*suite).cancelScattered,
			Part: "[cancel] and [ids]",
			Proves: fmt.Sprintf("%d jobs of a bulk, of which no two are neighbours, end with one cancel, or with %d at most "+
				"where it is Busy for some of them; a cancel opens one connection for each job at most, and %d times those of "+
				"the cancel of one job (a command counts as one; not counted where no commands are run)", scattered,
				scatteredCancels, scatteredSpare),
			Remedy: "cancel every second job of an array by hand, as this account: each must be gone afterwards, and those " +
				"between them must not"},
		{Name: "ids of many bulks are answered", Bearable: true, test: (*suite).manyIDs,
			Part: "[account], [cancel] and [ids]",
			Proves: fmt.Sprintf("one call that names the jobs of %d bulks, and unknown ids between them, accounts each of the "+
				"jobs, and another one cancels each", manyBulks)},
		{Name: "looking opens few connections", Bearable: true, lacks: uncounted, test: (*suite).fewConnections,
			Part: "[list], [find] and [account]",
			Proves: fmt.Sprintf("with %d bulks that ended a listing, a search and an accounting open %d connections at most: "+
				"a command counts as one, of PBS as many as it names ids; not applicable where no commands are run, because "+
				"nobody can count then, and a note where a description lets a command take one id",
				connectedBulks, fewConnections)},
	}
}

// bulkOfTwo submits a bulk of two jobs. If the bulk is not accepted or not listed, it records for the other checks of
// the site that the site accepts no bulks, even if Fatalf ends the check.
func (s *suite) bulkOfTwo() {
	usable := false
	defer func() {
		if !usable && s.Site != nil {
			s.Site.noBulks.Store(true)
		}
	}()
	b := s.shell(2, "exit 0")
	s.made = append(s.made, b.Tag)
	r, err := s.Adapter.Submit(s.Context(), b)
	switch {
	case jjm.KindOf(err) == jjm.Ambiguous:
		s.because(causeDoubt)
		s.Fatalf("%v", err)
	case err != nil:
		s.Fatalf("two jobs in one submission are refused: %v", err)
	case r.ID == "":
		s.Fatalf("the receipt has no id")
	}
	s.until("listed", b.Tag, b.N, func(jjm.Report) bool { return true })
	usable = true
}

// needBulks ends the check as not tried if n is above 1 and the site is known to accept no bulks.
func (s *suite) needBulks(n int) {
	s.Helper()
	if n > 1 && s.Site != nil && s.Site.noBulks.Load() {
		notTried(s, `no bulk is usable here: see the check "a bulk of two is accepted"`)
	}
}

const (
	// scattered is the number of jobs that the check cancels, of a bulk with twice as many jobs.
	scattered = 20
	// scatteredCancels is the number of cancels after which all cancelled jobs must end. It is more than one, because an
	// adapter may limit the commands of a call and return Busy for the remaining jobs.
	scatteredCancels = 3
	// scatteredSpare limits the connections of a cancel of many jobs. The cancel may open one connection for each job and,
	// in addition, this many times the connections of a cancel of one job, because an adapter may list more often, or list
	// waiting and running jobs separately.
	scatteredSpare = 3
)

// cancelScattered compares the cancel of many jobs with the cancel of one job. It compares the connections that both
// open and not their durations, which on a busy machine show nothing about the adapter.
func (s *suite) cancelScattered() {
	b := s.shell(s.fit(2*scattered), "exec sleep 600")
	all := refs(b, s.submitOnly(b))
	s.until("listed", b.Tag, b.N, jobLives)
	c := s.count()
	one, left := s.cancelAll(c, b.Tag, all[:1])
	if len(left) > 0 {
		s.because(causeCancel)
		s.Fatalf("one job of %d was cancelled, and lives after %v", b.N, s.Patience)
	}
	var every2nd []adapters.Ref
	for i := 1; i < b.N; i += 2 {
		every2nd = append(every2nd, all[i])
	}
	opened, left := s.cancelAll(c, b.Tag, every2nd)
	if len(left) > 0 {
		s.because(causeProperty)
		s.Errorf("one job was gone after its cancel; of %d jobs that are no neighbours %d live after at most %s and %v, "+
			"index %d first", len(every2nd), len(left), jjm.Count(scatteredCancels, "cancel"), s.Patience, left[0].Index)
	}
	if most := scatteredConnections(one, len(every2nd)); opened > most {
		s.because(causeProperty)
		s.Errorf("the cancel of one job opened %d connections, that of %d jobs that are no neighbours %d; want %d at most: "+
			"one for each job, and %d times what the cancel of one job opens", one, len(every2nd), opened, most, scatteredSpare)
	}
	for i, r := range s.list(b.Tag) {
		if i > 0 && i%2 == 0 && !r.State.Alive() {
			s.Errorf("job %d was not cancelled, and is %s", i, tell(r))
		}
	}
}

// scatteredConnections returns the number of connections that a cancel of n scattered jobs may open. The argument one
// is the number of connections of a cancel of a single job.
func scatteredConnections(one, n int) int { return scatteredSpare*one + n }

// cancelAll cancels jobs of one bulk, and repeats the cancel for the jobs whose answer is Busy, with at most
// scatteredCancels cancels in total. Then it waits until all jobs have ended or are no longer listed, or the patience
// is over. It returns the largest number of connections that one of the cancels opened, and the jobs that are still
// alive.
func (s *suite) cancelAll(c *counter, tag jjm.Tag, jobs []adapters.Ref) (opened int, left []adapters.Ref) {
	s.Helper()
	end := time.Now().Add(s.Patience)
	busy := jobs
	for try := 0; len(busy) > 0 && try < scatteredCancels; try++ {
		if try > 0 {
			s.pause()
		}
		opened = max(opened, c.during(func() { busy = s.cancelOnce(busy) }))
	}
	for {
		found := s.list(tag)
		left = slices.DeleteFunc(slices.Clone(jobs), func(ref adapters.Ref) bool { return !found[ref.Index].State.Alive() })
		if len(left) == 0 || time.Now().After(end) {
			return opened, left
		}
		s.pause()
	}
}

// cancelOnce cancels jobs, and returns the jobs whose answer is Busy. Busy is a valid answer, after which the caller
// cancels these jobs again.
func (s *suite) cancelOnce(jobs []adapters.Ref) (busy []adapters.Ref) {
	s.Helper()
	for i, err := range s.answers(adapters.Cancel, jobs) {
		switch {
		case jjm.KindOf(err) == jjm.Busy:
			busy = append(busy, jobs[i])
		case err != nil:
			s.Errorf("cancel of %+v: %v", jobs[i], err)
		}
	}
	return busy
}

// manyBulks is the number of bulks that the jobs of one call belong to.
const manyBulks = 6

func (s *suite) manyIDs() {
	if s.Adapter.Capabilities().Accounting {
		s.accountsAll()
	} else {
		s.Logf("this cluster has no accounting: only the cancel was tried")
	}
	var alive []adapters.Ref
	var bulks []adapters.Bulk
	for range manyBulks {
		b := s.shell(1, "exec sleep 600")
		alive = append(alive, refs(b, s.submitOnly(b))...)
		bulks = append(bulks, b)
	}
	jobs := s.withUnknown(alive)
	for i, err := range s.answers(adapters.Cancel, jobs) {
		if err != nil && (slices.Contains(alive, jobs[i]) || jjm.KindOf(err) != jjm.Gone) {
			s.Errorf("cancel of %+v: %v", jobs[i], err)
		}
	}
	for _, b := range bulks {
		s.waitCancelled(b)
	}
}

// withUnknown returns the jobs, with an unknown job after each of them.
func (s *suite) withUnknown(jobs []adapters.Ref) (all []adapters.Ref) {
	for i, ref := range jobs {
		all = append(all, ref, adapters.Ref{Tag: s.newTag(), ID: fmt.Sprint(987653000 + i), Index: 0})
	}
	return all
}

// accountsAll runs jobs of many bulks, and waits until one call of Account returns all of them.
func (s *suite) accountsAll() {
	s.Helper()
	was := map[adapters.Ref]jjm.Report{}
	bulks := make([]adapters.Bulk, manyBulks)
	jobsOf := make([][]adapters.Ref, manyBulks)
	for i := range bulks {
		bulks[i] = s.shell(s.fit(2), "exit 3")
		jobsOf[i] = refs(bulks[i], s.submit(bulks[i]))
	}
	for i, b := range bulks {
		found := s.wait(b)
		for _, ref := range jobsOf[i] {
			was[ref] = found[ref.Index]
		}
	}
	jobs := s.withUnknown(slices.Concat(jobsOf...))
	for end := time.Now().Add(s.Patience); ; s.pause() {
		got, err := s.Adapter.Account(s.Context(), s.Owner, jobs)
		if err != nil {
			s.Fatalf("%v", err)
		}
		missing := s.unanswered(jobs, was, got)
		if len(missing) == 0 {
			return
		}
		if time.Now().After(end) {
			s.Fatalf("%s of %d bulks in one accounting: after %v %d are not answered, id %s first",
				jjm.Count(len(was), "job"), manyBulks, s.Patience, len(missing), missing[0])
		}
	}
}

// unanswered returns the ids of the jobs that were listed as ended but are missing in an answer of Account.
func (s *suite) unanswered(jobs []adapters.Ref, was map[adapters.Ref]jjm.Report, got []jjm.Report) (missing []string) {
	s.Helper()
	type job struct {
		tag   jjm.Tag
		index int32
	}
	has := map[job]jjm.Report{}
	for _, r := range got {
		has[job{r.Tag, r.Index}] = r
	}
	for _, ref := range jobs {
		want, known := was[ref]
		is, answered := has[job{ref.Tag, ref.Index}]
		switch {
		case !known && answered:
			s.Fatalf("accounted an unknown job: %+v", is)
		case known && !answered:
			missing = append(missing, ref.ID)
		case known && is.State != want.State:
			s.Fatalf("the accounting contradicts the listing: %s, and %s", tell(is), tell(want))
		}
	}
	return missing
}

const (
	// connectedBulks is the number of bulks in one look. It is higher than fewConnections, so the check fails if the
	// adapter opens a connection for each bulk. Lookups of some tens of bulks every few seconds, with a connection for
	// each bulk, use up all ports of a host (OpenPBS: 512 reserved ports for all accounts, each blocked for 60 s).
	connectedBulks = 16
	// fewConnections is the largest number of connections in one look: enough for some commands and a few ids.
	fewConnections = 12
)

// PerID is implemented by adapters whose commands may open a connection for each id on their command line.
type PerID interface {
	// ConnectsPerID reports whether the commands open a connection for each id.
	ConnectsPerID() bool
}

// counter is a [run.Runner] that counts the connections of the commands that it runs.
type counter struct {
	perID bool // whether a command opens a connection for each id on its command line

	mu   sync.Mutex
	ids  []string
	cost int
}

// UID implements run.Runner.
func (*counter) UID() int { return run.UID(context.Background()) }

// Run implements run.Runner.
func (c *counter) Run(ctx context.Context, cmd run.Cmd) (run.Output, error) {
	c.mu.Lock()
	if c.perID {
		c.cost += connections(cmd.Argv, c.ids)
	} else {
		c.cost++
	}
	c.mu.Unlock()
	return run.Run(run.WithRunner(ctx, nil), cmd)
}

// expect adds an id. Its occurrences in later command lines count as connections.
func (c *counter) expect(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids = append(c.ids, id)
}

// during returns the number of connections that are opened while do runs.
func (c *counter) during(do func()) int {
	spent := func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.cost
	}
	before := spent()
	do()
	return spent() - before
}

// connections returns the number of arguments that begin with one of the ids, and at least 1.
func connections(argv, ids []string) int {
	n := 0
	for _, word := range argv[min(1, len(argv)):] {
		if slices.ContainsFunc(ids, func(id string) bool {
			rest, ok := strings.CutPrefix(word, id)
			return ok && (rest == "" || rest[0] < '0' || rest[0] > '9')
		}) {
			n++
		}
	}
	return max(n, 1)
}

// count returns a counter of the connections of all later commands of the check.
func (s *suite) count() *counter {
	p, ok := s.under.(PerID)
	c := &counter{perID: ok && p.ConnectsPerID()}
	s.ctx = run.WithRunner(s.ctx, c)
	return c
}

// uncounted returns the reason why connections cannot be counted, or "" if they can.
func uncounted(s *suite) string {
	was := s.ctx
	defer func() { s.ctx = was }()
	c := s.count()
	n := c.during(func() { _, _ = s.Adapter.Find(s.ctx, s.Owner, []jjm.Tag{s.newTag()}) })
	return unless(n > 0, "the adapter runs no commands here, so that nobody can count its connections")
}

func (s *suite) fewConnections() {
	c := s.count()
	var jobs []adapters.Ref
	var tags []jjm.Tag
	for range connectedBulks {
		b := s.shell(1, "exit 0")
		r := s.submitOnly(b)
		c.expect(r.ID)
		jobs, tags = append(jobs, refs(b, r)...), append(tags, b.Tag)
	}
	s.answers(adapters.Cancel, jobs) // a held bulk need not run for this check
	look := func(what string, do func()) {
		s.Helper()
		n := c.during(do)
		if n > fewConnections && s.Site != nil && s.Site.Description != "" {
			s.Logf("%s ran %d commands: let the command in %s take many at once, if it can", what, n, s.Site.Description)
			return
		}
		if n > fewConnections {
			s.Fatalf("%s opened %d connections with %d bulks, counted as commands, or ids that they name; want %d at most",
				what, n, connectedBulks, fewConnections)
		}
	}
	alive := len(jobs)
	for end := time.Now().Add(s.Patience); alive > 0; s.pause() {
		look("a listing", func() {
			alive = 0
			for _, r := range s.reports() {
				if slices.Contains(tags, r.Tag) && r.State.Alive() {
					alive++
				}
			}
		})
		if time.Now().After(end) {
			s.because(causeCancel)
			s.Fatalf("cancelled, %d of %d jobs live after %v", alive, len(jobs), s.Patience)
		}
	}
	look("a search", func() {
		if _, err := s.Adapter.Find(s.Context(), s.Owner, tags); err != nil {
			s.Errorf("find: %v", err)
		}
	})
	look("an accounting", func() {
		if _, err := s.Adapter.Account(s.Context(), s.Owner, jobs); err != nil {
			s.Errorf("account: %v", err)
		}
	})
}
