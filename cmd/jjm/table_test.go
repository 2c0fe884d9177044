package main

import (
	"bufio"
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // a machine may have no database of time zones
	"unicode/utf8"

	"pgregory.net/rapid"

	"jjm/internal/api/wire"
	"jjm/internal/gatekeeper/trace"
	"jjm/internal/jjm"
	"jjm/internal/publish/report"
	"jjm/internal/testkit/said"
)

// printers returns a function for each table of the program that prints this table. In the table, long stands in place
// of texts that other people choose, and n in place of numbers.
func printers(long string, n int) map[string]func(*cli) error {
	id := jjm.LocalID{Grid: jjm.GridID(n) * 10_000, N: int32(n)}
	at := jjm.Time(1700000000000)
	l := jjm.LocalJob{ID: id, State: jjm.Submitting, Phase: jjm.RetryWait, Attempt: int32(n), Cluster: long, BatchID: long,
		Host: long, Submitted: at, Started: at, Ended: at, Exit: 139, Message: long,
		Progress: jjm.Progress{Phase: long, Done: int64(n), Total: int64(n)}}
	counts := wire.Counts{Expected: n, Total: n, Completed: n, Running: n, Failed: n}
	st := wire.Status{Lookup: wire.Lookup{ID: id.Grid, Status: "registered", Message: long, Counts: counts,
		Tar: "/" + long},
		Name: long, Type: long, Owner: long, Key: long, Accepted: at, Cluster: long, Clusters: []string{long, long},
		Why: []string{long}, Holds: []wire.Hold{{By: jjm.HeldApplication, Text: long, Jobs: n, First: "1.0"}}, Waits: long,
		Steps: []wire.Step{{Name: long, Done: n, Counts: counts}, {Name: long, Done: n, Counts: counts}}}
	entry := jjm.JournalEntry{Time: at, Grid: id.Grid, First: id.N, Last: id.N, From: "submitting/retry-wait",
		To: "failed/createfailed", Cause: long, Actor: long}
	return map[string]func(*cli) error{
		"collectorTable": func(c *cli) error {
			return c.collectorTable([]wire.AdCollector{{Collector: long, State: "published", Sent: at, Seen: at, Expires: at,
				Next: at, Trying: at, Lost: n}})
		},
		"excludedTable": func(c *cli) error {
			return c.excludedTable([]jjm.Exclusion{{Cluster: "slurm", Host: long, By: long, Reason: long, Since: at, Until: at}})
		},
		"banTable": func(c *cli) error {
			return c.banTable([]jjm.Ban{{Kind: jjm.BanDN, Name: long, By: long, Reason: long, Since: at, Account: &n}})
		},
		"orderTable": func(c *cli) error {
			return c.orderTable([]jjm.Order{{Verb: jjm.OrderPause, Kind: jjm.OrderCluster, Name: long, By: long, Reason: long,
				Since: at}})
		},
		"clusterTable": func(c *cli) error {
			return c.clusterTable([]wire.Cluster{{Name: long, Kind: long, Slots: n, Waiting: n, Queued: n, Running: n,
				Listing: jjm.Duration(95 * time.Second), Interval: jjm.Duration(95 * time.Second), Commands: n, Ceiling: n,
				LastSeen: at, Healthy: true}})
		},
		"datasetTable": func(c *cli) error {
			return c.datasetTable([]wire.DatasetState{{Name: long, UID: n, Files: int64(n), Events: int64(n) * 1000,
				Bytes: int64(n) * 1_000_000, Closed: at, Container: long}})
		},
		"filesTable": func(c *cli) error {
			reader := wire.FileReader{Grid: jjm.GridID(n), State: "finished"}
			return c.filesTable(long, []wire.DatasetFile{{File: jjm.File{LFN: long, Events: int64(n) * 1000,
				Size: int64(n) * 1_000_000}, State: "missing", Reason: long,
				Readers: []wire.FileReader{reader, reader, reader, reader}}})
		},
		"fileTable": func(c *cli) error {
			return c.fileTable([]jjm.JobFile{{Name: shorten(long, 60), From: jjm.FromWork, Bytes: int64(n) * 1e9, Modified: at}})
		},
		"outputTable": func(c *cli) error {
			return c.outputTable([]wire.OutputFile{{Name: shorten(long, 60), Bytes: int64(n) * 1e9}})
		},
		"attemptTable": func(c *cli) error {
			return c.attemptTable([]wire.Attempt{{Batch: long, Host: long, Started: at, Ended: at, Exit: n,
				Used:    &jjm.Usage{WallMS: int64(n) * 1e6, UserMS: int64(n) * 1e6, MaxRSSKB: int64(n) << 10},
				Verdict: &jjm.Verdict{Level: "APPLICATION", Class: "LATE_UNHANDLED", Action: jjm.Retry, Text: long}}})
		},
		"ruleTable": func(c *cli) error {
			return c.ruleTable([]wire.RuleSays{{Rule: "exit-code", Origin: "type " + long, Do: "increase_memory_xtimes",
				Unmet: long}})
		},
		"printExplained": func(c *cli) error {
			return c.printExplained(&wire.Explained{Local: "1.0", Attempt: wire.Attempt{Evidence: &wire.Evidence{Batch: "OK",
				Reason: long}, Verdict: &jjm.Verdict{Level: "EXIT", Action: jjm.Fail, Text: long}},
				Rules: []wire.RuleSays{{Rule: "quota", Origin: "site", Do: "hold", Unmet: long}}})
		},
		"historyTable": func(c *cli) error { return c.historyTable([]jjm.JournalEntry{entry}) },
		"modelTable": func(c *cli) error {
			return c.modelTable([]wire.Model{{Name: "zmumu", Type: "montecarlo", File: "/" + long}})
		},
		"jobTypeTable": func(c *cli) error {
			return c.jobTypeTable([]wire.JobType{{Type: "script", Result: "exit", Summary: long}})
		},
		"printJobType": func(c *cli) error {
			return c.printJobType(wire.JobType{Type: "script", Summary: long, Result: "exit",
				Params: []wire.JobParam{{Name: "events", Type: "int", Help: long}}})
		},
		"listTable": func(c *cli) error { return c.listTable([]wire.Status{st}) },
		"columnTable": func(c *cli) error {
			cols, err := columnsNamed(usualColumns + ",key,cause")
			if err != nil {
				return err
			}
			return c.columnTable(cols, []wire.Status{st})
		},
		"traceTable": func(c *cli) error {
			attempt := int32(n)
			return c.traceTable([]wire.Trace{{ID: l.ID.String(), Attempt: &attempt, User: long, State: "failed/application",
				Host: long, Started: at, Ended: at, Why: long}})
		},
		"localTable": func(c *cli) error { return c.localTable([]jjm.LocalJob{l}, true) },
		"planTable": func(c *cli) error {
			return c.planTable([]jjm.Part{{Unit: "event", First: int64(n), Count: int64(n), Args: []string{long}}},
				[][]string{{long, long}})
		},
		"printChecks": func(c *cli) error {
			return c.printChecks([]wire.HealthCheck{{State: "CRITICAL", Name: "fragments", Text: long, Detail: long, Since: at,
				Remedy: long}})
		},
		"printWhy": func(c *cli) error {
			cause := wire.Cause{Code: "held-by-batch-system", Text: long, Since: at, Until: at, Remedy: long, Jobs: n,
				First: "1.0"}
			return c.printWhy(id.String(), wire.Why{Status: "registered", Grid: &cause, Unfinished: n, Total: n,
				Causes: []wire.Cause{cause, cause}, LeftOut: n})
		},
		"printPage": func(c *cli) error {
			retried := jjm.LocalJob{ID: id, Attempt: 1, Host: long, Started: at, Ended: at + jjm.Time(n)*1e6}
			d := &report.Data{Status: st, Locals: slices.Repeat([]jjm.LocalJob{retried}, 6000), Now: at,
				Changes: []jjm.JournalEntry{entry}}
			none := func(*jjm.LocalJob) ([]wire.Attempt, error) { return nil, nil }
			if err := d.SetAttempts(none); err != nil { // the report leaves out some attempts, and says how many
				return err
			}
			return c.printPage(d)
		},
		"printHop": func(c *cli) error {
			return c.printHop(trace.Hop{At: at, Name: trace.Cluster, Fault: &trace.Fault{Tried: long, On: "/" + long, Text: long,
				Remedy: long}})
		},
		"printGrid": func(c *cli) error { return c.printGrid(st, map[string][]string{"1.0": {long}}) },
		"printLocal": func(c *cli) error {
			return c.printLocal(l, &wire.LocalDetail{Folder: "/" + long, Used: &jjm.Usage{}, UsedByAll: &jjm.Usage{},
				Evidence: &wire.Evidence{Batch: "FAILED", Reason: long},
				Verdict:  &jjm.Verdict{Level: "EXIT", Action: jjm.Fail, Text: long}}, true,
				map[string][]string{"1.0": {long}})
		},
	}
}

