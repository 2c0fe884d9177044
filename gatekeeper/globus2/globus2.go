// Package globus2 speaks the shell contract of Globus 2's job managers: scripts
// globus-script-TYPE-{submit,poll,rm,signal} that get the path of a file of
// shell assignments and answer with lines GRAM_SCRIPT_KEY:value. It is pure.
//
// The file holds what the user wrote. Its assignments are read and never run.
package globus2

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"jjm"
	"jjm/gatekeeper"
	"jjm/gatekeeper/plain"
	"jjm/internal/shellwords"
)

// maxFile bounds the file, in bytes.
const maxFile = 4 << 20

// Grami are the assignments, without the prefix grami_.
type Grami map[string]string

// Parse reads the file. Lines that are no assignment to one of the contract's
// names are passed over: a shell would do something with them, which is none of
// ours. A later assignment of the same name counts.
func Parse(r io.Reader) (Grami, error) {
	known := []string{"directory", "program", "args", "env", "count", "stdin", "stdout", "stderr",
		"max_wall_time", "max_cpu_time", "max_time", "min_memory", "max_memory", "host_count", "job_type",
		"queue", "project", "uniq_id", "job_id"}
	g := Grami{}
	sc := bufio.NewScanner(io.LimitReader(r, maxFile))
	sc.Buffer(nil, maxFile)
	for sc.Scan() {
		name, quoted, ok := strings.Cut(strings.TrimSpace(sc.Text()), "=")
		key, ours := strings.CutPrefix(name, "grami_")
		if !ok || !ours {
			continue
		}
		if !slices.Contains(known, key) {
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

// Job is what a submission asks for.
type Job struct {
	// Plain is the job, unless JobFile names a job file.
	Plain   plain.Job
	JobFile string
	Key     string
	// Proxy is the file of the user's proxy, "" if there is none.
	Proxy string
	Wants []gatekeeper.Delivery
	// Streamed are those of them that GRAM streams while the job runs: they must be
	// there from the start.
	Streamed []gatekeeper.Delivery
}

// Variables of the job's environment that are for jjm: Globus 2 has no attributes of
// one's own. The job does not get them.
const (
	jobFile  = "JJM_JOB_FILE" // a job file on the gatekeeper's host
	tarPlace = "JJM_TAR"      // where the tar goes
	onStdout = "JJM_STDOUT"   // "tar": standard output is the tar
)

// defaultTar is where the tar of a grid job goes, in its directory, when nobody says:
// a file of the name that GRAM5's grid jobs stage out.
const defaultTar = "jjm-output.tar"

// Job translates the assignments. The error is Invalid and names everything that
// jjm cannot honour.
func (g Grami) Job() (*Job, error) {
	t := &translation{Grami: g}
	j := &Job{}
	folder := g["directory"]
	env := t.environment()
	if file := env[jobFile]; file != "" {
		j.JobFile = below(folder, file)
	}
	j.Streamed, j.Wants = t.wants(j.JobFile != "", env[tarPlace], env[onStdout])
	for _, name := range []string{jobFile, tarPlace, onStdout} {
		delete(env, name)
	}
	if id := g["uniq_id"]; id != "" {
		j.Key = "globus2-" + strings.Map(printing, id)
	}
	program := g["program"]
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
	if t.number("host_count") > 1 {
		t.bad("host_count", "a local job of jjm has one host: use count for several jobs")
	}
	t.jobType(&j.Plain)
	if j.JobFile == "" && program == "" {
		t.bad("program", "is missing: name a program, or a job file by the variable "+jobFile)
	}
	return j, t.problems.Err()
}

const devNull = "/dev/null"

func below(folder, p string) string {
	if filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(folder, p)
}

// printing keeps what a request key may hold.
func printing(r rune) rune {
	if r <= ' ' || r > '~' {
		return '_'
	}
	return r
}

// wants are standard output and error, where GRAM streams them from, and the tar of
// a grid job, from where GRAM may stage it out.
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
		t.bad("env", fmt.Sprintf("%s is %.40q: say tar, or leave it out", onStdout, stdout))
	case stdout == "tar" && !gridJob:
		t.bad("env", fmt.Sprintf("%s=tar is for the grid job of a job file: name one by %s", onStdout, jobFile))
	case stdout == "tar" && len(out) > 0 && out[0].Name == "stdout":
		out[0].Name = gatekeeper.WholeTar
	case stdout == "tar":
		t.bad("stdout", "is missing: "+onStdout+"=tar wants one")
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

// translation collects problems.
type translation struct {
	Grami
	problems jjm.Problems
}

func (t *translation) bad(field, text string) {
	t.problems = append(t.problems, jjm.Problem{Field: "grami_" + field, Text: text})
}

// number reads a whole number, none as 0.
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

// words reads a list of quoted words.
func (t *translation) words(name string) []string {
	words, err := shellwords.Split(t.Grami[name])
	if err != nil {
		t.bad(name, err.Error())
	}
	return words
}

// environment reads names and values that alternate.
func (t *translation) environment() map[string]string {
	words := t.words("env")
	if len(words)%2 != 0 {
		t.bad("env", "want names and values in turn")
		return nil
	}
	env := map[string]string{}
	for i := 0; i < len(words); i += 2 {
		env[words[i]] = words[i+1]
	}
	return env
}

// request reads the needs: times are minutes, memory is in MB.
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

// jobType applies what count means: of "multiple", how many processes; of
// "single", how many cores for the one.
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

// The errors of the GRAM protocol that are answered (globus_gram_protocol_error_t).
const (
	NoResources  = 3
	OpenProxy    = 30 // GLOBUS_GRAM_PROTOCOL_ERROR_OPENING_USER_PROXY
	Denied       = 7
	Failed       = jjm.GRAMExecutionFailed
	CancelFailed = 31
	Invalid      = 1   // GLOBUS_GRAM_PROTOCOL_ERROR_PARAMETER_NOT_SUPPORTED
	NoSignal     = 108 // GLOBUS_GRAM_PROTOCOL_ERROR_UNKNOWN_SIGNAL_TYPE
)

// ErrorOf returns the code for an error.
func ErrorOf(err error) int {
	switch jjm.KindOf(err) {
	case jjm.Denied:
		return Denied
	case jjm.Busy, jjm.Ambiguous:
		return NoResources
	}
	return Failed
}

// State is the last line about a job that goes on or is over well. The contract
// knows no UNSUBMITTED: what is not submitted is pending.
func State(s jjm.GRAM) string {
	if s == jjm.GRAMUnsubmitted {
		s = jjm.GRAMPending
	}
	return fmt.Sprintf("GRAM_SCRIPT_SUCCESS:%d\n", s)
}

// Submitted answers a submission.
func Submitted(h jjm.Handle) string {
	return fmt.Sprintf("GRAM_SCRIPT_JOB_ID:%s\n%s", h, State(jjm.GRAMPending))
}

// Error is the last line when something is wrong.
func Error(code int) string { return fmt.Sprintf("GRAM_SCRIPT_ERROR:%d\n", code) }
