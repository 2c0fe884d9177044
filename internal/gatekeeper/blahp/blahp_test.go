package blahp

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/internal/api/wire"
	"jjm/internal/gatekeeper"
	"jjm/internal/jjm"
)

// seen are command lines that a real blahpd 23.9.6 passed to its script.
var seen = []struct {
	args []string
	want Options
}{
	{[]string{"-r", "no", "-c", "/bin/echo", "-T", "/scratch", "-C", "/tmp/ce-req-file-1", "-i", "/dev/null", "-o", "out",
		"-e", "err", "-w", "/home/u/j",
		"-q", "long", "-n", "2", "-z", "no", "-h", "1", "-S", "2", "-D", "home_bl_schedd_12.0_1760000000", "-A", "dzero",
		"-t", "3600", "-a", "--qos=x", "-m", "2000",
		"-V", `"A=b c" "D=e"`, "--", `"one two" "three"`},
		Options{Command: "/bin/echo", Requirements: "/tmp/ce-req-file-1", Stdin: "/dev/null", Stdout: "out", Stderr: "err",
			Folder: "/home/u/j", Stage: true,
			Queue: "long", Processes: 2, Hosts: 1, PerHost: 2, Key: "home_bl_schedd_12.0_1760000000", Project: "dzero",
			Seconds: 3600, Extra: "--qos=x",
			MemoryMB: 2000, Env: map[string]string{"A": "b c", "D": "e"}, Arguments: []string{"one two", "three"}}},
	{[]string{"-s", "no", "-c/bin/true", "-w", "/w", "-v", "A=1;B=2;", "-zyes", "-N", "8", "-d", "-j", "cream1", "--", "x",
		"y"},
		Options{Command: "/bin/true", Folder: "/w", Env: map[string]string{"A": "1", "B": "2"}, WholeNodes: true,
			CoresOfANode: 8, Key: "cream1",
			Arguments: []string{"x", "y"}, classicalEnvs: "A=1;B=2;"}},
}

func TestParseOptions_ParsesTheCommandLinesOfBlahpd(t *testing.T) {
	for _, c := range seen {
		got, err := ParseOptions(c.args, "/elsewhere")
		if err != nil {
			t.Error(err)
			continue
		}
		if d := cmp.Diff(c.want, *got, cmp.AllowUnexported(Options{})); d != "" {
			t.Error(d)
		}
	}
}

