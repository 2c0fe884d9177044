package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
)

// bulkDefects returns the defects that the checks of bulks find, by check, each with a part of the error.
func bulkDefects() []struct{ check, defect, says string } {
	const scatter = "scattered jobs of a bulk can be cancelled"
	return []struct{ check, defect, says string }{
		{"a bulk of two is accepted", "arrays are refused", "non-rerunable Array Job"},
		{scatter, "only the first two runs are", "18 live after at most 3 cancels"},
		{scatter, "some are, and the rest is never", "live after at most 3 cancels"},
		{scatter, "each costs as much as one", "opened 3 connections, that of 20 jobs that are no neighbours 60"},
		{"ids of many bulks are answered", "only the first is accounted", "11 are not answered"},
		{"looking opens few connections", "one for each id", "an accounting opened 16 connections"},
	}
}

func TestBulkChecks_EachFindsItsDefectAndSaysIt(t *testing.T) {
	for _, want := range bulkDefects() {
		t.Run(want.check+": "+want.defect, func(t *testing.T) {
			t.Parallel()
			o := Try(t.Context(), named(t, want.check), localSystem(func(l *liar, s *System) {
				s.Patience = await.Provoked(10 * time.Second)
				defects()[want.check][want.defect](l, s)
			}))
			if o.Word() != "FAILED" || !strings.Contains(fmt.Sprint(o.Failures), want.says) {
				t.Errorf("%s, want %q: %q", o.Word(), want.says, o.Failures)
			}
		})
	}
}

func TestBulkChecks_ACarefulAdapterPasses(t *testing.T) {
	for _, c := range bulkChecks() {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			o := Try(t.Context(), c, localSystem(func(l *liar, s *System) {
				s.Patience = await.Guard(4 * time.Minute)
				l.runs = func(ctx context.Context, _ []string) { runTrue(ctx, nil) } // one command for all ids
			}))
			if o.Word() != "ok" {
				t.Errorf("%s: %s %q", o.Word(), o.Skipped, o.Failures)
			}
		})
	}
}

// If the connections cannot be counted, the check is not applicable, with the reason, and does not pass.
func TestFewConnections_WithoutCommandsItIsNotApplicable(t *testing.T) {
	o := Try(t.Context(), named(t, "looking opens few connections"), siteSystem(t, &Site{}, nil))
	if o.Word() != "not applicable" || !strings.Contains(o.Skipped, "nobody can count") {
		t.Errorf("%s: %q %q", o.Word(), o.Skipped, o.Failures)
	}
}

// An adapter passes if a cancel runs one command for each job and a listing before and after these commands, because
// PBS requires this.
func TestCancelScattered_ACommandForEachJobPasses(t *testing.T) {
	o := Try(t.Context(), named(t, "scattered jobs of a bulk can be cancelled"), localSystem(func(l *liar, s *System) {
		s.Patience = await.Guard(4 * time.Minute)
		l.cancels = func(n int) int { return n + 2 }
	}))
	if o.Word() != "ok" {
		t.Errorf("%s: %q", o.Word(), o.Failures)
	}
}

// An adapter passes if it limits the commands of a call and returns Busy for the remaining jobs.
func TestCancelScattered_BusyForTheRestIsTriedAgain(t *testing.T) {
	const most = 8
	o := Try(t.Context(), named(t, "scattered jobs of a bulk can be cancelled"), localSystem(func(l *liar, s *System) {
		s.Patience = await.Guard(4 * time.Minute)
		l.bound = most
	}))
	if o.Word() != "ok" {
		t.Errorf("%s: %q", o.Word(), o.Failures)
	}
}

// On a site that refuses arrays one check fails, which is the second in the output. Checks that need bulks are not
// tried and name the failed check. The other checks pass.
func TestRun_ARefusedBulkIsShownFirstAndOnce(t *testing.T) {
	open := siteSystem(t, &Site{Kind: "pbs"}, func(l *liar, s *System) {
		s.Patience = await.Guard(4 * time.Minute)
		l.refusesBulks(s)
	})
	var shown []Outcome
	sum := Run(t.Context(), ForSite(), open, func(o Outcome) { shown = append(shown, o) })
	if sum.Failed != 1 || len(shown) != len(ForSite()) || shown[1].Check.Name != "a bulk of two is accepted" ||
		shown[1].Word() != "FAILED" || !strings.Contains(shown[1].Remedy, "submit an array of two jobs by hand") {
		t.Fatalf("%+v of %d: %+v", sum, len(shown), shown[:2])
	}
	untried := 0
	for _, o := range shown[2:] {
		if o.Word() == "not tried" && strings.Contains(o.NotTried, `"a bulk of two is accepted"`) {
			untried++
		} else if o.Word() == "FAILED" || o.Word() == "not tried" {
			t.Errorf("%s: %s %q %q", o.Check.Name, o.Word(), o.NotTried, o.Failures)
		}
	}
	if untried < 5 {
		t.Errorf("%d checks that need bulks are not tried", untried)
	}
}

func TestSchedule_EarlyChecksComeBeforeTheOthers(t *testing.T) {
	var order []string
	checks := []Check{{Name: "first"}, {Name: "a"}, {Name: "b", Alone: true}, {Name: "e1", early: true},
		{Name: "e2", early: true}}
	Schedule(checks, func(c Check) bool { order = append(order, c.Name); return false })
	if want := []string{"first", "e1", "e2", "a", "b"}; !slices.Equal(order, want) {
		t.Errorf("%q, want %q", order, want)
	}
}

func TestConnections_CountsTheWordsThatNameIDs(t *testing.T) {
	ids := []string{"25", "31"}
	for _, tt := range []struct {
		argv string
		want int
	}{
		{"qstat -f -F json -t", 1},
		{"qstat -x -f -F json 25[] 31", 2},
		{"qstat -x 25.server 31[3] 31[5]", 3},
		{"sacct -j 25,31", 1},
		{"sacct -S uts2531", 1},
		{"qdel 250 311", 1},
		{"25", 1},
	} {
		if got := connections(strings.Fields(tt.argv), ids); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.argv, got, tt.want)
		}
	}
}

// bounded makes a cancel act on the first few jobs of a call, and return Busy for the remaining jobs.
func bounded(l *liar, jobs []adapters.Ref, act func(some []adapters.Ref) ([]error, error)) ([]error, error) {
	answers, err := act(jobs[:min(len(jobs), l.bound)])
	for len(answers) < len(jobs) && err == nil {
		answers = append(answers, jjm.Errorf(jjm.Busy, "later: %d commands at once", l.bound))
	}
	return answers, err
}
