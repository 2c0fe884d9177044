package plan

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"jjm/internal/jjm"
)

func TestNeeds_FillInWhatTheJobFileLeavesOpen(t *testing.T) {
	spec := func(r jjm.Request, params map[string]any) *jjm.Spec {
		return &jjm.Spec{Request: r, Split: &jjm.Splitting{Params: params}}
	}
	told := map[string]any{"performance": map[string]any{"timePerEvent": 12.0}}
	hour := jjm.Duration(time.Hour)
	for _, c := range []struct {
		spec *jjm.Spec
		e    jjm.Estimate
		want *jjm.Request
	}{
		{spec(jjm.Request{}, told), jjm.Estimate{Seconds: 1200, MemoryMB: 2000, DiskKB: 300 << 10},
			&jjm.Request{Walltime: jjm.Duration(20 * time.Minute), MemoryMB: 2048, ScratchMB: 512}},
		{spec(jjm.Request{}, told), jjm.Estimate{Seconds: 1200.5, DiskKB: 5 << 20},
			&jjm.Request{Walltime: jjm.Duration(30 * time.Minute), ScratchMB: 5 << 10}},
		{spec(jjm.Request{}, told), jjm.Estimate{Seconds: 14_401}, &jjm.Request{Walltime: 5 * hour}},
		{spec(jjm.Request{Walltime: hour, MemoryMB: 10, ScratchMB: 1}, told),
			jjm.Estimate{Seconds: 1200, MemoryMB: 1, DiskKB: 1}, nil},
		{spec(jjm.Request{Walltime: hour}, told), jjm.Estimate{Seconds: 1200, MemoryMB: 1}, &jjm.Request{MemoryMB: 64}},
		{spec(jjm.Request{}, nil), jjm.Estimate{Seconds: 1200}, nil},
		{&jjm.Spec{}, jjm.Estimate{Seconds: 1200}, nil},
		{spec(jjm.Request{}, map[string]any{"task": map[string]any{"hs06": true}}), jjm.Estimate{Seconds: 1200},
			&jjm.Request{Walltime: jjm.Duration(20 * time.Minute)}},
		{spec(jjm.Request{}, map[string]any{"task": map[string]any{"rule": "NF=2"}}), jjm.Estimate{Seconds: 1200}, nil},
		{spec(jjm.Request{}, told), jjm.Estimate{}, nil},
		{spec(jjm.Request{}, told), jjm.Estimate{Seconds: 1e30}, &jjm.Request{Walltime: 8760 * hour}},
	} {
		got := Needs(c.spec, c.e)
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%+v for %+v: %+v, want %+v", c.e, c.spec.Request, got, c.want)
		}
	}
}

// The requested wall time and disk space are never less than the estimate. The wall time exceeds the estimate by at
// most 10 minutes or a quarter, the disk space by at most one step.
func TestProperty_NeedsAreEnoughAndNotMuchMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.Float64Range(0, 1e7).Draw(t, "seconds")
		got := roundWalltime(seconds).Seconds()
		if got < seconds || got > max(seconds+600, seconds*1.25) {
			t.Fatalf("%v for %v", got, seconds)
		}
		disk := rapid.Float64Range(0, 1e9).Draw(t, "disk")
		if got := float64(roundUp(disk, 256)); got < disk || got > disk+256 {
			t.Fatalf("%v for %v", got, disk)
		}
	})
}
