package gatekeepers_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/programs"
	"jjm/internal/testkit/testbed"
)

// arcSite is a site of jjm behind an ARC CE, whose daemon is called A-REX.
type arcSite struct {
	*site
	bed        *testbed.Bed
	one, other *person
}

// TestARC submits jobs to a real A-REX through its REST interface. jjm's daemon runs as root and runs jobs as their
// owners.
func TestARC(t *testing.T) {
	t.Parallel() // the other gatekeeper has another bed
	bed := testbed.StartAlone(t, "arc")
	slurm := testbed.Start(t, "slurm")
	t.Cleanup(func() { bed.Do(t, "clean") })
	a := &arcSite{bed: bed, one: personOf(t, bed, bed.Vars["OWNER"], bed.Vars["PROXY"]),
		other: personOf(t, bed, bed.Vars["OTHER"], bed.Vars["OTHER_PROXY"])}
	a.site = openSite(t, bed.Vars["JJM"], rootOwner,
		localCluster+bedCluster(slurm, "slurm")+frozenCluster(t, bed.Vars["JJM"], slurm))
	a.holdOf(t, a.other)
	needs.Tmpfs(t, a.state(), "size=128m,mode=755")
	t.Cleanup(func() { a.stop(syscall.SIGTERM) }) // stop before the file system is removed
	a.start()
	together(t, a, chosen(map[string]func(*testing.T, *arcSite){
		"plain":             arcPlain,
		"job file on Slurm": arcJobFile,
		"refused":           arcRefused,
		"example":           arcExample,
		"frozen cluster":    arcFrozen,
		"lives": func(t *testing.T, a *arcSite) {
			lives(t, a.site, arcFront{a}, []*person{a.one, a.other}, false, "local", "slurm")
		},
	}, "job file on Slurm", "frozen cluster"))
	if needs.InCampaign(needs.Gatekeepers) {
		t.Run("two hundred", func(t *testing.T) { arcTwoHundred(t, a) })
		t.Run("full disk", func(t *testing.T) { arcFullDisk(t, a) })
	}
	t.Run("manager killed", func(t *testing.T) { arcManagerKilled(t, a) }) // alone: no client gets an answer meanwhile
}

// submit submits a job with ARC's client and returns the job's URL. The client keeps a list of a person's jobs; each
// test has a list of its own. If the client gets no answer, submit repeats the call, as a user would.
func (a *arcSite) submit(t *testing.T, p *person, dir, xrsl string) string {
	t.Helper()
	file := filepath.Join(dir, "job.xrsl")
	write(t, file, xrsl, 0o644)
	var s said
	for range 3 {
		s = p.arc(t, dir, "arcsub", "-C", a.bed.Vars["URL"], "-T", "arcrest", "-Q", "NONE", file)
		if _, url, ok := strings.Cut(s.out, "with jobid: "); ok {
			return strings.TrimSpace(url)
		}
		t.Logf("arcsub: exit %d\n%s%s", s.exit, s.out, s.err)
	}
	t.Fatalf("arcsub gets no answer; the log of A-REX's REST interface ends:\n%s",
		programs.LogEnd(filepath.Join(a.bed.Vars["LOG"], "ws.log")))
	return ""
}

// arc runs one of ARC's commands in a folder with the list of jobs. It waits up to 120 s for an answer, because ARC's
// default of 20 s is too short on a busy machine.
func (p *person) arc(t *testing.T, dir, command string, args ...string) said {
	t.Helper()
	argv := []string{"env", "--chdir=" + dir, command, "-d", "VERBOSE", "-t", "120", "-j", filepath.Join(dir, "jobs.dat")}
	return p.run(t, append(argv, args...)...)
}

