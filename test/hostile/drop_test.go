package hostile_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/site"
	"jjm/xmldb"
)

// fillDrop writes files to the drop folder, in which accounts leave fragments of records, until the disk is full, and
// again whenever there is space: a file that is never completed, a file that is not a fragment, and a file in a folder.
// It counts its tries, and how often the disk was full.
func fillDrop(folder string) {
	var w wave
	text, err := os.ReadFile(filepath.Join(folder, "wave"))
	if err != nil || json.Unmarshal(text, &w) != nil {
		os.Exit(1)
	}
	for tries, full := 1, 0; os.Getppid() == parent; tries++ {
		tree := filepath.Join(w.Spool, fmt.Sprint("tree", tries))
		_ = os.Mkdir(tree, 0o700)
		for _, name := range []string{
			filepath.Join(w.Spool, fmt.Sprint(".part", tries)), filepath.Join(w.Spool, fmt.Sprint(tries, ".xml")),
			filepath.Join(tree, "x"),
		} {
			if errors.Is(fill(unix.AT_FDCWD, name, false), unix.ENOSPC) {
				full++
			}
		}
		count(w.Tally, "tries", tries)
		count(w.Tally, "full", full)
		time.Sleep(20 * time.Millisecond)
	}
}

// attackDrop prepares an attack on the drop folder of a site.
func (s *siege) attackDrop(tally string) {
	s.t.Helper()
	text, err := json.Marshal(wave{Spool: filepath.Join(s.Dir, "s", "drop"), Own: s.mallory.UID, Tally: tally})
	s.Must(err)
	s.Must(os.WriteFile(filepath.Join(s.Home(s.mallory), "wave"), text, 0o644))
}

// Mallory has no jobs, and fills the disk of the daemon's state again and again through the drop folder. Bob's jobs are
// completed, and the log names mallory.
func TestDrop_AFullDiskStopsNobodyElse(t *testing.T) {
	disk, err := os.MkdirTemp("/var/tmp", "jjmd") // a folder that all accounts can enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(disk) })
	needs.Tmpfs(t, disk, fmt.Sprintf("size=%dm,mode=755", full(1024, 96)))
	work, tally := folderOnDisk(t, 0o755), folderOnDisk(t, 0o777)
	s := besiege(t, site.Settings{RunAs: "owner", Gate: "mode = \"0666\"", Dir: disk,
		Top: fmt.Sprintf("work = %q", work)})
	s.attackDrop(tally)
	stop, tries := func() {}, 0
	s.withstands(attack{
		name: "the drop folder fills the state's disk",
		begin: func() {
			stop = s.attacker("attack-fill-drop")
			s.Until("the disk is full", func() bool { return number(filepath.Join(tally, "full")) > 0 })
		},
		inForce: func() error {
			s.Until("she tries again", func() bool { return number(filepath.Join(tally, "tries")) > tries })
			tries = number(filepath.Join(tally, "tries"))
			return nil
		},
		end: func() { stop() },
	})
	s.logged(fmt.Sprintf("account=%d folder=drop", s.mallory.UID))
}

func (s *siege) logged(want string) {
	s.t.Helper()
	s.Until("the log says "+want, func() bool {
		log, err := os.ReadFile(filepath.Join(s.Dir, "log"))
		return err == nil && strings.Contains(string(log), want)
	})
}

// Files beyond mallory's limits are removed while the disk still has space, and the log names her. She cannot read a
// refused fragment of another account.
func TestDrop_AnAccountIsBoundedAndReadsNothingOfOthers(t *testing.T) {
	s := besiege(t, site.Settings{RunAs: "owner", Gate: "mode = \"0666\"\n"})
	drop := filepath.Join(s.Dir, "s", "drop")
	sh := func(who site.Person, script string) error {
		return who.As("/bin/sh", "-c", "umask 022; cd "+drop+" && "+script).Run()
	}
	s.Must(sh(s.bob, "echo secret >.b && mv .b bob.xml"))
	refused := filepath.Join(drop, "refused", "bob.xml")
	s.Until("bob's fragment is refused", func() bool { _, err := os.Stat(refused + ".why"); return err == nil })
	for _, script := range []string{"ls refused", "cat refused/bob.xml", "cat refused/bob.xml.why"} {
		if sh(s.mallory, script) == nil {
			t.Errorf("mallory: %s works", script)
		}
	}
	most := xmldb.MostDropped.Bytes
	s.Must(sh(s.mallory, fmt.Sprintf("for n in 1 2 3 4; do truncate -s %d .m$n; done; mkdir -p tree/x; ln -s / .l",
		most/3)))
	s.Must(sh(s.bob, "echo x >.b2 && mv .b2 again.xml")) // a new file makes the daemon read the drop folder
	s.logged(fmt.Sprintf("account=%d files=%d bytes=%d", s.mallory.UID, xmldb.MostDropped.Names, most))
	s.logged(fmt.Sprintf("account=%d kind=folder", s.mallory.UID))
	s.Until("what is too much is gone", func() bool {
		left, err := filepath.Glob(filepath.Join(drop, ".m*"))
		_, tree := os.Lstat(filepath.Join(drop, "tree"))
		return err == nil && len(left) == 3 && os.IsNotExist(tree)
	})
	s.echo()
}
