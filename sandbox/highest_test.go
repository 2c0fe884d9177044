package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jjm/internal/jjm"
)

func TestHighest_OfTheAreasOfThisAccount(t *testing.T) {
	work := t.TempDir()
	for _, dir := range []string{"alice/jobs/3", "alice/jobs/12", "alice/jobs/notes", "bob/jobs/7", "carol/bulks",
		"elsewhere/99"} {
		if err := os.MkdirAll(filepath.Join(work, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(work, "elsewhere"), filepath.Join(work, "carol/jobs")); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 { // only root can change the owner
		mallory := filepath.Join(work, "mallory")
		if err := os.MkdirAll(mallory+"/jobs/99", 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(mallory, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	if n, dir := Highest(work); n != 12 || dir != filepath.Join(work, "alice/jobs") {
		t.Errorf("%d in %s, want 12 in that of alice", n, dir)
	}
	if n, dir := Highest(filepath.Join(work, "none")); n != 0 || dir != "" {
		t.Errorf("without work areas: %d in %q", n, dir)
	}
}

func TestCheckUnused_RefusesWhatAnotherGridJobLeft(t *testing.T) {
	a := newArea(t)
	check := func(want string) {
		t.Helper()
		err := a.CheckUnused(17)
		if (err == nil) != (want == "") || err != nil && (jjm.KindOf(err) != jjm.Invalid || !strings.Contains(err.Error(),
			want)) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	check("")
	if err := a.WriteJob(Job{Grid: 17}); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(a.Root(), TarDir(17)), 0o700); err != nil {
		t.Fatal(err)
	}
	check("") // an earlier preparation was interrupted
	if err := os.MkdirAll(filepath.Join(a.Root(), AttemptDir(first)), 0o700); err != nil {
		t.Fatal(err)
	}
	check("jobs/17 has local jobs of another grid job 17")
}
