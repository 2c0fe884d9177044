package survival_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
)

// scenario describes how a daemon reaches a failpoint. A failpoint is a named place in the daemon's code at which a
// test can make the daemon die.
type scenario struct {
	set settings
	// lives are the failpoints of the successive daemons. "" stands for a daemon that the test kills when the grid job is
	// over. After the last of these daemons, a daemon without a failpoint ends the grid job. Nil means a single daemon
	// that dies at the failpoint itself.
	lives  []string
	design design
	// patience is how long a daemon may take to reach its failpoint; 0 means deadWithin.
	patience time.Duration
	// between runs after the end of one daemon and before the start of the next daemon.
	between func(t *testing.T, s *site)
	// before runs before the first daemon; drive replaces driveMix.
	before func(t *testing.T, s *site)
	drive  func(ctx context.Context, s *site, d design) (jjm.GridID, error)
}

// mixed returns the scenario for most failpoints: a grid job with all kinds of ends, and with kills of running and of
// waiting local jobs.
func mixed(glf bool) scenario {
	return scenario{design: design{jobs: 20, glf: glf, mix: "yes"}}
}

// TestFailpoint_DaemonKilledThere kills a daemon at every failpoint and checks that the next daemon brings everything
// to the right end.
func TestFailpoint_DaemonKilledThere(t *testing.T) {
	t.Parallel()
	all := scenarios()
	for _, point := range failpoints(t) {
		if why, ok := elsewhere()[point]; ok {
			t.Logf("failpoint %s is not tested here: %s", point, why)
			continue
		}
		sc, known := all[point]
		if !known {
			t.Errorf("failpoint %s has no scenario: add one to scenarios()", point)
			continue
		}
		delete(all, point)
		t.Run(point, func(t *testing.T) {
			needs.Campaign(t, needs.Faults)
			t.Parallel()
			sc.run(t, point)
		})
	}
	for point := range all {
		t.Errorf("the scenario of %s leads to no failpoint in the source", point)
	}
}

// oneLife returns one failpoint of each class in the order in which a grid job reaches them: when the grid job is
// accepted, prepared, split, submitted, found again, watched, judged, published and collected.
func oneLife() []string {
	return []string{"accept.after-commit", "prepare.packed", "generate.before-commit", "submit.acted", "reconcile.found",
		"watch.listed", "verdict.before-commit", "publish.after", "collect.tarred"}
}

// TestFailpoint_EachClassInOneLife kills a daemon at a failpoint of each class during the life of one grid job.
func TestFailpoint_EachClassInOneLife(t *testing.T) {
	t.Parallel()
	for _, glf := range []bool{true, false} {
		t.Run(fmt.Sprintf("glf=%v", glf), func(t *testing.T) {
			t.Parallel()
			sc := mixed(glf)
			sc.lives = oneLife()
			sc.run(t, "")
		})
	}
}

// TestFailpoint_AnOrderToKillAGridJobIsNotForgotten kills a daemon before and after it stores the order to kill a grid
// job, while it cancels the jobs in the batch system, and when it is about to store their ends. The local jobs are
// killed by the order, and not cancelled in the batch system by someone else.
func TestFailpoint_AnOrderToKillAGridJobIsNotForgotten(t *testing.T) {
	t.Parallel()
	for _, glf := range []bool{true, false} {
		t.Run(fmt.Sprintf("glf=%v", glf), func(t *testing.T) {
			t.Parallel()
			sc := scenario{design: design{jobs: 20, glf: glf, mix: "yes", killed: true}, drive: driveKilled}
			sc.lives = []string{"kill.before-commit", "kill.after-commit", "local.cancelling", "verdict.before-commit"}
			sc.run(t, "")
		})
	}
}

