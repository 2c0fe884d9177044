// Package globus2 translates jobs of Globus 2 job managers. These call scripts
// globus-script-TYPE-{submit,poll,rm,signal} with the path of a file of shell assignments, and read lines
// GRAM_SCRIPT_KEY:value. The package does no I/O except through the reader of [Parse].
//
// The file contains text of the user, so its assignments are parsed and never run.
package globus2

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"jjm/internal/formats/shellwords"
	"jjm/internal/gatekeeper"
	"jjm/internal/gatekeeper/demand"
	"jjm/internal/gatekeeper/plain"
	"jjm/internal/jjm"
)

// maxFile is the maximum number of bytes that are read from the file of assignments.
const maxFile = 4 << 20

// Grami holds the values of the assignments, by name without the prefix grami_.
type Grami map[string]string

// Parse parses the file. It skips lines that do not assign one of the known names, because such lines are for a shell.
// If a name is assigned twice, the last value counts. The error is of kind Invalid if a value is not one quoted word,
// or if the file cannot be read. Text after maxFile bytes is ignored.
func Parse(r io.Reader) (Grami, error) {
	g := Grami{}
	sc := bufio.NewScanner(io.LimitReader(r, maxFile))
	sc.Buffer(nil, maxFile)
	for sc.Scan() {
		name, quoted, ok := strings.Cut(strings.TrimSpace(sc.Text()), "=")
		key, ours := strings.CutPrefix(name, "grami_")
		if !ok || !ours {
			continue
		}
		if !demand.Known(Words(), name) {
			continue
		}
		words, err := shellwords.Split(quoted)
		if err != nil || len(words) > 1 {
			return nil, jjm.Errorf(jjm.Invalid, "%.40s: want one word, quoted as for sh", name)
		}
		g[key] = strings.Join(words, "")
	}
	if err := sc.Err(); err != nil {
		return nil, jjm.Errorf(jjm.Invalid, "file of arguments: %w", err)
	}
	return g, nil
}

// Job is the job that a submission describes.
type Job struct {
	// Plain is the job, unless JobFile names a job file.
	Plain   plain.Job
	JobFile string
	Key     string
	// Proxy is the file with the user's proxy, "" if there is none.
	Proxy string
	Wants []gatekeeper.Delivery
	// Streamed are those files of Wants that GRAM sends to the user while the job still runs. They must exist from the
	// start of the job.
	Streamed []gatekeeper.Delivery
}

// Variables of the job's environment that are for jjm, because Globus 2 has no attributes for such settings. The job
// does not get these variables.
const (
	fileVariable = "JJM_JOB_FILE" // a job file on the gatekeeper's host
	tarPlace     = "JJM_TAR"      // the place for the tar
	onStdout     = "JJM_STDOUT"   // "tar": standard output is the tar
	ownPrefix    = "JJM_"
)

// defaultTar is the place of a grid job's tar, in the job's directory, if neither JJM_TAR nor JJM_STDOUT is set. Grid
// jobs of GRAM5 stage out a file of the same name.
const defaultTar = "jjm-output.tar"

// Job translates the assignments. The error is of kind Invalid and names everything that jjm cannot honour.
func (g Grami) Job() (*Job, error) {
	t := &translation{Grami: g}
	j := &Job{}
	folder := g["directory"]
	env := t.environment()
	if file := env[fileVariable]; file != "" {
		j.JobFile = below(folder, file)
	}
	j.Streamed, j.Wants = t.wants(j.JobFile != "", env[tarPlace], env[onStdout])
	for _, name := range []string{fileVariable, tarPlace, onStdout} {
		delete(env, name)
	}
	t.checkVariables(env, j.JobFile != "")
	if id := g["uniq_id"]; id != "" {
		j.Key = "globus2-" + strings.Map(toPrintable, id)
	}
	program := g["program"]
	// jjm copies the program to the worker if its path is relative, or if it lies in the job's directory.
	j.Plain = plain.Job{
		Name: path.Base(program), Executable: program, Stage: filepath.IsAbs(program) && folder != "" &&
			path.Dir(program) == path.Clean(folder) || !filepath.IsAbs(program),
		Arguments: t.words("args"), Env: env, Folder: folder, Count: t.number("count"), Request: t.request(),
	}
	if j.Proxy = env[jjm.CredentialKinds()[jjm.ProxyKind]]; j.Proxy != "" {
		j.Proxy, j.Plain.Credentials = below(folder, j.Proxy), []string{jjm.ProxyKind}
	}
	if in := g["stdin"]; in != "" && in != devNull {
		j.Plain.Stdin = below(folder, in)
	}
	t.jobType(&j.Plain)
	t.checkRefused(j.JobFile != "")
	if j.JobFile == "" && program == "" {
		t.bad("program", "is missing: name a program, or a job file by the variable "+fileVariable)
	}
	return j, t.problems.Err()
}

