package gatekeepers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/testbed"
)

// installedGRAM starts GRAM's bed to install it, and releases it for other tests.
func installedGRAM(t *testing.T) (bed *testbed.Bed) {
	needs.Root(t, "to install GRAM")
	needs.Debian(t)
	t.Run("bed", func(t *testing.T) { bed = testbed.Start(t, "gram") })
	if bed == nil {
		t.FailNow()
	}
	return bed
}

// TestGRAMScript tests the first tier: it makes the calls of a job manager and compares every byte of the answers.
func TestGRAMScript(t *testing.T) {
	bed := installedGRAM(t)
	t.Parallel() // after the bed is released, because other tests need it exclusively
	owner := account(t, bed.Vars["OWNER"])
	of := func(scenario func(*testing.T, *site, *scripts)) func(*testing.T, jjm.Owner) {
		return func(t *testing.T, owner jjm.Owner) {
			dir, err := os.MkdirTemp("", "jjm-gk-*")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			s := openSite(t, dir, owner, localCluster)
			scenario(t, s, newScripts(t, owner, dir, bin.Dir(t), s.state()))
		}
	}
	together(t, owner, chosen(map[string]func(*testing.T, jjm.Owner){
		"answers":        of(scriptAnswers),
		"bad programs":   of(scriptBadPrograms),
		"two hundred":    of(scriptTwoHundred),
		"killed":         of(scriptKilled),
		"frozen cluster": of(scriptFrozen),
		"full disk":      of(scriptFullDisk),
		"trace":          of(scriptTrace),
	}, "answers", "trace"))
}

// Each verb returns the documented answer for jobs that succeed, fail and are killed.
func scriptAnswers(t *testing.T, s *site, g *scripts) {
	s.start()
	p := g.start(t)

	good := g.job(t, "1.1")
	good.attr["executable"], good.attr["arguments"] = "'/bin/echo'", quoted("it's", `a\b`, "c d")
	id := p.submit(good)
	for _, name := range []string{"stdout", "stderr"} {
		if !exists(filepath.Join(good.dir, name)) {
			t.Errorf("%s is not there from the start", name)
		}
	}
	if again := p.submit(good); again != id {
		t.Errorf("the same job again is %s, was %s", again, id)
	}
	if got := p.end(good); !slices.Equal(got, []string{"JOB_STATE:8"}) {
		t.Errorf("the end: %q", got)
	}
	wantFile(t, filepath.Join(good.dir, "stdout"), "it's a\\b c d\n")
	p.wantLines("poll", good, "JOB_STATE:8")
	p.wantLines("cancel", good)

	bad := g.job(t, "1.2")
	back := filepath.Join(bad.dir, "back.tar")
	bad.attr["executable"], bad.attr["jjmtype"] = "'/dev/null'", "'script'"
	bad.attr["jjmparams"] = "[" + quoted("command", "/bin/sh", "-c", "echo before; exit 3") + "]"
	bad.attr["filestageout"] = "[" + quoted("jjm-output.tar", "file://"+back) + "]"
	p.submit(bad)
	end := p.end(bad)
	if len(end) != 3 || end[0] != "ERROR:17" || !strings.HasPrefix(end[1], "GT3_FAILURE_MESSAGE:") ||
		!strings.HasSuffix(end[1], "exit code 3") ||
		end[2] != "STAGED_OUT:jjm-output.tar file://"+back {
		t.Errorf("the end of a failed job: %q", end)
	}
	wantTar(t, back, map[string]string{".0.stdout": "before\n"})

	long := g.job(t, "1.3")
	long.attr["executable"], long.attr["arguments"] = "'/bin/sleep'", "'600'"
	p.submit(long)
	await(t, "it runs", func() bool { return slices.Equal(p.ask("poll", long), []string{"JOB_STATE:2"}) })
	long.attr["signal"] = "'1'"
	p.wantLines("signal", long)
	long.attr["signal"] = "'2'"
	p.wantLines("signal", long, "ERROR:27")
	p.wantLines("cancel", long)
	if got := p.end(long); !slices.Equal(got, []string{"JOB_STATE:8"}) {
		t.Errorf("the end of a killed job: %q", got)
	}

	wrong := g.job(t, "1.4")
	wrong.attr["maxcputime"] = "'soon'"
	if got := p.ask("submit", wrong); len(got) != 2 || got[0] != "ERROR:17" || !strings.Contains(got[1], "max_cpu_time") {
		t.Errorf("what cannot be: %q", got)
	}
	wrong.attr["jobid"] = quoted("g" + strings.Repeat("a", 24))
	delete(wrong.attr, "maxcputime")
	if got := p.ask("poll", wrong); len(got) != 2 || got[0] != "ERROR:17" {
		t.Errorf("a job that jjm does not know: %q", got)
	}
}

