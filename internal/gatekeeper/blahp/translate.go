package blahp

import (
	"encoding/json"
	"path"
	"path/filepath"
	"strings"
	"time"

	"jjm/internal/formats/weburl"
	"jjm/internal/gatekeeper"
	"jjm/internal/gatekeeper/plain"
	"jjm/internal/jjm"
)

// Lists holds the content of the files that options name.
type Lists struct {
	Inputs, Outputs, Remaps []string
	Requirements            map[string]string
}

// TarName is the name that an output uses for the tar of the grid job.
const TarName = "jjm-output.tar"

// The requirements that are for jjm. They are string attributes of the job. Other requirements are for other programs.
const (
	reqCluster = "jjm_clusters" // the clusters that may be used
	reqQOS     = "jjm_qos"
	reqScratch = "jjm_scratch_mb"
	reqTar     = "jjm_tar"      // the place for the tar
	reqJobFile = "jjm_job_file" // a job file of a grid job, instead of the command
)

// Job is the job that a submission describes.
type Job struct {
	// Plain is the job, unless JobFile names a job file.
	Plain   plain.Job
	JobFile string
	// Wants are the files to bring back.
	Wants []gatekeeper.Delivery
	// Proxy and Token are the files with the user's proxy and bearer token on the submit side, "" if there are none.
	// blahpd has no option for a token: the job's environment names the file, which may also be a file on the worker.
	Proxy, Token string
	// Origin describes where the job comes from. Its memo contains Wants.
	Origin jjm.Origin
}

// WithToken adds the token to the credentials that the job requests. The caller must have checked that the file exists
// on the submit side.
func (j *Job) WithToken() {
	j.Plain.Credentials = append(j.Plain.Credentials, jjm.TokenKind)
}

// Translate makes a plain job from the options. The error is of kind Invalid and names everything that jjm cannot
// honour; nothing is ignored.
func Translate(o *Options, l Lists) (*Job, error) {
	t := &translation{Options: o, lists: l}
	j := &Job{JobFile: l.Requirements[reqJobFile], Origin: jjm.Origin{Gatekeeper: "blahp", Job: o.Key, Subject: o.Subject}}
	if j.JobFile != "" {
		j.JobFile = t.abs(j.JobFile)
		t.checkWithJobFile()
	}
	j.Wants = t.wants()
	j.Plain = plain.Job{
		Name: path.Base(o.Command), Executable: o.Command, Stage: o.Stage, Arguments: o.Arguments, Env: o.Env,
		Stdin: t.stdin(), Inputs: t.inputs(), Outputs: t.outputs(), Folder: o.Folder, Request: t.request(),
		Merge: o.Stdout != "" && o.Stdout == o.Stderr && o.Stdout != devNull,
	}
	if name := l.Requirements[reqCluster]; name != "" {
		j.Plain.Clusters = strings.FieldsFunc(name, func(r rune) bool { return r == ',' || r == ' ' })
	}
	if _, cluster, ok := strings.Cut(o.Queue, "@"); ok && cluster != "" {
		j.Plain.Clusters = []string{cluster}
	}
	if o.Stage && o.Command != "" {
		j.Plain.Executable = t.abs(o.Command)
	}
	if o.Proxy != "" {
		j.Proxy, j.Plain.Credentials = t.abs(o.Proxy), []string{jjm.ProxyKind}
	}
	if file := o.Env[jjm.CredentialKinds()[jjm.TokenKind]]; filepath.IsAbs(file) {
		j.Token = file
	}
	t.checkUnknown()
	memo, err := json.Marshal(j.Wants)
	if err == nil && len(j.Wants) > 0 {
		j.Origin.Memo = string(memo)
	}
	for _, p := range j.Origin.Problems() {
		if p.Field == "origin.memo" {
			p = jjm.Problem{Field: "-O", Text: "too many output files, or names too long: let the job pack them, or ask for " +
				TarName}
		}
		t.problems = append(t.problems, p)
	}
	return j, t.problems.Err()
}

// ParseWants returns the files to bring back, from the memo of a grid job.
func ParseWants(memo string) ([]gatekeeper.Delivery, error) {
	if memo == "" {
		return nil, nil
	}
	var out []gatekeeper.Delivery
	if err := json.Unmarshal([]byte(memo), &out); err != nil {
		return nil, jjm.Errorf(jjm.Internal, "the memo of the grid job: %w", err)
	}
	return out, nil
}

const devNull = "/dev/null"

// translation holds the options and collects the problems.
type translation struct {
	*Options
	lists Lists
}

