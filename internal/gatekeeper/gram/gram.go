// Package gram reads the job descriptions of a Globus GRAM5 job manager, in RSL, and translates them to grid jobs. It
// does no I/O; the commands in cmd/jjm-gatekeeper do.
//
// A description with jjm_job_file or jjm_type describes a grid job of jjm. Any other description is an ordinary job
// (executable, arguments, count, environment, stdin), which every job manager accepts. The package promises that
// nothing is ignored: an attribute that jjm cannot honour is an error. If, for example, a request for memory were
// ignored, the job would be killed hours later because it used the memory.
//
// docs/GATEKEEPERS.md lists the attributes.
package gram

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"jjm/internal/gatekeeper"
	"jjm/internal/gatekeeper/demand"
	"jjm/internal/jjm"
)

// DefaultTar is the name that a job's file_stage_out uses for the tar of all outputs.
const DefaultTar = "jjm-output.tar"

// noExecutable is the executable that jjm.rvf sets if the description has none.
const noExecutable = "/dev/null"

// Job is the translated description of a job. Paths are absolute, on the gatekeeper's host.
type Job struct {
	demand.Demand
	// ID is jjm's id of the job, "" if the job was not submitted yet.
	ID string
	// Key is the job manager's unique id of the job. A repeated submission of the job has
	// the same id.
	Key string
	// Contact is the URL by which people know the job.
	Contact string
	// Proxy is the file with the user's proxy certificate, "" if there is none.
	Proxy string
	// Folder is the folder that the job manager keeps for this job.
	Folder string
	// Stdout and Stderr are the paths of the files that GRAM expects, "" if it expects none.
	Stdout, Stderr string
	// Tar is the path where the tar is expected, "" if it is not requested. With TarOnStdout the file Stdout gets the tar
	// instead of a summary.
	Tar         string
	TarOnStdout bool
	// Outputs are the files of an ordinary job that GRAM will stage out.
	Outputs []gatekeeper.Delivery
}

// Read translates a description. The error contains all problems, as jjm.Problems, with the names of the attributes in
// RSL.
func Read(d Description) (Job, error) {
	r := &reader{d: d}
	dir := r.word("directory")
	job := Job{
		ID: r.word("jobid"), Key: r.word("uniq_id"), Contact: r.env("GLOBUS_GRAM_JOB_CONTACT"),
		Proxy:  r.env("X509_USER_PROXY"),
		Folder: r.word("job_dir"), Stdout: r.file("stdout"), Stderr: r.file("stderr"),
		TarOnStdout: r.word("jjm_stdout") == "tar",
	}
	if job.Key == "" {
		r.wrong("uniq_id", "is missing: the job manager sets it")
	}
	if !path.IsAbs(dir) {
		r.wrong("directory", "%q: want an absolute path", dir)
	}
	job.Demand.Folder = dir
	job.Tar = r.tar(dir)
	r.oneHost()
	switch {
	case r.has("jjm_job_file"):
		job.JobFile = r.resolve(dir, r.word("jjm_job_file"))
		r.forbid("jjm_job_file", "jjm_type", "jjm_name", "jjm_mode", "jjm_clusters", "jjm_result", "jjm_cores",
			"jjm_outputs", "jjm_inputs", "jjm_params", "jjm_credentials", "arguments", "queue", "project", "max_wall_time",
			"max_time", "max_cpu_time", "max_memory", "min_memory")
		r.noVariables("jjm_job_file")
		r.noProgram("jjm_job_file")
	case r.has("jjm_type"):
		job.Spec = r.spec()
		r.forbid("jjm_type", "arguments")
		r.noProgram("jjm_type")
	default:
		job.Outputs = r.outputs(dir)
		job.Plain = r.plain(dir, job.Outputs)
		r.forbid("executable", "jjm_mode", "jjm_result", "jjm_outputs", "jjm_inputs", "jjm_params", "jjm_credentials",
			"jjm_stdout")
		if job.Proxy != "" {
			job.Plain.Credentials = []string{jjm.ProxyKind} // an ordinary job gets the proxy, like with every job manager
		}
	}
	r.checkUnknown()
	return job, r.problems.Err()
}

