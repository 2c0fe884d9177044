package hostile_test

import (
	"errors"
	"path/filepath"
	"testing"

	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/site"
)

// Every account that can read a lock file can lock it, because flock(2) needs no other right. Mallory locks every file
// of the state folder that she can open, and the daemon nevertheless starts.
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

// Mallory takes locks of fcntl(2) on all files that she can open, including locks for which the store would wait. The
// daemon is not affected.
func TestLock_OfBytesChangesNothing(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	for _, mode := range []string{"owner", "service"} {
		t.Run(mode, func(t *testing.T) {
			s := besiege(t, site.Settings{RunAs: mode, Gate: "mode = \"0666\"", As: daemonOf(t, mode)})
			var still func()
			s.withstands(attack{
				name: "flock and fcntl locks on all that can be opened",
				begin: func() {
					s.Stop()
					still = s.attacker("attack-lock-all")
					s.Until("files are locked", func() bool { return s.counted("locked") > 0 })
					s.Start()
				},
				inForce: func() error {
					if s.counted("locked") == 0 {
						return errors.New("no lock is held")
					}
					return nil
				},
				end: func() { still() },
			})
		})
	}
}

// daemonOf returns the daemon's account: root, or an ordinary account for a service.
func daemonOf(t *testing.T, mode string) site.Person {
	if mode == "owner" {
		return site.Person{}
	}
	return site.Account(t)
}
