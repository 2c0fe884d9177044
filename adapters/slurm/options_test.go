package slurm

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/google/go-cmp/cmp"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
)

func TestSbatchArgs_ARequestInSlurmsWords(t *testing.T) {
	b := adapters.Bulk{Tag: "jabc", N: 10, Request: jjm.Request{
		Cores: 4, MemoryMB: 2000, Walltime: jjm.Duration(26*time.Hour + 90*time.Second + time.Millisecond), Queue: "long",
		GPUs:      2,
		ScratchMB: 500, Project: "higgs", Directives: "#SBATCH -C avx2\n\n--licenses ansys:1\n",
	}}
	c := Config{Common: adapters.Common{Queue: "short", Account: "grid", QOS: "normal",
		Directives: []string{"--constraint=el9"}}}
	got, err := sbatchArgs(b, c, []string{"--exclude=n7"})
	want := []string{
		"sbatch", "--parsable", "--nodes=1", "--ntasks=1",
		"--partition=long", "--account=grid", "--wckey=higgs", "--qos=normal",
		"--cpus-per-task=4", "--mem=2000M", "--tmp=500M", "--gres=gpu:2", "--time=1-02:01:31",
		"-Cavx2", "--licenses=ansys:1", "--constraint=el9", "--exclude=n7",
		"--array=0-9", "--job-name=jabc", "--no-requeue", "--output=/dev/null", "--error=/dev/null", "--input=/dev/null",
		"--chdir=/",
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v\n%s", err, diff)
	}
	got, err = sbatchArgs(adapters.Bulk{Tag: "jabc", N: 1}, Config{}, nil)
	if want := append(want[:4:4], append([]string{"--array=0-0"}, want[18:]...)...); err != nil ||
		!slices.Equal(want, got) {
		t.Errorf("error %v\n%s", err, cmp.Diff(want, got))
	}
}

func TestDirective_OptionsThatJJMSetsAreRefused(t *testing.T) {
	for _, bad := range []string{
		"--array=1-3", "--arr 1-3", "-a 1-3", "-a1-3", "--job-name=x", "--job x", "-J x", "-o out", "-oout", "--error=x",
		"-e x",
		"--hold", "-H", "-sH", "-kH", "--requeue", "--no-requeue", "--export=NONE", "--wrap=true", "--chdir /tmp", "-D /tmp",
		"--wait", "-W",
		"--test-only", "--uid=0", "-M east", "", "-", "--", "--=x", "true", "#SBATCH", "-Q", "-V", "--parsable", "-C a\x00b",
	} {
		if got, err := directive(bad); jjm.KindOf(err) != jjm.Invalid {
			t.Errorf("%q: %q, error %v", bad, got, err)
		}
	}
	for line, want := range map[string]string{
		"--constraint=a&b": "--constraint=a&b", "#SBATCH --mem-per-cpu 4G": "--mem-per-cpu=4G", "-C avx2": "-Cavx2",
		"-Cavx2":      "-Cavx2",
		"--exclusive": "--exclusive", "-s": "-s", "--wait-all-nodes=1": "--wait-all-nodes=1", "-x 'n 1'": "-x'n 1'",
	} {
		if got, err := directive(line); got != want || err != nil {
			t.Errorf("%q: %q, error %v, want %q", line, got, err, want)
		}
	}
}

func testAdapter(t *testing.T, c Config) *Adapter {
	t.Helper()
	a, err := Open("east", adapters.Env{State: t.TempDir()}, c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestCheck_NamesTheFields(t *testing.T) {
	a := testAdapter(t, DefaultConfig())
	if err := a.Check(jjm.Request{Cores: 1 << 20, MemoryMB: 1 << 40}); err != nil {
		t.Errorf("nothing is known yet, but %v", err)
	}
	a.site = &site{defaultQueue: "short", partitions: map[string]partition{
		"short": {maxCores: 64, maxMemoryMB: 65536, maxWalltime: time.Hour, maxScratchMB: 10},
	}}
	err := a.Check(jjm.Request{
		Cores: 65, MemoryMB: 65537, Walltime: jjm.Duration(2 * time.Hour), GPUs: 1, ScratchMB: 11, QOS: "a b",
		Directives: "-C x",
	})
	for _, field := range []string{"cores", "memory_mb", "walltime", "gpus", "scratch_mb", "qos", "directives"} {
		if err == nil || !strings.Contains(err.Error(), "request."+field+":") {
			t.Errorf("%s is not named: %v", field, err)
		}
	}
	if jjm.KindOf(err) != jjm.Invalid {
		t.Errorf("kind %v", jjm.KindOf(err))
	}
	if err := a.Check(jjm.Request{Cores: 65, Queue: "unheard"}); err != nil {
		t.Errorf("sbatch knows better: %v", err)
	}
	a.config.AllowDirectives = true
	if err := a.Check(jjm.Request{Directives: "-C x"}); err != nil {
		t.Error(err)
	}
	if err := a.Check(jjm.Request{Directives: "-C x\n-J y"}); jjm.KindOf(err) != jjm.Invalid ||
		!strings.Contains(err.Error(), "-J") {
		t.Errorf("error %v", err)
	}
}

func TestConfig_MistakesAreNamed(t *testing.T) {
	tests := []struct {
		key    string
		change func(*Config)
	}{
		{"bin", func(c *Config) { c.Bin = "bin" }},
		{"max_bulk", func(c *Config) { c.MaxBulk = -1 }},
		{"history", func(c *Config) { c.History = 0 }},
		{"hook", func(c *Config) { c.Hook = "hook" }},
		{"directives[1]", func(c *Config) { c.Directives = []string{"-C x", "-J x"} }},
		{"rest", func(c *Config) { c.Rest = "unix:sock" }},
		{"rest", func(c *Config) { c.Rest = "localhost:1" }},
		{"rest", func(c *Config) { c.Rest, c.AllowDirectives = "unix:/s", true }},
		{"api", func(c *Config) { c.Rest, c.API = "unix:/s", "v0.0.40" }},
		{"token_file", func(c *Config) { c.Rest, c.TokenFile = "http://x", "t" }},
		{"token_command", func(c *Config) { c.Rest, c.TokenCommand = "http://x", []string{"t"} }},
	}
	for _, tt := range tests {
		c := DefaultConfig()
		tt.change(&c)
		_, err := Open("east", adapters.Env{}, c)
		if jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), tt.key+":") {
			t.Errorf("%s: %v", tt.key, err)
		}
	}
}

