package sge

import (
	"slices"
	"strings"
	"testing"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/testkit/testbed"
)

func TestExclude_IsAHardRequestBesideTheWantedHost(t *testing.T) {
	for opts, want := range map[string]string{
		"":                                     "-hard -l h=!(wn13|wn14.x.org)",
		"-l h_rt=5 -q all.q":                   "-hard -l h=!(wn13|wn14.x.org)",
		"-l arch=lx,hostname=lx*":              "-hard -l h=(lx*)&!(wn13|wn14.x.org)",
		"-l h=a -l h=b":                        "-hard -l h=(b)&!(wn13|wn14.x.org)",
		"-l h=a -soft -l h=b":                  "-hard -l h=(a)&!(wn13|wn14.x.org)",
		"-soft -l h=b -hard -l h=!c -P h=none": "-hard -l h=(!c)&!(wn13|wn14.x.org)",
	} {
		got := excludeOptions(strings.Fields(opts), []string{"wn13", "wn14.x.org"})
		if !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%q: %q, want %q", opts, got, want)
		}
	}
	if got := excludeOptions(strings.Fields("-l h=a"), nil); got != nil {
		t.Errorf("no excluded host: %q", got)
	}
}

// The bed has one host. A job that excludes another host runs. A job that excludes this host waits while a later job
// runs to its end.
func TestBeds_JobsStayOffAnExcludedHost(t *testing.T) {
	t.Parallel()
	bed := testbed.Start(t, "sge")
	a, dir := onBed(t, bed, bed.Bin), bed.Dir(t)
	run := func(exclude ...string) adapters.Bulk {
		b := bulkOf(t, bed, dir, 1, "exit 0")
		b.Exclude = exclude
		r, err := a.Submit(t.Context(), b)
		if err != nil {
			t.Fatal(err)
		}
		release(t, a, b, r)
		return b
	}
	ended := func(b adapters.Bulk) jjm.Report {
		patient(t, "ended", func() bool { return one(t, a, b).State == jjm.BatchEndedOK })
		return one(t, a, b)
	}
	host := ended(run("wn77.example.org")).Host
	off := run(host)
	defer sweep(t, a, bed, off.Tag)
	ended(run())
	if r := one(t, a, off); r.State != jjm.BatchQueued || host == "" {
		t.Errorf("host %q is excluded: %+v", host, r)
	}
}
