package engine_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
	"jjm/sandbox"
)

// scenario is a sequence of actions in a world, with the expected ends of its grid jobs. The daemon may die during the
// scenario: each action is repeated until it succeeds.
type scenario struct {
	sim     adaptertest.SimConfig
	play    func(id jjm.AttemptID, job adaptertest.SimJob) adaptertest.Play
	hold    func(id jjm.AttemptID, held int) (code, text string)
	config  func(*engineConfig)
	faults  []adaptertest.Fault
	miss    int
	hidden  func(adaptertest.SimJob) bool // hides batch jobs from the first 40 listings
	actions []action
	wants   map[string]want // expected ends by request key
	spool   bool            // some actions put requests into the spool
	places  bool            // the clusters of the world read different storages
	// also makes further checks at the end of the scenario.
	also func(*stage)
	// only lists beginnings of names of failpoints, such as "hold". The scenario is played only at these failpoints; nil
	// means all failpoints.
	only []string
	// chunk is how many local jobs a transaction moves; 0 means as many as in the daemon.
	chunk int
}

// options returns the options of the scenario's world.
func (sc scenario) options(c *crasher) options {
	o := options{sim: sc.sim, play: sc.play, hold: sc.hold, config: sc.config, spool: sc.spool, crash: c,
		chunk: sc.chunk}
	if sc.places {
		o = reading(o)
	}
	return o
}

// concerns reports whether the scenario is to be played with a crash at a
// failpoint.
func (sc scenario) concerns(point string) bool {
	return sc.only == nil || slices.ContainsFunc(sc.only, func(p string) bool { return strings.HasPrefix(point, p) })
}

// action is something that a person, a gatekeeper or the machine does at a time of the scenario.
type action struct {
	at time.Duration
	do func(*stage) error
}

// stage is a world in which a scenario is played.
type stage struct {
	*world
	ids map[string]jjm.GridID // grid jobs by request key
}

func submitAs(key, text string) func(*stage) error {
	return func(s *stage) error {
		got, err := s.engine.Submit(context.Background(), alice,
			wire.Submit{Name: "j.toml", Text: text, BaseDir: s.dir, Key: key})
		if err == nil {
			s.ids[key] = got.ID
		}
		return err
	}
}

func killOf(key, rest string) func(*stage) error {
	return func(s *stage) error {
		ref, err := jjm.ParseRef(s.ids[key].String() + rest)
		if err != nil {
			return err
		}
		return s.engine.Kill(context.Background(), alice, []jjm.Ref{ref}, wire.KillHow{})[0].Error.Err()
	}
}

// removeOutput returns an action that removes the output of a local job. The action fails until the output exists.
func removeOutput(key string, n int32) func(*stage) error {
	return func(s *stage) error {
		id := jjm.AttemptID{LocalID: jjm.LocalID{Grid: s.ids[key], N: n}}
		return os.Remove(filepath.Join(s.dir, "work", "alice", sandbox.AttemptDir(id), sandbox.WorkName, "out.dat"))
	}
}

// orderTo returns an action that makes an order about the only cluster. The order ends after d.
func orderTo(verb string, d time.Duration) func(*stage) error {
	return func(s *stage) error {
		o := wire.Order{Verb: verb, Kind: "cluster", Name: "sim", Reason: "a test", For: jjm.Duration(d)}
		_, err := s.engine.Order(context.Background(), admin, &o)
		return err
	}
}

// troubled plays local jobs by their numbers: local job 1 asks for a retry, 2 dies before its claim, 3 reports FAILED,
// 4 leaves no result, 5 exits with an error. All of these except 3 succeed in their second attempt.
func troubled(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
	if id.Attempt == 0 || id.N == 3 {
		switch id.N {
		case 1:
			return adaptertest.Play{Keyword: "RETRY", Data: "again 1"}
		case 2:
			return adaptertest.Play{NoClaim: true, Exit: 1}
		case 3:
			return adaptertest.Play{Keyword: "FAILED", Data: "no such file"}
		case 4:
			return adaptertest.Play{NoResult: true, Exit: 1}
		case 5:
			return adaptertest.Play{Keyword: "-", Exit: 7}
		}
	}
	return adaptertest.Play{Life: time.Duration(40+10*id.N) * time.Second}
}

// failsOnce plays attempts that exit with an error in local jobs 0 and 2. The successors of these local jobs succeed.
func failsOnce(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
	if id.N == 0 || id.N == 2 {
		return adaptertest.Play{Keyword: "-", Exit: 3}
	}
	return adaptertest.Play{}
}

