package jjm

import (
	"cmp"
)

// Claim is the file by which a wrapper takes an attempt for itself: whoever
// creates it first, atomically, is the only one allowed to run the attempt.
// The daemon takes the claim itself before it gives up on an attempt.
type Claim struct {
	// Holder is "wrapper" or "daemon".
	Holder string `json:"holder"`
	// Batch is the batch system's id of the holder, as its environment tells.
	Batch    string `json:"batch,omitempty"`
	Restarts int    `json:"restarts,omitempty"`
	Host     string `json:"host"`
	// BootID is the kernel's boot id (random(4), /proc/sys/kernel/random/boot_id).
	BootID string `json:"boot_id,omitempty"`
	PID    int    `json:"pid"`
	// Nonce is the holder's own random word: the winner recognises itself
	// after a lost reply of a network file system.
	Nonce string `json:"nonce"`
	Time  Time   `json:"time"`
}

// The holders of claims.
const (
	HolderWrapper = "wrapper"
	HolderDaemon  = "daemon"
)

// Result is what the wrapper reports when an attempt is over: one JSON file,
// renamed complete into its bulk's done folder.
type Result struct {
	Version int    `json:"v"` // 1
	Tag     Tag    `json:"tag"`
	Pos     int32  `json:"pos"`
	Grid    GridID `json:"grid"`
	Local   int32  `json:"local"`
	Attempt int32  `json:"attempt"`
	Claim   Claim  `json:"claim"`
	Started Time   `json:"started"`
	Ended   Time   `json:"ended"`
	// Exit is the application's exit code, 128+n for signal n; 126 and 127 as
	// a shell would say that it could not be started.
	Exit   int `json:"exit"`
	Signal int `json:"signal,omitempty"`
	// Wall, UserCPU and SysCPU in milliseconds; RSSKB in KiB at the peak, of
	// the largest process (getrusage(2), RUSAGE_CHILDREN).
	WallMS int64 `json:"wall_ms"`
	UserMS int64 `json:"user_ms"`
	SysMS  int64 `json:"sys_ms"`
	RSSKB  int64 `json:"rss_kb"`
	// GLF is the GBS log file, its tail if it is long.
	GLF string `json:"glf"`
	// Outputs are the files collected.
	Outputs []Output `json:"outputs,omitempty"`
	// Processed is how much the application says that it processed, nil if it
	// says nothing.
	Processed *Processed `json:"processed,omitempty"`
	// Phases are those of the application, in the order in which it began them.
	Phases []AppPhase `json:"phases,omitempty"`
	// Fragment is what the application added to the record of its local job, XML.
	Fragment string `json:"fragment,omitempty"`
	// Error is the wrapper's own trouble: a full disk, a lost file system, an
	// application that could not be started. Empty if it did its duty.
	Error string `json:"error,omitempty"`
}

// Output is one collected file: below the attempt's directory, or the reason
// why it is absent.
type Output struct {
	Name   string `json:"name"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256,omitempty"`
	Absent string `json:"absent,omitempty"`
}

// Processed is how much of its part an application says that it processed, by a
// record "INFO processed=250" of its log file, or "INFO processed=250 events".
type Processed struct {
	Count int64 `json:"count"`
	// Unit is what was counted: events, files, sections or rows; "" is the unit
	// of the part.
	Unit string `json:"unit,omitempty"`
}

// AttemptID names the attempt the result is about.
func (r *Result) AttemptID() AttemptID {
	return AttemptID{LocalID: LocalID{Grid: r.Grid, N: r.Local}, Attempt: r.Attempt}
}

// Evidence is all that is known about how an attempt stands; analyse turns the
// evidence of an ended one into a verdict.
type Evidence struct {
	// Batch is the batch system's last word; State is BatchUnknown when it was
	// never seen or when it is surely absent.
	Batch Report `json:"batch,omitzero"`
	// Result is the wrapper's, or nil.
	Result *Result `json:"result,omitempty"`
	// GLF is the log file as found in the attempt's directory when there is no
	// result; HasGLF tells an empty one from none.
	GLF    string `json:"glf,omitempty"`
	HasGLF bool   `json:"has_glf,omitempty"`
	// Claim is the attempt's claim, or nil.
	Claim *Claim `json:"claim,omitempty"`
}

// Opinion is what a job type says of an attempt whose application ran to its end.
type Opinion struct {
	// Action is Complete, Retry, Hold or Fail.
	Action Action
	// Text is for people: why.
	Text string
	// RetryArgs become those of the local job, with Retry alone; nil leaves them as they are.
	RetryArgs []string
}

// Verdict is what analyse makes of evidence.
type Verdict struct {
	// Level is where the evidence was decided: GANGA, GRID, BATCH, WORKER,
	// APPLICATION, USER (the table of GBS), EXIT for result = exit, TYPE for what
	// the job type says, INTENT for a cancel that jjm meant.
	Level string `json:"level"`
	// Class is EARLY, LATE_HANDLED, LATE_UNHANDLED, or "".
	Class string `json:"class,omitempty"`
	// Action says what becomes of the local job.
	Action Action `json:"action"`
	// Phase refines a failed, killed or held end.
	Phase Phase `json:"phase,omitempty"`
	// Text is for people: the diagnostic, the limit, the reason.
	Text string `json:"text,omitempty"`
	// RetryArgs and Counters are the local job's afterwards.
	RetryArgs []string `json:"retry_args,omitempty"`
	Counters  Counters `json:"counters"`
	// Handled is true when the application asked for the retry.
	Handled bool `json:"handled,omitempty"`
}

