package why

import (
	"cmp"
	"slices"
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

// reasons are the reasons that have a remedy. ReqNodeNotAvail is not among them, because the end of a reservation
// clears it.
var reasons = allReasons()

func allReasons() []reason {
	const asks = "sacctmgr modify "
	limit := func(word, of, ends, setting string) reason {
		who := map[string]string{"qos QOS": "QOS QOS", "account ACCOUNT": "account ACCOUNT",
			"user USER where account=ACCOUNT": "user USER in account ACCOUNT"}[of]
		return reason{word, "limit " + setting + " of " + who + ": it goes on by itself as " + ends +
			"; to raise the limit, an administrator of Slurm runs " + asks + of + " set " + setting + "=NUMBER", true}
	}
	const qos, account, user = "qos QOS", "account ACCOUNT", "user USER where account=ACCOUNT"
	const jobs, usage = "other jobs there end", "the recorded usage decays"
	return []reason{
		{"AccountNotAllowed", "the partition does not accept the account: change the account or the partition", false},
		{"BadConstraints", "no node fits what it asks for: change its features, cores or memory", false},
		{"DependencyNeverSatisfied", "what it depends on failed: kill it, or resubmit what it depends on", false},
		{"InvalidAccount", "the account is not known to Slurm: an administrator adds it (sacctmgr add user)", false},
		{"InvalidQOS", "the account may not use the QOS: change the QOS, or let an administrator allow it", false},
		{"PartitionDown", "the partition is down: an administrator sets it up again (scontrol update partition)", false},
		{"PartitionInactive",
			"the partition is inactive: an administrator sets it up again (scontrol update partition)", false},
		{"PartitionNodeLimit",
			"it asks for more nodes than the partition allows: ask for fewer, or change the partition", false},
		{"PartitionTimeLimit", "it asks for more walltime than the partition allows: ask for less, or change it", false},
		{"QOSNotAllowed", "the partition does not accept the QOS: change the QOS or the partition", false},
		// The names of acct_policy.c and job_reason_string; the settings of sacctmgr(1).
		limit("AssocMaxSubmitJobLimit", user, jobs, "MaxSubmitJobs"),
		limit("AssocGrpSubmitJobsLimit", account, jobs, "GrpSubmitJobs"),
		limit("QOSMaxSubmitJobPerUserLimit", qos, jobs, "MaxSubmitJobsPerUser"),
		limit("QOSMaxSubmitJobPerAccountLimit", qos, jobs, "MaxSubmitJobsPerAccount"),
		limit("MaxSubmitJobsPerAccount", qos, jobs, "MaxSubmitJobsPerAccount"),
		limit("QOSGrpSubmitJobsLimit", qos, jobs, "GrpSubmitJobs"),
		limit("AssocMaxJobsLimit", user, jobs, "MaxJobs"),
		limit("AssocGrpJobsLimit", account, jobs, "GrpJobs"),
		limit("QOSMaxJobsPerUserLimit", qos, jobs, "MaxJobsPerUser"),
		limit("MaxJobsPerAccount", qos, jobs, "MaxJobsPerAccount"),
		limit("QOSGrpJobsLimit", qos, jobs, "GrpJobs"),
		limit("AssocGrpCpuLimit", account, jobs, "GrpTRES=cpu"),
		limit("AssocGrpMemLimit", account, jobs, "GrpTRES=mem"),
		limit("AssocGrpNodeLimit", account, jobs, "GrpTRES=node"),
		limit("QOSGrpCpuLimit", qos, jobs, "GrpTRES=cpu"),
		limit("QOSGrpMemLimit", qos, jobs, "GrpTRES=mem"),
		limit("QOSGrpNodeLimit", qos, jobs, "GrpTRES=node"),
		limit("QOSMaxCpuPerUserLimit", qos, jobs, "MaxTRESPerUser=cpu"),
		limit("QOSMaxMemoryPerUser", qos, jobs, "MaxTRESPerUser=mem"),
		limit("QOSMaxNodePerUserLimit", qos, jobs, "MaxTRESPerUser=node"),
		limit("MaxCpuPerAccount", qos, jobs, "MaxTRESPerAccount=cpu"),
		limit("MaxMemoryPerAccount", qos, jobs, "MaxTRESPerAccount=mem"),
		limit("AssocGrpCPURunMinutesLimit", account, jobs, "GrpTRESRunMins=cpu"),
		limit("QOSGrpCPURunMinutesLimit", qos, jobs, "GrpTRESRunMins=cpu"),
		limit("AssocGrpCPUMinutesLimit", account, usage, "GrpTRESMins=cpu"),
		limit("QOSGrpCPUMinutesLimit", qos, usage, "GrpTRESMins=cpu"),
		limit("AssocGrpWallLimit", account, usage, "GrpWall"),
		limit("QOSGrpWallLimit", qos, usage, "GrpWall"),
	}
}

// adviceOn returns the remedy for a pending reason, "" if none is known or needed. clears is false if the reason stays
// until a person changes something. Reasons about limits on a single job also stay. Slurm calls such limits
// QOSMaxWallDurationPerJobLimit, AssocMaxCpuPerJobLimit and the like.
func adviceOn(pending string, n Names) (remedy string, clears bool) {
	word, _, _ := strings.Cut(strings.Trim(pending, "()"), ",")
	word, _, _ = strings.Cut(word, " ")
	for _, r := range reasons {
		if word == r.word {
			return n.in(r.remedy), r.clears
		}
	}
	of, perJob := limitPerJob(word)
	if !perJob {
		return "", true
	}
	return "it asks for more than " + of + " allows one job: ask for less, or let an administrator raise the limit",
		false
}

// OnRefusal returns the remedy for the limit that a refused submission names in its text, "" if it names none.
func OnRefusal(text string, n Names) string {
	words := strings.FieldsFunc(text, func(c rune) bool { return !unicode.IsLetter(c) })
	for _, r := range reasons {
		if r.clears && slices.Contains(words, r.word) {
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