// addFiles returns an action that adds the files from..to-1 to alice's dataset.
func addFiles(name string, from, to int) func(*stage) error { return addFilesIn("", name, from, to) }

// addFilesIn returns an action that adds the files from..to-1 to alice's dataset, which is in a container.
func addFilesIn(container, name string, from, to int) func(*stage) error {
	return func(s *stage) error { return s.put(name, container, from, to) }
}

// readsOnce requires that a grid job has read the given number of files, each of 100 events, and that exactly one local
// job owns each file.
func (s *stage) readsOnce(key string, files int64) {
	s.t.Helper()
	want := jjm.InputCounts{Files: files, ToBeUsed: files, Used: files, Finished: files, Events: 100 * files,
		EventsUsed: 100 * files}
	if got := s.input(s.ids[key]); got != want {
		s.t.Errorf("%s: %+v, want %+v", key, got, want)
	}
	for name, local := range s.owners(s.ids[key]) {
		if len(local) != 1 {
			s.t.Errorf("%s: %s is owned by local jobs %v", key, name, local)
		}
	}
}

func markFile(name, lfn string) func(*stage) error {
	return func(s *stage) error {
		_, err := s.engine.Dataset(context.Background(), alice,
			wire.Dataset{Do: wire.DatasetMark, Name: name, LFNs: []string{lfn}, State: "lost", Reason: "the disk is gone"})
		return err
	}
}

func closeDataset(name string) func(*stage) error {
	return func(s *stage) error {
		_, err := s.engine.Dataset(context.Background(), alice, wire.Dataset{Do: wire.DatasetClose, Name: name})
		return err
	}
}

// unlucky plays attempts: the first attempts of every third local job (1, 4, 7 and so on) leave no result, and all
// other attempts succeed.
func unlucky(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
	return adaptertest.Play{NoResult: id.Attempt == 0 && id.N%3 == 1, Exit: 0}
}

var troubledEnds = map[int32]jjm.State{0: jjm.Completed, 1: jjm.Completed, 2: jjm.Completed,
	3: jjm.Failed, 4: jjm.Completed, 5: jjm.Completed, 6: jjm.Completed, 7: jjm.Completed}

func ends(status jjm.GridStatus, jobs int, states map[int32]jjm.State) want {
	return want{status: status, gram: jjm.GRAMDone, jobs: jobs, states: states}
}

// endsOf returns the given state for each of the local jobs 0 to n-1.
func endsOf(n int32, state jjm.State) map[int32]jjm.State {
	m := map[int32]jjm.State{}
	for i := range n {
		m[i] = state
	}
	return m
}

