package identity_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

const asOwner = "run_as = \"owner\""

// everybodys commands that are about one grid job.
func about(id string) map[string][]string {
	return map[string][]string{
		"status": {"status", id}, "lookup": {"lookup", id}, "record": {"record", id}, "history": {"history", id}, "log": {"log", id},
		"output": {"output", "-o", "/dev/null", id}, "cat": {"cat", id + ".0"}, "kill": {"kill", id}, "kill one": {"kill", id + ".0"}, "wait": {"wait", id},
	}
}

func TestOwners_RunAsThemselvesAndSeeTheirOwnOnly(t *testing.T) {
	t.Parallel()
	alice, bob, boss := account(t), account(t), account(t)
	s := newSite(t, asOwner, local, boss)
	id := s.submit(alice, script("id -un; id -Gn; pwd; umask; touch out.dat; sleep 600 & echo $HOME; kill $!", `outputs = ["out.dat"]`))
	long := s.submit(alice, script("sleep 600"))
	mine := s.submit(bob, script("id -un"))
	st := s.final(id, "done")
	s.final(mine, "done")
	if got := strings.Fields(s.stdout(alice, id)); len(got) < 3 || got[0] != alice.name || got[1] != alice.name || !strings.HasPrefix(got[2], s.dir+"/s/work/"+alice.name+"/") {
		t.Errorf("the job was %q", got)
	}
	s.owned(alice)
	s.owned(bob)
	s.until("the long one runs", func() bool { return s.status(long).Lookup.Counts.Running == 1 })
	for _, id := range []string{id, long} {
		for what, args := range about(id) {
			if out, err := s.jjm(bob, args...); err == nil || strings.Contains(out, "who") {
				t.Errorf("bob, %s: %q, %v", what, out, err)
			}
		}
	}
	if out, err := s.jjm(bob, "list", "--all"); err != nil || strings.Contains(out, alice.name) || !strings.Contains(out, bob.name) {
		t.Errorf("bob's list: %q, %v", out, err)
	}
	if got := s.status(long).Lookup; got.Status != "running" {
		t.Errorf("after bob's attempts: %s", got.Status)
	}
	for _, p := range []person{bob, alice} {
		for _, args := range [][]string{{"ban", bob.name, "--reason", "x"}, {"unban", bob.name}, {"bans"}, {"drain", "cluster", "local", "--reason", "x"}, {"clusters", "reset", "local"}} {
			if _, err := s.jjm(p, args...); err == nil {
				t.Errorf("%s may %v", p.name, args)
			}
		}
	}
	s.reads(map[string]string{"record": filepath.Join(s.dir, "s/records", id, "record.xml"), "tar": st.Lookup.Tar}, map[person]bool{alice: true, boss: true, bob: false})
	s.reads(map[string]string{"store": filepath.Join(s.dir, "s/store.db")}, map[person]bool{alice: false, boss: false, bob: false})
	for _, p := range []person{boss, root, alice} {
		for _, what := range []string{"status", "record", "history", "output", "cat"} {
			if _, err := s.jjm(p, about(id)[what]...); err != nil {
				t.Error(err)
			}
		}
	}
	if out, err := s.jjm(boss, "kill", long); err != nil || out != long+" accepted\n" {
		t.Errorf("the administrator's kill: %q, %v", out, err)
	}
	s.final(long, "aborted")
	if out, err := s.jjm(root, "ban", alice.name, "--reason", "a test"); err != nil {
		t.Errorf("ban: %q, %v", out, err)
	}
	if _, err := s.jjm(alice, "submit", filepath.Join(s.dir, "home-"+alice.name, "job.toml")); err == nil || !strings.Contains(err.Error(), "a test") {
		t.Errorf("banned, and: %v", err)
	}
	if _, err := s.jjm(root, "submit", filepath.Join(s.dir, "home-"+bob.name, "job.toml")); err == nil || !strings.Contains(err.Error(), "never as root") {
		t.Errorf("a grid job of root's: %v", err)
	}
}

