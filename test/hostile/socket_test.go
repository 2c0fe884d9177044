package hostile_test

import (
	"fmt"
	"strings"
	"testing"

	"jjm/internal/testkit/site"
)

// The daemon of an ordinary account runs all jobs as that account. A job sends requests that only an administrator may
// send: to drain, to ban, to kill, and to show a foreign job. The daemon refuses the requests and still accepts jobs.
func TestSocket_AJobIsNoAdministratorOfTheDaemonThatRunsIt(t *testing.T) {
	s := besiege(t, site.Settings{RunAs: "service", As: site.Account(t), Gate: `mode = "0666"`})
	secret := s.Submit(s.bob, site.Script("echo bobs-secret; sleep 600"))
	s.Until("bob's job runs", func() bool { return s.Status(secret).Lookup.Status == "running" })
	var ask strings.Builder
	fmt.Fprintf(&ask, "export JJM_STATE=%s/s\n", s.Dir)
	for _, words := range []string{"drain cluster local --reason x", "ban " + s.bob.Name + " --reason x", "kill " + secret,
		"status " + secret,
		"cat " + secret + ".0", "output " + secret} {
		fmt.Fprintf(&ask, "echo '== %s'; %s %s && echo GRANTED\n", words, bin.Path(t, "jjm"), words)
	}
	id := s.Submit(s.mallory, site.Script(ask.String()+"echo asked"))
	s.Final(id, "done")
	if got := s.Stdout(s.mallory, id); strings.Contains(got, "GRANTED") || strings.Contains(got, "bobs-secret") ||
		!strings.Contains(got, "asked") {
		t.Fatalf("the job was granted something:\n%s", got)
	}
	var asks string
	s.withstands(attack{
		name: "a job asks its daemon as an administrator",
		begin: func() {
			asks = s.Submit(s.mallory, site.Script("while :; do\n"+ask.String()+"done >/dev/null 2>&1"))
			s.Until("the job asks", func() bool { return s.Status(asks).Lookup.Status == "running" })
		},
		inForce: func() error {
			for _, id := range []string{secret, asks} {
				if st := s.Status(id).Lookup.Status; st != "running" {
					return fmt.Errorf("grid job %s is %s", id, st)
				}
			}
			return nil
		},
	})
}
