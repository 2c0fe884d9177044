package survival_test

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"jjm"
	"jjm/adapters/testbed"
	"jjm/wire"
)

// fault is a way to disturb a batch system: a verb of its test bed, the verb
// that ends the trouble, the daemon, and how long it lasts.
type fault struct {
	do, undo, daemon string
	lasts            time.Duration
}

func (f fault) String() string { return f.do + " " + f.daemon }

// Longer than the deadline of a command, and than a client's own patience with
// a daemon that is gone.
const (
	frozen = 8 * time.Second
	down   = 3 * time.Second
)

// trouble lists the faults of each bed, the most telling one first.
func trouble() map[string][]fault {
	return map[string][]fault{
		"slurm": {
			{"freeze", "thaw", "slurmctld", frozen},
			{"kill", "start", "slurmctld", down},
			{"kill", "start", "slurmctld", 0},
			{"kill", "start", "slurmdbd", down},
			{"freeze", "thaw", "slurmdbd", frozen},
			{"kill", "start", "munged", down},
		},
		"condor": {
			{"freeze", "thaw", "schedd", frozen},
			{"kill", "start", "schedd", down},
		},
		"sge": {
			{"freeze", "thaw", "qmaster", frozen},
			{"kill", "start", "qmaster", down},
			{"kill", "start", "qmaster", 0},
		},
	}
}

// moments are what a fault falls into.
func moments() []string { return []string{"submission", "run", "kill"} }

// bout is one fault at one moment, with or without the daemon's own death.
type bout struct {
	fault
	moment string
	crash  bool
}

func (b bout) String() string {
	if b.crash {
		return fmt.Sprintf("%v during the %s, jjm killed too", b.fault, b.moment)
	}
	return fmt.Sprintf("%v during the %s", b.fault, b.moment)
}

// bouts are those of one bed: all of them in the whole campaign, else each
// moment once with the most telling fault, where jjm dies once.
func bouts(bed string) []bout {
	var out []bout
	for i, f := range trouble()[bed] {
		for j, moment := range moments() {
			for _, crash := range []bool{false, true} {
				if whole() || i == 0 && crash == (j == 0) {
					out = append(out, bout{f, moment, crash})
				}
			}
		}
	}
	return out
}

// TestFaults_BatchSystemInTrouble disturbs the real batch systems while a grid
// job is submitted, runs or is killed, and kills jjm at the same moments. No
// local job is lost, none runs twice, all end as designed. It ends with a table.
func TestFaults_BatchSystemInTrouble(t *testing.T) {
	var table tallies
	t.Cleanup(func() { t.Logf("\n%s", table.String()) })
	for bed := range trouble() {
		t.Run(bed, func(t *testing.T) {
			t.Parallel()
			b := testbed.StartAlone(t, bed)
			section, uid := bedSection(t, b, bed, "")
			for _, bt := range bouts(bed) {
				t.Run(bt.String(), func(t *testing.T) {
					s := bedSite(t, section, uid)
					table.add(bed, bt, s.suffer(b, bt))
				})
			}
		})
	}
}

// suffer plays one bout to the end of its grid job and checks everything.
func (s *site) suffer(b *testbed.Bed, bt bout) *ended {
	s.t.Helper()
	d := design{jobs: 30, glf: true, mix: "yes", key: "once"}
	if bt.moment == "kill" {
		d = design{jobs: 30, glf: true, seconds: 600, key: "once", killed: true}
	}
	s.startReady()
	var id jjm.GridID
	switch bt.moment {
	case "submission":
		s.disturbed(b, bt, func() *driven { return s.goDrive(s.t.Context(), driveMix, d) }, &id)
	case "run":
		r := s.goDrive(s.t.Context(), driveMix, d)
		s.started(d, 5)
		s.disturbed(b, bt, func() *driven { return r }, &id)
	case "kill":
		submitted := s.goDrive(s.t.Context(), driveOnly, d).wait(s.t)
		s.started(d, 5)
		s.disturbed(b, bt, func() *driven {
			return s.goDrive(s.t.Context(), func(ctx context.Context, s *site, _ design) (jjm.GridID, error) {
				return submitted, s.killAll(ctx, submitted.String())
			}, d)
		}, &id)
	}
	s.final(id)
	return s.verify(id, d)
}

// disturbed makes the trouble, does something meanwhile, kills the daemon in
// the middle if the bout wants it, ends the trouble, and waits for what was done.
func (s *site) disturbed(b *testbed.Bed, bt bout, meanwhile func() *driven, id *jjm.GridID) {
	s.t.Helper()
	b.Do(s.t, bt.do, bt.daemon)
	over := false
	defer func() {
		if !over {
			b.Do(s.t, bt.undo, bt.daemon)
		}
	}()
	r := meanwhile()
	time.Sleep(bt.lasts / 2) // how long the fault lasts is the point
	if bt.crash {
		s.kill()
		s.start("")
	}
	s.must(wire.Request{Verb: wire.VerbPing}) // whatever the batch system does
	time.Sleep(bt.lasts / 2)
	b.Do(s.t, bt.undo, bt.daemon)
	over = true
	*id = r.wait(s.t)
}

// tally counts what became of the local jobs of one kind of bout.
type tally struct{ bouts, jobs, lost, doubled, wrong int }

// tallies is the table of a campaign.
type tallies struct {
	mu sync.Mutex
	of map[string]*tally
}

func (ts *tallies) add(bed string, bt bout, e *ended) {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	if ts.of == nil {
		ts.of = map[string]*tally{}
	}
	name := bed + ": " + bt.fault.String()
	if bt.lasts == 0 {
		name += " and at once " + bt.undo
	}
	if ts.of[name] == nil {
		ts.of[name] = &tally{}
	}
	ts.of[name].count(e)
}

// count adds the local jobs of one grid job that is over.
func (n *tally) count(e *ended) {
	n.bouts++
	n.jobs += len(e.status.Locals)
	n.lost += e.design.jobs - len(e.status.Locals)
	for _, l := range e.status.Locals {
		if !l.State.Final() {
			n.lost++
		}
		right := false
		for _, st := range e.design.of(l.ID.N).states {
			right = right || st == l.State
		}
		if !right {
			n.wrong++
		}
	}
	for _, b := range e.ledger {
		if b.starts > 1 {
			n.doubled++
		}
	}
}

func (ts *tallies) String() string {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	var names []string
	for name := range ts.of {
		names = append(names, name)
	}
	sort.Strings(names)
	var s strings.Builder
	fmt.Fprintf(&s, "%-44s %6s %6s %6s %8s %6s\n", "fault", "times", "jobs", "lost", "doubled", "wrong")
	for _, name := range names {
		n := ts.of[name]
		fmt.Fprintf(&s, "%-44s %6d %6d %6d %8d %6d\n", name, n.bouts, n.jobs, n.lost, n.doubled, n.wrong)
	}
	return s.String()
}
