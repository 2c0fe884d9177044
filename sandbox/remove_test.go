package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"jjm/internal/jjm"
)

// A package is removed together with the last grid job that uses it. Unfinished packages are not removed.
func TestRemovePackages_GoWithTheirLastUser(t *testing.T) {
	a := newArea(t)
	for grid, pkg := range map[jjm.GridID]string{1: "aa", 2: "bb", 3: "aa", 4: ""} {
		put(t, a, "packages/"+pkg+"/run.sh", "x")
		if err := a.WriteJob(Job{Grid: grid, Package: pkg}); err != nil {
			t.Fatal(err)
		}
	}
	put(t, a, "packages/run.sh", "left there by its owner")
	put(t, a, "packages/"+tmpPrefix+"x/run.sh", "being made")
	put(t, a, "jobs/5/0xxx/0/attempt.0/stdout", "a grid job without a file")
	put(t, a, "jobs/other/job.json", "no grid job")
	check := func(want ...string) {
		t.Helper()
		if err := a.RemovePackages(t.Context()); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(filepath.Join(a.Root(), "packages"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range entries {
			got = append(got, e.Name())
		}
		if !slices.Equal(got, want) {
			t.Errorf("packages %v, want %v", got, want)
		}
	}
	check(tmpPrefix+"x", "aa", "bb")
	remove := func(grid jjm.GridID) {
		t.Helper()
		if err := a.RemoveGrid(t.Context(), grid); err != nil {
			t.Fatal(err)
		}
	}
	remove(1)
	remove(2)
	check(tmpPrefix+"x", "aa")
	remove(3)
	check(tmpPrefix + "x")
}

// If a file that says which package a grid job uses cannot be read, no package is removed.
func TestRemovePackages_StopsAtAFileThatCannotBeRead(t *testing.T) {
	a := newArea(t)
	put(t, a, "packages/aa/run.sh", "x")
	put(t, a, "jobs/7/job.json", "{")
	if err := a.RemovePackages(t.Context()); jjm.KindOf(err) != jjm.Invalid {
		t.Errorf("error %v", err)
	}
	if !exists(filepath.Join(a.Root(), "packages/aa/run.sh")) {
		t.Error("the package is gone")
	}
}

// The next call continues an interrupted removal.
func TestRemoveGrid_StopsAndGoesOn(t *testing.T) {
	a := newArea(t)
	put(t, a, AttemptDir(first)+"/work/out.dat", "x")
	put(t, a, TarDir(17)+"/a.tar", "x")
	put(t, a, TarDir(17)+"/a.g2.tar", "x")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := a.RemoveGrid(ctx, 17); jjm.KindOf(err) != jjm.Busy {
		t.Errorf("error %v", err)
	}
	if err := a.RemoveGrid(t.Context(), 17); err != nil || exists(filepath.Join(a.Root(), "jobs/17")) {
		t.Errorf("error %v", err)
	}
}
