// Package arc speaks with A-REX, the job service of ARC: it reads the file in
// which A-REX describes a job to its batch system, says what grid job that asks
// for, and writes what A-REX and its accounting want to know of the end. It is
// pure; the commands in cmd/jjm-gatekeeper act.
//
// A job whose environment has JJM_JOB_FILE or JJM_TYPE is a grid job of jjm; any
// other is an ordinary job, as every batch system takes it. What jjm cannot
// honour is refused, never passed over.
//
// docs/GATEKEEPERS.md lists the variables.
package arc

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"jjm"
	"jjm/gatekeeper"
	"jjm/gatekeeper/demand"
	"jjm/gatekeeper/plain"
)

// DefaultTar is the name of the tar that a job's output files may name.
const DefaultTar = "jjm-output.tar"

// The bounds of job files (docs/JOB-FILES.md).
const (
	maxCores  = 4096
	maxMemory = 16777216
)

// Job is what a grami asks for. Paths are absolute.
type Job struct {
	demand.Demand
	// ID is the job's id at jjm, once it was submitted.
	ID string
	// GridID is the job's id at A-REX: the same job again has it again.
	GridID string
	// URL is the job's, by which people know it.
	URL string
	// Directory is the session folder of the job, ControlDir A-REX's own folder.
	Directory, ControlDir string
	// Stdout and Stderr are the files that the user asked for; "" means that
	// nobody wants it. Both may be one.
	Stdout, Stderr string
	// Proxy is where A-REX keeps the proxy of the job's user, if there is one.
	Proxy string
	// ProxyStamp tells which content of that file jjm has: ours, in the grami.
	ProxyStamp string
	// Tar is where the tar is expected; "" if nothing asks for it.
	Tar string
	// Outputs are the files of an ordinary job that A-REX gives to the user.
	Outputs []gatekeeper.Delivery
}

// Read says what a grami asks for. The error holds every problem, as
// jjm.Problems, with the names of xRSL.
func Read(g Grami) (Job, error) {
	r := &reader{g: g, env: map[string]string{}, ours: map[string]string{}}
	r.environment()
	job := Job{
		ID: g["jobid"], GridID: g["gridid"], URL: r.env["GRID_GLOBAL_JOBURL"], Directory: g["directory"],
		ControlDir: g["controldir"],
	}
	if job.GridID == "" {
		r.wrong("gridid", "is missing: A-REX sets it")
	}
	if !path.IsAbs(job.Directory) {
		r.wrong("directory", "%q: want an absolute path", job.Directory)
	}
	job.Folder = job.Directory
	job.Stdout, job.Stderr = r.stream(job.Directory, "stdout"), r.stream(job.Directory, "stderr")
	if slices.Contains(g.numbered("outputfile"), "/"+DefaultTar) {
		job.Tar = path.Join(job.Directory, DefaultTar)
	}
	r.runtimes()
	r.demand(&job)
	job.ProxyStamp = g[proxyStamp]
	job.Proxy = path.Join(job.ControlDir, "job."+job.GridID+".proxy")
	r.unknown()
	return job, r.problems.Err()
}

// proxyStamp is the name of a line of jjm's own in a grami.
const proxyStamp = "jjm_proxy"

// ProxyStampLine writes it; of several the last one counts. A stamp is of letters,
// digits and dashes.
func ProxyStampLine(stamp string) string { return "joboption_" + proxyStamp + "=" + stamp + "\n" }

// DelegationFile is where A-REX keeps a delegated credential, below its control
// folder: its id, cut after each three characters while more than four are left.
// It is "" for what is no id: that is the user's word.
func DelegationFile(id string) string {
	if len(id) < 4 || len(id) > 64 || strings.Trim(id, "0123456789abcdef") != "" {
		return ""
	}
	file := "delegations"
	for ; len(id) > 4; id = id[3:] {
		file += "/" + id[:3]
	}
	return file + "/" + id
}