// checkRefused adds problems for assignments that jjm cannot honour. If the job has a job file, it also adds problems
// for settings that only the job file may contain.
func (t *translation) checkRefused(jobFile bool) {
	if t.number("host_count") > 1 {
		t.bad("host_count", "a local job of jjm has one host: use count for several jobs")
	}
	for _, name := range []string{"start_time", "reservation_handle"} {
		if v := t.Grami[name]; v != "" && v != "none" {
			t.bad(name, fmt.Sprintf("%.40q: jjm cannot request it", v))
		}
	}
	if !jobFile {
		return
	}
	for _, name := range []string{"args", "queue", "project", "max_wall_time", "max_time", "max_cpu_time", "max_memory",
		"min_memory"} {
		if v := t.Grami[name]; v != "" && v != "0" {
			t.bad(name, "cannot be combined with "+fileVariable)
		}
	}
	if t.number("count") > 1 {
		t.bad("count", "cannot be combined with "+fileVariable)
	}
}

// checkVariables adds problems for variables that begin with JJM_ and that jjm does not know; Job has already removed
// the known variables from env. If the job has a job file, it also adds problems for all variables that the gatekeeper
// does not set itself.
func (t *translation) checkVariables(env map[string]string, jobFile bool) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		own := slices.ContainsFunc([]string{"X509_", "GLOBUS_", "HOME", "LOGNAME", "PATH", "LD_LIBRARY_PATH"},
			func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		switch {
		case strings.HasPrefix(name, ownPrefix):
			t.problems = append(t.problems, demand.Unknown("grami_env", name, ownPrefix, Words()))
		case jobFile && !own:
			t.bad("env", fmt.Sprintf("%.40q cannot be combined with %s: set it in the job file's [env]", name, fileVariable))
		}
	}
}

const devNull = "/dev/null"

// below returns the path p, which is relative to folder unless absolute.
func below(folder, p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(folder, p)
}

// toPrintable replaces the characters that a request key cannot contain.
func toPrintable(r rune) rune {
	if r <= ' ' || r > '~' {
		return '_'
	}
	return r
}

// wants returns the files to bring back. streamed are standard output and error, which GRAM reads while the job runs.
// all also contains the tar, which GRAM may stage out. tarTo and stdout are the values of JJM_TAR and JJM_STDOUT. If
// both are missing, the tar of a job file's grid job is brought back as defaultTar.
func (t *translation) wants(gridJob bool, tarTo, stdout string) (streamed, all []gatekeeper.Delivery) {
	var out []gatekeeper.Delivery
	folder := t.Grami["directory"]
	for _, name := range []string{"stdout", "stderr"} {
		if to := t.Grami[name]; to != "" && to != devNull {
			out = append(out, gatekeeper.Delivery{Name: name, To: below(folder, to)})
		}
	}
	switch {
	case stdout != "" && stdout != "tar":
		t.bad("env", fmt.Sprintf("%s is %.40q: want tar, or leave it out", onStdout, stdout))
	case stdout == "tar" && !gridJob:
		t.bad("env", fmt.Sprintf("%s=tar is for the grid job of a job file: name one by %s", onStdout, fileVariable))
	case stdout == "tar" && len(out) > 0 && out[0].Name == "stdout":
		out[0].Name = gatekeeper.WholeTar
	case stdout == "tar":
		t.bad("stdout", "is missing: "+onStdout+"=tar needs it")
	}
	if tarTo == "" && gridJob && stdout == "" && folder != "" {
		tarTo = defaultTar
	}
	streamed = slices.Clone(out)
	if tarTo != "" {
		out = append(out, gatekeeper.Delivery{Name: gatekeeper.WholeTar, To: below(folder, tarTo)})
	}
	return streamed, out
}

// translation holds the assignments and collects the problems.
type translation struct {
	Grami
	problems jjm.Problems
}

