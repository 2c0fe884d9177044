// Package arc reads the file in which A-REX, the job service of ARC, describes a job to its batch system (the grami),
// and translates the job to a grid job. It also writes the files from which A-REX and its accounting learn how the job
// ended. It does no I/O; the commands in cmd/jjm-gatekeeper do.
//
// If the environment of a job has JJM_JOB_FILE or JJM_TYPE, the job is a grid job of jjm. Any other job is an ordinary
// job, which every batch system accepts. The package promises that nothing is ignored: an option that jjm cannot honour
// is an error.
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

	"jjm/internal/gatekeeper"
	"jjm/internal/gatekeeper/demand"
	"jjm/internal/gatekeeper/plain"
	"jjm/internal/jjm"
)

// DefaultTar is the name by which a job's outputFiles request the tar of all outputs.
const DefaultTar = "jjm-output.tar"

const devNull = "/dev/null"

// The limits of job files (docs/JOB-FILES.md): number of cores, and memory in MiB.
const (
	maxCores  = 4096
	maxMemory = 16777216
)

// Job is the job that a grami describes. Paths are absolute.
type Job struct {
	demand.Demand
	// ID is jjm's id of the job, "" if the job was not submitted yet.
	ID string
	// GridID is A-REX's id of the job. A repeated submission of the job has the same id.
	GridID string
	// URL is the URL by which people know the job.
	URL string
	// Directory is the session folder of the job. ControlDir is the control folder of
	// A-REX.
	Directory, ControlDir string
	// Stdout and Stderr are the files that the user requested, "" if there are none. Both may be the same file.
	Stdout, Stderr string
	// Proxy is the file in which A-REX keeps the proxy of the job's user, if there is one.
	Proxy string
	// ProxyStamp identifies the proxy that jjm has: the content of the file Proxy when jjm read it. jjm stores the stamp
	// in the grami.
	ProxyStamp string
	// Tar is the path where the tar is expected, "" if it is not requested.
	Tar string
	// Outputs are the files of an ordinary job that A-REX returns to the user.
	Outputs []gatekeeper.Delivery
}

// Read translates a grami. The error contains all problems, as jjm.Problems, with the names that xRSL uses.
func Read(g Grami) (Job, error) {
	r := &reader{g: g, env: map[string]string{}, jjmVars: map[string]string{}}
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
	r.checkUnknown()
	r.checkRefused()
	return job, r.sorted()
}

// proxyStamp is the name of a line that jjm adds to a grami.
const proxyStamp = "jjm_proxy"

// ProxyStampLine returns the line of a grami with a stamp. If a grami has several such lines, the last line counts. A
// stamp consists of letters, digits and dashes.
func ProxyStampLine(stamp string) string { return "joboption_" + proxyStamp + "=" + stamp + "\n" }

// DelegationFile returns the path of the file with a delegated credential, relative to A-REX's control folder. A-REX
// takes folders of three characters from the front of the id while more than four characters are left. The user may
// have written the id, so DelegationFile returns "" for a text that cannot be an id.
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

