package cover

import (
	"fmt"
	"math"

	"jjm"
)

// Unbounded is the last event of a file whose length is not known: it is owned as
// 0..Unbounded, as a whole.
const Unbounded = math.MaxInt64

// Facts are what a step had to do, and how far it is.
type Facts struct {
	// Unit is that of its parts: jjm.UnitEvent and so on.
	Unit string
	// Spans are the events or rows to do, in order and apart from one another.
	// Steps that read files have none: see File.
	Spans []jjm.Span
	// Made is how many local jobs there are: 0..Made-1.
	Made int
	// Closed says that the cutting is over: nobody will own what nobody owns.
	// Over says that the grid job is: what failed stays so.
	Closed, Over bool
	// LeavesOut names the settings of the splitter by which it leaves out units
	// of the files it cuts, such as "total_lumis = 100": what nobody ever owned
	// is then left out and not missing. "" = it leaves out nothing.
	LeavesOut string
	// Once says that a section that several files hold is to be processed once,
	// whichever of them its owner has it from (applyLumiCorrection).
	Once bool
	// Keep is how many findings of each kind the report keeps; 0 means 1000.
	Keep int
	// Recoveries are, ascending, the numbers of the first local jobs of other grid
	// jobs, which did what this one did not: they are counted as local jobs of it,
	// after its own. What failed is then nobody's.
	Recoveries []int32
	// Retracted are local jobs that had completed and do not count any more, with
	// the reason: they are given as failed.
	Retracted map[int32]string
}

// Job is a local job. Every one is given, in any order.
type Job struct {
	N     int32
	State jjm.State
	// Other says that it belongs to another step: only its number counts.
	Other bool
	// Count is the units of its part (jjm.Part.Count).
	Count int64
	// Events are those of its files, for parts of whole files; 0 = not known.
	Events int64
	// Processed is what the application of the accepted attempt says; nil = it
	// says nothing.
	Processed *jjm.Processed
	// Merged says that what it made is in a merged file, with what others made.
	Merged bool
}

// File is a file of the master dataset. They are given by number, ascending.
type File struct {
	N     int64
	LFN   string
	State jjm.FileState
	// Events and Lumis are the file's. A file without events has unknown length.
	Events int64
	Lumis  []jjm.LumiRange
	// GivenUp says why the file as a whole was given up, "" if it was not: what
	// nobody owns of it is missing then, and never left out.
	GivenUp string
	// merged is what is to be done of all files, where a section counts once.
	merged []want
}

// Row is a row of the ledger: units First..Last, both included, of a file and
// run. Rows are given by file, run, first, ascending. Events and rows of plain
// steps are of file 0 and run 0, and so are whole files 0..0 of their file.
type Row struct {
	File        int64
	Run         uint32
	First, Last int64
	Local       int32
	// Released says that the local job gave it back.
	Released bool
}

// Kind says what a finding is about.
type Kind string

// The kinds.
const (
	Missing     Kind = "missing"
	Overlap     Kind = "overlap"
	Doubled     Kind = "doubled"
	Unaccounted Kind = "unaccounted"
	Short       Kind = "short"
)

// Finding is one thing that is not as it must be.
type Finding struct {
	Kind Kind `json:"kind"`
	// File is the file's number and LFN its name, of steps that read files.
	File int64  `json:"file,omitempty"`
	LFN  string `json:"lfn,omitempty"`
	// Run, First and Last are the units, both included; none where the finding is
	// about a local job as a whole (First above Last).
	Run   uint32 `json:"run,omitempty"`
	First int64  `json:"first"`
	Last  int64  `json:"last"`
	// Locals are the local jobs that it is about, Others those of other grid jobs,
	// such as "18.3".
	Locals []int32  `json:"locals,omitempty"`
	Others []string `json:"others,omitempty"`
	// Why says it for people.
	Why string `json:"why"`
}

// Units is how many units it is about; a file of unknown length counts as one.
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

// Verdict is the answer in one word.
type Verdict string

// The verdicts.
const (
	Proven      Verdict = "proven"
	Gap         Verdict = "gap"
	Overlapping Verdict = "overlap"
	Undecidable Verdict = "undecidable"
)

// Exit is the exit code of "jjm verify" for a verdict.
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

// Report is what Verify found. Numbers are of units, but for those named
// otherwise.
type Report struct {
	Verdict Verdict `json:"verdict"`
	// Why says it in a sentence.
	Why  string `json:"why"`
	Unit string `json:"unit"`
	// Expected is what there was to do, less what is left out and dropped.
	Expected int64 `json:"expected"`
	// Proven and Assumed are owned by completed local jobs that say that they
	// processed it, or say nothing.
	Proven  int64 `json:"proven"`
	Assumed int64 `json:"assumed"`
	Missing int64 `json:"missing"`
	Pending int64 `json:"pending"`
	LeftOut int64 `json:"left_out,omitempty"`
	// Overlap and Doubled are units, counted once for each owner too many.
	Overlap int64 `json:"overlap"`
	Doubled int64 `json:"doubled"`
	// Short and Over are units that applications processed less, or more, than
	// their local jobs owned.
	Short int64 `json:"short,omitempty"`
	Over  int64 `json:"over,omitempty"`
	// Jobs and Completed are local jobs, Files those to do, Dropped those that
	// the splitter passed over, Disagree local jobs that contradict the ledger.
	Jobs      int64 `json:"jobs"`
	Completed int64 `json:"completed"`
	Silent    int64 `json:"silent"` // completed ones that report no count
	// ByExit are completed local jobs of rows that report no count: a row is one
	// command, which ended well, and each command is of one row.
	ByExit   int64 `json:"by_exit,omitempty"`
	Files    int64 `json:"files,omitempty"`
	Dropped  int64 `json:"dropped,omitempty"`
	Disagree int64 `json:"disagree,omitempty"`
	// Findings are the first of each kind.
	Findings []Finding `json:"findings,omitempty"`
	// Left names the settings that left something out.
	LeavesOut string `json:"leaves_out,omitempty"`
	// Recovered are the units, of those proven or assumed, that each of
	// [Facts.Recoveries] processed.
	Recovered []int64 `json:"recovered,omitempty"`
}

// Whole says that nothing is missing, doubled, contradicted or still to come. A
// grid job whose report is not whole must not be called done.
func (r *Report) Whole() bool {
	return r.Missing == 0 && r.Pending == 0 && r.Overlap == 0 && r.Doubled == 0 && r.Short == 0 && r.Over == 0 &&
		r.Disagree == 0
}

// conclude returns the verdict.
func (r *Report) conclude() {
	say := func(v Verdict, format string, args ...any) { r.Verdict, r.Why = v, fmt.Sprintf(format, args...) }
	word := func(n int64) string { return count(n, r.Unit) }
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
	case r.Silent > 0:
		say(Undecidable, "%s assumed to be processed: %d of %d local jobs report no count", word(r.Assumed), r.Silent,
			r.Completed)
	case r.ByExit > 0:
		say(Proven, "%s done exactly once, told by the exit of each row's command: nobody counted more", word(r.Expected))
	default:
		say(Proven, "%s processed exactly once", word(r.Expected))
	}
}

// count words a number of units.
func count(n int64, unit string) string {
	names := map[string][2]string{jjm.UnitRange: {"event", "events"}, jjm.UnitLumi: {"section", "sections"}}
	name, ok := names[unit]
	if !ok {
		name = [2]string{unit, unit + "s"}
	}
	if n == 1 {
		return "1 " + name[0]
	}
	return fmt.Sprintf("%d %s", n, name[1])
}
