// Package wire is the language of jjm's local socket: what a client sends and
// what the daemon answers. One request per connection: one line of JSON each
// way, then, for the verbs that stream, raw bytes or further lines.
//
//	-> {"verb":"lookup","refs":["12","13"]}
//	<- {"ok":true,"lookup":[{"id":12,"status":"running","gram":2,...}]}
//
// A reference is an id, such as 12, or the handle that follows from owner and
// request key ([jjm.Handle]), each with the local jobs meant: 12.3, HANDLE.3.
//
// Verbs that stream: "wait" answers a line per change, each an Answer, the
// last one with Last set. "output" and "cat" answer one line with Bytes (-1 =
// until the connection closes), then that many raw bytes.
//
// It holds types, and the reading and writing of lines within bounds. Of jjm it
// imports only the root package and the words of cover, and no net: the client that
// gatekeepers exec thousands of times links it.
package wire

import (
	"jjm"
	"jjm/cover"
)

// MaxRequest is the longest request line, in bytes: a job file may be 4 MiB.
const MaxRequest = 8 << 20

// Request is what a client sends. Exactly the member named by Verb is read.
type Request struct {
	Verb        string           `json:"verb"`
	Submit      *Submit          `json:"submit,omitempty"`
	Refs        []string         `json:"refs,omitempty"` // lookup, kill, release, status, wait, record, output, cat, history, log, verify, retract
	List        *List            `json:"list,omitempty"`
	Path        string           `json:"path,omitempty"`        // record: an XPath-like query, "" = whole
	Partial     bool             `json:"partial,omitempty"`     // output: what there is, of an unfinished job
	File        string           `json:"file,omitempty"`        // cat: stdout, stderr, script, glf
	Follow      bool             `json:"follow,omitempty"`      // cat
	Limit       int              `json:"limit,omitempty"`       // history
	Orders      bool             `json:"orders,omitempty"`      // history: of administrators' orders, instead of a job's; without refs
	Order       *Order           `json:"order,omitempty"`       // order; without it the orders in force are listed
	Cluster     string           `json:"cluster,omitempty"`     // reset
	Ban         *Ban             `json:"ban,omitempty"`         // ban; without it the bans in force are listed
	Credentials []jjm.Credential `json:"credentials,omitempty"` // renew
	Remark      string           `json:"remark,omitempty"`      // remark: for the history of a grid job
	Now         bool             `json:"now,omitempty"`         // advertise: send at once
	Dataset     *Dataset         `json:"dataset,omitempty"`     // dataset
	Retract     *Retract         `json:"retract,omitempty"`
	Recovery    string           `json:"recovery,omitempty"` // verify: the name of the recovery's job file; "" = none is wanted
}

// The verbs.
const (
	VerbPing     = "ping"
	VerbSubmit   = "submit"
	VerbLookup   = "lookup"
	VerbKill     = "kill"
	VerbRelease  = "release"
	VerbStatus   = "status"
	VerbList     = "list"
	VerbWait     = "wait"
	VerbRecord   = "record"
	VerbOutput   = "output"
	VerbCat      = "cat"
	VerbHistory  = "history"
	VerbLog      = "log"
	VerbJobTypes = "job-types"
	VerbClusters = "clusters"
	VerbOrder    = "order"
	VerbReset    = "reset"
	VerbBan      = "ban"
	VerbRenew    = "renew"
	VerbRemark   = "remark"
	VerbDataset  = "dataset"
	VerbVerify   = "verify"
	VerbRetract  = "retract"

	VerbAdvertise = "advertise"
)

