package web

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"jjm/internal/jjm"
)

// The page of a failed local job, and the examples of failures, show the last lines of standard error. The lines are
// inert and cut. The page of a local job that runs does not show them. While too many reads hang, a page is shown
// without them.
func TestJob_ShowsTheLastLinesOfStandardError(t *testing.T) {
	f := newFake()
	long := strings.Repeat("y", 2*maxText)
	f.locals[1].State, f.locals[2].Phase = jjm.Failed, jjm.RetryWait
	f.errors = map[string]string{"17.0": "it runs", "17.2": "again",
		"17.1": "first line\n\n" + hostile + "\n1\n  ^\n" + long + "\r\nlast line\n"}
	p := f.page(Config{Tokens: tokenFile(t)}, -1)
	failed := []string{">last line<", `&lt;script&gt;alert(1)`, `\x1b[2J`, ">  ^<", strings.Repeat("y", maxText) + " ..."}
	for path, all := range map[string][]string{"/jobs/17": failed, "/jobs/17.1": failed, "/jobs/17.2": {">again<"},
		"/jobs/17.0": {}} {
		_, text := answer(t, p, "ann", path)
		for _, want := range all {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", path, want, text)
			}
		}
		for _, bad := range []string{"first line", "it runs", "<script>alert", "\x1b", strings.Repeat("y", maxText+1)} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %q", path, bad)
			}
		}
	}
	if _, text := answer(t, p, "ann", "/jobs/17"); !strings.Contains(text, "<code>jjm cat 17.1 --stderr</code>") {
		t.Errorf("no command that shows the whole file in\n%s", text)
	}
	for _, user := range []string{"", "bob"} {
		for _, path := range []string{"/jobs/17", "/jobs/17.1"} {
			if _, text := answer(t, p, user, path); strings.Contains(text, "last line") {
				t.Errorf("%q sees the standard error of another account at %s", user, path)
			}
		}
	}
	for range mostReads {
		p.reads <- struct{}{}
	}
	if r, text := answer(t, p, "ann", "/jobs/17.1"); r.StatusCode != 200 || strings.Contains(text, "<pre") {
		t.Errorf("while all reads hang: %d\n%s", r.StatusCode, text)
	}
}

// All reads of standard error together hold up a page for at most errorTime, even if the reads hang and do not heed
// their context. The page is shown without these lines. When the reads end, the next page shows the lines.
func TestJob_AReadThatHangsHoldsUpNoPage(t *testing.T) {
	for _, path := range []string{"/jobs/17", "/jobs/17.1"} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			f.locals[1].State, f.held = jjm.Failed, make(chan struct{})
			f.errors = map[string]string{"17.1": "late", "17.2": "late", "17.3": "late"}
			f.jobs[1].Causes = []jjm.Cause{{Text: "a", First: "17.1"}, {Text: "b", First: "17.2"}, {Text: "c", First: "17.3"}}
			p := f.page(Config{Tokens: tokenFile(t)}, -1)
			// provoked: the clock of the bubble moves only while everything waits, so a page that waits longer has the lines
			time.AfterFunc(errorTime+time.Millisecond, func() { close(f.held) })
			r, text := answer(t, p, "ann", path)
			if r.StatusCode != 200 || !strings.Contains(text, "Evidence") || strings.Contains(text, ">late<") {
				t.Errorf("%s while reads hang: %d\n%s", path, r.StatusCode, text)
			}
			<-f.held
			synctest.Wait()
			if _, text := answer(t, p, "ann", path); !strings.Contains(text, ">late<") {
				t.Errorf("%s after the reads: no lines of standard error in\n%s", path, text)
			}
		})
	}
}
