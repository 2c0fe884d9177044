package gram

import (
	"strings"

	"jjm/internal/gatekeeper/demand"
)

// Words returns the known RSL attributes, each with the job-file key that it sets.
func Words() []demand.Word {
	const command, memory = "params.command", "request.memory_mb"
	return []demand.Word{
		{Name: "jjm_job_file", Sets: demand.File},
		{Name: "jjm_type", Sets: "type"}, {Name: "jjm_name", Sets: "name"}, {Name: "jjm_mode", Sets: "mode"},
		{Name: "jjm_result", Sets: "result"}, {Name: "jjm_clusters", Sets: "clusters"},
		{Name: "jjm_cores", Sets: "request.cores"}, {Name: "jjm_outputs", Sets: "outputs"},
		{Name: "jjm_inputs", Sets: "inputs"}, {Name: "jjm_params", Sets: "params"},
		{Name: "jjm_credentials", Sets: "credentials"}, {Name: "jjm_stdout", Sets: demand.Brought},

		{Name: "executable", Sets: "inputs, params.command"}, {Name: "arguments", Sets: command},
		{Name: "environment", Sets: "credentials, env, " + demand.Credential},
		{Name: "stdin", Sets: "inputs, params.command"},
		{Name: "stdout", Sets: demand.Brought}, {Name: "stderr", Sets: demand.Brought},
		{Name: "count", Sets: "params.count, request.cores"}, {Name: "job_type", Sets: "params.count, request.cores"},
		{Name: "queue", Sets: "request.queue"}, {Name: "project", Sets: "request.account"},
		{Name: "max_wall_time", Sets: "request.walltime"}, {Name: "max_time", Sets: "request.walltime"},
		{Name: "max_cpu_time", Sets: "request.cpu_time, request.walltime"},
		{Name: "max_memory", Sets: memory}, {Name: "min_memory", Sets: memory},
		{Name: "directory", Sets: "inputs, " + demand.Brought},
		{Name: "file_stage_in", Sets: "inputs"}, {Name: "file_stage_in_shared", Sets: "inputs"},
		{Name: "file_stage_out", Sets: "outputs, " + demand.Brought},
		{Name: "host_count", Sets: demand.Refused},

		// The job manager itself acts on the following attributes. They are the attributes of GRAM5.
		{Name: "dry_run"}, {Name: "expiration"}, {Name: "file_clean_up"},
		{Name: "gass_cache"}, {Name: "gram_my_job"}, {Name: "library_path"},
		{Name: "loglevel"}, {Name: "logpattern"}, {Name: "proxy_timeout"}, {Name: "remote_io_url"}, {Name: "restart"},
		{Name: "restartcontacts"}, {Name: "rsl_substitution"}, {Name: "save_state"}, {Name: "savejobdescription"},
		{Name: "scratch_dir"}, {Name: "stderr_position"}, {Name: "stdout_position"}, {Name: "two_phase"},
		{Name: "username"},
	}
}

// ownPrefix begins the attributes that are for jjm.
const ownPrefix = "jjm_"

// stagedIn is an attribute that jjm.pm adds: the files that GRAM has staged in. GRAM itself removes file_stage_in from
// the description before it submits the job.
const stagedIn = "jjm_staged_in"

// checkUnknown adds problems for attributes that have jjm's prefix but do not exist. GRAM itself refuses other unknown
// attributes, and adds some attributes that are not in the list.
func (r *reader) checkUnknown() {
	plain := func(name string) string { return strings.ReplaceAll(name, "_", "") }
	known := map[string]bool{plain(stagedIn): true}
	for _, w := range Words() {
		known[plain(w.Name)] = true
	}
	for name := range r.d {
		if strings.HasPrefix(name, plain(ownPrefix)) && !known[name] {
			r.problems = append(r.problems, demand.Unknown(name, name, ownPrefix, Words()))
		}
	}
}