// Whatever names people choose, no line of a table is too long, and no id in a table is cut.
func TestTables_FitTheirLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.StringMatching(`[a-zä日/._=-]{1,60}( [a-z]{1,9}){0,25}`).Draw(t, "text")
		n := rapid.IntRange(1, 99_999).Draw(t, "n")
		for name, print := range printers(words, n) {
			var out bytes.Buffer
			c := &cli{out: bufio.NewWriter(&out)}
			if err := print(c); err != nil || c.out.Flush() != nil {
				t.Fatal(name, err)
			}
			longest := 0
			for _, word := range strings.Fields(out.String()) {
				longest = max(longest, utf8.RuneCountInString(word))
			}
			for i, line := range strings.Split(out.String(), "\n") {
				title := i == 0 && (strings.HasPrefix(name, "print")) // a title line above a list
				if n := utf8.RuneCountInString(line); n > maxColumns && !title && longest < 90 {
					t.Fatalf("%s: %d columns: %s", name, n, line)
				}
			}
			if strings.HasSuffix(name, "localTable") && !strings.Contains(out.String(), jjm.LocalID{Grid: jjm.GridID(n) * 10_000,
				N: int32(n)}.String()+" ") {
				t.Fatalf("the id is cut:\n%s", out.String())
			}
		}
	})
}

