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

	"jjm/internal/testkit/site"
)

const asOwner = "owner"

// about returns the commands about one grid job that every account may try.
func about(id string) map[string][]string {
	return map[string][]string{
		"status": {"status", id}, "lookup": {"lookup", id}, "record": {"record", id}, "history": {"history", id},
		"log":    {"log", id},
		"output": {"output", "-o", "/dev/null", id}, "cat": {"cat", id + ".0"}, "kill": {"kill", id},
		"kill one": {"kill", id + ".0"}, "wait": {"wait", id},
	}
}

func TestOwners_RunAsThemselvesAndSeeTheirOwnOnly(t *testing.T) {
	t.Parallel()
	alice, bob, boss := site.Account(t), site.Account(t), site.Account(t)
	s := newHouse(t, asOwner, site.Local, boss)
	id := s.Submit(alice, site.Script("id -un; id -Gn; pwd; umask; touch out.dat; sleep 600 & echo $HOME; kill $!",
		`outputs = ["out.dat"]`))
	long := s.Submit(alice, site.Script("sleep 600"))
	mine := s.Submit(bob, site.Script("id -un"))
	st := s.Final(id, "done")
	s.Final(mine, "done")
	if got := strings.Fields(s.Stdout(alice, id)); len(got) < 3 || got[0] != alice.Name || got[1] != alice.Name ||
		!strings.HasPrefix(got[2], s.Dir+"/s/work/"+alice.Name+"/") {
		t.Errorf("the job was %q", got)
	}
	s.owned(alice)
	s.owned(bob)
	s.Until("the long one runs", func() bool { return s.Status(long).Lookup.Counts.Running == 1 })
	for _, id := range []string{id, long} {
		for what, args := range about(id) {
			if out, err := s.JJM(bob, args...); err == nil || strings.Contains(out, "who") {
				t.Errorf("bob, %s: %q, %v", what, out, err)
			}
		}
	}
	if out, err := s.JJM(bob, "list", "--all"); err != nil || strings.Contains(out, alice.Name) ||
		!strings.Contains(out, bob.Name) {
		t.Errorf("bob's list: %q, %v", out, err)
	}
	if got := s.Status(long).Lookup; got.Status != "running" {
		t.Errorf("after bob's attempts: %s", got.Status)
	}
	for _, p := range []site.Person{bob, alice} {
		for _, args := range [][]string{{"ban", bob.Name, "--reason", "x"}, {"unban", bob.Name}, {"bans"},
			{"drain", "cluster", "local", "--reason", "x"}, {"clusters", "reset", "local"}} {
			if _, err := s.JJM(p, args...); err == nil {
				t.Errorf("%s may %v", p.Name, args)
			}
		}
	}
	s.reads(map[string]string{"record": filepath.Join(s.Dir, "s/records", id, "record.xml"), "tar": st.Lookup.Tar},
		map[site.Person]bool{alice: true, boss: true, bob: false})
	s.reads(map[string]string{"store": filepath.Join(s.Dir, "s/store.db")},
		map[site.Person]bool{alice: false, boss: false, bob: false})
	for _, p := range []site.Person{boss, site.Root(), alice} {
		for _, what := range []string{"status", "record", "history", "output", "cat"} {
			if _, err := s.JJM(p, about(id)[what]...); err != nil {
				t.Error(err)
			}
		}
	}
	if out, err := s.JJM(boss, "kill", long); err != nil || out != long+" accepted\n" {
		t.Errorf("the administrator's kill: %q, %v", out, err)
	}
	s.Final(long, "aborted")
	if out, err := s.JJM(site.Root(), "ban", alice.Name, "--reason", "a test"); err != nil {
		t.Errorf("ban: %q, %v", out, err)
	}
	if _, err := s.JJM(alice, "submit", filepath.Join(s.Dir, "home-"+alice.Name, "job.toml")); err == nil ||
		!strings.Contains(err.Error(), "a test") {
		t.Errorf("banned, and: %v", err)
	}
	if _, err := s.JJM(site.Root(), "submit", filepath.Join(s.Dir, "home-"+bob.Name, "job.toml")); err == nil ||
		!strings.Contains(err.Error(), "never as root") {
		t.Errorf("a grid job of root's: %v", err)
	}
}

// owned reports files in an account's work area that belong to other accounts, or that other accounts can read.
func (s house) owned(p site.Person) {
	s.T.Helper()
	area := filepath.Join(s.Dir, "s/work", p.Name)
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
		if st := info.Sys().(*syscall.Stat_t); int(st.Uid) != p.UID || int(st.Gid) != p.GID {
			s.T.Errorf("%s is of %d:%d", path, st.Uid, st.Gid)
		}
		return nil
	})
	if info, serr := os.Stat(area); err != nil || serr != nil || info.Mode().Perm()&0o006 != 0 || files < 10 {
		s.T.Errorf("area of %s: %v, %d files, %v %v", p.Name, info.Mode(), files, err, serr)
	}
}

