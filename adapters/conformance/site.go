package conformance

import (
	"cmp"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"jjm/internal/jjm"
)

// Site holds what only the checks of a site need. The first of these checks sends one job to a worker; the other checks
// judge the report of that job.
type Site struct {
	// Wrapper is the path of the jjm-wrapper program on this machine.
	Wrapper string
	// Kind is the batch system of the cluster, such as "condor". Description is the path of the file that describes a
	// cluster of kind "command"; "" for other kinds.
	Kind, Description string

	seen    *workerReport // report of the job about its worker
	started atomic.Bool   // whether any check has seen a job run
	noBulks atomic.Bool   // whether a bulk of two jobs was not accepted or not listed
}

// workerReport is the report of a job about its worker.
type workerReport struct {
	host, user, hello string
	uid, gid          int
	wrapper           string    // exit code of "jjm-wrapper --help" and its error output
	clock             int64     // Unix time on the worker in seconds
	asked, told       time.Time // this machine's clock before and after the worker read its own
}

func siteChecks() []Check {
	return []Check{
		{Name: "a worker sees the work area, both ways", Site: true, files: true, test: (*suite).visit,
			Proves: "a real job reads under the same path what the daemon wrote, and the daemon what the job wrote; the round trip is timed",
			Remedy: "mount the work folder on every worker under the same path, writable for the account, and set work to it",
			kinds:  map[string]string{"condor": "or set shared_fs = false, and HTCondor carries the files"}},
		{Name: "the wrapper can be executed there", Site: true, files: true, test: visited((*suite).wrapperRuns),
			Proves: "jjm-wrapper, copied to the work area, runs on the worker",
			Remedy: "mount the work area without noexec on the workers, and install the jjm-wrapper of their architecture"},
		{Name: "jobs run as the right account", Site: true, files: true, test: visited((*suite).account),
			Proves: "user id, group id and user name on the worker are the daemon's",
			Remedy: "give the account the same uid, gid and name on all machines: the same directory service, no NFS id mapping or squashing"},
		{Name: "the clocks agree", Site: true, files: true, test: visited((*suite).clocks),
			Proves: "the worker's clock is less than 5 s off this machine's",
			Remedy: "run NTP (chrony) on the workers and on this machine"},
	}
}

// worker is the script of the job: it writes facts about its environment, waits for an answer, and writes the worker's
// time.
const worker = `{ echo "host $(hostname 2>/dev/null || uname -n)"
echo "uid $(id -u)"
echo "gid $(id -g)"
echo "user $(id -un)"
echo "hello $(cat hello)"
text=$(./jjm-wrapper --help 2>&1 >/dev/null); code=$?
echo "wrapper $code" $text
} > worker.new 2>/dev/null && mv worker.new worker || exit 1
i=0
until [ -e answer ]; do i=$((i+1)); [ $i -gt 600 ] && exit 2; sleep 0.1 2>/dev/null || sleep 1; done
date +%s > got.new && mv got.new got`

func (s *suite) visit() {
	nonce := string(s.newTag())
	if err := os.WriteFile(s.path("hello"), []byte(nonce+"\n"), 0o644); err != nil {
		s.Fatalf("%v", err)
	}
	if err := copyProgram(s.Site.Wrapper, s.path("jjm-wrapper")); err != nil {
		s.Fatalf("copy the wrapper to the work area: %v", err)
	}
	b := s.shell(1, worker)
	s.submit(b)
	v := parseWorkerReport(s.file("worker"))
	v.asked = time.Now()
	s.write("answer")
	text := s.file("got")
	v.told = time.Now()
	v.clock, _ = strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	s.Site.seen = &v
	s.Logf("worker %s; a file here is seen there, and one from there is seen here, within %v",
		v.host, v.told.Sub(v.asked).Round(time.Millisecond))
	if v.hello != nonce {
		s.Errorf("the worker read %q where the daemon wrote %q", v.hello, nonce)
	}
	if r := s.wait(b)[0]; r.State != jjm.BatchEndedOK {
		s.Errorf("the job, a script of /bin/sh, did not end well: %+v", r)
	}
}

// parseWorkerReport parses the job's report: a name and a value on each line.
func parseWorkerReport(text string) workerReport {
	v := workerReport{uid: -1, gid: -1}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.Atoi(value)
		switch {
		case name == "host":
			v.host = value
		case name == "user":
			v.user = value
		case name == "hello":
			v.hello = value
		case name == "wrapper":
			v.wrapper = value
		case name == "uid" && err == nil:
			v.uid = n
		case name == "gid" && err == nil:
			v.gid = n
		}
	}
	return v
}

// copyProgram copies a program of some megabytes.
func copyProgram(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return writeProgram(to, string(text))
}

// visited wraps a test of the worker's report. The wrapped test counts as not tried if no worker has reported.
func visited(test func(*suite)) func(*suite) {
	return func(s *suite) {
		if s.Site.seen == nil {
			notTried(s, "no worker has reported what it sees: see the first check")
		}
		test(s)
	}
}

func (s *suite) wrapperRuns() {
	if v := *s.Site.seen; v.wrapper != "0" {
		s.Errorf("on %s jjm-wrapper --help ended with exit code and error %q", v.host, cmp.Or(v.wrapper, "none"))
	}
}

func (s *suite) account() {
	v := *s.Site.seen
	if v.uid != s.Owner.UID || v.gid != s.Owner.GID || v.user != s.Owner.User {
		s.Errorf("the job ran on %s as user %q with uid %d, gid %d; want %q, %d, %d",
			v.host, v.user, v.uid, v.gid, s.Owner.User, s.Owner.UID, s.Owner.GID)
	}
}

// maxSkew is the largest accepted difference of two clocks. NTP keeps clocks within milliseconds of each other; a clock
// that is seconds off has no NTP and will be minutes off later.
const maxSkew = 5 * time.Second

func (s *suite) clocks() {
	v := *s.Site.seen
	least, most := skew(v)
	s.Logf("%s is between %v and %v ahead", v.host, least, most)
	if least > maxSkew || most < -maxSkew {
		s.Errorf("the clock of %s is between %v and %v ahead of this one's; want at most %v", v.host, least, most, maxSkew)
	}
}

// skew returns the lower and upper bound of the time by which the worker's clock is ahead. The worker read its clock in
// whole seconds, between the times asked and told of this machine.
func skew(v workerReport) (least, most time.Duration) {
	there := time.Unix(v.clock, 0)
	return there.Sub(v.told).Round(time.Millisecond), there.Add(time.Second).Sub(v.asked).Round(time.Millisecond)
}
