package state

import (
	"sync"
	"time"

	"jjm"
)

// WorkUses is which accounts have more in their work areas than they may.
type WorkUses struct {
	Mu sync.Mutex
	Of map[int]*WorkUse
}

type WorkUse struct {
	Owner jjm.Owner
	next  time.Time
	why   string // what there is too much of, "" if nothing
}

// Over says what an account has too much of, "" if nothing.
func (w *WorkUses) Over(uid int) string {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	if u := w.Of[uid]; u != nil {
		return u.why
	}
	return ""
}

// Due returns the accounts whose areas are to be counted: of those that have live grid
// jobs, and those that had too much.
func (w *WorkUses) Due(live map[int]jjm.Owner, now time.Time) (uids []int) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	for uid, owner := range live {
		if w.Of[uid] == nil {
			w.Of[uid] = &WorkUse{Owner: owner}
		}
	}
	for uid, u := range w.Of {
		if _, lives := live[uid]; !lives && u.why == "" {
			delete(w.Of, uid)
		} else if !now.Before(u.next) {
			uids = append(uids, uid)
		}
	}
	return uids
}

// Set notes a count; changed is true if the account has too much now, or had.
func (w *WorkUses) Set(uid int, why string, next time.Time) (changed bool) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	u := w.Of[uid]
	if u == nil {
		return false
	}
	changed = (u.why == "") != (why == "")
	u.why, u.next = why, next
	return changed
}