func TestParseOptions_ReportsEveryMistake(t *testing.T) {
	_, err := ParseOptions([]string{"-m", "much", "-z", "maybe", "-V", `"A`, "-n", "-1"}, "relative")
	var ps jjm.Problems
	if !errors.As(err, &ps) || len(ps) != 6 {
		t.Errorf("%v", err)
	}
	for _, args := range [][]string{{"-Z"}, {"-c"}, {"-:"}} {
		if _, err := ParseOptions(args, "/"); jjm.KindOf(err) != jjm.Invalid {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func translate(t *testing.T, o Options, l Lists) (*Job, error) {
	t.Helper()
	if o.Command == "" {
		o.Command, o.Stage = "run.sh", true
	}
	o.Folder = "/home/u/j"
	return Translate(&o, l)
}

func TestTranslate_BringsFilesToWhereTheyAreWanted(t *testing.T) {
	j, err := translate(t, Options{Stdin: "in.txt", Stdout: "out", Stderr: "/dev/null", Key: "k", Subject: "/CN=u"}, Lists{
		Inputs:       []string{"a.dat", "", "/data/b.dat", "a.dat", "https://h/c.dat?v=1"},
		Outputs:      []string{"sub/x[1].root", "y", "jjm-output.tar"},
		Remaps:       []string{"", "/results/y.2", "all.tar"},
		Requirements: map[string]string{"jjm_clusters": "slurm, condor", "jjm_scratch_mb": "77"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []gatekeeper.Delivery{{Name: "stdout", To: "/home/u/j/out"},
		{Name: "sub/x[1].root", To: "/home/u/j/sub/x[1].root"},
		{Name: "y", To: "/results/y.2"}, {Name: gatekeeper.WholeTar, To: "/home/u/j/all.tar"}}
	if d := cmp.Diff(want, j.Wants); d != "" {
		t.Error(d)
	}
	back, err := ParseWants(j.Origin.Memo)
	if d := cmp.Diff(want, back); d != "" || err != nil {
		t.Errorf("the memo: %v %s", err, d)
	}
	spec, err := j.Plain.Spec()
	if err != nil {
		t.Fatal(err)
	}
	wantSpec := jjm.Spec{Type: "script", Name: "run_sh", Result: "exit", Clusters: []string{"slurm", "condor"},
		Request: jjm.Request{ScratchMB: 77},
		Inputs: []jjm.Input{{Path: "/home/u/j/a.dat", Name: "a.dat"}, {Path: "/data/b.dat", Name: "b.dat"},
			{Path: "https://h/c.dat?v=1", Name: "c.dat"},
			{Path: "/home/u/j/run.sh", Name: "run.sh", Executable: true}, {Path: "/home/u/j/in.txt", Name: "jjm-stdin"}},
		Outputs: []string{`sub/x\[1].root`, "y"},
		Params:  map[string]any{"command": []string{"/bin/sh", "-c", `exec "$@" < "$0"`, "jjm-stdin", "./run.sh"}}}
	if d := cmp.Diff(wantSpec, spec); d != "" {
		t.Error(d)
	}
	if j.Origin.Subject != "/CN=u" || j.Origin.Job != "k" {
		t.Errorf("%+v", j.Origin)
	}
}

func TestTranslate_HonoursOrRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Options
		want jjm.Request
		bad  []string
	}{
		{"nothing", Options{}, jjm.Request{}, nil},
		{"memory, time, project, extra", Options{MemoryMB: 5, Seconds: 90, Project: "p", Extra: "--x"},
			jjm.Request{MemoryMB: 5, Walltime: jjm.Duration(90 * time.Second), Account: "p", Directives: "--x"}, nil},
		{"a queue", Options{Queue: "q"}, jjm.Request{Queue: "q"}, nil},
		{"a queue of a cluster", Options{Queue: "q@slurm"}, jjm.Request{Queue: "q"}, nil},
		{"processes", Options{Processes: 4}, jjm.Request{Cores: 4}, nil},
		{"cores", Options{Processes: 1, PerHost: 8, Hosts: 1}, jjm.Request{Cores: 8}, nil},
		{"a whole node", Options{WholeNodes: true, PerHost: 16}, jjm.Request{Cores: 16}, nil},
		{"a whole node of so many cores", Options{WholeNodes: true, CoresOfANode: 32}, jjm.Request{Cores: 32}, nil},
		{"GPUs", Options{GPUs: 2, GPUMode: "shared"}, jjm.Request{GPUs: 2}, nil},
		{"whole nodes of unknown size", Options{WholeNodes: true}, jjm.Request{}, []string{"-z"}},
		{"two nodes", Options{Hosts: 2}, jjm.Request{}, []string{"-h"}},
		{"two nodes by their cores", Options{Processes: 9, PerHost: 8}, jjm.Request{}, []string{"-h"}},
		{"a GPU model and mode", Options{GPUs: 1, GPUModel: "a100", GPUMode: "exclusive_process"}, jjm.Request{},
			[]string{"-M", "-G"}},
		{"coprocessors", Options{MICs: 1}, jjm.Request{}, []string{"-P"}},
		{"too many cores", Options{PerHost: 1 << 40}, jjm.Request{}, []string{"-n"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			j, err := translate(t, c.o, Lists{})
			var ps jjm.Problems
			_ = errors.As(err, &ps)
			var fields []string
			for _, p := range ps {
				fields = append(fields, p.Field)
			}
			if d := cmp.Diff(c.bad, fields); d != "" {
				t.Fatalf("%v %s", err, d)
			}
			if c.bad == nil {
				if d := cmp.Diff(c.want, j.Plain.Request); d != "" {
					t.Error(d)
				}
			}
		})
	}
	for _, l := range []Lists{{Inputs: []string{"folder/"}}, {Outputs: []string{"/etc/passwd"}}, {Outputs: many(400)}} {
		if _, err := translate(t, Options{}, l); jjm.KindOf(err) != jjm.Invalid {
			t.Errorf("%.80v: %v", l, err)
		}
	}
}

func many(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = "some-output-file-with-a-name"
	}
	return out
}

// However long and unusual the texts in a status are, the ad must be one line that blahpd accepts. The ad must never
// have a state that makes HTCondor cancel the job or put it on hold.
func TestStatus_IsOneLineAndNeverRemovedOrHeld(t *testing.T) {
	h := jjm.HandleOf(1, "k")
	rapid.Check(t, func(t *rapid.T) {
		var status jjm.GridStatus
		_ = status.UnmarshalText([]byte(rapid.SampledFrom([]string{"running", "paused", "done", "failed", "broken", "aborted",
			"aborting", "prepared"}).Draw(t, "status")))
		l := wire.Lookup{Status: status.String(), GRAM: rapid.SampledFrom([]jjm.GRAM{1, 2, 4, 8, 16, 32}).Draw(t, "gram"),
			Exit:    rapid.IntRange(0, 255).Draw(t, "exit"),
			Message: rapid.String().Draw(t, "message") + strings.Repeat(`"\`, rapid.IntRange(0, 600).Draw(t, "n")),
			Usage:   &jjm.Usage{Host: rapid.String().Draw(t, "host"), WallMS: rapid.Int64Min(0).Draw(t, "wall"), Processors: 3}}
		n := JobStatus(l)
		if n != Idle && n != Running && n != Completed || (n == Completed) != status.Final() {
			t.Fatalf("%+v is %d", l, n)
		}
		s := Status(h, n, l)
		if strings.Count(s, "\n") != 1 || !strings.HasSuffix(s, "]\n") || len(s) > MaxAd+1 ||
			!strings.HasPrefix(s, `0[BatchJobId="`+string(h)+`";JobStatus=`) {
			t.Fatalf("%d bytes: %q", len(s), s)
		}
		if strings.Contains(s, "ExitCode=") != (n == Completed) {
			t.Fatalf("%q", s)
		}
	})
	for _, err := range []error{errors.New("a\nb\x00" + strings.Repeat("x", 5000))} {
		if s := ErrorLine(err); strings.Count(s, "\n") != 1 || len(s) > MaxAd || !strings.HasPrefix(s, "1ERROR: a b?xx") {
			t.Errorf("%q", s)
		}
		if s := Controlled(0, 1, err); strings.Count(s, "\n") != 1 || !strings.HasPrefix(s, ` 1 a\ b?xx`) {
			t.Errorf("%q", s)
		}
	}
	if s := Controlled(2, 3, nil); s != ".2 0 No\\ error\n" {
		t.Errorf("%q", s)
	}
	if s := Submitted(h, time.Unix(1760000000, 0)); s != "BLAHP_JOBID_PREFIXjjm/20251009/"+string(h)+"\n" {
		t.Errorf("%q", s)
	}
	for _, id := range []string{"jjm/20251009/" + string(h), "20251009/" + string(h), string(h)} {
		if got, ok := ParseID(id); got != h || !ok {
			t.Errorf("%q: %q", id, got)
		}
	}
}

func TestRequirements_AreParsedAndNeverRun(t *testing.T) {
	got := Requirements([]string{"Jjm_Clusters='slurm'", "touch /tmp/x", "X='$(id)'", "Y=`id`", "", "Z='open"})
	if d := cmp.Diff(map[string]string{"jjm_clusters": "slurm", "x": "$(id)", "y": "`id`"}, got); d != "" {
		t.Error(d)
	}
	if _, err := Lines(strings.NewReader(strings.Repeat("\n", maxLines+1))); err == nil {
		t.Error("a list without end was read")
	}
}

// FuzzParseOptions checks that no command line causes a panic, and that Translate accepts or refuses all options that
// ParseOptions accepts.
func FuzzParseOptions(f *testing.F) {
	for _, c := range seen {
		f.Add(strings.Join(c.args, "\x00"))
	}
	f.Fuzz(func(t *testing.T, line string) {
		o, err := ParseOptions(strings.Split(line, "\x00"), "/w")
		if err != nil {
			return
		}
		if j, err := Translate(o, Lists{}); err == nil && j.JobFile == "" {
			if _, _, err := j.Plain.File(); err != nil && jjm.KindOf(err) != jjm.Invalid {
				t.Fatal(err)
			}
		}
	})
}
