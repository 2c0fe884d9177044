package hostile_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/site"
)

// A ban of mallory's account applies to its user id: it also holds for a second name of the account, and after the
// account is renamed.
func TestBan_HoldsForEveryNameOfAnAccount(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	for _, mode := range []string{"owner", "service"} {
		t.Run(mode, func(t *testing.T) {
			with := site.Settings{RunAs: mode, Gate: `mode = "0666"`}
			if mode == "service" {
				with.As = site.Account(t)
			}
			s := besiege(t, with)
			alias := s.mallory.Name + "x"
			s.Must(exec.Command("useradd", "-o", "-u", strconv.Itoa(s.mallory.UID), "-g", strconv.Itoa(s.mallory.GID), "-M",
				"-d", "/tmp", alias).Run())
			t.Cleanup(func() { s.mallory.KillAll(); _ = exec.Command("userdel", alias).Run() })
			if out, err := s.JJM(site.Root(), "ban", "no-such-account", "--reason", "x"); err == nil ||
				!strings.Contains(err.Error(), "no account of this machine") {
				t.Errorf("an unknown name is banned: %q, %v", out, err)
			}
			for _, name := range []string{alias, s.mallory.Name, strconv.Itoa(s.mallory.UID)} {
				_, err := s.JJM(site.Root(), "ban", name, "--reason", "a siege")
				s.Must(err)
				s.turnedAway(name)
				_, err = s.JJM(site.Root(), "unban", name)
				s.Must(err)
			}
			_, err := s.JJM(site.Root(), "ban", s.mallory.Name, "--reason", "a siege")
			s.Must(err)
			s.Stop()
			s.Must(exec.Command("usermod", "-l", s.mallory.Name+"y", s.mallory.Name).Run())
			t.Cleanup(func() { _ = exec.Command("usermod", "-l", s.mallory.Name, s.mallory.Name+"y").Run() })
			s.Start()
			s.turnedAway("after she was renamed")
			s.echoes(full(20, 2), nil)
		})
	}
}

// turnedAway checks that no grid job of the hostile account is accepted.
func (s *siege) turnedAway(when string) {
	s.t.Helper()
	file := filepath.Join(s.Home(s.mallory), "job.toml")
	s.Must(os.WriteFile(file, []byte(site.Script("true")), 0o644))
	out, err := s.JJM(s.mallory, "submit", file)
	if err == nil || !strings.Contains(err.Error(), "is banned by root") {
		s.t.Errorf("%s: her submission is taken: %q, %v", when, out, err)
	}
}

// A ban of a DN applies to every notation of the DN in which mallory's gatekeeper passes it on.
func TestBan_OfADNHoldsInEveryNotation(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	s := besiege(t, site.Settings{RunAs: "owner"})
	_, err := s.JJM(site.Root(), "ban", "/DC=org/DC=site/CN=Mallory/Email=m@site.org", "--reason", "a siege")
	s.Must(err)
	file := filepath.Join(s.Home(s.mallory), "job.toml")
	s.Must(os.WriteFile(file, []byte(site.Script("true")), 0o644))
	for i, subject := range []string{
		"/DC=org/DC=site/CN=Mallory/emailAddress=m@site.org",
		"/dc=org/dc=site/cn=mallory/E=m@site.org/CN=1234/CN=limited proxy",
		"emailAddress=m@site.org,CN=Mallory,DC=site,DC=org", `E=m@site.org, CN=\4dallory, DC=site, DC=org`,
		"DC = org, DC = site, CN = Mallory, emailAddress = m@site.org",
	} {
		cmd := s.mallory.As(bin.Path(t, "jjm-gatekeeper"), "core", "submit", "--key", fmt.Sprint("k", i), "--subject",
			subject, file)
		cmd.Env = append(cmd.Env, "JJM_STATE="+s.Dir+"/s")
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "is banned by root") {
			t.Errorf("%s: the grid job is taken: %q, %v", subject, out, err)
		}
	}
}
