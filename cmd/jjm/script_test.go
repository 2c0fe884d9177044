package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"jjm/internal/api/server"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/programs"
	"jjm/internal/testkit/servertest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"jjm": func() { os.Exit(runRecorded()) },
		// jjm-daemon is in the same folder as jjm. This fake daemon prints its arguments.
		"jjm-daemon": func() {
			fmt.Println(strings.Join(os.Args, "|"))
			os.Exit(9)
		},
	})
}

// bed holds the server of one script, and the fake service behind it.
type bed struct {
	fake   *servertest.Fake
	site   *bedSite
	server *servertest.Server
	mu     sync.Mutex
	asked  map[string]int // the number of requests by verb; for wait, the number of states that were read
}

type bedKey struct{}

// TestScripts runs testdata/script against a real server in front of a fake service. JJM_UPDATE=1 rewrites the expected
// texts.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		UpdateScripts:       os.Getenv("JJM_UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			b := &bed{fake: servertest.New(), asked: make(map[string]int)}
			b.fake.Version, b.fake.Poll = "7.7", 5*time.Millisecond
			b.site = newBedSite(b.fake)
			b.fake.Hook = func(_ context.Context, verb string) error {
				b.mu.Lock()
				defer b.mu.Unlock()
				b.asked[verb]++
				return nil
			}
			tb := env.T().(testing.TB)
			b.server = servertest.Serve(tb, b.site.verbs(), server.Config{Version: b.fake.Version}, nil)
			env.Vars = append(env.Vars, "JJM_SOCKET="+b.server.Socket, "TZ=UTC",
				"JJM_STATE="+filepath.Join(env.WorkDir, "state"))
			env.Values[bedKey{}] = b
			return recordOutput(env, tb)
		},
		Condition: exists,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "job": putJob, "server": serverCmd, "asked": asked, "repeat": repeat, "pty": pty,
			"screen": screenCmd, "unfinished": programs.Unfinished,
		},
	})
}

func jobTypesOfBed() []wire.JobType {
	return []wire.JobType{
		{Type: "montecarlo", Summary: "Simulate events", Result: "glf",
			Example: "type = \"montecarlo\"\n[params]\nevents = 1000\n",
			Params: []wire.JobParam{
				{Name: "events", Type: "int", Unit: "events", Required: true, Help: "How many to make."},
				{Name: "cpu_per_event", Type: "float", Unit: "s", Help: "CPU per event."}}},
		{Type: "script", Summary: "Run any command", Result: "exit"},
	}
}

func clustersOfBed() []wire.Cluster {
	return []wire.Cluster{
		{Name: "farm", Kind: "slurm", Healthy: false, Cause: "squeue: Socket timed out\x1b[2J", Guarantee: "find by tag",
			Slots: 0, Queued: 7, Running: 3, LastSeen: 1700000000000,
			Since: 1700000010000, Listing: jjm.Duration(2500 * time.Millisecond), Interval: jjm.Duration(25 * time.Second),
			Commands: 37, Ceiling: 300,
			Breaker: &wire.Breaker{State: "open", Since: 1700000010000, Cause: "slurmctld is DOWN", NextProbe: 1700000100000},
			Remedy:  "scontrol ping shows whether it runs",
			Accounting: &wire.Breaker{State: "open", Since: 1700000015000, Cause: "sacct: Connection refused",
				NextProbe: 1700000075000},
			Trouble: []string{"missing from the listings of farm since 2023-11-14 22:00 UTC: 3 local jobs: 17.1, 17.2, 17.5"}},
		{Name: "local", Kind: "local", Healthy: true, Guarantee: "exactly once", Slots: 2, Waiting: 5, Running: 2,
			LastSeen: 1700000060000, Commands: 4,
			Storages: []string{"here", "tape"}},
	}
}