// commandsOf makes a folder of commands that are scripts.
func commandsOf(t *testing.T, scripts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestSubmit_TheHookAddsOptionsOrRefuses(t *testing.T) {
	dir := commandsOf(t, map[string]string{
		"sbatch": `echo "$@" >&2; echo "$@" >"$0.args"; cat >"$0.script"; echo 42`,
		"adds":   `read -r line; case $line in *'"tag":"jabc"'*) echo "--licenses=x:1"; echo; echo "-C el9";; esac`,
		"no":     `echo "ann may not" >&2; exit 3`,
		"steals": `echo "--job-name=x"`,
	})
	b := adapters.Bulk{
		Tag: "jabc", N: 2, Dir: "/", Argv: []string{"/bin/true"}, Owner: jjm.Owner{UID: os.Getuid(), User: "ann"},
	}
	submit := func(hook string) (adapters.Receipt, error) {
		c := DefaultConfig()
		c.Bin, c.Hook = dir, adapters.Hook(filepath.Join(dir, hook))
		return testAdapter(t, c).Submit(t.Context(), b)
	}
	if r, err := submit("adds"); err != nil || r.ID != "42" {
		t.Errorf("%+v, error %v", r, err)
	}
	args, err := os.ReadFile(filepath.Join(dir, "sbatch.args"))
	if err != nil || !strings.Contains(string(args), " --licenses=x:1 -Cel9 --array=0-1 ") {
		t.Errorf("sbatch got %q, error %v", args, err)
	}
	script, err := os.ReadFile(filepath.Join(dir, "sbatch.script"))
	if err != nil || !strings.Contains(string(script), `JJM_BATCH_ID="${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"`) {
		t.Errorf("the script is %q, error %v", script, err)
	}
	if _, err := submit("none"); !adapters.IsNotStarted(err) {
		t.Errorf("a hook that does not exist: %v", err)
	}
	for hook, what := range map[string]string{"no": "ann may not", "steals": "job-name"} {
		if _, err := submit(hook); jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", hook, err)
		}
	}
}

// squeueHead is the first line of squeue's answers.
const squeueHead = "JOBID|ARRAY_JOB_ID|ARRAY_TASK_ID|STATE|EXIT_CODE|RESTART_COUNT|SUBMIT_TIME|START_TIME|END_TIME|" +
	"EXEC_HOST|NAME|n|REASON|r|"

func TestFind_NothingIsAbsentWhileAccountingDoesNotAnswer(t *testing.T) {
	config, err := filepath.Abs("testdata/config.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir := commandsOf(t, map[string]string{
		"scontrol": "cat " + config,
		"sinfo":    `echo "short*|up|64|65536|1:00:00|0/64/0/64|10000|gpu:2"`,
		"squeue":   "echo '" + squeueHead + "'; echo '7|2|0|RUNNING|0|0|1795282554|1795282555|N/A|n1|jabc|n|None|r|'",
		"sacct":    "echo 'Problem talking to the database: Connection refused' >&2; exit 1",
	})
	c := DefaultConfig()
	c.Bin = dir
	a := testAdapter(t, c)
	ann := jjm.Owner{User: "ann"}
	got, err := a.Find(t.Context(), ann, []jjm.Tag{"jabc", "jdef"})
	want := []adapters.Found{{Tag: "jabc", Presence: adapters.Present, IDs: []string{"2"}}, {Tag: "jdef"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v\n%s", err, diff)
	}
	if _, err := a.List(t.Context(), ann, time.Unix(1795282000, 0)); jjm.KindOf(err) != jjm.Busy {
		t.Errorf("what squeue may have forgotten is not known: %v", err)
	}
	if l, err := a.List(t.Context(), ann, time.Now()); err != nil || len(l.Reports) != 1 {
		t.Errorf("what squeue knows needs no accounting: %+v, error %v", l, err)
	}
}

