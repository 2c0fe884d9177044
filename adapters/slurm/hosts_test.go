package slurm

import (
	"context"
	"slices"
	"testing"

	"jjm/adapters"
	"jjm/internal/jjm"
)

func TestExclude_IsAddedToWhatOthersExclude(t *testing.T) {
	for name, tt := range map[string]struct {
		job  string
		site []string
		want []string
	}{
		"alone": {"", nil, []string{"--exclude=wn13,wn14"}},
		"beside the job's": {"--exclude=n1,n[2-3]\n", nil, []string{
			"--exclude=n1,n[2-3]", "--exclude=n1,n[2-3],wn13,wn14"}},
		"beside the last":     {"-x n1", []string{"--exclud=n7"}, []string{"-xn1", "--exclud=n7", "--exclude=n7,wn13,wn14"}},
		"another long option": {"--exclusive", nil, []string{"--exclusive", "--exclude=wn13,wn14"}},
	} {
		b := adapters.Bulk{Tag: "jabc", N: 2, Exclude: []string{"wn13", "wn14"}, Request: jjm.Request{Directives: tt.job}}
		got, err := sbatchArgs(b, Config{Common: adapters.Common{Directives: tt.site}}, nil)
		want := append(tt.want, "--array=0-1")
		if err != nil || len(got) < 4+len(want) || !slices.Equal(got[4:4+len(want)], want) {
			t.Errorf("%s: %q, error %v, want %q", name, got, err, tt.want)
		}
	}
	b := adapters.Bulk{Tag: "jabc", N: 1, Exclude: []string{"wn13"}}
	_, err := sbatchArgs(b, Config{Common: adapters.Common{Directives: []string{"--exclude=/etc/bad"}}}, nil)
	if jjm.KindOf(err) != jjm.Busy || !adapters.IsNotStarted(err) {
		t.Errorf("a file of nodes: %v", err)
	}
	if got := submission(b, Config{}, "", "/").Job.Exclude; got != "wn13" {
		t.Errorf("slurmrestd gets exclude_nodes %q", got)
	}
}

func TestUnknownHosts_AreThoseThatSinfoDoesNotShow(t *testing.T) {
	c := DefaultConfig()
	c.Bin = commandsOf(t, map[string]string{"sinfo": `test "$*" = "-h -a -N -o %N" && printf 'wn13\nwn14\nwn14\n'`})
	got, err := testAdapter(t, c).UnknownHosts(context.Background(), []string{"wn13", "wn1", "WN14"})
	if err != nil || !slices.Equal(got, []string{"wn1", "WN14"}) {
		t.Errorf("%q, %v", got, err)
	}
}

// An excluded host that has left Slurm, or an exclusion of all nodes, fails no job.
func TestSubmit_ExcludedHostsFailNoJob(t *testing.T) {
	for _, text := range []string{unknownNode, noneFits} {
		err := jjm.Errorf(jjm.Invalid, "sbatch: exit 1: error: %s", text)
		if got := withoutHosts(err, []string{"wn13"}); jjm.KindOf(got) != jjm.Busy {
			t.Errorf("%v", got)
		}
		if got := withoutHosts(err, nil); got != err {
			t.Errorf("without excluded hosts: %v", got)
		}
	}
}