func adOfBed() wire.Advertised {
	return wire.Advertised{Site: "T2", Instance: "jabc", State: "open", Ad: "Name = \"T2\"\nEvil = \"\x1b[2J\"\n",
		GLUE: json.RawMessage(`{"ComputingService":[{"ID":"urn:x","TotalJobs":3}]}`), AsOf: 1700000000000,
		Collectors: []wire.AdCollector{
			{Collector: "good:9618", Site: "T2", State: wire.AdPublished, There: true, Sent: 1700000000000, Seen: 1700000001000,
				Expires: 1700000900000, Next: 1700000120000, Lost: 2, LostAt: 1690000000000},
			{Collector: "bad:9618", Site: "old", State: wire.AdFailing, There: true, Sent: 1690000000000, Trying: 1700000000000,
				Error: "connection refused\x1b[2J", Since: 1699999000000},
		}}
}

func bedOf(ts *testscript.TestScript) *bed { return ts.Value(bedKey{}).(*bed) }

// exits is the script command "exits CODE COMMAND...": it runs a command, which must end with the exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	if neg || err != nil || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	got := 0
	var failed *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &failed) {
		got = failed.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// putJob is the script command "job ID [KEY=VALUE]...": it creates or changes a job of the fake service.
func putJob(ts *testscript.TestScript, _ bool, args []string) {
	id, err := strconv.Atoi(args[0])
	ts.Check(err)
	site := bedOf(ts).site
	site.jobs.Change(jjm.GridID(id), func(j *servertest.Job) {
		if j.Status.Lookup.ID == 0 {
			j.UID, j.Files = os.Getuid(), map[string]string{}
			j.Status = wire.Status{Name: "mc", Type: "montecarlo", Owner: "alice", Cluster: "local", Accepted: 1700000000000}
			j.Status.Lookup = wire.Lookup{ID: jjm.GridID(id), Status: "running", GRAM: jjm.GRAMActive, Master: "running"}
		}
		for _, arg := range args[1:] {
			key, value, _ := strings.Cut(arg, "=")
			site.setJob(ts, j, key, value)
		}
	})
}

func (b *bedSite) setJob(ts *testscript.TestScript, j *servertest.Job, key, value string) {
	l := &j.Status.Lookup
	n, _ := strconv.Atoi(value)
	numbers := map[string]*int{"uid": &j.UID, "expected": &l.Counts.Expected, "total": &l.Counts.Total,
		"running":   &l.Counts.Running,
		"completed": &l.Counts.Completed, "failed": &l.Counts.Failed, "code": &l.Code, "exit": &l.Exit}
	texts := map[string]*string{"status": &l.Status, "message": &l.Message, "tarpath": &l.Tar, "name": &j.Status.Name,
		"sha256": &j.SHA256, "owner": &j.Status.Owner}
	file, isFile := strings.CutPrefix(key, "file:")
	switch {
	case numbers[key] != nil:
		*numbers[key] = n
	case texts[key] != nil:
		*texts[key] = unquote(value)
	case isFile:
		j.Files[file] = ts.ReadFile(value)
	case key == "gram":
		l.GRAM = jjm.GRAM(n)
	case key == "live":
		j.Live = value == "true"
	case key == "tar":
		j.Tar = []byte(ts.ReadFile(value))
	case key == "phase":
		p := jjm.Progress{}
		_, _ = fmt.Sscanf(value, "%s %d %d", &p.Phase, &p.Done, &p.Total)
		j.Status.Phases = []jjm.Progress{p}
	case key == "log":
		j.Log = strings.Split(strings.TrimSuffix(ts.ReadFile(value), "\n"), "\n")
	case key == "record":
		j.Record = strings.Split(strings.TrimSuffix(ts.ReadFile(value), "\n"), "\n")
	case key == "verified":
		var v wire.Verified
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(value)), &v))
		b.verified[l.ID] = v
	case key == "locals":
		for i := range n {
			j.Locals = append(j.Locals, localOfBed(l.ID, int32(i)))
		}
	case key == "steps": // the last local job is a merge
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(value)), &j.Status.Steps))
		j.Locals[len(j.Locals)-1].Step = jjm.StepMerge
	case key == "warnings":
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(value)), &j.Status.Warnings))
	case key == "causes":
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(value)), &j.Status.Causes))
	case key == "detail":
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(value)), &j.Status.Detail))
	case key == "held":
		holdOfBed(j, n)
	case key == "history":
		b.history[l.ID] = historyOfBed(l.ID)
	default:
		ts.Fatalf("job: unknown key %s", key)
	}
}

