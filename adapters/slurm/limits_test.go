package slurm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// limitsOf returns the limits of an account with the associations own, below accounts.
func limitsOf(own, accounts string) submitLimits {
	l := submitLimits{own: parseAssociations(own), accounts: map[string]association{}}
	for ask := accountsOf(l.own); len(ask) > 0; {
		ask = addAccounts(l.accounts, ask, parseAssociations(accounts))
	}
	return l
}

func TestLimits_OfAssociations(t *testing.T) {
	tests := map[string]struct {
		own, accounts, account string
		all, want              int // of all jobs, and of the jobs in account and partition short
		usual                  string
	}{
		"none":    {"grid|ann|||normal|||", "grid||root||normal|||", "", 0, 0, "normal"},
		"its own": {"grid|ann|||normal||50|", "", "", 50, 50, "normal"},
		"one of several, which one is not known": {"grid|ann|||normal||50|\ncms|ann|||normal||20|30", "", "", 0, 0,
			"normal"},
		"the named account": {"grid|ann|||normal||50|\ncms|ann|||normal||20|", "", "grid", 0, 50, "normal"},
		"of the account": {"grid|ann|||normal||50|",
			"grid||root||normal|||10\ngrid|bob|||normal|||1", "", 10, 10, "normal"},
		"of the account above": {"cms|ann|||normal|||",
			"cms||grid|||||\ngrid||root|||||8\nroot|||||||", "", 8, 8, "normal"},
		"of another account of the user": {"grid|ann|||normal|||\neight|ann|||normal|||",
			"grid||root|||||\neight||grid|||||8\nroot|||||||", "grid", 0, 0, "normal"},
		"of this account of the user": {"grid|ann|||normal|||\neight|ann|||normal|||",
			"grid||root|||||\neight||grid|||||8\nroot|||||||", "eight", 0, 8, "normal"},
		"of the account above several": {"grid|ann|||normal|||\neight|ann|||normal|||",
			"grid||root|||||40\neight||grid|||||8\nroot|||||||", "eight", 40, 8, "normal"},
		"of the root": {"atlas|ann|||normal|||\ncms|ann|||normal|||",
			"atlas||root|||||7\ncms||root|||||9\nroot|||||||60", "", 60, 60, "normal"},
		"accounts in a circle":       {"cms|ann|||normal|||", "cms||grid|||||\ngrid||cms|||||8", "", 8, 8, "normal"},
		"of another partition":       {"grid|ann||long|normal||5|\ngrid|ann||short|normal||9|", "", "", 0, 9, "normal"},
		"the default QOS":            {"grid|ann|||fast,normal|fast||", "", "", 0, 0, "fast"},
		"the only QOS":               {"grid|ann|||fast|||", "", "", 0, 0, "fast"},
		"several QOS, none usual":    {"grid|ann|||fast,slow|||", "", "", 0, 0, ""},
		"associations that disagree": {"grid|ann|||fast|||\ncms|ann|||slow|||", "", "", 0, 0, ""},
		"a limit of no jobs, a word": {"grid|ann|||normal||0|x", "", "", 0, 0, "normal"},
		"a warning beside it":        {"sacctmgr: beware\ngrid|ann|||normal||7|", "", "", 7, 7, "normal"},
	}
	for name, tt := range tests {
		l := limitsOf(tt.own, tt.accounts)
		if all, got := l.all(), l.most(tt.account, "short", ""); all != tt.all || got != tt.want {
			t.Errorf("%s: limit %d of all jobs, want %d; %d of account %q, want %d", name, all, tt.all, got, tt.account,
				tt.want)
		}
		if got := usualQOS(ofAccount(l.own, tt.account, "short")); got != tt.usual {
			t.Errorf("%s: usual QOS %q, want %q", name, got, tt.usual)
		}
	}
}

