package hostile_test

import (
	"errors"
	"path/filepath"
	"testing"

	"jjm/test/site"
)

// Whoever can read a lock file can hold it: flock(2) asks for no more. Mallory
// holds every file of the state folder that she can open, and the daemon starts.
func TestLock_OfAnyFileThatAnAccountCanReadChangesNothing(t *testing.T) {
	s := besiege(t, site.Settings{RunAs: "owner"})
	holder := s.mallory.As("/bin/sh", "-c", `cd "$1" && for f in . * */*; do flock -n "$f" sleep 600 & done; wait`,
		"sh", filepath.Join(s.Dir, "s"))
	s.withstands(attack{
		name: "flock on everything in the state folder that can be read",
		begin: func() {
			s.Stop()
			s.Must(holder.Start())
			s.Until("files are locked", func() bool { return len(s.mallory.Processes("sleep")) > 0 })
			s.Start()
		},
		inForce: func() error {
			if len(s.mallory.Processes("sleep")) == 0 {
				return errors.New("no lock is held")
			}
			return nil
		},
		end: func() { s.mallory.KillAll(); _ = holder.Wait() },
	})
}
