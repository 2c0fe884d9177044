package jjm

import (
	"cmp"
)

// Claim is the content of the file by which a wrapper claims an attempt. The file is created atomically, and only its
// creator may run the attempt. Before the daemon gives up an attempt, it takes the claim itself, so that no wrapper
// starts the attempt later.
type Claim struct {
	// Holder is "wrapper" or "daemon".
	Holder string `json:"holder"`
	// Batch is the batch system's id of the holder's job. Restarts is the number of times that the batch system restarted
	// that job. Both come from the holder's environment.
	Batch    string `json:"batch,omitempty"`
	Restarts int    `json:"restarts,omitempty"`
	Host     string `json:"host"`
	// BootID is the kernel's boot id (random(4), /proc/sys/kernel/random/boot_id).
	BootID string `json:"boot_id,omitempty"`
	PID    int    `json:"pid"`
	// Nonce is a random word of the holder. A holder that reads its own nonce in the file has the claim, even if the
	// network file system lost the reply to the holder's create.
	Nonce string `json:"nonce"`
	Time  Time   `json:"time"`
}

// The holders of claims.
const (
	HolderWrapper = "wrapper"
	HolderDaemon  = "daemon"
)

// Result is the wrapper's report at the end of an attempt. It is one JSON file, which is renamed into its bulk's done
// folder when it is complete.
type Result struct {
	Version int    `json:"v"` // always 1
	Tag     Tag    `json:"tag"`
	Pos     int32  `json:"pos"`
	Grid    GridID `json:"grid"`
	Local   int32  `json:"local"`
	Attempt int32  `json:"attempt"`
	Claim   Claim  `json:"claim"`
	Started Time   `json:"started"`
	Ended   Time   `json:"ended"`
	// Exit is the application's exit code, 128+n for signal n. As in a shell, 126 means that the application could not be
	// executed, and 127 that it was not found.
	Exit   int `json:"exit"`
	Signal int `json:"signal,omitempty"`
	// WallMS, UserMS and SysMS are the elapsed, user and system time in milliseconds. RSSKB is the peak resident size of
	// the largest process in KiB (getrusage(2), RUSAGE_CHILDREN).
	WallMS int64 `json:"wall_ms"`
	UserMS int64 `json:"user_ms"`
	SysMS  int64 `json:"sys_ms"`
	RSSKB  int64 `json:"rss_kb"`
	// GLF is the text of the GBS log file, or its tail if it is long.
	GLF string `json:"glf"`
	// Outputs are the files collected. In the file of a result they may be in Listed instead.
	Outputs []Output `json:"outputs,omitempty"`
	// Listed describes the file beside the result that lists the outputs, nil if the result lists them itself.
	Listed *OutputList `json:"listed,omitempty"`
	// Unmet are the patterns of outputs for which no file was collected, at most MaxUnmet patterns.
	Unmet []Unmet `json:"unmet,omitempty"`
	// Processed is the amount of work that the application reports to have processed, nil if it reports none.
	Processed *Processed `json:"processed,omitempty"`
	// Phases are the phases of the application in the order in which they started.
	Phases []AppPhase `json:"phases,omitempty"`
	// Fragment is the XML text that the application added to the record of its local job.
	Fragment string `json:"fragment,omitempty"`
	// Opinion is the answer of the job type's command that judges attempts on the worker, nil if the type has no such
	// command.
	Opinion *Opinion `json:"opinion,omitempty"`
	// Gone are the missing or changed files of other local jobs that the attempt needed. If there are such files, the
	// application was not started.
	Gone []GoneFile `json:"gone,omitempty"`
	// Error is the error that kept the wrapper from doing its work: a full disk, a lost file system, an application that
	// could not be started. "" means that there was no such error.
	Error string `json:"error,omitempty"`
}

// GoneFile is a missing or changed file that an attempt needed.
type GoneFile struct {
	// Link is the name under which the attempt would have found the file.
	Link string `json:"link"`
	// Why is the reason, for people.
	Why string `json:"why"`
}

