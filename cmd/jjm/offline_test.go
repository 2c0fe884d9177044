package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// A list reads a limited number of records, and prints the option that continues the list.
func TestOffline_AListEndsAfterSoManyRecords(t *testing.T) {
	dir := t.TempDir()
	for id := 1; id <= 5; id++ {
		status := "done"
		if id == 1 {
			status = "running"
		}
		text := fmt.Sprintf(`<gridjob id="%d" status="%s" gram="8" written="2023-11-14T22:13:20.000Z"/>`, id, status)
		if err := os.Mkdir(filepath.Join(dir, fmt.Sprint(id)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(id), "record.xml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		l     wire.List
		found int
		says  bool
	}{
		{wire.List{Limit: 9}, 0, true}, {wire.List{Limit: 9, Before: 4}, 1, false},
		{wire.List{All: true, Limit: 3}, 3, false}, {wire.List{All: true, Limit: 9}, 3, true},
	} {
		var said bytes.Buffer
		o := offline{c: &cli{err: &said}, name: "list", dir: dir, down: errors.New("down"), most: 3}
		found, bad, err := o.list(c.l)
		const next = "only the newest 3 records were looked at; for the next ones: --before 3\n"
		if err != nil || bad != 0 || len(found) != c.found || strings.Contains(said.String(), next) != c.says {
			t.Errorf("%+v: %d grid jobs, %d bad, %v\n%s", c.l, len(found), bad, err, &said)
		}
		if len(found) > 0 && found[0].Lookup.ID == jjm.GridID(0) {
			t.Errorf("%+v: %+v", c.l, found)
		}
	}
}
