package jjm

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

// Verdict is what analyse makes of evidence.
type Verdict struct {
	// Level is where the evidence was decided: GANGA, GRID, BATCH, WORKER,
	// APPLICATION, USER (the table of GBS), EXIT for result = exit, INTENT for
	// a cancel that jjm meant.
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