// TestBeds_EachClassOfFailpointInOneLife runs the scenario of TestFailpoint_EachClassInOneLife on a real batch system.
func TestBeds_EachClassOfFailpointInOneLife(t *testing.T) {
	t.Parallel()
	section, uid := onBed("slurm", "slurm", "")(t)
	sc := mixed(true)
	sc.set = settings{cluster: section, uid: uid, retry: 1}
	// A listing may find the bulk in doubt before jjm searches for it. Then the daemon does not reach this failpoint.
	sc.lives = slices.DeleteFunc(oneLife(), func(point string) bool { return point == "reconcile.found" })
	sc.run(t, "")
}

// run plays the scenario.
func (sc scenario) run(t *testing.T, point string) {
	if sc.set.slots == 0 {
		sc.set.slots = 4
	}
	s := newSite(t, sc.set)
	sc.design.key = "once"
	if sc.before != nil {
		sc.before(t, s)
	}
	drive := sc.drive
	if drive == nil {
		drive = driveMix
	}
	lives := sc.lives
	if lives == nil {
		lives = []string{point}
	}
	ctx, cancel := context.WithTimeout(context.Background(), finalWithin)
	defer cancel()
	s.start(lives[0])
	driven := s.goDrive(ctx, drive, sc.design)
	for i, life := range lives {
		if i > 0 {
			s.start(life)
		}
		if life == "" {
			s.await("the grid job is over", finalWithin, func() bool { return s.overNow(driven) })
			s.kill()
		} else {
			s.died(max(sc.patience, deadWithin))
			s.sawFailpoint(life)
		}
		if sc.between != nil {
			sc.between(t, s)
		}
	}
	s.startReady()
	id := driven.wait(t)
	s.final(id)
	if n := s.gridJobs(); n != 1 {
		t.Errorf("%d grid jobs, want 1: the request key was not kept", n)
	}
	s.verify(id, sc.design)
}

// sawFailpoint checks that the last daemon died at its failpoint.
func (s *site) sawFailpoint(life string) {
	s.t.Helper()
	log := s.logText()
	log = log[strings.LastIndex(log, "== daemon"):]
	name, _, _ := strings.Cut(life, ":")
	if !strings.Contains(log, "killed at failpoint") || !strings.Contains(log, "point="+name) {
		s.t.Fatalf("the daemon died, and its log does not say that it was at failpoint %s:\n%s", life, tail(log, 10))
	}
}

// gridJobs returns the number of all grid jobs.
func (s *site) gridJobs() int {
	s.t.Helper()
	return len(must(s, wire.VerbList(), wire.ListRequest{List: &wire.List{All: true}}).Status)
}

// driven is a running driver, or its result. A driver is a function that submits a grid job and makes requests about
// it.
type driven struct {
	done chan struct{}
	id   jjm.GridID
	err  error
}

func (s *site) goDrive(ctx context.Context, drive func(context.Context, *site, design) (jjm.GridID, error),
	d design) *driven {
	r := &driven{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.id, r.err = drive(ctx, s, d)
	}()
	s.t.Cleanup(func() { <-r.done })
	return r
}

// wait returns the grid job after the driver has made all its requests. If a request failed, the test fails.
func (r *driven) wait(t *testing.T) jjm.GridID {
	t.Helper()
	<-r.done
	if r.err != nil {
		t.Fatalf("requests that must succeed, whatever becomes of daemons: %v", r.err)
	}
	return r.id
}

// overNow reports whether the driver is done and its grid job is over.
func (s *site) overNow(r *driven) bool {
	select {
	case <-r.done:
	default:
		return false
	}
	if r.err != nil {
		s.t.Fatal(r.err)
	}
	a, err := client.Call(context.Background(), s.client(), wire.VerbLookup(),
		wire.LookupRequest{Many: wire.Refs(r.id.String())})
	return err == nil && isFinal(a.Lookup[0].Status)
}

// insist repeats a request until a daemon answers, like a gatekeeper that needs an answer. It returns a refusal as an
// error.
func insist[Req wire.Request, Ans wire.Answer](ctx context.Context, s *site, v wire.Verb[Req, Ans], req Req) (
	Ans, error) {
	for {
		a, err := client.Call(ctx, s.client(), v, req)
		if err == nil || !client.IsUnreachable(err) && jjm.KindOf(err) != jjm.Ambiguous {
			return a, err
		}
		select {
		case <-ctx.Done():
			return a, errors.Join(fmt.Errorf("%s %+v was never answered", v.Name, req), err)
		case <-time.After(pollEvery):
		}
	}
}