// Output is one file to be collected: its path below the attempt's directory, with its size and checksum. If the file
// was not collected, Absent is the reason.
type Output struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256,omitempty"`
	Absent string `json:"absent,omitempty"`
	// Left is why an existing file was left out, "" if it was not. Optional is true if the job file does not require the
	// file.
	Left     LeftReason `json:"left,omitempty"`
	Optional bool       `json:"optional,omitempty"`
	// Files is the number of files for which this entry stands, if it stands for several.
	Files int64 `json:"files,omitempty"`
}

// OutputList describes a file that lists outputs.
type OutputList struct {
	Outputs int    `json:"outputs"`
	Bytes   int64  `json:"bytes"`
	SHA256  string `json:"sha256"`
}

// Unmet is a pattern of outputs, as written in the job file or the job type, for which no file was collected. Why is
// the reason.
type Unmet struct {
	Pattern string `json:"pattern"`
	Why     string `json:"why"`
	// Required is true if the local job must leave a file for the pattern.
	Required bool `json:"required,omitempty"`
	// Left is why a matching file was left out, "" if no file was left out.
	Left LeftReason `json:"left,omitempty"`
	// Patterns is the number of patterns for which this entry stands, if it stands for several.
	Patterns int64 `json:"patterns,omitempty"`
}

// MaxUnmet is the greatest number of unmet patterns in a result, the required patterns first. The last entry may stand
// for all further patterns.
const MaxUnmet = 50

// Processed is the amount of work that an application reports as processed, in a record "INFO processed=250" or "INFO
// processed=250 events" of its log file.
type Processed struct {
	Count int64 `json:"count"`
	// Unit is the unit that was counted: events, files, sections or rows; "" is the unit
	// of the part.
	Unit string `json:"unit,omitempty"`
}

// AttemptID returns the id of the attempt that the result is about.
func (r *Result) AttemptID() AttemptID {
	return AttemptID{LocalID: LocalID{Grid: r.Grid, N: r.Local}, Attempt: r.Attempt}
}

// Evidence is all that is known about an attempt. Package analyse turns the evidence of
// an ended attempt into a verdict.
type Evidence struct {
	// Batch is the batch system's last report. Its State is BatchUnknown if the job was
	// never listed, or is proven absent.
	Batch Report `json:"batch,omitzero"`
	// Result is the wrapper's report, or nil.
	Result *Result `json:"result,omitempty"`
	// GLF is the text of the GBS log file in the attempt's directory. It is read only if there is no result. HasGLF
	// distinguishes an empty log file from a missing log file.
	GLF    string `json:"glf,omitempty"`
	HasGLF bool   `json:"has_glf,omitempty"`
	// Claim is the attempt's claim, or nil.
	Claim *Claim `json:"claim,omitempty"`
}

// OwnHost returns the name that the host of the wrapper has for itself, "" if no wrapper left it. The batch system may
// have another name for the host.
func (ev *Evidence) OwnHost() string {
	own := ""
	if ev.Result != nil {
		own = ev.Result.Claim.Host
	}
	if own == "" && ev.Claim != nil && ev.Claim.Holder != HolderDaemon {
		own = ev.Claim.Host
	}
	return own
}

// Opinion is a job type's decision about an attempt whose application ran to its end.
type Opinion struct {
	// Action is Complete, Retry, Hold or Fail.
	Action Action `json:"action"`
	// Text is the reason, for people.
	Text string `json:"text"`
	// RetryArgs replace the retry arguments of the local job if Action is Retry; nil keeps
	// them.
	RetryArgs []string `json:"retry_args,omitempty"`
}

