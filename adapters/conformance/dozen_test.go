package conformance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/adapters/local"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
)

const whileTheyRun = "listings are whole while jobs run"

// roomy sets up the embedded batch system with a slot for each of the dozen jobs. A submission takes only one job, and
// is slow.
func roomy(t *testing.T, plant func(l *liar, s *System)) func(l *liar, s *System) {
	return func(l *liar, s *System) {
		c := local.DefaultConfig()
		c.Slots, c.Grace = dozen, jjm.Duration(100*time.Millisecond)
		a, err := local.New("local", adapters.Env{State: t.TempDir()}, c)
		if err != nil {
			t.Fatal(err)
		}
		l.Adapter, s.Patience = a, await.Guard(4*time.Minute)
		l.caps = func(c adapters.Capabilities) adapters.Capabilities { c.MaxBulk = 1; return c }
		l.pretend = func(adapters.Bulk) error { time.Sleep(400 * time.Millisecond); return nil }
		plant(l, s)
	}
}

// If a listing loses a job only while several jobs run, the check finds this even with slow submissions and listings,
// because the jobs wait for the check.
func TestWholeRunning_JobsOutlastSlowCommands(t *testing.T) {
	t.Parallel()
	o := Try(t.Context(), named(t, whileTheyRun), localSystem(roomy(t, func(l *liar, _ *System) {
		l.listed = func(all []jjm.Report) (some []jjm.Report) {
			time.Sleep(time.Second)
			n := 0
			for _, r := range all {
				if r.State == jjm.BatchRunning {
					n++
				}
				if r.State != jjm.BatchRunning || n != 7 {
					some = append(some, r)
				}
			}
			return some
		}
	})))
	if o.Word() != "FAILED" || !strings.Contains(fmt.Sprint(o.Failures), "is missing in listing") {
		t.Errorf("%s: %q", o.Word(), o.Failures)
	}
}

// If files are not shared, the check cannot make the jobs wait. If no listing then shows them running, the check counts
// as not tried.
func TestWholeRunning_WithoutListingsOfRunningJobsItIsNotTried(t *testing.T) {
	t.Parallel()
	open := siteSystem(t, &Site{}, roomy(t, func(l *liar, _ *System) {
		shared := l.caps
		l.caps = func(c adapters.Capabilities) adapters.Capabilities { c = shared(c); c.SharedFS = false; return c }
		l.report = func(r jjm.Report) (jjm.Report, bool) {
			if r.State == jjm.BatchRunning {
				r.State = jjm.BatchQueued
			}
			return r, true
		}
	}))
	o := Try(t.Context(), named(t, whileTheyRun), open)
	if o.Word() != "not tried" || o.NotTried != "no listing was made while any of the 12 jobs ran" {
		t.Errorf("%s: %q %q", o.Word(), o.NotTried, o.Failures)
	}
}

func TestOnlooker_WantsManyAtOnceInSeveralListings(t *testing.T) {
	for _, tt := range []struct {
		name  string
		slots int
		run   []int // number of running jobs in each listing
		want  string
	}{
		{"all at once", 0, []int{12, 12, 12, 12, 12}, ""},
		{"as many as there are slots", 2, []int{2, 2, 1, 2, 2, 2}, ""},
		{"none", 100, []int{0, 0, 0, 0, 0, 0}, "no listing was made while"},
		{"too few", 100, []int{7, 7, 7, 7, 7, 7}, "at most 7 of 12 jobs were seen running at once, and 8 are needed"},
		{"too seldom", 100, []int{8}, "only 1 listing showed 8 jobs running at once, and 5 are needed"},
	} {
		o := newOnlooker(tt.slots, 0)
		o.book.expect("a", dozen)
		for i, n := range tt.run {
			var all []jjm.Report
			for index := range dozen {
				r := jjm.Report{Tag: "a", Index: int32(index), ID: fmt.Sprint(index), State: jjm.BatchQueued}
				if index < n {
					r.State = jjm.BatchRunning
				}
				all = append(all, r)
			}
			if problems := o.look(time.Unix(int64(i), 0), all); len(problems) > 0 {
				t.Errorf("%s: %q", tt.name, problems)
			}
		}
		if got := o.lacking(); !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