// ForeignDelegations returns the ids of delegations that are not in kept, although the text local names them. local is
// the text of a job's file job.ID.local; kept are the ids of the delegations that A-REX keeps for this job. The job's
// user can write the file, so jjm must not read a credential only because the file names it.
func ForeignDelegations(local string, kept []string) (ids []string) {
	for line := range strings.Lines(local) {
		name, id, _ := strings.Cut(strings.TrimSpace(line), "=")
		if name == "delegationid" && id != "" && !slices.Contains(kept, id) && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Remark returns the text to add to the history of a job whose file names foreign delegations, or "" if there are none.
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

// Deliveries returns the files that must be in the session folder when the job is over. The summary of a grid job is
// not among them (see Summary).
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

// Summary reports whether a summary of the grid job is to be written to the file Stdout.
func (j *Job) Summary() bool { return j.Plain == nil && j.Stdout != "" }

// reader translates one grami to a Job and collects the problems with the grami.
type reader struct {
	g Grami
	// env has the variables for the application. jjmVars has the variables for jjm, without their prefix.
	env, jjmVars map[string]string
	proxy        bool // the job requests the user's proxy
	problems     jjm.Problems
}

// wrong adds a problem with a field of the grami.
func (r *reader) wrong(field, format string, args ...any) {
	r.problems = append(r.problems, jjm.Problem{Field: field, Text: fmt.Sprintf(format, args...)})
}

// environment separates the variables for jjm from the variables for the application.
func (r *reader) environment() {
	for _, line := range r.g.numbered("env") {
		name, value, ok := strings.Cut(line, "=")
		switch own, ours := strings.CutPrefix(name, varPrefix); {
		case !ok || name == "":
			r.wrong("environment", "%.40q: want NAME=VALUE", line)
		case ours:
			r.jjmVars[own] = value
		case strings.HasPrefix(name, "GBS_"):
			r.wrong("environment", "%s: names that begin with GBS_ are reserved for jjm", name)
		default:
			r.env[name] = value
		}
	}
}

// take returns a variable for jjm and removes it. checkUnknown later reports the remaining variables.
func (r *reader) take(name string) string {
	value := r.jjmVars[name]
	delete(r.jjmVars, name)
	return value
}

// list takes a variable for jjm and returns its words, nil if it is missing.
func (r *reader) list(name string) []string {
	if value := r.take(name); value != "" {
		return strings.Fields(value)
	}
	return nil
}

// sorted returns the problems in a fixed order, because maps have no order.
func (r *reader) sorted() error {
	slices.SortFunc(r.problems, func(a, b jjm.Problem) int {
		return strings.Compare(a.Field+"\x00"+a.Text, b.Field+"\x00"+b.Text)
	})
	return r.problems.Err()
}

// runtimes reads the runtime environments. jjm supports only ENV/PROXY, by which a job requests the user's proxy.
func (r *reader) runtimes() {
	for _, name := range r.g.numbered("runtime") {
		if name == "ENV/PROXY" {
			r.proxy = true
		} else {
			r.wrong("runTimeEnvironment", "%q: jjm supports only the runtime environment ENV/PROXY", name)
		}
	}
}

// credentials returns the kinds of credentials that the job requests.
func (r *reader) credentials() []string {
	kinds := r.list("CREDENTIALS")
	if r.proxy && !slices.Contains(kinds, jjm.ProxyKind) {
		kinds = append(kinds, jjm.ProxyKind)
	}
	return kinds
}

// stream returns the absolute path of the job's standard input, output or error; name is its key in the grami. It
// returns "" if the job requests none.
func (r *reader) stream(dir, name string) string {
	p := r.g[name]
	if p == "" || p == devNull {
		return ""
	}
	if !path.IsAbs(p) {
		p = path.Join(dir, p)
	}
	return path.Clean(p)
}

// demand sets the job's JobFile, Spec or Plain, depending on the variables of the job, and the outputs of a plain job.
// It adds a problem if the job has both JJM_JOB_FILE and JJM_TYPE.
func (r *reader) demand(job *Job) {
	file, kind := r.take("JOB_FILE"), r.take("TYPE")
	switch {
	case file != "" && kind != "":
		r.wrong("environment", "JJM_TYPE cannot be combined with JJM_JOB_FILE")
	case file != "":
		if !path.IsAbs(file) {
			file = path.Join(job.Directory, file)
		}
		job.JobFile = path.Clean(file)
		r.checkCombined("JJM_JOB_FILE", true)
	case kind != "":
		job.Spec = r.spec(kind)
		r.checkCombined("JJM_TYPE", false)
	default:
		job.Outputs = r.outputs(job)
		job.Plain = r.plain(job)
	}
}

// spec returns the grid job that the JJM_ variables describe.
func (r *reader) spec(kind string) *jjm.Spec {
	spec := &jjm.Spec{
		Type: kind, Name: r.take("NAME"), Mode: r.take("MODE"), Clusters: r.list("CLUSTERS"), Result: r.take("RESULT"),
		Outputs: r.list("OUTPUTS"), Env: r.env, Inputs: r.inputs(""), Credentials: r.credentials(), Request: r.request(),
		Params: map[string]any{},
	}
	for name, value := range r.jjmVars {
		if param, ok := strings.CutPrefix(name, "PARAM_"); ok {
			spec.Params[strings.ToLower(param)] = r.param(value)
			delete(r.jjmVars, name)
		}
	}
	return spec
}

// param converts the text of a setting of the job type to its value. A text that is a JSON list becomes a list.
func (r *reader) param(value string) any {
	var list []any
	if strings.HasPrefix(value, "[") && json.Unmarshal([]byte(value), &list) == nil {
		return list
	}
	return demand.Value(value)
}

// inputs returns the input files, which A-REX has put into the session folder. The file named program becomes
// executable. A file in a folder is a problem, because jjm transports only single files.
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

// outputs returns the files that the job itself makes and that A-REX returns to the user. It leaves out standard output
// and error, the tar and A-REX's log. It adds a problem for a file in a folder.
func (r *reader) outputs(job *Job) []gatekeeper.Delivery {
	var out []gatekeeper.Delivery
	for _, name := range r.g.numbered("outputfile") {
		to := path.Join(job.Directory, name)
		switch {
		case to == job.Stdout, to == job.Stderr, to == job.Tar, name == "/"+r.g["gmlog"], name == "/gmlog":
		case strings.Contains(strings.TrimPrefix(name, "/"), "/"):
			r.wrong("outputFiles", "%q: jjm brings back files, not folders: use %s", strings.TrimPrefix(name, "/"), DefaultTar)
		default:
			out = append(out, gatekeeper.Delivery{Name: path.Base(name), To: to})
		}
	}
	return out
}

// number returns a number of the grami, 0 if it is missing. It adds a problem if the number is above limit, or is no
// number.
func (r *reader) number(name string, limit int64) int64 {
	n, err := r.g.whole(name)
	if err != nil || n > limit {
		r.wrong(name, "%q: want a whole number up to %d", r.g[name], limit)
		return 0
	}
	return n
}

// request returns the resources that the job needs. A-REX uses seconds, and MB per core. If a job limits only its CPU
// time, its wall time gets the same limit.
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

// plain returns an ordinary job. If there is no program, it adds a problem and returns nil.
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
