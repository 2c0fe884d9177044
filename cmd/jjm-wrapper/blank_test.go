package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A job runs in a work area whose path has blanks, and calls the helpers of the wrapper by their quoted paths.
func TestHelpers_WorkBelowAPathWithBlanks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my  work *")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := newSiteAt(t, dir, `"$JJM_PROGRESS" sim 1 2 && echo '<host id="n1"/>' | "$JJM_RECORD" && "$GBS_LOG" SUCCEEDED -`)
	s.run(exitOK)
	r := s.result()
	if diff := cmp.Diff([]string{"SUCCEEDED -"}, terminals(r)); diff != "" || r.Exit != 0 || len(r.Phases) != 1 ||
		r.Fragment == "" {
		t.Errorf("%s\n%+v", diff, r)
	}
}
