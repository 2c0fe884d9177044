package all_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"jjm/internal/formats/glf"
	"jjm/internal/formats/jobfile"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
)

// end describes how all attempts of a local job end.
type end struct {
	// lasts is the run time of an attempt; 0 means that no attempt starts.
	lasts time.Duration
	// says is the keyword that the application writes before it ends with exit code 0. If says is "", the application ends
	// with the code exit.
	says string
	exit int
}

// evidence returns the evidence that an attempt with this end leaves behind.
func (e end) evidence(attempt int32) jjm.Evidence {
	if e.lasts == 0 {
		return jjm.Evidence{Batch: jjm.Report{State: jjm.BatchEndedFailed}, Claim: &jjm.Claim{Holder: jjm.HolderDaemon}}
	}
	began := jjm.Time(1_000_000)
	over := began.Add(e.lasts)
	exit, ended := e.exit, jjm.BatchEndedFailed
	log := glf.FormatLine(began.Time(), glf.Info, glf.StartData(attempt, "node", 1))
	if e.says != "" {
		exit, ended = 0, jjm.BatchEndedOK
		log += glf.FormatLine(over.Time(), e.says, "again")
	}
	log += glf.FormatLine(over.Time(), glf.Info, glf.EndData(exit))
	return jjm.Evidence{Batch: jjm.Report{State: ended, Exit: exit, Started: began, Ended: over},
		Result: &jjm.Result{Version: 1, Attempt: attempt, Started: began, Ended: over, Exit: exit, GLF: log}}
}

// retries returns the number of retries of a local job if all its attempts end in the same way.
func retries(t *testing.T, text string, e end) int {
	t.Helper()
	doc, problems := jobfile.Parse("job", []byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	l := jjm.LocalJob{State: jjm.Running}
	for n := range 100 {
		d := plan.Local(plan.LocalInput{Job: l, Result: doc.Spec.Result, Retry: doc.Spec.Retry, Now: 10_000_000_000,
			Evidence: e.evidence(l.Attempt)})
		if d.State != jjm.Submitting {
			return n
		}
		d.Apply(&l)
		l.State = jjm.Running
	}
	t.Fatal("it is tried without end")
	return 0
}

// retryTable returns the table of default retries on the page.
func retryTable(t *testing.T) [][]string {
	t.Helper()
	_, section, _ := strings.Cut(page(t, "JOB-FILES.md"), "\n## Retries\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var rows [][]string
	for _, line := range regexp.MustCompile(`(?m)^\| (.*) \|$`).FindAllStringSubmatch(section, -1) {
		rows = append(rows, strings.Split(line[1], " | "))
	}
	return rows
}

// The numbers of retries in the page's table equal the numbers that the code makes.
func TestJobFiles_RetriesEqualTheTable(t *testing.T) {
	early := time.Duration(*jjm.DefaultLimits().EarlyMinutes) * time.Minute
	within := fmt.Sprintf("within %d minutes", *jjm.DefaultLimits().EarlyMinutes)
	ends := map[string]end{"never started": {}, "failed " + within: {lasts: early, exit: 3},
		"failed later": {lasts: early + time.Second, exit: 3}, "asked for a retry " + within: {lasts: early, says: glf.Retry},
		"asked for a retry later": {lasts: early + time.Second, says: glf.Retry}}
	texts := map[string]string{"`glf`": "result = \"glf\"", "`exit`": "result = \"exit\"", "`exit`, with `[retry]`": "" +
		"result = \"exit\"\n[retry]\nmax_time_early_fails = 5"}
	table := retryTable(t)
	if len(table) == 0 || len(table[0]) != len(texts)+1 {
		t.Fatalf("the table is %q", table)
	}
	for _, row := range table[1:] {
		if e, known := ends[row[0]]; !known {
			t.Errorf("nothing here ends like %q", row[0])
		} else {
			for i, told := range row[1:] {
				if got := fmt.Sprint(retries(t, "type = \"script\"\n"+texts[table[0][i+1]], e)); got != told {
					t.Errorf("an attempt that %s, %s: %s retries, and the table says %s", row[0], table[0][i+1], got, told)
				}
			}
		}
		delete(ends, row[0])
	}
	for name := range ends {
		t.Errorf("%q is not in the table", name)
	}
}

// The defaults of the keys of [retry], in the code and in the page's table of keys, equal the defaults of GBS.
func TestJobFiles_RetryDefaultsAreThoseOfGBS(t *testing.T) {
	text := page(t, "JOB-FILES.md")
	lim := jjm.DefaultLimits()
	for key, n := range map[string]int{"max_time_early_fails": *lim.EarlyMinutes, "max_retry_early": *lim.Early,
		"max_retry_late_handled": *lim.LateHandled, "max_retry_late_unhandled": *lim.LateUnhandled} {
		row := regexp.MustCompile("(?m)^\\| `retry\\." + key + "` \\|.*\\| the site's, else " + fmt.Sprint(n) + " \\|")
		if !row.MatchString(text) {
			t.Errorf("retry.%s is %d unless somebody says otherwise, and the page tells another number", key, n)
		}
	}
}

// The waits between attempts in the page's text equal the waits of the code.
func TestJobFiles_WaitsEqualThePage(t *testing.T) {
	text := strings.Join(strings.Fields(page(t, "JOB-FILES.md")), " ")
	waits := func(unit time.Duration, f plan.BackoffFacts, n int) string {
		var all []string
		for f.Failures = 1; f.Failures <= n; f.Failures++ {
			all = append(all, fmt.Sprint(int(plan.Backoff(f)/unit)))
		}
		return strings.Join(all, ", ") + ", ..."
	}
	for _, want := range []string{
		waits(time.Minute, plan.BackoffFacts{Unit: plan.DefaultBackoff}, 3) +
			" minutes after the first, second, third failure",
		"fails after 3 seconds is tried again after " +
			waits(time.Second, plan.BackoffFacts{Unit: plan.DefaultBackoff, Brief: true, Ran: 3e9}, 3) + " seconds",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}
