package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"jjm/sandbox"
)

// The environment variables by which the helpers gbs_log, jjm_progress and jjm_record find the attempt that calls them:
// the path of its log file, the work area, and the tag of the bulk.
const (
	glfEnv  = "JJM_GLF"
	areaEnv = "JJM_AREA"
	tagEnv  = "JJM_TAG"
)

// environment returns the application's environment as a list of NAME=VALUE, sorted by name. The variables come from
// the following sources. If several sources set a variable, the last of them in this list takes precedence.
//
//  1. inherited, the wrapper's own environment, without JJM_SPOOL_END and GBS_RETRY_*,
//     which describe the batch job or another attempt
//  2. the variables of the grid job (a.job.Env)
//  3. the variables of the part (a.assign.Env)
//  4. jobVariables: the variables of jjm and of GBS (GBS Programmer Manual)
//  5. inputVariables: the variables about the files that the part reads
//  6. the paths of the credentials in the work area
//  7. transferred: the paths of the credentials that the batch system keeps up to date
func (a *attempt) environment(inherited []string) []string {
	env := make(map[string]string, len(inherited)+16)
	for _, kv := range inherited {
		name, value, ok := strings.Cut(kv, "=")
		if ok && name != spoolEndEnv && !strings.HasPrefix(name, "GBS_RETRY_") {
			env[name] = value
		}
	}
	renewed := a.transferred(env)
	for _, more := range []map[string]string{a.job.Env, a.assign.Env, a.jobVariables(), a.inputVariables()} {
		for name, value := range more {
			env[name] = value
		}
	}
	for name, file := range a.job.Credentials {
		env[name] = filepath.Join(a.area.Root(), file)
	}
	maps.Copy(env, renewed)
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

// transferred returns, by environment variable, the paths of the credentials that the batch system itself put into the
// folder where the batch job starts. It returns none unless the attempt is carried (see carry). These files take
// precedence over the credentials in the box, because the batch system renews only its own copies.
func (a *attempt) transferred(env map[string]string) map[string]string {
	files := map[string]string{}
	if filepath.Base(a.area.Root()) != carriedArea {
		return files
	}
	here, err := os.Stat(filepath.Dir(a.area.Root()))
	if err != nil {
		return files
	}
	for name := range a.job.Credentials {
		dir, err := os.Stat(filepath.Dir(env[name]))
		if err != nil || !os.SameFile(here, dir) {
			continue
		}
		if info, err := os.Lstat(env[name]); err == nil && info.Mode().IsRegular() {
			files[name] = env[name]
		}
	}
	return files
}

// jobVariables returns the variables that jjm sets for every attempt: the ids and the numbers of the attempt and its
// part, its folders, the paths of the helpers, and the retry arguments from the second attempt on.
func (a *attempt) jobVariables() map[string]string {
	s := &a.assign
	mode := a.job.Mode
	if mode == "" {
		mode = "Production"
	}
	env := map[string]string{
		"PWD":             a.workDir(),
		"GBS_HOME":        a.workDir(),
		"GBS_LOG":         helper(sandbox.LogHelper),
		"GBS_MODE":        mode,
		"GBS_RETRY_COUNT": strconv.Itoa(int(s.Attempt)),
		"JJM_PROGRESS":    helper(sandbox.ProgressHelper),
		"JJM_RECORD":      helper(sandbox.RecordHelper),
		"JJM_TASKID":      s.Grid.String(),
		"JJM_JOBID":       s.AttemptID().LocalID.String(),
		"JJM_ATTEMPT":     strconv.Itoa(int(s.Attempt)),
		"JJM_FIRST_EVENT": strconv.FormatInt(s.Part.First, 10),
		"JJM_EVENTS":      strconv.FormatInt(s.Part.Count, 10),
		"JJM_SERIAL":      strconv.FormatInt(s.Part.Serial, 10),
		glfEnv:            filepath.Join(a.dir, sandbox.GLFName),
		areaEnv:           a.area.Root(),
		tagEnv:            string(a.at.tag),
		indexEnv:          strconv.Itoa(int(a.at.pos)),
	}
	if s.Attempt > 0 {
		for i, arg := range s.RetryArgs {
			env["GBS_RETRY_ARG_"+strconv.Itoa(i+1)] = arg
		}
	}
	return env
}

// helper returns the absolute path of a helper program. The helpers are links to the wrapper, in its own folder.
func helper(name string) string {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return filepath.Join(filepath.Dir(self), name)
}