// Submit hands over a job file.
type Submit struct {
	// Name is the file's name, for messages and to tell TOML from JSON by its
	// ending; Text its content.
	Name string `json:"name"`
	Text string `json:"text"`
	// BaseDir is the absolute folder that relative input paths start from.
	BaseDir string `json:"base_dir"`
	// Key overrides the job file's request key.
	Key string `json:"key,omitempty"`
	// Anew allows the key anew if the grid job that holds it was cancelled, as
	// the job file's key_reuse does.
	Anew bool `json:"anew_after_cancel,omitempty"`
	// Origin is where the grid job comes from, as a gatekeeper tells it.
	Origin *jjm.Origin `json:"origin,omitempty"`
	// Credentials are for the jobs, if the job file asks for them. One that is
	// newer than what a grid job that is there already has takes its place.
	Credentials []jjm.Credential `json:"credentials,omitempty"`
	// DryRun decides and explains, and makes nothing.
	DryRun bool `json:"dry_run,omitempty"`
}

// Order is an administrator's order to drain, pause or resume a cluster, a job
// type or a user.
type Order struct {
	Verb   string `json:"verb"` // drain, pause, resume
	Kind   string `json:"kind"` // cluster, type, user
	Name   string `json:"name"`
	Reason string `json:"reason,omitempty"`
	// For or Until, at most one, let the order end by itself.
	For   jjm.Duration `json:"for,omitzero"`
	Until jjm.Time     `json:"until,omitempty"`
}

// List filters grid jobs, newest first.
type List struct {
	All    bool   `json:"all,omitempty"` // finished ones too
	Status string `json:"status,omitempty"`
	Type   string `json:"type,omitempty"`
	Owner  string `json:"owner,omitempty"`
	Limit  int    `json:"limit,omitempty"`  // default 50
	Before int64  `json:"before,omitempty"` // ids below this, for paging
}

// Answer is what the daemon answers. Exactly one of Error and the verb's member
// is set.
type Answer struct {
	OK       bool               `json:"ok"`
	Last     bool               `json:"last,omitempty"`
	Error    *Error             `json:"error,omitempty"`
	Version  string             `json:"version,omitempty"`
	Submit   *Submitted         `json:"submit,omitempty"`
	Lookup   []Lookup           `json:"lookup,omitempty"`
	Kill     []Killed           `json:"kill,omitempty"`
	Release  []Released         `json:"release,omitempty"`
	Status   []Status           `json:"status,omitempty"`
	Record   []string           `json:"record,omitempty"`
	Output   *Output            `json:"output,omitempty"`
	Bytes    int64              `json:"bytes,omitempty"`
	History  []jjm.JournalEntry `json:"history,omitempty"`
	Log      []string           `json:"log,omitempty"`
	JobTypes []JobType          `json:"job_types,omitempty"`
	Clusters []Cluster          `json:"clusters,omitempty"`
	// Orders answers order: what it changed - of resume, what it ended - or the
	// orders in force.
	Orders []jjm.Order `json:"orders,omitempty"`
	Banned *Banned     `json:"banned,omitempty"`
	// Datasets answers dataset.
	Datasets *Datasets `json:"datasets,omitempty"`
	// News answers remark: it is not what the last one said.
	News bool `json:"news,omitempty"`
	// Renewed answers renew: the kinds that were newer.
	Renewed []string `json:"renewed,omitempty"`
	// NotReached, with it, tells of jobs that keep what they have, and why.
	NotReached []string  `json:"not_reached,omitempty"`
	Verify     *Verified `json:"verify,omitempty"`
	// Retracted answers retract.
	Retracted *Retracted `json:"retracted,omitempty"`
	// Advertised answers advertise.
	Advertised *Advertised `json:"advertised,omitempty"`
	// Notes, with clusters, are what else people should know of the site.
	Notes []string `json:"notes,omitempty"`
}

// Error is an error as the socket carries it.
type Error struct {
	Kind     jjm.Kind     `json:"kind"`
	Text     string       `json:"text"`
	Problems jjm.Problems `json:"problems,omitempty"`
}

