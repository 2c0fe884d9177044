package gram

import (
	"path"
	"slices"
	"strings"

	"jjm"
	"jjm/gatekeeper"
	"jjm/gatekeeper/demand"
	"jjm/gatekeeper/plain"
)

// plain reads an ordinary job.
func (r *reader) plain(dir string, outputs []gatekeeper.Delivery) *plain.Job {
	p := &plain.Job{
		Name: r.word("jjm_name"), Folder: dir, Arguments: r.words("arguments"), Stdin: r.stdin(),
		Count: int(max(r.whole("count", maxCount), 1)), Env: r.environment(), Request: r.request(), Clusters: r.clusters(),
		Inputs: r.stagedIn(dir),
	}
	p.Executable, p.Stage = r.executable(dir)
	p.Inputs = slices.DeleteFunc(p.Inputs, func(in jjm.Input) bool { return in.Path == p.Executable })
	if p.Stdin != "" {
		p.Stdin = r.below(dir, p.Stdin)
	}
	for _, out := range outputs {
		p.Outputs = append(p.Outputs, out.Name)
	}
	if r.whole("host_count", maxCount) > 1 {
		r.wrong("host_count", "a job of jjm runs on one host: use count for several jobs")
	}
	r.jobType(p)
	return p
}

// stagedIn are the files that GRAM brought to the job's directory, as jjm.pm
// noted them: they go to that of the job on its worker.
func (r *reader) stagedIn(dir string) []jjm.Input {
	var inputs []jjm.Input
	for _, name := range r.words("jjm_staged_in") {
		if here := r.below(dir, name); path.Dir(here) == path.Clean(dir) {
			inputs = append(inputs, jjm.Input{Path: here, Name: path.Base(here)})
		}
	}
	return inputs
}

// executable returns the program, and whether it lies here and must be brought to
// the worker: GRAM put it in its cache or in the job's directory. A path that the
// user wrote whole is one on the worker.
func (r *reader) executable(dir string) (program string, stage bool) {
	e := r.word("executable")
	if e == "" || e == noExecutable {
		r.wrong("executable", "is missing: name a program, or describe a grid job with jjm_job_file or jjm_type")
		return "", false
	}
	if strings.Contains(e, "://") && !strings.HasPrefix(e, "file://") {
		r.wrong("executable", "%q was not staged", e)
		return "", false
	}
	program = r.below(dir, e)
	cache := r.env(gassCache)
	stage = !path.IsAbs(strings.TrimPrefix(e, "file://")) || cache != "" &&
		strings.HasPrefix(program, path.Clean(cache)+"/")
	return program, stage
}

func (r *reader) stdin() string {
	switch in := r.word("stdin"); in {
	case "/dev/null":
		return ""
	default:
		return in
	}
}

// jobType applies what GRAM says of count: of "multiple", how many processes; of
// "single", how many cores for the one.
func (r *reader) jobType(p *plain.Job) {
	switch t := r.word("job_type"); t {
	case "", "multiple":
	case "single":
		if p.Request.Cores == 0 && p.Count > 1 {
			p.Request.Cores = min(p.Count, maxCores)
		}
		p.Count = 1
	default:
		r.wrong("job_type", "%q: jjm runs jobs of the types single and multiple", t)
	}
}

// environment reads the variables that the job gets: what the user set, and of
// GRAM's own, which come first and end with the cache's, what tells the job about
// itself. Search paths of the gatekeeper's host mean nothing to a worker.
func (r *reader) environment() map[string]string {
	env := map[string]string{}
	pairs := r.values("environment")
	for i, pair := range pairs {
		if len(pair.List) != 2 || pair.List[0].List != nil || pair.List[1].List != nil {
			r.wrong("environment", "want pairs (NAME value)")
			return nil
		}
		name, value := pair.List[0].Word, pair.List[1].Word
		switch {
		case name == gassCache:
			clear(env)
			env = r.own(pairs[:i])
		case name == "LD_LIBRARY_PATH" && value == "/usr/lib": // GRAM's default
		case strings.HasPrefix(name, "JJM_") || strings.HasPrefix(name, "GBS_"):
			r.wrong("environment", "%s: names with JJM_ or GBS_ in front are jjm's own", name)
		default:
			env[name] = value
		}
	}
	return env
}

// gassCache names the last of the variables that GRAM itself sets.
const gassCache = "GLOBUS_GASS_CACHE_DEFAULT"

// own returns those of GRAM's own variables that a job wants to know.
func (r *reader) own(pairs []Value) map[string]string {
	env := map[string]string{}
	for _, pair := range pairs {
		switch name := pair.List[0].Word; name {
		case "X509_USER_PROXY", "GLOBUS_GRAM_JOB_CONTACT", "HOME", "LOGNAME":
			env[name] = pair.List[1].Word
		}
	}
	return env
}

// spec reads a grid job that jjm attributes describe.
func (r *reader) spec() *jjm.Spec {
	return &jjm.Spec{
		Type: r.word("jjm_type"), Name: r.word("jjm_name"), Mode: r.word("jjm_mode"), Clusters: r.clusters(),
		Result: r.word("jjm_result"), Request: r.request(), Env: r.environment(), Outputs: r.words("jjm_outputs"),
		Inputs: r.inputs(), Credentials: r.words("jjm_credentials"), Params: r.params(),
	}
}

// inputs reads files: a path, or (path [name] [executable]).
func (r *reader) inputs() []jjm.Input {
	var inputs []jjm.Input
	for _, v := range r.values("jjm_inputs") {
		words, ok := flat(v)
		if !ok || len(words) < 1 || len(words) > 3 || len(words) == 3 && words[2] != "executable" {
			r.wrong("jjm_inputs", "want a path, (path name) or (path name executable)")
			return nil
		}
		in := jjm.Input{Path: words[0], Executable: len(words) == 3}
		if len(words) > 1 {
			in.Name = words[1]
		}
		inputs = append(inputs, in)
	}
	return inputs
}

// flat returns a word, or a list of words, as words.
func flat(v Value) ([]string, bool) {
	if v.List == nil {
		return []string{v.Word}, true
	}
	var words []string
	for _, inner := range v.List {
		if inner.List != nil {
			return nil, false
		}
		words = append(words, inner.Word)
	}
	return words, true
}

// params reads the settings of the job type.
func (r *reader) params() map[string]any {
	params := map[string]any{}
	for _, v := range r.values("jjm_params") {
		if len(v.List) < 2 || v.List[0].List != nil {
			r.wrong("jjm_params", "want (name value) each")
			return nil
		}
		name, values := v.List[0].Word, v.List[1:]
		if _, twice := params[name]; twice {
			r.wrong("jjm_params", "%s is given twice", name)
		}
		// RSL does not tell one word from a list of one. A command is a list.
		if len(values) == 1 && name != "command" {
			params[name] = typed(values[0])
			continue
		}
		params[name] = list(values)
	}
	return params
}

// typed returns a word the type that it looks like: RSL knows words only. Words in
// lists stay words.
func typed(v Value) any {
	if v.List != nil {
		return list(v.List)
	}
	return demand.Value(v.Word)
}

func list(values []Value) []any {
	out := make([]any, len(values))
	for i, v := range values {
		if out[i] = v.Word; v.List != nil {
			out[i] = list(v.List)
		}
	}
	return out
}
