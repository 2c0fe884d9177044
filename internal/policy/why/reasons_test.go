package why_test

import (
	"strings"
	"testing"

	"jjm/internal/jjm"
	"jjm/internal/policy/why"
)

// kinds are the kinds of Slurm's reasons of pending jobs: whether the reason ends by itself, and whether there is
// advice on it.
type kind struct{ clears, advice bool }

// slurmReasons returns the list of Slurm's page job_reason_codes and of its job_state_reason.c, by kind. Reasons of
// jobs that have ended are not in the list, and neither are JobHeldUser, JobHeldAdmin and JobHoldMaxRequeue: such jobs
// are held.
func slurmReasons() map[kind]string {
	return map[kind]string{
		{clears: true}: `BeginTime BurstBufferResources BurstBufferStageIn Cleaning Constraints DeadLine Dependency FedJobLock
			JobArrayTaskLimit Licenses None PowerNotAvail PowerReserved Priority Prolog ReqNodeNotAvail Reservation Resources
			SchedDefer`,
		{clears: true, advice: true}: `AssocGrpBB AssocGrpBBMinutes AssocGrpBBRunMinutes AssocGrpBilling
			AssocGrpBillingMinutes AssocGrpBillingRunMinutes AssocGrpCpuLimit AssocGrpCPUMinutesLimit
			AssocGrpCPURunMinutesLimit AssocGrpEnergy AssocGrpEnergyMinutes AssocGrpEnergyRunMinutes AssocGrpGRES
			AssocGrpGRESMinutes AssocGrpGRESRunMinutes AssocGrpJobsLimit AssocGrpLicense AssocGrpLicenseMinutes
			AssocGrpLicenseRunMinutes AssocGrpMemLimit AssocGrpMemMinutes AssocGrpMemRunMinutes AssocGrpNodeLimit
			AssocGrpNodeMinutes AssocGrpNodeRunMinutes AssocGrpSubmitJobsLimit AssocGrpUnknown AssocGrpUnknownMinutes
			AssocGrpUnknownRunMinutes AssocGrpWallLimit AssocMaxJobsLimit AssocMaxSubmitJobLimit AssociationJobLimit
			MaxBBPerAccount MaxBillingPerAccount MaxCpuPerAccount MaxEnergyPerAccount MaxGRESPerAccount MaxJobsPerAccount
			MaxLicensePerAccount MaxMemoryPerAccount MaxNodePerAccount MaxSubmitJobsPerAccount MaxUnknownPerAccount
			QOSGrpBB QOSGrpBBMinutes QOSGrpBBRunMinutes QOSGrpBilling QOSGrpBillingMinutes QOSGrpBillingRunMinutes
			QOSGrpCpuLimit QOSGrpCPUMinutesLimit QOSGrpCPURunMinutesLimit QOSGrpEnergy QOSGrpEnergyMinutes
			QOSGrpEnergyRunMinutes QOSGrpGRES QOSGrpGRESMinutes QOSGrpGRESRunMinutes QOSGrpJobsLimit QOSGrpLicense
			QOSGrpLicenseMinutes QOSGrpLicenseRunMinutes QOSGrpMemLimit QOSGrpMemoryMinutes QOSGrpMemoryRunMinutes
			QOSGrpNodeLimit QOSGrpNodeMinutes QOSGrpNodeRunMinutes QOSGrpSubmitJobsLimit QOSGrpUnknown QOSGrpUnknownMinutes
			QOSGrpUnknownRunMinutes QOSGrpWallLimit QOSJobLimit QOSMaxBBPerUser QOSMaxBillingPerUser QOSMaxCpuPerUserLimit
			QOSMaxEnergyPerUser QOSMaxGRESPerUser QOSMaxJobsPerUserLimit QOSMaxLicensePerUser QOSMaxMemoryPerUser
			QOSMaxNodePerUserLimit QOSMaxSubmitJobPerUserLimit QOSMaxUnknownPerUser QOSUsageThreshold`,
		{advice: true}: `AccountingPolicy AccountNotAllowed AssocMaxBBMinutesPerJob AssocMaxBBPerJob AssocMaxBBPerNode
			AssocMaxBillingMinutesPerJob AssocMaxBillingPerJob AssocMaxBillingPerNode AssocMaxCpuMinutesPerJobLimit
			AssocMaxCpuPerJobLimit AssocMaxCpuPerNode AssocMaxEnergyMinutesPerJob AssocMaxEnergyPerJob
			AssocMaxEnergyPerNode AssocMaxGRESMinutesPerJob AssocMaxGRESPerJob AssocMaxGRESPerNode
			AssocMaxLicenseMinutesPerJob AssocMaxLicensePerJob AssocMaxMemMinutesPerJob AssocMaxMemPerJob
			AssocMaxMemPerNode AssocMaxNodeMinutesPerJob AssocMaxNodePerJobLimit AssocMaxUnknownMinutesPerJob
			AssocMaxUnknownPerJob AssocMaxUnknownPerNode AssocMaxWallDurationPerJobLimit AssociationResourceLimit
			AssociationTimeLimit BadConstraints BurstBufferOperation DependencyNeverSatisfied FrontEndDown InvalidAccount
			InvalidQOS MaxMemPerLimit NodeDown PartitionConfig PartitionDown PartitionInactive PartitionNodeLimit
			PartitionTimeLimit QOSMaxBBMinutesPerJob QOSMaxBBPerJob QOSMaxBBPerNode QOSMaxBillingMinutesPerJob
			QOSMaxBillingPerJob QOSMaxBillingPerNode QOSMaxCpuMinutesPerJobLimit QOSMaxCpuPerJobLimit QOSMaxCpuPerNode
			QOSMaxEnergyMinutesPerJob QOSMaxEnergyPerJob QOSMaxEnergyPerNode QOSMaxGRESMinutesPerJob QOSMaxGRESPerJob
			QOSMaxGRESPerNode QOSMaxLicenseMinutesPerJob QOSMaxLicensePerJob QOSMaxMemoryMinutesPerJob QOSMaxMemoryPerJob
			QOSMaxMemoryPerNode QOSMaxNodeMinutesPerJob QOSMaxNodePerJobLimit QOSMaxUnknownMinutesPerJob
			QOSMaxUnknownPerJob QOSMaxUnknownPerNode QOSMaxWallDurationPerJobLimit QOSMinBB QOSMinBilling
			QOSMinCpuNotSatisfied QOSMinEnergy QOSMinGRES QOSMinLicense QOSMinMemory QOSMinNode QOSMinUnknown
			QOSNotAllowed QOSResourceLimit QOSTimeLimit ReservationDeleted ReservationInvalid`,
	}
}

