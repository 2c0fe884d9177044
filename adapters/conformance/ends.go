package conformance

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"jjm/internal/jjm"
)

func endChecks() []Check {
	return []Check{
		{Name: "every exit code comes back", Bearable: true, lacks: unlisted("exit"), test: (*suite).exitCodes,
			Part:   "[list] (exit, exit_form), [states] and [[rule]]",
			Proves: "jobs that exit with 0 to 255 are reported OK or FAILED with exactly that code"},
		{Name: "signals are told from exit codes", Bearable: true, lacks: unlisted("signal"), test: (*suite).signals,
			Part:   "[list] (exit, exit_form, signal)",
			Proves: "jobs that die of TERM, KILL and SEGV are reported FAILED with the signal"},
		{Name: "jobs under a second are not missed", Bearable: true, test: (*suite).short,
			Part:   "[list], [account] and [times]",
			Proves: "end, exit code and times of jobs that end before anybody looks are reported"},
		{Name: "the walltime limit is enforced", lacks: noWalltime, test: (*suite).walltime,
			Proves: "a job over its limit is ended, not before the limit, and reported TIMEOUT"},
		{Name: "the memory limit is enforced", lacks: noMemory, test: (*suite).memory,
			Proves: "a job over its limit is ended and reported OOM, or with a reason that speaks of memory"},
		{Name: "the log has what jobs print", Bearable: true, files: true, test: (*suite).log,
			Part:   "[submit]",
			Proves: "standard output and error of all jobs of a bulk reach the file that the bulk names",
			Remedy: "see that the batch system can write to the work area from every worker"},
	}
}

func (s *suite) exitCodes() {
	codes := []int{0, 1, 42, 255}
	if s.AllExits {
		codes = codes[:0]
		for i := range 256 {
			codes = append(codes, i)
		}
	}
	codes = slices.DeleteFunc(codes, func(code int) bool { return slices.Contains(s.ReservedExits, code) })
	words := make([]string, len(codes))
	for i, code := range codes {
		words[i] = strconv.Itoa(code)
	}
	wrong := s.wrongExits(codes, words)
	if len(wrong) > 0 && len(wrong) <= max(1, len(codes)/100) {
		wrong = s.notBegun(wrong)
	}
	for code, is := range wrong {
		s.Errorf("a job that exited with %d is reported wrongly, %s", code, is)
	}
}

// wrongExits runs a job for each exit code. It returns the codes with wrong reports, and the fault of each report.
func (s *suite) wrongExits(codes []int, words []string) map[int]string {
	wrong := map[int]string{}
	for i, r := range s.each(`exit "$1"`, words...) {
		if problem := wrongExit(r, codes[i]); problem != "" {
			wrong[codes[i]] = problem + ": " + tell(r)
		}
	}
	return wrong
}

// notBegun repeats the jobs with wrong reports, because a node may have failed to begin them. The batch system then
// reports the cause of that failure instead of the exit code, as Slurm does with the error number of execve(2).
// notBegun returns the codes whose reports are wrong again. The caller allows at most one wrong report in a hundred.
func (s *suite) notBegun(wrong map[int]string) map[int]string {
	codes := slices.Sorted(maps.Keys(wrong))
	words := make([]string, len(codes))
	for i, code := range codes {
		words[i] = strconv.Itoa(code)
		s.Logf("a job that exits with %d is run again: %s", code, wrong[code])
	}
	return s.wrongExits(codes, words)
}

// wrongExit returns the fault in the report of a job that exited, "" if there is none. A code above 128 may also be
// reported as a signal, which is the convention of shells.
func wrongExit(r jjm.Report, code int) string {
	state := jjm.BatchEndedFailed
	if code == 0 {
		state = jjm.BatchEndedOK
	}
	switch {
	case r.State != state:
		return "want state " + state.String()
	case r.Exit != code:
		return "wrong exit code"
	case r.Signal != 0 && r.Signal != code-128:
		return "no signal ended it"
	}
	return ""
}

func (s *suite) signals() {
	names, numbers := []string{"TERM", "KILL", "SEGV"}, []int{15, 9, 11}
	for i, r := range s.each(`ulimit -c 0; kill -"$1" $$; sleep 5; exit 0`, names...) {
		if r.State != jjm.BatchEndedFailed || r.Signal != numbers[i] {
			s.Errorf("a job that was killed by %s is reported wrongly, want FAILED and signal %d: %+v", names[i], numbers[i], r)
		}
	}
}

func (s *suite) short() {
	for range 3 {
		b := s.shell(s.fit(2), "exit 3")
		s.submit(b)
		for i, r := range s.wait(b) {
			if (r.State != jjm.BatchEndedFailed || r.Exit != 3) && s.lists("exit") ||
				r.Started == 0 && s.lists("started") || r.Ended == 0 && s.lists("ended") {
				s.Errorf("job %d exited with 3 at once, want FAILED with its times: %+v", i, r)
			}
		}
	}
}

func noWalltime(s *suite) string { return unless(s.Walltime != 0, "the test names no walltime limit") }

func (s *suite) walltime() {
	b := s.shell(1, fmt.Sprintf("sleep %d", int64(s.Walltime/time.Second)*3+60))
	b.Request.Walltime = jjm.Duration(s.Walltime)
	s.submit(b)
	s.Patience += 2 * s.Walltime
	r := s.wait(b)[0]
	if r.State != jjm.BatchTimeout {
		s.Errorf("over its limit, want TIMEOUT: %+v", r)
	}
	if took := r.Ended.Sub(r.Started); took < s.Walltime-time.Second {
		s.Errorf("it ended after %v of %v", took, s.Walltime)
	}
}

func noMemory(s *suite) string { return unless(s.MemoryMB != 0, "the test names no memory limit") }

func (s *suite) memory() {
	// tail stores all of its input in memory, for half a minute or until it is killed.
	script := fmt.Sprintf(
		`{ head -c %[1]d /dev/zero; i=0; while [ $i -lt 60 ] && echo; do sleep 0.5; i=$((i+1)); done; } | tail -c %[1]d >/dev/null`,
		4*s.MemoryMB<<20)
	b := s.shell(1, script)
	b.Request.MemoryMB = s.MemoryMB
	s.submit(b)
	if r := s.wait(b)[0]; !outOfMemory(r, s.NoOOM) {
		s.Errorf("over its limit of memory, want OOM or a reason that says so: %+v", r)
	}
}

// outOfMemory reports whether a job was killed for its use of memory, according to its report. If noOOM is set, a
// failed job whose reason mentions memory also counts.
func outOfMemory(r jjm.Report, noOOM bool) bool {
	if r.State == jjm.BatchOOM {
		return true
	}
	failed := r.State == jjm.BatchEndedFailed || r.State == jjm.BatchAborted
	return noOOM && failed && strings.Contains(strings.ToLower(r.Reason), "mem")
}

func (s *suite) log() {
	b := s.shell(s.fit(2), `echo "out $JJM_INDEX"; echo "err $JJM_INDEX" >&2`)
	b.Log = s.path("the log")
	var want []string
	for i := range b.N {
		want = append(want, fmt.Sprint("err ", i), fmt.Sprint("out ", i))
	}
	slices.Sort(want)
	s.submit(b)
	s.wait(b)
	var text []byte
	for end := time.Now().Add(s.Patience); time.Now().Before(end); s.pause() {
		text, _ = os.ReadFile(b.Log)
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		slices.Sort(lines)
		if slices.Equal(lines, want) {
			return
		}
	}
	s.Errorf("the log of the jobs contains %q; want the lines %q", text, strings.Join(want, ", "))
}
