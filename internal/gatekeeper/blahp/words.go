package blahp

import (
	"maps"
	"slices"
	"strings"

	"jjm/internal/gatekeeper/demand"
)

// reqPrefix begins the requirements that are for jjm.
const reqPrefix = "jjm_"

// Words returns the options of the submit script and the requirements that are for jjm,
// each with the job-file key that it sets.
func Words() []demand.Word {
	const command, cores = "params.command", "request.cores"
	return []demand.Word{
		{Name: "-c", Sets: "inputs, name, params.command"}, {Name: "-s", Sets: "inputs, params.command"},
		{Name: "--", Sets: command}, {Name: "-i", Sets: "inputs, params.command"},
		{Name: "-o", Sets: "params.command, " + demand.Brought},
		{Name: "-e", Sets: "params.command, " + demand.Brought},
		{Name: "-w", Sets: "inputs, " + demand.Brought}, {Name: "-v", Sets: "env"}, {Name: "-V", Sets: "env"},
		{Name: "-I", Sets: "inputs"}, {Name: "-O", Sets: "outputs, " + demand.Brought}, {Name: "-R", Sets: demand.Brought},
		{Name: "-q", Sets: "clusters, request.queue"}, {Name: "-A", Sets: "request.account"},
		{Name: "-n", Sets: cores}, {Name: "-S", Sets: cores}, {Name: "-N", Sets: cores}, {Name: "-z", Sets: cores},
		{Name: "-m", Sets: "request.memory_mb"}, {Name: "-t", Sets: "request.walltime"}, {Name: "-g", Sets: "request.gpus"},
		{Name: "-a", Sets: "request.directives"}, {Name: "-x", Sets: "credentials, " + demand.Credential},
		{Name: "-u", Sets: demand.Subject}, {Name: "-D", Sets: demand.Key}, {Name: "-j", Sets: demand.Key},
		{Name: "-h", Sets: demand.Refused}, {Name: "-M", Sets: demand.Refused}, {Name: "-G", Sets: demand.Refused},
		{Name: "-P", Sets: demand.Refused},
		{Name: "-C"}, // the file with the requirements

		// blahp itself uses the following options, for its proxy renewal, which jjm replaces by its own, its scratch files
		// and its debugging.
		{Name: "-d"}, {Name: "-l"}, {Name: "-p"}, {Name: "-r"}, {Name: "-T"},

		{Name: reqCluster, Sets: "clusters"}, {Name: reqQOS, Sets: "request.qos"},
		{Name: reqScratch, Sets: "request.scratch_mb"}, {Name: reqTar, Sets: demand.Brought},
		{Name: reqJobFile, Sets: demand.File},
	}
}

// checkUnknown adds problems for requirements that have jjm's prefix but do not exist. Other requirements are for other
// programs.
func (t *translation) checkUnknown() {
	for _, name := range slices.Sorted(maps.Keys(t.lists.Requirements)) {
		if strings.HasPrefix(name, reqPrefix) && !demand.Known(Words(), name) {
			t.problems = append(t.problems, demand.Unknown("requirements", name, reqPrefix, Words()))
		}
	}
}

// checkWithJobFile adds problems for options that cannot be combined with a job file. Requests for memory, time and so
// on are ignored without a problem: the route of a computing element may add such requests to all jobs, and the job
// file's own requests count.
func (t *translation) checkWithJobFile() {
	const text = "cannot be combined with " + reqJobFile
	for _, name := range []string{reqCluster, reqQOS, reqScratch} {
		if t.lists.Requirements[name] != "" {
			t.bad(name, text)
		}
	}
	if len(t.Arguments) > 0 {
		t.bad("arguments", text)
	}
	if t.stdin() != "" {
		t.bad("-i", text)
	}
}
