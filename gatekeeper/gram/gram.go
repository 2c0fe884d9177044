// Package gram speaks with a Globus GRAM5 job manager: it reads the description
// of a job, RSL, and says what grid job it asks for. It is pure; the commands in
// cmd/jjm-gatekeeper act.
//
// A description with jjm_job_file or jjm_type is a grid job of jjm; any other is
// an ordinary job - executable, arguments, count, environment, stdin - as every
// job manager takes it. What jjm cannot honour is refused, never passed over: a
// job whose memory was not asked for would be killed for it hours later.
//
// docs/GATEKEEPERS.md lists the attributes.
package gram

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"jjm"
	"jjm/gatekeeper"
	"jjm/gatekeeper/demand"
)

// DefaultTar is the name of the tar that a job's file_stage_out may name.
const DefaultTar = "jjm-output.tar"

// noExecutable is what jjm.rvf gives a description without executable.
const noExecutable = "/dev/null"

// Job is what a description asks for. Paths are absolute, on the gatekeeper's
// host.
type Job struct {
	demand.Demand
	// ID is the job's id at jjm, once it was submitted.
	ID string
	// Key is the job manager's unique id of the job: the same job again has it
	// again.
	Key string
	// Contact is the job's URL, by which people know it.
	Contact string
	// Proxy is the file of the user's proxy certificate, "" if there is none.
	Proxy string
	// Folder is the job manager's own of this job.
	Folder string
	// Stdout and Stderr are the files that GRAM expects; "" means that nobody
	// wants it.
	Stdout, Stderr string
	// Tar is where the tar is expected; "" if nothing asks for it. With
	// TarOnStdout it is Stdout's content instead of a summary.
	Tar         string
	TarOnStdout bool
	// Outputs are the files of an ordinary job that GRAM will stage out.
	Outputs []gatekeeper.Delivery
}

// Read says what a description asks for. The error holds every problem, as
// jjm.Problems, with the attributes' names as RSL writes them.
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
	switch {
	case r.has("jjm_job_file"):
		job.JobFile = r.below(dir, r.word("jjm_job_file"))
		r.forbid("jjm_job_file", "jjm_type", "jjm_name", "jjm_mode", "jjm_clusters", "jjm_result", "jjm_cores",
			"jjm_outputs", "jjm_inputs", "jjm_params", "jjm_credentials", "arguments", "queue", "project", "max_wall_time",
			"max_time",
			"max_memory", "min_memory")
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
			job.Plain.Credentials = []string{jjm.ProxyKind} // as every job manager
		}
	}
	return job, r.problems.Err()
}

// Deliveries are the files that GRAM expects of the job when it is over, beside
// the summary.
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

// Summary reports whether standard output is a summary of the grid job.
func (j *Job) Summary() bool { return j.Plain == nil && !j.TarOnStdout && j.Stdout != "" }

// reader reads attributes and keeps what is wrong with them.
type reader struct {
	d        Description
	problems jjm.Problems
}

func (r *reader) wrong(field, format string, args ...any) {
	r.problems = append(r.problems, jjm.Problem{Field: field, Text: fmt.Sprintf(format, args...)})
}

// values returns an attribute by its name as RSL writes it.
func (r *reader) values(name string) []Value { return r.d[strings.ReplaceAll(name, "_", "")] }

func (r *reader) has(name string) bool { return len(r.values(name)) > 0 }

// word reads an attribute of one word; "" if it is not there.
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

// words reads an attribute of words.
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

// whole reads a whole number from 1 to most; 0 if it is not there.
func (r *reader) whole(name string, most int64) int64 {
	w := r.word(name)
	if w == "" {
		return 0
	}
	n, err := strconv.ParseInt(w, 10, 64)
	if err != nil || n < 1 || n > most {
		r.wrong(name, "%q: want a whole number from 1 to %d", w, most)
		return 0
	}
	return n
}

// forbid refuses attributes that mean nothing beside another.
func (r *reader) forbid(with string, names ...string) {
	for _, name := range names {
		if r.has(name) {
			r.wrong(name, "cannot stand beside %s", with)
		}
	}
}

// noProgram refuses what only an ordinary job has. Some of it is always there,
// by default.
func (r *reader) noProgram(with string) {
	if e := r.word("executable"); e != "" && e != noExecutable {
		r.wrong("executable", "cannot stand beside %s", with)
	}
	if r.stdin() != "" {
		r.wrong("stdin", "cannot stand beside %s", with)
	}
	if n := r.whole("count", maxCount); n > 1 {
		r.wrong("count", "cannot stand beside %s", with)
	}
}

// file reads the path of standard output or error; /dev/null is "".
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

// below resolves a path of the job.
func (r *reader) below(dir, p string) string {
	if p = strings.TrimPrefix(p, "file://"); path.IsAbs(p) {
		return path.Clean(p)
	}
	return path.Join(dir, p)
}

// outputs are the files that GRAM stages out when an ordinary job is over: jjm
// brings them from the worker. Those elsewhere than in the job's directory are
// none of the job's.
func (r *reader) outputs(dir string) []gatekeeper.Delivery {
	var out []gatekeeper.Delivery
	for _, pair := range r.values("file_stage_out") {
		if len(pair.List) != 2 {
			continue
		}
		to := r.below(dir, pair.List[0].Word)
		stream := to == r.file("stdout") || to == r.file("stderr")
		if path.Dir(to) == path.Clean(dir) && path.Base(to) != DefaultTar && !stream {
			out = append(out, gatekeeper.Delivery{Name: path.Base(to), To: to})
		}
	}
	return out
}

// tar finds where the tar is expected: the file named jjm-output.tar among those
// to be staged out.
func (r *reader) tar(dir string) string {
	for _, name := range []string{"file_stage_out", "file_stream_out"} {
		for _, pair := range r.values(name) {
			if len(pair.List) == 2 && path.Base(pair.List[0].Word) == DefaultTar {
				return r.below(dir, pair.List[0].Word)
			}
		}
	}
	return ""
}

// env reads one variable of the environment.
func (r *reader) env(name string) string {
	for _, pair := range r.values("environment") {
		if len(pair.List) == 2 && pair.List[0].Word == name {
			return pair.List[1].Word
		}
	}
	return ""
}

// request reads what the job needs. GRAM counts in minutes and MB.
func (r *reader) request() jjm.Request {
	minutes := r.whole("max_wall_time", maxMinutes)
	if minutes == 0 {
		minutes = r.whole("max_time", maxMinutes)
	}
	cpu := r.whole("max_cpu_time", maxMinutes)
	if minutes == 0 {
		minutes = cpu
	}
	memory := max(r.whole("max_memory", maxMemory), r.whole("min_memory", maxMemory))
	return jjm.Request{
		Cores: int(r.whole("jjm_cores", maxCores)), MemoryMB: memory,
		Walltime: jjm.Duration(time.Duration(minutes) * time.Minute),
		CPUTime:  jjm.Duration(time.Duration(cpu) * time.Minute),
		Queue:    r.word("queue"), Account: r.word("project"),
	}
}

// The bounds of job files (docs/JOB-FILES.md), in GRAM's units.
const (
	maxMinutes = 8760 * 60
	maxMemory  = 16777216
	maxCores   = 4096
	maxCount   = 100000
)

// clusters reads the clusters that may be used.
func (r *reader) clusters() []string { return r.words("jjm_clusters") }
