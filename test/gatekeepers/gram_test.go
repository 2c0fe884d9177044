package gatekeepers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/testbed"
)

// gramSite is a site behind a gatekeeper: one daemon, with the embedded cluster
// and a real Slurm.
type gramSite struct {
	*site
	bed        *testbed.Bed
	one, other *person
	// personal are the contacts of personal gatekeepers. A person without a personal gatekeeper uses the site's
	// gatekeeper.
	personal map[*person]string
}

// openGRAM makes a site behind the bed's gatekeeper, whose daemon runs as an
// account.
func openGRAM(t *testing.T, bed *testbed.Bed, owner jjm.Owner) *gramSite {
	slurm := testbed.Start(t, "slurm")
	t.Cleanup(func() { bed.Do(t, "clean") })
	g := &gramSite{bed: bed, one: personOf(t, bed, bed.Vars["OWNER"], bed.Vars["PROXY"]),
		other: personOf(t, bed, bed.Vars["OTHER"], bed.Vars["OTHER_PROXY"])}
	g.site = openSite(t, bed.Vars["JJM"], owner,
		localCluster+bedCluster(slurm, "slurm")+frozenCluster(t, bed.Vars["JJM"], slurm))
	g.holdOf(t, g.other)
	return g
}

// rootOwner is the account of a daemon that runs jobs as their owners.
var rootOwner = jjm.Owner{User: "root"}

// TestGRAM is the third tier of the tests of GRAM (see the comment on the package): users enter the gatekeeper of a
// site with certificates, and jjm's daemon behind it is root and runs jobs as their owners.
func TestGRAM(t *testing.T) {
	t.Parallel() // the other gatekeeper has another bed
	g := openGRAM(t, testbed.StartAlone(t, "gram"), rootOwner)
	needs.Tmpfs(t, g.state(), "size=128m,mode=755")
	t.Cleanup(func() { g.stop(syscall.SIGTERM) }) // stop before the file system is removed
	g.start()
	together(t, g, chosen(map[string]func(*testing.T, *gramSite){
		"plain":             gramPlain,
		"plain on Slurm":    gramPlainOnSlurm,
		"staged":            gramStaged,
		"job file on Slurm": gramJobFile,
		"attributes":        gramAttributes,
		"refused":           gramRefused,
		"example":           gramExample,
		"frozen cluster":    gramFrozen,
		"second user":       gramOwn,
		"lives": func(t *testing.T, g *gramSite) {
			lives(t, g.site, gramFront{g}, []*person{g.one, g.other}, true, "local", "slurm")
		},
	}, "job file on Slurm", "frozen cluster"))
	together(t, g, chosen(map[string]func(*testing.T, *gramSite){
		"manager killed": func(t *testing.T, g *gramSite) { gramManagerKilled(t, g); gramScriptKilled(t, g) },
		"two hundred":    gramTwoHundred,
	}, "manager killed"))
	if needs.InCampaign(needs.Gatekeepers) {
		t.Run("full disk", func(t *testing.T) { gramFullDisk(t, g) })
	}
}

// service returns the contact of a job manager: the address by which clients reach it.
func (g *gramSite) service(name string) string { return g.bed.Vars["CONTACT"] + "/jobmanager-" + name }

// at returns the contact by which a person reaches jjm: the person's own gatekeeper, or the site's.
func (g *gramSite) at(p *person) string {
	if contact := g.personal[p]; contact != "" {
		return contact
	}
	return g.service("jjm")
}

// submit submits a job to GRAM without waiting for its end, and returns its contact.
func (g *gramSite) submit(t *testing.T, p *person, rsl string) string {
	t.Helper()
	s := p.run(t, "globusrun", "-b", "-r", g.service("jjm"), rsl)
	for line := range strings.Lines(s.out) {
		if strings.HasPrefix(line, "https://") {
			return strings.TrimSpace(line)
		}
	}
	t.Fatalf("globusrun gave no contact: exit %d\n%s%s", s.exit, s.out, s.err)
	return ""
}