// scenarios returns all scenarios. Together they pass every failpoint.
func scenarios() map[string]scenario {
	all := map[string]scenario{
		"work with retries, lost replies and a busy system": {
			sim: adaptertest.SimConfig{MaxBulk: 3, Settle: 10 * time.Second, Slots: 4}, play: troubled,
			faults: []adaptertest.Fault{adaptertest.LoseReply, adaptertest.SayBusy, adaptertest.LoseRequest},
			actions: []action{
				{0, submitAs("a", mc(8))},
				{30 * time.Second, submitAs("b", mc(5))},
			},
			wants: map[string]want{"a": ends(jjm.Finished, 8, troubledEnds), "b": ends(jjm.Finished, 5, nil)},
		},
		"two-phase system, kills": {
			sim:  adaptertest.SimConfig{TwoPhase: true, MaxBulk: 5, Settle: 5 * time.Second, Slots: 6, Life: 20 * time.Minute},
			play: nil, faults: []adaptertest.Fault{adaptertest.Accept, adaptertest.LoseReply},
			actions: []action{
				{0, submitAs("a", mc(9))},
				{0, submitAs("b", plain(4))},
				{70 * time.Second, killOf("a", ".2-4")},
				{75 * time.Second, killOf("a", ".8")},
				{80 * time.Second, killOf("b", "")},
			},
			wants: map[string]want{
				"a": ends(jjm.Finished, 9, map[int32]jjm.State{0: jjm.Completed, 2: jjm.Killed, 3: jjm.Killed, 4: jjm.Killed,
					5: jjm.Completed, 8: jjm.Killed}),
				"b": ends(jjm.Aborted, 4, endsOf(4, jjm.Killed)),
			},
		},
		"no shared file system": {
			sim:    adaptertest.SimConfig{NoSharedFS: true, TwoPhase: true, MaxBulk: 3, Settle: 10 * time.Second, Slots: 4},
			play:   troubled,
			faults: []adaptertest.Fault{adaptertest.LoseReply, adaptertest.SayBusy, adaptertest.LoseRequest},
			actions: []action{
				{0, submitAs("a", mc(8))},
				{30 * time.Second, submitAs("b", mc(5))},
			},
			wants: map[string]want{"a": ends(jjm.Finished, 8, troubledEnds), "b": ends(jjm.Finished, 5, nil)},
		},
		"more jobs than the batch system takes": {
			sim:     adaptertest.SimConfig{MaxJobs: 3, Life: 10 * time.Minute},
			actions: []action{{0, submitAs("a", mc(11))}},
			wants:   map[string]want{"a": done(11)},
			only:    []string{"break-up", "submit"},
		},
		"orders of an administrator": {
			sim: adaptertest.SimConfig{MaxBulk: 3, Slots: 2},
			actions: []action{
				{0, submitAs("a", mc(6))},
				{70 * time.Second, orderTo("pause", 10*time.Minute)},
				{80 * time.Second, submitAs("b", mc(3))},
				{5 * time.Minute, orderTo("drain", 0)},
				{30 * time.Minute, orderTo("resume", 0)},
				{31 * time.Minute, orderTo("pause", time.Minute)},
			},
			wants: map[string]want{"a": done(6), "b": done(3)},
		},
		"left in the spool": {
			spool: true,
			sim:   adaptertest.SimConfig{Life: 40 * time.Minute, Slots: 20},
			actions: []action{
				{0, leaveSubmit("a", mc(3), false)},
				{0, leaveSubmit("b", plain(4), false)},
				{0, leaveSubmit("bad", "type = \"none\"", false)},
				{5 * time.Second, found("a")},
				{5 * time.Second, leaveSubmit("a", mc(3), false)},
				{10 * time.Second, foundRefused("bad")},
				{70 * time.Second, found("b")},
				{70 * time.Second, leaveKill("b")},
				{70 * time.Second, leaveSubmit("b", plain(2), true)},
				{75 * time.Second, anotherThan("b", "b anew")},
			},
			wants: map[string]want{"a": done(3), "b": ends(jjm.Aborted, -1, nil), "b anew": done(2)},
		},
		"an owner is banned": {
			sim: adaptertest.SimConfig{MaxBulk: 3, Slots: 4, Life: 20 * time.Minute},
			actions: []action{
				{0, submitAs("a", mc(6))},
				{0, submitBy(bob, "b", mc(5))},
				{70 * time.Second, ban(wire.Ban{Name: "bob", Reason: "a test"})},
				{30 * time.Minute, ban(wire.Ban{Name: "bob", Lift: true})},
			},
			wants: map[string]want{"a": done(6), "b": ends(jjm.Aborted, 5, endsOf(5, jjm.Killed))},
		},
		"a host is excluded": {
			sim: adaptertest.SimConfig{MaxBulk: 3, Slots: 4, Life: 20 * time.Minute, ExcludesHosts: true},
			actions: []action{
				{0, submitAs("a", mc(6))},
				{70 * time.Second, excludeHosts(wire.Exclude{Hosts: []string{"wn13"}, Reason: "x", For: jjm.Duration(time.Hour)})},
				{80 * time.Second, excludeHosts(wire.Exclude{Hosts: []string{"wn14"}, Reason: "x"})},
				{30 * time.Minute, excludeHosts(wire.Exclude{Hosts: []string{"wn14"}, Include: true})},
			},
			wants: map[string]want{"a": done(6)},
		},
		"holds":             heldScenario(),
		"holds by a person": personHoldScenario(),
		"what waits is set": setScenario(),
		"forced states":     forcedScenario(),
		"frozen jobs":       frozenScenario(),
		"a dataset that grows, with failures": {
			sim: adaptertest.SimConfig{MaxBulk: 3, Slots: 4}, play: failsOnce,
			config: func(c *engineConfig) { c.Backoff = 0 },
			actions: []action{
				{0, submitAs("a", fileJob("", "name = \"raw\"\nopen = true\n"+inline(5)))},
				{30 * time.Second, submitAs("b", fileJob("", "name = \"raw\"\n"))},
				{70 * time.Second, addFiles("raw", 3, 9)},
				{10 * time.Minute, closeDataset("raw")},
			},
			wants: map[string]want{"a": ends(jjm.Done, -1, nil), "b": ends(jjm.Done, -1, nil)},
			also: func(s *stage) {
				s.readsOnce("a", 9)
				s.readsOnce("b", 9)
			},
			only: []string{"dataset", "notice", "generate", "prepare", "verdict"},
		},
		"a container is read": {
			actions: []action{
				{0, addFilesIn("run1", "x", 0, 3)},
				{0, addFilesIn("run1", "y", 2, 6)}, // one file is in both datasets
				{10 * time.Second, submitAs("a", fileJob("", "name = \"all\"\ncontainer = \"run1\"\n"))},
				{5 * time.Minute, addFilesIn("run1", "z", 6, 9)},
				{6 * time.Minute, closeDataset("x")},
				{6 * time.Minute, closeDataset("y")},
				{6 * time.Minute, closeDataset("z")},
			},
			wants: map[string]want{"a": ends(jjm.Done, -1, nil)},
			also:  func(s *stage) { s.readsOnce("a", 9) },
			only:  []string{"dataset", "notice"},
		},
		"output names with numbers": {
			sim: adaptertest.SimConfig{MaxBulk: 3, Slots: 4}, play: failsOnce,
			config: func(c *engineConfig) { c.Backoff = 0 },
			actions: []action{
				{0, submitAs("a", fileJob("output_dataset = \"reco\"\n", "name = \"raw\"\nopen = true\n"+inline(5)+numbers))},
				{0, submitAs("b", mc(4)+numbers)},
				{70 * time.Second, addFiles("raw", 3, 9)},
				{10 * time.Minute, closeDataset("raw")},
			},
			wants: map[string]want{"a": ends(jjm.Done, -1, nil), "b": ends(jjm.Finished, 4, nil)},
			also: func(s *stage) {
				s.verifyNumbers(s.ids["a"])
				s.verifyNumbers(s.ids["b"])
			},
			only: []string{"dataset", "notice", "generate", "prepare", "verdict", "collect", "accept"},
		},
		"a chain that loses a file between two steps": {
			actions: []action{
				{0, submitAs("a", fileJob("output_dataset = \"made\"\n", "name = \"raw\"\n"+inline(6)))},
				{5 * time.Minute, removeOutput("a", 1)},
				{6 * time.Minute, submitAs("b", fileJob("", "name = \"made\"\n"))},
			},
			wants: map[string]want{"a": ends(jjm.Done, 3, nil), "b": ends(jjm.Finished, 3, nil)},
			also: func(s *stage) {
				a := s.ids["a"]
				if states := s.fileStates("made"); len(states) != 1 || states[output(a, 1)] != "lost" {
					s.t.Errorf("marks: %v", states)
				}
				if owners := s.owners(s.ids["b"]); owners[output(a, 1)] != nil || len(owners) != 2 {
					s.t.Errorf("%v", owners)
				}
			},
			only: []string{"verdict"},
		},
		"a dataset that loses a file": {
			actions: []action{
				{0, addFiles("raw", 0, 6)},
				{10 * time.Second, markFile("raw", lfn(2))},
				{20 * time.Second, submitAs("a", fileJob("", "name = \"raw\"\n"))},
				{5 * time.Minute, closeDataset("raw")},
			},
			wants: map[string]want{"a": ends(jjm.Finished, 3, nil)},
			only:  []string{"dataset-mark"},
		},
		"a dataset that loses a file while its local job waits": {
			sim: adaptertest.SimConfig{Life: 10 * time.Minute, Slots: 1}, config: func(c *engineConfig) { c.MaxPending = 1 },
			actions: []action{
				{0, submitAs("a", fileJob("", "name = \"raw\"\n"+inline(8)))},
				{time.Minute, markFile("raw", lfn(6))},
			},
			wants: map[string]want{"a": ends(jjm.Finished, 5, nil)},
			also: func(s *stage) {
				if owners := s.owners(s.ids["a"]); owners[lfn(6)] != nil || !slices.Equal(owners[lfn(7)], []int32{4}) {
					s.t.Errorf("%v", owners)
				}
			},
			only: []string{"dataset-mark", "withdraw"},
		},
		"a dataset whose outputs are lost": {
			play: func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
				return adaptertest.Play{Life: time.Duration(1+10*(id.N%2)) * time.Minute}
			},
			actions: []action{
				{0, submitAs("a", fileJob("", "name = \"raw\"\n"+inline(4)))},
				{5 * time.Minute, func(s *stage) error {
					_, err := s.retract(alice, s.ids["a"], false, "", "filetest.1.0.out.dat")
					if k := jjm.KindOf(err); k == jjm.Conflict { // the request was carried out before the engine died
						return nil
					}
					return err
				}},
			},
			wants: map[string]want{"a": ends(jjm.Done, 3, nil)},
			only:  []string{"retract"},
		},
		"outputs that are merged, and a merge that fails": {
			play: func(id jjm.AttemptID, _ adaptertest.SimJob) adaptertest.Play {
				if id.N == 1 || id.N == 5 {
					return adaptertest.Play{Keyword: "-", Exit: 3}
				}
				return adaptertest.Play{Life: time.Duration(20+30*id.N) * time.Second}
			},
			actions: []action{{0, submitAs("a", fileJob("", "name = \"raw\"\n"+inline(10)+mergeTwo))}},
			wants:   map[string]want{"a": {status: jjm.Done, gram: jjm.GRAMDone, jobs: -1}},
			also: func(s *stage) {
				if v := s.proof(s.ids["a"], ""); v.Merge == nil || !v.Merge.Whole() || v.Merge.Files != 5 || !v.Whole() {
					s.t.Errorf("%+v", v)
				}
			},
			only: []string{"notice", "generate", "prepare", "verdict"},
		},
		"clusters that read different storages": {
			places: true, sim: adaptertest.SimConfig{MaxBulk: 2, Slots: 1}, play: failsOnce,
			faults: []adaptertest.Fault{adaptertest.SayBusy, adaptertest.LoseReply, adaptertest.Accept, adaptertest.Refuse},
			config: func(c *engineConfig) { c.Backoff = 0 },
			actions: []action{
				{0, submitAs("a", fileJob("clusters = \"any\"\n", "name = \"raw\"\n"+at(4, "ab", "b", "x")))},
				{70 * time.Second, orderTo("pause", 10*time.Minute)},
				{2 * time.Minute, submitAs("b", fileJob("clusters = \"any\"\n", "name = \"more\"\n"+at(4, "ab", "b", "a")))},
			},
			wants: map[string]want{"a": ends(jjm.Finished, -1, map[int32]jjm.State{4: jjm.Failed, 5: jjm.Failed}),
				"b": {status: jjm.Done, gram: jjm.GRAMDone, jobs: -1}},
			also: func(s *stage) {
				s.verifyPlaces(s.ids["a"], s.ids["b"])
				if v := s.proof(s.ids["a"], ""); v.Missing != 4 {
					s.t.Errorf("%+v", v)
				}
			},
			only: []string{"prepare", "generate", "submit", "acknowledge", "verdict", "refuse"},
		},
		"what failed runs again": {
			sim: adaptertest.SimConfig{MaxBulk: 3, Slots: 4}, play: unluckyOnce(1, 4), chunk: 2,
			actions: []action{
				{0, submitAs("a", mc(6))},
				{time.Hour, resubmitOf("a")},
				{2 * time.Hour, nothing},
			},
			wants: map[string]want{"a": done(6)},
			also: func(s *stage) {
				if st := s.status(s.ids["a"]); s.lookup(s.ids["a"]).Status != "finished" || st.Generation != 2 || !st.Over() {
					s.t.Errorf("%+v", st)
				}
			},
			only: []string{"request", "reopen", "collect", "retire"},
		},
		"a local job that failed joins in again": {
			sim: adaptertest.SimConfig{Slots: 2, Life: 20 * time.Minute}, play: unluckyOnce(0),
			actions: []action{{0, submitAs("a", mc(6))}, {50 * time.Minute, resubmitOf("a")}},
			wants:   map[string]want{"a": done(6)},
			only:    []string{"resubmit"},
		},
		"failed local jobs run again by themselves": {
			sim: adaptertest.SimConfig{MaxBulk: 3, Slots: 4}, play: failsFirst(map[int32]int32{1: 2, 4: -1}), chunk: 1,
			actions: []action{{0, submitAs("a", plain(10, "auto_resubmit = true"))}, {2 * time.Hour, nothing}},
			wants:   map[string]want{"a": ends(jjm.Finished, 10, map[int32]jjm.State{1: jjm.Completed, 4: jjm.Failed})},
			also: func(s *stage) {
				if one, four := s.attemptsOf(s.ids["a"], 1), s.attemptsOf(s.ids["a"], 4); one != 3 || four != 6 {
					s.t.Errorf("%d and %d attempts, want 3 and 6", one, four)
				}
			},
			only: []string{"auto-resubmit"},
		},
		"a grid job is killed because its local jobs fail": {
			sim: adaptertest.SimConfig{Slots: 2}, play: failsAlways,
			actions: []action{{0, submitAs("a", plain(9, "auto_kill = 2"))}},
			wants:   map[string]want{"a": ends(jjm.Aborted, 9, nil)},
			only:    []string{"auto-kill"},
		},
		"what failed runs again with other resources": {
			sim: adaptertest.SimConfig{MaxBulk: 3, Slots: 4}, play: failsWithout(5000, 1, 4), chunk: 2,
			actions: []action{
				{0, submitAs("a", mc(6))},
				{time.Hour, resubmitWith("a", &jjm.Resources{MemoryMB: 5000})},
				{2 * time.Hour, nothing},
			},
			wants: map[string]want{"a": done(6)},
			also:  func(s *stage) { s.askedOnly("a", 1, 4) },
			only:  []string{"request", "reopen"},
		},
		"a local job joins in again with other resources": {
			sim: adaptertest.SimConfig{Slots: 2, Life: 20 * time.Minute}, play: failsWithout(5000, 0),
			actions: []action{{0, submitAs("a", mc(6))},
				{50 * time.Minute, resubmitWith("a", &jjm.Resources{MemoryMB: 5000})}},
			wants: map[string]want{"a": done(6)},
			also:  func(s *stage) { s.askedOnly("a", 0) },
			only:  []string{"resubmit"},
		},
		"what is lost after the end is made again": {
			sim: adaptertest.SimConfig{MaxBulk: 3, Slots: 4}, chunk: 2,
			actions: []action{
				{0, submitAs("a", mc(4))},
				{0, submitAs("b", fileJob("output_dataset = \"made\"\n", "name = \"raw\"\n"+inline(6)))},
				{time.Hour, retractAfterTheEnd("a", "mc.%s.2.out.dat")},
				{time.Hour, retractAfterTheEnd("b", "filetest.%s.1.out.dat")},
				{2 * time.Hour, nothing},
			},
			wants: map[string]want{"a": done(4), "b": ends(jjm.Done, 4, map[int32]jjm.State{1: jjm.Failed, 3: jjm.Completed})},
			also: func(s *stage) {
				for _, key := range []string{"a", "b"} {
					if st := s.status(s.ids[key]); st.Generation != 2 || !st.Over() {
						s.t.Errorf("%s: %+v", key, st)
					}
					if v := s.proof(s.ids[key], ""); !v.Whole() {
						s.t.Errorf("%s: %+v", key, v.Report)
					}
				}
			},
			only: []string{"request", "reopen.before", "reopen.after", "reopen.chunk"},
		},
		"a file of what is to run again is lost": {
			play: unluckyOnce(1), chunk: 1,
			actions: []action{
				{0, addFiles("raw", 0, 6)},
				{0, closeDataset("raw")},
				{time.Second, submitAs("a", fileJob("result = \"glf\"\n", "name = \"raw\"\n"))},
				{time.Hour, markFile("raw", lfn(2))},
				{time.Hour, requestedBefore("a", `{"resubmit":{"refs":["1.1"]}}`)},
				{2 * time.Hour, nothing},
			},
			wants: map[string]want{"a": ends(jjm.Finished, 3, map[int32]jjm.State{1: jjm.Failed})},
			only:  []string{"reopen-refuse", "reopen.back"},
		},
		"grid jobs are removed": {
			sim: adaptertest.SimConfig{MaxBulk: 3, Slots: 8}, play: unluckyOnce(1, 4), chunk: 2,
			actions: []action{
				{0, writeInput("cards")},
				{0, writeInput("own")},
				{0, submitAs("a", mc(6, `inputs = [{path = "cards"}]`))},
				{0, submitAs("b", fileJob("inputs = [{path = \"own\"}]\n", "name = \"raw\"\n"+inline(10)+mergeTwo))},
				{0, submitAs("c", mc(2, `inputs = [{path = "cards"}]`))},
				{time.Hour, resubmitOf("a")},
				{2 * time.Hour, removeOf("a", "b")},
				{3 * time.Hour, nothing},
			},
			wants: map[string]want{"c": ends(jjm.Finished, 2, nil)},
			also:  gone("a b", "c"),
			only:  []string{"remove"},
		},
		"grid jobs are rolled back": {
			actions: []action{
				{0, spoilInput},
				{0, submitBack("a", wrongInput(), jjm.RollbackRemove)},
				{0, submitBack("b", wrongInput(), jjm.RollbackKeep)},
				{0, submitBack("c", wrongInput(), jjm.RollbackKeep)},
				{time.Hour, writeInput("cards")},
				{time.Hour, submitKept("b")},
				{2 * time.Hour, removeOf("c")},
				{3 * time.Hour, nothing},
			},
			wants: map[string]want{"b": done(3)},
			also:  gone("a c", "b"),
			only:  []string{"roll-back", "kept-submit", "collect", "remove"},
		},
		"a dataset is removed, and made again": {
			chunk: 2,
			actions: []action{
				{0, addFiles("raw", 0, 8)},
				{10 * time.Second, markFile("raw", lfn(2))},
				{20 * time.Second, removeDataset("raw")},
				{10 * time.Minute, addFiles("raw", 0, 3)},
				{11 * time.Minute, submitAs("a", fileJob("", "name = \"raw\"\n"))},
				{20 * time.Minute, closeDataset("raw")},
			},
			wants: map[string]want{"a": {status: jjm.Done, gram: jjm.GRAMDone, jobs: -1}},
			also: func(s *stage) {
				s.readsOnce("a", 3)
				s.verifyCleared()
			},
			only: []string{"dataset-remove"},
		},
		"a refused local job stops the others": {
			sim: adaptertest.SimConfig{MaxBulk: 1}, chunk: 2,
			faults: append([]adaptertest.Fault{adaptertest.Accept},
				slices.Repeat([]adaptertest.Fault{adaptertest.Refuse}, 20)...),
			actions: []action{{0, submitAs("a", plain(6))}},
			wants:   map[string]want{"a": ends(jjm.Finished, 6, map[int32]jjm.State{0: jjm.Completed, 1: jjm.New, 5: jjm.New})},
			only:    []string{"refuse", "withhold"},
		},
		"a grid job is kept after a refusal": {
			sim: adaptertest.SimConfig{MaxBulk: 1}, chunk: 2,
			faults: []adaptertest.Fault{adaptertest.Refuse},
			actions: []action{
				{0, submitBack("a", plain(5), jjm.RollbackKeep)},
				{time.Hour, submitKept("a")},
				{2 * time.Hour, nothing},
			},
			wants: map[string]want{"a": ends(jjm.Done, 5, nil)},
			only:  []string{"refuse", "withhold", "roll-back", "kept-submit"},
		},
		"a refused bulk": {
			sim:     adaptertest.SimConfig{MaxBulk: 2},
			faults:  []adaptertest.Fault{adaptertest.Accept, adaptertest.Refuse, adaptertest.Deny},
			actions: []action{{0, submitAs("a", mc(8))}},
			wants:   map[string]want{"a": ends(jjm.Finished, 8, nil)},
		},
		"a doubled submission, the first of which shows late": {
			sim: adaptertest.SimConfig{Slots: 3, Wait: 20 * time.Second, Life: 2 * time.Minute}, play: unlucky, miss: 1,
			faults:  []adaptertest.Fault{adaptertest.LoseReply},
			hidden:  func(job adaptertest.SimJob) bool { return job.Bulk == "sim1" },
			actions: []action{{0, submitAs("a", mc(6))}},
			wants:   map[string]want{"a": done(6)},
		},
	}
	maps.Copy(all, resplitScenarios())
	return all
}

