package arc

import (
	"slices"
	"strconv"
	"strings"

	"jjm/internal/gatekeeper/demand"
)

// varPrefix begins the variables that are for jjm.
const varPrefix = "JJM_"

// Words returns the variables that are for jjm and the options of a grami, each with the job-file
// key that it sets. A-REX translates xRSL and ADL to these options.
func Words() []demand.Word {
	return []demand.Word{
		{Name: "JJM_JOB_FILE", Sets: demand.File},
		{Name: "JJM_TYPE", Sets: "type"}, {Name: "JJM_NAME", Sets: "name"}, {Name: "JJM_MODE", Sets: "mode"},
		{Name: "JJM_RESULT", Sets: "result"}, {Name: "JJM_QUEUE", Sets: "request.queue"},
		{Name: "JJM_CLUSTERS", Sets: "clusters"}, {Name: "JJM_OUTPUTS", Sets: "outputs"},
		{Name: "JJM_CREDENTIALS", Sets: "credentials"}, {Name: "JJM_PARAM_NAME", Sets: "params"},

		{Name: "arg", Sets: "inputs, params.command"}, {Name: "env", Sets: "env"}, {Name: "jobname", Sets: "name"},
		{Name: "stdin", Sets: "inputs, params.command"},
		{Name: "stdout", Sets: "params.command, " + demand.Brought},
		{Name: "stderr", Sets: "params.command, " + demand.Brought},
		{Name: "inputfile", Sets: "inputs"}, {Name: "outputfile", Sets: "outputs, " + demand.Brought},
		{Name: "runtime", Sets: "credentials"},
		{Name: "count", Sets: "request.cores, request.memory_mb"}, {Name: "memory", Sets: "request.memory_mb"},
		{Name: "walltime", Sets: "request.walltime"}, {Name: "cputime", Sets: "request.cpu_time, request.walltime"},
		{Name: "disk", Sets: "request.scratch_mb"},
		{Name: "directory", Sets: "inputs, " + demand.Brought}, {Name: "controldir", Sets: demand.Credential},
		{Name: "gridid", Sets: demand.Credential + ", " + demand.Key},

		{Name: "arg_code", Sets: demand.Refused}, {Name: "pre", Sets: demand.Refused}, {Name: "post", Sets: demand.Refused},
		{Name: "virtualmemory", Sets: demand.Refused}, {Name: "numnodes", Sets: demand.Refused},
		{Name: "countpernode", Sets: demand.Refused}, {Name: "exclusivenode", Sets: demand.Refused},
		{Name: "penv_type", Sets: demand.Refused}, {Name: "penv_version", Sets: demand.Refused},
		{Name: "penv_processesperhost", Sets: demand.Refused}, {Name: "penv_threadsperprocess", Sets: demand.Refused},

		// jjm accepts every queue of A-REX. A-REX itself waits for the start time and orders jobs by priority.
		{Name: "queue"}, {Name: "starttime"}, {Name: "priority"}, {Name: "jobid"}, {Name: "gmlog"},
	}
}

// checkRefused adds problems for the options of a grami that jjm cannot honour.
func (r *reader) checkRefused() {
	nodes, per := r.number("numnodes", maxCores), r.number("countpernode", maxCores)
	if n := r.number("count", maxCores); nodes > 1 || per > 0 && n > per {
		r.wrong("countpernode", "a local job of jjm has one node: leave it out, or let it be count")
	}
	if r.g["exclusivenode"] == "true" {
		r.wrong("exclusiveexecution", "jjm cannot request whole nodes: ask for cores with count")
	}
	if r.number("virtualmemory", 1<<62) > 0 {
		r.wrong("virtualmemory", "jjm limits no virtual memory: use memory")
	}
	if code := r.g["arg_code"]; code != "" && code != "0" {
		r.wrong("FailIfExitCodeNotEqualTo", "%.20q: jjm takes only exit code 0 as success", code)
	}
	for name := range r.g {
		switch value := r.g[name]; {
		case strings.HasPrefix(name, "penv_") && value != "" && value != "0" && value != "-1":
			r.wrong("ParallelEnvironment", "%s: jjm has no parallel environments: ask for cores with count", strings.TrimPrefix(name, "penv_"))
		case name == "pre_0_0" || name == "post_0_0":
			r.wrong("executable", "jjm runs one program: call those before and after it from a script")
		}
	}
}

// checkCombined adds problems for options that cannot be combined with a grid job: all options that only a program has
// and, if the grid job comes from a job file (file is set), all settings that the job file itself contains.
func (r *reader) checkCombined(with string, file bool) {
	never := func(field string, said bool) {
		if said {
			r.wrong(field, "cannot be combined with %s", with)
		}
	}
	never("arguments", len(r.g.numbered("arg")) > 1)
	never("stdin", r.g["stdin"] != "" && r.g["stdin"] != devNull)
	for _, name := range r.g.numbered("outputfile") {
		if base := strings.TrimPrefix(name, "/"); base != DefaultTar && name != "/gmlog" && name != "/"+r.g["gmlog"] &&
			!slices.Contains([]string{r.g["stdout"], r.g["stderr"]}, r.g["directory"]+name) &&
			!slices.Contains([]string{r.g["stdout"], r.g["stderr"]}, base) {
			r.wrong("outputFiles", "%q: from a grid job jjm brings back only %s", base, DefaultTar)
		}
	}
	if !file {
		return
	}
	for _, name := range []string{"walltime", "cputime", "memory", "disk"} {
		never(name, r.number(name, 1<<62) > 0)
	}
	never("count", r.number("count", maxCores) > 1)
	for name := range r.env {
		if !strings.HasPrefix(name, "GRID_") { // A-REX itself sets variables with this prefix
			r.wrong("environment", "%s: cannot be combined with %s: set it in the job file's [env]", name, with)
		}
	}
}

// checkUnknown adds problems for variables with jjm's prefix that no function has read.
func (r *reader) checkUnknown() {
	for own := range r.jjmVars {
		name := varPrefix + own
		p := demand.Unknown("environment", name, varPrefix, Words())
		if demand.Known(Words(), name) || strings.HasPrefix(own, "PARAM_") {
			p.Text = name + ": has no meaning for this job"
		}
		r.problems = append(r.problems, p)
	}
	for i := range r.g.numbered("runtime") {
		if option := r.g["runtime_"+strconv.Itoa(i)+"_1"]; option != "" {
			r.wrong("runTimeEnvironment", "%.40q: jjm supports no options of runtime environments", option)
		}
	}
}
