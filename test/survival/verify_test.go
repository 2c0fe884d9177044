package survival_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/testkit/await"
)

// ended holds all facts that a site reports about an ended grid job.
type ended struct {
	*site
	id       jjm.GridID
	design   design
	status   wire.Status // status with all local jobs
	journal  []jjm.JournalEntry
	attempts map[int32][]store.Attempt
	ledger   map[run]*ledgerEntry
}

// verify checks everything that must be true of an ended grid job, whatever happened to the daemon. It stops the
// daemon.
func (s *site) verify(id jjm.GridID, d design) *ended {
	s.t.Helper()
	s.nothingRuns()
	e := &ended{site: s, id: id, design: d, status: s.status(id)}
	e.journal = must(s, wire.VerbHistory(), wire.HistoryRequest{Many: wire.Refs(id.String())}).History
	tarSum := s.outputSum(id)
	s.stop()
	e.readStore()
	e.readLedger()

	e.checkGrid()
	e.checkParts()
	e.checkStates()
	e.checkJournal()
	e.checkAttempts()
	e.checkLedger()
	e.checkRecord()
	e.checkTar(tarSum)
	return e
}

// nothingRuns waits until the last wrappers have ended, because a wrapper ends a moment after its result appears.
func (s *site) nothingRuns() {
	s.t.Helper()
	var left []process
	for deadline := time.Now().Add(deadWithin); ; time.Sleep(pollEvery) {
		if left = s.processes(); len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			s.t.Errorf("%s: the grid job is over, and of its local jobs still run: %v", await.Hung, left)
			return
		}
	}
}

// readStore reads from the store the facts that the daemon does not report.
func (e *ended) readStore() {
	e.t.Helper()
	st, err := store.Open(filepath.Join(e.state, "store.db"), store.Options{ReadOnly: true})
	if err != nil {
		e.t.Fatal(err)
	}
	defer st.Close()
	ctx := context.Background()
	if err := st.Check(ctx); err != nil {
		e.t.Errorf("the store is damaged: %v", err)
	}
	e.attempts = map[int32][]store.Attempt{}
	for _, l := range e.status.Locals {
		if e.attempts[l.ID.N], err = st.Attempts(ctx, l.ID); err != nil {
			e.t.Fatal(err)
		}
	}
	job, err := st.Grid(ctx, e.id)
	if err != nil {
		e.t.Fatal(err)
	}
	if job.Status.String() != e.status.Lookup.Status {
		e.t.Errorf("the store says that the grid job is %v, the daemon said %s", job.Status, e.status.Lookup.Status)
	}
	live, err := st.Live(ctx)
	if err != nil {
		e.t.Fatal(err)
	}
	for _, b := range live.Bulks {
		if slices.ContainsFunc(b.Members, func(m jjm.AttemptID) bool { return m.Grid == e.id }) {
			e.t.Errorf("bulk %s is %v in the store, although its grid job is over", b.Tag, b.State)
		}
	}
}

// checkGrid checks the status and the counts of the grid job.
func (e *ended) checkGrid() {
	e.t.Helper()
	l := e.status.Lookup
	var words []string
	for _, st := range e.design.status() {
		words = append(words, st.String())
	}
	if !slices.Contains(words, l.Status) {
		e.t.Errorf("the grid job ended as %s (%s), want one of %v", l.Status, l.Message, words)
	}
	counted := map[jjm.State]int{}
	for _, j := range e.status.Locals {
		counted[j.State]++
	}
	c := l.Counts
	if c.Completed != counted[jjm.Completed] || c.Failed != counted[jjm.Failed] || c.Killed != counted[jjm.Killed] ||
		c.Completed+c.Failed+c.Killed != len(e.status.Locals) || c.Total != len(e.status.Locals) {
		e.t.Errorf("the counts %+v are not those of the local jobs, %v", c, counted)
	}
	if !e.design.killed && len(e.status.Locals) != e.design.jobs {
		e.t.Errorf("%d local jobs, want %d", len(e.status.Locals), e.design.jobs)
	}
}

// checkParts checks that the parts of the local jobs cover every event once. If a grid job was killed while it was cut,
// its parts cover only the beginning.
func (e *ended) checkParts() {
	e.t.Helper()
	next := int64(1)
	for i, l := range e.status.Locals {
		if int(l.ID.N) != i || l.Part.First != next {
			e.t.Fatalf("local job %s, the number %d, has events from %d, want from %d: a gap or an overlap", l.ID, i,
				l.Part.First, next)
		}
		next += l.Part.Count
	}
	if got := next - 1; got != e.design.events() && !e.design.killed {
		e.t.Errorf("the local jobs have events up to %d, want %d", got, e.design.events())
	}
}

// checkStates checks the state of each local job.
func (e *ended) checkStates() {
	e.t.Helper()
	for _, l := range e.status.Locals {
		if w := e.design.of(l.ID.N); !slices.Contains(w.states, l.State) && !e.design.loose {
			e.t.Errorf("local job %s is %v/%s (%s), want one of %v", l.ID, l.State, l.Phase, l.Message, w.states)
		}
		if l.State == jjm.Killed && strings.Contains(l.Message, "by someone else") {
			e.t.Errorf("local job %s was killed by an order, and its message is %q", l.ID, l.Message)
		}
		if !l.State.Final() {
			e.t.Errorf("local job %s is %v, and its grid job is over", l.ID, l.State)
		}
	}
}

// checkJournal follows every local job through the journal: each change starts at the state in which the previous
// change ended, and exactly one change ends the local job. To freeze and to unfreeze a local job is no end.
func (e *ended) checkJournal() {
	e.t.Helper()
	at := make([]string, len(e.status.Locals))
	ends, again := make([]int, len(at)), make([]int, len(at))
	grid, over := "", 0
	for _, en := range e.journal {
		if en.First < 0 {
			if en.From != grid && !(grid == "" && en.From == "registered") {
				e.t.Errorf("journal %d: the grid job goes from %s to %s, and it was %s", en.Seq, en.From, en.To, grid)
			}
			if grid = en.To; isFinal(grid) {
				over++
			}
			continue
		}
		if en.Source == "repoint" {
			continue
		}
		for n := en.First; n <= en.Last && int(n) < len(at); n++ {
			if en.From != at[n] {
				e.t.Errorf("journal %d: local job %d goes from %q to %q, and it was %q", en.Seq, n, en.From, en.To, at[n])
			}
			at[n] = en.To
			from, _, _ := strings.Cut(en.From, "/")
			switch word, _, _ := strings.Cut(en.To, "/"); {
			case terminal(word) && unfrozen(word) != unfrozen(from):
				ends[n]++
			case en.Source == "auto-resubmit" && en.From != en.To:
				again[n]++
			}
		}
	}
	if over != 1 {
		e.t.Errorf("the journal has %d ends of the grid job, want 1", over)
	}
	for n, l := range e.status.Locals {
		if word, _, _ := strings.Cut(at[n], "/"); word != l.State.String() || ends[n] != 1+again[n] {
			e.t.Errorf("the journal ends local job %s %d times, at last as %s; it is %v", l.ID, ends[n], at[n], l.State)
		}
	}
}

func terminal(word string) bool { return unfrozen(word).Final() }

// unfrozen returns the state that a word of the journal names, without its freezing. The result is jjm.New if the word
// names no state.
func unfrozen(word string) jjm.State {
	var st jjm.State
	if err := st.UnmarshalText([]byte(word)); err != nil {
		return jjm.New
	}
	return st.Unfrozen()
}