// begin prepares the faults of a scenario in a world, and returns its stage.
func (sc scenario) begin(w *world) *stage {
	w.sim.OnSubmit(sc.faults...)
	w.adapter.miss.set(sc.miss)
	if sc.hidden != nil {
		w.sim.Lie(40, sc.hidden)
	}
	return &stage{world: w, ids: map[string]jjm.GridID{}}
}

// run plays a scenario to its end, and starts a new daemon whenever the daemon has died.
func (s *stage) run(sc scenario) {
	s.t.Helper()
	start := time.Now()
	actions := sc.actions
	ids := func() []jjm.GridID { return slices.Collect(maps.Values(s.ids)) }
	for {
		s.pass(max(2*time.Second, time.Since(start)/200))
		if s.crash.isDead() {
			s.pass(s.crash.downtime)
			s.reopen()
		}
		// provoked: pass, above, moves the bubble's clock
		for len(actions) > 0 && time.Since(start) >= actions[0].at {
			if err := actions[0].do(s); err != nil {
				if !s.crash.isDead() && !s.later(err) {
					s.t.Errorf("action after %v: %v", actions[0].at, err)
				}
				break
			}
			actions = actions[1:]
		}
		if len(actions) == 0 && !s.crash.isDead() && s.allFinal(ids()) && s.archived(ids()...) {
			return
		}
		if time.Since(start) > 24*time.Hour { // provoked: by pass, on the bubble's clock
			for key, id := range s.ids {
				s.t.Logf("%s: %s", key, s.describe(id))
			}
			s.t.Fatal("not over after a day")
		}
	}
}

