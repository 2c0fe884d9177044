package record

import (
	"sync"

	"jjm/internal/jjm"
	"jjm/internal/policy/health"
)

// unwritten holds the records whose last write failed. The zero value is empty.
type unwritten struct {
	mu sync.Mutex
	of map[jjm.GridID]failure
}

// history is the key in unwritten for all grid jobs in the history. MendLoop writes their missing records.
const history jjm.GridID = 0

// failure holds the time of the first failed attempt to write a record, and the error of the last attempt.
type failure struct {
	since jjm.Time
	why   string
}

// note notes how an attempt to write a record ended. If err is nil, the record no longer counts as unwritten.
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

// Unpublished returns the number of records that must still be written, the number of records whose last write failed,
// and the time and the error of the failure that began first.
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
