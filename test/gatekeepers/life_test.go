package gatekeepers_test

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// front submits grid jobs to jjm through one gatekeeper.
type front interface {
	// begin submits a grid job of two local jobs that run a shell script with their serial number as $1. It returns when
	// the grid job runs.
	begin(t *testing.T, as *person, name, cluster, shell string) handed
}

// handed is a grid job that was submitted through a gatekeeper.
type handed interface {
	kill(t *testing.T)
	// end waits until the gatekeeper reports the end. It returns whether the gatekeeper reports a success, the whole
	// report, and the tar that came back.
	end(t *testing.T) (well bool, said, tar string)
}

// fate is a way in which a grid job can end, with the answers that the gatekeeper must give.
type fate struct {
	script string // runs when the test lets the job continue
	kill   bool
	well   bool
	said   string
}

// fates are the three ways in which a grid job ends.
var fates = map[string]fate{
	"good":    {script: "echo $1 >part.$1", well: true, said: "done: 2 of 2 local jobs done"},
	"failing": {script: "exit 3", said: `(?s)failed: 0 of 2 local jobs done, 2 failed.*(?i)exit code:? 1|(?i)exit code:? 1.*failed: 0 of 2 local jobs`},
	"killed":  {script: "exec sleep 600", kill: true, well: true, said: "aborted: killed on request"},
}

// lives sends grid jobs of each fate through a gatekeeper to every cluster, alternately as the first and the second
// user, while the daemon is killed in between. The reports and the returned files must be right, and each submission
// must create one grid job of the right user. killedIsWell is set if the gatekeeper reports a kill as a success.
func lives(t *testing.T, s *site, f front, users []*person, killedIsWell bool, clusters ...string) {
	s.t.Helper()
	dir := users[0].folder(t)
	goOn := filepath.Join(dir, "go")
	type life struct {
		fate
		name string
		as   *person
		job  handed
	}
	var all []*life
	for _, cluster := range clusters {
		for name, fate := range fates {
			l := &life{fate: fate, name: name + "-" + cluster, as: users[len(all)%len(users)]}
			all = append(all, l)
		}
	}
	each := func(do func(t *testing.T, l *life)) {
		var wg sync.WaitGroup
		for _, l := range all {
			wg.Go(func() { t.Run(l.name, func(t *testing.T) { do(t, l) }) })
		}
		wg.Wait()
	}
	each(func(t *testing.T, l *life) {
		_, cluster, _ := strings.Cut(l.name, "-")
		l.job = f.begin(t, l.as, l.name, cluster, "id -un; until [ -e "+goOn+" ]; do sleep 0.3; done; "+l.script)
	})
	if t.Failed() {
		return
	}
	s.restart()
	each(func(t *testing.T, l *life) {
		if l.kill {
			s.speaks(t, l.name, 2)
			l.job.kill(t)
		}
	})
	write(t, goOn, "", 0o644)
	each(func(t *testing.T, l *life) {
		well, said, tar := l.job.end(t)
		if well != (l.well && (killedIsWell || !l.kill)) || !regexp.MustCompile(l.said).MatchString(said) {
			t.Errorf("%s ended well: %v, and what was said is\n%s", l.name, well, said)
		}
		ran := s.runsAs(l.as) + "\n"
		want := map[string]string{".0.stdout": ran, ".1.stdout": ran}
		if l.well && !l.kill {
			want["part.1"], want["part.2"] = "1\n", "2\n"
		}
		wantTar(t, tar, want)
		if jobs := s.byName(l.name); len(jobs) != 1 || jobs[0].Owner != l.as.owner.User {
			t.Errorf("%s of %s is %+v", l.name, l.as.owner.User, jobs)
		}
	})
	for _, p := range users {
		s.owns(t, p)
	}
}

// owns reports the files in a person's work area that do not belong to the account as which the person's jobs run.
func (s *site) owns(t *testing.T, p *person) {
	t.Helper()
	who := account(t, s.runsAs(p))
	files := 0
	err := filepath.WalkDir(filepath.Join(s.state(), "work", p.owner.User),
		func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return nil // removed meanwhile
			}
			info, err := d.Info()
			if err != nil {
				return nil
			}
			files++
			if st := info.Sys().(*syscall.Stat_t); int(st.Uid) != who.UID {
				t.Errorf("%s is of uid %d, want %s", path, st.Uid, who.User)
			}
			return nil
		})
	if err != nil || s.owner.UID == 0 && files < 10 {
		t.Errorf("the work area of %s has %d files, %v", p.owner.User, files, err)
	}
}

// shell returns a command for the job type script that runs a shell text.
func shell(text string) string { return fmt.Sprintf(`["/bin/sh","-c",%q,"sh","{serial}"]`, text) }