// Verdict is the decision of package analyse about an attempt, from its evidence.
type Verdict struct {
	// Level names the source that decided:
	//
	//	GANGA, GRID, BATCH, WORKER, APPLICATION, USER   the table of GBS
	//	EXIT     the exit code, for result = exit
	//	TYPE     the job type's opinion
	//	INTENT   a cancel that jjm itself had ordered
	Level string `json:"level"`
	// Class is the retry counter that the failure counts against: EARLY, LATE_HANDLED,
	// LATE_UNHANDLED, or "" for none.
	Class string `json:"class,omitempty"`
	// Action is what happens to the local job: it completes, fails, is killed, held or tried again.
	Action Action `json:"action"`
	// Phase is the phase of the local job if it fails, is killed or is held.
	Phase Phase `json:"phase,omitempty"`
	// Text is the diagnostic, the limit or the reason, for people.
	Text string `json:"text,omitempty"`
	// RetryArgs and Counters are the local job's new retry arguments and counters.
	RetryArgs []string `json:"retry_args,omitempty"`
	Counters  Counters `json:"counters"`
	// Handled is true if the application itself asked for the retry.
	Handled bool `json:"handled,omitempty"`
	// Rule is the name of the rule that decided. Limited is the name of the rule that forbade the retry which Rule
	// had decided.
	Rule    string `json:"rule,omitempty"`
	Limited string `json:"limited,omitempty"`
	// StepUps are the changes for further attempts that rules ordered, such as more memory. They are only recorded.
	StepUps []StepUp `json:"step_ups,omitempty"`
	// Attention is the name of the rule that asks a person to look at the local job.
	Attention string `json:"attention,omitempty"`
	// LogOnly are the notes of rules that only log.
	LogOnly []RuleNote `json:"log_only,omitempty"`
	// Basis holds the facts other than the evidence on which the decision rests; nil for a refused submission.
	Basis *Basis `json:"basis,omitempty"`
	// Notices are further facts for people. They are not stored with the attempt, but counted with its grid job.
	Notices []Notice `json:"-"`
}

// restart is the word after RETRY with which an application asks to begin again from scratch (GBS).
const restart = "RESTART"

// Wasted reports whether no later attempt continues the work of this attempt. By GBS's convention (gbs.md 2), a RETRY
// that the application requested, or a HOLD, wastes the work only if its data is the single word RESTART. Any other
// attempt that did not complete is wasted.
func (v *Verdict) Wasted() bool {
	if v.Action == Retry && v.Handled || v.Action == Hold {
		return len(v.RetryArgs) == 1 && v.RetryArgs[0] == restart
	}
	return v.Action != Complete
}

// Basis holds the facts other than the evidence on which the verdict on an attempt depends: the counters and retry
// arguments that the local job had before the attempt, the cluster, whether jjm wanted to end the attempt, whether the
// batch system provably lost the attempt, and the opinion of the job type.
type Basis struct {
	Counters  Counters `json:"counters,omitzero"`
	RetryArgs []string `json:"retry_args,omitempty"`
	Cluster   string   `json:"cluster,omitempty"`
	Killed    bool     `json:"killed,omitempty"`
	Lost      bool     `json:"lost,omitempty"`
	Opinion   *Opinion `json:"opinion,omitempty"`
}

// StepUp is a rule's order to request more resources, or to assign less work, the next time.
type StepUp struct {
	Rule string `json:"rule"`
	// Do is increase_memory, increase_memory_xtimes, increase_cputime or reduce_input_per_job.
	Do     string  `json:"do"`
	Factor float64 `json:"factor,omitempty"`
}

// RuleNote names a rule that only logs (log_only), and the verdict or order that it would have decided.
type RuleNote struct {
	Rule string `json:"rule"`
	Says string `json:"says"`
}

// Action is the effect of a verdict on a local job.
type Action string

// The actions.
const (
	Complete Action = "complete"
	Retry    Action = "retry" // another attempt follows
	Hold     Action = "hold"
	Fail     Action = "fail"
	Cancel   Action = "cancel" // the local job becomes killed, as requested
)

// JournalEntry records one change of the local jobs First..Last of a grid job, which all
// changed in the same way. First is -1 for a change of the grid job itself.
type JournalEntry struct {
	Seq    int64  `json:"seq"`
	Time   Time   `json:"time"`
	Grid   GridID `json:"grid"`
	First  int32  `json:"first"`
	Last   int32  `json:"last"`
	From   string `json:"from,omitempty"`
	To     string `json:"to"`
	Cause  string `json:"cause,omitempty"`
	Source string `json:"source,omitempty"` // the part of jjm that made the change: accept, watch, ...
	Actor  string `json:"actor,omitempty"`  // the person or gatekeeper, "" for jjm itself
}