// jobOf returns the grid job of a contact. The request key is derived from the contact.
func (g *gramSite) jobOf(t *testing.T, contact string) wire.Status {
	t.Helper()
	parts := strings.Split(strings.Trim(contact, "/"), "/")
	key := "gram-" + parts[len(parts)-2] + "." + parts[len(parts)-1]
	var found []wire.Status
	await(t, "jjm knows "+contact, func() bool {
		found = g.byKey(key)
		return len(found) > 0
	})
	if len(found) > 1 {
		t.Fatalf("%s is %d grid jobs", contact, len(found))
	}
	return found[0]
}

func want(t *testing.T, s said, exit int, out string, errs ...string) {
	t.Helper()
	if s.exit != exit || s.out != out {
		t.Errorf("exit %d, output %q, errors %q; want exit %d, output %q", s.exit, s.out, s.err, exit, out)
	}
	for _, e := range errs {
		if !strings.Contains(s.err, e) {
			t.Errorf("errors %q, want %q in them", s.err, e)
		}
	}
}

// An ordinary job, which every job manager accepts, has arguments, an environment, standard input and several
// processes. Both streams come back.
func gramPlain(t *testing.T, g *gramSite) {
	dir := g.one.folder(t)
	write(t, filepath.Join(dir, "in"), "from stdin\n", 0o644)
	rsl := fmt.Sprintf(`&(executable=/bin/sh)(arguments=-c "echo $1 $LABEL; cat; echo oops >&2" sh "a ""b""")`+
		`(environment=(LABEL "two words"))(count=2)(stdin=%s/in)(max_wall_time=5)(max_memory=50)`, dir)
	want(t, g.one.run(t, "globusrun", "-s", "-r", g.service("jjm"), rsl), 0,
		strings.Repeat("a \"b\" two words\nfrom stdin\n", 2), "oops\noops\n")
}

func gramPlainOnSlurm(t *testing.T, g *gramSite) {
	rsl := `&(executable=/bin/sh)(arguments=-c "echo $SLURM_JOB_PARTITION $SLURM_JOB_ACCOUNT")(queue=two)(project=atlas)(jjm_clusters=slurm)`
	s := g.one.run(t, "globusrun", "-s", "-r", g.service("jjm"), rsl)
	if s.exit != 0 || !strings.HasPrefix(s.out, "two") {
		t.Errorf("exit %d, output %q, errors %q; want it in the partition two", s.exit, s.out, s.err)
	}
	refused := g.one.run(t, "globusrun", "-s", "-r", g.service("jjm"),
		`&(executable=/bin/true)(project=nobodys)(jjm_clusters=slurm)`)
	if refused.exit == 0 || !strings.Contains(refused.err, "Invalid account") {
		t.Errorf("of an account that is not there: exit %d, errors %q; want Slurm's reason", refused.exit, refused.err)
	}
}

// GRAM stages in a program and files, and stages out a file.
func gramStaged(t *testing.T, g *gramSite) {
	dir := g.one.folder(t)
	write(t, filepath.Join(dir, "program"), "#!/bin/sh\ncat data > result\necho \"ran $1\"\n", 0o755)
	write(t, filepath.Join(dir, "data"), "some data\n", 0o644)
	out := filepath.Join(dir, "result.back")
	rsl := fmt.Sprintf(
		`&(executable=$(GLOBUSRUN_GASS_URL)%[1]s/program)(arguments=x)(scratch_dir=$(HOME))(directory=$(SCRATCH_DIRECTORY))`+
			`(file_stage_in=($(GLOBUSRUN_GASS_URL)%[1]s/data data))(file_stage_out=(result $(GLOBUSRUN_GASS_URL)%[2]s))`, dir,
		out)
	want(t, g.one.run(t, "globusrun", "-s", "-r", g.service("jjm"), rsl), 0, "ran x\n")
	if text, err := os.ReadFile(out); err != nil || string(text) != "some data\n" {
		t.Errorf("the file that was to come back: %q, %v", text, err)
	}
}

// withTar returns RSL by which GRAM copies a tar to the client.
func withTar(to string) string {
	return `(scratch_dir=$(HOME))(directory=$(SCRATCH_DIRECTORY))(file_stage_out=(jjm-output.tar $(GLOBUSRUN_GASS_URL)` +
		to + `))`
}

