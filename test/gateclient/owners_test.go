package gateclient_test

import (
	"fmt"
	"os"
	"os/user"
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

// life is a job of HTCondor, of one user and on one cluster, with its expected end.
type life struct {
	key, cluster string
	owner        jjm.Owner
	b            *blahpd
	dir, id      string
	exit         string // exit code that the ad of its end must contain
	kill         bool
}

// Jobs of two users go through blahpd to a daemon of root. On both clusters some jobs succeed, some fail and some are
// killed, while the daemon is killed. Each job runs as its user, who owns its files and the tar, and the accounting log
// has a line for each job.
func TestBlahpd_OwnersRunAsThemselves(t *testing.T) {
	needs.Campaign(t, needs.Gatekeepers)
	t.Parallel()
	condor, slurm := testbed.Start(t, "condor"), testbed.Start(t, "slurm")
	s := newSite(t, "", "")
	s.must(os.WriteFile(s.config, fmt.Appendf(nil, "run_as = \"owner\"\n%s%s[accounting]\nblah = %q\nce = \"ce.test\"\n",
		local, slurmCluster(slurm), s.dir+"/blah.log"), 0o644))
	s.start()
	var all []*life
	for _, owner := range []jjm.Owner{slurm.Owner, nobody(t)} {
		b := s.blahpdAs(condor, &syscall.SysProcAttr{Setsid: true,
			Credential: &syscall.Credential{Uid: uint32(owner.UID), Gid: uint32(owner.GID)}})
		for _, cluster := range []string{"local", "slurm"} {
			for _, exit := range []string{"0", "3", "killed"} {
				l := &life{key: owner.User + "-" + cluster + "-" + exit, cluster: cluster, owner: owner, b: b, exit: exit,
					kill: exit == "killed"}
				s.begins(l)
				all = append(all, l)
			}
		}
	}
	for _, l := range all {
		s.await(l.key+" runs", func() bool {
			return strings.HasPrefix(l.b.result(l.b.ask("BLAH_JOB_STATUS", l.id)), "0 No Error 2")
		})
	}
	s.end(syscall.SIGKILL)
	s.begin()
	for _, l := range all {
		if l.kill {
			if got := l.b.result(l.b.ask("BLAH_JOB_CANCEL", l.id)); got != "0 No error" {
				t.Errorf("cancel: %s", got)
			}
		}
	}
	s.must(os.WriteFile(s.dir+"/go", nil, 0o644))
	for _, l := range all {
		s.ends(l)
	}
	a, err := ask(s, wire.VerbList(), wire.ListRequest{List: &wire.List{All: true}})
	if err != nil || len(a.Status) != len(all) {
		t.Errorf("%d grid jobs for %d submissions, each made twice: %v", len(a.Status), len(all), err)
	}
	s.accounted(all)
}

// begins submits a job twice, as blahpd does if it was killed.
func (s *site) begins(l *life) {
	s.t.Helper()
	l.dir = filepath.Join(s.dir, "iwd-"+l.key)
	s.must(os.Mkdir(l.dir, 0o755))
	last := "exit " + l.exit
	if l.kill {
		last = "exec sleep 600"
	}
	s.must(os.WriteFile(l.dir+"/job.sh",
		[]byte("#!/bin/sh\nid -un; [ -z \"$SLURM_ARRAY_JOB_ID\" ] || echo ${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\n"+
			"until [ -e "+s.dir+"/go ]; do sleep 0.3; done; echo r >result; "+last+"\n"), 0o755))
	s.must(os.Chown(l.dir, l.owner.UID, l.owner.GID))
	attrs := map[string]string{"Cmd": "job.sh", "Iwd": l.dir, "Out": "out", "Err": "err", "In": "/dev/null",
		"JobDirectory": "home_bl_schedd_" + l.key + "_1",
		"Queue":        "@" + l.cluster, "TransferOutput": "result,jjm-output.tar",
		"TransferOutputRemaps": "jjm-output.tar=" + l.dir + "/all.tar"}
	for range 2 {
		id := l.b.id(l.b.result(l.b.ask("BLAH_JOB_SUBMIT", ad(attrs))))
		if l.id != "" && id != l.id {
			s.t.Errorf("the same job again is %s, was %s", id, l.id)
		}
		l.id = id
	}
}

// ends waits for the end of a job, and checks the ad that HTCondor gets and the owner of each delivered file.
func (s *site) ends(l *life) {
	s.t.Helper()
	got := l.b.over(l.id)
	want, message := "ExitCode = "+l.exit+";", ""
	switch {
	case l.kill:
		want, message = "", "killed on request"
	case l.exit != "0":
		message = "0 of 1 local job done, 1 failed"
	}
	if !strings.Contains(got, want) || !strings.Contains(got, message) {
		s.t.Errorf("%s: %s", l.key, got)
	}
	for _, name := range []string{"out", "err", "result", "all.tar"} {
		info, err := os.Stat(filepath.Join(l.dir, name))
		s.must(err)
		if st := info.Sys().(*syscall.Stat_t); int(st.Uid) != l.owner.UID || name == "all.tar" && info.Size() == 0 {
			s.t.Errorf("%s: %s is of uid %d, %d bytes", l.key, name, st.Uid, info.Size())
		}
	}
	if out := s.read(l.key, "out"); !strings.HasPrefix(out, l.owner.User+"\n") {
		s.t.Errorf("%s ran as %q", l.key, out)
	}
}

// accounted waits until the accounting log has one line for each job, with the id from the batch system.
func (s *site) accounted(all []*life) {
	s.t.Helper()
	var lines []string
	s.await("the accounting log has all jobs", func() bool {
		lines = nil
		found, _ := filepath.Glob(s.dir + "/blah.log-*")
		for _, name := range found {
			text, err := os.ReadFile(name)
			s.must(err)
			lines = append(lines, strings.Split(strings.TrimSpace(string(text)), "\n")...)
		}
		return len(lines) >= len(all)
	})
	for _, l := range all {
		_, batch, _ := strings.Cut(strings.TrimSpace(s.read(l.key, "out")), "\n")
		mine := 0
		for _, line := range lines {
			if strings.Contains(line, `"jobID=home_bl_schedd_`+l.key+`_1"`) &&
				strings.Contains(line, `"localUser=`+l.owner.User+`"`) &&
				strings.Contains(line, `"ceID=ce.test-`+l.cluster+`-`) &&
				(batch == "" || strings.Contains(line, `"lrmsID=`+batch+`"`)) {
				mine++
			}
		}
		if mine != 1 || len(lines) != len(all) {
			s.t.Errorf("%s, batch job %q, has %d lines of %d:\n%s", l.key, batch, mine, len(lines), strings.Join(lines, "\n"))
		}
	}
}

// nobody returns the account nobody, which has no special rights.
func nobody(t *testing.T) jjm.Owner {
	t.Helper()
	u, err := user.Lookup("nobody")
	if err != nil {
		t.Fatal(err)
	}
	uid, err1 := strconv.Atoi(u.Uid)
	gid, err2 := strconv.Atoi(u.Gid)
	if err1 != nil || err2 != nil {
		t.Fatalf("nobody is %s:%s", u.Uid, u.Gid)
	}
	return jjm.Owner{UID: uid, GID: gid, User: u.Username}
}
