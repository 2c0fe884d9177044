package identity_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"jjm/internal/testkit/site"
)

// While no daemon runs, jjm reads records from the files. A record can then be read only by the owner of the grid job
// and by administrators, as with a daemon.
func TestRecords_AnswerThoseWhomTheDaemonWould(t *testing.T) {
	t.Parallel()
	alice, bob, boss := site.Account(t), site.Account(t), site.Account(t)
	s := newHouse(t, asOwner, site.Local, boss)
	hers := s.Submit(alice, site.Script("echo who"))
	his := s.Submit(bob, site.Script("echo who"))
	s.Final(hers, "done")
	s.Final(his, "done")
	s.Stop()
	for what, args := range map[string][]string{"status": {hers}, "history": {hers}, "log": {hers}, "record": {hers},
		"one": {hers + ".0"}, "path": {hers, "--path", "/gridjob/@id"}} {
		command := map[string]string{"one": "status", "path": "record"}[what]
		if command == "" {
			command = what
		}
		args = append([]string{command}, args...)
		for _, p := range []site.Person{alice, boss, site.Root()} {
			if out, err := s.JJM(p, args...); err != nil || !strings.Contains(out, hers) {
				t.Errorf("%s, %s: %q, %v", p.Name, what, out, err)
			}
		}
		out, err := s.JJM(bob, args...)
		var failed *exec.ExitError
		if !errors.As(err, &failed) || failed.ExitCode() != 6 || out != "" {
			t.Errorf("bob, %s: %q, %v, want exit code 6", what, out, err)
		}
	}
	for p, want := range map[site.Person]string{alice: hers, bob: his, boss: his + " " + hers} {
		out, err := s.JJM(p, "record", "--all", "--path", "/gridjob/@id")
		var ids []string
		for _, line := range strings.Fields(out) {
			if len(ids) == 0 || ids[len(ids)-1] != line {
				ids = append(ids, line)
			}
		}
		if err != nil || strings.Join(ids, " ") != want {
			t.Errorf("%s may ask the records %v, want %s; %v", p.Name, ids, want, err)
		}
		out, err = s.JJM(p, "list", "--all")
		if n := strings.Count(out, " done "); err != nil || n != len(strings.Fields(want)) {
			t.Errorf("%s sees %d grid jobs in %q, %v", p.Name, n, out, err)
		}
	}
}