// Deliveries returns the files that GRAM expects when the job is over, except the summary.
func (j *Job) Deliveries() []gatekeeper.Delivery {
	var out []gatekeeper.Delivery
	add := func(name, to string) {
		if to != "" {
			out = append(out, gatekeeper.Delivery{Name: name, To: to})
		}
	}
	switch {
	case j.Plain != nil:
		add("stdout", j.Stdout)
		add("stderr", j.Stderr)
	case j.TarOnStdout:
		add(gatekeeper.WholeTar, j.Stdout)
	}
	if j.Tar != j.Stdout {
		add(gatekeeper.WholeTar, j.Tar)
	}
	return append(out, j.Outputs...)
}

// Summary reports whether the file Stdout gets a summary of the grid job.
func (j *Job) Summary() bool { return j.Plain == nil && !j.TarOnStdout && j.Stdout != "" }

// reader reads the attributes of a description and collects the problems.
type reader struct {
	d        Description
	problems jjm.Problems
}

// wrong adds a problem with an attribute.
func (r *reader) wrong(field, format string, args ...any) {
	r.problems = append(r.problems, jjm.Problem{Field: field, Text: fmt.Sprintf(format, args...)})
}

// values returns the values of an attribute. name is the attribute's name in RSL.
func (r *reader) values(name string) []Value { return r.d[strings.ReplaceAll(name, "_", "")] }

// has reports whether the description has an attribute.
func (r *reader) has(name string) bool { return len(r.values(name)) > 0 }

// word returns the value of an attribute with one word, "" if it is missing. It adds a problem for several words or a
// list.
func (r *reader) word(name string) string {
	switch v := r.values(name); {
	case len(v) == 0:
		return ""
	case len(v) > 1 || v[0].List != nil:
		r.wrong(name, "want one word")
		return ""
	default:
		return v[0].Word
	}
}

// words returns the values of an attribute with several words. It adds a problem for a list.
func (r *reader) words(name string) []string {
	var out []string
	for _, v := range r.values(name) {
		if v.List != nil {
			r.wrong(name, "want words, got a list")
			return nil
		}
		out = append(out, v.Word)
	}
	return out
}

// number returns a whole number from 1 to limit, 0 if the attribute is missing. It adds a problem for any other value.
func (r *reader) number(name string, limit int64) int64 {
	w := r.word(name)
	if w == "" {
		return 0
	}
	n, err := strconv.ParseInt(w, 10, 64)
	if err != nil || n < 1 || n > limit {
		r.wrong(name, "%q: want a whole number from 1 to %d", w, limit)
		return 0
	}
	return n
}

// forbid adds a problem for each named attribute that exists. with is the attribute that excludes the named attributes.
func (r *reader) forbid(with string, names ...string) {
	for _, name := range names {
		if r.has(name) {
			r.wrong(name, "cannot be combined with %s", with)
		}
	}
}

// noProgram adds problems for attributes that only an ordinary job may have. Some attributes always exist with a
// default, and the default is allowed. noProgram also checks the type of the job.
func (r *reader) noProgram(with string) {
	if e := r.word("executable"); e != "" && e != noExecutable {
		r.wrong("executable", "cannot be combined with %s", with)
	}
	if r.stdin() != "" {
		r.wrong("stdin", "cannot be combined with %s", with)
	}
	if n := r.number("count", maxCount); n > 1 {
		r.wrong("count", "cannot be combined with %s", with)
	}
	r.singleType()
}

// noVariables adds problems for variables that the user set, because a job file has its variables in its own [env].
// GRAM itself sets some variables, and SCRATCH_DIRECTORY if the job requests scratch_dir.
func (r *reader) noVariables(with string) {
	for name := range r.environment() {
		switch {
		case slices.Contains(gramVariables(), name), name == "SCRATCH_DIRECTORY", strings.HasPrefix(name, "GLOBUS_"):
		default:
			r.wrong("environment", "%s: cannot be combined with %s: set it in the job file's [env]", name, with)
		}
	}
}

