package identity_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/site"
)

// A proxy and a token are private, reach only the jobs that request them, are renewed while the jobs run, and are
// removed at the end. No file that the daemon wrote contains them.
func TestCredentials_ArePrivateRenewedAndNeverLogged(t *testing.T) {
	t.Parallel()
	for name, runAs := range map[string]string{"owner": asOwner, "service": ""} {
		t.Run(name, func(t *testing.T) {
			if runAs != asOwner {
				needs.Campaign(t, needs.Systems)
			}
			t.Parallel()
			alice, bob := site.Account(t), site.Account(t)
			s := newHouse(t, runAs, site.Local)
			who := alice
			if runAs == "" {
				who = site.Root() // a service of root accepts no jobs of other accounts
			}
			home := s.Home(who)
			secret := func(name, text string) string {
				path := filepath.Join(home, name)
				s.Must(os.WriteFile(path, []byte(text), 0o600))
				s.Must(os.Chown(path, who.UID, who.GID))
				return path
			}
			p1, p2, tok := secret("p1", "geheim-proxy-1\n"), secret("p2", "geheim-proxy-2\n"), secret("tok", "geheim-token\n")
			wait := `while ! grep -q proxy-2 $X509_USER_PROXY; do sleep 0.1; done; stat -c "%a %U" $X509_USER_PROXY; cut -c 1-6 $BEARER_TOKEN_FILE; env | grep -c geheim; true`
			file := secret("asking.toml", site.Script(wait, `credentials = ["proxy", "token"]`))
			if _, err := s.JJM(who, "submit", "--key", "k", file); err == nil ||
				!strings.Contains(err.Error(), "asks for a proxy") {
				t.Errorf("without credentials: %v", err)
			}
			out, err := s.JJM(who, "submit", "--key", "k", "--proxy", p1, "--token", tok, file)
			s.Must(err)
			id := strings.TrimSpace(out)
			other := s.Submit(who, site.Script("env | grep -c -e X509_USER_PROXY -e BEARER; true"))
			s.Final(other, "done")
			if got := s.Stdout(who, other); got != "0\n" {
				t.Errorf("a job that did not ask found %q", got)
			}
			s.Until("it runs", func() bool { return s.Status(id).Lookup.Counts.Running == 1 })
			files := s.secrets(who)
			if len(files) != 2 {
				t.Errorf("stored as %v", files)
			}
			for _, path := range files {
				s.reads(map[string]string{"credential": path}, map[site.Person]bool{who: true, bob: false})
			}
			if _, err := s.JJM(bob, "renew", id, "--proxy", "/etc/passwd"); err == nil {
				t.Error("bob renewed it")
			}
			if out, err := s.JJM(who, "renew", id, "--proxy", p1); err != nil || out != id+" no-change\n" {
				t.Errorf("the same again: %q, %v", out, err)
			}
			if name == "owner" {
				out, err = s.JJM(who, "renew", id, "--proxy", p2)
			} else { // some gatekeepers can renew only in this way
				out, err = s.JJM(who, "submit", "--key", "k", "--proxy", p2, "--token", tok, file)
			}
			if err != nil || !strings.HasPrefix(out, id) {
				t.Errorf("renewal: %q, %v", out, err)
			}
			s.Final(id, "done")
			if got := s.Stdout(who, id); got != fmt.Sprintf("600 %s\ngeheim\n0\n", who.Name) {
				t.Errorf("the job printed %q", got)
			}
			s.Until("they are removed", func() bool { return len(s.secrets(who)) == 0 })
			for _, what := range []string{"record", "history", "log", "status"} {
				if out, err := s.JJM(who, what, id); err != nil || strings.Contains(out, "geheim-") {
					t.Errorf("%s: %q, %v", what, out, err)
				}
			}
			s.Stop()
			s.Daemon = nil
			if left := s.secrets(who); len(left) > 0 {
				t.Errorf("what the daemon wrote holds them: %v", left)
			}
		})
	}
}

// secrets returns the files that contain a secret, except those in the owner's folder.
func (s house) secrets(p site.Person) []string {
	s.T.Helper()
	var found []string
	err := filepath.WalkDir(s.Dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case os.IsNotExist(err):
			return nil
		case err != nil:
			return err
		case path == filepath.Join(s.Dir, "home-"+p.Name):
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
	s.Must(err)
	return found
}
