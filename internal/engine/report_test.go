package engine_test

import (
	"strings"
	"testing"
	"time"

	text "jjm/internal/api/plain"
)

// The daemon dies when it has written the tar, and writes the tar again an hour later. The report in the tar must have
// the stored end of the grid job, not the later time.
func TestCollect_AfterACrashTheReportInTheTarHasTheStoredEnd(t *testing.T) {
	t.Parallel()
	c := &crasher{point: "collect.tarred", nth: 1, downtime: time.Hour}
	inWorld(t, options{crash: c}, func(t *testing.T, w *world) {
		sc := scenario{actions: []action{{0, submitAs("a", mc(4))}}}
		s := sc.begin(w)
		s.run(sc)
		if !c.fired {
			t.Error("the daemon did not die")
		}
		id := s.ids["a"]
		files, err := tarFiles(w.tarBytes(id))
		w.must(err)
		job, err := w.store.Grid(t.Context(), id)
		w.must(err)
		page := ""
		for name, content := range files {
			if strings.HasSuffix(name, "/report.html") {
				page = content
			}
		}
		for _, want := range []string{"<title>grid job " + id.String() + ": done</title>", text.Clock(job.Ended),
			"4 done, 0 failed, 0 killed, 0 running"} {
			if !strings.Contains(page, want) {
				t.Errorf("the page lacks %q:\n%s", want, page)
			}
		}
		w.verify(id, done(4))
		w.verifyQuiet()
	})
}
