package survival_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// tally counts the results of all local jobs of one kind of fault.
type tally struct{ runs, jobs, lost, doubled, wrong, healed int }

// tallies is the table of a campaign.
type tallies struct {
	mu     sync.Mutex
	of     map[string]*tally
	failed []string
	began  time.Time
}

// add counts one run and logs its result. e is nil if the run did not finish.
func (ts *tallies) add(t *testing.T, bed string, bt faultRun, e *ended, healed bool) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	name := bed + ": " + bt.kind()
	if ts.of[name] == nil {
		ts.of[name] = &tally{}
	}
	var one tally
	if e != nil {
		one.count(e)
	}
	if one.runs = 1; healed {
		one.healed = 1
	}
	ts.of[name].plus(one)
	verdict := "ok"
	if t.Failed() || e == nil {
		verdict = "FAILED"
		ts.failed = append(ts.failed, bed+": "+bt.String())
	}
	t.Logf("%v into the campaign: %s, %v: %s\n%s\n%s", time.Since(ts.began).Round(time.Second), bed, bt, verdict, columns,
		ts.of[name].row(name))
}

// count adds the local jobs of one grid job that is over.
func (n *tally) count(e *ended) {
	n.jobs += len(e.status.Locals)
	n.lost += e.design.jobs - len(e.status.Locals)
	for _, l := range e.status.Locals {
		if !l.State.Final() {
			n.lost++
		}
		if !slices.Contains(e.design.of(l.ID.N).states, l.State) {
			n.wrong++
		}
	}
	for _, b := range e.ledger {
		if b.starts > 1 {
			n.doubled++
		}
	}
}

func (n *tally) plus(m tally) {
	n.runs += m.runs
	n.jobs += m.jobs
	n.lost += m.lost
	n.doubled += m.doubled
	n.wrong += m.wrong
	n.healed += m.healed
}

const columns = "fault                                         times   jobs   lost  doubled  wrong  healed"

func (n *tally) row(name string) string {
	return fmt.Sprintf("%-44s %6d %6d %6d %8d %6d %7d", name, n.runs, n.jobs, n.lost, n.doubled, n.wrong, n.healed)
}

func (ts *tallies) String() string {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	lines := []string{columns}
	var all tally
	for _, name := range slices.Sorted(maps.Keys(ts.of)) {
		lines = append(lines, ts.of[name].row(name))
		all.plus(*ts.of[name])
	}
	lines = append(lines, all.row("all, in "+time.Since(ts.began).Round(time.Second).String()))
	for _, name := range ts.failed {
		lines = append(lines, "FAILED: "+name)
	}
	return strings.Join(lines, "\n")
}

// print ends the campaign and logs its table. If "make test" collects tables, print also writes the table to the folder
// of tables.
func (ts *tallies) print(t *testing.T) {
	text := "The fault campaign:\n" + ts.String() + "\n"
	t.Log(text)
	if dir := os.Getenv("JJM_TABLES"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "faults"), []byte(text), 0o644); err != nil {
			t.Error(err)
		}
	}
}
