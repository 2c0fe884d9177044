package engine

import (
	"jjm"
	"sync"
	"time"
)

// workUses is which accounts have more in their work areas than they may.
type workUses struct {
	mu sync.Mutex
	of map[int]*workUse
}

type workUse struct {
	owner jjm.Owner
	next  time.Time
	why   string // what there is too much of, "" if nothing
}

// over says what an account has too much of, "" if nothing.
func (w *workUses) over(uid int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if u := w.of[uid]; u != nil {
		return u.why
	}
	return ""
}

// due gives the accounts whose areas are to be counted: of those that have live grid
// jobs, and those that had too much.
func (w *workUses) due(live map[int]jjm.Owner, now time.Time) (uids []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for uid, owner := range live {
		if w.of[uid] == nil {
			w.of[uid] = &workUse{owner: owner}
		}
	}
	for uid, u := range w.of {
		if _, lives := live[uid]; !lives && u.why == "" {
			delete(w.of, uid)
		} else if !now.Before(u.next) {
			uids = append(uids, uid)
		}
	}
	return uids
}

// set notes a count; changed is true if the account has too much now, or had.
func (w *workUses) set(uid int, why string, next time.Time) (changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	u := w.of[uid]
	if u == nil {
		return false
	}
	changed = (u.why == "") != (why == "")
	u.why, u.next = why, next
	return changed
}