// end waits until A-REX reports one of the given states of a job, and returns the report.
func (a *arcSite) end(t *testing.T, p *person, dir, url string, states ...string) string {
	t.Helper()
	await(t, "A-REX is through with it", func() bool {
		return exists(filepath.Join(a.bed.Vars["CONTROL"], "finished", "job."+filepath.Base(url)+".status"))
	})
	var text string
	awaitEvery(t, time.Second, fmt.Sprintf("the job is %v", states), func() bool {
		text = p.arc(t, dir, "arcstat", url).out
		for _, s := range states {
			if strings.Contains(text, "State: "+s) {
				return true
			}
		}
		return false
	})
	return text
}

// get fetches the outputs of a job and returns their folder.
func (a *arcSite) get(t *testing.T, p *person, dir, url string) string {
	t.Helper()
	to := p.folderFor(t, filepath.Join(dir, "got"))
	var found []string
	awaitEvery(t, time.Second, "arcget fetches one folder", func() bool {
		s := p.arc(t, dir, "arcget", "-k", "-D", to, url)
		found, _ = filepath.Glob(filepath.Join(to, "*"))
		if s.exit != 0 || len(found) != 1 {
			t.Logf("arcget: exit %d\n%s%s", s.exit, s.out, s.err)
			for _, half := range found {
				_ = os.RemoveAll(half)
			}
			return false
		}
		return true
	})
	return found[0]
}

func wantFile(t *testing.T, name, content string) {
	t.Helper()
	if text, err := os.ReadFile(name); err != nil || string(text) != content {
		t.Errorf("%s holds %q, %v; want %q", filepath.Base(name), text, err, content)
	}
}

// jobOf returns the grid job of an ARC job's URL.
func (a *arcSite) jobOf(t *testing.T, url string) wire.Status {
	t.Helper()
	var found []wire.Status
	await(t, "jjm knows "+url, func() bool {
		found = a.byKey("arc-" + filepath.Base(url))
		return len(found) > 0
	})
	if len(found) > 1 {
		t.Fatalf("%s is %d grid jobs", url, len(found))
	}
	return found[0]
}

// An ordinary ARC job works: A-REX uploads a program and a file, the arguments have special characters of the shell,
// the job reads standard input, and the client fetches an output file.
func arcPlain(t *testing.T, a *arcSite) {
	dir := a.one.folder(t)
	write(t, filepath.Join(dir, "run.sh"),
		"#!/bin/sh\ncat; printf '%s|' \"$@\" \"$LABEL\"; cat in.dat > out.dat; echo oops >&2\n", 0o755)
	write(t, filepath.Join(dir, "in.dat"), "some data\n", 0o644)
	url := a.submit(t, a.one, dir,
		fmt.Sprintf(`&(executable="run.sh")(executables="run.sh")(arguments="a b" "c'd" "$HOME" "f""g")(stdin="in.dat")`+
			`(inputfiles=("run.sh" "%[1]s/run.sh")("in.dat" "%[1]s/in.dat"))(outputfiles=("out.dat" ""))(stdout="out.txt")(stderr="err.txt")`+
			`(environment=("LABEL" "it's"))(jobname="an ordinary job")(walltime="10 minutes")(memory="64")(count="2")`, dir))
	text := a.end(t, a.one, dir, url, "Finished", "Failed")
	if !strings.Contains(text, "Exit Code: 0") {
		t.Errorf("arcstat:\n%s", text)
	}
	got := a.get(t, a.one, dir, url)
	wantFile(t, filepath.Join(got, "out.txt"), "some data\na b|c'd|$HOME|f\"g|it's|")
	wantFile(t, filepath.Join(got, "err.txt"), "oops\n")
	wantFile(t, filepath.Join(got, "out.dat"), "some data\n")
	a.wantAccounting(t, url)
}

// wantAccounting checks the file that jjm wrote for A-REX's accounting.
func (a *arcSite) wantAccounting(t *testing.T, url string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(a.bed.Vars["CONTROL"], "job."+filepath.Base(url)+".diag"))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"exitcode=0", "WallTime=", "UserTime=", "KernelTime=", "Processors=2", "LRMSStartTime=2",
		"LRMSEndTime=2"} {
		if !strings.Contains(string(text), "\n"+key) && !strings.HasPrefix(string(text), key) {
			t.Errorf("the .diag file has no %s:\n%s", key, text)
		}
	}
}

