package state

import (
	"sync"
	"time"

	"jjm/internal/jjm"
)

// WorkUses contains, for each account that is watched, the result of the last count of the bytes and files in its work
// area. Package site counts the work areas.
type WorkUses struct {
	Mu sync.Mutex
	Of map[int]*WorkUse
}

// WorkUse is the result of the last count of one account's work area.
type WorkUse struct {
	Owner jjm.Owner
	next  time.Time // when to count again
	why   string    // the text that Excess returns
}

// Excess returns a text for people that says which limit an account's work area exceeds, "" if it exceeds none or was
// not counted yet.
func (w *WorkUses) Excess(uid int) string {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	if u := w.Of[uid]; u != nil {
		return u.why
	}
	return ""
}

// Due returns the accounts whose work areas are to be counted now. Accounts that have live grid jobs, or exceeded a
// limit at the last count, are watched; Due forgets all others. live contains the owners of live grid jobs by uid.
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

// Set stores the result of a count: why is the text that Excess returns from now on, next is the time of the next
// count. changed is true if the account began or ceased to exceed a limit. Set does nothing for an account that is no
// longer watched.
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
