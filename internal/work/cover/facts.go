package cover

import (
	"fmt"
	"math"

	"jjm/internal/jjm"
)

// Unbounded is the last event of a file of unknown length: a local job owns it whole, as
// 0..Unbounded.
const Unbounded = math.MaxInt64

// Facts describe the work of a step and its progress.
type Facts struct {
	// Unit is the unit of the step's parts: jjm.UnitEvent and so on.
	Unit string
	// Spans are the events or rows to do, ascending and not adjacent. A step that reads files
	// has none; its work is in the stream of files.
	Spans []jjm.Span
	// Made is the number of local jobs that exist: 0..Made-1.
	Made int
	// Closed says that cutting has ended, so that units without an owner never get one. Over
	// says that the grid job has ended, so that failed local jobs are not tried again.
	Closed, Over bool
	// LeavesOut returns why the settings of the splitter leave out unit first of a file, and the
	// last unit up to which the answer is the same, at most last. Units that no local job ever owned count
	// as left out if it returns a reason, else as missing. nil means that the settings leave out
	// nothing.
	LeavesOut func(run uint32, first, last int64) (until int64, reason jjm.LeftReason)
	// Once says that a section that is in several files must be processed once, from any of
	// them (applyLumiCorrection).
	Once bool
	// Keep is how many findings of each kind the report holds; 0 means 1000.
	Keep int
	// Recoveries has an entry for each recovery, ascending: the number that its first local job
	// gets when its local jobs are appended. With any, failed local jobs own nothing.
	Recoveries []int32
	// Retracted are local jobs whose completion was withdrawn, with the reason. The stream has
	// them as failed.
	Retracted map[int32]string
}

// Job is a local job. The stream of jobs has each one once, in any order.
type Job struct {
	N     int32
	State jjm.State
	// Forced says that a person forced the local job to completed. It proves nothing, so State is failed.
	Forced bool
	// Other says that the local job belongs to another step. Its other fields are ignored.
	Other bool
	// Count is the number of units of the local job's part (jjm.Part.Count).
	Count int64
	// Events is the number of events in its files, for parts of whole files and of ranges of
	// events (EventsOf); 0 if unknown.
	Events int64
	// Processed is the count that the application of the accepted attempt reports; nil if it reports
	// none.
	Processed *jjm.Processed
	// Merged says that the local job's outputs are in a merged file, together with outputs of other local jobs.
	Merged bool
	// Exit is the exit code of the local job's command. A completed local job may have a code other than 0 if its job
	// type declares that code to be good.
	Exit int
}

// File is a file of the master dataset. The stream of files ascends by N.
type File struct {
	N     int64
	LFN   string
	State jjm.FileState
	// Events and Lumis describe its content. A file with 0 events has unknown length.
	Events int64
	Lumis  []jjm.LumiRange
	// GivenUp is the reason why the whole file was given up, "" if it was not. Its unowned
	// units are then missing, never left out.
	GivenUp string
	// PassedOver is the reason why the splitter left the whole file out, "" if it did not. Reason is the same in one
	// word, and Asked says that the job file asks for it.
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
	// Released says that the local job has given the units back.
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

// Finding is one deviation from "done exactly once".
type Finding struct {
	Kind Kind `json:"kind"`
	// File and LFN are the number and the name of the file, for steps that read files.
	File int64  `json:"file,omitempty"`
	LFN  string `json:"lfn,omitempty"`
	// Run, First and Last are the units, both ends included. First is greater than Last for a
	// finding about a whole local job.
	Run   uint32 `json:"run,omitempty"`
	First int64  `json:"first"`
	Last  int64  `json:"last"`
	// Locals are the local jobs that the finding concerns, Others those of other grid jobs,
	// such as "18.3".
	Locals []int32  `json:"locals,omitempty"`
	Others []string `json:"others,omitempty"`
	// Why describes the finding for people.
	Why string `json:"why"`
}

// Units returns the number of units that the finding concerns. A file of unknown length counts
// as one, a finding about a whole local job as none.
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

// Verdict is the result in one word.
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
	// Expected is the work to do, without what is left out and without dropped files.
	Expected int64 `json:"expected"`
	// Proven are the units of completed local jobs that report a count, without the units in Short. Assumed are the
	// units of completed local jobs that report no count.
	Proven  int64 `json:"proven"`
	Assumed int64 `json:"assumed"`
	Missing int64 `json:"missing"`
	Pending int64 `json:"pending"`
	LeftOut int64 `json:"left_out,omitempty"`
	// Overlap and Doubled count a unit once for each owner beyond the first.
	Overlap int64 `json:"overlap"`
	Doubled int64 `json:"doubled"`
	// Short and Over are the units that applications processed less, or more, than their local
	// jobs owned.
	Short int64 `json:"short,omitempty"`
	Over  int64 `json:"over,omitempty"`
	// Jobs, Completed, Silent, ByExit, ByType and Disagree count local jobs, Files and Dropped count
	// files: those to do, and those that the splitter dropped. Disagree are local jobs that
	// contradict the ledger.
	Jobs      int64 `json:"jobs"`
	Completed int64 `json:"completed"`
	Silent    int64 `json:"silent"` // completed, without a count
	// ByExit and ByType are completed local jobs of rows without a count: each command has
	// one row, so its end proves the row done. The commands of ByExit ended with exit code 0,
	// those of ByType with another code that their job type declares to be good.
	ByExit   int64 `json:"by_exit,omitempty"`
	ByType   int64 `json:"by_type,omitempty"`
	Files    int64 `json:"files,omitempty"`
	Dropped  int64 `json:"dropped,omitempty"`
	Disagree int64 `json:"disagree,omitempty"`
	// Findings are the first Facts.Keep findings of each kind.
	Findings []Finding `json:"findings,omitempty"`
	// Left lists what was left out, units and files, by reason; the engine adds outputs. A grid job that left out
	// anything that its job file does not ask to leave out is not done.
	Left jjm.LeftList `json:"left,omitempty"`
	// LeavesOut has the reasons of Left, for clients that do not know Left.
	LeavesOut string `json:"leaves_out,omitempty"`
	// Recovered has an entry for each of [Facts.Recoveries]: how many of the proven and assumed
	// units it processed.
	Recovered []int64 `json:"recovered,omitempty"`
}

// Whole reports that nothing is missing, doubled, contradictory or pending. A grid job whose
// report is not whole must not become done.
func (r *Report) Whole() bool {
	return r.Missing == 0 && r.Pending == 0 && r.Overlap == 0 && r.Doubled == 0 && r.Short == 0 && r.Over == 0 &&
		r.Disagree == 0
}

// conclude sets the verdict: the first case that applies is the worst.
func (r *Report) conclude() {
	say := func(v Verdict, format string, args ...any) { r.Verdict, r.Why = v, fmt.Sprintf(format, args...) }
	word := func(n int64) string { return count(n, r.Unit) }
	r.LeavesOut = r.Left.Reasons()
	r.Proven -= min(r.Short, r.Proven) // it is unknown which units these are, so they were counted with the others
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
