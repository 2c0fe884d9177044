package verdict

import (
	"sync"
	"time"

	"jjm/internal/jjm"
)

// agenda holds the bulks that the next harvest of each account is to look at, and how long
// the account's last harvest took.
type agenda struct {
	mu    sync.Mutex
	bulks map[int]map[jjm.Tag]bool // by account; a nil map is all bulks
	took  map[int]time.Duration
}

// all puts all bulks of an account on its agenda.
func (t *agenda) all(uid int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bulks == nil {
		t.bulks, t.took = map[int]map[jjm.Tag]bool{}, map[int]time.Duration{}
	}
	t.bulks[uid] = nil
}

// bulk puts one bulk of an account on its agenda. It returns how long the account's last
// harvest took.
func (t *agenda) bulk(uid int, tag jjm.Tag) (took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bulks == nil {
		t.bulks, t.took = map[int]map[jjm.Tag]bool{}, map[int]time.Duration{}
	}
	if tags, known := t.bulks[uid]; !known {
		t.bulks[uid] = map[jjm.Tag]bool{tag: true}
	} else if tags != nil {
		tags[tag] = true
	}
	return t.took[uid]
}

// take returns the bulks that a harvest is to look at, nil for all, and empties the
// account's agenda.
func (t *agenda) take(uid int) map[jjm.Tag]bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	tags, known := t.bulks[uid]
	delete(t.bulks, uid)
	if !known {
		return map[jjm.Tag]bool{}
	}
	return tags
}

// ended notes how long a harvest took. idle says that the account has no open bulks; then the
// time is forgotten.
func (t *agenda) ended(uid int, took time.Duration, idle bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if idle {
		delete(t.took, uid)
	} else if t.took != nil {
		t.took[uid] = took
	}
}