// bad adds a problem with an assignment.
func (t *translation) bad(field, text string) {
	t.problems = append(t.problems, jjm.Problem{Field: "grami_" + field, Text: text})
}

// number returns a whole number, 0 if it is missing. If the value is no whole number, number adds a problem and returns
// 0.
func (t *translation) number(name string) int {
	text := strings.TrimSpace(t.Grami[name])
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > 1<<30 {
		t.bad(name, fmt.Sprintf("%.40q: want a whole number", text))
		return 0
	}
	return n
}

// words returns a list of quoted words.
func (t *translation) words(name string) []string {
	words, err := shellwords.Split(t.Grami[name])
	if err != nil {
		t.bad(name, err.Error())
	}
	return words
}

// environment returns the variables of the job. The assignment "env" has names and values in turn; an odd number of
// words is a problem.
func (t *translation) environment() map[string]string {
	words := t.words("env")
	if len(words)%2 != 0 {
		t.bad("env", "want pairs of a name and a value")
		return nil
	}
	env := map[string]string{}
	for i := 0; i < len(words); i += 2 {
		env[words[i]] = words[i+1]
	}
	return env
}

// request returns the resources that the job needs. The file has times in minutes and memory in MB. The wall time is
// max_wall_time, or else max_time, or else max_cpu_time; the memory is max_memory, or else min_memory.
func (t *translation) request() jjm.Request {
	minutes, cpu := t.number("max_wall_time"), t.number("max_cpu_time")
	if minutes == 0 {
		minutes = t.number("max_time")
	}
	if minutes == 0 {
		minutes = cpu
	}
	memory := t.number("max_memory")
	if memory == 0 {
		memory = t.number("min_memory")
	}
	return jjm.Request{Walltime: jjm.Duration(time.Duration(minutes) * time.Minute),
		CPUTime: jjm.Duration(time.Duration(cpu) * time.Minute), MemoryMB: int64(memory),
		Queue: t.Grami["queue"], Account: t.Grami["project"]}
}

// jobType applies the meaning of count: for the type multiple it is the number of processes, for single the number of
// cores of the only process. The numbers 1 and 2 mean multiple and single. A missing type and 0 count as multiple.
// Other types are a problem.
func (t *translation) jobType(p *plain.Job) {
	switch kind := t.Grami["job_type"]; kind {
	case "", "0", "multiple", "1":
	case "single", "2":
		if p.Count > 1 {
			p.Request.Cores = p.Count
		}
		p.Count = 0
	default:
		t.bad("job_type", fmt.Sprintf("%.40q: jjm runs jobs of the types single and multiple", kind))
	}
}

// The error codes of the GRAM protocol that jjm returns (globus_gram_protocol_error_t).
const (
	NoResources  = 3
	OpenProxy    = 30 // GLOBUS_GRAM_PROTOCOL_ERROR_OPENING_USER_PROXY
	Denied       = 7
	Failed       = jjm.GRAMExecutionFailed
	CancelFailed = 31
	Invalid      = 1   // GLOBUS_GRAM_PROTOCOL_ERROR_PARAMETER_NOT_SUPPORTED
	NoSignal     = 108 // GLOBUS_GRAM_PROTOCOL_ERROR_UNKNOWN_SIGNAL_TYPE
)

// ErrorOf returns the GRAM code for an error: Denied for an error of kind Denied, NoResources for an error of kind Busy
// or Ambiguous (a retry can then help), and otherwise Failed.
func ErrorOf(err error) int {
	switch jjm.KindOf(err) {
	case jjm.Denied:
		return Denied
	case jjm.Busy, jjm.Ambiguous:
		return NoResources
	}
	return Failed
}

// State returns the last line of an answer without an error. The scripts have no state UNSUBMITTED, so a job that is
// not submitted is reported as pending.
func State(s jjm.GRAM) string {
	if s == jjm.GRAMUnsubmitted {
		s = jjm.GRAMPending
	}
	return fmt.Sprintf("GRAM_SCRIPT_SUCCESS:%d\n", s)
}

// Submitted returns the answer to a submission.
func Submitted(h jjm.Handle) string {
	return fmt.Sprintf("GRAM_SCRIPT_JOB_ID:%s\n%s", h, State(jjm.GRAMPending))
}

// Error returns the last line of an answer with an error.
func Error(code int) string { return fmt.Sprintf("GRAM_SCRIPT_ERROR:%d\n", code) }