// The list of printers contains every function of the program that prints a table, so TestTables_FitTheirLines tests
// all of them.
func TestTables_AreAllHeldToThat(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	known := printers("x", 1)
	var found []string
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || file == "table.go" {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && writesTable(f) {
				found = append(found, f.Name.Name)
			}
		}
	}
	slices.Sort(found)
	if want := slices.Sorted(maps.Keys(known)); !slices.Equal(found, want) {
		t.Errorf("tables are written by %q; held to their length are %q", found, want)
	}
}

func writesTable(f *ast.FuncDecl) (does bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok {
				switch sel.Sel.Name {
				case "table", "wholeTable", "manual", "facts", "aligned":
					does = true
				}
			}
		}
		return true
	})
	return does
}

func TestFit_CutsTheWidestOfWhatMayBeCut(t *testing.T) {
	long := strings.Repeat("n", 100)
	rows := fit([][]string{{"ID", "NAME", "WHY"}, {"17", long, "short"}, {"18", "x", strings.Repeat("y", 50)}},
		[]string{"NAME", "WHY"})
	if got := rows[1][1]; utf8.RuneCountInString(got) != 64 || !strings.HasSuffix(got, "n…") {
		t.Errorf("the name is %q", got)
	}
	if rows[2][2] != strings.Repeat("y", 50) || rows[1][0] != "17" {
		t.Errorf("%q", rows)
	}
	whole := fit([][]string{{"A"}, {strings.Repeat("a", 200)}}, nil)
	if len(whole[1][0]) != 200 {
		t.Error("a column that may not be cut is cut")
	}
}

func TestWrap_KeepsWordsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z]{1,30}( [a-z]{1,30}){0,20}`).Draw(t, "text")
		lines := wrap(text, 40)
		if strings.Join(lines, " ") != text {
			t.Fatalf("%q", lines)
		}
		for _, line := range lines {
			if len(line) > 40 {
				t.Fatalf("%q", line)
			}
		}
	})
}

// The tables follow the rules for texts that people read.
func TestTables_ArePlain(t *testing.T) {
	for name, print := range printers("text of people", 7) {
		var out bytes.Buffer
		c := &cli{out: bufio.NewWriter(&out)}
		if err := print(c); err != nil || c.out.Flush() != nil {
			t.Fatal(name, err)
		}
		for _, wrong := range said.Wrong(out.String()) {
			t.Errorf("%s: %s", name, wrong)
		}
	}
}

func TestShorten_EndsAfterAWord(t *testing.T) {
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"exit code 3 after 2 s on node117", 27, "exit code 3 after 2 s…"},
		{"exit code 3 after 2 s on node117", 32, "exit code 3 after 2 s on node117"},
		{"exit code 3 after 2 s", 15, "exit code 3…"},
		{"wants the file: it is gone", 17, "wants the file…"},
		{"/data/run7/raw.root", 10, "/data/run…"},
		{"a /data/run7/raw.root", 12, "a /data/run…"},
		{"word", 1, "…"},
	} {
		if got := shorten(c.text, c.n); got != c.want {
			t.Errorf("%q in %d: %q, want %q", c.text, c.n, got, c.want)
		}
	}
}