// owned finds what in somebody's work area is not theirs, or open to others.
func (s *site) owned(p person) {
	s.t.Helper()
	area := filepath.Join(s.dir, "s/work", p.name)
	files := 0
	err := filepath.WalkDir(area, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		files++
		if st := info.Sys().(*syscall.Stat_t); int(st.Uid) != p.uid || int(st.Gid) != p.gid {
			s.t.Errorf("%s is of %d:%d", path, st.Uid, st.Gid)
		}
		return nil
	})
	if info, serr := os.Stat(area); err != nil || serr != nil || info.Mode().Perm()&0o006 != 0 || files < 10 {
		s.t.Errorf("area of %s: %v, %d files, %v %v", p.name, info.Mode(), files, err, serr)
	}
}

// reads tries who can read a file by its path.
func (s *site) reads(files map[string]string, who map[person]bool) {
	s.t.Helper()
	for what, path := range files {
		for p, may := range who {
			if out, err := p.as("/bin/cat", path).CombinedOutput(); (err == nil) != may {
				s.t.Errorf("%s of %s, by %s: %v %.100q", what, path, p.name, err, out)
			}
		}
	}
}

// Whatever an owner does to their area and their helper, root writes nothing
// elsewhere, gives nothing of others away, and others go on.
func TestOwners_CannotTurnTheDaemonAgainstOthers(t *testing.T) {
	t.Parallel()
	mallory, bob := account(t), account(t)
	s := newSite(t, asOwner, local)
	secret := filepath.Join(s.dir, "secret")
	s.must(os.WriteFile(secret, []byte("geheim"), 0o600))
	first := s.submit(mallory, script("sleep 600"))
	s.until("it runs", func() bool { return s.status(first).Lookup.Counts.Running == 1 })
	area := filepath.Join(s.dir, "s/work", mallory.name)
	// Links where the daemon will write and read: the attempt's output, the done
	// folder, the folder of the tar.
	plant := fmt.Sprintf(`cd %s && rm -rf jobs/%s/output && ln -s %s jobs/%s/output
for d in bulks/*; do rm -rf $d/done && ln -s %s $d/done; done
cd jobs/%s/0xxx/0/attempt.0 && rm -f stdout && ln -s %s stdout && rm -f job.glf && mkfifo job.glf`,
		area, first, s.dir, first, s.dir, first, secret)
	if out, err := mallory.as("/bin/sh", "-c", plant).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if out, err := s.jjm(mallory, "cat", first+".0"); strings.Contains(out, "geheim") {
		t.Errorf("cat gave %q, %v", out, err)
	}
	_, err := s.jjm(mallory, "kill", first)
	s.must(err)
	// Meanwhile her helper is stopped, and bob's grid job does not care.
	s.until("her helper is stopped", func() bool { return s.signalHelper(mallory, syscall.SIGSTOP) })
	s.final(s.submit(bob, script("id -un")), "done")
	s.until("hers is over or waits", func() bool {
		l := s.status(first).Lookup
		return l.Status == "aborted" || l.Status == "aborting"
	})
	for _, dir := range []string{s.dir, filepath.Join(s.dir, "s")} {
		names, err := filepath.Glob(filepath.Join(dir, "*.tar"))
		if err != nil || len(names) > 0 {
			t.Errorf("written elsewhere: %v", names)
		}
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "geheim" {
		t.Errorf("the secret is %q, %v", b, err)
	}
	// Her job files name what is not hers.
	home := filepath.Join(s.dir, "home-"+mallory.name)
	s.must(os.Symlink(secret, filepath.Join(home, "link")))
	for _, path := range []string{secret, "link", "../secret", filepath.Join(s.dir, "s/store.db")} {
		job := filepath.Join(home, "bad.toml")
		s.must(os.WriteFile(job, []byte(script("cat *", "[[inputs]]", "path = "+strconv.Quote(path))), 0o644))
		s.until("her helper is back for "+path, func() bool { // it was killed for its silence
			_, err := s.jjm(mallory, "submit", job)
			if err == nil {
				t.Fatalf("%s was taken", path)
			}
			return strings.Contains(err.Error(), "permission denied")
		})
	}
}

// signalHelper signals somebody's helper as they could.
func (s *site) signalHelper(p person, sig syscall.Signal) bool {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range all {
		text, _ := os.ReadFile(name)
		if strings.HasPrefix(string(text), "jjm-helper-of-"+p.name+"\x00") {
			pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
			out, err := p.as("/bin/sh", "-c", fmt.Sprintf("kill -%d %d", sig, pid)).CombinedOutput()
			if err == nil {
				return true
			}
			s.t.Logf("kill: %v %s", err, out)
		}
	}
	return false
}
