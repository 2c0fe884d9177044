package hostile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jjm"
	"jjm/test/site"
)

// flood makes files in a folder, many of them of each odd form, under names that
// are those of entries: about the handle of another account, and with any
// sequence. Arguments: folder, handle, how many.
const flood = `
import os, stat, sys
at, handle, many = sys.argv[1], sys.argv[2], int(sys.argv[3])
os.umask(0)
def name(seq, verb="submit"): return os.path.join(at, "%022d.%s.%s" % (seq, handle, verb))
def give(make):
    try: make()
    except PermissionError:
        if not os.access(at, os.W_OK): sys.exit()
    except OSError: pass
for n, seq in enumerate([1, 2**62, 2**63 - 2, 2**63 - 1, 2**63, 10**21]):
    give(lambda: os.close(os.open(name(seq, "kill"), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)))
for n in range(40):
    give(lambda: os.mkfifo(name(1000 + n), 0o666))
    give(lambda: os.symlink("/dev/zero", name(2000 + n)))
    give(lambda: os.mkdir(name(3000 + n), 0))
    give(lambda: (os.mkdir(name(4000 + n), 0o700), os.mkdir(name(4000 + n) + "/x")))
    give(lambda: os.link("/etc/passwd", name(5000 + n)))
for n in range(many):
    give(lambda: os.close(os.open(name(1700000000000000000 + n), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o000 if n % 2 else 0o644)))
`

// python has an account run a program.
func (s *siege) python(p site.Person, program string, args ...string) {
	s.t.Helper()
	if out, err := p.As(append([]string{"/usr/bin/python3", "-c", program}, args...)...).CombinedOutput(); err != nil {
		s.t.Fatalf("as %s: %v\n%s", p.Name, err, out)
	}
}

// gatekeeper runs jjm's part of a gatekeeper as an account.
func (s *siege) gatekeeper(p site.Person, args ...string) (string, error) {
	cmd := p.As(append([]string{bin.Path(s.t, "jjm-gatekeeper")}, args...)...)
	cmd.Env = append(cmd.Env, "JJM_STATE="+s.Dir+"/s")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// hands has the other account submit through the gatekeeper's door.
func (s *siege) hands(key string) {
	s.t.Helper()
	file := filepath.Join(s.Home(s.bob), "gate.toml")
	s.Must(os.WriteFile(file, []byte(site.Script("echo here")), 0o644))
	s.Must(os.Chown(file, s.bob.UID, s.bob.GID))
	out, err := s.gatekeeper(s.bob, "core", "submit", "--key", key, "--patience", "50s", file)
	if err != nil || !strings.Contains(out, "HANDLE="+string(jjm.HandleOf(s.bob.UID, key))) {
		s.t.Fatalf("the other account's submission through the door: %v %s", err, out)
	}
}

// knows has the other account look its handle up until it is as wanted.
func (s *siege) knows(key, want string) {
	s.t.Helper()
	began, h := time.Now(), string(jjm.HandleOf(s.bob.UID, key))
	for {
		out, err := s.gatekeeper(s.bob, "core", "lookup", h)
		if err == nil && strings.Contains(out, want) {
			return
		}
		if strings.Contains(out, "ERROR=gone") {
			s.t.Fatalf("%s is lost: %s", h, out)
		}
		if time.Since(began) > hang {
			s.t.Fatalf("%s of the other account hangs: %v %s", h, err, out)
		}
		time.Sleep(30 * time.Millisecond)
	}
}

// Mallory fills every place of the spool that she can write to, with names about
// bob's handle, takes the name of his box, and does so while the daemon is away
// and while it is there.
func TestSpool_AFloodIsInTheWayOfWhoMadeIt(t *testing.T) {
	for _, mode := range []string{"owner", "service"} {
		t.Run(mode, func(t *testing.T) {
			with := site.Settings{RunAs: mode}
			if mode == "service" {
				with.As, with.Gate = site.Account(t), "mode = \"0666\"\n"
			}
			s := besiege(t, with)
			box := filepath.Join(s.Dir, "s", "spool")
			many := full(400_000, 20_000)
			handle := string(jjm.HandleOf(s.bob.UID, "away"))
			strike := func(many int) {
				for _, at := range []string{box, filepath.Join(box, "in")} {
					s.python(s.mallory, flood, at, handle, fmt.Sprint(many))
				}
				own := filepath.Join(box, "in", fmt.Sprintf("u%d", s.mallory.UID))
				s.python(s.mallory, "import os,sys\nfor d in sys.argv[1:]:\n try: os.makedirs(d+'/x',0o700); os.chmod(d,0o770)\n except OSError: pass",
					own, filepath.Join(box, "in", fmt.Sprintf("u%d", s.bob.UID)))
				s.python(s.mallory, flood, own, handle, fmt.Sprint(many))
			}
			round := 0
			s.withstands(attack{
				name: "the spool is full of another's entries",
				begin: func() {
					s.Must(s.Daemon.Process.Kill())
					<-s.Ended()
					strike(many)
					s.hands("away")
					s.knows("away", "STATUS=registered")
					s.Start()
					s.knows("away", "STATUS=done")
				},
				inForce: func() error {
					round++
					strike(many / 100)
					s.hands(fmt.Sprint("there-", round))
					s.knows(fmt.Sprint("there-", round), "STATUS=done")
					return nil
				},
			})
		})
	}
}