// abs returns a path of the job as an absolute path.
func (t *translation) abs(p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(t.Folder, p)
}

// stdin returns the file for standard input, "" if there is none.
func (t *translation) stdin() string {
	if t.Stdin == "" || t.Stdin == devNull {
		return ""
	}
	return t.abs(t.Stdin)
}

func (t *translation) inputs() []jjm.Input {
	var out []jjm.Input
	seen := map[string]bool{}
	for _, line := range t.lists.Inputs {
		if line == "" {
			continue
		}
		if strings.HasSuffix(line, "/") {
			t.bad("-I", "%.80q is a folder: jjm brings files; pack it", line)
			continue
		}
		in := jjm.Input{Path: t.abs(line), Name: path.Base(line)}
		if weburl.Is(line) {
			in = jjm.Input{Path: line, Name: weburl.Name(line)}
		}
		if !seen[in.Name] {
			out = append(out, in)
		}
		seen[in.Name] = true
	}
	return out
}

// outputs returns the patterns of the files to collect. Special characters in the names are
// quoted, so that a name matches only itself.
func (t *translation) outputs() []string {
	var out []string
	for _, line := range t.lists.Outputs {
		if line == "" || path.Base(line) == TarName {
			continue
		}
		if filepath.IsAbs(line) {
			t.bad("-O", "%.80q: jjm brings back only files of the job's directory", line)
			continue
		}
		var b strings.Builder
		for _, c := range []byte(path.Clean(line)) {
			if strings.IndexByte(`*?[\`, c) >= 0 {
				b.WriteByte('\\')
			}
			b.WriteByte(c)
		}
		out = append(out, b.String())
	}
	return out
}

// wants returns the files to bring back, with their destinations.
func (t *translation) wants() []gatekeeper.Delivery {
	var out []gatekeeper.Delivery
	add := func(name, to string) {
		if to != "" && to != devNull {
			out = append(out, gatekeeper.Delivery{Name: name, To: t.abs(to)})
		}
	}
	add("stdout", t.Stdout)
	if t.Stderr != t.Stdout {
		add("stderr", t.Stderr)
	}
	for i, line := range t.lists.Outputs {
		if line == "" {
			continue
		}
		to := line
		if i < len(t.lists.Remaps) && t.lists.Remaps[i] != "" {
			to = t.lists.Remaps[i]
		}
		name := line
		if path.Base(line) == TarName {
			name = gatekeeper.WholeTar
		}
		add(name, to)
	}
	add(gatekeeper.WholeTar, t.lists.Requirements[reqTar])
	return out
}

// request returns the resources that the job needs.
func (t *translation) request() jjm.Request {
	queue, _, _ := strings.Cut(t.Queue, "@")
	r := jjm.Request{MemoryMB: t.MemoryMB, Walltime: jjm.Duration(time.Duration(t.Seconds) * time.Second),
		Queue: queue, GPUs: int(t.GPUs), Account: t.Project, QOS: t.lists.Requirements[reqQOS], Cores: t.cores(),
		Directives: t.Extra}
	if text := t.lists.Requirements[reqScratch]; text != "" {
		t.number(&r.ScratchMB, 'C', text)
	}
	if t.MICs > 0 {
		t.bad("-P", "%d Xeon Phi coprocessors: jjm cannot request them", t.MICs)
	}
	if t.GPUModel != "" {
		t.bad("-M", "GPU model %.40q: jjm cannot request models: ask for a queue that has them", t.GPUModel)
	}
	if t.GPUMode != "" && !strings.EqualFold(t.GPUMode, "shared") && !strings.EqualFold(t.GPUMode, "default") {
		t.bad("-G", "GPU mode %.40q: jjm cannot request modes", t.GPUMode)
	}
	return r
}

// cores returns the number of cores of a local job: one core for each process on the node, or all cores of a whole
// node. A local job of jjm has one node.
func (t *translation) cores() int {
	perHost := t.PerHost
	if t.WholeNodes {
		perHost = max(perHost, t.CoresOfANode)
		if perHost == 0 {
			t.bad("-z", "whole nodes: say how many cores one has (SMPGranularity)")
		}
	}
	hosts := max(t.Hosts, 1)
	if perHost > 0 && t.Processes > perHost {
		hosts = max(hosts, (t.Processes+perHost-1)/perHost)
	}
	if hosts > 1 {
		t.bad("-h", "%d nodes: a local job of jjm has one node", hosts)
	}
	if perHost == 0 {
		perHost = t.Processes
	}
	if perHost > 4096 {
		t.bad("-n", "%d cores: want at most 4096", perHost)
		return 0
	}
	return int(perHost)
}
