package hostile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/site"
)

// mostGridJobs is how many grid jobs an account may have in this attack.
const mostGridJobs = 20

// Mallory submits grid jobs that never end, without stopping. She gets as many grid jobs as the site allows an account,
// and the error of every further submission names the reason.
func TestQuota_OfGridJobsIsReachedByWhoSubmitsWithoutEnd(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	for _, mode := range []string{"owner", "service"} {
		t.Run(mode, func(t *testing.T) {
			runs := daemonOf(t, mode) // the account of mallory's jobs
			s := besiege(t, site.Settings{
				RunAs: mode, Gate: "mode = \"0666\"", As: runs,
				Engine:   fmt.Sprintf("max_grid_jobs_per_user = %d", mostGridJobs),
				Clusters: strings.Replace(site.Local, "slots = 8", "slots = 32", 1),
			})
			if mode == "owner" {
				runs = s.mallory
			}
			home := s.Home(s.mallory)
			file := filepath.Join(home, "job.toml")
			s.Must(os.WriteFile(file, []byte(site.Script("sleep 6000")), 0o644))
			another := func() error {
				if out, err := s.JJM(s.mallory, "submit", file); err == nil {
					return fmt.Errorf("she got grid job %s too", strings.TrimSpace(out))
				} else if !strings.Contains(err.Error(), "engine.max_grid_jobs_per_user allows 20") {
					return err
				}
				return nil
			}
			loop := s.mallory.As("/bin/sh", "-c", `while :; do "$1" submit "$2" >/dev/null 2>&1; sleep 0.1; done`,
				"sh", bin.Path(t, "jjm"), file)
			loop.Env = append(loop.Env, "JJM_STATE="+s.Dir+"/s")
			s.withstands(attack{
				name: "grid jobs without end",
				begin: func() {
					for n := range mostGridJobs {
						if _, err := s.JJM(s.mallory, "submit", file); err != nil {
							t.Fatalf("grid job %d of %d: %v", n+1, mostGridJobs, err)
						}
					}
					s.Must(loop.Start())
				},
				inForce: another,
				end: func() {
					_ = loop.Process.Kill()
					_ = loop.Wait()
					if _, err := s.JJM(site.Root(), "ban", s.mallory.Name, "--reason", "the siege is over"); err != nil {
						t.Errorf("ban: %v", err)
					}
					s.Until("her jobs are killed", func() bool { return len(runs.Processes("sleep")) == 0 })
				},
			})
		})
	}
}

// Mallory's job fills the disk of the work areas. New work waits with the reason and is not lost. Kills and lookups
// continue, and everything continues when there is space again.
func TestQuota_OfADiskThatIsFullPutsNewWorkOff(t *testing.T) {
	needs.Campaign(t, needs.Hostile)
	disk, err := os.MkdirTemp("/var/tmp", "jjmd") // a folder that all accounts can enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(disk) })
	needs.Tmpfs(t, disk, "size=64m,mode=755")
	s := besiege(t, site.Settings{RunAs: "owner", Gate: "mode = \"0666\"", Top: fmt.Sprintf("work = %q", disk)})
	waits := s.Submit(s.bob, site.Script("sleep 6000"))
	filled := s.Submit(s.mallory, site.Script("cat /dev/zero > fill; sleep 6000"))
	s.Until("the disk is seen to be full", func() bool {
		out, err := s.JJM(s.bob, "clusters")
		return err == nil && strings.Contains(out, "engine.min_free_bytes")
	})
	job := filepath.Join(s.Home(s.bob), "job.toml")
	if out, err := s.JJM(s.bob, "submit", job); err == nil || !strings.Contains(err.Error(), "engine.min_free_bytes") {
		t.Errorf("submission to a full disk: %q, %v", out, err)
	}
	for p, id := range map[site.Person]string{s.bob: waits, s.mallory: filled} {
		if out, err := s.JJM(p, "kill", id); err != nil {
			t.Errorf("kill on a full disk: %q, %v", out, err)
		}
	}
	s.Until("what runs is killed", func() bool {
		return len(s.bob.Processes("sleep"))+len(s.mallory.Processes("sleep")) == 0
	})
	s.Must(filepath.WalkDir(disk, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == "fill" {
			_ = os.Remove(path)
		}
		return nil // other files may be removed meanwhile
	}))
	s.Until("new work is taken again", func() bool {
		out, err := s.JJM(s.bob, "clusters")
		return err == nil && !strings.Contains(out, "engine.min_free_bytes")
	})
	s.echo()
}
