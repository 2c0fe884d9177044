package plan_test

import (
	"testing"

	"jjm/internal/policy/plan"
)

func TestRelieve_DecidesByWhatIsFree(t *testing.T) {
	disk := func(free uint64, change func(*plan.Disk)) plan.Disk {
		d := plan.Disk{Space: plan.Space{Bytes: 10_000, FreeBytes: free, Files: 1000, FreeFiles: 500},
			Floor: plan.Floor{Bytes: 1000, Files: 100}, Reserve: 625, Held: true}
		change(&d)
		return d
	}
	for name, c := range map[string]struct {
		disk plan.Disk
		want plan.Relief
	}{
		"enough":                      {disk(200, func(*plan.Disk) {}), plan.Relief{}},
		"low":                         {disk(199, func(*plan.Disk) {}), plan.Relief{Shut: true, GiveUp: true}},
		"low, and nothing in reserve": {disk(0, func(d *plan.Disk) { d.Held = false }), plan.Relief{Shut: true}},
		"low in inodes": {disk(5000, func(d *plan.Disk) {
			d.Space.FreeFiles = 19
		}), plan.Relief{Shut: true, GiveUp: true}},
		"inodes are not counted": {disk(5000, func(d *plan.Disk) {
			d.Space.Files, d.Space.FreeFiles = 0, 0
		}), plan.Relief{}},
		"full, and no floor": {disk(0, func(d *plan.Disk) {
			d.Floor = plan.Floor{}
		}), plan.Relief{Shut: true, GiveUp: true}},
		"given up, and no room for it": {disk(1024, func(d *plan.Disk) {
			d.Held, d.Shut, d.Calm = false, true, true
		}), plan.Relief{}},
		"given up, and room again": {disk(1025, func(d *plan.Disk) { d.Held = false }), plan.Relief{TakeBack: true}},
		"none is wanted, shut and calm": {disk(300, func(d *plan.Disk) {
			d.Reserve, d.Held, d.Shut, d.Calm = 0, false, true, true
		}), plan.Relief{Open: true}},
		"shut, and something was just done": {disk(300, func(d *plan.Disk) { d.Shut = true }), plan.Relief{}},
		"shut and calm": {disk(300, func(d *plan.Disk) {
			d.Shut, d.Calm = true, true
		}), plan.Relief{Open: true}},
	} {
		if got := plan.Relieve(c.disk); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	if got := plan.ReserveOf(plan.Space{Bytes: 1600}, 1000); got != 100 {
		t.Errorf("of a small disk %d is kept", got)
	}
}
