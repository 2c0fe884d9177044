package jobfile

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"jjm/internal/formats/weburl"
	"jjm/internal/jjm"
	"jjm/internal/work/stream"
)

// The limits of a job file, in addition to the limit of its size. 64 characters is the limit of names in the GBS
// storage directory. 255 bytes is NAME_MAX and 4096 bytes PATH_MAX of Linux (limits.h). One string of an environment
// may have 128 KiB (MAX_ARG_STRLEN, execve(2)); a value of half that size leaves room for a name.
const (
	maxKey      = 256
	maxClusters = 64
	maxEnv      = 1000
	maxEnvValue = 64 << 10
	maxInputs   = 10_000
	maxOutputs  = 1000
	maxName     = 255
	maxPath     = 4096

	maxCores     = 4096
	maxMemoryMB  = 16 << 20 // 16 TiB
	maxWalltime  = 365 * 24 * time.Hour
	maxGPUs      = 1024
	maxScratchMB = 1 << 30 // 1 PiB

	maxDirectives = 64
	maxDirective  = 1024 // the largest length of one directive, in bytes

	maxExit = 255 // the largest exit code, see wait(2)

	maxAutoKill = 1_000_000
)

// checker collects the problems of a job file.
type checker struct{ problems jjm.Problems }

// problem adds a problem with a field.
func (c *checker) problem(field, format string, args ...any) {
	c.problems = append(c.problems, jjm.Problem{Field: field, Text: fmt.Sprintf(format, args...)})
}

// check returns the problems of the values in a file, and sets the defaults.
func check(f *file) jjm.Problems {
	var c checker
	if f.Cluster != nil && f.Clusters != nil {
		c.problem("cluster", "give either cluster or clusters, not both")
	}
	if f.Cluster != nil && *f.Cluster == "" {
		c.problem("cluster", "is empty: name a cluster, or leave the key out for the site's default")
	} else if f.Cluster != nil {
		c.word("cluster", *f.Cluster)
	}
	c.words(f)
	for i, name := range f.Clusters {
		c.word(fmt.Sprintf("clusters[%d]", i), name)
	}
	if len(f.Clusters) > maxClusters {
		c.problem("clusters", "%d clusters are too many: at most %d", len(f.Clusters), maxClusters)
	}
	c.unique("clusters[%d]", f.Clusters)
	if len(f.Clusters) > 1 && slices.Contains(f.Clusters, jjm.AnyCluster) {
		c.problem("clusters", `"any" means every cluster of the site: give it alone, or name the clusters`)
	}
	c.retry(f.Retry)
	f.Spec.Request = c.request(f.Request)
	c.env(f.Env)
	defaults(f)
	c.inputs(f.Inputs)
	c.outputs("outputs", f.Outputs)
	c.outputs("outputs_required", f.OutputsRequired)
	c.outputs("outputs_optional", f.OutputsOptional)
	c.credentials(f.Credentials)
	c.datasets(&f.Spec)
	c.splitting(f.Split)
	c.merge(f.Merge)
	c.recovery(&f.Spec)
	c.after(&f.Spec)
	c.notify(f.Notify)
	c.callback(f.Callback)
	c.problems = append(c.problems, stream.Check(&f.Spec)...)
	return c.problems
}

// defaults sets the values that a job file may leave out.
func defaults(f *file) {
	f.Spec.Clusters = f.Clusters
	if f.Cluster != nil {
		f.Spec.Clusters = []string{*f.Cluster}
	}
	if f.Name == "" {
		f.Name = f.Type
	}
	if f.Mode == "" {
		f.Mode = ModeProduction
	}
	if f.AfterEnd == "" && len(f.After) > 0 {
		f.AfterEnd = jjm.AfterOK
	}
	for i := range f.Inputs {
		in := &f.Inputs[i]
		switch {
		case in.Name != "" || in.Path == "":
		case weburl.Is(in.Path):
			in.Name = weburl.Name(in.Path)
		default:
			in.Name = path.Base(in.Path)
		}
		in.SHA256 = strings.ToLower(in.SHA256)
	}
}

