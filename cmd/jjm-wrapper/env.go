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

// The variables by which the application and its helpers find their job.
const (
	glfEnv  = "JJM_GLF"
	areaEnv = "JJM_AREA"
	tagEnv  = "JJM_TAG"
)

// environment makes the application's: the wrapper's own, without what was
// meant for the wrapper, then the job's, the part's, and last what GBS and jjm
// define (GBS Programmer Manual).
func (a *attempt) environment(inherited []string) []string {
	env := make(map[string]string, len(inherited)+16)
	for _, kv := range inherited {
		name, value, ok := strings.Cut(kv, "=")
		if ok && name != spoolEndEnv && !strings.HasPrefix(name, "GBS_RETRY_") {
			env[name] = value
		}
	}
	brought := a.brought(env)
	for _, more := range []map[string]string{a.job.Env, a.assign.Env, a.jobVariables(), a.inputVariables()} {
		for name, value := range more {
			env[name] = value
		}
	}
	for name, file := range a.job.Credentials {
		env[name] = filepath.Join(a.area.Root(), file)
	}
	maps.Copy(env, brought)
	list := make([]string, 0, len(env))
	for name, value := range env {
		list = append(list, name+"="+value)
	}
	slices.Sort(list)
	return list
}

// brought returns the credentials, by variable, that the batch system itself has put
// into the folder where a carried job starts: there it brings newer ones, which the
// box does not get.
func (a *attempt) brought(env map[string]string) map[string]string {
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

// jobVariables are those that describe the job.
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

// helper is the absolute path of a helper, which lies beside this program.
func helper(name string) string {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return filepath.Join(filepath.Dir(self), name)
}
