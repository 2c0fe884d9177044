package site

import (
	"os"
	"path/filepath"
	"testing"
)

// If a folder is removed and made again, At returns a different Place, even if the new folder has the inode number of
// the old folder. If the file system does not record when a folder was made, only the inode number counts.
func TestPlace_AFolderMadeAgainIsAnother(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if !At(dir).Missing() {
		t.Error("what is not there is not missing")
	}
	made := func() Place {
		t.Helper()
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		return At(dir)
	}
	was := made()
	if was.Missing() || !was.Same(At(dir)) {
		t.Errorf("%+v is not %+v", was, At(dir))
	}
	now := was
	for now.made != 0 && now == was { // file systems record this time in steps of some milliseconds
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		now = made()
	}
	if now.made != 0 && now.Same(was) {
		t.Errorf("%+v is %+v", was, now)
	}
	again := was
	again.made = 0
	if !again.Same(was) || !was.Same(again) {
		t.Error("a file system that no longer says when a folder was made makes it another one")
	}
	if again.made, was.made = 1, 2; again.Same(was) {
		t.Error("a folder with the number of a removed one is taken for it")
	}
}