// pendingWith returns the cause of a local job that Slurm lets wait for a reason.
func pendingWith(reason string, n why.Names) why.Cause {
	return why.Of(why.Facts{Names: n, Local: &jjm.LocalJob{ID: jjm.LocalID{Grid: 17, N: 3}, State: jjm.Submitted,
		Phase: jjm.Queued, Cluster: "slurm", Waits: &jjm.Waiting{Reason: reason, Source: "squeue"}}})
}

// Each of Slurm's reasons for which jobs are pending ends by itself or has advice. A reason that does not end by itself
// is stuck.
func TestReasons_EachReasonOfSlurmClearsByItselfOrHasAdvice(t *testing.T) {
	for k, words := range slurmReasons() {
		for _, word := range strings.Fields(words) {
			c := pendingWith(word, why.Names{})
			if clears := c.Code == why.Queued; clears != k.clears || (c.Remedy != "") != k.advice {
				t.Errorf("%s: %s, remedy %q: want clears %t, advice %t", word, c.Code, c.Remedy, k.clears, k.advice)
			}
		}
	}
}

// The advice on a limit names the resource, the owner of the limit, and the setting of sacctmgr with its unit.
func TestReasons_TheAdviceOnALimitNamesItsSetting(t *testing.T) {
	names := why.Names{QOS: "ten", Account: "eight", User: "ann"}
	for word, want := range map[string][]string{
		"QOSMaxGRESPerJob": {"it asks for more generic resources than QOS ten allows one job: ask for less",
			"sacctmgr modify qos ten set MaxTRESPerJob=gres/NAME=NUMBER"},
		"AssocMaxCpuMinutesPerJobLimit": {"more cores times walltime than user ann in account eight allows one job",
			"sacctmgr modify user ann where account=eight set MaxTRESMinsPerJob=cpu=NUMBER"},
		"QOSMaxBillingPerNode": {"more billing units than QOS ten allows on one node",
			"sacctmgr modify qos ten set MaxTRESPerNode=billing=NUMBER"},
		"QOSMaxWallDurationPerJobLimit": {"more walltime than QOS ten allows one job",
			"sacctmgr modify qos ten set MaxWall=TIME"},
		"QOSMinCpuNotSatisfied": {"it asks for fewer cores than QOS ten requires of a job: ask for more",
			"sacctmgr modify qos ten set MinTRESPerJob=cpu=NUMBER"},
		"QOSGrpGRES": {"limit GrpTRES=gres/NAME of QOS ten", "as other jobs there end, unless it alone asks for more",
			"sacctmgr modify qos ten set GrpTRES=gres/NAME=NUMBER"},
		"AssocGrpBillingRunMinutes": {"limit GrpTRESRunMins=billing of account eight", "as other jobs there end",
			"sacctmgr modify account eight set GrpTRESRunMins=billing=NUMBER"},
		"AssocGrpGRESMinutes": {"limit GrpTRESMins=gres/NAME of account eight", "as the recorded usage decays",
			"sacctmgr modify account eight set GrpTRESMins=gres/NAME=NUMBER"},
		"QOSMaxLicensePerUser": {"as other jobs there end", "sacctmgr modify qos ten set MaxTRESPerUser=license/NAME=NUMBER"},
		"MaxBBPerAccount":      {"as other jobs there end", "sacctmgr modify qos ten set MaxTRESPerAccount=bb/NAME=NUMBER"},
		"PartitionConfig":      {"scontrol show partition"},
	} {
		c := pendingWith(word, names)
		for _, part := range want {
			if !strings.Contains(c.Remedy, part) {
				t.Errorf("%s: %q: want %q", word, c.Remedy, part)
			}
		}
	}
}