// If the command that the module calls in place of jjm misbehaves, the stream of answers stays intact: a failed poll
// reports nothing, and the next job is not affected.
func scriptBadPrograms(t *testing.T, s *site, g *scripts) {
	type answers struct {
		program string
		poll    []string
		submit  string // the first line
	}
	tests := map[string]func(*testing.T, *scripts){}
	for name, c := range map[string]answers{
		"silent":      {"exit 0", nil, "ERROR:126"},
		"blank lines": {`printf '\n\n'; echo JOB_ID=g1; printf '\n'; echo JOB_STATE=2`, []string{"JOB_STATE:2"}, "JOB_ID:g1"},
		"garbage":     {`head -c 100000 /dev/urandom; echo; echo GRAM_SCRIPT_ERROR:25; echo JOB_STATE=99`, nil, "ERROR:126"},
		"dies":        {"kill -9 $$", nil, "ERROR:126"},
		"no program":  {"", nil, "ERROR:126"},
		"says much":   {`yes x | head -c 10000000 >&2; echo JOB_STATE=1`, []string{"JOB_STATE:1"}, "ERROR:126"},
		"other words": {`echo "JOB_ID=a b"; echo "JOB_STATE=2; rm"; echo "ERROR=x"`, nil, "ERROR:126"},
		// The child keeps the output open after the program has ended, so there is no answer in time.
		"leaves a child": {`sleep 600 & exit 0`, nil, "ERROR:126"},
	} {
		tests[name] = func(t *testing.T, g *scripts) {
			dir := filepath.Join(g.dir, strings.ReplaceAll(name, " ", "-"))
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if c.program != "" {
				write(t, filepath.Join(dir, "jjm-gatekeeper"), "#!/bin/sh\ncat >/dev/null\n"+c.program+"\n", 0o755)
			}
			own := newScripts(t, g.owner, dir, dir, "")
			p := own.start(t)
			j := own.job(t, "2.1")
			if got := p.ask("submit", j); len(got) == 0 || got[0] != c.submit {
				t.Errorf("submit: %q, want %s first", got, c.submit)
			}
			j.attr["jobid"] = "'g1'"
			p.wantLines("poll", j, c.poll...)
		}
	}
	together(t, g, tests)
}

// Two hundred jobs go through five scripts, as many as a job manager has, while the daemon is killed, stays away and
// comes back. Each job is accepted and becomes one grid job.
func scriptTwoHundred(t *testing.T, s *site, g *scripts) {
	const all, perls = 200, 5
	s.start()
	jobs := make(chan int)
	var wg sync.WaitGroup
	var mu sync.Mutex
	ids := map[string]int{}
	for range perls {
		p := g.start(t)
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range jobs {
				j := g.job(t, fmt.Sprintf("3.%d", i))
				lines := p.ask("submit", j)
				if len(lines) != 2 || !strings.HasPrefix(lines[0], "JOB_ID:") {
					t.Errorf("submit %d: %q", i, lines)
					continue
				}
				mu.Lock()
				ids[lines[0]] = i
				mu.Unlock()
			}
		}()
	}
	for i := range all {
		switch i {
		case 50:
			s.stop(syscall.SIGKILL)
		case 100:
			s.start()
		case 150:
			s.restart()
		}
		jobs <- i
	}
	close(jobs)
	wg.Wait()
	if len(ids) != all {
		t.Errorf("%d ids for %d jobs", len(ids), all)
	}
	await(t, "all jobs are done", func() bool { return !s.alive() && len(s.list()) >= all })
	if n := len(s.list()); n != all {
		t.Errorf("%d grid jobs for %d submissions", n, all)
	}
	for _, j := range s.list() {
		if j.Lookup.Status != "done" {
			t.Errorf("%s: %s %s", j.Key, j.Lookup.Status, j.Lookup.Message)
		}
	}
}