// submit submits a grid job with its request key, and repeats the request until a daemon answers.
func (s *site) submit(ctx context.Context, d design) (jjm.GridID, error) {
	if s.uid != 0 {
		return s.submitAs(ctx, d)
	}
	a, err := insist(ctx, s, wire.VerbSubmit(),
		wire.SubmitRequest{Submit: &wire.Submit{Name: "survival.toml", Text: d.text(s), BaseDir: s.dir}})
	if err != nil {
		return 0, err
	}
	return a.Submit.ID, nil
}

// submitAs submits with the command jjm as the account of the daemon, and repeats the command while no daemon answers.
func (s *site) submitAs(ctx context.Context, d design) (jjm.GridID, error) {
	file := filepath.Join(s.dir, "survival.toml")
	if err := os.WriteFile(file, []byte(d.text(s)), 0o644); err != nil {
		return 0, err
	}
	for {
		cmd := exec.CommandContext(ctx, bin.Path(s.t, "jjm"), "submit", file)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/", "JJM_STATE=" + s.state}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.credential()}
		out, err := cmd.Output()
		if err != nil && !again(cmd.ProcessState.ExitCode(), errorText(err)) {
			return 0, fmt.Errorf("jjm submit: %w: %s", err, errorText(err))
		}
		if err == nil {
			id, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64)
			return jjm.GridID(id), err
		}
	}
}

// errorText returns the standard error of a failed command.
func errorText(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(exit.Stderr)
	}
	return ""
}

// again reports whether jjm asks to repeat the command: exit code 4 means that no daemon answers. Because of the
// request key the command can be repeated even if only the answer was lost.
func again(code int, text string) bool {
	return code == 4 || strings.Contains(text, "submit again with the same request key")
}

// until asks for the status of local jobs until ok returns true.
func (s *site) until(ctx context.Context, ref string, ok func(wire.Status) bool) error {
	for {
		a, err := insist(ctx, s, wire.VerbStatus(), wire.StatusRequest{Many: wire.Refs(ref)})
		switch {
		case err == nil && ok(a.Status[0]):
			return nil
		case err != nil && jjm.KindOf(err) != jjm.Gone:
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("status %s never became as wanted: %w", ref, ctx.Err())
		case <-time.After(pollEvery):
		}
	}
}

// killAll requests kills until each was answered with success.
func (s *site) killAll(ctx context.Context, refs ...string) error {
	a, err := insist(ctx, s, wire.VerbKill(), wire.KillRequest{Many: wire.Refs(refs...)})
	if err != nil {
		return err
	}
	for _, k := range a.Kill {
		if k.Error != nil {
			return fmt.Errorf("kill %s: %w", k.Ref, k.Error.Err())
		}
	}
	return nil
}

// driveMix submits a grid job and kills the sleepers: the first sleeper when it runs, the others as soon as they are
// queued.
func driveMix(ctx context.Context, s *site, d design) (jjm.GridID, error) {
	id, err := s.submit(ctx, d)
	if err != nil {
		return 0, err
	}
	var refs []string
	for _, n := range d.sleepers() {
		refs = append(refs, jjm.LocalID{Grid: id, N: n}.String())
	}
	if len(refs) == 0 {
		return id, nil
	}
	queued := func(st wire.Status) bool { return len(st.Locals) > 0 && st.Locals[0].State >= jjm.Submitted }
	if err := s.until(ctx, id.String()+"."+strconv.Itoa(d.jobs-1), queued); err != nil {
		return id, err
	}
	if len(refs) > 1 {
		if err := s.killAll(ctx, refs[1:]...); err != nil {
			return id, err
		}
	}
	runs := func(st wire.Status) bool {
		return len(st.Locals) > 0 && (st.Locals[0].State == jjm.Running || st.Locals[0].State.Final())
	}
	if err := s.until(ctx, refs[0], runs); err != nil {
		return id, err
	}
	return id, s.killAll(ctx, refs[0])
}

