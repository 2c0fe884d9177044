package gateclient_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/needs"
	"jjm/internal/testkit/testbed"
)

// blahpd is HTCondor's program between its grid manager and a batch system. The test writes to its standard input as
// the grid manager does: blahpd acknowledges each request with "S" immediately, and returns the results on RESULTS.
type blahpd struct {
	s       *site
	in      io.WriteCloser
	out     *bufio.Reader
	next    int
	results map[string]string // results by request number
}

// blahpd starts the bed's blahpd for a site, as the site's owner.
func (s *site) blahpd(bed *testbed.Bed) *blahpd { return s.blahpdAs(bed, s.as()) }

// blahpdAs starts the bed's blahpd as an account.
func (s *site) blahpdAs(bed *testbed.Bed, as *syscall.SysProcAttr) *blahpd {
	s.t.Helper()
	root := filepath.Join(filepath.Dir(bed.Bin), "root")
	config := filepath.Join(s.dir, "blah.config")
	s.must(os.WriteFile(config, fmt.Appendf(nil,
		"supported_lrms=jjm\nblah_libexec_directory=%s\nblah_max_threaded_cmds=50\nblah_disable_limited_proxy=yes\nblah_disable_wn_proxy_renewal=yes\njjm_state=%q\n", s.scripts(), s.state), 0o644))
	lib := root + "/usr/lib/x86_64-linux-gnu:" + root + "/usr/lib"
	cmd := exec.Command(root+"/usr/lib64/ld-linux-x86-64.so.2", "--library-path", lib, root+"/usr/bin/blahpd")
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + s.dir, "BLAHPD_CONFIG_LOCATION=" + config}
	cmd.Dir, cmd.SysProcAttr = "/", as
	in, err := cmd.StdinPipe()
	s.must(err)
	out, err := cmd.StdoutPipe()
	s.must(err)
	s.must(cmd.Start())
	b := &blahpd{s: s, in: in, out: bufio.NewReader(out), results: map[string]string{}}
	s.t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if greeting := b.line(); !strings.HasPrefix(greeting, "$GahpVersion") {
		s.t.Fatalf("blahpd says %q", greeting)
	}
	return b
}

func (b *blahpd) line() string {
	b.s.t.Helper()
	line, err := b.out.ReadString('\n')
	b.s.must(err)
	return strings.TrimSuffix(line, "\n")
}

// say sends one command, requires an answer that begins with S, and returns the answer.
func (b *blahpd) say(format string, args ...any) string {
	b.s.t.Helper()
	_, err := fmt.Fprintf(b.in, format+"\n", args...)
	b.s.must(err)
	answer := b.line()
	if !strings.HasPrefix(answer, "S") {
		b.s.t.Fatalf("blahpd answers %q to %.200q", answer, fmt.Sprintf(format, args...))
	}
	return answer
}

// ask sends a request and returns its number.
func (b *blahpd) ask(verb, text string) string {
	b.next++
	n := fmt.Sprint(b.next)
	b.say("%s %s %s", verb, n, text)
	return n
}

// result waits for the answer to a request and returns it without the number.
func (b *blahpd) result(n string) string {
	b.s.t.Helper()
	b.s.await("blahpd answers request "+n, func() bool {
		var count int
		_, _ = fmt.Sscanf(b.say("RESULTS"), "S %d", &count)
		for range count {
			id, rest, _ := strings.Cut(b.line(), " ")
			b.results[id] = strings.TrimSpace(strings.ReplaceAll(rest, `\ `, " "))
		}
		_, ok := b.results[n]
		return ok
	})
	return b.results[n]
}

