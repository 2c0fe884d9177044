package hostile_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"jjm/internal/jjm"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/site"
)

// wave describes one flood of the spool: its target and its size.
type wave struct {
	Spool  string
	Own    int // the account that floods
	Other  int // the account whose box name it takes
	Handle string
	Many   int
	Hold   bool   // the file that fills the disk stays open
	Tally  string // the folder of its counts, on another disk
}

// strike makes mallory flood the spool once.
func (s *siege) strike(w wave) {
	s.t.Helper()
	text, err := json.Marshal(w)
	s.Must(err)
	s.Must(os.WriteFile(filepath.Join(s.Home(s.mallory), "wave"), text, 0o644))
	if out, err := s.program("attack-flood-spool").CombinedOutput(); err != nil {
		s.t.Fatalf("flood: %v %s", err, out)
	}
}

// floodSpool creates files in every place of the spool. Their names are names of entries about another account's
// handle, of every kind and with any sequence number. It also takes the name of the other account's box.
func floodSpool(folder string) {
	var w wave
	text, err := os.ReadFile(filepath.Join(folder, "wave"))
	if err != nil || json.Unmarshal(text, &w) != nil {
		os.Exit(1)
	}
	unix.Umask(0)
	in := filepath.Join(w.Spool, "in")
	own := filepath.Join(in, "u"+strconv.Itoa(w.Own))
	_ = os.Mkdir(own, 0o770)
	_ = os.MkdirAll(filepath.Join(in, "u"+strconv.Itoa(w.Other), "x"), 0o770)
	for _, at := range []string{w.Spool, in, own} {
		floodFolder(at, w)
	}
}

func floodFolder(at string, w wave) {
	if unix.Access(at, unix.W_OK) != nil {
		return
	}
	name := func(seq, verb string) string { return filepath.Join(at, seq+"."+w.Handle+"."+verb) }
	number := func(n int) string { return fmt.Sprintf("%022d", n) }
	touch := func(file string, mode os.FileMode) {
		if f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode); err == nil {
			_ = f.Close()
		}
	}
	for _, seq := range []string{"1", "4611686018427387904", "9223372036854775806", "9223372036854775807",
		"9223372036854775808", "1000000000000000000000"} {
		touch(name(fmt.Sprintf("%022s", seq), "kill"), 0o600)
	}
	for n := range 40 {
		_ = unix.Mkfifo(name(number(1000+n), "submit"), 0o666)
		_ = os.Symlink("/dev/zero", name(number(2000+n), "submit"))
		_ = os.Mkdir(name(number(3000+n), "submit"), 0)
		_ = os.MkdirAll(filepath.Join(name(number(4000+n), "submit"), "x"), 0o700)
		_ = os.Link("/etc/passwd", name(number(5000+n), "submit"))
	}
	for n := range w.Many {
		touch(name(number(1_700_000_000_000_000_000+n), "submit"), []os.FileMode{0o644, 0}[n%2])
	}
}

// gatekeeper runs jjm-gatekeeper as an account.
func (s *siege) gatekeeper(p site.Person, args ...string) (string, error) {
	cmd := p.As(append([]string{bin.Path(s.t, "jjm-gatekeeper")}, args...)...)
	cmd.Env = append(cmd.Env, "JJM_STATE="+s.Dir+"/s")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// submitsAway makes the other account submit a job with the gatekeeper's program.
func (s *siege) submitsAway(key string) {
	s.t.Helper()
	file := filepath.Join(s.Home(s.bob), "gate.toml")
	s.Must(os.WriteFile(file, []byte(site.Script("echo here")), 0o644))
	s.Must(os.Chown(file, s.bob.UID, s.bob.GID))
	out, err := s.gatekeeper(s.bob, "core", "submit", "--key", key, "--patience", "10m", file)
	if err != nil || !strings.Contains(out, "HANDLE="+string(jjm.HandleOf(s.bob.UID, key))) {
		s.t.Fatalf("the other account's submission through the socket: %v %s", err, out)
	}
}

// looksUp makes the other account look up its handle until the answer contains the expected text.
func (s *siege) looksUp(key, want string) {
	s.t.Helper()
	h := string(jjm.HandleOf(s.bob.UID, key))
	for end := time.Now().Add(hang); ; time.Sleep(30 * time.Millisecond) {
		out, err := s.gatekeeper(s.bob, "core", "lookup", h)
		if err == nil && strings.Contains(out, want) {
			return
		}
		if strings.Contains(out, "ERROR=gone") {
			s.t.Fatalf("%s is lost: %s", h, out)
		}
		if time.Now().After(end) {
			s.t.Fatalf("%s: %s of the other account is not found: %v %s", await.Hung, h, err, out)
		}
	}
}

// Mallory fills every place of the spool to which she can write with entries about bob's handle, and takes the name of
// his box. She does this once while no daemon runs and once while the daemon runs.
func TestSpool_AFloodIsInTheWayOfWhoMadeIt(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	for _, mode := range []string{"owner", "service"} {
		t.Run(mode, func(t *testing.T) {
			with := site.Settings{RunAs: mode}
			if mode == "service" {
				with.As, with.Gate = site.Account(t), "mode = \"0666\"\n"
			}
			if whole() { // in memory, because writes to the disk would take most of the time
				with.Dir = needs.Tmpfs(t, folderOnDisk(t, 0o755), "size=3g,nr_inodes=3m,mode=755")
			}
			s := besiege(t, with)
			box := filepath.Join(s.Dir, "s", "spool")
			many := full(400_000, 5_000)
			handle := string(jjm.HandleOf(s.bob.UID, "away"))
			flood := wave{Spool: box, Own: s.mallory.UID, Other: s.bob.UID, Handle: handle, Many: many}
			round := 0
			s.withstands(attack{
				name: "the spool is full of another's entries",
				begin: func() {
					s.Must(s.Daemon.Process.Kill())
					<-s.Ended()
					s.strike(flood)
					s.submitsAway("away")
					s.looksUp("away", "STATUS=registered")
					s.Start()
					s.looksUp("away", "STATUS=done")
				},
				inForce: func() error {
					round++
					flood.Many = many / 100
					s.strike(flood)
					s.submitsAway(fmt.Sprint("there-", round))
					s.looksUp(fmt.Sprint("there-", round), "STATUS=done")
					return nil
				},
			})
		})
	}
}
