package verdict

import (
	"sync"
	"time"

	"jjm"
)

// agenda are what each account's next harvest is to look at, and how long its last
// one took.
type agenda struct {
	mu    sync.Mutex
	bulks map[int]map[jjm.Tag]bool // nil: all
	took  map[int]time.Duration
}

// all has all bulks of an account looked at.
func (t *agenda) all(uid int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bulks == nil {
		t.bulks, t.took = map[int]map[jjm.Tag]bool{}, map[int]time.Duration{}
	}
	t.bulks[uid] = nil
}

// bulk has one bulk of an account looked at.
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

// take returns what a harvest is to look at: nil for all bulks.
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

// ended notes how long a harvest took.
func (t *agenda) ended(uid int, took time.Duration, idle bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if idle {
		delete(t.took, uid)
	} else if t.took != nil {
		t.took[uid] = took
	}
}
