package slurm

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

func recorded(t testing.TB, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// transcripts returns recorded commands with their output. A recording has "$ COMMAND", a comment with the exit code,
// standard output, and standard error.
func transcripts(t *testing.T, name string) map[string]run.Output {
	t.Helper()
	all := map[string]run.Output{}
	for part := range strings.SplitSeq("\n"+recorded(t, name), "\n$ ") {
		command, rest, _ := strings.Cut(part, "\n")
		comment, rest, ok := strings.Cut(rest, "\n--- stdout\n")
		if !ok {
			continue
		}
		stdout, rest, _ := strings.Cut(rest, "--- stderr\n")
		stderr, _, _ := strings.Cut(rest, "=== end")
		_, exit, _ := strings.Cut(comment, "exit: ")
		word, _, _ := strings.Cut(exit, " ")
		n, err := strconv.Atoi(word)
		if err != nil {
			t.Fatalf("%s: %s", command, comment)
		}
		all[command] = run.Output{Stdout: []byte(stdout), Stderr: []byte(stderr), Exit: n}
	}
	return all
}

func TestReceipt_RecordedAnswers(t *testing.T) {
	ok := transcripts(t, "sbatch.txt")
	trouble := transcripts(t, "sbatch-trouble.txt")
	tests := []struct {
		from    map[string]run.Output
		command string
		id      string
		kind    jjm.Kind
	}{
		{ok, "sbatch --parsable ok.sh", "2904", 0},
		{ok, "sbatch --parsable --array=0-3 ok.sh", "2905", 0},
		{ok, "sbatch ok.sh", "", jjm.Ambiguous}, // an id within a sentence is not taken
		{ok, "sbatch -Q ok.sh", "", jjm.Ambiguous},
		{ok, "sbatch -p nosuch ok.sh", "", jjm.Invalid},
		{ok, "sbatch empty.sh", "", jjm.Invalid},
		{ok, "sbatch noshebang.sh", "", jjm.Invalid},
		{ok, "sbatch crlf.sh", "", jjm.Invalid},
		{ok, "sbatch -t banana ok.sh", "", jjm.Invalid},
		{ok, "sbatch -p priv ok.sh", "", jjm.Denied},
		{ok, "sbatch -p drain ok.sh", "", jjm.Busy},
		{ok, "sbatch --mem=999G ok.sh", "", jjm.Invalid},
		{ok, "sbatch -C gpu ok.sh", "", jjm.Invalid},
		{ok, "sbatch --gres=gpu:1 ok.sh", "", jjm.Invalid},
		{ok, "sbatch --nosuchoption ok.sh", "", jjm.Invalid},
		{ok, "sbatch --array=0-999999 ok.sh", "", jjm.Invalid},
		{ok, "sbatch --mem=lots ok.sh", "", jjm.Invalid},
		{ok, "sbatch --begin=yesterdayish ok.sh", "", jjm.Invalid},
		{ok, "sbatch --uid=bob ok.sh", "", jjm.Invalid},
		{ok, "SLURM_CONF=/nonexistent sbatch ok.sh", "", jjm.Busy},
		{ok, "sbatch --reservation=nosuch ok.sh", "", jjm.Invalid},
		{ok, "sbatch --deadline=2020-01-01 ok.sh", "", jjm.Invalid},
		{trouble, "time sbatch ok.sh", "", jjm.Busy}, // the controller is down
		{trouble, "sbatch --parsable -J jjm-tag-T1 --comment=jjm:T1 -o /dev/null --wrap true", "", jjm.Ambiguous},
		{trouble, "sbatch --parsable ok.sh", "", jjm.Busy}, // munge is down
		{trouble, "sbatch -A nosuch ok.sh", "", jjm.Denied},
		{trouble, "sbatch -q nosuchqos ok.sh", "", jjm.Invalid},
		{trouble, "sbatch -c 9999 ok.sh", "", jjm.Invalid},
		{trouble, "sbatch -N 50 ok.sh", "", jjm.Invalid},
		{trouble, "sbatch --parsable -A cms --array=0-9 ok.sh", "", jjm.Busy}, // AssocMaxSubmitJobLimit
	}
	for _, tt := range tests {
		out, found := tt.from[tt.command]
		if !found {
			t.Errorf("no recording of %q", tt.command)
			continue
		}
		r, err := receipt(out, 1)
		if r.ID != tt.id || jjm.KindOf(err) != tt.kind || (err == nil) != (tt.kind == 0) {
			t.Errorf("%s: id %q, error %v of kind %v, want %v", tt.command, r.ID, err, jjm.KindOf(err), tt.kind)
		}
	}
}

func TestReceipt_OddAnswers(t *testing.T) {
	tests := []struct {
		name string
		out  run.Output
		id   string
		kind jjm.Kind
	}{
		{"a federation", run.Output{Stdout: []byte("42;east\n")}, "42", 0},
		{"a warning beside it", run.Output{Stdout: []byte("42\n"), Stderr: []byte("sbatch: use less\n")}, "42", 0},
		{"cut", run.Output{Stdout: []byte("42")}, "", jjm.Ambiguous},
		{"a banner", run.Output{Stdout: []byte("Welcome\n42\n")}, "", jjm.Ambiguous},
		{"nothing", run.Output{}, "", jjm.Ambiguous},
		{"an id and a failure", run.Output{Stdout: []byte("42\n"), Exit: 1}, "", jjm.Ambiguous},
		{"killed", run.Output{Exit: 137, Signal: 9}, "", jjm.Ambiguous},
		{"killed while it complained", run.Output{Exit: 137, Signal: 9, Stderr: []byte("Munge encode failed")}, "",
			jjm.Ambiguous},
		{"the answer could not be read",
			run.Output{Exit: 1, Stderr: []byte("sbatch: error: Munge decode failed: Munge encode failed")}, "", jjm.Ambiguous},
		{"unknown refusal", run.Output{Exit: 1, Stderr: []byte("Batch job submission failed: Moon not full")}, "",
			jjm.Ambiguous},
		{"unknown option trouble", run.Output{Exit: 255, Stderr: []byte("sbatch: bad thing")}, "", jjm.Invalid},
		{"the controller's own 255", run.Output{Exit: 255, Stderr: []byte("Batch job submission failed: Moon not full")}, "",
			jjm.Ambiguous},
	}
	for _, tt := range tests {
		r, err := receipt(tt.out, 1)
		if r.ID != tt.id || jjm.KindOf(err) != tt.kind || (err == nil) != (tt.kind == 0) {
			t.Errorf("%s: id %q, error %v of kind %v, want %v", tt.name, r.ID, err, jjm.KindOf(err), tt.kind)
		}
	}
}

// byName returns the reports of the recorded listing.
func byName(t *testing.T, now jjm.Time) map[jjm.Tag][]jjm.Report {
	t.Helper()
	rows, _, err := parseSqueue(recorded(t, "squeue.txt"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[jjm.Tag][]jjm.Report{}
	for _, r := range reports(rows, now, 0) {
		out[r.Tag] = append(out[r.Tag], r)
	}
	return out
}

func TestSqueue_RecordedListing(t *testing.T) {
	const now = 1795282650_000
	all := byName(t, now)
	tests := []struct {
		tag  jjm.Tag
		n    int
		want jjm.Report // the report of the job with index 0
	}{
		{"jrecok", 2, jjm.Report{State: jjm.BatchEndedOK, Host: "n1"}},
		{"jrecsig", 1, jjm.Report{State: jjm.BatchEndedFailed, Exit: 137, Signal: 9, Host: "n1",
			Reason: "JobLaunchFailure: killed by signal 9; without cgroups Slurm says the same of a job over its memory limit"}},
		{"jrecmem", 1, jjm.Report{State: jjm.BatchEndedFailed, Exit: 137, Signal: 9, Host: "n1",
			Reason: "JobLaunchFailure: killed by signal 9; without cgroups Slurm says the same of a job over its memory limit"}},
		{"jrecterm", 1, jjm.Report{State: jjm.BatchEndedFailed, Exit: 143, Signal: 15, Host: "n1",
			Reason: "JobLaunchFailure: ended by signal 15"}},
		{"jrecout", 1, jjm.Report{State: jjm.BatchEndedFailed, Exit: 181, Signal: 53, Host: "n1",
			Reason: "JobLaunchFailure: its output or folder could not be opened"}},
		{"jrectime", 1, jjm.Report{State: jjm.BatchTimeout, Host: "n1", Reason: "TimeLimit"}},
		{"jrecrun", 2, jjm.Report{State: jjm.BatchRunning, Host: "n1"}},
		{"jreccancelrun", 1, jjm.Report{State: jjm.BatchCancelled, Host: "n1"}},
		{"jreccancelpend", 3, jjm.Report{State: jjm.BatchCancelled}},
		{"jrecheldu", 3, jjm.Report{State: jjm.BatchHold, Reason: "JobHeldUser", Hold: "JobHeldUser"}},
		{"jrechelda", 1, jjm.Report{State: jjm.BatchHold, Reason: "JobHeldAdmin", Hold: "JobHeldAdmin"}},
		{"jrecbegin", 2, jjm.Report{State: jjm.BatchQueued, Reason: "BeginTime", Starts: 1795286160_000}},
		{"jrecpend", 4, jjm.Report{State: jjm.BatchQueued, Reason: "Dependency"}},
		{"jrecnoname", 2, jjm.Report{State: jjm.BatchQueued, Reason: "PartitionDown"}},
		{"jrecrequeue", 1, jjm.Report{State: jjm.BatchQueued, Reason: "BeginTime", Starts: 1795282695_000, Restarts: 1}},
		{"jreccplain", 0, jjm.Report{}}, // this job is no array, so it does not belong to jjm
	}
	for _, tt := range tests {
		got := all[tt.tag]
		if len(got) != tt.n {
			t.Errorf("%s: %d reports, want %d", tt.tag, len(got), tt.n)
		}
		if len(got) == 0 {
			continue
		}
		r := got[0]
		ran := r.State == jjm.BatchRunning || r.State.Ended() && r.Host != ""
		if r.Submitted == 0 || r.Source != "squeue" || (r.Started != 0) != ran || (r.Ended != 0) != r.State.Ended() {
			t.Errorf("%s: %+v", tt.tag, r)
		}
		r.Tag, r.ID, r.Source, r.Submitted, r.Started, r.Ended = "", "", "", 0, 0, 0
		if diff := cmp.Diff(tt.want, r); diff != "" {
			t.Errorf("%s: %s", tt.tag, diff)
		}
	}
	exits := map[int32]int{}
	for _, r := range all["jrecexit"] {
		exits[r.Index] = r.Exit
	}
	for i := range int32(11) {
		if exits[i] != int(127+i) {
			t.Errorf("job %d exited with %d, listed with %d", i, 127+i, exits[i])
		}
	}
}

func TestSqueue_AnOutputThatIsNotWholeIsAnError(t *testing.T) {
	head, line := "JOBID|ARRAY_JOB_ID|ARRAY_TASK_ID|STATE|EXIT_CODE|RESTART_COUNT|SUBMIT_TIME|START_TIME|END_TIME|EXEC_HOST|NAME|n|REASON|r|\n",
		"7|2|0|RUNNING|0|0|1795282554|1795282555|N/A|n1|jabc|n|None|r|\n"
	tests := []struct {
		name, text string
		n          int // number of jobs; -1 if the listing is an error
		unread     int
	}{
		{"nothing at all", "", -1, 0},
		{"no jobs", head, 0, 0},
		{"a job", head + line, 1, 0},
		{"no names of columns", line, -1, 0},
		{"a column was dropped", strings.Replace(head, "STATE|", "", 1) + line, -1, 0},
		{"a banner before", "Welcome\n" + head + line, -1, 0},
		{"a banner between", head + "Welcome\n" + line, 1, 1},
		{"a lost end", head + strings.Replace(line, "|r|", "|x|", 1) + line + line, 2, 1},
		{"somebody's name that looks like two records",
			head + strings.Replace(line, "jabc", "wrap|n|None\n"+strings.TrimSuffix(line, "|r|\n"), 1) + line, 1, 0},
		{"a banner after", head + line + "Bye\n", -1, 0},
		{"cut", head + line[:len(line)-8], -1, 0},
		{"cut before the line's end", head + line[:len(line)-1], -1, 0},
		{"an unknown state", head + strings.Replace(line, "RUNNING", "DREAMING", 1), 1, 0},
		{"a bad index", head + strings.Replace(line, "|0|RUN", "|-1|RUN", 1), 0, 1},
		{"a bad time", head + strings.Replace(line, "1795282554", "yesterday", 1), 0, 1},
		{"somebody's odd name", head + strings.Replace(line, "jabc", "jabc|n|None|r|x\n\"", 1) + line, 1, 0},
		{"an unknown state of another's job",
			head + strings.Replace(strings.Replace(line, "RUNNING", "DREAMING", 1), "jabc", "Other Job", 1), 0, 0},
		{"local times", head + strings.Replace(line, "1795282554", "2026-11-21T01:14:47", 1), 1, 0},
		{"a heterogeneous job of somebody", head + strings.Replace(line, "7|2", "7+0|2", 1) + line, 1, 1},
	}
	for _, tt := range tests {
		rows, unread, err := parseSqueue(tt.text)
		if (err != nil) != (tt.n < 0) || err == nil && len(rows) != tt.n || len(unread) != tt.unread {
			t.Errorf("%s: %d rows, unread %+v, error %v", tt.name, len(rows), unread, err)
		}
	}
}

// The error for a text between records, or for a cut record, names the fault and quotes only the faulty text.
func TestSqueue_TellsABannerFromARecordWithoutEnd(t *testing.T) {
	head, line := "JOBID|ARRAY_JOB_ID|ARRAY_TASK_ID|STATE|EXIT_CODE|RESTART_COUNT|SUBMIT_TIME|START_TIME|END_TIME|EXEC_HOST|NAME|n|REASON|r|\n",
		"7|2|0|RUNNING|0|0|1795282554|1795282555|N/A|n1|jabc|n|None|r|\n"
	const none, cut = "it is no record, but stands between records", "it has no end"
	for name, c := range map[string]struct{ text, want string }{
		"a banner":             {"Welcome\n", `"Welcome": ` + none},
		"two lines":            {"Welcome\nto n1\n", `"Welcome\nto n1": ` + none},
		"bars":                 {"| 5 nodes | down |\n", `"| 5 nodes | down |": ` + none},
		"an empty line":        {"\n", `"": ` + none},
		"a number":             {"17 nodes are down\n", `"17 nodes are down": ` + none},
		"a record without end": {strings.Replace(line, "|r|", "|x|", 1), `|None|x|": ` + cut},
		"a record cut short":   {"7|2|0|RUNN\n", `"7|2|0|RUNN": ` + cut},
	} {
		rows, unread, err := parseSqueue(head + line + c.text + line)
		if err != nil || len(rows) != 2 || len(unread) != 1 || !strings.HasSuffix(unread[0].Text, c.want) {
			t.Errorf("%s: %d rows, unread %+v, error %v; want the text to end with %s", name, len(rows), unread, err, c.want)
		}
	}
}

func TestSacct_RecordedAccounting(t *testing.T) {
	records, _, err := parseSacct(recorded(t, "sacct.txt"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]jjm.Report{}
	for _, r := range withSteps(records) {
		got[string(r.Tag)+" "+strconv.Itoa(int(r.Index))] = r
	}
	tests := []struct {
		job    string
		state  jjm.BatchState
		exit   int
		signal int
		rss    int64
	}{
		{"jrecok 0", jjm.BatchEndedOK, 0, 0, 0},
		{"jrecexit 0", jjm.BatchEndedFailed, 127, 0, 0},
		{"jrecexit 1", jjm.BatchEndedFailed, 128, 0, 0}, // although sacct shows 0:0
		{"jrecexit 10", jjm.BatchEndedFailed, 9, 0, 0},  // the exit code is 137, and the reason says so
		{"jrecsig 0", jjm.BatchEndedFailed, 137, 9, 0},
		{"jrecmem 0", jjm.BatchEndedFailed, 137, 9, 75000},
		{"jrectime 0", jjm.BatchTimeout, 0, 0, 3268},
		{"jreccancelrun 0", jjm.BatchCancelled, 0, 0, 3044},
	}
	for _, tt := range tests {
		r := got[tt.job]
		if r.State != tt.state || r.Exit != tt.exit || r.Signal != tt.signal || r.RSSKB != tt.rss || r.Source != "sacct" {
			t.Errorf("%s: %+v", tt.job, r)
		}
	}
	for _, job := range []string{"jrecrun 0", "jrecrequeue 0", "jrecnoname 0"} {
		if r, found := got[job]; found {
			t.Errorf("%s has not ended, and is accounted: %+v", job, r)
		}
	}
	if r := got["jrecexit 10"]; !strings.Contains(r.Reason, "137") {
		t.Errorf("the doubt about its exit code is not told: %+v", r)
	}
}

// sacct(1) ends a list of indices in "..." after 64 bytes by default, and a cut list is useless.
func TestOpen_IndicesOfArraysAreNeverCut(t *testing.T) {
	if a := testAdapter(t, DefaultConfig()); a.timed.Env["SLURM_BITSTR_LEN"] != "0" {
		t.Errorf("environment %v", a.timed.Env)
	}
	if _, got, err := parseJobID("9_[0,2-8:2,20-21%4]"); err != nil || !slices.Equal(got, []int32{0, 2, 4, 6, 8, 20, 21}) {
		t.Errorf("indices %v, error %v", got, err)
	}
	for _, bad := range []string{"9_[2-8:0]", "9_[2-8:]", "9_[2-8:x]", "9_[8-2:2]"} {
		if _, got, err := parseJobID(bad); err == nil {
			t.Errorf("%s: %v", bad, got)
		}
	}
	if _, _, err := parseJobID("10833_[67,69-70,...]"); err == nil {
		t.Error("a cut list was read as if it were whole")
	}
}

func TestSacct_AnArrayWithoutOwnRecordsBecomesOneReportForEachJob(t *testing.T) {
	head := strings.ReplaceAll(sacctFields, ",", "|") + "\n"
	records, _, err := parseSacct(head +
		"3_[0,2-3%4]|3|CANCELLED by 61001|0:0|1795281208|1795281211|1795281211|00:00:00||None assigned|ann|jabc\n" +
		"9|9|CANCELLED by 61001|0:0|1795281208|None|1795281211|00:00:00||None assigned|ann|jdef\n" +
		"3_5|4|COMPLETED|0:0|1795281208|1795281211|1795281211|00:00:00||n1|ann|Odd\nname|x\n")
	if err != nil || len(records) != 2 {
		t.Fatalf("%+v, error %v", records, err)
	}
	var ids []string
	for _, r := range withSteps(records) {
		ids = append(ids, r.ID)
		if r.State != jjm.BatchCancelled || r.Started != 0 || r.Host != "" {
			t.Errorf("%+v", r)
		}
	}
	if diff := cmp.Diff([]string{"3_0", "3_2", "3_3"}, ids); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"", "no header\n", head + "3_1|3"} {
		if records, _, err := parseSacct(bad); err == nil {
			t.Errorf("%q: %+v", bad, records)
		}
	}
	good := "3_1|3|FAILED|1:0|1|1|1|0||n|ann|jabc\n"
	for _, odd := range []string{
		"3_x|3|FAILED|0:0|1|1|1|0||n|ann|jdef\n", "3_1|3|DREAMING|0:0|1|1|1|0||n|ann|jdef\n",
		"79+0|79|CANCELLED|0:0|1|1|1|00:00:00||n1|ann|jdef\n",
	} {
		records, unread, err := parseSacct(head + odd + good)
		if err != nil || len(records) != 1 || len(unread) != 1 || unread[0].Tag != "jdef" {
			t.Errorf("%q: %+v, unread %+v, error %v", odd, records, unread, err)
		}
	}
}

func TestNumbersOfSacct(t *testing.T) {
	for text, want := range map[string]int64{
		"00:00.002": 2, "00:04.683": 4683, "01:02:03": 3723_000, "2-01:00:00": 49 * 3600_000, "": 0, "x": 0, "1:2:3:4": 0,
		"9999999-0": 0,
	} {
		if got := parseCPU(text); got != want {
			t.Errorf("%q: %d ms, want %d", text, got, want)
		}
	}
	for text, want := range map[string]int64{"3268K": 3268, "1.5M": 1536, "2G": 2 << 20, "4096": 4, "0": 0, "": 0, "K": 0,
		"NaN": 0} {
		if got := parseSize(text); got != want {
			t.Errorf("%q: %d KiB, want %d", text, got, want)
		}
	}
}

func TestSite_RecordedConfiguration(t *testing.T) {
	s, err := parseConfig(recorded(t, "config.txt"))
	if err != nil {
		t.Fatal(err)
	}
	s.partitions, s.defaultQueue, err = parseSinfo(recorded(t, "sinfo.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if s.version != "22.05.8" || s.maxArray != 20001 || s.maxJobs != 60000 || s.minJobAge != 300*time.Second ||
		!s.accounting || s.enforced {
		t.Errorf("%+v", s)
	}
	c := capabilities(s, Config{})
	want := adapters.Capabilities{
		MaxBulk: 20001, MaxQueued: 60000, SharedFS: true, ExcludesHosts: true, Accounting: true,
		Guarantee: "strong: slurmdbd", Slots: 64,
		MaxCores: 64, MaxMemoryMB: 65536, MaxWalltime: time.Hour, Settle: 20 * time.Second, Lag: lag,
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Error(diff)
	}
	if c := capabilities(s, Config{Common: adapters.Common{Queue: "all", MaxBulk: 500}}); c.MaxBulk != 500 ||
		c.Slots != 96 || c.MaxCores != 64 {
		t.Errorf("%+v", c)
	}
	s.submit.own = []association{{maxSubmit: 100}}
	if c := capabilities(s, Config{}); c.MaxBulk != 100 || c.MaxQueued != 100 {
		t.Errorf("%+v", c)
	}
	for _, field := range []string{"MaxArraySize", "MinJobAge", "AccountingStorageType"} {
		if s, err := parseConfig(strings.ReplaceAll(recorded(t, "config.txt"), field, "Other")); err == nil {
			t.Errorf("without %s: %+v", field, s)
		}
	}
	for _, bad := range []string{"short", "short*|up|64|65536|1:00:00|0/x/0/64|1|gpu:2\n"} {
		if p, _, err := parseSinfo(bad); err == nil {
			t.Errorf("%q: %+v", bad, p)
		}
	}
}

func TestSite_Words(t *testing.T) {
	for text, want := range map[string]int{"gpu:2": 2, "gpu:tesla:2(S:0-1),gpu:1,shard:4": 3, "(null)": 0, "": 0,
		"gpu:x": 0} {
		if got := gpus(text); got != want {
			t.Errorf("%q: %d GPUs, want %d", text, got, want)
		}
	}
	for text, want := range map[string]time.Duration{"infinite": 0, "30:00": 30 * time.Minute,
		"7-00:00:00": 168 * time.Hour} {
		if got := parseLimit(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	for text, want := range map[string]bool{
		"Slurmctld(primary) at vm is UP\n": true, "Slurmctld(primary) at vm is DOWN\nSlurmctld(backup) at w is UP\n": true,
		"Slurmctld(primary) at vm is DOWN\n": false, "": false, "the web is UP\n": false,
	} {
		if pingAnswered(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

func TestCoverage_AccountingIsAskedOnlyForWhatSqueueForgot(t *testing.T) {
	const age = 300 * time.Second
	at := func(s int) jjm.Time { return jjm.Time(1_800_000_000_000).Add(time.Duration(s) * time.Second) }
	var none coverage
	if !none.gap(at(-3600), at(0), age) {
		t.Error("after a start, for an old bulk")
	}
	if none.gap(at(-100), at(0), age) {
		t.Error("squeue itself remembers that")
	}
	c := none.covered(at(-3600), at(0), true)
	if c.gap(at(-3600), at(10), age) || c.gap(at(-3600), at(200), age) {
		t.Error("a listing ago all was seen")
	}
	if !c.gap(at(-3600), at(290), age) {
		t.Error("so long ago squeue may have forgotten some")
	}
	if !c.gap(at(-7200), at(10), age) {
		t.Error("older bulks than before")
	}
	c = c.covered(at(-3600), at(200), false)
	if c.gap(at(-3600), at(400), age) {
		t.Error("listings follow one another")
	}
	if !c.gap(at(-3600), at(201), 30*time.Second) {
		t.Error("a short MinJobAge is never relied on")
	}
}

func TestDecide_NamesOnlyLivingJobsWithTheTag(t *testing.T) {
	seen := map[key]jjm.Report{}
	for i, s := range []jjm.BatchState{jjm.BatchQueued, jjm.BatchHold, jjm.BatchRunning, jjm.BatchEndedOK} {
		id := "42_" + strconv.Itoa(i)
		seen[key{"jabc", id, int32(i)}] = jjm.Report{Tag: "jabc", ID: id, Index: int32(i), State: s}
	}
	jobs := []adapters.Ref{
		{Tag: "jabc", ID: "42", Index: 0}, {Tag: "jabc", ID: "42_1", Index: -1}, {Tag: "jabc", ID: "42", Index: 2},
		{Tag: "jabc", ID: "42", Index: 3}, {Tag: "jabc", ID: "42", Index: 9}, {Tag: "jxyz", ID: "42", Index: 0},
		{Tag: "jabc", ID: "x y", Index: -1},
	}
	for op, want := range map[adapters.Op][]int{adapters.Cancel: {0, 1, 2}, adapters.HoldJobs: {0},
		adapters.Release: {1}} {
		answers := make([]error, len(jobs))
		d := decide(op, jobs, seen, answers)
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(d.targets))); diff != "" {
			t.Errorf("%v: %s", op, diff)
		}
		for i, err := range answers {
			if conflict := op == adapters.HoldJobs && i == 2; conflict != (jjm.KindOf(err) == jjm.Conflict) {
				t.Errorf("%v %+v: %v", op, jobs[i], err)
			}
		}
	}
}

func TestCommands_WholeArraysByTheirIdAndFewJobsAtOnce(t *testing.T) {
	seen := map[key]jjm.Report{}
	for i := range int32(50) {
		seen[key{"jabc", jobID("42", i), i}] = jjm.Report{State: jjm.BatchQueued}
		seen[key{"jdef", jobID("43", i), i}] = jjm.Report{State: jjm.BatchQueued}
	}
	var all, even []int32
	for i := range int32(50) {
		all = append(all, i)
		if i%2 == 0 {
			even = append(even, i)
		}
	}
	got := commands(adapters.Cancel, decision{nil, map[string][]int32{"42": all, "43": {7, 3, 4, 5, 3}}}, seen)
	if diff := cmp.Diff([][]string{{"scancel", "42", "43_[3-5,7]"}}, got); diff != "" {
		t.Error(diff)
	}
	got = commands(adapters.HoldJobs, decision{nil, map[string][]int32{"42": all, "43": even}}, seen)
	if len(got) != 3 || got[0][2] != "42" || !strings.HasPrefix(got[1][2], "43_[0,2,") ||
		!strings.HasSuffix(got[2][2], "46,48]") {
		t.Errorf("%q", got)
	}
}

func TestOutcome_DependsOnTheListingAfterTheCommand(t *testing.T) {
	is := func(s jjm.BatchState, hold string) jjm.Report { return jjm.Report{State: s, Hold: hold} }
	silent := error(nil)
	tests := []struct {
		name string
		op   adapters.Op
		is   jjm.Report
		kind jjm.Kind
	}{
		{"gone", adapters.Cancel, jjm.Report{}, 0},
		{"over", adapters.Cancel, is(jjm.BatchCancelled, ""), 0},
		{"it has its signal", adapters.Cancel, is(jjm.BatchRunning, ""), 0},
		{"scancel lied", adapters.Cancel, is(jjm.BatchQueued, ""), jjm.Busy},
		{"held", adapters.HoldJobs, is(jjm.BatchHold, "JobHeldUser"), 0},
		{"not held", adapters.HoldJobs, is(jjm.BatchQueued, ""), jjm.Busy},
		{"started first", adapters.HoldJobs, is(jjm.BatchRunning, ""), jjm.Conflict},
		{"released", adapters.Release, is(jjm.BatchQueued, ""), 0},
		{"not released", adapters.Release, is(jjm.BatchHold, "JobHeldUser"), jjm.Busy},
		{"the administrator's", adapters.Release, is(jjm.BatchHold, "JobHeldAdmin"), jjm.Denied},
	}
	for _, tt := range tests {
		err := outcome(tt.op, jjm.Report{ID: "42_0"}, tt.is, silent)
		if jjm.KindOf(err) != tt.kind || (err == nil) != (tt.kind == 0) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}
