package globus2

import "jjm/internal/gatekeeper/demand"

// Words returns the assignments that Globus writes, and the variables of the job's environment that are for jjm, each
// with the job-file key that it sets.
func Words() []demand.Word {
	const command, memory = "params.command", "request.memory_mb"
	return []demand.Word{
		{Name: "grami_program", Sets: "inputs, name, params.command"}, {Name: "grami_args", Sets: command},
		{Name: "grami_env", Sets: "credentials, env, " + demand.Credential},
		{Name: "grami_directory", Sets: "inputs, " + demand.Brought},
		{Name: "grami_stdin", Sets: "inputs, params.command"},
		{Name: "grami_stdout", Sets: demand.Brought}, {Name: "grami_stderr", Sets: demand.Brought},
		{Name: "grami_count", Sets: "params.count, request.cores"},
		{Name: "grami_job_type", Sets: "params.count, request.cores"},
		{Name: "grami_queue", Sets: "request.queue"}, {Name: "grami_project", Sets: "request.account"},
		{Name: "grami_max_wall_time", Sets: "request.walltime"}, {Name: "grami_max_time", Sets: "request.walltime"},
		{Name: "grami_max_cpu_time", Sets: "request.cpu_time, request.walltime"},
		{Name: "grami_max_memory", Sets: memory}, {Name: "grami_min_memory", Sets: memory},
		{Name: "grami_uniq_id", Sets: demand.Key},
		{Name: "grami_host_count", Sets: demand.Refused}, {Name: "grami_start_time", Sets: demand.Refused},
		{Name: "grami_reservation_handle", Sets: demand.Refused},
		{Name: "grami_job_id"}, // only present in a poll

		{Name: fileVariable, Sets: demand.File}, {Name: tarPlace, Sets: demand.Brought},
		{Name: onStdout, Sets: demand.Brought},
	}
}
