package sandbox

import (
	"encoding/json"

	"jjm/internal/jjm"
)

// Job is the content of job.json: what all local jobs of a grid job share.
type Job struct {
	Grid jjm.GridID `json:"grid"`
	// Package is the name of the sandbox package that Pack returned, "" for none; Files
	// are the names in it.
	Package string   `json:"package,omitempty"`
	Files   []string `json:"files,omitempty"`
	// Credentials are the credential files, relative to the area, by the environment
	// variables through which the application finds them.
	Credentials map[string]string `json:"credentials,omitempty"`
	// Env is added to the environment of the application.
	Env map[string]string `json:"env,omitempty"`
	// Outputs are glob patterns below the job's directory. Required are further patterns: a local job must leave a file
	// for each. Optional are further patterns that need not match a file.
	Outputs  []string `json:"outputs,omitempty"`
	Required []string `json:"outputs_required,omitempty"`
	Optional []string `json:"outputs_optional,omitempty"`
	// Result is how the job reports: jjm.ResultGLF or jjm.ResultExit.
	Result string `json:"result"`
	// Mode is GBS_MODE: Production or Test; "" means Production.
	Mode string `json:"mode,omitempty"`
	// Grace is how long the application may take to end after TERM; 0 means 30 s. Heartbeat is
	// the time between two heartbeats of the wrapper; 0 means 30 s (decision R25).
	Grace     jjm.Duration `json:"grace,omitzero"`
	Heartbeat jjm.Duration `json:"heartbeat,omitzero"`
	// CPUTime is how much processor time a process may use, in whole seconds; 0 means
	// no limit.
	CPUTime jjm.Duration `json:"cpu_time,omitzero"`
	// MaxOutputBytes caps the outputs of one attempt together; 0 means no cap.
	MaxOutputBytes int64 `json:"max_output_bytes,omitempty"`
}

// maxJob bounds job.json in bytes.
const maxJob = 16 << 20

// WriteJob writes job.json, and makes the grid job's folder if need be.
func (a *Area) WriteJob(j Job) error {
	b, err := json.Marshal(j)
	if err != nil {
		return a.wrap(err, "encode job file of grid job %s", j.Grid)
	}
	dir := GridDir(j.Grid)
	if err := a.fs.MkdirAll(dir, dirMode); err != nil {
		return a.wrap(err, "make folder of grid job %s", j.Grid)
	}
	if err := a.replaceBytes(dir+"/job.json", syncNamed, append(b, '\n')); err != nil {
		return a.wrap(err, "write %s/job.json", dir)
	}
	return a.wrap(a.syncDir("jobs"), "sync jobs")
}

// ReadJob returns the content of job.json. The error is of kind jjm.Gone if there is
// none.
func (a *Area) ReadJob(grid jjm.GridID) (Job, error) {
	name := GridDir(grid) + "/job.json"
	b, err := a.readBounded(name, maxJob)
	if err != nil {
		return Job{}, a.wrap(err, "read %s", name)
	}
	var j Job
	if err := json.Unmarshal(b, &j); err != nil {
		return Job{}, jjm.Errorf(jjm.Invalid, "sandbox: decode %s: %w", name, err)
	}
	if j.Grid != grid {
		return Job{}, jjm.Errorf(jjm.Invalid, "sandbox: %s is about grid job %s", name, j.Grid)
	}
	return j, nil
}