// driveKilled submits, waits until some local jobs have ended, and kills the grid job.
func driveKilled(ctx context.Context, s *site, d design) (jjm.GridID, error) {
	id, err := s.submit(ctx, d)
	if err != nil {
		return 0, err
	}
	some := func(st wire.Status) bool { return st.Lookup.Counts.Completed >= 3 }
	if err := s.until(ctx, id.String(), some); err != nil {
		return id, err
	}
	return id, s.killAll(ctx, id.String())
}

// driveOrdered pauses the cluster while a grid job runs, and resumes it.
func driveOrdered(ctx context.Context, s *site, d design) (jjm.GridID, error) {
	id, err := s.submit(ctx, d)
	if err != nil {
		return 0, err
	}
	for _, o := range []wire.Order{{Verb: jjm.OrderPause, Reason: "a test"}, {Verb: jjm.OrderResume}} {
		o.Kind, o.Name = jjm.OrderCluster, "local"
		if _, err := insist(ctx, s, wire.VerbOrder(), wire.OrderRequest{Order: &o}); err != nil {
			return id, err
		}
	}
	return id, nil
}

// driveBanned bans another account while a grid job runs, and lifts the ban.
func driveBanned(ctx context.Context, s *site, d design) (jjm.GridID, error) {
	id, err := s.submit(ctx, d)
	if err != nil {
		return 0, err
	}
	for _, b := range []wire.Ban{{Name: "70001", Reason: "a test"}, {Name: "70001", Lift: true}} {
		if _, err := insist(ctx, s, wire.VerbBan(), wire.BanRequest{Ban: &b}); err != nil {
			return id, err
		}
	}
	return id, nil
}

// driveIncluded includes a host while a grid job runs. The embedded batch system excludes no hosts, so no host is
// excluded; the change of the store is the same.
func driveIncluded(ctx context.Context, s *site, d design) (jjm.GridID, error) {
	id, err := s.submit(ctx, d)
	if err != nil {
		return 0, err
	}
	_, err = insist(ctx, s, wire.VerbExclude(),
		wire.ExcludeRequest{Exclude: &wire.Exclude{Include: true, Hosts: []string{"wn13"}}})
	return id, err
}

// driveRemarked adds a remark to the grid job, as a gatekeeper does, while its sleepers keep it from ending.
func driveRemarked(ctx context.Context, s *site, d design) (jjm.GridID, error) {
	id, err := s.submit(ctx, d)
	if err != nil {
		return 0, err
	}
	if _, err := insist(ctx, s, wire.VerbRemark(),
		wire.RemarkRequest{One: wire.OneRef(id.String()), Remark: "seen"}); err != nil {
		return id, err
	}
	return driveMix(ctx, s, d)
}

// driveReleased waits until a tenth of the local jobs are held, and releases these local jobs.
func driveReleased(ctx context.Context, s *site, d design) (jjm.GridID, error) {
	id, err := s.submit(ctx, d)
	if err != nil {
		return 0, err
	}
	held := func(st wire.Status) bool { return st.Lookup.Counts.Held == d.jobs/10 && len(st.Holds) == 1 }
	if err := s.until(ctx, id.String(), held); err != nil {
		return id, err
	}
	a, err := insist(ctx, s, wire.VerbRelease(), wire.ReleaseRequest{Many: wire.Refs(id.String())})
	if err != nil {
		return id, err
	}
	return id, a.Release[0].Error.Err()
}