// LogLine returns the entry as a line for people, without its end.
func (en JournalEntry) LogLine() string {
	what := en.Grid.String()
	if en.First >= 0 {
		what = Ref{Grid: en.Grid, Locals: true, First: en.First, Last: en.Last}.String()
	}
	s := en.Time.String() + " " + what + " "
	if en.From != "" {
		s += en.From + " -> "
	}
	s += en.To
	if en.Cause != "" {
		s += ": " + en.Cause
	}
	if en.Actor != "" {
		s += " (" + en.Actor + ")"
	}
	return s
}

// BatchState is the state of a job in its batch system, in one vocabulary for all batch
// systems (decision R4).
type BatchState uint8

// The batch states. The zero value means that nothing is known.
const (
	BatchUnknown BatchState = iota
	BatchQueued
	BatchHold
	BatchStarting
	BatchRunning
	BatchSuspended
	BatchEndedOK     // exit 0
	BatchEndedFailed // exit != 0, or a signal
	BatchOOM
	BatchTimeout
	BatchAborted   // by the system: node failure, preemption, eviction
	BatchCancelled // by jjm or a person
)

var batchWords = [...]string{"UNKNOWN", "QUEUED", "HELD", "STARTING", "RUNNING", "SUSPENDED",
	"OK", "FAILED", "OOM", "TIMEOUT", "ABORTED", "CANCELLED"}

func (s BatchState) String() string { return word(batchWords[:], int(s)) }