// words checks the keys at the top level that have a plain value.
func (c *checker) words(f *file) {
	if f.Type == "" {
		c.problem("type", `is missing: name the job type, such as type = "script"`)
	} else {
		c.word("type", f.Type)
	}
	if strings.HasPrefix(f.Name, "-") {
		c.problem("name", "%.40q: programs take it for an option: want no - in front", f.Name)
	} else if f.Name != "" {
		c.word("name", f.Name)
	}
	if !printable(f.Key) || len(f.Key) > maxKey {
		c.problem("key", "%.40q: want at most %d printable ASCII characters without blanks", f.Key, maxKey)
	}
	if f.KeyReuse && f.Key == "" {
		c.problem("key_reuse", "has no effect without key: give key too, or leave it out")
	}
	if f.AutoResubmit && f.Merge != nil {
		c.problem("auto_resubmit", "has no effect with [merge]: local jobs whose outputs are merged give their work to "+
			"new local jobs, and merges have merge.attempts; leave one of the two out")
	}
	if f.KeepGoing && f.Merge != nil {
		c.problem("keep_going", "has no effect with [merge]: a local job that is refused gives its work to new local jobs, "+
			"and nothing stops the others; leave one of the two out")
	}
	if n := f.AutoKill; n != nil && (*n < -1 || *n > maxAutoKill) {
		c.problem("auto_kill", "%d is out of range: want 1 to %d failed local jobs, or 0 or -1 for never", *n, maxAutoKill)
	}
	switch f.Mode {
	case "", ModeProduction, ModeTest:
	default:
		c.problem("mode", "%.40q: want Production or Test", f.Mode)
	}
	switch f.Result {
	case "", jjm.ResultGLF, jjm.ResultExit:
	default:
		c.problem("result", `%.40q: want "glf" (the job reports through its GBS log file) or "exit" (by its exit code)`,
			f.Result)
	}
}

// form is the form of a text: a pattern and a maximum length. The length is not in the pattern, because a pattern with
// a repetition count takes a fraction of a millisecond to compile, at every start of every program.
type form struct {
	pattern *regexp.Regexp
	most    int
}

func formOf(pattern string, most int) form { return form{regexp.MustCompile(pattern), most} }

func (f form) matches(s string) bool { return len(s) <= f.most && f.pattern.MatchString(s) }

// wordForm is the form of names in the GBS storage directory.
var wordForm = formOf(`^[A-Za-z0-9_-][A-Za-z0-9._-]*$`, 64)

// word checks a name: it must have the form wordForm.
func (c *checker) word(field, s string) {
	if !wordForm.matches(s) {
		c.problem(field, "%.40q: want 1 to 64 of the characters A-Z a-z 0-9 . _ - and no dot in front", s)
	}
}

// unique adds a problem for every value that is in a list a second time.
func (c *checker) unique(field string, list []string) {
	first := map[string]int{}
	for i, s := range list {
		if j, ok := first[s]; ok {
			c.problem(fmt.Sprintf(field, i), "%.40q is given twice: first as %s", s, fmt.Sprintf(field, j))
			continue
		}
		first[s] = i
	}
}

// printable reports whether a text has only printable ASCII characters, without blanks.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// retry checks the settings for retries.
func (c *checker) retry(l jjm.Retries) {
	for _, p := range l.Limits.Problems() {
		c.problem("retry."+p.Field, "%s", p.Text)
	}
	c.onExit(l.OnExit)
}

// onExit checks the exit codes after which a job is tried again.
func (c *checker) onExit(codes []int) {
	if codes != nil && len(codes) == 0 {
		c.problem("retry.on_exit", "is empty: list the exit codes that are retried, or leave the key out")
	}
	first := map[int]int{}
	for i, code := range codes {
		field := fmt.Sprintf("retry.on_exit[%d]", i)
		if code < 0 || code > maxExit {
			c.problem(field, "%d is no exit code: want 0 to %d; 128 + n is the end by signal n", code, maxExit)
		} else if j, twice := first[code]; twice {
			c.problem(field, "%d is given twice: first as retry.on_exit[%d]", code, j)
		}
		first[code] = i
	}
}

// queueForm matches the names of queues and partitions that batch systems allow, including "queue@server" of PBS and
// lists of Slurm. It matches no text that a command could take for an option.
var queueForm = formOf(`^[A-Za-z0-9_][A-Za-z0-9._@,:-]*$`, 255)

