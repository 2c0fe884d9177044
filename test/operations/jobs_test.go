package operations_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"jjm/internal/testkit/site"
)

// job is a grid job of the world.
type job struct {
	id       string
	owner    site.Person
	reads    bool // it reads a dataset, so that its work can be cut again; otherwise it generates events
	related  bool // it recovers another grid job, or another grid job recovers it
	recovers bool // it recovers another grid job
	removed  bool // its removal was accepted
}

// perJob is the number of events of a local job.
const perJob = 4

// application is the program of the local jobs. What it does follows from the seed, the part and the number of the
// attempt, so a failure may vanish when the local job runs again. The program adds a line to the ledger at its start
// and at its end, each with one write(2) to a file opened with O_APPEND.
const application = `#!/bin/sh
first=$1 events=$2
book() { echo "$JJM_JOBID $JJM_ATTEMPT $*" >>"$LEDGER"; }
book start
luck=$(( (SEED + first * 31 + events * 17 + JJM_ATTEMPT * 13) % 10 ))
case $luck in
0) book failed; exec "$GBS_LOG" FAILED "by design" ;;
1) book retry; exec "$GBS_LOG" RETRY again ;;
2) book held; exec "$GBS_LOG" HOLD "look at me" ;;
3) book exit; exit 9 ;;
4 | 5) sleep "$LONG" ;;
*) sleep 0.0$luck ;;
esac
echo "$first $events" >out.txt
"$GBS_LOG" INFO "processed=$events events"
book ok
exec "$GBS_LOG" SUCCEEDED out.txt
`

// text returns a job file that makes the given number of local jobs. long is the number of seconds that the slow local
// jobs take.
func (w *world) text(reads bool, locals int, long string) string {
	var b strings.Builder
	kind := "montecarlo"
	work := fmt.Sprintf("events = %d\nevents_per_job = %d\n", locals*perJob, perJob)
	if reads {
		kind = "reprocess"
		work = ""
		fmt.Fprintf(&b, "[[datasets]]\nname = \"raw\"\nfiles = [{lfn = \"/data/a.dat\", events = %d}]\n"+
			"[split]\nby = \"EventBased\"\nparams = {events_per_job = %d}\n", locals*perJob, perJob)
	}
	outputs := map[bool]string{true: "result = \"glf\"\noutputs = [\"out.txt\"]\n"}[reads]
	return fmt.Sprintf("type = %q\nname = \"ops\"\n%s%s[env]\nLEDGER = %q\nSEED = \"%d\"\nLONG = %q\n"+
		"[[inputs]]\npath = \"app.sh\"\nexecutable = true\n[params]\n"+
		"command = [\"app.sh\", \"{first_event}\", \"{events}\"]\n%s",
		kind, outputs, b.String(), w.ledger(), w.r.IntN(1000), long, work)
}

// submit submits a new grid job of an account. Its application has a unique line, so that no other grid job shares its
// package.
func (w *world) submit(p site.Person, reads bool, locals int, long string) *job {
	w.t.Helper()
	app := filepath.Join(w.Home(p), "app.sh")
	w.Must(os.WriteFile(app, []byte(application+"# "+strconv.Itoa(len(w.jobs))+"\n"), 0o755))
	w.Must(os.Chown(app, p.UID, p.GID))
	j := &job{id: w.Submit(p, w.text(reads, locals, long)), owner: p, reads: reads}
	w.jobs = append(w.jobs, j)
	return j
}

// run identifies an attempt for the application.
type run struct {
	local   string
	attempt int
}

// readLedger returns what the applications wrote about each attempt.
func (w *world) readLedger() map[run][]string {
	w.t.Helper()
	text, err := os.ReadFile(w.ledger())
	w.Must(err)
	runs := map[run][]string{}
	for line := range strings.Lines(string(text)) {
		var r run
		var what string
		if _, err := fmt.Sscanf(line, "%s %d %s\n", &r.local, &r.attempt, &what); err != nil {
			w.t.Fatalf("ledger line %q: %v", line, err)
		}
		runs[r] = append(runs[r], what)
	}
	return runs
}
