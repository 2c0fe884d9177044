package plan_test

import (
	"strings"
	"testing"

	"jjm/internal/policy/plan"
)

func TestExcess_NamesTheSettingAndTheNumbers(t *testing.T) {
	for _, c := range []struct {
		name       string
		have, most plan.PerUser
		want       string
	}{
		{"no bounds", plan.PerUser{GridJobs: 1 << 30, LocalJobs: 1 << 30}, plan.PerUser{}, ""},
		{"below both", plan.PerUser{GridJobs: 9, LocalJobs: 99}, plan.PerUser{GridJobs: 10, LocalJobs: 100}, ""},
		{"grid jobs", plan.PerUser{GridJobs: 10}, plan.PerUser{GridJobs: 10, LocalJobs: 100},
			"10 live grid jobs, and engine.max_grid_jobs_per_user allows 10"},
		{"a bound was lowered", plan.PerUser{GridJobs: 30}, plan.PerUser{GridJobs: 10},
			"30 live grid jobs, and engine.max_grid_jobs_per_user allows 10"},
		{"local jobs", plan.PerUser{GridJobs: 9, LocalJobs: 100}, plan.PerUser{GridJobs: 10, LocalJobs: 100},
			"100 live local jobs, and engine.max_local_jobs_per_user allows 100"},
		{"local jobs alone", plan.PerUser{GridJobs: 9, LocalJobs: 2}, plan.PerUser{LocalJobs: 1},
			"2 live local jobs, and engine.max_local_jobs_per_user allows 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := plan.Excess(c.have, c.most)
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("have %q: want %q", got, c.want)
			}
		})
	}
}

func TestLow_IsTheFloorOrAHundredth(t *testing.T) {
	floor := plan.Floor{Bytes: 64 << 20, Files: 1000}
	for _, c := range []struct {
		name  string
		space plan.Space
		floor plan.Floor
		want  string
	}{
		{"large and free", plan.Space{Bytes: 1 << 40, FreeBytes: 1 << 30, Files: 1 << 20, FreeFiles: 1000}, floor, ""},
		{"bytes", plan.Space{Bytes: 1 << 40, FreeBytes: 64<<20 - 1, Files: 1 << 20, FreeFiles: 1000}, floor,
			"engine.min_free_bytes keeps 67108864"},
		{"inodes", plan.Space{Bytes: 1 << 40, FreeBytes: 1 << 30, Files: 1 << 20, FreeFiles: 999}, floor,
			"engine.min_free_files keeps 1000"},
		{"no inodes are counted", plan.Space{Bytes: 1 << 40, FreeBytes: 1 << 30}, floor, ""},
		{"small, a hundredth is free", plan.Space{Bytes: 24 << 20, FreeBytes: 1 << 20, Files: 5000, FreeFiles: 50}, floor,
			""},
		{"small and full", plan.Space{Bytes: 24 << 20, Files: 5000, FreeFiles: 50}, floor, "0 bytes are free"},
		{"no floor", plan.Space{Bytes: 1 << 40, Files: 1 << 20}, plan.Floor{}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := plan.Low(c.space, c.floor)
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("have %q: want %q", got, c.want)
			}
		})
	}
}

// A file system is near its floor if less than twice the floor is free.
func TestNear(t *testing.T) {
	floor := plan.Floor{Bytes: 64 << 20, Files: 1000}
	for _, c := range []struct {
		name  string
		space plan.Space
		want  string
	}{
		{"twice the floor", plan.Space{Bytes: 1 << 40, FreeBytes: 128 << 20, Files: 1 << 20, FreeFiles: 2000}, ""},
		{"fewer bytes", plan.Space{Bytes: 1 << 40, FreeBytes: 128<<20 - 1, Files: 1 << 20, FreeFiles: 2000},
			"134217727 bytes are free, and below 67108864 no new work is accepted"},
		{"fewer inodes", plan.Space{Bytes: 1 << 40, FreeBytes: 128 << 20, Files: 1 << 20, FreeFiles: 1999},
			"1999 inodes are free, and below 1000 no new work is accepted"},
		{"no inodes are counted", plan.Space{Bytes: 1 << 40, FreeBytes: 128 << 20}, ""},
		{"small", plan.Space{Bytes: 24 << 20, FreeBytes: 1 << 20, Files: 5000, FreeFiles: 100}, ""},
	} {
		if got := plan.Near(c.space, floor); got != c.want {
			t.Errorf("%s: have %q: want %q", c.name, got, c.want)
		}
	}
}