func TestLimits_OfQOS(t *testing.T) {
	got := parseQOS("normal||||\nbad line\nnormal|||\nfast|10||\nslow||30|20\n")
	if diff := cmp.Diff(map[string]int{"normal": 0, "fast": 10, "slow": 20}, got); diff != "" {
		t.Error(diff)
	}
	partitions := parsePartitionQOS("PartitionName=short AllowQos=ALL Default=YES QoS=N/A State=UP\n" +
		"PartitionName=long AllowQos=ALL QoS=part_long State=UP\nnone\n")
	if diff := cmp.Diff(map[string]string{"long": "part_long"}, partitions); diff != "" {
		t.Error(diff)
	}
	l := limitsOf("grid|ann|||debug,fast,normal|normal|50|", "grid||root|||||")
	l.qos = map[string]int{"normal": 40, "fast": 60, "debug": 2, "part_long": 30}
	l.partitionQOS = map[string]string{"long": "part_long"}
	for _, tt := range []struct {
		queue, qos string
		want       int
	}{{"short", "", 40}, {"short", "fast", 50}, {"short", "debug", 2}, {"long", "", 30}, {"long", "unknown", 30},
		{"short", "unknown", 50}} {
		if got := l.most("", tt.queue, tt.qos); got != tt.want {
			t.Errorf("%v: %d", tt, got)
		}
	}
	if n := l.all(); n != 50 {
		t.Errorf("jobs may have any of three QOSes: limit %d of all jobs, want 50", n)
	}
	if l.own[0].qos = []string{"normal"}; l.all() != 40 {
		t.Errorf("jobs have one QOS: limit %d of all jobs, want 40", l.all())
	}
	if l := (submitLimits{}); l.most("", "short", "") != 0 || l.all() != 0 {
		t.Errorf("nothing known: %d, %d", l.most("", "short", ""), l.all())
	}
}

// Only limits on all jobs of the account are among the capabilities. The size of a bulk also obeys the limits of its
// account, QOS and partition: a larger bulk is rejected by the adapter before sbatch runs.
func TestLimits_BoundBulks(t *testing.T) {
	config, err := filepath.Abs("testdata/config.txt")
	if err != nil {
		t.Fatal(err)
	}
	node := `|up|64|65536|1:00:00|0/64/0/64|10000|gpu:2"`
	dir := commandsOf(t, map[string]string{
		"scontrol": `case "$*" in
*"show config") sed 's/^AccountingStorageEnforce .*/AccountingStorageEnforce = associations,limits,qos/' ` + config + `;;
*"show partition") echo "PartitionName=short QoS=N/A State=UP"; echo "PartitionName=long QoS=part State=UP";;
ping) echo "Slurmctld(primary) at vm is UP";;
esac`,
		"sinfo": `echo "short*` + node + `; echo "long` + node,
		"sacctmgr": `case "$*" in
*" user="*) echo "atlas|ann|||debug,normal|normal||"; echo "eight|ann|||normal|normal||";;
*" account=atlas,eight "*) echo "atlas||grid||normal|||"; echo "atlas|bob|||normal|||1"
	echo "eight||grid||normal|||8";;
*" account=grid "*) echo "grid||root||normal|||25";;
*" account=root "*) echo "root||||normal|||";;
*" qos "*) echo "normal|10||"; echo "debug|3||"; echo "part||5|";;
esac`,
		"sbatch": `touch "$0.ran"; echo 42`,
	})
	c := DefaultConfig()
	c.Bin = dir
	a := testAdapter(t, c)
	if err := a.Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	a.asked.Wait()
	if got := a.Capabilities(); got.MaxBulk != 25 || got.MaxQueued != 25 {
		t.Errorf("bulks of %d, %d queued; want 25 of each, of the account above all", got.MaxBulk, got.MaxQueued)
	}
	for want, r := range map[int]jjm.Request{10: {}, 3: {QOS: "debug"}, 5: {Queue: "long"}, 8: {Account: "eight"}} {
		if got := a.MaxBulkOf(r); got != want {
			t.Errorf("bulks of %d, want %d: %+v", got, want, r)
		}
	}
	submit := func(n int, r jjm.Request) error {
		_, err := a.Submit(t.Context(), adapters.Bulk{Tag: "jabc", N: n, Dir: "/", Argv: []string{"/bin/true"}, Request: r,
			Owner: jjm.Owner{UID: os.Getuid(), User: "ann"}})
		return err
	}
	for what, r := range map[string]jjm.Request{"QOS": {QOS: "debug"}, "partition": {Queue: "long"},
		"account": {Account: "eight"}} {
		if err := submit(9, r); !adapters.IsTooMany(err) || !adapters.IsNotAsked(err) || jjm.KindOf(err) != jjm.Busy {
			t.Errorf("too many for the %s: %v", what, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "sbatch.ran")); err == nil {
		t.Error("sbatch was asked for what is too many")
	}
	const told = "accounting allows 8 submitted jobs in account eight, partition (the usual one) and QOS (the usual one)"
	refused := adapters.TooMany(jjm.Errorf(jjm.Busy, "sbatch: exit 1: AssocGrpSubmitJobsLimit"))
	err = a.withLimit(refused, adapters.Bulk{N: 2, Request: jjm.Request{Account: "eight"}})
	if !strings.HasSuffix(err.Error(), "AssocGrpSubmitJobsLimit; "+told) || !adapters.IsTooMany(err) {
		t.Errorf("a refusal by sbatch: %v", err)
	}
	if err := submit(3, jjm.Request{QOS: "debug"}); err != nil {
		t.Errorf("what fits: %v", err)
	}
}
