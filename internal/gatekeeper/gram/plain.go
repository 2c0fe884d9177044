package gram

import (
	"path"
	"slices"
	"strings"

	"jjm/internal/gatekeeper"
	"jjm/internal/gatekeeper/demand"
	"jjm/internal/gatekeeper/plain"
	"jjm/internal/jjm"
)

// plain returns the ordinary job that the attributes describe. dir is the job's directory.
func (r *reader) plain(dir string, outputs []gatekeeper.Delivery) *plain.Job {
	p := &plain.Job{
		Name: r.word("jjm_name"), Folder: dir, Arguments: r.words("arguments"), Stdin: r.stdin(),
		Count: int(max(r.number("count", maxCount), 1)), Env: r.environment(), Request: r.request(), Clusters: r.clusters(),
		Inputs: r.stagedIn(dir),
	}
	p.Executable, p.Stage = r.executable(dir)
	p.Inputs = slices.DeleteFunc(p.Inputs, func(in jjm.Input) bool { return in.Path == p.Executable })
	if p.Stdin != "" {
		p.Stdin = r.resolve(dir, p.Stdin)
	}
	for _, out := range outputs {
		p.Outputs = append(p.Outputs, out.Name)
	}
	r.jobType(p)
	return p
}

// stagedIn returns the files that GRAM staged into the job's directory, in the list that jjm.pm adds. They are copied
// to the job's directory on the worker.
func (r *reader) stagedIn(dir string) []jjm.Input {
	var inputs []jjm.Input
	for _, name := range r.words(stagedIn) {
		if here := r.resolve(dir, name); path.Dir(here) == path.Clean(dir) {
			inputs = append(inputs, jjm.Input{Path: here, Name: path.Base(here)})
		}
	}
	return inputs
}

// executable returns the program. stage is set if the program must be copied to the worker, because GRAM stored it in
// its cache or in the job's directory. An absolute path that the user wrote is a path on the worker.
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
	program = r.resolve(dir, e)
	cache := r.env(gassCache)
	stage = !path.IsAbs(strings.TrimPrefix(e, "file://")) || cache != "" &&
		strings.HasPrefix(program, path.Clean(cache)+"/")
	return program, stage
}

// stdin returns the file for standard input, "" if there is none.
func (r *reader) stdin() string {
	switch in := r.word("stdin"); in {
	case "/dev/null":
		return ""
	default:
		return in
	}
}

// jobType applies the meaning of count: for the type multiple it is the number of processes, for single the number of
// cores of the only process.
func (r *reader) jobType(p *plain.Job) {
	if !r.singleType() {
		return
	}
	if p.Request.Cores == 0 && p.Count > 1 {
		p.Request.Cores = min(p.Count, maxCores)
	}
	p.Count = 1
}

// environment returns the variables for the job: the variables that the user set, and those of GRAM's own variables
// that describe the job. GRAM writes its own variables first; gassCache is the last of them. Search paths of the
// gatekeeper's host are left out, because they have no meaning on a worker.
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
			env = r.forJob(pairs[:i])
		case name == "LD_LIBRARY_PATH" && value == "/usr/lib": // default of GRAM
		case strings.HasPrefix(name, "JJM_") || strings.HasPrefix(name, "GBS_"):
			r.wrong("environment", "%s: names that begin with JJM_ or GBS_ are reserved for jjm", name)
		default:
			env[name] = value
		}
	}
	return env
}

// gassCache is the last of the variables that GRAM itself sets.
const gassCache = "GLOBUS_GASS_CACHE_DEFAULT"

// forJob returns the variables in pairs, which GRAM itself set, that the job gets.
func (r *reader) forJob(pairs []Value) map[string]string {
	env := map[string]string{}
	for _, pair := range pairs {
		if name := pair.List[0].Word; slices.Contains(gramVariables(), name) {
			env[name] = pair.List[1].Word
		}
	}
	return env
}

// gramVariables returns the names of those variables that GRAM itself sets and that a job gets.
func gramVariables() []string {
	return []string{"X509_USER_PROXY", "GLOBUS_GRAM_JOB_CONTACT", "HOME", "LOGNAME"}
}

// spec returns the grid job that the attributes with the prefix jjm_ describe.
func (r *reader) spec() *jjm.Spec {
	return &jjm.Spec{
		Type: r.word("jjm_type"), Name: r.word("jjm_name"), Mode: r.word("jjm_mode"), Clusters: r.clusters(),
		Result: r.word("jjm_result"), Request: r.request(), Env: r.environment(), Outputs: r.words("jjm_outputs"),
		Inputs: r.inputs(), Credentials: r.words("jjm_credentials"), Params: r.params(),
	}
}

// inputs returns the input files. Each input is a path or a URL, or (path name [executable] [sha256 DIGITS]
// [credential_file PATH]).
func (r *reader) inputs() []jjm.Input {
	var inputs []jjm.Input
	for _, v := range r.values("jjm_inputs") {
		words, ok := flat(v)
		in, known := inputOf(words)
		if !ok || !known {
			r.wrong("jjm_inputs", "want a path, (path name) or (path name executable), "+
				"and after the name sha256 DIGITS or credential_file PATH")
			return nil
		}
		inputs = append(inputs, in)
	}
	return inputs
}

// inputOf returns the input that the words describe. ok is false if the words do not have the form of an input.
func inputOf(words []string) (in jjm.Input, ok bool) {
	if len(words) == 0 {
		return in, false
	}
	if in.Path = words[0]; len(words) == 1 {
		return in, true
	}
	in.Name = words[1]
	for rest := words[2:]; len(rest) > 0; {
		switch {
		case rest[0] == "executable" && !in.Executable:
			in.Executable, rest = true, rest[1:]
		case rest[0] == "sha256" && len(rest) > 1 && in.SHA256 == "":
			in.SHA256, rest = rest[1], rest[2:]
		case rest[0] == "credential_file" && len(rest) > 1 && in.CredentialFile == "":
			in.CredentialFile, rest = rest[1], rest[2:]
		default:
			return in, false
		}
	}
	return in, true
}

// flat returns a word, or the words of a list without inner lists.
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

// params returns the settings of the job type.
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
		// RSL does not distinguish a word from a list with one word. Only the setting command is always a list.
		if len(values) == 1 && name != "command" {
			params[name] = typed(values[0])
			continue
		}
		params[name] = list(values)
	}
	return params
}

// typed converts a word to the type that it looks like (see demand.Value), because RSL has only words. Words in lists
// are not converted.
func typed(v Value) any {
	if v.List != nil {
		return list(v.List)
	}
	return demand.Value(v.Word)
}

// list converts values to a list of words and inner lists.
func list(values []Value) []any {
	out := make([]any, len(values))
	for i, v := range values {
		if out[i] = v.Word; v.List != nil {
			out[i] = list(v.List)
		}
	}
	return out
}
