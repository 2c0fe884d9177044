package hostile_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/site"
)

// fillSpool writes to the account's box of the spool until the disk is full, and again whenever there is space: by the
// path of the box, and by its open handle. It counts its tries, and how often the disk was full.
func fillSpool(folder string) {
	var w wave
	text, err := os.ReadFile(filepath.Join(folder, "wave"))
	if err != nil || json.Unmarshal(text, &w) != nil {
		os.Exit(1)
	}
	box := filepath.Join(w.Spool, "in", "u"+strconv.Itoa(w.Own))
	handle, tries, full := -1, 0, 0
	for os.Getppid() == parent {
		_ = os.Mkdir(box, 0o700)
		if fd, err := unix.Open(box, unix.O_DIRECTORY|unix.O_RDONLY, 0); err == nil {
			_ = unix.Close(handle)
			handle = fd
		}
		tries++
		if w.Hold && full > 0 {
			handle = -1 // mallory has all the space that she can get
		}
		if errors.Is(fill(handle, fmt.Sprint(".tmp-", tries), w.Hold), unix.ENOSPC) {
			full++
		}
		count(w.Tally, "tries", tries)
		count(w.Tally, "full", full)
		time.Sleep(20 * time.Millisecond)
	}
}

// fill writes a file in a folder until the disk is full. With hold set, it keeps the file open, so that nobody can free
// the space.
func fill(folder int, name string, hold bool) error {
	fd, err := unix.Openat(folder, name, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if !hold {
		defer unix.Close(fd)
	}
	for bytes := make([]byte, 64<<10); ; {
		if _, err := unix.Write(fd, bytes); err != nil {
			return err
		}
	}
}

// folderOnDisk creates a folder on the machine's own disk.
func folderOnDisk(t *testing.T, mode os.FileMode) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "jjmb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, mode); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Mallory fills the disk of the daemon's state through her box in the spool, and does not stop: once while no daemon
// runs and once while the daemon runs. In other cases she keeps the file that fills the disk open, so that only the
// daemon's reserve is left. The daemon starts, its store commits, bob's jobs are completed, and kills and bans work.
func TestSpool_AFullDiskStopsNobodyElse(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	for name, with := range map[string]struct{ away, hold bool }{
		"while the daemon is away": {away: true}, "while it is there": {},
		"by a file that she keeps open": {hold: true}, "by one that she keeps open while it is away": {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			disk, err := os.MkdirTemp("/var/tmp", "jjmd") // a folder that all accounts can enter
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Remove(disk) })
			needs.Tmpfs(t, disk, fmt.Sprintf("size=%dm,mode=755", full(1024, 96))) // a sixteenth of it is the reserve
			work, tally := folderOnDisk(t, 0o755), folderOnDisk(t, 0o777)
			s := besiege(t, site.Settings{RunAs: "owner", Gate: "mode = \"0666\"", Dir: disk,
				Top: fmt.Sprintf("work = %q", work)})
			text, err := json.Marshal(wave{Spool: filepath.Join(s.Dir, "s", "spool"), Own: s.mallory.UID,
				Tally: tally, Hold: with.hold})
			s.Must(err)
			s.Must(os.WriteFile(filepath.Join(s.Home(s.mallory), "wave"), text, 0o644))
			stop, tries := func() {}, 0
			s.withstands(attack{
				name: "the spool fills the state's disk " + name,
				begin: func() {
					if with.away {
						s.Must(s.Daemon.Process.Kill())
						<-s.Ended()
					}
					stop = s.attacker("attack-fill-spool")
					s.Until("the disk is full", func() bool { return number(filepath.Join(tally, "full")) > 0 })
					if with.away {
						s.Start()
					}
				},
				inForce: func() error {
					s.Until("she tries again", func() bool { return number(filepath.Join(tally, "tries")) > tries })
					tries = number(filepath.Join(tally, "tries"))
					return nil
				},
				end: func() { stop() },
			})
		})
	}
}
