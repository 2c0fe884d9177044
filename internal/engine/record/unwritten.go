package record

import (
	"sync"

	"jjm/internal/jjm"
	"jjm/internal/policy/health"
)

// unwritten are the records that could not be written when jjm tried last. The zero value is empty.
type unwritten struct {
	mu sync.Mutex
	of map[jjm.GridID]failure
}

// history stands in unwritten for all grid jobs that are over, whose missing records MendLoop makes.
const history jjm.GridID = 0

// failure is since when a record could not be written, and why the last attempt failed.
type failure struct {
	since jjm.Time
	why   string
}

// note notes how an attempt to write a record ended.
func (u *unwritten) note(id jjm.GridID, err error, now jjm.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if err == nil {
		delete(u.of, id)
		return
	}
	f, known := u.of[id]
	if !known {
		f.since = now
	}
	f.why = err.Error()
	if u.of == nil {
		u.of = map[jjm.GridID]failure{}
	}
	u.of[id] = f
}

// Unpublished returns how many records are to be written, and which of them could not be written.
func (pu *Publisher) Unpublished() health.Records {
	var r health.Records
	v := pu.s.View()
	defer v.Close()
	for id := range v.Grids() {
		if v.Behind(id) {
			r.Behind++
		}
	}
	pu.unwritten.mu.Lock()
	defer pu.unwritten.mu.Unlock()
	for id, f := range pu.unwritten.of {
		if id != history && v.Grid(id) == nil {
			delete(pu.unwritten.of, id) // the grid job was removed meanwhile
			continue
		}
		r.Unwritten++
		if r.Since == 0 || f.since < r.Since {
			r.Since, r.Error = f.since, f.why
		}
	}
	return r
}