// A job file describes a grid job of several local jobs. The tar comes back through file_stage_out, and a summary on
// standard output.
func gramJobFile(t *testing.T, g *gramSite) {
	dir := g.one.folder(t)
	tar := filepath.Join(dir, "back.tar")
	write(t, filepath.Join(dir, "job.toml"), `type = "script"
name = "three"
cluster = "slurm"
outputs = ["part.*"]
[params]
command = ["/bin/sh", "-c", "echo part $1 | tee part.$1", "sh", "{serial}"]
count = 3
`, 0o644)
	s := g.one.run(t, "globusrun", "-s", "-r", g.service("jjm"), `&(jjm_job_file=`+dir+`/job.toml)`+withTar(tar))
	if s.exit != 0 || !strings.HasSuffix(s.out, ": done: 3 of 3 local jobs done\n") {
		t.Errorf("exit %d, output %q, errors %q; want a summary", s.exit, s.out, s.err)
	}
	wantTar(t, tar, map[string]string{"part.1": "part 1\n", "part.2": "part 2\n", "part.3": "part 3\n",
		".0.stdout": "part 1\n"})
}

// RSL attributes describe a grid job. Its tar comes back on standard output.
func gramAttributes(t *testing.T, g *gramSite) {
	dir := g.one.folder(t)
	write(t, filepath.Join(dir, "mc.sh"), "#!/bin/sh\necho events $1 $2 $LABEL > mc.$1\n", 0o755)
	tar := filepath.Join(dir, "stdout.tar")
	rsl := fmt.Sprintf(
		`&(jjm_type=script)(jjm_name=mc)(jjm_stdout=tar)(jjm_outputs="mc.*")(jjm_inputs=("%s/mc.sh" "mc.sh" executable))`+
			`(jjm_params=(command "mc.sh" "{first_event}" "{events}")(events 10)(events_per_job 6))(environment=(LABEL x))(stdout=$(GLOBUSRUN_GASS_URL)%s)`,
		dir, tar)
	want(t, g.one.run(t, "globusrun", "-w", "-r", g.service("jjm"), rsl), 0, "")
	wantTar(t, tar, map[string]string{"mc.1": "events 1 6 x\n", "mc.7": "events 7 4 x\n"})
}

// Impossible requests are refused immediately, with every problem, and no grid job is made.
func gramRefused(t *testing.T, g *gramSite) {
	for rsl, problem := range map[string]string{
		`&(executable=/bin/true)(host_count=2)`:     "host_count",
		`&(jjm_type=nosuch)`:                        "nosuch",
		`&(jjm_type=script)(jjm_params=(comand x))`: "comand",
		`&(jjm_job_file=/nowhere/job.toml)`:         "/nowhere/job.toml",
		`&(count=1)`:                                "executable",
	} {
		s := g.one.run(t, "globusrun", "-s", "-r", g.service("jjm"), rsl)
		if s.exit == 0 || !strings.Contains(s.err, problem) {
			t.Errorf("%s: exit %d, errors %q; want %q in them", rsl, s.exit, s.err, problem)
		}
	}
	s := g.one.run(t, "globusrun", "-s", "-r", g.service("jjm"), `&(executable=/bin/true)(jjm_sort=x)`)
	if s.exit != 1 {
		t.Errorf("an attribute that nobody knows: exit %d, errors %q; want error 1", s.exit, s.err)
	}
}

// contactOf returns a job's contact, which is part of the origin in the job's record.
func (g *gramSite) contactOf(t *testing.T, s wire.Status) string {
	t.Helper()
	record := strings.Join(ask(g.site, wire.VerbRecord(),
		wire.RecordRequest{One: wire.OneRef(s.Lookup.ID.String())}).Record, "")
	_, rest, ok := strings.Cut(record, "https://localhost:")
	contact, _, end := strings.Cut(rest, "/\"")
	if !ok || !end {
		contact, _, end = strings.Cut(rest, "/<")
	}
	if !ok || !end {
		t.Fatalf("no contact in the record:\n%s", record)
	}
	return "https://localhost:" + contact + "/"
}

