package client_test

import (
	"fmt"
	"testing"

	"jjm/internal/api/client"
	"jjm/internal/jjm"
	"jjm/xmldb"
	"jjm/xmldb/head"
)

// A grid job that could not be prepared and is kept is marked in the answer from its record, as in the daemon's answer.
// No other grid job is marked.
func TestStatusFromRecord_MarksKeptGridJobs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db, err := xmldb.Open(dir, xmldb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	kept := jjm.GridJob{Status: jjm.Registered, Rollback: jjm.RollbackKeep, Reason: "no cards.txt"}
	none := func(func(xmldb.Shard) bool) {}
	killed, fresh, ended := kept, kept, kept
	killed.Kill, fresh.Reason, ended.Status = true, "", jjm.Broken
	for i, c := range []struct {
		job  jjm.GridJob
		want bool
	}{{kept, true}, {killed, false}, {fresh, false}, {ended, false}} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			c.job.ID, c.job.Spec.Type = jjm.GridID(i+1), "script"
			h := head.Head{Grid: c.job, GRAM: jjm.GRAMPending, Master: "new"}
			if err := db.Publish(t.Context(), h, none); err != nil {
				t.Fatal(err)
			}
			h, err := head.Read(dir, c.job.ID)
			if err != nil {
				t.Fatal(err)
			}
			if got := client.StatusFromRecord(dir, &h).Kept; got != c.want {
				t.Errorf("kept is %v, want %v", got, c.want)
			}
		})
	}
}
