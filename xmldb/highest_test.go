package xmldb

import (
	"os"
	"path/filepath"
	"testing"

	"jjm/internal/jjm"
)

func TestHighest_OfRecordsAboveTheOneGiven(t *testing.T) {
	dir := t.TempDir()
	for _, id := range []jjm.GridID{1, 9, 17, 100} {
		if err := os.Mkdir(filepath.Join(dir, id.String()), 0o755); err != nil {
			t.Fatal(err)
		}
		if id == 100 { // a folder without a head is no record
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, id.String(), "record.xml"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"handles", "-3", "0018x"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for above, want := range map[jjm.GridID]jjm.GridID{0: 17, 9: 17, 16: 17, 17: 0, 99: 0} {
		if got, err := Highest(dir, above); got != want || err != nil {
			t.Errorf("above %d: %d, error %v, want %d", above, got, err, want)
		}
	}
	for above, want := range map[jjm.GridID]jjm.GridID{0: 17, 8: 17, 9: 17, 17: 0} {
		if got := HighestNear(dir, above); got != want {
			t.Errorf("near %d: %d, want %d", above, got, want)
		}
	}
	if got, err := Highest(filepath.Join(dir, "none"), 0); got != 0 || err != nil {
		t.Errorf("without records: %d, error %v", got, err)
	}
	if _, err := Highest(filepath.Join(dir, "17", "record.xml"), 0); err == nil {
		t.Error("a file was taken for the records")
	}
}
