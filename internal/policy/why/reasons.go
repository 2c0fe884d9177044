package why

import "strings"

// never lists the pending reasons of Slurm (squeue, column REASON) that stay until a person changes something, each
// with its remedy. ReqNodeNotAvail is not among them, because the end of a reservation clears it.
var never = []struct{ reason, remedy string }{
	{"AccountNotAllowed", "the partition does not accept the account: change the account or the partition"},
	{"BadConstraints", "no node fits what it asks for: change its features, cores or memory"},
	{"DependencyNeverSatisfied", "what it depends on failed: kill it, or resubmit what it depends on"},
	{"InvalidAccount", "the account is not known to Slurm: an administrator adds it (sacctmgr add user)"},
	{"InvalidQOS", "the account may not use the QOS: change the QOS, or let an administrator allow it"},
	{"PartitionDown", "the partition is down: an administrator sets it up again (scontrol update partition)"},
	{"PartitionInactive", "the partition is inactive: an administrator sets it up again (scontrol update partition)"},
	{"PartitionNodeLimit", "it asks for more nodes than the partition allows: ask for fewer, or change the partition"},
	{"PartitionTimeLimit", "it asks for more walltime than the partition allows: ask for less, or change it"},
	{"QOSNotAllowed", "the partition does not accept the QOS: change the QOS or the partition"},
}

// neverClears reports whether a pending reason stays until a person changes something, and returns the remedy. Reasons
// about limits on a single job also stay. Slurm calls such limits QOSMaxWallDurationPerJobLimit, AssocMaxCpuPerJobLimit
// and the like.
func neverClears(reason string) (remedy string, stays bool) {
	word, _, _ := strings.Cut(strings.Trim(reason, "()"), ",")
	word, _, _ = strings.Cut(word, " ")
	for _, n := range never {
		if word == n.reason {
			return n.remedy, true
		}
	}
	of, perJob := limitPerJob(word)
	if !perJob {
		return "", false
	}
	return "it asks for more than " + of + " allows one job: ask for less, or let an administrator raise the limit",
		true
}

// limitPerJob reports whether a reason is a limit on the size of one job, and returns the owner of the limit.
func limitPerJob(word string) (of string, yes bool) {
	limit := strings.Contains(word, "PerJob")
	switch {
	case limit && strings.HasPrefix(word, "QOS"):
		return "its QOS", true
	case limit && strings.HasPrefix(word, "Assoc"):
		return "its association", true
	}
	return "", false
}
