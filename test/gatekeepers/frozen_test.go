package gatekeepers_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/testbed"
)

// TestFrozenSlurm stops the controller of a real Slurm and makes the same calls as the scripts of GRAM, ARC, HTCondor
// and other gatekeepers. A submission is accepted, the last known state is returned, a cancel is stored. After the
// controller continues, each submitted job is done once, and each cancelled job is gone.
func TestFrozenSlurm(t *testing.T) {
	needs.Campaign(t, needs.Gatekeepers)
	gram := installedGRAM(t) // installs its Perl modules
	t.Parallel()
	slurm := testbed.StartAlone(t, "slurm")
	dir, err := os.MkdirTemp("", "jjm-gk-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := openSite(t, dir, account(t, gram.Vars["OWNER"]), bedCluster(slurm, "slurm"))
	s.start()
	for _, err := range []error{os.WriteFile(s.path("ledger"), nil, 0o644),
		os.Chown(s.path("ledger"), s.owner.UID, s.owner.GID)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	arc := newControl(t, s)
	ways := map[string]way{"gram": s.gramWay(t), "arc": arc.way(), "blahp": s.blahpWay(t), "core": s.coreWay(t)}
	ids := map[string]string{}
	for name, w := range ways {
		ids[name] = w.submit("old-"+name, "exec sleep 600")
	}
	for name := range ways {
		s.running(t, "old-"+name)
	}
	t.Cleanup(func() { slurm.Do(t, "thaw", "slurmctld") })
	slurm.Do(t, "freeze", "slurmctld")
	for name, w := range ways {
		w.submit("new-"+name, "echo "+name+" >>"+s.path("ledger"))
		if got := w.state(ids[name]); got != "running" {
			t.Errorf("%s: a job that ran is told as %q", name, got)
		}
		w.kill(ids[name])
	}
	for name := range ways {
		if l := s.byName("new-" + name)[0].Lookup; l.Counts.Running > 0 || final(l.Status) {
			t.Errorf("Slurm is not frozen: %+v", l)
		}
	}
	slurm.Do(t, "thaw", "slurmctld")
	await(t, "all is over", func() bool { return !s.alive() })
	text, err := os.ReadFile(s.path("ledger"))
	for name := range ways {
		if old, fresh := s.byName("old-"+name), s.byName("new-"+name); len(old) != 1 || len(fresh) != 1 ||
			old[0].Lookup.Status != "aborted" || fresh[0].Lookup.Status != "done" ||
			strings.Count(string(text), name+"\n") != 1 {
			t.Errorf("%s: the old one is %+v, the new one %+v; ran: %q, %v", name, old, fresh, text, err)
		}
	}
}

// way has the calls by which the scripts of one gatekeeper use jjm. Each function fails the test if the answer is
// wrong.
type way struct {
	submit func(name, shell string) (id string)
	state  func(id string) string // returns "running", or else the state
	kill   func(id string)
}

// gramWay returns the calls of GRAM's Perl module. It runs several Perl processes, as a job manager does.
func (s *site) gramWay(t *testing.T) way {
	g := newScripts(t, s.owner, s.dir, bin.Dir(t), s.state())
	p := g.start(t)
	jobs := map[string]*gramJob{}
	return way{
		submit: func(name, shell string) string {
			j := g.job(t, name)
			j.attr["executable"], j.attr["arguments"], j.attr["jjmname"] = "'/bin/sh'", quoted("-c", shell), quoted(name)
			id := p.submit(j)
			jobs[id] = j
			return id
		},
		state: func(id string) string {
			return strings.ReplaceAll(strings.Join(p.ask("poll", jobs[id]), " "), "JOB_STATE:2", "running")
		},
		kill: func(id string) { p.wantLines("cancel", jobs[id]) },
	}
}

// way returns the calls of ARC's scripts. A job counts as running as long as a scan reports nothing about it.
func (c *control) way() way {
	must := func(verb, grami string) {
		c.t.Helper()
		if out, code := c.run(c.t, credential(c.owner), verb, grami); code != 0 {
			c.t.Errorf("arc %s: exit %d\n%s", verb, code, out)
		}
	}
	return way{
		submit: func(name, shell string) string {
			grami := c.add(c.t, name, shell)
			must("submit", grami)
			return grami
		},
		state: func(grami string) string {
			if out, code := c.run(c.t, nil, "scan", c.dir); code != 0 {
				return fmt.Sprintf("exit %d %s", code, out)
			}
			if exists(strings.TrimSuffix(grami, "grami") + "lrms_done") {
				return "done"
			}
			return "running"
		},
		kill: func(grami string) { must("cancel", grami) },
	}
}

// said runs jjm-gatekeeper as the site's owner, in a folder of the owner.
func (s *site) said(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command(bin.Path(t, "jjm-gatekeeper"), args...)
	cmd.Env, cmd.Dir = []string{"PATH=/usr/bin:/bin", "HOME=/", "JJM_STATE=" + s.state()}, s.path("iwd")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential(s.owner)}
	cmd.WaitDelay = 5 * time.Second // provoked: a surviving child keeps its output open
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("jjm-gatekeeper %q: %v\n%s", args, err, out)
	}
	return string(out)
}

func (s *site) blahpWay(t *testing.T) way {
	(&person{owner: s.owner}).folderFor(t, s.path("iwd"))
	return way{
		submit: func(name, shell string) string {
			write(t, filepath.Join(s.path("iwd"), name), "#!/bin/sh\n"+shell+"\n", 0o755)
			_, id, _ := strings.Cut(s.said(t, "blahp", "submit", "-c", name, "-o", name+".out", "-w", s.path("iwd"), "-D", name),
				"BLAHP_JOBID_PREFIX")
			return strings.TrimSpace(id)
		},
		state: func(id string) string {
			out := s.said(t, "blahp", "status", id)
			if strings.HasPrefix(out, "0") && strings.Contains(out, "JobStatus=2;") {
				return "running"
			}
			return out
		},
		kill: func(id string) {
			if out := s.said(t, "blahp", "cancel", strings.TrimPrefix(id, "jjm/")); out != " 0 No\\ error\n" {
				t.Errorf("blahp cancel: %q", out)
			}
		},
	}
}

func (s *site) coreWay(t *testing.T) way {
	return way{
		submit: func(name, shell string) string {
			file := filepath.Join(s.path("iwd"), name+".toml")
			write(t, file, fmt.Sprintf("type = \"script\"\nname = %q\n[params]\ncommand = [\"/bin/sh\", \"-c\", %q]\n", name,
				shell), 0o644)
			handle, _, _ := strings.Cut(strings.TrimPrefix(s.said(t, "core", "submit", "--key", name, file), "HANDLE="), "\n")
			return handle
		},
		state: func(id string) string {
			_, status, _ := strings.Cut(s.said(t, "core", "lookup", id), "\nSTATUS=")
			status, _, _ = strings.Cut(status, "\n")
			return status
		},
		kill: func(id string) {
			if out := s.said(t, "core", "kill", id); out != "REF="+id+"\nKILL=accepted\n" {
				t.Errorf("kill: %q", out)
			}
		},
	}
}