// ad returns attributes in the form that blahpd reads.
func ad(attrs map[string]string) string {
	var b strings.Builder
	b.WriteString("[ gridtype=\"jjm\";")
	for name, value := range attrs {
		if name != "RequestMemory" && name != "NodeNumber" && name != "HostNumber" && name != "GPUNumber" {
			value = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
		}
		b.WriteString(" " + name + "=" + value + ";")
	}
	b.WriteString(" ]")
	return strings.NewReplacer(`\`, `\\`, " ", `\ `).Replace(b.String())
}

// attrs returns the attributes of a job that runs a shell script in a separate folder and writes a line to the ledger.
func (s *site) attrs(key, shell string) map[string]string {
	s.t.Helper()
	dir := filepath.Join(s.dir, "iwd-"+key)
	if err := os.Mkdir(dir, 0o755); err == nil {
		file := filepath.Join(dir, "job.sh")
		s.must(os.WriteFile(file, []byte("#!/bin/sh\necho "+key+" >> "+s.dir+"/ledger\n"+shell+"\n"), 0o755))
		if s.owner.UID != 0 {
			s.must(os.Chown(dir, s.owner.UID, s.owner.GID))
		}
	}
	return map[string]string{"Cmd": "job.sh", "Iwd": dir, "Out": "out", "Err": "err", "In": "/dev/null",
		"JobDirectory": "home_bl_schedd_" + key + "_1"}
}

// id returns the name of a job from the answer to its submission.
func (b *blahpd) id(answer string) string {
	b.s.t.Helper()
	id, ok := strings.CutPrefix(answer, "0 No error ")
	if !ok || !strings.HasPrefix(id, "jjm/") {
		b.s.t.Fatalf("a submission was answered with %q", answer)
	}
	return id
}

// over waits until a job is completed and returns the attributes that blahpd reports for it.
func (b *blahpd) over(id string) string {
	b.s.t.Helper()
	var last string
	b.s.await(id+" is completed", func() bool {
		last = b.result(b.ask("BLAH_JOB_STATUS", id))
		if strings.HasPrefix(last, "0 No Error 3") || strings.HasPrefix(last, "0 No Error 5") {
			b.s.t.Fatalf("%s is %s: HTCondor would cancel or hold", id, last)
		}
		return strings.HasPrefix(last, "0 No Error 4")
	})
	return last
}

func (s *site) read(key, name string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "iwd-"+key, name))
	if err != nil {
		s.t.Error(err)
	}
	return string(text)
}

// 20 jobs (200 in the campaign of gatekeepers) go through the real blahpd during a restart of the daemon.
func TestBlahpd_NoJobIsLostOrDoubled(t *testing.T) {
	t.Parallel()
	bed := testbed.Start(t, "condor")
	s := newSite(t, local, "")
	s.start()
	b := s.blahpd(bed)
	b.say("ASYNC_MODE_OFF")
	n := 20 // two cores can run no more simultaneously
	if needs.InCampaign(needs.Gatekeepers) {
		n = 200
	}
	var asked, ids []string
	for i := range n {
		switch i {
		case n / 4:
			s.end(syscall.SIGTERM)
		case n / 2:
			s.begin()
		}
		key := fmt.Sprintf("k%d", i)
		asked = append(asked, b.ask("BLAH_JOB_SUBMIT", ad(s.attrs(key, "echo out of "+key))))
		if i%20 == 19 { // only two cores run jobs simultaneously
			for _, q := range asked[len(ids):] {
				ids = append(ids, b.id(b.result(q)))
			}
		}
	}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != n {
		t.Fatalf("%d names for %d jobs", len(ids), n)
	}
	// blahpd repeats a submission, as it does after it was killed. The answer names the same job.
	if id := b.id(b.result(b.ask("BLAH_JOB_SUBMIT", ad(s.attrs("k7", ""))))); !slices.Contains(ids, id) {
		t.Errorf("the same job again is %s", id)
	}
	s.allDone(n)
	for i := 0; i < n; i += 10 {
		if a := b.over(ids[i]); !strings.Contains(a, "ExitCode = 0") {
			t.Errorf("%s: %s", ids[i], a)
		}
	}
	for key, times := range s.ran() {
		if times != 1 {
			t.Errorf("%s ran %d times", key, times)
		}
	}
	a, err := ask(s, wire.VerbList(), wire.ListRequest{List: &wire.List{All: true, Limit: 2 * n}})
	if err != nil || len(a.Status) != n || len(s.ran()) != n {
		t.Errorf("%d grid jobs of which %d ran, %v; want %d", len(a.Status), len(s.ran()), err, n)
	}
}

// The test makes HTCondor's requests and checks the answers, with the embedded cluster and with Slurm.
func TestBlahpd_FilesExitCodesAndCancels(t *testing.T) {
	t.Parallel()
	for _, on := range []string{"local", "slurm"} {
		t.Run(on, func(t *testing.T) {
			t.Parallel()
			if on == "slurm" {
				needs.Campaign(t, needs.Gatekeepers)
			}
			bed := testbed.Start(t, "condor")
			config := local
			var owner jjm.Owner
			if on == "slurm" {
				slurm := testbed.Start(t, "slurm")
				config = local[:strings.Index(local, "[[cluster]]")] + slurmCluster(slurm)
				owner = slurm.Owner
			}
			s := newSite(t, config, "")
			if owner.UID != 0 {
				s.give(owner)
			}
			s.start()
			blahpdScenes(t, s, s.blahpd(bed))
		})
	}
}

// slurmCluster returns the section of a bed's Slurm.
func slurmCluster(b *testbed.Bed) string {
	return fmt.Sprintf("[[cluster]]\nname = \"slurm\"\nkind = \"slurm\"\nbin = %q\nenv = {SLURM_CONF = %q}\n", b.Bin,
		b.Env["SLURM_CONF"])
}

func blahpdScenes(t *testing.T, s *site, b *blahpd) {
	// A job that fails, with files, standard input and an argument with special characters.
	a := s.attrs(
		"full", `printf '%s|' "$@"; cat; echo "$GREETING" >&2; mkdir sub; echo x > sub/x.txt; cat in.txt > y.txt; exit 3`)
	s.must(os.WriteFile(filepath.Join(a["Iwd"], "in.txt"), []byte("input\n"), 0o644))
	a["In"], a["TransferInput"] = "in.txt", "in.txt"
	a["TransferOutput"], a["TransferOutputRemaps"] = "sub/x.txt,y.txt,jjm-output.tar",
		"sub/x.txt=X;jjm-output.tar="+s.dir+"/iwd-full/all.tar"
	a["Arguments"] = `'a b' {serial} "`
	a["Environment"] = "GREETING='hello world'"
	full := b.ask("BLAH_JOB_SUBMIT", ad(a))
	sleeper := b.ask("BLAH_JOB_SUBMIT", ad(s.attrs("sleeper", "sleep 1000")))
	refused := s.attrs("refused", "")
	refused["GPUNumber"], refused["GPUModel"] = "1", "a100"
	no := b.ask("BLAH_JOB_SUBMIT", ad(refused))

	id := b.id(b.result(full))
	if got := b.over(id); !strings.Contains(got, "ExitCode = 3;") || !strings.Contains(got, "RemoteWallClockTime = ") {
		t.Errorf("the one that fails: %s", got)
	}
	for name, want := range map[string]string{"out": "a b|{serial}|\"|input\n", "err": "hello world\n", "X": "x\n",
		"y.txt": "input\n"} {
		if got := s.read("full", name); got != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
	if out, err := exec.Command("tar", "tf", s.dir+"/iwd-full/all.tar").Output(); err != nil ||
		!strings.Contains(string(out), "/manifest.json") {
		t.Errorf("the tar: %s, %v", out, err)
	}
	if got := b.result(no); !strings.Contains(got, `GPU model "a100"`) || strings.HasPrefix(got, "0") {
		t.Errorf("what cannot be honoured: %s", got)
	}

	// A cancel, and then the same job again, as after a hold and a release.
	first := b.id(b.result(sleeper))
	s.await("the sleeper runs", func() bool {
		return strings.HasPrefix(b.result(b.ask("BLAH_JOB_STATUS", first)), "0 No Error 2")
	})
	if got := b.result(b.ask("BLAH_JOB_CANCEL", first)); got != "0 No error" {
		t.Errorf("cancel: %s", got)
	}
	s.must(os.WriteFile(filepath.Join(s.dir, "iwd-sleeper", "job.sh"), []byte("#!/bin/sh\necho anew\n"), 0o755))
	again := b.id(b.result(b.ask("BLAH_JOB_SUBMIT", ad(s.attrs("sleeper", "")))))
	if got := b.over(again); !strings.Contains(got, "ExitCode = 0;") || s.read("sleeper", "out") != "anew\n" {
		t.Errorf("anew: %s, %q", got, s.read("sleeper", "out"))
	}
	s.await("the first one is killed", func() bool {
		a, err := ask(s, wire.VerbList(), wire.ListRequest{List: &wire.List{All: true, Status: "aborted"}})
		return err == nil && len(a.Status) == 1
	})
	if got := b.result(b.ask("BLAH_PING", "jjm")); got != "0 No error" {
		t.Errorf("ping: %s", got)
	}
}

// A real grid-universe job, with HTCondor's schedd, grid manager and blahpd.
func TestCondor_AGridUniverseJob(t *testing.T) {
	needs.Campaign(t, needs.Gatekeepers)
	t.Parallel()
	bed := testbed.Start(t, "condor")
	s := newSite(t, local, "")
	s.give(bed.Owner)
	s.install(bed)
	s.start()
	dir := filepath.Join(s.dir, "iwd")
	s.must(os.Mkdir(dir, 0o755))
	s.must(os.WriteFile(dir+"/job.sh",
		[]byte("#!/bin/sh\necho \"$1 and $WORD\"; echo r > result.txt; [ \"$1\" != sleep ] || sleep 1000; exit 3\n"), 0o755))
	s.must(os.Chown(dir, bed.Owner.UID, bed.Owner.GID))
	s.must(os.WriteFile(dir+"/job.sub", []byte(`universe = grid
grid_resource = batch jjm
executable = job.sh
arguments = $(word)
environment = "WORD=true"
output = out.$(word)
error = err.$(word)
log = log
transfer_output_files = result.txt
transfer_output_remaps = "result.txt=result.$(word)"
should_transfer_files = YES
queue word in (fine, sleep)
`), 0o644))
	condor := func(name string, args ...string) string {
		cmd := exec.Command(filepath.Join(bed.Bin, name), args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	out := condor("condor_submit", "-terse", "job.sub")
	cluster, _, _ := strings.Cut(out, ".")
	t.Cleanup(func() { _ = exec.Command(filepath.Join(bed.Bin, "condor_rm"), cluster, "-forcex").Run() })
	ended := func(proc string) string {
		return condor("condor_history", cluster+"."+proc, "-limit", "1", "-af", "JobStatus", "ExitCode", "GridJobStatus")
	}
	state := func(proc string) string {
		return condor("condor_q", cluster+"."+proc, "-af", "JobStatus", "HoldReason")
	}
	s.await("the first one is over", func() bool {
		if st := state("0"); strings.HasPrefix(st, "5") {
			t.Fatalf("held: %s", st)
		}
		return strings.HasPrefix(ended("0"), "4 3")
	})
	for name, want := range map[string]string{"out.fine": "fine and true\n", "err.fine": "", "result.fine": "r\n"} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s holds %q, %v; want %q", name, got, err, want)
		}
	}
	s.await("the second one runs", func() bool { return strings.HasPrefix(state("1"), "2") })
	s.end(syscall.SIGTERM) // a cancel while the daemon is away
	condor("condor_rm", cluster+".1")
	s.await("it has left the queue", func() bool { return state("1") == "" })
	s.start()
	s.await("its grid job is killed", func() bool {
		a, err := ask(s, wire.VerbList(), wire.ListRequest{List: &wire.List{All: true, Status: "aborted"}})
		return err == nil && len(a.Status) == 1
	})
	if a, err := ask(s, wire.VerbList(), wire.ListRequest{List: &wire.List{All: true}}); err != nil || len(a.Status) != 2 {
		t.Errorf("%d grid jobs, %v; want 2", len(a.Status), err)
	}
}

var gridManager sync.Mutex

// install makes the bed's grid manager use jjm until the test ends. The grid manager reads its configuration when it
// starts.
func (s *site) install(bed *testbed.Bed) {
	s.t.Helper()
	gridManager.Lock() // the bed has one account and so one grid manager
	s.t.Cleanup(gridManager.Unlock)
	root := filepath.Join(filepath.Dir(bed.Bin), "root")
	dir := filepath.Join(root, "etc", "jjm-blahp") // this is /etc/jjm-blahp in the bed's chroot
	s.must(os.RemoveAll(dir))
	s.must(os.Mkdir(dir, 0o755))
	found, err := filepath.Glob("../../scripts/blahp/*.sh")
	s.must(err)
	for _, file := range append(found, bin.Path(s.t, "jjm-gatekeeper")) {
		text, err := os.ReadFile(file)
		s.must(err)
		s.must(os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o755))
	}
	s.must(os.WriteFile(dir+"/blah.config",
		fmt.Appendf(nil, "supported_lrms=jjm\nblah_libexec_directory=/etc/jjm-blahp\njjm_state=%q\n", s.state), 0o644))
	s.must(os.WriteFile(dir+"/blahpd",
		[]byte("#!/bin/sh\nBLAHPD_CONFIG_LOCATION=/etc/jjm-blahp/blah.config exec /usr/bin/blahpd \"$@\"\n"), 0o755))
	conf := filepath.Join(root, "etc/condor/config.d/90-jjm-blahp.conf")
	s.must(os.WriteFile(conf, []byte(
		"BATCH_GAHP = /etc/jjm-blahp/blahpd\nGRIDMANAGER_JOB_PROBE_INTERVAL = 2\nGRIDMANAGER_EMPTY_RESOURCE_DELAY = 1\nGRIDMANAGER_CHECKPROXY_INTERVAL = 2\n"), 0o644))
	s.t.Cleanup(func() { _ = os.Remove(conf); _ = os.RemoveAll(dir) })
}
