package cover

import (
	"fmt"
	"math"

	"jjm/internal/jjm"
)

// Unbounded is the last event of a file of unknown length. A local job owns such a file as a whole, as 0..Unbounded.
const Unbounded = math.MaxInt64

// Facts describe the work of a step and its progress.
type Facts struct {
	// Unit is the unit of the step's parts: jjm.UnitEvent and so on.
	Unit string
	// Spans are the events or rows to be processed, ascending and not adjacent. For a step that reads files Spans is
	// empty; the stream of files has the work.
	Spans []jjm.Span
	// Made is the number of local jobs that exist: 0..Made-1.
	Made int
	// Closed means that the cutting has ended, so that units without an owner will never get one. Over means that the grid
	// job has ended, so that failed local jobs are not tried again.
	Closed, Over bool
	// LeavesOut returns the reason why the settings of the splitter leave out unit first of a file, "" if they do not.
	// until is the last unit, at most last, with the same result. Units that no local job ever owned count as left out if
	// there is a reason, and otherwise as missing. If LeavesOut is nil, the settings leave out nothing.
	LeavesOut func(run uint32, first, last int64) (until int64, reason jjm.LeftReason)
	// Once means that a section that is in several files must be processed only once, from any of these files
	// (applyLumiCorrection).
	Once bool
	// Keep is the maximum number of findings of each kind in the report; 0 means 1000.
	Keep int
	// Recoveries has an entry for each recovery, ascending: the number of the recovery's first local job when its local
	// jobs are appended to the grid job's. If there is a recovery, failed local jobs own nothing.
	Recoveries []int32
	// Retracted are the local jobs whose completion was withdrawn, with the reason. In the stream they are failed.
	Retracted map[int32]string
}

// Job is a local job. The stream of jobs has each local job once, in any order.
type Job struct {
	N     int32
	State jjm.State
	// Forced is set if a person forced the local job to completed. That proves nothing, so State is failed.
	Forced bool
	// Other is set if the local job belongs to another step. Its other fields are then ignored.
	Other bool
	// Count is the number of units of the local job's part (jjm.Part.Count).
	Count int64
	// Events is the number of events in the files of the part, for parts of whole files and of ranges of events
	// (EventsOf); 0 if unknown.
	Events int64
	// Processed is the count that the application of the accepted attempt reports, nil if the application reports no
	// count.
	Processed *jjm.Processed
	// Merged is set if the local job's outputs are in a merged file, together with outputs of other local jobs.
	Merged bool
	// Exit is the exit code of the local job's command. A completed local job may have a code other than 0 if its job type
	// declares this code to be good.
	Exit int
}

// File is a file of the master dataset. The stream of files ascends by N.
type File struct {
	N     int64
	LFN   string
	State jjm.FileState
	// Events and Lumis describe the file's content. A file with 0 events has unknown length.
	Events int64
	Lumis  []jjm.LumiRange
	// GivenUp is the reason why the whole file was given up, "" if it was not given up. The unowned units of a file that
	// was given up are missing, never left out.
	GivenUp string
	// PassedOver is the reason why the splitter left the whole file out, "" if it did not. Reason is the same reason in
	// one word. Asked is set if the job file asks to leave such files out.
	PassedOver string
	Reason     jjm.LeftReason
	Asked      bool
	// merged is the work of all files together, set only by oneFile.
	merged []want
}

// Row is a row of the ledger: units First..Last, both included, of a file and run. The stream
// of rows ascends by file, run and first. Events and rows of steps without files have file 0
// and run 0. A whole file is unit 0..0 of its file.
type Row struct {
	File        int64
	Run         uint32
	First, Last int64
	Local       int32
	// Released is set if the local job has given the units back.
	Released bool
}

// Kind is the kind of a finding.
type Kind string

// The kinds; the package comment explains them.
const (
	Missing     Kind = "missing"
	Overlap     Kind = "overlap"
	Doubled     Kind = "doubled"
	Unaccounted Kind = "unaccounted"
	Short       Kind = "short"
)

// Finding is one deviation from the rule that each unit is processed exactly once.
type Finding struct {
	Kind Kind `json:"kind"`
	// File and LFN are the number and the name of the file, for steps that read files.
	File int64  `json:"file,omitempty"`
	LFN  string `json:"lfn,omitempty"`
	// Run, First and Last are the units that the finding concerns; First and Last are included. If First is greater than
	// Last, the finding is about a whole local job.
	Run   uint32 `json:"run,omitempty"`
	First int64  `json:"first"`
	Last  int64  `json:"last"`
	// Locals are the local jobs that the finding concerns. Others are concerned local jobs of other grid jobs, such as
	// "18.3".
	Locals []int32  `json:"locals,omitempty"`
	Others []string `json:"others,omitempty"`
	// Why describes the finding for people.
	Why string `json:"why"`
}

// Units returns the number of units that the finding concerns. A file of unknown length counts as one unit; a finding
// about a whole local job counts as no unit.
func (f *Finding) Units() int64 { return units(f.First, f.Last) }

func units(first, last int64) int64 {
	switch {
	case last < first:
		return 0
	case last == Unbounded:
		return 1
	}
	return last - first + 1
}

// Verdict is the result of a verification in one word.
type Verdict string

// The verdicts.
const (
	Proven      Verdict = "proven"
	Gap         Verdict = "gap"
	Overlapping Verdict = "overlap"
	Undecidable Verdict = "undecidable"
)

// Exit returns the exit code of "jjm verify": 0 proven, 1 gap, 2 overlap, 3 undecidable.
func (v Verdict) Exit() int {
	switch v {
	case Proven:
		return 0
	case Gap:
		return 1
	case Overlapping:
		return 2
	}
	return 3
}

