package spool

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestSubmitted_FindsTheOldestSubmissionOfAHandle(t *testing.T) {
	h := submitNote("a").Handle
	if _, found, err := Submitted(filepath.Join(t.TempDir(), "none"), 0, h); err != nil || found {
		t.Errorf("a missing spool: %v, %v", found, err)
	}
	dir := box(t)
	put(t, dir, submitNote("b"), 500)
	if _, found, err := Submitted(dir, os.Geteuid(), h); err != nil || found {
		t.Errorf("another handle: %v, %v", found, err)
	}
	put(t, dir, submitNote("a"), 1000)
	for _, uid := range []int{0, os.Geteuid()} {
		since, found, err := Submitted(dir, uid, h)
		if err != nil || !found || !since.Equal(time.Unix(0, 1000)) {
			t.Errorf("uid %d: %v, %v, %v", uid, since, found, err)
		}
	}
}