func arcJobFile(t *testing.T, a *arcSite) {
	dir := a.one.folder(t)
	write(t, filepath.Join(dir, "job.toml"),
		"type = \"script\"\nname = \"three\"\ncluster = \"slurm\"\noutputs = [\"part.*\"]\n[params]\n"+
			"command = [\"/bin/sh\", \"-c\", \"echo part $1 | tee part.$1\", \"sh\", \"{serial}\"]\ncount = 3\n", 0o644)
	url := a.submit(t, a.one, dir,
		fmt.Sprintf(
			`&(executable="/bin/true")(environment=("JJM_JOB_FILE" "job.toml"))(inputfiles=("job.toml" "%s/job.toml"))`+
				`(outputfiles=("jjm-output.tar" ""))(stdout="out.txt")`, dir))
	a.end(t, a.one, dir, url, "Finished", "Failed")
	got := a.get(t, a.one, dir, url)
	wantTar(t, filepath.Join(got, "jjm-output.tar"),
		map[string]string{"part.1": "part 1\n", "part.3": "part 3\n", ".1.stdout": "part 2\n"})
	if text, _ := os.ReadFile(filepath.Join(got, "out.txt")); !strings.HasSuffix(string(text),
		": done: 3 of 3 local jobs done\n") {
		t.Errorf("the summary is %q", text)
	}
}

func arcRefused(t *testing.T, a *arcSite) {
	dir := a.one.folder(t)
	url := a.submit(t, a.one, dir, `&(executable="/bin/true")(environment=("JJM_TYPE" "nosuch"))(stdout="out.txt")`)
	a.end(t, a.one, dir, url, "Failed")
	// The refusal is reported immediately, or by a scan if the daemon was too busy to answer the submission.
	errors, _ := os.ReadFile(filepath.Join(a.bed.Vars["CONTROL"], "job."+filepath.Base(url)+".errors"))
	failed, _ := os.ReadFile(filepath.Join(a.bed.Vars["CONTROL"], "job."+filepath.Base(url)+".failed"))
	if text := string(errors) + string(failed); !strings.Contains(text, "nosuch") {
		t.Errorf("A-REX keeps no reason:\n%s", text)
	}
	if jobs := a.byKey("arc-" + filepath.Base(url)); len(jobs) != 0 {
		t.Errorf("something was made of it: %+v", jobs)
	}
}

func (a *arcSite) status(s wire.Status) wire.Lookup {
	return ask(a.site, wire.VerbLookup(), wire.LookupRequest{Many: wire.Refs(s.Lookup.ID.String())}).Lookup[0]
}

// A-REX is killed while it submits. After its restart A-REX submits the same job again, while the first submission
// still runs, and both submissions are the same grid job. jjm's daemon is killed meanwhile.
func arcManagerKilled(t *testing.T, a *arcSite) {
	before := a.submissions("begun")
	release := a.holdNow(t, "halt")
	dir := a.other.folder(t)
	url := a.submit(t, a.other, dir,
		`&(executable="/bin/echo")(arguments="survived")(stdout="out.txt")(environment=("JJM_CLUSTERS" "slurm"))`)
	await(t, "A-REX submits", func() bool { return a.submissions("begun") == before+1 })
	a.bed.Do(t, "kill")
	a.restart()
	a.bed.Do(t, "start")
	await(t, "A-REX submits again", func() bool { return a.submissions("begun") == before+2 })
	release()
	a.wantEnd(t, url, "FINISHED")
	a.jobOf(t, url)
	wantFile(t, a.session(url, "out.txt"), "survived\n")
}

// session returns the path of a file in a job's session folder.
func (a *arcSite) session(url, name string) string {
	return filepath.Join(filepath.Dir(a.bed.Vars["CONTROL"]), "session", filepath.Base(url), name)
}
