package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// The transcripts of these tests are made from the documentation of IBM
// Spectrum LSF 10.1, not recorded.

// shippedDescription reads a file of etc/adapters.
func shippedDescription(t testing.TB, name string) *Description {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "etc", "adapters", name))
	if err != nil {
		t.Fatal(err)
	}
	d, err := Parse(name, text)
	if err != nil {
		t.Fatal(err)
	}
	d.times.zone = time.UTC
	return d
}

const tagA, tagB = "jabcdabcdefghij", "jabcdabcdefghik"

func bulkOf(n int) adapters.Bulk {
	return adapters.Bulk{
		Tag: tagA, N: n, Owner: jjm.Owner{UID: 1000, GID: 100, User: "alice"}, Dir: "/work/a b",
		Argv:    []string{"/bin/echo", "it's"},
		Request: jjm.Request{Queue: "night", Cores: 4, MemoryMB: 2000, Walltime: jjm.Duration(90*time.Minute + time.Second)},
	}
}

func TestLSF_SubmitsAHeldArray(t *testing.T) {
	d := shippedDescription(t, "lsf.toml")
	b := bulkOf(10)
	want := []string{"bsub", "-H", "-J", tagA + "[1-10]", "-rn", "-o", "/dev/null", "-q", "night", "-n", "4", "-R",
		"span[hosts=1]",
		"-M", "2000M", "-R", "rusage[mem=2000M/host]", "-W", "1:31"}
	if diff := cmp.Diff(want, d.submit.command.argv(d.submitValues(b))); diff != "" {
		t.Error(diff)
	}
	script := d.script.write(b, d.ids, []string{"-app grid"})
	wantScript := "#!/bin/sh\n#BSUB -app grid\nJJM_INDEX=$((LSB_JOBINDEX - 1))\nJJM_BATCH_ID=\"${LSB_JOBID}[${LSB_JOBINDEX}]\"\n"
	if !strings.HasPrefix(script, wantScript) {
		t.Errorf("script %s", script)
	}
}

func TestLSF_SubmissionAnswers(t *testing.T) {
	d := shippedDescription(t, "lsf.toml")
	for _, c := range []struct {
		name, stdout, stderr string
		exit                 int
		id                   string
		kind                 jjm.Kind
	}{
		{"default queue", "Job <2812> is submitted to default queue <normal>. \n", "", 0, "2812", 0},
		{"named queue, esub speaks first", "Memory reserved: 2 GB\nJob <7> is submitted to queue <night>.\n", "", 0, "7", 0},
		{"a banner quotes an answer", "Welcome. Job <9> is submitted to queue <x>.\n", "", 0, "", jjm.Ambiguous},
		{"two answers", "Job <7> is submitted to queue <a>.\nJob <8> is submitted to queue <a>.\n", "", 0, "", jjm.Ambiguous},
		{"an answer and a failure", "Job <7> is submitted to queue <a>.\n", "", 255, "", jjm.Ambiguous},
		{"nothing", "", "", 0, "", jjm.Ambiguous},
		{"unknown failure", "", "esub: assertion\n", 255, "", jjm.Ambiguous},
		{"no such queue", "", "nosuch: No such queue. Job not submitted.\n", 255, "", jjm.Invalid},
		{"array too large", "", "Job array index too large. Job not submitted.\n", 255, "", jjm.Busy},
		{"permission", "", "night: User cannot use the queue. Job not submitted.\n", 255, "", jjm.Denied},
		{"closed", "", "night: Queue has been closed. Job not submitted.\n", 255, "", jjm.Busy},
		{"down", "", "LSF is down. Please wait ...\n", 255, "", jjm.Busy},
		{"reply lost", "", "Failed in receiving a message: Connection reset by peer. Job not submitted.\n", 255, "",
			jjm.Ambiguous},
	} {
		t.Run(c.name, func(t *testing.T) {
			out := run.Output{Stdout: []byte(c.stdout), Stderr: []byte(c.stderr), Exit: c.exit}
			id, err := d.submitted(out, d.submitValues(bulkOf(1)))
			if id != c.id || jjm.KindOf(err) != c.kind {
				t.Errorf("id %q, error %v of kind %v", id, err, jjm.KindOf(err))
			}
		})
	}
}