// Action is what a verdict does with a local job.
type Action string

// The actions.
const (
	Complete Action = "complete"
	Retry    Action = "retry"
	Hold     Action = "hold"
	Fail     Action = "fail"
	Cancel   Action = "cancel"
)

// JournalEntry records one change. It may cover a range of local jobs that
// changed alike. First is -1 for the grid job itself.
type JournalEntry struct {
	Seq    int64  `json:"seq"`
	Time   Time   `json:"time"`
	Grid   GridID `json:"grid"`
	First  int32  `json:"first"`
	Last   int32  `json:"last"`
	From   string `json:"from,omitempty"`
	To     string `json:"to"`
	Cause  string `json:"cause,omitempty"`
	Source string `json:"source,omitempty"` // which part of jjm: accept, watch, ...
	Actor  string `json:"actor,omitempty"`  // the person or gatekeeper, "" for jjm itself
}

// BatchState is what a batch system says about one of its jobs, in words that
// all of them share (decision R4).
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
	BatchCancelled // by someone
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

// Report is what a batch system says about one job. Identity is cluster + Tag +
// Index + ID + Submitted: ids alone are recycled.
type Report struct {
	Tag   Tag        `json:"tag"`
	Index int32      `json:"index"`
	ID    string     `json:"id"`
	State BatchState `json:"state"`
	// Exit is the exit code, Signal the signal that ended the job, if any;
	// both only when State is an ended one.
	Exit   int `json:"exit,omitempty"`
	Signal int `json:"signal,omitempty"`
	// Host is where it runs or ran.
	Host string `json:"host,omitempty"`
	// Reason is the batch system's own text: why pending, why held, why over.
	Reason string `json:"reason,omitempty"`
	// Hold is the batch system's code of a hold, "13/2", where it has one.
	Hold string `json:"hold,omitempty"`
	// Starts is when the batch system expects a waiting job to start; 0 when
	// it does not say.
	Starts Time `json:"starts,omitempty"`
	// Source names what said all this: "squeue", "sacct", "condor_history".
	Source    string `json:"source,omitempty"`
	Submitted Time   `json:"submitted,omitempty"`
	Started   Time   `json:"started,omitempty"`
	Ended     Time   `json:"ended,omitempty"`
	// Restarts counts how often the batch system itself started it anew.
	Restarts int `json:"restarts,omitempty"`
	// CPU, in milliseconds (user + system), and RSS, in KiB at the peak, as
	// the batch system accounts them; 0 when it does not say.
	CPUms int64 `json:"cpu_ms,omitempty"`
	RSSKB int64 `json:"rss_kb,omitempty"`
}

// Usage is what a grid job used: what gatekeepers and accounting ask for. Of
// several local jobs it is that of the last attempt of each: times are summed,
// Started is the first and Ended the last, and MaxRSSKB is the largest.
type Usage struct {
	// Batch is the batch system's id of the first local job; Host is where that
	// ran.
	Batch string `json:"batch,omitempty"`
	Host  string `json:"host,omitempty"`
	// WallMS is the time that they ran, UserMS and SysMS what they computed, in
	// milliseconds.
	WallMS int64 `json:"wall_ms,omitempty"`
	UserMS int64 `json:"user_ms,omitempty"`
	SysMS  int64 `json:"sys_ms,omitempty"`
	// MaxRSSKB is the largest resident size of any attempt, in KiB.
	MaxRSSKB int64 `json:"max_rss_kb,omitempty"`
	// Signal ended the last attempt of the only local job; 0 if none did, or if
	// there are several.
	Signal int `json:"signal,omitempty"`
	// Processors is how many cores each local job was given.
	Processors int  `json:"processors,omitempty"`
	Started    Time `json:"started,omitempty"`
	Ended      Time `json:"ended,omitempty"`
}

// SignalOf returns the signal that ended an attempt, 0 if none did: the wrapper has
// seen the application's end, the batch system at best its own.
func SignalOf(ev *Evidence) int {
	switch {
	case ev == nil:
		return 0
	case ev.Result != nil:
		return ev.Result.Signal
	}
	return ev.Batch.Signal
}

// Add counts one attempt that ended, which ran from one time to another as far as
// jjm knows. The wrapper measured user and system time apart; where it is silent,
// the batch system's sum counts as user time. The batch system's figures outrank
// the wrapper's, which an owner could forge; of what it does not say the
// wrapper's word is taken, but for times outside those in which the attempt ran.
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

// splitCPU parts a sum in the proportion of what was measured apart.
func splitCPU(sum, user, sys int64) (int64, int64) {
	if user < 0 || sys <= 0 || user+sys <= 0 {
		return sum, 0
	}
	s := int64(float64(sum) * (float64(sys) / (float64(user) + float64(sys))))
	return sum - s, s
}