// oneHost adds a problem if a job requests several hosts.
func (r *reader) oneHost() {
	if r.number("host_count", maxCount) > 1 {
		r.wrong("host_count", "a job of jjm runs on one host: use count for several jobs")
	}
}

// singleType reports whether count means cores instead of processes. It adds a problem for
// types of jobs other than single and multiple.
func (r *reader) singleType() bool {
	t := r.word("job_type")
	if t != "" && t != "multiple" && t != "single" {
		r.wrong("job_type", "%q: jjm runs jobs of the types single and multiple", t)
	}
	return t == "single"
}

// file returns the path of standard output or error, "" for /dev/null.
func (r *reader) file(name string) string {
	p := r.word(name)
	if p == "" || p == "/dev/null" {
		return ""
	}
	if !path.IsAbs(p) {
		p = path.Join(r.word("directory"), p)
	}
	return path.Clean(p)
}

// resolve returns the absolute path of a file of the job. p is a path, or a URL that begins with "file://"; it is
// relative to dir unless absolute.
func (r *reader) resolve(dir, p string) string {
	if p = strings.TrimPrefix(p, "file://"); path.IsAbs(p) {
		return path.Clean(p)
	}
	return path.Join(dir, p)
}

// outputs returns the files that GRAM stages out when an ordinary job is over and that jjm must bring from the worker.
// It leaves out standard output and error, the tar, and files that are not directly in the job's directory, because the
// job does not make such files.
func (r *reader) outputs(dir string) []gatekeeper.Delivery {
	var out []gatekeeper.Delivery
	for _, pair := range r.values("file_stage_out") {
		if len(pair.List) != 2 {
			continue
		}
		to := r.resolve(dir, pair.List[0].Word)
		stream := to == r.file("stdout") || to == r.file("stderr")
		if path.Dir(to) == path.Clean(dir) && path.Base(to) != DefaultTar && !stream {
			out = append(out, gatekeeper.Delivery{Name: path.Base(to), To: to})
		}
	}
	return out
}

// tar returns the path where the tar is expected: the path of the file named jjm-output.tar among the files that GRAM
// stages out.
func (r *reader) tar(dir string) string {
	for _, name := range []string{"file_stage_out", "file_stream_out"} {
		for _, pair := range r.values(name) {
			if len(pair.List) == 2 && path.Base(pair.List[0].Word) == DefaultTar {
				return r.resolve(dir, pair.List[0].Word)
			}
		}
	}
	return ""
}

// env returns the value of a variable of the environment, "" if it is missing.
func (r *reader) env(name string) string {
	for _, pair := range r.values("environment") {
		if len(pair.List) == 2 && pair.List[0].Word == name {
			return pair.List[1].Word
		}
	}
	return ""
}

// request returns the resources that the job needs. GRAM uses minutes and MB. The wall time is max_wall_time, or else
// max_time, or else max_cpu_time; the memory is the larger of max_memory and min_memory.
func (r *reader) request() jjm.Request {
	minutes := r.number("max_wall_time", maxMinutes)
	if minutes == 0 {
		minutes = r.number("max_time", maxMinutes)
	}
	cpu := r.number("max_cpu_time", maxMinutes)
	if minutes == 0 {
		minutes = cpu
	}
	memory := max(r.number("max_memory", maxMemory), r.number("min_memory", maxMemory))
	return jjm.Request{
		Cores: int(r.number("jjm_cores", maxCores)), MemoryMB: memory,
		Walltime: jjm.Duration(time.Duration(minutes) * time.Minute),
		CPUTime:  jjm.Duration(time.Duration(cpu) * time.Minute),
		Queue:    r.word("queue"), Account: r.word("project"),
	}
}

// The limits of job files (docs/JOB-FILES.md), in GRAM's units.
const (
	maxMinutes = 8760 * 60
	maxMemory  = 16777216
	maxCores   = 4096
	maxCount   = 100000
)

// clusters returns the clusters that may be used.
func (r *reader) clusters() []string { return r.words("jjm_clusters") }