// request checks the resources that local jobs need, and returns them for the Spec.
func (c *checker) request(r request) (out jjm.Request) {
	if n := r.Cores; n != nil {
		if out.Cores = *n; *n < 1 || *n > maxCores {
			c.problem("request.cores", "%d is out of range: want 1 to %d", *n, maxCores)
		}
	}
	if n := r.MemoryMB; n != nil {
		if out.MemoryMB = *n; *n < 1 || *n > maxMemoryMB {
			c.problem("request.memory_mb", "%d is out of range: want 1 to %d (MiB)", *n, maxMemoryMB)
		}
	}
	if w := r.CPUTime; w != nil {
		if out.CPUTime = *w; w.D() < time.Second || w.D() > maxWalltime {
			c.problem("request.cpu_time", "%s is out of range: want 1s to 8760h", *w)
		}
	}
	if w := r.Walltime; w != nil {
		if out.Walltime = *w; w.D() < time.Second || w.D() > maxWalltime {
			c.problem("request.walltime", "%s is out of range: want 1s to 8760h", *w)
		}
	}
	if q := r.Queue; q != nil {
		if out.Queue = *q; !queueForm.matches(*q) {
			c.problem("request.queue", "%.40q: want a queue's name: letters, digits and . _ - @ , :", *q)
		}
	}
	if n := r.GPUs; n != nil {
		if out.GPUs = *n; *n < 1 || *n > maxGPUs {
			c.problem("request.gpus", "%d is out of range: want 1 to %d", *n, maxGPUs)
		}
	}
	if n := r.ScratchMB; n != nil {
		if out.ScratchMB = *n; *n < 1 || *n > maxScratchMB {
			c.problem("request.scratch_mb", "%d is out of range: want 1 to %d (MiB)", *n, maxScratchMB)
		}
	}
	out.Account = c.accounting("account", r.Account)
	out.Project = c.accounting("project", r.Project)
	out.QOS = c.accounting("qos", r.QOS)
	out.Directives = c.directives(r.Directives)
	return out
}

// CheckResources returns the problems of the resources of a resubmission: the same problems as for a job file with
// these values.
func CheckResources(r jjm.Resources) jjm.Problems {
	var asked request
	if r.MemoryMB != 0 {
		asked.MemoryMB = &r.MemoryMB
	}
	if r.Walltime != 0 {
		asked.Walltime = &r.Walltime
	}
	if r.Queue != "" {
		asked.Queue = &r.Queue
	}
	var c checker
	c.request(asked)
	return c.problems
}

// accountForm matches the names of accounts, projects and qualities of service that batch systems allow, including
// "group_cms.alice" of HTCondor and, without its first slash, "/site/group" of Grid Engine's share tree. It matches no
// text that a command could take for an option.
var accountForm = formOf(`^[A-Za-z0-9_][A-Za-z0-9._@+:/-]*$`, 128)

// accounting checks an optional name of the site's accounting.
func (c *checker) accounting(key string, s *string) string {
	if s == nil {
		return ""
	}
	if !accountForm.matches(*s) {
		c.problem(
			"request."+key, "%.40q: want 1 to 128 of the characters A-Z a-z 0-9 . _ @ + : / - and a letter, digit or _ in front",
			*s)
	}
	return *s
}

// directives checks the options for the batch system and joins them, one on each line.
func (c *checker) directives(list []string) string {
	var lines []string
	for _, text := range list {
		for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
			lines = append(lines, strings.TrimSuffix(line, "\r"))
		}
	}
	if len(lines) > maxDirectives {
		c.problem("request.directives", "%d lines are too many: at most %d", len(lines), maxDirectives)
		return ""
	}
	for i, line := range lines {
		switch {
		case strings.TrimSpace(line) == "":
			c.problem("request.directives", "line %d is empty: want one option of the batch system on each line", i+1)
		case len(line) > maxDirective:
			c.problem("request.directives", "line %d: %d bytes are too long: at most %d", i+1, len(line), maxDirective)
		case !utf8.ValidString(line) || strings.ContainsFunc(line, unicode.IsControl):
			c.problem("request.directives", "line %d: %.40q contains a control character", i+1, line)
		}
	}
	return strings.Join(lines, "\n")
}

// envForm is the form of a name in POSIX.1-2017, section 3.235.
var envForm = formOf(`^[A-Za-z_][A-Za-z0-9_]*$`, 128)

// env checks the environment variables for the application.
func (c *checker) env(env map[string]string) {
	if len(env) > maxEnv {
		c.problem("env", "%d variables are too many: at most %d", len(env), maxEnv)
		return
	}
	names := make([]string, 0, len(env))
	for name := range env {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		switch field := "env." + name; {
		case !envForm.matches(name):
			c.problem(fmt.Sprintf("env.%.40q", name), "is not the name of a variable: want letters, digits and _, no digit in front")
		case strings.HasPrefix(name, "GBS_") || strings.HasPrefix(name, "JJM_"):
			c.problem(field, "jjm itself sets the variables GBS_... and JJM_...: choose another name")
		case len(env[name]) > maxEnvValue:
			c.problem(field, "%d bytes are too long: at most %d", len(env[name]), maxEnvValue)
		}
	}
}

var sha256Form = regexp.MustCompile(`^[0-9a-f]{64}$`)