const lsfList = "JOBID|JOBINDEX|STAT|EXIT_CODE|EXIT_REASON|SUBMIT_TIME|START_TIME|FINISH_TIME|FIRST_HOST|CPU_USED|PEND_REASON|JOB_NAME\n" +
	"7|1|PSUSP|-|-|Nov 21 17:05|-|-|-|0.0 second(s)|The job was suspended by the user while pending;|" + tagA + "[1]\n" +
	"7|2|PEND|-|-|Nov 21 17:05|-|-|-|-|New job is waiting for scheduling;|" + tagA + "[2]\n" +
	"7|3|RUN|-|-|Nov 21 17:05|Nov 21 17:06|Nov 21 18:06 L|hosta|1.5 second(s)|-|" + tagA + "[3]\n" +
	"8|1|DONE|0|-|Dec 31 23:58|Dec 31 23:59|Jan  1 00:01 L|hosta|12.0 second(s)|-|" + tagB + "[1]\n" +
	"8|2|EXIT|3|-|Nov 21 16:05|Nov 21 16:06|Nov 21 16:07 L|hosta|0.1 second(s)|-|" + tagB + "[2]\n" +
	"8|3|EXIT|139|-|Nov 21 16:05|Nov 21 16:06|Nov 21 16:07 L|hosta|0.1 second(s)|-|" + tagB + "[3]\n" +
	"8|4|EXIT|140|TERM_RUNLIMIT: job killed after reaching LSF run time limit|Nov 21 16:05|Nov 21 16:06|Nov 21 16:07 L|hosta|0.1 second(s)|-|" + tagB + "[4]\n" +
	"8|5|EXIT|137|TERM_MEMLIMIT: job killed after reaching LSF memory usage limit|Nov 21 16:05|Nov 21 16:06|Nov 21 16:07 L|hosta|0.1 second(s)|-|" + tagB + "[5]\n" +
	"8|6|EXIT|-|TERM_OWNER: job killed by owner|Nov 21 16:05|-|Nov 21 16:07 L|-|0.0 second(s)|-|" + tagB + "[6]\n" +
	"8|7|EXIT|255|TERM_PREEMPT: job killed after preemption|Nov 21 16:05|Nov 21 16:06|Nov 21 16:07 L|hosta|0.1 second(s)|-|" + tagB + "[7]\n" +
	"8|8|UNKWN|-|-|Nov 21 16:05|Nov 21 16:06|-|hosta|-|-|" + tagB + "[8]\n" +
	"9|0|RUN|-|-|Nov 21 16:05|Nov 21 16:06|-|hosta|-|-|sleep\n" +
	"10|0|PEND|-|-|Nov 21 16:05|-|-|-|-|-|my | odd name\n"

