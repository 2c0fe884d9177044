package hostile_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"jjm/internal/testkit/await"
	"jjm/internal/testkit/site"
)

// hang is how long one job of the other account may take before the test counts it as blocked.
var hang = await.Guard(4 * time.Minute)

// maxMemory is the most memory that the daemon may use, in bytes.
const maxMemory = 600 << 20

// siege is a site with a hostile account (mallory) and an honest account (bob).
type siege struct {
	*site.Site
	t       *testing.T
	mode    string
	mallory site.Person
	bob     site.Person
}

// besiege starts a site and creates the two accounts.
func besiege(t *testing.T, with site.Settings) *siege {
	t.Helper()
	t.Parallel()
	attacks <- struct{}{}
	t.Cleanup(func() { <-attacks })
	s := &siege{t: t, mode: with.RunAs, mallory: site.Account(t), bob: site.Account(t)}
	if s.mode == "" {
		s.mode = "service"
	}
	if with.Clusters == "" {
		with.Clusters = site.Local
	}
	s.Site = site.New(t, &bin, with)
	return s
}

// attack describes an attack of the hostile account.
type attack struct {
	// name describes the attack in a few words.
	name string
	// begin starts the attack and waits until it is in force.
	begin func()
	// inForce returns an error if the attack is no longer in force, because a test without the attack proves nothing.
	inForce func() error
	// end ends the attack, so that the daemon can stop and its files can be removed.
	end func()
}

// withstands proves that an attack does not affect the other account and the administrators. While the attack is in
// force, jobs of the other account are done one after another, an administrator can ban the attacker, the other account
// can kill a job, and the daemon stops on SIGTERM and starts again.
func (s *siege) withstands(a attack) {
	s.t.Helper()
	jobs := full(20, 5)
	r := row{attack: a.name, mode: s.mode, result: "held up"}
	defer func() { table.add(r) }()
	r.alone = s.echoes(jobs, nil)
	a.begin()
	if a.end != nil {
		defer a.end()
	}
	s.inForce(a)
	r.during = s.echoes(jobs, func() { s.inForce(a) })
	s.inForce(a)
	s.administered(a)
	if r.memory = s.memory(); r.memory > maxMemory {
		r.result = "memory"
		s.t.Errorf("the daemon used %d MB: want at most %d", r.memory>>20, maxMemory>>20)
		return
	}
	s.restarted()
	if !s.t.Failed() {
		r.result = "holds"
	}
}

func (s *siege) inForce(a attack) {
	s.t.Helper()
	if a.inForce == nil {
		return
	}
	if err := a.inForce(); err != nil {
		s.t.Fatalf("%s: not in force: %v", a.name, err)
	}
}

// echoes runs jobs of the other account one after another and returns the median time of a job. It calls between after
// each job.
func (s *siege) echoes(jobs int, between func()) time.Duration {
	s.t.Helper()
	took := make([]time.Duration, 0, jobs)
	for range jobs {
		began := time.Now()
		s.echo()
		took = append(took, time.Since(began))
		if between != nil {
			between()
		}
	}
	slices.Sort(took)
	return took[len(took)/2]
}

// echo runs one job of the other account to its end.
func (s *siege) echo() {
	s.t.Helper()
	id := s.Submit(s.bob, site.Script("echo here"))
	for end := time.Now().Add(hang); ; time.Sleep(30 * time.Millisecond) {
		out, err := s.JJM(s.bob, "lookup", id)
		if err == nil && strings.Contains(out, "done") {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("%s: grid job %s of the other account is not done: %v %s", await.Hung, id, err, out)
		}
	}
}

// administered bans the hostile account, kills a grid job of the other account, and lifts the ban.
func (s *siege) administered(a attack) {
	s.t.Helper()
	if out, err := s.JJM(site.Root(), "ban", s.mallory.Name, "--reason", "a siege"); err != nil {
		s.t.Errorf("%s: ban: %q, %v", a.name, out, err)
	}
	id := s.Submit(s.bob, site.Script("sleep 600"))
	if out, err := s.JJM(s.bob, "kill", id); err != nil {
		s.t.Errorf("%s: kill: %q, %v", a.name, out, err)
	}
	s.Final(id, "aborted")
	if out, err := s.JJM(site.Root(), "unban", s.mallory.Name); err != nil {
		s.t.Errorf("%s: unban: %q, %v", a.name, out, err)
	}
}

// restarted stops the daemon with SIGTERM, starts it again, and checks that a job of the other account is done.
func (s *siege) restarted() {
	s.t.Helper()
	ended := make(chan struct{})
	go func() { defer close(ended); s.Stop() }()
	select {
	case <-ended:
	case <-time.After(hang):
		s.t.Fatal("TERM does not end the daemon, " + await.Hung)
	}
	s.Start()
	s.echo()
}

// memory returns the most memory that the daemon used, in bytes (VmHWM of proc(5)).
func (s *siege) memory() int64 {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Daemon.Process.Pid))
	s.Must(err)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			s.Must(err)
			return kib << 10
		}
	}
	s.t.Fatal("the daemon's memory cannot be read")
	return 0
}