// inputs checks the input files.
func (c *checker) inputs(inputs []jjm.Input) {
	if len(inputs) > maxInputs {
		c.problem("inputs", "%d files are too many: at most %d (pack them in an archive)", len(inputs), maxInputs)
		return
	}
	first, urls := map[string]int{}, map[string]int{}
	for i, in := range inputs {
		field := fmt.Sprintf("inputs[%d]", i)
		if j, again := urls[in.Path]; again && in.CredentialFile != inputs[j].CredentialFile {
			c.problem(field+".credential_file", "inputs[%d] has the same URL, which is fetched once: give both the same", j)
		} else if weburl.Is(in.Path) && !again {
			urls[in.Path] = i
		}
		switch {
		case in.Path == "":
			c.problem(field+".path", "is missing: name the file")
			continue
		case len(in.Path) > maxPath:
			c.problem(field+".path", "%d bytes are too long: at most %d", len(in.Path), maxPath)
		case len(in.CredentialFile) > maxPath:
			c.problem(field+".credential_file", "%d bytes are too long: at most %d", len(in.CredentialFile), maxPath)
		default:
			for _, p := range weburl.Check(&in) {
				c.problem(field+"."+p.Field, "%s", p.Text)
			}
		}
		if in.Name == "" {
			c.problem(field+".name", "is missing: %s names no file", weburl.Shown(in.Path))
		} else if !fileName(in.Name) {
			c.problem(field+".name", "%.40q: want a file name of at most %d bytes, without / and neither . nor ..", in.Name,
				maxName)
		} else if j, ok := first[in.Name]; ok {
			c.problem(field+".name", "%.40q is also the name of inputs[%d]: give one of them another name", in.Name, j)
		} else {
			first[in.Name] = i
		}
		if in.SHA256 != "" && !sha256Form.MatchString(in.SHA256) {
			c.problem(field+".sha256", "%.40q: want 64 hexadecimal digits, as sha256sum prints them", in.SHA256)
		}
	}
}

// fileName reports whether s is the name of a file in a directory.
func fileName(s string) bool {
	return s != "" && s != "." && s != ".." && len(s) <= maxName && !strings.ContainsAny(s, "/\n\r")
}

// outputs checks a list of patterns for output files. key is its key in the job file.
func (c *checker) outputs(key string, patterns []string) {
	if len(patterns) > maxOutputs {
		c.problem(key, "%d patterns are too many: at most %d", len(patterns), maxOutputs)
		return
	}
	for i, p := range patterns {
		field := fmt.Sprintf("%s[%d]", key, i)
		_, err := path.Match(p, "x")
		switch {
		case p == "":
			c.problem(field, "is empty: want a file name or a pattern such as *.root")
		case len(p) > maxPath:
			c.problem(field, "%d bytes are too long: at most %d", len(p), maxPath)
		case path.IsAbs(p):
			c.problem(field, "%.40q is absolute: outputs are relative to the job's directory", p)
		case leadsOut(p):
			c.problem(field, "%.40q leads out of the job's directory", p)
		case err != nil:
			c.problem(
				field, "%.40q is no pattern: * and ? stand for characters, [a-z] for one of a range, \\ takes the next as it is", p)
		case strings.HasSuffix(p, "/"):
			c.problem(field, "%.40q is a folder: name the files in it, such as %.40q", p, p+"*")
		case slices.Contains(strings.Split(p, "/"), "**"):
			c.problem(field, "%.40q: ** matches within one name, as * does: name each level, such as */*.root", p)
		case withStars(p) != p:
			c.problem(field, "%.40q: outputs have no placeholders: want %.40q, or output_templates (? stands for a brace)", p,
				withStars(p))
		}
	}
	c.unique(key+"[%d]", patterns)
}

// withStars returns a pattern in which each word in braces that looks like a placeholder of a command is replaced by a
// star.
func withStars(pattern string) string {
	stars, some := "", false
	for rest := pattern; ; {
		before, after, found := strings.Cut(rest, "{")
		word, next, closed := strings.Cut(after, "}")
		switch {
		case (!found || !closed) && !some:
			return pattern
		case !found || !closed:
			return strings.ReplaceAll(stars+rest, "**", "*")
		}
		if strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_") != "" || word == "" {
			stars, rest = stars+before+"{", after
			continue
		}
		stars, rest, some = stars+strings.TrimSuffix(before, "$")+"*", next, true
	}
}

// leadsOut reports whether an element of a pattern means "..". A backslash or a range can hide a dot.
func leadsOut(pattern string) bool {
	for _, e := range strings.Split(pattern, "/") {
		if ok, err := path.Match(e, ".."); err == nil && ok && !strings.ContainsAny(e, "*?") {
			return true
		}
	}
	return false
}

// credentials checks the kinds of credentials that the jobs need.
func (c *checker) credentials(kinds []string) {
	for i, kind := range kinds {
		if _, known := jjm.CredentialKinds()[kind]; !known {
			c.problem(fmt.Sprintf("credentials[%d]", i), "%.40q: want %q or %q", kind, jjm.ProxyKind, jjm.TokenKind)
		}
	}
	c.unique("credentials[%d]", kinds)
}