// reads checks which accounts can read files by their paths.
func (s house) reads(files map[string]string, who map[site.Person]bool) {
	s.T.Helper()
	for what, path := range files {
		for p, may := range who {
			if out, err := p.As("/bin/cat", path).CombinedOutput(); (err == nil) != may {
				s.T.Errorf("%s of %s, by %s: %v %.100q", what, path, p.Name, err, out)
			}
		}
	}
}

// Owners can change the files of their areas and signal their helpers. Root nevertheless writes to no other place and
// discloses no data of other accounts, and the jobs of other accounts continue.
func TestOwners_CannotTurnTheDaemonAgainstOthers(t *testing.T) {
	t.Parallel()
	mallory, bob := site.Account(t), site.Account(t)
	s := newHouse(t, asOwner, site.Local)
	secret := filepath.Join(s.Dir, "secret")
	s.Must(os.WriteFile(secret, []byte("geheim"), 0o600))
	first := s.Submit(mallory, site.Script("sleep 600"))
	s.Until("it runs", func() bool { return s.Status(first).Lookup.Counts.Running == 1 })
	area := filepath.Join(s.Dir, "s/work", mallory.Name)
	s.Until("its wrapper has made its folder", func() bool {
		_, err := os.Stat(filepath.Join(area, "jobs", first, "0xxx/0/attempt.0"))
		return err == nil
	})
	// The links replace paths to which the daemon will write, or from which it will read: the attempt's output, the done
	// folder, and the folder of the tar.
	plant := fmt.Sprintf(`cd %s && rm -rf jobs/%s/output && ln -s %s jobs/%s/output
for d in bulks/*; do rm -rf $d/done && ln -s %s $d/done; done
cd jobs/%s/0xxx/0/attempt.0 && rm -f stdout && ln -s %s stdout && rm -f job.glf && mkfifo job.glf`,
		area, first, s.Dir, first, s.Dir, first, secret)
	if out, err := mallory.As("/bin/sh", "-c", plant).CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	if out, err := s.JJM(mallory, "cat", first+".0"); strings.Contains(out, "geheim") {
		t.Errorf("cat gave %q, %v", out, err)
	}
	_, err := s.JJM(mallory, "kill", first)
	s.Must(err)
	// Meanwhile mallory's helper is stopped, and bob's grid job continues.
	s.Until("her helper is stopped", func() bool { return s.signalHelper(mallory, syscall.SIGSTOP) })
	s.Final(s.Submit(bob, site.Script("id -un")), "done")
	s.Until("hers is over or waits", func() bool {
		l := s.Status(first).Lookup
		return l.Status == "aborted" || l.Status == "aborting"
	})
	for _, dir := range []string{s.Dir, filepath.Join(s.Dir, "s")} {
		names, err := filepath.Glob(filepath.Join(dir, "*.tar"))
		if err != nil || len(names) > 0 {
			t.Errorf("written elsewhere: %v", names)
		}
	}
	if b, err := os.ReadFile(secret); err != nil || string(b) != "geheim" {
		t.Errorf("the secret is %q, %v", b, err)
	}
	// Mallory's job files name files of other accounts.
	home := filepath.Join(s.Dir, "home-"+mallory.Name)
	s.Must(os.Symlink(secret, filepath.Join(home, "link")))
	for _, path := range []string{secret, "link", "../secret", filepath.Join(s.Dir, "s/store.db")} {
		job := filepath.Join(home, "bad.toml")
		s.Must(os.WriteFile(job, []byte(site.Script("cat *", "[[inputs]]", "path = "+strconv.Quote(path))), 0o644))
		s.Until("her helper is back for "+path, func() bool { // the helper was killed because it did not answer
			_, err := s.JJM(mallory, "submit", job)
			if err == nil {
				t.Fatalf("%s was taken", path)
			}
			return strings.Contains(err.Error(), "permission denied")
		})
	}
}

// signalHelper sends a signal to an account's helper, as the account itself could.
func (s house) signalHelper(p site.Person, sig syscall.Signal) bool {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range all {
		text, _ := os.ReadFile(name)
		if strings.HasPrefix(string(text), "jjm-helper-of-"+p.Name+"\x00") {
			pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
			out, err := p.As("/bin/sh", "-c", fmt.Sprintf("kill -%d %d", sig, pid)).CombinedOutput()
			if err == nil {
				return true
			}
			s.T.Logf("kill: %v %s", err, out)
		}
	}
	return false
}
