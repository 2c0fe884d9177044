package gateclient_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/testbed"
)

// account is a line of BLAH's accounting log, by field.
type account map[string]string

// accounts returns the lines of the log by attempt: GRID.LOCAL.ATTEMPT. A line that occurs twice, or that cannot be
// parsed, fails the test.
func (s *site) accounts() map[string]account {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, "blah.log-*"))
	s.must(err)
	field := regexp.MustCompile(`"(\w+)=([^"]*)"`)
	out := map[string]account{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		s.must(err)
		for line := range strings.Lines(string(text)) {
			a := account{}
			for _, f := range field.FindAllStringSubmatch(line, -1) {
				a[f[1]] = f[2]
			}
			// STORE.SEQ.GRID.LOCAL.ATTEMPT
			id := strings.Split(a["clientID"], ".")
			if len(id) != 5 || !strings.HasSuffix(line, "\"\n") {
				s.t.Errorf("a line is %q", line)
				continue
			}
			key := strings.Join(id[2:], ".")
			if out[key] != nil {
				s.t.Errorf("attempt %s has two lines: %v and %v", key, out[key], a)
			}
			out[key] = a
		}
	}
	return out
}

// ids returns the batch system's ids of attempts, as the jobs themselves saw them.
func (s *site) ids() map[string]string {
	out := map[string]string{}
	text, _ := os.ReadFile(s.dir + "/ids") // the file may not exist yet
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 {
			out[f[0]] = f[1]
		}
	}
	return out
}

// noting submits a grid job. Each attempt writes its ids to a file, and then runs the commands in shell. The job
// reports by the GBS log, so that it can request another attempt.
func (s *site) noting(key, shell string) (jjm.Handle, error) {
	job := s.job(key, "")
	job.Text = fmt.Sprintf(
		"type = \"script\"\nname = \"noting\"\nresult = \"glf\"\n[params]\ncommand = [\"/bin/sh\", \"-c\", %q]\n",
		"echo $JJM_JOBID.$JJM_ATTEMPT $SLURM_ARRAY_JOB_ID'_'$SLURM_ARRAY_TASK_ID >> "+s.dir+"/ids; "+shell)
	job.Origin = &jjm.Origin{Gatekeeper: "test", Job: "job-" + key, Subject: "/O=Grid/CN=Ann",
		VO: "/dzero/Role=production"}
	r, err := s.client(ample).Submit(context.Background(), job)
	return r.Handle, err
}

// The log has one line for each attempt that was in the batch system, with the batch system's id, whatever happens to
// the job and however often the daemon ends in between.
func TestAccounting_OneLinePerAttempt(t *testing.T) {
	t.Parallel()
	for _, on := range []string{"local", "slurm"} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			config := local
			var owner jjm.Owner
			if on == "slurm" {
				needs.Campaign(t, needs.Gatekeepers)
				slurm := testbed.Start(t, "slurm")
				cluster := fmt.Sprintf("name = \"slurm\"\nkind = \"slurm\"\nbin = %q\nenv = {SLURM_CONF = %q}\n", slurm.Bin,
					slurm.Env["SLURM_CONF"])
				config, owner = local[:strings.Index(local, "name = ")]+cluster, slurm.Owner
			}
			s := newSite(t, "", "")
			if owner.UID != 0 {
				s.give(owner)
			}
			config = strings.Replace(config, "[engine]", "[engine]\nbackoff = \"0s\"\nretry = {max_retry_early = 1}", 1)
			s.must(os.WriteFile(s.config, fmt.Appendf(nil, "%s\n[accounting]\nblah = %q\nce = \"ce.example.org:9619/ce\"\n",
				config, s.dir+"/blah.log"), 0o644))
			accountingScenes(t, s, on)
		})
	}
}