func TestLSF_Listing(t *testing.T) {
	d := shippedDescription(t, "lsf.toml")
	now := time.Date(2027, 1, 2, 0, 0, 0, 0, time.UTC)
	jobs, err := readWhole(d, d.list, lsfList, now)
	if err != nil {
		t.Fatal(err)
	}
	type short struct {
		ID           string
		Index        int32
		State        jjm.BatchState
		Exit, Signal int
		Host         string
	}
	var got []short
	for _, j := range jobs {
		got = append(got, short{j.ID, j.Index, j.State, j.Exit, j.Signal, j.Host})
	}
	want := []short{
		{"7[1]", 0, jjm.BatchHold, 0, 0, ""}, {"7[2]", 1, jjm.BatchQueued, 0, 0, ""},
		{"7[3]", 2, jjm.BatchRunning, 0, 0, "hosta"},
		{"8[1]", 0, jjm.BatchEndedOK, 0, 0, "hosta"}, {"8[2]", 1, jjm.BatchEndedFailed, 3, 0, "hosta"},
		{"8[3]", 2, jjm.BatchEndedFailed, 0, 11, "hosta"}, {"8[4]", 3, jjm.BatchTimeout, 0, 12, "hosta"},
		{"8[5]", 4, jjm.BatchOOM, 0, 9, "hosta"}, {"8[6]", 5, jjm.BatchCancelled, 0, 0, ""},
		{"8[7]", 6, jjm.BatchAborted, 255, 0, "hosta"}, {"8[8]", 7, jjm.BatchUnknown, 0, 0, "hosta"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	over := jobs[3].Report
	if over.Submitted.Time().UTC().Format(time.DateTime) != "2026-12-31 23:58:00" ||
		over.Ended.Time().UTC().Format(time.DateTime) != "2027-01-01 00:01:00" {
		t.Errorf("over the turn of the year: %+v", over)
	}
	if jobs[2].Ended != 0 || over.CPUms != 12000 || jobs[5].Started == 0 || jobs[8].Started != 0 {
		t.Errorf("%+v", jobs)
	}
}

func TestLSF_ADoubtfulListingIsAnError(t *testing.T) {
	d := shippedDescription(t, "lsf.toml")
	header, _, _ := strings.Cut(lsfList, "\n")
	ours := "7|1|RUN|-|-|Nov 21 17:05|-|-|hosta|-|-|" + tagA + "[1]\n"
	for name, text := range map[string]string{
		"no header":         ours,
		"nothing":           "",
		"ends within":       strings.TrimSuffix(lsfList, "\n"),
		"a banner":          header + "\nWelcome to the cluster\n" + ours,
		"a banner first":    "Welcome to the cluster\n" + header + "\n" + ours,
		"no index":          header + "\n" + strings.Replace(ours, "|1|", "|0|", 1),
		"a bad time":        header + "\n" + strings.Replace(ours, "Nov 21 17:05", "soon", 1),
		"a bad exit status": header + "\n" + strings.Replace(ours, "RUN|-", "RUN|x", 1),
	} {
		if jobs, err := readWhole(d, d.list, text, time.Now()); err == nil {
			t.Errorf("%s: read as %+v", name, jobs)
		}
	}
}

func TestLSF_NoJobsIsAGoodAnswer(t *testing.T) {
	d := shippedDescription(t, "lsf.toml")
	for _, c := range []struct {
		stderr string
		exit   int
		word   word
	}{
		{"No job found\n", 255, wordNone}, {"No unfinished job found\n", 0, wordNone},
		{"LSF is down. Please wait ...\n", 255, ""}, {"No job found\nLSF is down. Please wait ...\n", 1, ""}, {"", 0, wordOK},
	} {
		got, err := d.list.outcomes.judge(run.Output{Stderr: []byte(c.stderr), Exit: c.exit}, values{})
		if got.word != c.word || (err == nil) != (c.word != "") {
			t.Errorf("%+v: %+v, error %v", c, got, err)
		}
	}
}

const lsfHistory = `
Job <8[2]>, Job Name <` + tagB + `[2]>, User <alice>, Project <default>, Command <#!/bin/sh;...>
Sat Nov 21 16:05:10: Submitted from host <login>, to Queue <night>, CWD </home/alice>;
Sat Nov 21 16:06:01: Dispatched 1 Task(s) on Host(s) <hosta>, Allocated 1 Slot(s) on Host(s) <hosta>, Effective RES_REQ <select[type == local] >;
Sat Nov 21 16:06:02: Starting (Pid 4711);
Sat Nov 21 16:07:09: Exited with exit code 3. The CPU time used is 0.5 seconds;

Summary of time in seconds spent in various states by  Sat Nov 21 16:07:09
  PEND     PSUSP    RUN      USUSP    SSUSP    UNKWN    TOTAL
  51       0        68       0        0        0        119
------------------------------------------------------------------------------

Job <8[4]>, Job Name <` + tagB + `[4]>, User <alice>, Project <default>, Command <#!/bin/sh;...>
Sat Nov 21 16:05:10: Submitted from host <login>, to Queue <night>, CWD </home/alice>;
Sat Nov 21 16:06:01: Dispatched 1 Task(s) on Host(s) <hostb>;
Sat Nov 21 16:06:02: Starting (Pid 4712);
Sat Nov 21 17:06:05: Exited by signal 12. The CPU time used is 3600.5 seconds;
Sat Nov 21 17:06:05: Completed <exit>; TERM_RUNLIMIT: job killed after reaching LSF run time limit;
------------------------------------------------------------------------------

Job <9[1]>, Job Name <` + tagA + `[1]>, User <alice>, Project <default>, Command <#!/bin/sh;...>
Sat Nov 21 16:05:10: Submitted from host <login>, to Queue <night>, CWD </home/alice>;
Sat Nov 21 16:06:01: Dispatched 1 Task(s) on Host(s) <hostb>;
Sat Nov 21 16:06:09: Done successfully. The CPU time used is 1.0 seconds;
`

func TestLSF_History(t *testing.T) {
	d := shippedDescription(t, "lsf.toml")
	jobs, err := readWhole(d, d.account, lsfHistory, time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC))
	if err != nil || len(jobs) != 3 {
		t.Fatalf("%+v, error %v", jobs, err)
	}
	at := func(text string) jjm.Time {
		when, err := time.Parse(time.DateTime, "2026-11-21 "+text)
		if err != nil {
			t.Fatal(err)
		}
		return jjm.At(when)
	}
	want := []jjm.Report{
		{Tag: tagB, Index: 1, ID: "8[2]", State: jjm.BatchEndedFailed, Exit: 3, Host: "hosta", Source: "bhist",
			Submitted: at("16:05:10"), Started: at("16:06:01"), Ended: at("16:07:09"), CPUms: 500},
		{Tag: tagB, Index: 3, ID: "8[4]", State: jjm.BatchTimeout, Signal: 12, Host: "hostb", Source: "bhist",
			Reason:    "TERM_RUNLIMIT: job killed after reaching LSF run time limit",
			Submitted: at("16:05:10"), Started: at("16:06:01"), Ended: at("17:06:05"), CPUms: 3600500},
		{Tag: tagA, Index: 0, ID: "9[1]", State: jjm.BatchEndedOK, Host: "hostb", Source: "bhist",
			Submitted: at("16:05:10"), Started: at("16:06:01"), Ended: at("16:06:09"), CPUms: 1000},
	}
	var got []jjm.Report
	for _, j := range jobs {
		got = append(got, j.Report)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestLSF_ControlAnswersForEachJob(t *testing.T) {
	d := shippedDescription(t, "lsf.toml")
	out := run.Output{Exit: 255,
		Stdout: []byte("Job <7[1]> is being terminated\n"),
		Stderr: []byte(
			"Job <7[2]>: Job has already finished\nJob <8[1]>: User permission denied\nJob <9>: Lim: strange trouble\n")}
	got := d.control[adapters.Cancel].answers(out, values{}, []string{"7[1]", "7[2]", "8[1]", "9"})
	want := []jjm.Kind{0, 0, jjm.Denied, jjm.Busy}
	for i, err := range got {
		if jjm.KindOf(err) != want[i] {
			t.Errorf("job %d: %v, want kind %v", i, err, want[i])
		}
	}
	whole := run.Output{Stdout: []byte("Job <7> is being resumed\n")}
	if got := d.control[adapters.Release].answers(whole, values{}, []string{"7"}); got[0] != nil {
		t.Error(got)
	}
}

func TestLSF_Limits(t *testing.T) {
	d := shippedDescription(t, "lsf.toml")
	limits := map[string]int64{}
	d.probes[0].read("MBD_SLEEP_TIME = 10\n\tMAX_JOB_ARRAY_SIZE = 500\n", limits)
	d.probes[1].read("HOST_NAME          STATUS          JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV \n"+
		"hosta              ok              -      8      0      0      0      0      0\n"+
		"hostb              closed_Full     -      4      4      4      0      0      0\n"+
		"hostc              unavail         -      16     0      0      0      0      0\n", limits)
	c := withLimits(d.caps, limits)
	if c.MaxBulk != 500 || c.Slots != 12 || !c.TwoPhase || !c.Accounting {
		t.Errorf("%+v", c)
	}
}
