package verdict

import (
	"sync"
	"time"

	"jjm/internal/jjm"
)

// agenda holds, by account, the bulks that the next harvest is to read, and how long the last harvest took. A harvest
// reads the files that the jobs of one account left, and judges attempts; see Judge.
type agenda struct {
	mu    sync.Mutex
	bulks map[int]map[jjm.Tag]bool // by account; nil means all bulks
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

// bulk puts one bulk of an account on its agenda, and returns how long the account's last harvest took.
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

// take returns the bulks that a harvest is to read, nil for all, and empties the account's agenda.
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

// ended notes how long a harvest took. If idle is set, the account has no open bulks, and the time is dropped.
func (t *agenda) ended(uid int, took time.Duration, idle bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if idle {
		delete(t.took, uid)
	} else if t.took != nil {
		t.took[uid] = took
	}
}
