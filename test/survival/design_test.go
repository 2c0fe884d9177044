package survival_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"jjm/internal/jjm"
)

// perJob is the number of events of a local job; the last local job may have fewer.
const perJob = 3

// application is the program of the local jobs: app.sh FIRST EVENTS. Its behaviour depends on the number of the local
// job, which follows from its first event; see design.of. At each start and each end it adds a line "event attempt
// what" to the ledger. The ledger is a file outside of jjm, opened with O_APPEND, and each line is one write(2).
const application = `#!/bin/sh
first=$1 events=$2
attempt=$JJM_ATTEMPT
job=$(( (first - 1) / PER_JOB ))
book() { echo "$first $attempt $*" >>"$LEDGER"; }
report() { "$GBS_LOG" "$@"; }
book start
# Between 10 and 300 ms, of which a tenth of the jobs has most.
ms=$(( 10 + first * 7919 % 90 ))
[ $((job % 10)) -ne 9 ] || ms=$((ms + 200))
[ -z "$SECONDS_EACH" ] || ms=$((SECONDS_EACH * 1000))
[ $((job % 10)) -ne 9 ] || "$JJM_PROGRESS" simulate 1 "$events"
pause() { sleep $((ms / 1000)).$(printf %03d $((ms % 1000))); }
case $MIX:$((job % 10)) in
yes:5 | most:5) if [ "$attempt" = 0 ]; then pause; book retry; report RETRY again; exit 0; fi ;;
held:5) if [ "$attempt" = 0 ]; then pause; book held; report HOLD "look at me"; exit 0; fi ;;
yes:6) pause; book exit7; exit 7 ;;
yes:7 | most:7) pause; book failed; report FAILED "by design"; exit 0 ;;
yes:8 | most:8) sleep 600 || exit; book overslept; exit 0 ;;
hang:*) if [ "$attempt" = 0 ]; then sleep 600 || exit; exit 0; fi ;;
esac
pause
i=0
while [ $i -lt "$events" ]; do
	echo "event $((first + i))" || { book full; exit 3; }
	i=$((i + 1))
done >out.txt
[ $i -eq "$events" ] || exit 3 # there was no out.txt
book ok
[ "$REPORT" != glf ] || report SUCCEEDED out.txt
`

// design is a grid job whose end is known before it starts.
type design struct {
	jobs int
	// glf selects the type montecarlo, which reports by GBS log file. Otherwise it is script, which reports by its exit
	// code.
	glf bool
	// mix is the variable MIX of the application:
	//
	// 	""      all succeed
	// 	"yes"   all kinds of ends
	// 	"most"  the same without exit codes that are retried up to the limit
	// 	"hang"  first attempts hang
	// 	"held"  some ask for HOLD
	mix     string
	seconds int // duration of each local job, instead of some hundred ms
	request string
	key     string
	// refused is set if the job requests something that every batch system refuses.
	refused bool
	// killed is set if the grid job is killed as a whole, at any time.
	killed bool
	// loose is set if the fault may cost any number of attempts, for example a full disk.
	loose bool
	// auto is set if failed local jobs run again by themselves, up to five times each. This needs less than a quarter of
	// failed local jobs.
	auto bool
	// extra is how many more attempts each local job may need because of the fault, or because an administrator ends
	// attempts. The final states are the same.
	extra int32
}

// events returns the number of events of the grid job. It is one less than full local jobs would have, so that the last
// local job is shorter.
func (d design) events() int64 { return int64(d.jobs*perJob - 1) }

// text returns the job file.
func (d design) text(s *site) string {
	var b strings.Builder
	report, kind, command := "exit", "script", `["/bin/sh", "app.sh", "{first_event}", "{events}"]`
	if d.glf {
		report, kind, command = "glf", "montecarlo", `["app.sh", "{first_event}", "{events}"]`
	}
	fmt.Fprintf(&b, "type = %q\nname = \"survival\"\n", kind)
	if d.key != "" {
		fmt.Fprintf(&b, "key = %q\n", d.key)
	}
	if d.auto {
		fmt.Fprintf(&b, "auto_resubmit = true\n")
	}
	if !d.glf {
		fmt.Fprintf(&b, "outputs = [\"out.txt\"]\n")
	}
	if d.request != "" {
		fmt.Fprintf(&b, "[request]\n%s\n", d.request)
	}
	seconds := ""
	if d.seconds > 0 {
		seconds = strconv.Itoa(d.seconds)
	}
	fmt.Fprintf(&b, `[env]
LEDGER = %q
REPORT = %q
MIX = %q
PER_JOB = "%d"
SECONDS_EACH = %q
[[inputs]]
path = "app.sh"
executable = true
[params]
command = %s
events = %d
events_per_job = %d
`, s.ledgerOf(d), report, d.mix, perJob, seconds, command, d.events(), perJob)
	return b.String()
}

// want is the expected end of one local job: its possible states, and the number of its attempts.
type want struct {
	states   []jjm.State
	attempts int32 // the number of attempts; at most, if the local job is killed
}

// of returns the expected end of local job n.
func (d design) of(n int32) want {
	w := want{states: []jjm.State{jjm.Completed}, attempts: 1}
	switch kind := n % 10; {
	case d.refused:
		w = want{states: []jjm.State{jjm.Failed}}
	case d.mix == "hang":
		w.attempts = 2
	case !d.mixed() && (d.mix != "held" || kind != 5):
	case kind == 5:
		w.attempts = 2
	case kind == 6 && d.mix == "most":
	case kind == 6:
		w.states = []jjm.State{jjm.Failed}
		if d.glf {
			w.attempts = 2 // because of max_retry_early = 1
		}
	case kind == 7:
		w.states = []jjm.State{jjm.Failed}
	case kind == 8:
		w.states = []jjm.State{jjm.Killed}
	}
	if d.auto && w.states[0] == jjm.Failed {
		w.attempts += 5
	}
	if d.killed && !slices.Contains(w.states, jjm.Killed) {
		w.states = append(w.states, jjm.Killed)
	}
	return w
}

// mixed reports whether local jobs end in different ways.
func (d design) mixed() bool { return d.mix == "yes" || d.mix == "most" }

// sleepers returns the local jobs that run until they are killed.
func (d design) sleepers() []int32 {
	var ns []int32
	for n := int32(8); int(n) < d.jobs && d.mixed(); n += 10 {
		ns = append(ns, n)
	}
	return ns
}

// status returns the possible statuses of the grid job when it is over.
func (d design) status() []jjm.GridStatus {
	switch {
	case d.killed:
		return []jjm.GridStatus{jjm.Aborted}
	case d.refused:
		return []jjm.GridStatus{jjm.GridFailed}
	case d.mixed():
		return []jjm.GridStatus{jjm.Finished}
	}
	return []jjm.GridStatus{jjm.Done}
}
