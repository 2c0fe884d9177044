package slurm

import (
	"strings"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// answer is the meaning of a message that sbatch or slurmctld printed about a submission.
type answer uint8

const (
	ambiguous answer = iota
	busy
	tooMany // busy, because of the number of jobs
	denied
	invalid
	tooLarge // invalid for a bulk of one job; fewer jobs of a larger bulk may be accepted
)

// unexplainedPolicy is part of every message about a limit of accounting. Slurm prints the name of the limit in front
// of this text. If the name is missing, it is unknown whether a later submission can succeed.
const unexplainedPolicy = "Job violates accounting/QOS policy"

// refusals are the messages of failed submissions, with their meaning. The first entry whose text is part of a message
// decides. The sources are recordings, slurm_errno.c, the reasons of acct_policy.c, and the sources and manuals of
// sbatch.
var refusals = []struct {
	means             answer
	text, source, why string
}{
	// These texts come first, because messages with such a text also contain texts that come later in this list.
	{ambiguous, `Munge decode failed`, "45-munge-down", `the answer could not be read`},
	{invalid, `Unable to resolve path`, "slurm_errno", ``},
	{busy, `Munge encode failed`, "45-munge-down", `munged of this host is down`},
	// The connection broke on the way to the controller or back: the controller may have the job.
	{ambiguous, `Socket timed out`, "slurm_errno", `no answer came back`},
	{ambiguous, `Zero Bytes were transmitted`, "slurm_errno", `no answer came back`},
	{ambiguous, `Unexpected message received`, "slurm_errno", `the answer was another's`},
	{ambiguous, `Received zero length message`, "slurm_errno", `no answer came back`},
	{ambiguous, `Received message length < 0`, "slurm_errno", `the answer was cut`},
	{ambiguous, `Header lengths are longer than data received`, "slurm_errno", `the answer was cut`},
	{ambiguous, `Failed to send entire message`, "slurm_errno", `the request may have been whole`},
	{ambiguous, `(receive failure)`, "45-munge-down", `no answer came back`},
	{ambiguous, `(send failure)`, "slurm_errno", `the request may have been whole`},
	{ambiguous, `(shutdown failure)`, "slurm_errno", `the answer may be lost`},
	{ambiguous, `Communication shutdown failure`, "slurm_errno", `the answer may be lost`},
	{ambiguous, `Protocol authentication error`, "slurm_errno", `the answer could not be read`},
	{ambiguous, `Connection reset`, "errno(3)", `the controller was killed meanwhile`},
	{ambiguous, `Transport endpoint`, "errno(3)", `the controller was killed meanwhile`},
	{ambiguous, `Broken pipe`, "errno(3)", `the controller was killed meanwhile`},
	{ambiguous, `I/O error writing script/environment to file`, "slurm_errno", `the job record may exist`},
	{ambiguous, `Message send failure`, "slurm_errno", `the request may have been whole`},
	{ambiguous, `Message receive failure`, "slurm_errno", `no answer came back`},
	{ambiguous, `Insane message length`, "slurm_errno", `the answer was damaged`},
	{ambiguous, `Error generating job credential`, "slurm_errno", `the job record may exist`},
	{ambiguous, `Generic error`, "slurm_errno", ``},
	{ambiguous, `Unspecified error`, "slurm_errno", ``},
	{ambiguous, `Slurm internal error`, "slurm_errno", `the controller does not say when it stopped`},
	{ambiguous, `Connection timed out writing`, "slurm_errno of 2026", `the request may have been whole`},
	{ambiguous, `Connection timed out reading`, "slurm_errno of 2026", `no answer came back`},
	{ambiguous, `Connection forced closed by quiesce timeout`, "slurm_errno of 2026", `no answer came back`},
	{ambiguous, `Kernel reported delayed socket error`, "slurm_errno of 2026", `no answer came back`},
	{ambiguous, `Process is shutting down`, "slurm_errno of 2026", `no answer came back`},
	// The number of jobs is too large: fewer jobs may be accepted, or the same jobs later.
	{tooMany, `AssocMaxSubmitJobLimit`, "60-enforce-errors", `MaxSubmitJobs of the association`},
	{tooMany, `AssocGrpSubmitJobsLimit`, "found B, acct_policy.c", `GrpSubmitJobs of an association above`},
	{tooMany, `QOSMaxSubmitJobPerUserLimit`, "found A, acct_policy.c", `MaxSubmitJobsPerUser of the QOS`},
	{tooMany, `QOSGrpSubmitJobsLimit`, "acct_policy.c", `GrpSubmitJobs of the QOS`},
	{tooMany, `MaxSubmitJobsPerAccount`, "acct_policy.c", `MaxSubmitJobsPerAccount of the QOS`},
	{tooMany, `QOSMaxSubmitJobPerAccountLimit`, "acct_policy.c", `the same before version 18`},
	{tooMany, `job queue full`, "sbatch.c", `MaxJobCount`},
	{tooMany, `temporarily unable to accept job`, "sbatch.c", `MaxJobCount, or too many requests`},
	{tooMany, `Unable to create job record, try again`, "slurm_errno", `MaxJobCount`},
	{tooMany, `MaxJobCount limit reached`, "slurm_errno of 2026", `MaxJobCount`},
	// The request did not reach the controller, or can succeed later.
	{busy, `Failed to connect to authentication agent`, "slurm_errno", `munged of this host is down`},
	{busy, `(connect failure)`, "40-slurmctld-down", `nobody listens`},
	{busy, `Communication connection failure`, "slurm_errno", `nobody listens`},
	{busy, `Connection timed out establishing`, "slurm_errno of 2026", `the controller is overloaded`},
	{busy, `Connection rejected by handler`, "slurm_errno of 2026", `the controller is overloaded`},
	{busy, `Rate limit exceeded`, "slurm_errno of 2026", `rl_enable: too many requests of this account`},
	{busy, `Licenses currently unavailable`, "slurm_errno of 2026", `they become free`},
	{busy, `Max powered up nodes reached`, "slurm_errno of 2026", `they become free`},
	{busy, `Connection refused`, "errno(3)", `nobody listens`},
	{busy, `Unable to process configuration file`, "sbatch.c", `slurm.conf is being replaced`},
	{busy, `Resource temporarily unavailable`, "errno(3)", `the controller asks to try again`},
	{busy, `Job creation temporarily disabled`, "sbatch.c", `the controller asks to try again`},
	{busy, `standby mode`, "slurm_errno", `the backup controller has not taken over`},
	{busy, `Required partition not available`, "11-sbatch-errors", `an administrator closed the partition`},
	{busy, `Requested operation is presently disabled`, "slurm_errno", `an administrator closed the cluster`},
	{busy, `Requested partition configuration not available now`, "slurm_errno", `nodes are down`},
	{busy, `Required node not available`, "slurm_errno", `a node is down, drained or reserved`},
	{busy, `Requested nodes are busy`, "slurm_errno", `they become free`},
	{busy, `Partition in DOWN state`, "slurm_errno", `an administrator closed the partition`},
	{busy, `System submissions disabled`, "slurm_errno", `an administrator closed the cluster`},
	{busy, `Waiting for burst buffer`, "slurm_errno", `space becomes free`},
	{busy, `Requested reservation is in use`, "slurm_errno", `it ends`},
	{busy, `Requested reservation not usable now`, "slurm_errno", `it begins`},
	{busy, `maintenance reservation`, "slurm_errno", `it ends`},
	{busy, `breached requested QOS usage threshold`, "slurm_errno", `usage decays`},
	{busy, `Burst Buffer resource limit exceeded`, "slurm_errno", `space becomes free`},
	{busy, `Switch resources currently not available`, "slurm_errno", `they become free`},
	{busy, `Unable to connect to database`, "slurm_errno", `slurmdbd is down`},
	{busy, `Database connection reference is invalid`, "slurm_errno", `slurmdbd is down`},
	{busy, `the DB index is being set`, "slurm_errno", `slurmdbd is late`},
	{busy, `No eligible clusters for federated job`, "slurm_errno", `the others are down`},
	{busy, `Unable to resolve`, "sbatch.c", `the name service is down`},
	{busy, `Can't find an address`, "slurm_errno", `the name service is down`},
	{busy, `Protocol version has changed`, "slurm_errno", `Slurm is being updated`},
	{busy, `Incompatible versions of client and server code`, "slurm_errno", `Slurm is being updated`},
	{busy, `Slurm controller is not running`, "sbatch.c", `nobody listens`},
	{busy, `Memory management error`, "slurm_errno", `the host is short of memory`},
	// The account has no permission.
	{denied, `Invalid account or account/partition combination`, "60-enforce-errors", `no association`},
	{denied, `not permitted to use this partition`, "11-sbatch-errors", `AllowGroups, AllowAccounts, AllowQos`},
	{denied, `Access/permission denied`, "slurm_errno", ``},
	{denied, `Access denied to requested reservation`, "slurm_errno", ``},
	{denied, `Burst Buffer permission denied`, "slurm_errno", ``},
	{denied, `Invalid user id`, "slurm_errno", `slurmctld does not know the account`},
	{denied, `Invalid group id`, "slurm_errno", `slurmctld does not know the group`},
	{denied, `Invalid user ID`, "slurm_errno of 2026", `slurmctld does not know the account`},
	{denied, `Invalid group ID`, "slurm_errno of 2026", `slurmctld does not know the group`},
	{denied, `Invalid or unknown association`, "slurm_errno of 2026", `no association`},
	{denied, `Rejecting authentication of user nobody`, "slurm_errno of 2026", ``},
	{denied, `User not found on host`, "slurm_errno", ``},
	{denied, `Group ID not found on host`, "slurm_errno", ``},
	{denied, `Requested operation not permitted`, "slurm_errno", ``},
	{denied, `Operation not permitted`, "errno(3)", ``},
	{denied, `Invalid authentication credential`, "slurm_errno", ``},
	{denied, `Authentication credential`, "slurm_errno", ``},
	{denied, `Authentication does not apply to request`, "slurm_errno", ``},
	{denied, `QOSNotAllowed`, "acct_policy.c", ``},
	{invalid, `--uid only permitted by root user`, "11-sbatch-errors", ``},
	// The request can never succeed.
	{invalid, `Invalid partition name`, "11-sbatch-errors", ``},
	{invalid, `invalid partition specified`, "11-sbatch-errors", ``},
	{invalid, `No partition specified or system default partition`, "slurm_errno", ``},
	{invalid, `Requested nodes not in this partition`, "slurm_errno", ``},
	{invalid, `Invalid feature specification`, "11-sbatch-errors", ``},
	{invalid, `Invalid preferred feature specification`, "slurm_errno", ``},
	{invalid, `Invalid cluster feature specification`, "slurm_errno", ``},
	{invalid, `Invalid cluster name`, "slurm_errno", ``},
	{invalid, `Invalid generic resource`, "11-sbatch-errors", ``},
	{invalid, `Duplicate generic resource`, "slurm_errno", ``},
	{invalid, `Invalid GRES specification`, "slurm_errno", ``},
	{invalid, `Requested GRES option unsupported`, "slurm_errno", ``},
	{invalid, `Insufficient GRES available`, "slurm_errno", ``},
	{invalid, `Requested node configuration is not available`, "11-sbatch-errors", ``},
	{invalid, `Requested partition configuration not available`, "slurm_errno", `without "now"`},
	{invalid, `Memory specification can not be satisfied`, "11-sbatch-errors", ``},
	{invalid, `Memory required by task is not available`, "slurm_errno", ``},
	{invalid, `CPU count per node can not be satisfied`, "sbatch(1)", ``},
	{invalid, `CPU count specification invalid`, "slurm_errno", ``},
	{invalid, `Task count specification invalid`, "slurm_errno", ``},
	{invalid, `Task distribution specification invalid`, "slurm_errno", ``},
	{invalid, `Requested more tasks than available processors`, "slurm_errno", ``},
	{invalid, `Cannot request more threads per core`, "slurm_errno", ``},
	{invalid, `Unable to satisfy cpu bind request`, "slurm_errno", ``},
	{invalid, `Node count specification invalid`, "60-enforce-errors", `the partition's MaxNodes`},
	{invalid, `More processors requested than permitted`, "60-enforce-errors", `the partition's limits`},
	{invalid, `Job size specification needs to be provided`, "slurm_errno", ``},
	{invalid, `Requested reservation is invalid`, "11-sbatch-errors", ``},
	{invalid, `Requested time limit is invalid`, "11-sbatch-errors", `the partition's MaxTime`},
	{invalid, `Time limit specification required`, "slurm_errno", ``},
	{invalid, `Invalid time-min specification`, "slurm_errno", ``},
	{tooLarge, `Invalid job array specification`, "11-sbatch-errors", `MaxArraySize`},
	{invalid, `Batch script is empty`, "11-sbatch-errors", ``},
	{invalid, `does not look like a batch script`, "11-sbatch-errors", ``},
	{invalid, `DOS line breaks`, "11-sbatch-errors", ``},
	{invalid, `does not allow scripts that`, "sbatch.c", `the script is larger than max_script_size`},
	{invalid, `Invalid directive found in batch script`, "sbatch.c", ``},
	{invalid, `other parameter too long`, "11-sbatch-errors", ``},
	{invalid, `Invalid qos specification`, "60-enforce-errors", ``},
	{invalid, `Invalid QOS specification, relative QOS`, "slurm_errno of 2026", ``},
	{invalid, `Invalid extra constraints specification`, "slurm_errno of 2026", ``},
	{invalid, `RestrictedCoresPerGPU`, "slurm_errno of 2026", ``},
	{invalid, `Requested topology configuration is not available`, "slurm_errno of 2026", ``},
	{invalid, `cannot be submitted without the current working directory`, "slurm_errno of 2026", ``},
	{invalid, `Invalid configuration for external job`, "slurm_errno of 2026", ``},
	{invalid, `Preemption is required but is disabled`, "slurm_errno of 2026", ``},
	{invalid, `Invalid wckey specification`, "slurm_errno", ``},
	{invalid, `Invalid license specification`, "slurm_errno", ``},
	{invalid, `Invalid Trackable RESource`, "slurm_errno", ``},
	{invalid, `Job script not specified`, "slurm_errno", ``},
	{invalid, `Environment is missing in job`, "slurm_errno", ``},
	{invalid, `Invalid time specified`, "slurm_errno", ``},
	{invalid, `Invalid mcs_label specified`, "slurm_errno", ``},
	{invalid, `Burst Buffer request invalid`, "slurm_errno", ``},
	{invalid, `X11 forwarding not available`, "slurm_errno", ``},
	{invalid, `Invalid accounting frequency requested`, "slurm_errno", ``},
	{invalid, `Requires more ports than can be reserved`, "slurm_errno", ``},
	{invalid, `Not a valid federated job`, "slurm_errno", ``},
	{invalid, `Job can not start immediately`, "slurm_errno", `--immediate, in the cluster's options`},
	{invalid, `Circular job dependency`, "slurm_errno", ``},
	{invalid, `Job dependency problem`, "slurm_errno", ``},
	{invalid, `Job --batch option is invalid`, "slurm_errno", ``},
	{invalid, `Multiple partition job request not supported`, "slurm_errno", ``},
	{invalid, `Multiple KNL NUMA`, "slurm_errno", ``},
	{invalid, `Invalid KNL configuration`, "slurm_errno", ``},
	{invalid, `Unable to open file`, "11-sbatch-errors", ``},
	{invalid, `unable to change directory to work directory`, "slurm_errno", ``},
	{invalid, `unrecognized option`, "getopt(3)", ``},
	{invalid, `option requires an argument`, "getopt(3)", ``},
	{invalid, `Invalid --`, "11-sbatch-errors", `an option of sbatch`},
	{invalid, `Invalid argument`, "sbatch.c", ``},
	{invalid, `invalid number of`, "sbatch.c", ``},
	{invalid, `is not valid`, "sbatch.c", ``},
	{invalid, `environment must be set`, "sbatch.c", ``},
	{invalid, `ClusterName needs to be specified`, "11-sbatch-errors", `slurm.conf of this host`},
	{invalid, `Requested operation not supported on this system`, "slurm_errno", ``},
	{invalid, `Only batch jobs are accepted`, "slurm_errno", ``},
	{invalid, `Immediate execution impossible`, "slurm_errno", `--immediate, in the cluster's options`},
	{invalid, `Current SwitchType does not permit`, "slurm_errno", ``},
	{invalid, `Container`, "slurm_errno", `--container, in the cluster's options`},
	{invalid, `Job steps can not be run on this cluster`, "slurm_errno", ``},
	// A limit of an association or QOS that this job exceeds by itself (QOS flag DenyOnLimit).
	{invalid, `AssocGrp`, "acct_policy.c", `more than the whole group may have`},
	{invalid, `AssocMax`, "acct_policy.c", `more than a job may have`},
	{invalid, `QOSGrp`, "acct_policy.c", `more than the whole QOS may have`},
	{invalid, `QOSMax`, "acct_policy.c", `more than a job or user may have`},
	{invalid, `QOSMin`, "acct_policy.c", `less than a job must have`},
	{invalid, `PerAccount`, "acct_policy.c", `more than an account may have`},
}

var kinds = map[answer]jjm.Kind{ambiguous: jjm.Ambiguous, busy: jjm.Busy, denied: jjm.Denied, invalid: jjm.Invalid,
	tooLarge: jjm.Invalid}

// find returns the meaning of a message for a submission; known is false if the message contains no text of the table.
func find(text string) (means answer, known bool) {
	for _, r := range refusals {
		if strings.Contains(text, r.text) {
			return r.means, true
		}
	}
	return ambiguous, false
}

// marked returns the error for a submission of n jobs that was answered with text: its kind and its marks depend on the
// text.
func marked(text string, n int, make func(jjm.Kind) error) error {
	means, known := find(text)
	switch {
	case !known && strings.Contains(text, unexplainedPolicy):
		return adapters.Unexplained(adapters.TooMany(make(jjm.Busy)))
	case !known:
		return adapters.Unexplained(make(jjm.Ambiguous))
	case means == tooMany, means == tooLarge && n > 1:
		return adapters.TooMany(make(jjm.Busy))
	}
	return make(kinds[means])
}