// Verified answers verify.
type Verified struct {
	ID jjm.GridID `json:"id"`
	cover.Report
	// Merge is the report of its second step, nil if it has none: was every output
	// merged once? The verdict above is the worse of both.
	Merge *cover.Report `json:"merge,omitempty"`
	// Recovery is the job file that does what is missing, and RecoveryFiles the
	// list of files that belongs beside it, under the name FilesOf; "" where nothing
	// is missing, or there is no list.
	Recovery      string `json:"recovery,omitempty"`
	RecoveryFiles string `json:"recovery_files,omitempty"`
	// RecoveryRanges is the list of ranges that belongs beside it, under the name
	// RangesOf; "" if there is none.
	RecoveryRanges string `json:"recovery_ranges,omitempty"`
	// Anew are the local jobs that processed less than they own, and whose parts the
	// recovery does anew: what they made is not to be used with what it makes.
	Anew []string `json:"anew,omitempty"`
	// Recoveries are the grid jobs that do, or did, what this one did not; the
	// report is of all of them together.
	Recoveries []Recovery `json:"recoveries,omitempty"`
}

// Recovery is a grid job that does what another one did not.
type Recovery struct {
	ID     jjm.GridID `json:"id"`
	Status string     `json:"status"`
	// Units is how many units it processed of those that the other one had to.
	Units int64 `json:"units"`
	// Apart says why it is not counted, "" if it is.
	Apart string `json:"apart,omitempty"`
	// Replaces are local jobs of others, which processed less than they own, whose
	// parts it took over: what they made is not to be used.
	Replaces []string `json:"replaces,omitempty"`
}

// FilesOf is the name of the list of files that belongs beside a recovery's job
// file.
func FilesOf(recovery string) string { return recovery + ".files.jsonl" }

// RangesOf is the name of the list of ranges.
func RangesOf(recovery string) string { return recovery + ".ranges" }

// Submitted answers submit.
type Submitted struct {
	ID jjm.GridID `json:"id,omitempty"`
	// Handle is the name that follows from owner and request key; "" without a
	// key.
	Handle jjm.Handle `json:"handle,omitempty"`
	// Existed is true when the request key named a grid job already there.
	Existed bool `json:"existed,omitempty"`
	// Plan is the decomposition: always with DryRun.
	Plan *Plan `json:"plan,omitempty"`
}

// Plan is a decomposition, for people.
type Plan struct {
	Type     string   `json:"type"`
	Cluster  string   `json:"cluster"`
	Clusters []string `json:"clusters,omitempty"` // all that may be used
	Splitter string   `json:"splitter"`
	Jobs     int      `json:"jobs"`
	Why      []string `json:"why"`
	// Merge is what can be told of its second step, nil if it has none.
	Merge *jjm.MergeOutlook `json:"merge,omitempty"`
	// Parts and Commands show the first local jobs, at most ten.
	Parts    []jjm.Part `json:"parts,omitempty"`
	Commands [][]string `json:"commands,omitempty"`
}

// Lookup is the one honest status of a grid job.
type Lookup struct {
	ID jjm.GridID `json:"id"`
	// Handle is set if the grid job was asked for by it.
	Handle jjm.Handle `json:"handle,omitempty"`
	Error  *Error     `json:"error,omitempty"`
	Status string     `json:"status"`
	GRAM   jjm.GRAM   `json:"gram"`
	// Code is the GRAM error code (17) when GRAM is FAILED.
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
	// Master is the Ganga master status.
	Master string `json:"master"`
	// Exit is the exit code of the grid job once it is final (decision R11).
	Exit   int    `json:"exit"`
	Counts Counts `json:"counts"`
	Tar    string `json:"tar,omitempty"` // absolute path once complete
	// Usage is what it used, once it is final; before, of a grid job of one
	// local job, its batch id, host and start as far as they are known.
	Usage *jjm.Usage `json:"usage,omitempty"`
	// Memo is the gatekeeper's own (jjm.Origin), once the grid job is final.
	Memo string `json:"memo,omitempty"`
	// Stale is set when the answer is from the record, the daemon being down;
	// AsOf is when the record was written.
	Stale bool     `json:"stale,omitempty"`
	AsOf  jjm.Time `json:"as_of,omitempty"`
}

