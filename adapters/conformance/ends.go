package conformance

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"jjm"
	"jjm/adapters"
)

func endChecks() []Check {
	return []Check{
		{Name: "every exit code comes back", Bearable: true, test: (*suite).exitCodes,
			Proves: "jobs that exit with 0 to 255 are reported OK or FAILED with just that code"},
		{Name: "signals are told from exit codes", Bearable: true, test: (*suite).signals,
			Proves: "jobs that die of TERM, KILL and SEGV are reported FAILED with the signal"},
		{Name: "jobs under a second are not missed", Bearable: true, test: (*suite).short,
			Proves: "the end, the code and the times of jobs that are over before anybody looks"},
		{Name: "the walltime limit is enforced", lacks: noWalltime, test: (*suite).walltime,
			Proves: "a job over its limit is ended, not before the limit, and reported TIMEOUT"},
		{Name: "the memory limit is enforced", lacks: noMemory, test: (*suite).memory,
			Proves: "a job over its limit is ended and reported OOM, or with a reason that speaks of memory"},
		{Name: "the log has what jobs print", Bearable: true, files: true, test: (*suite).log,
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
	parts := slices.Collect(slices.Chunk(codes, s.fit(256)))
	bulks := make([]adapters.Bulk, len(parts))
	for i, part := range parts {
		bulks[i] = s.shell(len(part), `shift "$JJM_INDEX"; exit "$1"`,
			strings.Fields(strings.Trim(fmt.Sprint(part), "[]"))...)
		s.submit(bulks[i])
	}
	for i, part := range parts {
		for index, r := range s.wait(bulks[i]) {
			if problem := wrongExit(r, part[index]); problem != "" {
				s.Errorf("exit %d: %s: %+v", part[index], problem, r)
			}
		}
	}
}

// wrongExit says what is wrong with the report of a job that exited. Codes
// above 128 may be told as signals too, as shells do.
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
	b := s.shell(3, `shift "$JJM_INDEX"; ulimit -c 0; kill -"$1" $$; sleep 5; exit 0`, names...)
	s.submit(b)
	for i, r := range s.wait(b) {
		if r.State != jjm.BatchEndedFailed || r.Signal != numbers[i] {
			s.Errorf("killed by %s: %+v", names[i], r)
		}
	}
}

func (s *suite) short() {
	for range 3 {
		b := s.shell(2, "exit 3")
		s.submit(b)
		for i, r := range s.wait(b) {
			if r.State != jjm.BatchEndedFailed || r.Exit != 3 || r.Started == 0 || r.Ended == 0 {
				s.Errorf("job %d: %+v", i, r)
			}
		}
	}
}

func noWalltime(s *suite) string { return unless(s.Walltime != 0, "the test knows no walltime limit") }

func (s *suite) walltime() {
	b := s.shell(1, fmt.Sprintf("sleep %d", int64(s.Walltime/time.Second)*3+60))
	b.Request.Walltime = jjm.Duration(s.Walltime)
	s.submit(b)
	s.Patience += 2 * s.Walltime
	r := s.wait(b)[0]
	if r.State != jjm.BatchTimeout {
		s.Errorf("%+v", r)
	}
	if took := r.Ended.Sub(r.Started); took < s.Walltime-time.Second {
		s.Errorf("it ended after %v of %v", took, s.Walltime)
	}
}

func noMemory(s *suite) string { return unless(s.MemoryMB != 0, "the test knows no memory limit") }

func (s *suite) memory() {
	// tail keeps all of it, for half a minute or until it is killed.
	script := fmt.Sprintf(
		`{ head -c %[1]d /dev/zero; i=0; while [ $i -lt 60 ] && echo; do sleep 0.5; i=$((i+1)); done; } | tail -c %[1]d >/dev/null`,
		4*s.MemoryMB<<20)
	b := s.shell(1, script)
	b.Request.MemoryMB = s.MemoryMB
	s.submit(b)
	if r := s.wait(b)[0]; !outOfMemory(r, s.NoOOM) {
		s.Errorf("%+v", r)
	}
}

// outOfMemory reports whether a report tells of a kill for memory.
func outOfMemory(r jjm.Report, noOOM bool) bool {
	if r.State == jjm.BatchOOM {
		return true
	}
	failed := r.State == jjm.BatchEndedFailed || r.State == jjm.BatchAborted
	return noOOM && failed && strings.Contains(strings.ToLower(r.Reason), "mem")
}

func (s *suite) log() {
	b := s.shell(2, `echo "out $JJM_INDEX"; echo "err $JJM_INDEX" >&2`)
	b.Log = s.path("the log")
	s.submit(b)
	s.wait(b)
	var text []byte
	for end := time.Now().Add(s.Patience); time.Now().Before(end); s.pause() {
		text, _ = os.ReadFile(b.Log)
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		slices.Sort(lines)
		if slices.Equal(lines, []string{"err 0", "err 1", "out 0", "out 1"}) {
			return
		}
	}
	s.Errorf("the log holds %q", text)
}