// unquote replaces \x1b and other escapes by their characters.
func unquote(s string) string {
	if u, err := strconv.Unquote(`"` + s + `"`); err == nil {
		return u
	}
	return s
}

func localOfBed(grid jjm.GridID, n int32) jjm.LocalJob {
	l := jjm.LocalJob{ID: jjm.LocalID{Grid: grid, N: n}, State: jjm.Running, Exit: -1, BatchID: "b-" + fmt.Sprint(n),
		Host: "node1",
		Part: jjm.Part{Unit: "event", First: int64(n) * 250, Count: 250}, Submitted: 1700000001000, Started: 1700000002000,
		Progress: jjm.Progress{Phase: "simulate", Done: 117, Total: 250}}
	if n == 1 {
		l.State, l.Phase, l.Exit, l.Ended, l.Message, l.Progress = jjm.Failed, jjm.ByApp, 3, 1700000003000,
			"exit code 3\nline two", jjm.Progress{}
		l.Counters.LateUnhandled = 1
	}
	return l
}

// holdOfBed makes three local jobs held, from number n on: the first by the batch system, the second by an operator,
// and the third by the application.
func holdOfBed(j *servertest.Job, n int) {
	for i, h := range []jjm.Holding{
		{By: jjm.HeldBatchSystem, Code: "13/2", Text: "no such\x1b[31m file", Since: 1700000000000,
			Age: jjm.Duration(7384 * time.Second), Releases: 1, Trouble: "Permission denied"},
		{By: jjm.HeldOperator, Code: "JobHeldAdmin", Text: "JobHeldAdmin", Since: 1700000000000, Action: jjm.HoldRelease},
		{By: jjm.HeldApplication, Text: "application says HOLD: look at me", Since: 1700000000000},
	} {
		l := &j.Locals[n+i]
		l.State, l.Phase, l.Holding, l.Progress, l.Host, l.Started = jjm.Submitted, jjm.BatchHeld, &h, jjm.Progress{}, "", 0
		l.Waits = &jjm.Waiting{Reason: h.Text, Hold: h.Code, At: 1700000000000}
		if h.By == jjm.HeldApplication {
			l.State, l.Phase, l.Waits = jjm.Held, jjm.HeldByApp, nil
		}
		j.Status.Holds = append(j.Status.Holds,
			wire.Hold{By: h.By, Code: h.Code, Text: h.Text, Jobs: i + 1, First: l.ID.String()})
	}
}

func historyOfBed(grid jjm.GridID) []jjm.JournalEntry {
	return []jjm.JournalEntry{
		{Seq: 1, Time: 1700000000000, Grid: grid, First: -1, To: "registered", Source: "accept", Actor: "alice"},
		{Seq: 2, Time: 1700000001000, Grid: grid, First: 0, Last: 9, From: "new", To: "submitted", Source: "submit"},
		{Seq: 3, Time: 1700000002000, Grid: grid, First: 3, Last: 3, From: "running", To: "failed", Source: "watch",
			Cause: "exit code 3"},
	}
}

// serverCmd is the script command "server stop|start".
func serverCmd(ts *testscript.TestScript, _ bool, args []string) {
	if args[0] == "stop" {
		bedOf(ts).server.Stop()
	} else {
		bedOf(ts).server.Start()
	}
}

// asked is the script command "asked VERB N": it waits until the fake service has received N requests of the verb.
func asked(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	b := bedOf(ts)
	count := func() int {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.asked[args[0]]
	}
	for end := time.Now().Add(await.Guard(4 * time.Minute)); count() < want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			ts.Fatalf("%s was asked %d times, want %d", args[0], count(), want)
		}
	}
}

// repeat is the script command "repeat FILE N TEXT": it writes TEXT N times.
func repeat(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat(unquote(args[2]), n)), 0o600))
}

// exists is the condition "exists:PATH" of scripts.
func exists(cond string) (bool, error) {
	path, ok := strings.CutPrefix(cond, "exists:")
	if !ok {
		return false, fmt.Errorf("unknown condition %q", cond)
	}
	_, err := os.Stat(path)
	return err == nil, nil
}