func TestFind_AccountingIsSearchedAsFarBackAsHistorySays(t *testing.T) {
	config, err := filepath.Abs("testdata/config.txt")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_795_282_000, 0)
	for _, back := range []time.Duration{2 * time.Hour, 48 * time.Hour} {
		c := DefaultConfig()
		c.History = jjm.Duration(back)
		c.Bin = commandsOf(t, map[string]string{
			"scontrol": "cat " + config,
			"sinfo":    `echo "short*|up|64|65536|1:00:00|0/64/0/64|10000|gpu:2"`,
			"squeue":   "echo '" + squeueHead + "'",
			"sacct":    `echo "$@" >"$0.args"; exit 1`,
		})
		a, err := Open("east", adapters.Env{State: t.TempDir(), Now: func() time.Time { return now }}, c)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := a.Find(t.Context(), jjm.Owner{User: "ann"}, []jjm.Tag{"jabc"}); err != nil {
			t.Fatal(err)
		}
		args, err := os.ReadFile(filepath.Join(c.Bin, "sacct.args"))
		if want := " -S " + uts(jjm.At(now.Add(-back))) + " "; err != nil || !strings.Contains(string(args), want) {
			t.Errorf("history %v: sacct got %q, error %v: want %q", back, args, err, want)
		}
	}
}

func TestCheckAccount_RootDoesNotSubmitForOthers(t *testing.T) {
	needs.Root(t, "to be refused what only root could do wrong")
	b := adapters.Bulk{Tag: "jabc", N: 1, Dir: "/", Argv: []string{"x"}, Owner: jjm.Owner{UID: 7, User: "ann"}}
	if _, err := testAdapter(t, DefaultConfig()).Submit(context.Background(), b); jjm.KindOf(err) != jjm.Denied {
		t.Errorf("error %v", err)
	}
}

// The test reads etc/clusters/slurm.toml with its commented-out examples enabled.
func TestExample_EverySettingIsExplainedAndKnown(t *testing.T) {
	text, err := os.ReadFile("../../etc/clusters/slurm.toml")
	if err != nil {
		t.Fatal(err)
	}
	on := regexp.MustCompile(`(?m)^# ([a-z_]+ = )`).ReplaceAllString(string(text), "$1")
	var file struct {
		Cluster []struct {
			Name string `toml:"name"`
			Kind string `toml:"kind"`
			Config
		} `toml:"cluster"`
	}
	meta, err := toml.Decode(on, &file)
	if err != nil || len(meta.Undecoded()) > 0 || len(file.Cluster) != 1 {
		t.Fatalf("unknown %v, error %v", meta.Undecoded(), err)
	}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		if key := field.Tag.Get("toml"); key != "" && !meta.IsDefined("cluster", key) &&
			!strings.Contains(on, "\n"+key+" = ") {
			t.Errorf("%s is not explained", key)
		}
	}
	c := file.Cluster[0].Config
	if c.History != DefaultConfig().History || c.API != DefaultConfig().API {
		t.Errorf("the defaults shown are not those: %+v", c)
	}
}

func TestJobDirective_OnlyWhatIsKnownToBeHarmless(t *testing.T) {
	for _, good := range []string{"--constraint=a&b", "#SBATCH --mem-per-cpu 4G", "-Cavx2", "--exclusive", "-s",
		"-x n[1-4]", "--mail-user=a@b.c"} {
		if _, err := jobDirective(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{
		"--bbf=/etc/shadow", "--bbf /etc/shadow", "--nodefile=/etc/shadow", "-F /etc/shadow", "-F/etc/shadow",
		"--nodelist=/etc/shadow", "-w ./x",
		"-w/etc/shadow", "--exclude /etc/shadow", "-x/etc/shadow", "--get-user-env", "--get-user-env=9L", "--get", "--reboot",
		"--export-file=3",
		"--container=/x", "--spank-x=1", "--nodel=/etc/shadow", "--exclu=/etc/shadow", "--propagate", "--mail-user=-Ox",
		"--mail-user=a,-Ox",
		"--mail-us=-Ox", "--uid=0", "--gid=0", "-M all", "--clus=all", "--wrap=x", "-sF/etc/shadow", "--contraint=x",
	} {
		if got, err := jobDirective(bad); jjm.KindOf(err) != jjm.Invalid {
			t.Errorf("%q: %q, error %v", bad, got, err)
		}
	}
}
