package report

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Resource is a requested and used amount. Used is "" while it is not known.
type Resource struct {
	Name, Requested, Used string
	// Share is the used part of the requested amount, 0 if it is not known. Percent is Share for a bar, at most 100.
	Share   float64
	Percent int
}

// Resources returns the requested and the used amount of each resource: for each local job of a grid job and by all its
// ended attempts together, or if one is set, by the one local job of the status.
func Resources(s *wire.Status, one bool) []Resource {
	used, asked := s.Lookup.Usage, s.Request
	if one && s.Detail != nil {
		used = s.Detail.Used
		if o := s.Detail.Asked; o != nil {
			asked.MemoryMB, asked.Walltime = cmp.Or(o.MemoryMB, asked.MemoryMB), cmp.Or(o.Walltime, asked.Walltime)
		}
	}
	count := max(asked.Cores, 1)
	cores := Resource{Name: "cores", Requested: strconv.Itoa(count)}
	memory := Resource{Name: "memory", Requested: "not set"}
	walltime := Resource{Name: "walltime", Requested: "not set"}
	if asked.MemoryMB != 0 {
		memory.Requested = fmt.Sprintf("%d MiB", asked.MemoryMB)
	}
	if asked.Walltime != 0 {
		walltime.Requested = jjm.HowLong(asked.Walltime.D())
	}
	if used == nil || used.Ended == 0 {
		return []Resource{cores, memory, walltime}
	}
	cpu, wall := time.Duration(used.UserMS+used.SysMS)*time.Millisecond, time.Duration(used.WallMS)*time.Millisecond
	cores.Used = jjm.HowLong(cpu) + " of processor time"
	if wall > 0 {
		cores = cores.of(float64(cpu)/float64(wall)/float64(count), " of the cores")
	}
	if used.MaxRSSKB > 0 {
		mib := float64(used.MaxRSSKB) / 1024
		memory.Used = fmt.Sprintf("%.0f MiB at most", mib)
		if asked.MemoryMB > 0 {
			memory = memory.of(mib/float64(asked.MemoryMB), "")
		}
	}
	walltime.Used = jjm.HowLong(wall)
	if !one {
		walltime.Used += " in all"
	}
	return []Resource{cores, memory, walltime}
}

// of returns the resource with the used share of the requested amount. unit follows the share in the text.
func (r Resource) of(share float64, unit string) Resource {
	r.Used += ", " + plain.Share(share) + unit
	r.Share, r.Percent = share, int(min(max(share*100, 0), 100))
	return r
}

// Resources returns the table of the requested and used resources, with its heading.
func (d *Data) Resources() [][]string {
	rows := [][]string{{"RESOURCE", "REQUESTED", "USED"}}
	for _, r := range Resources(&d.Status, false) {
		rows = append(rows, []string{r.Name, r.Requested, cmp.Or(r.Used, "not known yet")})
	}
	return rows
}