// Counts are the local jobs by state. Expected is how many there will be;
// Total how many there are.
type Counts struct {
	Expected   int `json:"expected"`
	Total      int `json:"total"`
	New        int `json:"new"`
	Submitting int `json:"submitting"`
	Submitted  int `json:"submitted"`
	Running    int `json:"running"`
	Completing int `json:"completing"`
	Completed  int `json:"completed"`
	Failed     int `json:"failed"`
	Killed     int `json:"killed"`
	Held       int `json:"held"`
	// GivenBack are those whose work others do again: they are in Total alone.
	GivenBack int `json:"given_back,omitempty"`
}

// Renewal is what became of newer credentials: the kinds that were newer, and of
// which jobs that run they do not reach.
type Renewal struct{ Kinds, NotReached []string }

// Killed answers kill for one reference.
type Killed struct {
	Ref string `json:"ref"`
	// NoChange is true when it was over already: a success.
	NoChange bool   `json:"no_change,omitempty"`
	Error    *Error `json:"error,omitempty"`
}

// Released answers release for one reference.
type Released struct {
	Ref string `json:"ref"`
	// Jobs is how many local jobs were held and are being released.
	Jobs int `json:"jobs"`
	// NoChange is true when none was held: a success.
	NoChange bool   `json:"no_change,omitempty"`
	Error    *Error `json:"error,omitempty"`
}

// Hold counts the local jobs of a grid job that are held alike.
type Hold struct {
	// By is "application", "batch system" or "operator"; Code and Text are its
	// words.
	By   string `json:"by"`
	Code string `json:"code,omitempty"`
	Text string `json:"text,omitempty"`
	Jobs int    `json:"jobs"`
	// First is one of them: "17.3".
	First string `json:"first"`
}

// Status is the detail of a grid job, and of the local jobs asked for.
type Status struct {
	Lookup Lookup `json:"lookup"`
	Name   string `json:"name"`
	Type   string `json:"type"`
	Owner  string `json:"owner"`
	Key    string `json:"key,omitempty"`
	// Handle is what a gatekeeper knows it by, and Origin where it came from.
	Handle jjm.Handle  `json:"handle,omitempty"`
	Origin *jjm.Origin `json:"origin,omitempty"`
	// Cluster is the first of Clusters, which its local jobs may go to;
	// ClusterJobs are those that have some, or had them last.
	Cluster     string       `json:"cluster"`
	Clusters    []string     `json:"clusters,omitempty"`
	ClusterJobs []ClusterJob `json:"cluster_jobs,omitempty"`
	Accepted    jjm.Time     `json:"accepted"`
	Ended       jjm.Time     `json:"ended,omitempty"`
	Why         []string     `json:"why,omitempty"`
	// Inputs are the datasets that it reads.
	Inputs []Input `json:"inputs,omitempty"`
	// Steps are its steps, in order, if it has more than one.
	Steps []Step `json:"steps,omitempty"`
	// Trouble tells what of it has been unknown for long, and since when.
	Trouble []string `json:"trouble,omitempty"`
	// Holds tells what of it is held, by whom and why; of many kinds those with
	// most local jobs.
	Holds []Hold `json:"holds,omitempty"`
	// Phases sums the progress of the running local jobs.
	Phases []jjm.Progress `json:"phases,omitempty"`
	Locals []jjm.LocalJob `json:"locals,omitempty"`
	Record string         `json:"record,omitempty"` // path of the record's head
}

// Step is one step of a grid job that has several, and its local jobs.
type Step struct {
	// Step is its number, that of its local jobs, and Name what people call it:
	// process, merge.
	Step int32  `json:"step"`
	Name string `json:"name"`
	// Done of Counts.Expected have done their work. Merging of these wait for their
	// outputs to be merged, and count as completing meanwhile.
	Done    int `json:"done"`
	Merging int `json:"merging,omitempty"`
	// Closed says that no more will be made, but to do again what failed.
	Closed bool `json:"closed,omitempty"`
	// Counts are its local jobs; Expected leaves out those whose work others do
	// again.
	Counts Counts `json:"counts"`
}

