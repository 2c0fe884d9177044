package identity_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A proxy and a token: private, found by jobs that ask and by no others, renewed
// while the jobs run, gone at the end, and nowhere in what the daemon wrote.
func TestCredentials_ArePrivateRenewedAndNeverLogged(t *testing.T) {
	t.Parallel()
	for name, runAs := range map[string]string{"owner": asOwner, "service": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			alice, bob := account(t), account(t)
			s := newSite(t, runAs, local)
			who := alice
			if runAs == "" {
				who = root // root's service takes no others' jobs
			}
			home := s.home(who)
			secret := func(name, text string) string {
				path := filepath.Join(home, name)
				s.must(os.WriteFile(path, []byte(text), 0o600))
				s.must(os.Chown(path, who.uid, who.gid))
				return path
			}
			p1, p2, tok := secret("p1", "geheim-proxy-1\n"), secret("p2", "geheim-proxy-2\n"), secret("tok", "geheim-token\n")
			wait := `while ! grep -q proxy-2 $X509_USER_PROXY; do sleep 0.1; done; stat -c "%a %U" $X509_USER_PROXY; cut -c 1-6 $BEARER_TOKEN_FILE; env | grep -c geheim; true`
			file := secret("asking.toml", script(wait, `credentials = ["proxy", "token"]`))
			if _, err := s.jjm(who, "submit", "--key", "k", file); err == nil || !strings.Contains(err.Error(), "asks for a proxy") {
				t.Errorf("without credentials: %v", err)
			}
			out, err := s.jjm(who, "submit", "--key", "k", "--proxy", p1, "--token", tok, file)
			s.must(err)
			id := strings.TrimSpace(out)
			other := s.submit(who, script("env | grep -c -e X509_USER_PROXY -e BEARER; true"))
			s.final(other, "done")
			if got := s.stdout(who, other); got != "0\n" {
				t.Errorf("a job that did not ask found %q", got)
			}
			s.until("it runs", func() bool { return s.status(id).Lookup.Counts.Running == 1 })
			files := s.secrets(who)
			if len(files) != 2 {
				t.Errorf("stored as %v", files)
			}
			for _, path := range files {
				s.reads(map[string]string{"credential": path}, map[person]bool{who: true, bob: false})
			}
			if _, err := s.jjm(bob, "renew", id, "--proxy", "/etc/passwd"); err == nil {
				t.Error("bob renewed it")
			}
			if out, err := s.jjm(who, "renew", id, "--proxy", p1); err != nil || out != id+" no-change\n" {
				t.Errorf("the same again: %q, %v", out, err)
			}
			if name == "owner" {
				out, err = s.jjm(who, "renew", id, "--proxy", p2)
			} else { // as gatekeepers do that know nothing else
				out, err = s.jjm(who, "submit", "--key", "k", "--proxy", p2, "--token", tok, file)
			}
			if err != nil || !strings.HasPrefix(out, id) {
				t.Errorf("renewal: %q, %v", out, err)
			}
			s.final(id, "done")
			if got := s.stdout(who, id); got != fmt.Sprintf("600 %s\ngeheim\n0\n", who.name) {
				t.Errorf("the job printed %q", got)
			}
			s.until("they are removed", func() bool { return len(s.secrets(who)) == 0 })
			for _, what := range []string{"record", "history", "log", "status"} {
				if out, err := s.jjm(who, what, id); err != nil || strings.Contains(out, "geheim-") {
					t.Errorf("%s: %q, %v", what, out, err)
				}
			}
			s.stop()
			s.daemon = nil
			if left := s.secrets(who); len(left) > 0 {
				t.Errorf("what the daemon wrote holds them: %v", left)
			}
		})
	}
}

// secrets lists the files that hold a secret, but those in the owner's folder.
func (s *site) secrets(p person) []string {
	s.t.Helper()
	var found []string
	err := filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case os.IsNotExist(err):
			return nil
		case err != nil:
			return err
		case path == filepath.Join(s.dir, "home-"+p.name):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(text), "geheim-") {
			found = append(found, path)
		}
		return nil
	})
	s.must(err)
	return found
}
