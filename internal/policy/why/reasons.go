package why

import (
	"cmp"
	"strings"
	"unicode"
)

// Names are the names that a local job has in the batch system, "" if unknown: the QOS and the account that it
// requests, and the user as whom it runs.
type Names struct{ QOS, Account, User string }

// reason is a reason for which Slurm lets a job wait or refuses it. It is in the column REASON of squeue for pending
// jobs, and in front of "Job violates accounting/QOS policy" for refused submissions. In the remedy, QOS, ACCOUNT and
// USER stand for the Names of the local job.
type reason struct {
	word, remedy string
	clears       bool // whether the reason ends by itself
}

// reasons are the reasons that have a remedy, except limits on resources (see onResource). ReqNodeNotAvail is not among
// them, because the end of a reservation clears it.
var reasons = allReasons()

func allReasons() []reason {
	qos, account, user := ownerQOS(), ownerAccount(), ownerUser()
	const usage = "see sacctmgr show association user=USER and sacctmgr show qos"
	return []reason{
		{"AccountNotAllowed", "the partition does not accept the account: change the account or the partition", false},
		{"AccountingPolicy", "it exceeds a limit of its account or QOS that Slurm does not name: ask for less; " + usage,
			false},
		{"AssociationResourceLimit", "it exceeds a limit of its account: ask for less; " + usage, false},
		{"AssociationTimeLimit", "it exceeds a limit of its account on walltime: ask for less; " + usage, false},
		{"BadConstraints", "no node fits what it asks for: change its features, cores or memory", false},
		{"BurstBufferOperation", "an operation on its burst buffer failed: an administrator mends that (scontrol show " +
			"burst), then releases the job", false},
		{"DependencyNeverSatisfied", "what it depends on failed: kill it, or resubmit what it depends on", false},
		{"FrontEndDown", "all front ends are down: an administrator sets them up again (scontrol show frontend)", false},
		{"InvalidAccount", "the account is not known to Slurm: an administrator adds it (sacctmgr add user)", false},
		{"InvalidQOS", "the account may not use the QOS: change the QOS, or let an administrator allow it", false},
		{"MaxMemPerLimit", "it asks for more memory than MaxMemPerCPU or MaxMemPerNode allows: ask for less; scontrol show " +
			"partition shows the limit", false},
		{"NodeDown", "a node that it needs is down: an administrator sets it up again (sinfo -R tells why)", false},
		{"PartitionConfig", "the partition does not allow what it asks for: scontrol show partition shows the limits; ask " +
			"for less, or change the partition", false},
		{"PartitionDown", "the partition is down: an administrator sets it up again (scontrol update partition)", false},
		{"PartitionInactive",
			"the partition is inactive: an administrator sets it up again (scontrol update partition)", false},
		{"PartitionNodeLimit",
			"it asks for more nodes than the partition allows: ask for fewer, or change the partition", false},
		{"PartitionTimeLimit", "it asks for more walltime than the partition allows: ask for less, or change it", false},
		{"QOSNotAllowed", "the partition does not accept the QOS: change the QOS or the partition", false},
		{"QOSResourceLimit", "it exceeds a limit of its QOS: ask for less, or change the QOS; " + usage, false},
		{"QOSTimeLimit", "it exceeds a limit of its QOS on walltime: ask for less, or change the QOS; " + usage, false},
		{"ReservationDeleted", "its reservation no longer exists: submit it again without the reservation", false},
		{"ReservationInvalid", "its reservation is not valid: an administrator of Slurm corrects it (scontrol show " +
			"reservation)", false},
		// The names of acct_policy.c and job_reason_string; the settings of sacctmgr(1).
		wall("AssocMaxWallDurationPerJobLimit", user),
		wall("QOSMaxWallDurationPerJobLimit", qos),
		shared("AssociationJobLimit", account, "GrpJobs", otherJobsEnd),
		shared("QOSJobLimit", qos, "GrpJobs", otherJobsEnd),
		shared("AssocMaxSubmitJobLimit", user, "MaxSubmitJobs", otherJobsEnd),
		shared("AssocGrpSubmitJobsLimit", account, "GrpSubmitJobs", otherJobsEnd),
		shared("QOSMaxSubmitJobPerUserLimit", qos, "MaxSubmitJobsPerUser", otherJobsEnd),
		shared("QOSMaxSubmitJobPerAccountLimit", qos, "MaxSubmitJobsPerAccount", otherJobsEnd),
		shared("MaxSubmitJobsPerAccount", qos, "MaxSubmitJobsPerAccount", otherJobsEnd),
		shared("QOSGrpSubmitJobsLimit", qos, "GrpSubmitJobs", otherJobsEnd),
		shared("AssocMaxJobsLimit", user, "MaxJobs", otherJobsEnd),
		shared("AssocGrpJobsLimit", account, "GrpJobs", otherJobsEnd),
		shared("QOSMaxJobsPerUserLimit", qos, "MaxJobsPerUser", otherJobsEnd),
		shared("MaxJobsPerAccount", qos, "MaxJobsPerAccount", otherJobsEnd),
		shared("QOSGrpJobsLimit", qos, "GrpJobs", otherJobsEnd),
		shared("AssocGrpWallLimit", account, "GrpWall", usageDecays),
		shared("QOSGrpWallLimit", qos, "GrpWall", usageDecays),
		{"QOSUsageThreshold", "the usage of the account has reached UsageThreshold of QOS QOS: it goes on by itself as " +
			"the recorded usage decays, or change its QOS", true},
	}
}

// reasonOf returns the reason that a word names. The bool is false if the word needs no remedy or is unknown.
func reasonOf(word string) (reason, bool) {
	for _, r := range reasons {
		if word == r.word {
			return r, true
		}
	}
	return onResource(word)
}

// adviceOn returns the remedy for a pending reason, "" if none is known or needed. clears is false if the reason stays
// until a person changes something.
func adviceOn(pending string, n Names) (remedy string, clears bool) {
	word, _, _ := strings.Cut(strings.Trim(pending, "()"), ",")
	word, _, _ = strings.Cut(word, " ")
	r, known := reasonOf(word)
	if !known {
		return "", true
	}
	return n.in(r.remedy), r.clears
}

// OnRefusal returns the remedy for the limit on several jobs that a refused submission names in its text, "" if it
// names none.
func OnRefusal(text string, n Names) string {
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return !unicode.IsLetter(c) }) {
		if r, known := reasonOf(word); known && r.clears {
			return n.in(r.remedy)
		}
	}
	return ""
}

// in returns a remedy with the names in it. Without a name, the remedy says that it is the usual one.
func (n Names) in(remedy string) string {
	return strings.NewReplacer("QOS QOS", "QOS "+cmp.Or(n.QOS, "(the usual one)"), "qos QOS", "qos "+cmp.Or(n.QOS, "NAME"),
		"account ACCOUNT", "account "+cmp.Or(n.Account, "(the usual one)"), "account=ACCOUNT",
		"account="+cmp.Or(n.Account, "NAME"), "USER", cmp.Or(n.User, "NAME")).Replace(remedy)
}