func accountingScenes(t *testing.T, s *site, on string) {
	s.start()
	want := map[string]int{} // number of attempts by key
	submit := func(key, shell string, attempts int) jjm.Handle {
		h, err := s.noting(key, shell)
		s.must(err)
		want[key] = attempts
		return h
	}
	done := `touch out.txt; "$GBS_LOG" SUCCEEDED out.txt`
	again := submit("again", `if [ "$JJM_ATTEMPT" = 0 ]; then "$GBS_LOG" RETRY again; else `+done+`; fi`, 2)
	fails := submit("fails", `"$GBS_LOG" FAILED no`, 1)
	sleeper := submit("sleeper", "sleep 1000", 1)
	slow := submit("slow", "sleep 3; "+done, 1)
	s.final(again)
	s.end(syscall.SIGKILL)
	s.start()
	s.await("the sleeper runs", func() bool {
		return s.client(ample).Lookup(context.Background(), string(sleeper))[0].GRAM == jjm.GRAMActive
	})
	if k := s.client(ample).Kill(context.Background(), string(sleeper))[0]; k.Error != nil {
		t.Fatal(k.Error)
	}
	s.final(fails)
	s.end(syscall.SIGTERM)
	s.start()
	s.final(sleeper)
	s.end(syscall.SIGKILL)
	s.start()
	s.final(slow)
	total := func() (all int) {
		for _, n := range want {
			all += n
		}
		return all
	}
	// A daemon writes lines when it starts. The test kills the daemon at that time, or as soon as a line exists. The
	// previous daemon may have written all lines in its last moment.
	for i := range 4 {
		s.final(submit(fmt.Sprintf("late%d", i), done, 1))
		s.end(syscall.SIGKILL)
		before := len(s.accounts())
		s.start()
		if i%2 == 0 {
			s.await("a line is there", func() bool { n := len(s.accounts()); return n > before || n >= total() })
			s.end(syscall.SIGKILL)
			s.start()
		}
	}
	last := submit("last", done, 1)
	s.final(last)
	s.await(fmt.Sprintf("%d lines are there", total()), func() bool { return len(s.accounts()) >= total() })
	s.wantAccounts(want, on)
}

// wantAccounts compares the log with the attempts that ran.
func (s *site) wantAccounts(want map[string]int, on string) {
	s.t.Helper()
	answer, err := ask(s, wire.VerbList(), wire.ListRequest{List: &wire.List{All: true, Limit: 100}})
	s.must(err)
	lines, ids, found := s.accounts(), s.ids(), 0
	seen := map[string]bool{}
	for _, g := range answer.Status {
		detail, err := ask(s, wire.VerbStatus(), wire.StatusRequest{Many: wire.Refs(g.Lookup.ID.String() + ".0")})
		s.must(err)
		local := detail.Status[0].Locals[0]
		if n := int(local.Attempt) + 1; n != want[g.Key] {
			s.t.Errorf("%s had %d attempts, want %d", g.Key, n, want[g.Key])
		}
		for attempt := range int(local.Attempt) + 1 {
			key := fmt.Sprintf("%v.0.%d", g.Lookup.ID, attempt)
			a := lines[key]
			if a == nil {
				s.t.Errorf("attempt %s of %s has no line", key, g.Key)
				continue
			}
			found++
			if a["jobID"] != "job-"+g.Key || a["userDN"] != "/O=Grid/CN=Ann" || a["userFQAN"] != "/dzero/Role=production" ||
				!strings.HasPrefix(a["ceID"], "ce.example.org:9619/ce-"+on) || a["localUser"] == "" || a["lrmsID"] == "" ||
				seen[a["lrmsID"]] {
				s.t.Errorf("attempt %s of %s: %v", key, g.Key, a)
			}
			seen[a["lrmsID"]] = true
			if attempt == int(local.Attempt) && a["lrmsID"] != local.BatchID {
				s.t.Errorf("attempt %s: the batch id is %s in the log and %s in jjm", key, a["lrmsID"], local.BatchID)
			}
			if on == "slurm" && a["lrmsID"] != ids[key] {
				s.t.Errorf("attempt %s: the log says %s, Slurm said %s", key, a["lrmsID"], ids[key])
			}
		}
	}
	if found != len(lines) {
		s.t.Errorf("%d lines for %d attempts", len(lines), found)
	}
}