// driveForced forces a failed local job to failed. This changes nothing, whenever the daemon dies. The sleepers keep
// the grid job from its end meanwhile.
func driveForced(ctx context.Context, s *site, d design) (jjm.GridID, error) {
	id, ref, err := s.submitFailing(ctx, d)
	if err != nil {
		return id, err
	}
	a, err := insist(ctx, s, wire.VerbForceStatus(), wire.ForceStatusRequest{Many: wire.Refs(ref),
		ForceHow: wire.ForceHow{To: jjm.Failed.String()}})
	if err != nil {
		return id, err
	}
	if err := a.Forced[0].Error.Err(); err != nil {
		return id, err
	}
	return driveMix(ctx, s, d)
}

// driveFrozen freezes a failed local job and unfreezes it. This changes nothing, whenever the daemon dies. The sleepers
// keep the grid job from its end meanwhile.
func driveFrozen(ctx context.Context, s *site, d design) (jjm.GridID, error) {
	id, ref, err := s.submitFailing(ctx, d)
	if err != nil {
		return id, err
	}
	a, err := insist(ctx, s, wire.VerbFreeze(), wire.FreezeRequest{Many: wire.Refs(ref)})
	if err != nil {
		return id, err
	}
	if err := a.Freeze[0].Error.Err(); err != nil {
		return id, err
	}
	u, err := insist(ctx, s, wire.VerbUnfreeze(), wire.UnfreezeRequest{Many: wire.Refs(ref)})
	if err != nil {
		return id, err
	}
	if err := u.Unfreeze[0].Error.Err(); err != nil {
		return id, err
	}
	return driveMix(ctx, s, d)
}

// submitFailing submits a grid job and waits until one of its local jobs failed, or the grid job is over. It returns
// the id of that local job.
func (s *site) submitFailing(ctx context.Context, d design) (id jjm.GridID, local string, err error) {
	id, err = s.submit(ctx, d)
	if err != nil {
		return 0, "", err
	}
	failed := int32(-1)
	some := func(st wire.Status) bool {
		for i := range st.Locals {
			if st.Locals[i].State == jjm.Failed {
				failed = st.Locals[i].ID.N
			}
		}
		return failed >= 0 || st.Over()
	}
	err = s.until(ctx, id.String()+".*", some)
	return id, jjm.LocalID{Grid: id, N: max(failed, 0)}.String(), err
}

// driveHeld holds all local jobs that have not ended, and releases them.
func driveHeld(ctx context.Context, s *site, d design) (jjm.GridID, error) {
	id, err := s.submit(ctx, d)
	if err != nil {
		return 0, err
	}
	made := func(st wire.Status) bool { return st.Lookup.Counts.Total == d.jobs }
	if err := s.until(ctx, id.String(), made); err != nil {
		return id, err
	}
	if _, err := insist(ctx, s, wire.VerbHold(), wire.HoldRequest{Many: wire.Refs(id.String() + ".*")}); err != nil {
		return id, err
	}
	_, err = insist(ctx, s, wire.VerbRelease(), wire.ReleaseRequest{Many: wire.Refs(id.String() + ".*")})
	return id, err
}

// driveOnly only submits.
func driveOnly(ctx context.Context, s *site, d design) (jjm.GridID, error) { return s.submit(ctx, d) }

// killable returns the condition on which a sleeper is killed: every third sleeper as soon as it exists, the others
// when they run.
func killable(n int32) func(wire.Status) bool {
	return func(st wire.Status) bool {
		if len(st.Locals) == 0 {
			return false
		}
		return n/10%3 == 2 || st.Locals[0].State == jjm.Running || st.Locals[0].State.Final()
	}
}

// statusOf returns the status of a grid job without its local jobs.
func statusOf(s *site, id jjm.GridID) wire.Status {
	return must(s, wire.VerbStatus(), wire.StatusRequest{Many: wire.Refs(id.String())}).Status[0]
}

// only returns the site's one grid job.
func (s *site) only() jjm.GridID {
	s.t.Helper()
	list := must(s, wire.VerbList(), wire.ListRequest{List: &wire.List{All: true}}).Status
	if len(list) != 1 {
		s.t.Fatalf("%d grid jobs, want 1", len(list))
	}
	return list[0].Lookup.ID
}