// ClusterJob is the part of a grid job that one cluster has or had last.
type ClusterJob struct {
	ID      string `json:"id"` // "17@slurm"
	Cluster string `json:"cluster"`
	Counts  Counts `json:"counts"` // Expected is 0
}

// Output describes the tar that follows.
type Output struct {
	Name    string `json:"name"`
	SHA256  string `json:"sha256,omitempty"`
	Partial bool   `json:"partial,omitempty"`
	Path    string `json:"path,omitempty"` // on the daemon's side
}

// JobType documents a job type.
type JobType struct {
	Type    string     `json:"type"`
	Summary string     `json:"summary"`
	Result  string     `json:"result"`
	Params  []JobParam `json:"params"`
	Example string     `json:"example"`
}

// JobParam documents one setting.
type JobParam struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Unit     string `json:"unit,omitempty"`
	Default  string `json:"default,omitempty"`
	Required bool   `json:"required,omitempty"`
	Help     string `json:"help"`
}

// Breaker is a circuit breaker that is not closed.
type Breaker struct {
	State     string   `json:"state"` // open, half-open
	Since     jjm.Time `json:"since"` // the first of the failures
	Cause     string   `json:"cause"`
	NextProbe jjm.Time `json:"next_probe"`
}

// Cluster is the state of one batch system.
type Cluster struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Healthy   bool   `json:"healthy"`
	Cause     string `json:"cause,omitempty"` // why not healthy
	Guarantee string `json:"guarantee"`
	Slots     int    `json:"slots"`
	// Storages are those that its workers can read files from; none = all.
	Storages []string `json:"storages,omitempty"`
	// Waiting are not yet handed over; one that may go to several clusters
	// counts at each.
	Waiting  int      `json:"waiting"`
	Queued   int      `json:"queued"`
	Running  int      `json:"running"`
	LastSeen jjm.Time `json:"last_seen,omitempty"` // last good listing
	// Since is when the trouble began; Trouble tells what has been unknown for
	// long.
	Since   jjm.Time `json:"since,omitempty"`
	Trouble []string `json:"trouble,omitempty"`
	// Listing is how long a round of listings takes, Interval the time from one
	// to the next.
	Listing  jjm.Duration `json:"listing,omitzero"`
	Interval jjm.Duration `json:"interval,omitzero"`
	// Commands is how many commands were begun within the last minute, Ceiling
	// the most there may be; 0 = no ceiling.
	Commands int `json:"commands"`
	Ceiling  int `json:"ceiling"`
	// Breaker is set while the circuit breaker is not closed: no command is sent
	// but a probe. Accounting is that of the accounting alone.
	Breaker    *Breaker `json:"breaker,omitempty"`
	Accounting *Breaker `json:"accounting,omitempty"`
	// Orders are those in force about this cluster.
	Orders []jjm.Order `json:"orders,omitempty"`
	// Limits bound its jobs.
	Limits Limits `json:"limits,omitzero"`
}

// Limits are the bounds of a cluster; 0 means none, or none that is known.
type Limits struct {
	// MaxCores, MaxMemoryMB and MaxWalltime are one job's.
	MaxCores    int          `json:"max_cores,omitempty"`
	MaxMemoryMB int64        `json:"max_memory_mb,omitempty"`
	MaxWalltime jjm.Duration `json:"max_walltime,omitzero"`
	// MaxQueued is how many jobs one account may have in the batch system.
	MaxQueued int `json:"max_queued,omitempty"`
	// MaxPending and MaxRunning are how many of jjm's may wait and run there, and
	// the last two how many of one user's.
	MaxPending        int `json:"max_pending,omitempty"`
	MaxRunning        int `json:"max_running,omitempty"`
	MaxPendingPerUser int `json:"max_pending_per_user,omitempty"`
	MaxRunningPerUser int `json:"max_running_per_user,omitempty"`
}
