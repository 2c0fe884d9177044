package gatekeepers_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Two hundred jobs are submitted, fifty at a time, while the daemon is away twice.
func gramTwoHundred(t *testing.T, g *gramSite) { gramMany(t, g, 4) }

// gramMany submits jobs for the local and for the Slurm cluster. GRAM accepts each job, and each job is done once. For
// every fourth job a client waits for GRAM's report.
func gramMany(t *testing.T, g *gramSite, waves int) {
	all := 50 * waves
	one := g.one.with(g.bed.Vars["SMALL_PROXY"])
	dir := one.folder(t)
	var mu sync.Mutex
	contacts := map[string]bool{}
	var clients []*exec.Cmd
	g.waves(t, waves, func(i int) {
		rsl := fmt.Sprintf(`&(executable=/bin/sh)(arguments=-c "echo %d >>%s/ledger")(jjm_name=many)`, i, dir)
		if i%4 == 0 {
			client := one.command(t.Context(), "globusrun", "-r", g.at(one), rsl+"(jjm_clusters=slurm)")
			client.Stdout = &strings.Builder{}
			if err := client.Start(); err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			clients = append(clients, client)
			return
		}
		s := one.run(t, "globusrun", "-b", "-r", g.at(one), rsl+"(jjm_clusters=local)")
		_, contact, ok := strings.Cut(s.out, "https://")
		if s.exit != 0 || !ok {
			t.Errorf("submission %d: exit %d\n%s%s", i, s.exit, s.out, s.err)
		}
		mu.Lock()
		defer mu.Unlock()
		contacts[strings.TrimSpace(contact)] = true
	})
	if n := len(contacts) + len(clients); n != all {
		t.Errorf("%d contacts for %d jobs", n, all)
	}
	g.wantOnce(t, "many", filepath.Join(dir, "ledger"), all)
	for _, c := range clients {
		if err := c.Wait(); err != nil || !strings.Contains(c.Stdout.(*strings.Builder).String(), "JOB_STATE_DONE") {
			t.Errorf("a client was told %v: %v", c.Stdout, err)
		}
	}
	await(t, "GRAM has seen the end of each", func() bool {
		files, _ := filepath.Glob(filepath.Join(g.bed.Vars["JOBS"], g.one.owner.User, "*", "*", "job.*"))
		return len(files) == 0
	})
}

// wantOnce waits until all grid jobs of a name are done, and checks with the ledger that each ran once. Each job adds a
// unique line to the ledger.
func (s *site) wantOnce(t testing.TB, name, ledger string, all int) {
	t.Helper()
	await(t, fmt.Sprintf("%d grid jobs are done", all), func() bool {
		done := 0
		for _, g := range s.byName(name) {
			if g.Lookup.Status == "done" {
				done++
			} else if final(g.Lookup.Status) {
				t.Fatalf("%s: %s %s", g.Key, g.Lookup.Status, g.Lookup.Message)
			}
		}
		return done >= all
	})
	text, err := os.ReadFile(ledger)
	lines := strings.Fields(string(text))
	ran := len(lines)
	slices.Sort(lines)
	if n := len(s.byName(name)); err != nil || n != all || ran != all || len(slices.Compact(lines)) != all {
		t.Errorf("%d submissions are %d grid jobs, which ran %d times: %v", all, n, ran, err)
	}
}

// While a cluster is frozen, GRAM's jobs for it are accepted and reported as waiting, and can be killed. When the
// cluster continues, the remaining jobs are done.
func gramFrozen(t *testing.T, g *gramSite) {
	out := filepath.Join(g.one.folder(t), "out")
	waits := g.submit(t, g.one, `&(executable=/bin/echo)(arguments=thawed)(jjm_name=waits)(jjm_clusters=frozen)(stdout=`+
		out+`)`)
	doomed := g.submit(t, g.one, `&(executable=/bin/sleep)(arguments=600)(jjm_name=doomed)(jjm_clusters=frozen)`)
	for _, contact := range []string{waits, doomed} {
		g.jobOf(t, contact)
		want(t, g.one.run(t, "globusrun", "-status", contact), 0, "PENDING\n")
	}
	if s := g.one.run(t, "globusrun", "-k", doomed); s.exit != 0 {
		t.Errorf("cancel: exit %d %s%s", s.exit, s.out, s.err)
	}
	if g.byName("waits")[0].Lookup.Counts.Running != 0 {
		t.Error("the cluster is not frozen")
	}
	g.thaw(t)
	await(t, "the one is done and the other gone", func() bool {
		return g.byName("waits")[0].Lookup.Status == "done" && g.byName("doomed")[0].Lookup.Status == "aborted"
	})
	await(t, "its output is there", func() bool {
		text, _ := os.ReadFile(out)
		return string(text) == "thawed\n"
	})
}

// On a full disk running jobs are reported as running. A submission waits until there is space, and then becomes one
// grid job.
func gramFullDisk(t *testing.T, g *gramSite) {
	runs := g.submit(t, g.one, `&(executable=/bin/sleep)(arguments=600)(jjm_name=runs)`)
	g.running(t, "runs")
	await(t, "GRAM knows that it runs", func() bool {
		return g.one.run(t, "globusrun", "-status", runs).out == "ACTIVE\n"
	})
	ballast := filepath.Join(g.state(), "ballast")
	fill(t, ballast)
	before := g.submissions("begun")
	var out *strings.Builder
	var ended chan error
	try := func() {
		client := g.other.command(t.Context(), "globusrun", "-s", "-r", g.at(g.other),
			`&(executable=/bin/echo)(arguments=late)(jjm_name=late)`)
		out, ended = &strings.Builder{}, make(chan error, 1)
		client.Stdout, client.Stderr = out, out
		if err := client.Start(); err != nil {
			t.Fatal(err)
		}
		go func(ended chan error) { ended <- client.Wait() }(ended)
	}
	try()
	await(t, "the submission is tried", func() bool {
		select {
		case err := <-ended: // if one of a job manager's scripts was killed, its next job fails
			t.Logf("before jjm was asked: %v, %s", err, out)
			try()
		default:
		}
		return g.submissions("begun") > before
	})
	want(t, g.one.run(t, "globusrun", "-status", runs), 0, "ACTIVE\n")
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil || out.String() != "late\n" {
		t.Errorf("the submission: %v\n%s", err, out.String())
	}
	if n := len(g.byName("late")); n != 1 {
		t.Errorf("%d grid jobs", n)
	}
	if s := g.one.run(t, "globusrun", "-k", runs); s.exit != 0 {
		t.Errorf("cancel: exit %d %s%s", s.exit, s.out, s.err)
	}
	await(t, "the other one is killed", func() bool { return g.byName("runs")[0].Lookup.Status == "aborted" })
}