// MarshalText writes the word.
func (s BatchState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the word.
func (s *BatchState) UnmarshalText(b []byte) error {
	n, err := index(batchWords[:], "batch state", string(b))
	*s = BatchState(n)
	return err
}

// Ended reports whether the job is over in the batch system.
func (s BatchState) Ended() bool { return s >= BatchEndedOK }

// Alive reports whether the job is known and not over.
func (s BatchState) Alive() bool { return s != BatchUnknown && !s.Ended() }

// Report is a batch system's statement about one job. Cluster, Tag, Index, ID and Submitted together identify the job,
// because batch systems reuse ids.
type Report struct {
	Tag   Tag        `json:"tag"`
	Index int32      `json:"index"`
	ID    string     `json:"id"`
	State BatchState `json:"state"`
	// Exit is the exit code. Signal is the signal that ended the job, 0 if no signal did. Both are set only if State is
	// an ended state.
	Exit   int `json:"exit,omitempty"`
	Signal int `json:"signal,omitempty"`
	// Host is where the job runs or ran.
	Host string `json:"host,omitempty"`
	// Reason is the batch system's own text about why the job waits, is held, or ended.
	Reason string `json:"reason,omitempty"`
	// Hold is the batch system's code of a hold, such as "13/2"; "" if it has none.
	Hold string `json:"hold,omitempty"`
	// Starts is when the batch system expects a waiting job to start; 0 if it does not say.
	Starts Time `json:"starts,omitempty"`
	// Source names the source of the report: "squeue", "sacct", "condor_history".
	Source    string `json:"source,omitempty"`
	Submitted Time   `json:"submitted,omitempty"`
	Started   Time   `json:"started,omitempty"`
	Ended     Time   `json:"ended,omitempty"`
	// Restarts counts how often the batch system itself restarted the job.
	Restarts int `json:"restarts,omitempty"`
	// CPUms is the processor time (user + system) in milliseconds, and RSSKB the peak resident size in KiB, as the batch
	// system accounts them. 0 means that the batch system does not report the value.
	CPUms int64 `json:"cpu_ms,omitempty"`
	RSSKB int64 `json:"rss_kb,omitempty"`
}

// NeverStarted reports whether the batch system cancelled the job while it waited, and had never started it.
func (r *Report) NeverStarted() bool {
	return r.State == BatchCancelled && r.Started == 0 && r.Restarts == 0
}

// Usage contains the resources that a grid job used, for gatekeepers and accounting. It counts all attempts of each
// local job: times are summed, Started is the earliest start, Ended the latest end, and MaxRSSKB the largest value.
type Usage struct {
	// Batch is the batch system's id of the first local job; Host is where that job ran.
	Batch string `json:"batch,omitempty"`
	Host  string `json:"host,omitempty"`
	// WallMS is the elapsed time, UserMS and SysMS the processor time, in milliseconds.
	WallMS int64 `json:"wall_ms,omitempty"`
	UserMS int64 `json:"user_ms,omitempty"`
	SysMS  int64 `json:"sys_ms,omitempty"`
	// MaxRSSKB is the largest resident size of any attempt, in KiB.
	MaxRSSKB int64 `json:"max_rss_kb,omitempty"`
	// Signal is the signal that ended the last attempt of the only local job. It is 0 if no signal did, or if the grid job
	// has several local jobs.
	Signal int `json:"signal,omitempty"`
	// Processors is the number of cores of each local job.
	Processors int  `json:"processors,omitempty"`
	Started    Time `json:"started,omitempty"`
	Ended      Time `json:"ended,omitempty"`
}

// SignalOf returns the signal that ended an attempt, 0 if no signal did. The wrapper's result comes first, because the
// wrapper saw the application end; the batch system saw at most the wrapper end. ev may be nil.
func SignalOf(ev *Evidence) int {
	switch {
	case ev == nil:
		return 0
	case ev.Result != nil:
		return ev.Result.Signal
	}
	return ev.Batch.Signal
}

// Add counts one attempt that ended. from and to are the start and end times that jjm knows; the batch system's times
// replace them. An owner could forge the wrapper's figures, so the batch system's figures take precedence:
//
//	elapsed time    the batch system's; else the wrapper's, at most from start to end
//	processor time  the batch system's sum, divided between user and system as the wrapper measured
//	                them, all of it user time without a wrapper; else the wrapper's
//	resident size   the batch system's; else the wrapper's
func (u *Usage) Add(ev *Evidence, from, to Time) {
	if ev == nil {
		return
	}
	b := ev.Batch
	started, ended := cmp.Or(b.Started, from), cmp.Or(b.Ended, to)
	var wall, user, sys, rss int64
	if r := ev.Result; r != nil {
		wall, user, sys, rss = r.WallMS, r.UserMS, r.SysMS, r.RSSKB
		if started != 0 {
			wall = min(wall, int64(ended-started))
		}
	}
	if b.Started != 0 && b.Ended >= b.Started {
		wall = int64(b.Ended - b.Started)
	}
	if cpu := b.CPUms; cpu > 0 {
		user, sys = splitCPU(cpu, user, sys)
	}
	if b.RSSKB > 0 {
		rss = b.RSSKB
	}
	u.WallMS += max(wall, 0)
	u.UserMS += max(user, 0)
	u.SysMS += max(sys, 0)
	u.MaxRSSKB = max(u.MaxRSSKB, rss)
	if started != 0 && (u.Started == 0 || started < u.Started) {
		u.Started = started
	}
	u.Ended = max(u.Ended, ended)
}

// Sum adds the usage of another attempt or local job. Batch, Host, Signal and Processors stay unchanged.
func (u *Usage) Sum(o *Usage) {
	u.WallMS += o.WallMS
	u.UserMS += o.UserMS
	u.SysMS += o.SysMS
	u.MaxRSSKB = max(u.MaxRSSKB, o.MaxRSSKB)
	if o.Started != 0 && (u.Started == 0 || o.Started < u.Started) {
		u.Started = o.Started
	}
	u.Ended = max(u.Ended, o.Ended)
}

// splitCPU divides a sum of processor time, in milliseconds, in the proportion of the
// measured user and system times.
func splitCPU(sum, user, sys int64) (int64, int64) {
	if user < 0 || sys <= 0 || user+sys <= 0 {
		return sum, 0
	}
	s := int64(float64(sum) * (float64(sys) / (float64(user) + float64(sys))))
	return sum - s, s
}