// later reports whether an action failed only because the daemon is busy after a crash. The next round repeats such an
// action.
func (s *stage) later(err error) bool { return s.crash.fired && jjm.KindOf(err) == jjm.Busy }

// check verifies that the grid jobs have ended as the scenario expects.
func (s *stage) check(sc scenario) {
	s.t.Helper()
	if s.crash.isDead() {
		s.reopen()
	}
	for key, want := range sc.wants {
		s.verify(s.ids[key], want)
	}
	s.verifyQuiet()
	if sc.also != nil {
		sc.also(s)
	}
}

// failpoints returns the names of all failpoints, as found in the source of the engine. A failpoint is a named place in
// the code at which a test can make the daemon die.
func failpoints(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*/*.go") // the packages of the engine
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, src, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				for _, name := range failpointsOf(call) {
					names[name] = true
				}
			}
			return true
		})
	}
	return slices.Sorted(maps.Keys(names))
}

// failpointsOf returns the failpoints that a call of Crash or Change names; nil if the call is of another function.
func failpointsOf(call *ast.CallExpr) []string {
	fn, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	literal := func(i int) string {
		if i >= len(call.Args) {
			return ""
		}
		lit, ok := call.Args[i].(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return ""
		}
		s, _ := strconv.Unquote(lit.Value)
		return s
	}
	if name := literal(0); fn.Sel.Name == "Crash" && name != "" {
		return []string{name}
	}
	if name := literal(1); fn.Sel.Name == "Change" && name != "" {
		return []string{name + ".before-commit", name + ".after-commit"}
	}
	return nil
}

// passages runs every scenario without a crash, and returns how often each scenario passes each failpoint: the counts
// by failpoint and by scenario.
func passages(t *testing.T) map[string]map[string]int {
	counts := map[string]map[string]int{}
	var mu sync.Mutex
	t.Run("whole", func(t *testing.T) {
		for name, sc := range scenarios() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := &crasher{}
				inWorld(t, sc.options(c), func(t *testing.T, w *world) {
					s := sc.begin(w)
					s.run(sc)
					s.check(sc)
				})
				mu.Lock()
				defer mu.Unlock()
				for point, n := range c.seen {
					if !sc.concerns(point) {
						continue
					}
					if counts[point] == nil {
						counts[point] = map[string]int{}
					}
					counts[point][name] = n
				}
			})
		}
	})
	return counts
}

// firstPassages returns the scenarios in which the daemon dies at the first passage of the i-th failpoint: all
// scenarios that name the failpoint in only, and one of the others, a different one for each failpoint. In the whole
// campaign it returns all scenarios.
func firstPassages(counts map[string]int, all map[string]scenario, i int) map[string]bool {
	first := map[string]bool{}
	var others []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if whole() || all[name].only != nil {
			first[name] = true
		} else {
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		first[others[i%len(others)]] = true
	}
	return first
}

// laterPassages returns the scenarios in which the daemon also dies at a later passage of the i-th failpoint. For every
// second failpoint it returns one of the scenarios that pass the failpoint at least three times, a different one for
// each failpoint. In the whole campaign it returns all of these scenarios.
func laterPassages(counts map[string]int, i int) map[string]bool {
	var often []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if counts[name] >= 3 {
			often = append(often, name)
		}
	}
	later := map[string]bool{}
	for k, name := range often {
		later[name] = whole() || i%2 == 0 && k == (i+len(often)/2)%len(often)
	}
	return later
}

func TestCrash_AtEveryFailpointNothingIsLostOrDoubled(t *testing.T) {
	t.Parallel()
	counts := passages(t)
	all := scenarios()
	for i, point := range failpoints(t) {
		if len(counts[point]) == 0 {
			t.Errorf("no scenario passes the failpoint %s", point)
		}
		if i%5 != 0 && !whole() { // every fifth point, so that points before and after commits alternate
			continue
		}
		for nth, chosen := range map[int]map[string]bool{
			1: firstPassages(counts[point], all, i),
			3: laterPassages(counts[point], i),
		} {
			for name, is := range chosen {
				if is {
					crashAt(t, name, all[name], point, nth)
				}
			}
		}
	}
}

// crashAt runs a scenario in which the daemon dies at the nth passage of a failpoint.
func crashAt(t *testing.T, name string, sc scenario, point string, nth int) {
	t.Run(fmt.Sprintf("%s/%d in %s", point, nth, name), func(t *testing.T) {
		t.Parallel()
		c := &crasher{point: point, nth: nth, downtime: time.Duration(nth-1) * 5 * time.Minute}
		inWorld(t, sc.options(c), func(t *testing.T, w *world) {
			s := sc.begin(w)
			s.run(sc)
			s.check(sc)
			if !c.fired && nth == 1 {
				t.Error("the failpoint was not passed this time")
			}
		})
	})
}
