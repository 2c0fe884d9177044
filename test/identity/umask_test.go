package identity_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jjm/internal/testkit/programs"
	"jjm/internal/testkit/site"
)

// With any umask, a first start makes folders that the accounts permitted by the configuration can enter. If a folder
// still excludes these accounts, "config check" names the folder and the remedy.
func TestUmask_AFirstStartLetsInWhomTheConfigurationMeans(t *testing.T) {
	t.Parallel()
	alice := site.Account(t)
	s := house{site.New(t, &bin, site.Settings{RunAs: asOwner, Clusters: site.Local, Umask: "077"})}
	id := s.Submit(alice, site.Script("echo who"))
	s.Final(id, "done")
	for _, args := range [][]string{{"status", id}, {"record", id}, {"output", "-o", "/dev/null", id}} {
		if _, err := s.JJM(alice, args...); err != nil {
			t.Error(err)
		}
	}
	check := func() string {
		cmd := site.Root().As(bin.Path(t, "jjm-daemon"), "config", "check", filepath.Join(s.Dir, "jjm.toml"))
		cmd.Env = append(cmd.Env, "JJM_STATE="+s.Dir+"/s")
		out, err := cmd.CombinedOutput()
		programs.Heard(t, "config", out)
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return string(out)
	}
	if got := check(); strings.Contains(got, "lets no other account in") {
		t.Errorf("all is open, and the check says %s", got)
	}
	s.Stop()
	if out, err := s.JJM(alice, "record", id); err != nil {
		t.Errorf("the record without a daemon: %q, %v", out, err)
	}
	for _, name := range []string{"s/work", "s/records", "s"} {
		dir := filepath.Join(s.Dir, name)
		s.Must(os.Chmod(dir, 0o700))
		if got := check(); !strings.Contains(got, "the folder "+dir+" (uid 0, mode drwx------) lets no other account in") ||
			!strings.Contains(got, "chmod go+x "+dir+"\n") {
			t.Errorf("%s is shut, and the check says %s", dir, got)
		}
		s.Must(os.Chmod(dir, 0o755))
	}
}