// The job manager is killed while it submits. The user's next request starts another job manager, which submits the
// same job again: both submissions are the same grid job.
func gramManagerKilled(t *testing.T, g *gramSite) {
	submissions := func() int { return g.submissions("answered") }
	before := submissions()
	release := g.holdNow(t, "hold")
	client := g.other.command(t.Context(), "globusrun", "-b", "-r", g.at(g.other),
		`&(executable=/bin/echo)(jjm_name=once)(jjm_clusters=slurm)`)
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Cancel(); _ = client.Wait() })
	await(t, "the job manager submits", func() bool { return submissions() == before+1 })
	killManager(t, g.other.owner.UID, "globus-job-manager")
	release()
	t.Cleanup(func() { g.showManagers(t) })
	want(t, g.other.run(t, "globusrun", "-s", "-r", g.at(g.other), `&(executable=/bin/echo)(arguments=after)`), 0,
		"after\n")
	await(t, "the first job is submitted again", func() bool { return submissions() >= before+3 })
	await(t, "it is done", func() bool {
		jobs := g.byName("once")
		return len(jobs) > 0 && jobs[0].Lookup.Status == "done"
	})
	if jobs := g.byName("once"); len(jobs) != 1 {
		t.Errorf("the job that was submitted twice is %d grid jobs", len(jobs))
	}
}

// A script is killed while it submits. GRAM reports a failure with code 25 and never asks again, but jjm has the job.
func gramScriptKilled(t *testing.T, g *gramSite) {
	before := g.submissions("answered")
	release := g.holdNow(t, "hold")
	client := g.other.command(t.Context(), "globusrun", "-r", g.at(g.other),
		`&(executable=/bin/echo)(jjm_name=orphan)(jjm_clusters=local)`)
	var said strings.Builder
	client.Stdout, client.Stderr = &said, &said
	if err := client.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "the script submits", func() bool { return g.submissions("answered") == before+1 })
	killManager(t, g.other.owner.UID, "perl")
	release()
	if err := client.Wait(); err == nil || !strings.Contains(said.String(), "25") {
		t.Errorf("the client was told %v:\n%s", err, said.String())
	}
	await(t, "jjm has it", func() bool {
		jobs := g.byName("orphan")
		return len(jobs) == 1 && jobs[0].Lookup.Status == "done"
	})
	if key := g.byName("orphan")[0].Key; !strings.HasPrefix(key, "gram-") {
		t.Errorf("its key is %s", key)
	}
}

// killManager kills the job managers of an account, or the Perl processes of
// their scripts, which have the same name.
func killManager(t *testing.T, uid int, program string) {
	t.Helper()
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	killed := 0
	for _, d := range dirs {
		name, _ := os.ReadFile(filepath.Join(d, "comm"))
		exe, _ := os.Readlink(filepath.Join(d, "exe"))
		info, err := os.Stat(d)
		if err != nil || string(name) != "globus-job-mana\n" || filepath.Base(exe) != program ||
			info.Sys().(*syscall.Stat_t).Uid != uint32(uid) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(d)); err == nil && syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	if killed == 0 {
		t.Fatal("no job manager runs")
	}
}

// Each user has access only to the output and the verbs of the user's own job.
func gramOwn(t *testing.T, g *gramSite) {
	rsl := `&(executable=/bin/sh)(arguments=-c "echo $LOGNAME")`
	contact := g.submit(t, g.one, `&(executable=/bin/sleep)(arguments=2)`)
	want(t, g.other.run(t, "globusrun", "-s", "-r", g.service("jjm"), rsl), 0, g.other.owner.User+"\n")
	job := g.jobOf(t, contact)
	for _, verb := range []string{"lookup", "kill"} {
		s := g.other.run(t, "env", "JJM_STATE="+g.state(), bin.Path(t, "jjm-gatekeeper"), "core", verb,
			job.Lookup.ID.String())
		if !strings.Contains(s.out, "ERROR=") || strings.Contains(s.out, "STATUS=") || strings.Contains(s.out, "KILL=") {
			t.Errorf("%s of another's job: exit %d\n%s%s", verb, s.exit, s.out, s.err)
		}
	}
	for _, s := range g.list() {
		if s.Owner == g.other.owner.User && s.Key == job.Key {
			t.Errorf("the job is the other's: %+v", s)
		}
	}
}

// showManagers logs the ends of the job managers' logs if the test failed.
func (g *gramSite) showManagers(t *testing.T) {
	if !t.Failed() {
		return
	}
	logs, _ := filepath.Glob(filepath.Join(g.bed.Vars["LOG"], "gram_*.log"))
	for _, name := range logs {
		text, _ := os.ReadFile(name)
		t.Logf("the end of %s:\n%s", name, text[max(len(text)-8000, 0):])
	}
}