// Report is the result of Verify. Numbers count units unless their comment says otherwise.
type Report struct {
	Verdict Verdict `json:"verdict"`
	// Why is the reason of the verdict.
	Why  string `json:"why"`
	Unit string `json:"unit"`
	// Proof is the kind of evidence on which the verdict Proven rests.
	Proof jjm.Proof `json:"proof,omitempty"`
	// Expected is the work to be processed, without left-out units and dropped files.
	Expected int64 `json:"expected"`
	// Proven are the units of completed local jobs that report a count, without the units in Short. Assumed are the
	// units of completed local jobs that report no count.
	Proven  int64 `json:"proven"`
	Assumed int64 `json:"assumed"`
	Missing int64 `json:"missing"`
	Pending int64 `json:"pending"`
	LeftOut int64 `json:"left_out,omitempty"`
	// Overlap and Doubled count a unit once for each owner except the first.
	Overlap int64 `json:"overlap"`
	Doubled int64 `json:"doubled"`
	// Short is the number of units that local jobs owned but their applications did not process. Over is the number of
	// units that applications processed in excess of the units that their local jobs owned.
	Short int64 `json:"short,omitempty"`
	Over  int64 `json:"over,omitempty"`
	// Jobs, Completed, Silent, ByExit, ByType and Disagree count local jobs. Disagree counts local jobs that contradict
	// the ledger. Files counts the files to be processed, Dropped the files that the splitter dropped.
	Jobs      int64 `json:"jobs"`
	Completed int64 `json:"completed"`
	Silent    int64 `json:"silent"` // completed local jobs without a count
	// ByExit and ByType count completed local jobs of rows without a count. Each command has one row, so the end of the
	// command proves that the row was processed. The commands of ByExit ended with exit code 0, the commands of ByType
	// with another code that their job type declares to be good.
	ByExit   int64 `json:"by_exit,omitempty"`
	ByType   int64 `json:"by_type,omitempty"`
	Files    int64 `json:"files,omitempty"`
	Dropped  int64 `json:"dropped,omitempty"`
	Disagree int64 `json:"disagree,omitempty"`
	// Findings are the first Facts.Keep findings of each kind.
	Findings []Finding `json:"findings,omitempty"`
	// Left lists the units and files that were left out, by reason; the engine adds outputs. A grid job is not done if it
	// left out anything without a request of its job file.
	Left jjm.LeftList `json:"left,omitempty"`
	// LeavesOut has the reasons of Left as a text, for clients that do not know Left.
	LeavesOut string `json:"leaves_out,omitempty"`
	// Recovered has an entry for each of [Facts.Recoveries]: how many of the proven and assumed units the recovery
	// processed.
	Recovered []int64 `json:"recovered,omitempty"`
}

// Whole reports whether no unit is missing, doubled, contradictory or pending. A grid job whose report is not whole
// must not become done.
func (r *Report) Whole() bool {
	return r.Missing == 0 && r.Pending == 0 && r.Overlap == 0 && r.Doubled == 0 && r.Short == 0 && r.Over == 0 &&
		r.Disagree == 0
}

// conclude sets the verdict: the first case that applies is the worst.
func (r *Report) conclude() {
	say := func(v Verdict, format string, args ...any) { r.Verdict, r.Why = v, fmt.Sprintf(format, args...) }
	word := func(n int64) string { return count(n, r.Unit) }
	r.LeavesOut = r.Left.Reasons()
	r.Proven -= min(r.Short, r.Proven) // the short units are not known one by one, so they were counted as proven
	switch {
	case r.Overlap > 0:
		say(Overlapping, "%s owned twice", word(r.Overlap))
	case r.Doubled > 0:
		say(Overlapping, "%s processed twice", word(r.Doubled))
	case r.Over > 0:
		say(Overlapping, "%s processed beyond what the local jobs own", word(r.Over))
	case r.Missing > 0:
		say(Gap, "%s missing", word(r.Missing))
	case r.Short > 0:
		say(Gap, "%s less processed than the local jobs own", word(r.Short))
	case r.Disagree > 0:
		say(Undecidable, "%s with the ledger",
			map[bool]string{true: "1 local job does not agree",
				false: fmt.Sprintf("%d local jobs do not agree", r.Disagree)}[r.Disagree == 1])
	case r.Pending > 0:
		say(Undecidable, "%s not done yet", word(r.Pending))
	case r.Dropped > 0 && r.Expected == 0 && r.LeftOut == 0:
		say(Undecidable, "nothing was done: %s passed over", jjm.Count(r.Dropped, "file"))
	case r.Silent > 0:
		say(Undecidable, "%s assumed to be processed: %d of %s without a count", word(r.Assumed), r.Silent,
			jjm.Count(r.Completed, "local job"))
	case r.ByType > 0:
		r.Proof = jjm.ProofType
		say(Proven, "%s done exactly once: %s", word(r.Expected), r.Proof.Text())
	case r.ByExit > 0:
		r.Proof = jjm.ProofExit
		say(Proven, "%s done exactly once: %s", word(r.Expected), r.Proof.Text())
	default:
		r.Proof = jjm.ProofCount
		say(Proven, "%s processed exactly once", word(r.Expected))
	}
}

// count formats a number of units for people.
func count(n int64, unit string) string { return jjm.Count(n, noun(unit)) }

// noun returns the word for one unit.
func noun(unit string) string {
	switch unit {
	case jjm.UnitRange:
		return "event"
	case jjm.UnitLumi:
		return "section"
	}
	return unit
}
