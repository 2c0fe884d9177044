package hostile_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/site"
	"jjm/internal/testkit/testbed"
)

// planted holds mallory's preparations: programs with the names of the batch system's commands, and every file with
// which an account can make commands use these programs or other settings. Each program leaves a mark when it runs.
type planted struct {
	*siege
	bed   *testbed.Bed
	home  string // her home folder
	marks string // a folder that everybody can write to
}

// commandsOf are the commands of a batch system that jjm runs.
var commandsOf = map[string][]string{
	"slurm": {"sbatch", "squeue", "scancel", "sacct", "scontrol", "sinfo", "sacctmgr"},
	"condor": {"condor_submit", "condor_q", "condor_history", "condor_rm", "condor_hold", "condor_release",
		"condor_status", "condor_config_val"},
}

// plantAll gives mallory a separate home folder and fills it.
func plantAll(s *siege, b *testbed.Bed, kind string) *planted {
	s.t.Helper()
	f := &planted{siege: s, bed: b, home: s.Home(s.mallory), marks: filepath.Join(s.Dir, "marks")}
	if out, err := exec.Command("usermod", "-d", f.home, s.mallory.Name).CombinedOutput(); err != nil {
		s.t.Fatalf("usermod: %v: %s", err, out)
	}
	s.Must(os.Mkdir(f.marks, 0o777))
	s.Must(os.Chmod(f.marks, 0o777))
	program := func(name, says string) {
		f.plant("bin/"+name, "#!/bin/sh\necho x >>"+f.marks+"/"+name+"\necho '"+says+"'\n")
	}
	for _, name := range commandsOf[kind] {
		program(name, "1 FAILED")
	}
	program("forge", "JJM_HERS = yes") // a setting of HTCondor
	// These files are read by a login shell, by a session (pam_env(8), systemd's environment.d) and by the batch systems
	// themselves.
	elsewhere := map[string]string{"PATH": f.home + "/bin:" + os.Getenv("PATH"), "SLURM_CONF": f.home + "/slurm.conf",
		"CONDOR_CONFIG": f.home + "/condor_config", "SQUEUE_FORMAT": "%i forged", "SBATCH_HOLD": "1"}
	var shell, pam, environment string
	for name, value := range elsewhere {
		shell += fmt.Sprintf("export %s='%s'\n", name, value)
		pam += fmt.Sprintf("%s OVERRIDE=%s\n", name, value)
		environment += fmt.Sprintf("%s=%s\n", name, value)
	}
	for _, name := range []string{".profile", ".bash_profile", ".bash_login", ".bashrc", ".shrc", ".zshenv", ".kshrc"} {
		f.plant(name, shell)
	}
	f.plant(".pam_environment", pam)
	f.plant(".ssh/environment", environment)
	f.plant(".config/environment.d/10-hers.conf", environment)
	f.plant(".slurm/defaults", "hold=\npartition=hers\n")
	for _, name := range []string{"slurm.conf", ".slurm/slurm.conf", ".slurm.conf"} {
		f.plant(name, "ClusterName=hers\nSlurmctldHost=localhost\nSlurmctldPort=1\n")
	}
	poison := "COLLECTOR_HOST = 127.0.0.1:1\nSCHEDD_HOST = hers\ninclude command : " + f.home + "/bin/forge\n"
	for _, name := range []string{".condor/user_config", ".condor/condor_config", "condor_config"} {
		f.plant(name, poison)
	}
	return f
}

// plant writes a file that belongs to mallory, below her home folder.
func (f *planted) plant(name, text string) {
	f.t.Helper()
	path := filepath.Join(f.home, name)
	s := f.siege
	for dir := filepath.Dir(path); dir != f.home; dir = filepath.Dir(dir) {
		s.Must(os.MkdirAll(dir, 0o700))
		s.Must(os.Chown(dir, s.mallory.UID, s.mallory.GID))
	}
	s.Must(os.WriteFile(path, []byte(text), 0o700))
	s.Must(os.Chown(path, s.mallory.UID, s.mallory.GID))
}