// Foreign are the delegations that a job's job.ID.local names and that A-REX does not
// keep for it. The file is the user's: nothing is read because of it.
func Foreign(local string, kept []string) (ids []string) {
	for line := range strings.Lines(local) {
		name, id, _ := strings.Cut(strings.TrimSpace(line), "=")
		if name == "delegationid" && id != "" && !slices.Contains(kept, id) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Remark says of a job that it names delegations which are not its own, "" if it
// names none.
func Remark(job string, foreign []string) string {
	if len(foreign) == 0 {
		return ""
	}
	text := fmt.Sprintf("job.%.64s.local, which its user can write, names delegation %.40q", job, foreign[0])
	if n := len(foreign) - 1; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text + ": A-REX does not keep it for this job, so it is not used"
}

// Deliveries are the files that belong into the session folder when the job is
// over, beside the summary.
func (j *Job) Deliveries() []gatekeeper.Delivery {
	var out []gatekeeper.Delivery
	if j.Plain != nil {
		if j.Stdout != "" {
			out = append(out, gatekeeper.Delivery{Name: "stdout", To: j.Stdout})
		}
		if j.Stderr != "" && j.Stderr != j.Stdout {
			out = append(out, gatekeeper.Delivery{Name: "stderr", To: j.Stderr})
		}
	}
	if j.Tar != "" {
		out = append(out, gatekeeper.Delivery{Name: gatekeeper.WholeTar, To: j.Tar})
	}
	return append(out, j.Outputs...)
}

// Summary reports whether standard output is a summary of the grid job.
func (j *Job) Summary() bool { return j.Plain == nil && j.Stdout != "" }

type reader struct {
	g Grami
	// env is what the application gets; ours are jjm's own variables, without
	// their prefix.
	env, ours map[string]string
	proxy     bool // the job asks for the user's proxy
	problems  jjm.Problems
}

func (r *reader) wrong(field, format string, args ...any) {
	r.problems = append(r.problems, jjm.Problem{Field: field, Text: fmt.Sprintf(format, args...)})
}

// environment parts the variables.
func (r *reader) environment() {
	for _, line := range r.g.numbered("env") {
		name, value, ok := strings.Cut(line, "=")
		switch own, ours := strings.CutPrefix(name, "JJM_"); {
		case !ok || name == "":
			r.wrong("environment", "%.40q: want NAME=VALUE", line)
		case ours:
			r.ours[own] = value
		case strings.HasPrefix(name, "GBS_"):
			r.wrong("environment", "%s: names with GBS_ in front are jjm's own", name)
		default:
			r.env[name] = value
		}
	}
}

// take returns one of jjm's own variables, which is then known.
func (r *reader) take(name string) string {
	value := r.ours[name]
	delete(r.ours, name)
	return value
}

// list returns one of jjm's own variables as words; nil if it is not there.
func (r *reader) list(name string) []string {
	if value := r.take(name); value != "" {
		return strings.Fields(value)
	}
	return nil
}

// unknown refuses what was not taken.
func (r *reader) unknown() {
	for name := range r.ours {
		r.wrong("environment", "JJM_%s: unknown, or not of use here", name)
	}
	slices.SortFunc(r.problems, func(a, b jjm.Problem) int {
		return strings.Compare(a.Field+"\x00"+a.Text, b.Field+"\x00"+b.Text)
	})
}

// runtimes reads the runtime environments. jjm has that of ARC by which a job asks
// for the user's proxy, and no other.
func (r *reader) runtimes() {
	for _, name := range r.g.numbered("runtime") {
		if name == "ENV/PROXY" {
			r.proxy = true
		} else {
			r.wrong("runTimeEnvironment", "%q: jjm has no runtime environment but ENV/PROXY", name)
		}
	}
}

// credentials are the kinds that the job asks for.
func (r *reader) credentials() []string {
	kinds := r.list("CREDENTIALS")
	if r.proxy && !slices.Contains(kinds, jjm.ProxyKind) {
		kinds = append(kinds, jjm.ProxyKind)
	}
	return kinds
}

// stream is the path of standard output or error.
func (r *reader) stream(dir, name string) string {
	p := r.g[name]
	if p == "" || p == "/dev/null" {
		return ""
	}
	if !path.IsAbs(p) {
		p = path.Join(dir, p)
	}
	return path.Clean(p)
}

// demand finds what the job asks for.
func (r *reader) demand(job *Job) {
	file, kind := r.take("JOB_FILE"), r.take("TYPE")
	switch {
	case file != "" && kind != "":
		r.wrong("environment", "JJM_TYPE cannot stand beside JJM_JOB_FILE")
	case file != "":
		if !path.IsAbs(file) {
			file = path.Join(job.Directory, file)
		}
		job.JobFile = path.Clean(file)
	case kind != "":
		job.Spec = r.spec(kind)
	default:
		job.Outputs = r.outputs(job)
		job.Plain = r.plain(job)
	}
}

// spec is a grid job that variables describe.
func (r *reader) spec(kind string) *jjm.Spec {
	spec := &jjm.Spec{
		Type: kind, Name: r.take("NAME"), Mode: r.take("MODE"), Clusters: r.list("CLUSTERS"), Result: r.take("RESULT"),
		Outputs: r.list("OUTPUTS"), Env: r.env, Inputs: r.inputs(""), Credentials: r.credentials(), Request: r.request(),
		Params: map[string]any{},
	}
	for name, value := range r.ours {
		if param, ok := strings.CutPrefix(name, "PARAM_"); ok {
			spec.Params[strings.ToLower(param)] = r.param(value)
			delete(r.ours, name)
		}
	}
	return spec
}

// param returns a setting of the job type: what looks like a list of JSON is one.
func (r *reader) param(value string) any {
	var list []any
	if strings.HasPrefix(value, "[") && json.Unmarshal([]byte(value), &list) == nil {
		return list
	}
	return demand.Value(value)
}

// inputs are the files that A-REX brought to the session folder.
func (r *reader) inputs(program string) []jjm.Input {
	var inputs []jjm.Input
	for _, name := range r.g.numbered("inputfile") {
		name = strings.TrimPrefix(name, "/")
		if strings.Contains(name, "/") {
			r.wrong("inputFiles", "%q: jjm brings files, not folders", name)
			continue
		}
		inputs = append(inputs, jjm.Input{Path: name, Name: name, Executable: name == program})
	}
	return inputs
}

// outputs are the files that A-REX gives to the user: those that the job leaves,
// and not those that A-REX or jjm writes.
func (r *reader) outputs(job *Job) []gatekeeper.Delivery {
	var out []gatekeeper.Delivery
	for _, name := range r.g.numbered("outputfile") {
		to := path.Join(job.Directory, name)
		switch {
		case to == job.Stdout, to == job.Stderr, to == job.Tar, name == "/"+r.g["gmlog"], name == "/gmlog":
		case strings.Contains(strings.TrimPrefix(name, "/"), "/"):
			r.wrong("outputFiles", "%q: jjm brings files, not folders: use %s", strings.TrimPrefix(name, "/"), DefaultTar)
		default:
			out = append(out, gatekeeper.Delivery{Name: path.Base(name), To: to})
		}
	}
	return out
}

// number reads a number of the grami; 0 is none.
func (r *reader) number(name string, most int64) int64 {
	n, err := r.g.whole(name)
	if err != nil || n > most {
		r.wrong(name, "%q: want a whole number up to %d", r.g[name], most)
		return 0
	}
	return n
}

// request is what the job needs. A-REX counts in seconds and in MB per core; a
// job with a limit for its CPU time alone is given as much wall time.
func (r *reader) request() jjm.Request {
	const year = 8760 * 3600
	seconds, cpu := r.number("walltime", year), r.number("cputime", year)
	if seconds == 0 {
		seconds = cpu
	}
	cores := r.number("count", maxCores)
	return jjm.Request{
		Cores: int(cores), MemoryMB: min(r.number("memory", maxMemory)*max(cores, 1), maxMemory),
		Walltime: jjm.Duration(time.Duration(seconds) * time.Second),
		CPUTime:  jjm.Duration(time.Duration(cpu) * time.Second), ScratchMB: r.number("disk", 1<<30),
		Queue: r.take("QUEUE"),
	}
}

// plain is an ordinary job.
func (r *reader) plain(job *Job) *plain.Job {
	words := r.g.numbered("arg")
	if len(words) == 0 || words[0] == "" {
		r.wrong("executable", "is missing: name a program, or describe a grid job with JJM_JOB_FILE or JJM_TYPE")
		return nil
	}
	program, uploaded := strings.CutPrefix(words[0], "./")
	uploaded = uploaded || slices.Contains(r.g.numbered("inputfile"), "/"+program)
	name := ""
	if uploaded {
		name, words[0] = program, "./"+program
	}
	p := &plain.Job{
		Name: r.g["jobname"], Executable: words[0], Arguments: words[1:], Env: r.env, Folder: job.Directory,
		Inputs: r.inputs(name), Credentials: r.credentials(), Request: r.request(), Clusters: r.list("CLUSTERS"),
	}
	if job.Stdout != "" && job.Stdout == job.Stderr {
		p.Executable, p.Arguments = "/bin/sh", append([]string{"-c", `exec "$@" 2>&1`, "sh"}, words...)
	}
	if in := r.stream(job.Directory, "stdin"); in != "" {
		p.Stdin = in
	}
	for _, out := range job.Outputs {
		p.Outputs = append(p.Outputs, out.Name)
	}
	return p
}