// A script is killed between its call of jjm and its answer, before or after jjm has the job, and the call continues to
// run. The next script submits the job again, as job managers do, and both submissions are the same grid job.
func scriptKilled(t *testing.T, s *site, g *scripts) {
	s.start()
	for id, moment := range map[string]string{"6.1": "%[2]s; answer=$(%[1]s)", "6.2": "answer=$(%[1]s); %[2]s"} {
		j := g.job(t, id)
		at := func(name string) string { return filepath.Join(j.dir, name) }
		wait := fmt.Sprintf("touch %s; while [ -e %s ]; do sleep 0.3; done", at("there"), at("hold"))
		for _, err := range []error{os.WriteFile(at("hold"), nil, 0o644), os.Mkdir(at("bin"), 0o755)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		call := fmt.Sprintf(`printf %%s "$text" | %s/jjm-gatekeeper "$@"`, bin.Dir(t))
		write(t, at("bin/jjm-gatekeeper"),
			"#!/bin/sh\ntrap '' PIPE\ntext=$(cat)\n"+fmt.Sprintf(moment, call, wait)+"\necho \"$answer\"\ntouch "+at("told")+
				"\n", 0o755)
		j.attr["executable"], j.attr["arguments"] = "'/bin/sh'", quoted("-c", "echo ran >>"+at("ledger"))
		doomed := newScripts(t, g.owner, j.dir, at("bin"), s.state()).start(t)
		doomed.tell("submit", j)
		await(t, "the submission is on its way", func() bool { return exists(at("there")) })
		if said := doomed.kill(); strings.Contains(said, "JOB_ID") {
			t.Fatalf("it had answered %q", said)
		}
		if strings.HasPrefix(moment, "answer") { // a busy daemon takes the submission from the spool later
			await(t, "jjm has the grid job", func() bool { return len(s.byKey("gram-"+id)) == 1 })
		} else if n := len(s.byKey("gram-" + id)); n != 0 {
			t.Fatalf("%d grid jobs before the call of jjm", n)
		}
		p := g.start(t)
		handle := p.submit(j)
		if err := os.Remove(at("hold")); err != nil {
			t.Fatal(err)
		}
		await(t, "the call of the killed script is over", func() bool { return exists(at("told")) })
		if again := p.submit(j); again != handle {
			t.Errorf("the same job again is %s, was %s", again, handle)
		}
		if got := p.end(j); !slices.Equal(got, []string{"JOB_STATE:8"}) {
			t.Errorf("the end: %q", got)
		}
		wantFile(t, at("ledger"), "ran\n")
		if jobs := s.byKey("gram-" + id); len(jobs) != 1 || string(jobs[0].Handle) != handle {
			t.Errorf("%s is %+v, want one grid job, %s", id, jobs, handle)
		}
	}
}

// If the commands of a batch system hang, the gatekeeper gets its answers without waiting for them.
func scriptFrozen(t *testing.T, s *site, g *scripts) {
	frozen := s.path("frozen")
	if err := os.Mkdir(frozen, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sbatch", "squeue", "scancel", "scontrol", "sinfo", "sacct"} {
		write(t, filepath.Join(frozen, name), "#!/bin/sh\nexec sleep 600\n", 0o755)
	}
	config, err := os.ReadFile(s.path("jjm.toml"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, s.path("jjm.toml"), strings.Replace(string(config), localCluster,
		fmt.Sprintf("[[cluster]]\nname = \"frozen\"\nkind = \"slurm\"\nbin = %q\n", frozen), 1), 0o644)
	s.start()
	p := g.start(t)
	j := g.job(t, "4.1")
	p.submit(j)
	p.wantLines("poll", j, "JOB_STATE:1")
	p.wantLines("cancel", j)
	j2 := g.job(t, "4.2")
	p.submit(j2)
	p.wantLines("poll", j2, "JOB_STATE:1")
}

// On a full disk known jobs can be looked up. A submission or a kill that cannot be stored is refused with a message,
// and leaves nothing half done.
func scriptFullDisk(t *testing.T, s *site, g *scripts) {
	needs.Tmpfs(t, s.state(), fmt.Sprintf("size=8m,uid=%d,gid=%d,mode=755", s.owner.UID, s.owner.GID))
	t.Cleanup(func() { s.stop(syscall.SIGTERM) }) // stop before the file system is removed
	s.start()
	p := g.start(t)
	done := g.job(t, "5.1")
	p.submit(done)
	p.end(done)
	ballast := filepath.Join(s.state(), "ballast")
	fill(t, ballast)
	p.wantLines("poll", done, "JOB_STATE:8")
	late := g.job(t, "5.2")
	if got := p.ask("submit", late); len(got) != 2 || got[0] != "ERROR:3" ||
		!strings.HasPrefix(got[1], "GT3_FAILURE_MESSAGE:") {
		t.Errorf("submit on a full disk: %q", got)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	p.submit(late)
	if got := p.end(late); !slices.Equal(got, []string{"JOB_STATE:8"}) {
		t.Errorf("after the disk was full: %q", got)
	}
	if jobs := s.byKey("gram-5.2"); len(jobs) != 1 {
		t.Errorf("%d grid jobs", len(jobs))
	}
}

// fill writes until no space is left.
func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
}

// TestGRAMPersonal tests the second tier: gatekeepers that ordinary accounts start for themselves, with the daemon of
// one account.
func TestGRAMPersonal(t *testing.T) {
	needs.Campaign(t, needs.Gatekeepers)
	t.Parallel()
	bed := testbed.StartAlone(t, "gram")
	g := openGRAM(t, bed, account(t, bed.Vars["OWNER"]))
	g.start()
	g.personal = map[*person]string{}
	for _, p := range []*person{g.one, g.other} {
		said := p.run(t, "globus-personal-gatekeeper", "-start", "-jmtype", "jjm")
		_, contact, ok := strings.Cut(said.out, "GRAM contact: ")
		if !ok {
			t.Fatalf("exit %d\n%s%s", said.exit, said.out, said.err)
		}
		g.personal[p] = strings.TrimSpace(contact)
		t.Cleanup(func() { p.run(t, "globus-personal-gatekeeper", "-killall") })
	}
	together(t, g, map[string]func(*testing.T, *gramSite){
		"plain": func(t *testing.T, g *gramSite) {
			want(t, g.other.run(t, "globusrun", "-s", "-r", g.at(g.other),
				`&(executable=/bin/sh)(arguments=-c "id -un; echo oops >&2")`),
				0, g.one.owner.User+"\n", "oops")
		},
		"lives": func(t *testing.T, g *gramSite) {
			lives(t, g.site, gramFront{g}, []*person{g.one, g.other}, true, "local", "slurm")
		},
	})
	together(t, g, map[string]func(*testing.T, *gramSite){
		"fifty at once":  func(t *testing.T, g *gramSite) { gramMany(t, g, 1) },
		"manager killed": gramManagerKilled,
	})
}

// TestGRAMScript_Lives sends grid jobs of two users through the first tier to both clusters. Each user has a separate
// process.
func TestGRAMScript_Lives(t *testing.T) {
	needs.Campaign(t, needs.Gatekeepers)
	bed := installedGRAM(t)
	t.Parallel() // after the bed is released, because other tests need it exclusively
	slurm := testbed.Start(t, "slurm")
	dir, err := os.MkdirTemp("", "jjm-gk-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	one, other := personOf(t, bed, bed.Vars["OWNER"], ""), personOf(t, bed, bed.Vars["OTHER"], "")
	s := openSite(t, dir, one.owner, localCluster+bedCluster(slurm, "slurm"))
	s.start()
	lives(t, s, scriptFront{s}, []*person{one, other}, true, "local", "slurm")
}
