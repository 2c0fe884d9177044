package gateclient_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/internal/gatekeeper"
	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/testbed"
)

// A newer proxy from a gatekeeper reaches a job on workers that do not see the work area: HTCondor transfers it.
func TestCondor_ANewerProxyReachesACarriedJob(t *testing.T) {
	needs.Campaign(t, needs.Gatekeepers)
	t.Parallel()
	bed := testbed.Start(t, "condor")
	s := newSite(t, local+fmt.Sprintf(
		"[[cluster]]\nname = \"condor\"\nkind = \"condor\"\nshared_fs = false\nbin = %q\nenv = {CONDOR_CONFIG = %q}\n",
		bed.Bin, bed.Env["CONDOR_CONFIG"]), "")
	s.give(bed.Owner)
	s.start()
	at := func(name string) string { return filepath.Join(s.dir, name) }
	sum := func() string {
		out, err := exec.Command("sh", "-c", "cksum <"+at("px")).Output()
		s.must(err)
		return string(out)
	}
	renew := s.authority()
	renew(at("px"), 1)
	proxy, err := gatekeeper.ReadCredential(jjm.ProxyKind, at("px"), nil)
	s.must(err)
	shell := fmt.Sprintf(`was=$(cksum <"$X509_USER_PROXY"); echo "$was" >%[1]s/first; touch %[1]s/started
while [ "$was" = "$(cksum <"$X509_USER_PROXY")" ]; do sleep 0.1; done; cksum <"$X509_USER_PROXY" >%[1]s/saw`, s.dir)
	job := s.job("carried", shell)
	job.Text = strings.Replace(job.Text, "[params]", "clusters = [\"condor\"]\ncredentials = [\"proxy\"]\n[params]", 1)
	job.Credentials = []jjm.Credential{proxy}
	r, err := s.client(ample).Submit(t.Context(), job)
	s.must(err)
	s.await("the job has looked", func() bool { _, err := os.Stat(at("started")); return err == nil })
	if first, err := os.ReadFile(at("first")); err != nil || string(first) != sum() {
		t.Errorf("at first the job saw %q, %v", first, err)
	}
	// HTCondor compares times in seconds: if a proxy has the second in which the job started, HTCondor takes it for the
	// first proxy.
	var newer []string
	var made time.Time
	s.await("the job has seen a newer one", func() bool {
		if time.Since(made) > 3*time.Second { // pause: HTCondor sees the next proxy
			renew(at("px"), 9+len(newer))
			_, err := s.client(ample).Refresh(t.Context(), string(r.Handle), jjm.ProxyKind, at("px"), nil, "")
			s.must(err)
			newer, made = append(newer, sum()), time.Now()
		}
		_, err := os.Stat(at("saw"))
		return err == nil
	})
	if l := s.final(r.Handle); l.Status != "done" {
		t.Errorf("%+v", l)
	}
	if saw, err := os.ReadFile(at("saw")); err != nil || !slices.Contains(newer, string(saw)) {
		t.Errorf("the job saw %q, %v; want one of %q", saw, err, newer)
	}
}
