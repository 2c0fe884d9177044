package gatekeepers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// post submits a job n times through the REST interface, with one connection, and returns the URLs. ARC's own client
// would need 0.4 s of CPU for each job.
func (a *arcSite) post(t testing.TB, p *person, n int, xrsl string) []string {
	t.Helper()
	file := filepath.Join(p.folder(t), "job.xrsl")
	write(t, file, xrsl, 0o644)
	jobs := a.bed.Vars["URL"] + "/rest/1.0/jobs"
	s := p.run(t, "curl", "-sS", "--capath", a.bed.Env["X509_CERT_DIR"], "--cert", p.proxyFile, "--key", p.proxyFile, "-H",
		"Accept: application/json",
		"-H", "Content-Type: application/rsl", "--data-binary", "@"+file, fmt.Sprintf("%s?action=new&n=[1-%d]", jobs, n))
	var urls []string
	for _, m := range regexp.MustCompile(`"id"\s*:\s*"([^"]+)"`).FindAllStringSubmatch(s.out, -1) {
		urls = append(urls, jobs+"/"+m[1])
	}
	if len(urls) != n {
		t.Errorf("%d jobs of %d: exit %d\n%s%s", len(urls), n, s.exit, s.out, s.err)
	}
	return urls
}

// Two hundred jobs are submitted, fifty at a time, to the local and the Slurm cluster, while the daemon is away twice.
// A-REX reports success for each job, and each job is done once.
func arcTwoHundred(t *testing.T, a *arcSite) {
	const each = 10 // jobs per connection; other tests use the client programs
	dir := a.one.folder(t)
	var mu sync.Mutex
	var urls []string
	a.waves(t, 4, func(i int) {
		if i%each > 0 {
			return
		}
		cluster := "local"
		if i%50 == 0 {
			cluster = "slurm"
		}
		posted := a.post(t, a.one, each,
			fmt.Sprintf(`&(executable="/bin/sh")(arguments="-c" "basename $GRID_GLOBAL_JOBURL >>%s/ledger")`+
				`(jobname="many")(environment=("JJM_CLUSTERS" "%s"))`, dir, cluster))
		mu.Lock()
		defer mu.Unlock()
		urls = append(urls, posted...)
	})
	a.wantOnce(t, "many", filepath.Join(dir, "ledger"), 200)
	for _, url := range urls {
		a.wantEnd(t, url, "FINISHED")
		if text, err := os.ReadFile(filepath.Join(a.bed.Vars["CONTROL"],
			"job."+filepath.Base(url)+".diag")); !strings.Contains(string(text), "exitcode=0") {
			t.Errorf("the accounting of %s: %v\n%s", url, err, text)
		}
	}
}

// wantEnd waits until A-REX has finished a job, and checks how it ended there.
func (a *arcSite) wantEnd(t testing.TB, url, how string) {
	t.Helper()
	control := a.bed.Vars["CONTROL"]
	await(t, "A-REX is through with "+url, func() bool {
		return exists(filepath.Join(control, "finished", "job."+filepath.Base(url)+".status"))
	})
	status, _ := os.ReadFile(filepath.Join(control, "finished", "job."+filepath.Base(url)+".status"))
	failed, _ := os.ReadFile(filepath.Join(control, "job."+filepath.Base(url)+".failed"))
	if strings.TrimSpace(string(status)) != how || len(failed) > 0 {
		t.Errorf("%s ended as %s: %s", url, status, failed)
	}
}

// While a cluster is frozen, A-REX's jobs for it are accepted and kept, and can be killed. When the cluster continues,
// the remaining jobs are done.
func arcFrozen(t *testing.T, a *arcSite) {
	dir := a.one.folder(t)
	waits := a.submit(t, a.one, dir,
		`&(executable="/bin/echo")(arguments="thawed")(stdout="out.txt")(jobname="waits")(environment=("JJM_CLUSTERS" "frozen"))`)
	doomed := a.submit(t, a.one, dir,
		`&(executable="/bin/sleep")(arguments="600")(jobname="doomed")(environment=("JJM_CLUSTERS" "frozen"))`)
	for _, url := range []string{waits, doomed} {
		a.jobOf(t, url)
		await(t, "A-REX has handed it over", func() bool {
			status, _ := os.ReadFile(filepath.Join(a.bed.Vars["CONTROL"], "processing", "job."+filepath.Base(url)+".status"))
			return strings.TrimSpace(string(status)) == "INLRMS"
		})
	}
	if s := a.one.arc(t, dir, "arckill", "--keep", doomed); s.exit != 0 {
		t.Errorf("arckill: exit %d\n%s%s", s.exit, s.out, s.err)
	}
	if a.byName("waits")[0].Lookup.Counts.Running != 0 {
		t.Error("the cluster is not frozen")
	}
	a.thaw(t)
	a.wantEnd(t, waits, "FINISHED")
	wantFile(t, a.session(waits, "out.txt"), "thawed\n")
	await(t, "the other one is killed", func() bool { return a.byName("doomed")[0].Lookup.Status == "aborted" })
}

// On a full disk running jobs continue, and A-REX gets no wrong state. A submission waits until there is space, and
// then becomes one grid job.
func arcFullDisk(t *testing.T, a *arcSite) {
	dir := a.one.folder(t)
	goOn := filepath.Join(dir, "go")
	runs := a.submit(t, a.one, dir,
		fmt.Sprintf(
			`&(executable="/bin/sh")(arguments="-c" "until [ -e %s ]; do sleep 0.3; done; echo ran")(stdout="out.txt")(jobname="runs")`, goOn))
	a.running(t, "runs")
	ballast := filepath.Join(a.state(), "ballast")
	fill(t, ballast)
	before := a.submissions("begun")
	late := a.submit(t, a.other, a.other.folder(t),
		`&(executable="/bin/echo")(arguments="late")(jobname="late")(stdout="out.txt")`)
	await(t, "the submission is tried", func() bool { return a.submissions("begun") > before })
	if l := a.status(a.jobOf(t, runs)); l.Status != "running" {
		t.Errorf("what runs is told as %s", l.Status)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	write(t, goOn, "", 0o644)
	for _, url := range []string{runs, late} {
		a.wantEnd(t, url, "FINISHED")
		a.jobOf(t, url)
	}
	wantFile(t, a.session(runs, "out.txt"), "ran\n")
}
