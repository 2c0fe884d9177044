package spool

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestCount(t *testing.T) {
	if w, err := Count(filepath.Join(t.TempDir(), "none"), 0, 10); err != nil || w != (Waiting{}) {
		t.Errorf("a missing spool: %+v, %v", w, err)
	}
	dir := box(t)
	for i, key := range []string{"a", "b", "c"} {
		put(t, dir, submitNote(key), int64(1000-100*i))
	}
	for _, uid := range []int{0, os.Geteuid()} {
		w, err := Count(dir, uid, 10)
		if err != nil || w.Entries != 3 || w.More || !w.Oldest.Equal(time.Unix(0, 800)) {
			t.Errorf("uid %d: %+v, %v", uid, w, err)
		}
	}
	if w, err := Count(dir, 0, 2); err != nil || !w.More {
		t.Errorf("more than 2: %+v, %v", w, err)
	}
}