// ran returns which of mallory's programs ran since the marks were last removed.
func (f *planted) ran() []string {
	f.t.Helper()
	entries, err := os.ReadDir(f.marks)
	f.siege.Must(err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// works checks that mallory's preparations have an effect: her own login shell runs her program instead of the batch
// system's command, and HTCondor's own command, called by its path, uses her settings. Then works removes the marks.
func (f *planted) works(kind, listing string) error {
	shell := f.mallory.As("/bin/sh", "-l", "-c", listing)
	shell.Env = []string{"HOME=" + f.home, "PATH=/usr/bin:/bin"}
	if out, err := shell.CombinedOutput(); err != nil || !strings.Contains(string(out), "FAILED") {
		return fmt.Errorf("her own shell does not run her %s: %v: %s", listing, err, out)
	}
	if kind == "condor" {
		cmd := f.mallory.As(f.bed.Bin+"/condor_config_val", "JJM_HERS")
		cmd.Env = []string{"HOME=/", "PATH=/usr/bin:/bin", "CONDOR_CONFIG=" + f.bed.Env["CONDOR_CONFIG"]}
		if out, _ := cmd.Output(); strings.TrimSpace(string(out)) != "yes" {
			return fmt.Errorf("HTCondor does not read her user_config: JJM_HERS is %q", out)
		}
	}
	want := map[string][]string{"slurm": {listing}, "condor": {listing, "forge"}}[kind]
	if got := f.ran(); len(got) != len(want) {
		return fmt.Errorf("of her programs %v ran: want %v", got, want)
	}
	for _, name := range f.ran() {
		f.siege.Must(os.Remove(filepath.Join(f.marks, name)))
	}
	return nil
}

// jobs submits jobs of an account that each write a line when they run. They last long enough to be listed many times.
func (f *planted) jobs(p site.Person, n int) (ids, files []string) {
	f.t.Helper()
	for i := range n {
		file := filepath.Join(f.Home(p), fmt.Sprintf("runs-%d", i))
		files = append(files, file)
		ids = append(ids, f.Submit(p, site.Script("echo x >>"+file+"; sleep 6")))
	}
	return ids, files
}

// once checks that grid jobs are done and that each of their jobs ran once.
func (f *planted) once(whose string, ids, files []string) {
	f.t.Helper()
	for i, id := range ids {
		for _, local := range f.Final(id, "done").Locals {
			if local.Attempt != 0 {
				f.t.Errorf("%s local job %v took more than one attempt: %s", whose, local.ID, local.Message)
			}
		}
		text, err := os.ReadFile(files[i])
		if err != nil || string(text) != "x\n" {
			f.t.Errorf("%s grid job %s left %q, %v: want that it ran once", whose, id, text, err)
		}
	}
}

// untaken checks that none of mallory's programs ran.
func (f *planted) untaken() {
	f.t.Helper()
	if ran := f.ran(); len(ran) > 0 {
		f.t.Fatalf("of her programs %v ran", ran)
	}
}

// served waits until grid jobs of mallory are done, so that commands have run as her.
func (f *planted) served(ids []string) {
	f.t.Helper()
	for _, id := range ids {
		f.Until("grid job "+id+" of hers is done", func() bool {
			f.untaken()
			out, err := f.JJM(f.mallory, "lookup", id)
			return err == nil && strings.Contains(out, "done")
		})
	}
}

// knownOn makes mallory and bob known to a batch system.
func (s *siege) knownOn(b *testbed.Bed, kind string) {
	s.t.Helper()
	if kind == "slurm" {
		site.KnownToSlurm(s.t, b, s.mallory, s.bob)
		return
	}
	s.bob = site.Known(s.t, b.Owner.User) // the pool's workers have separate accounts
	s.knownInPool(b)
}

// knownInPool adds mallory's account to the pool's machines, which have a separate account database.
func (s *siege) knownInPool(b *testbed.Bed) {
	s.t.Helper()
	for name, line := range map[string]string{
		"passwd": fmt.Sprintf("%s:x:%d:%d::/tmp:/bin/sh\n", s.mallory.Name, s.mallory.UID, s.mallory.GID),
		"group":  fmt.Sprintf("%s:x:%d:\n", s.mallory.Name, s.mallory.GID),
	} {
		file := filepath.Join(filepath.Dir(b.Bin), "root", "etc", name)
		have, err := os.ReadFile(file)
		s.Must(err)
		s.Must(os.WriteFile(file, append(have, line...), 0o644))
		s.t.Cleanup(func() {
			have, err := os.ReadFile(file)
			s.Must(err)
			s.Must(os.WriteFile(file, []byte(strings.ReplaceAll(string(have), line, "")), 0o644))
		})
	}
}

// Mallory's own files name other programs and settings for the batch system. jjm nevertheless runs the site's commands
// as her account with the site's configuration, and her programs never run. Her jobs and bob's jobs are done.
func TestForged_NoProgramAndNoSettingOfHersIsTaken(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	for kind, listing := range map[string]string{"slurm": "squeue", "condor": "condor_q"} {
		t.Run(kind, func(t *testing.T) {
			b := testbed.Start(t, kind)
			s := besiege(t, site.Settings{RunAs: "owner", Clusters: site.OnBed(b, kind)})
			s.knownOn(b, kind)
			f := plantAll(s, b, kind)
			var bobs, hers, bobsRuns, herRuns []string
			s.withstands(attack{
				name: kind + ": her own commands, and every file that could have them run",
				begin: func() {
					s.Must(f.works(kind, listing))
					bobs, bobsRuns = f.jobs(s.bob, full(10, 3))
					hers, herRuns = f.jobs(s.mallory, full(10, 3))
					f.served(hers)
					f.once("her", hers, herRuns)
				},
				inForce: func() error { f.untaken(); return nil },
			})
			f.once("bob's", bobs, bobsRuns)
			f.untaken()
			s.Must(f.works(kind, listing)) // mallory's preparations had an effect until the end
		})
	}
}
