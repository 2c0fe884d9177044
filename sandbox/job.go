package sandbox

import (
	"encoding/json"

	"jjm/internal/jjm"
)

// Job is the content of job.json: the settings that all local jobs of a grid job share.
type Job struct {
	Grid jjm.GridID `json:"grid"`
	// Package is the name of the sandbox package that Pack returned, "" for none; Files are the names of the files in
	// the package.
	Package string   `json:"package,omitempty"`
	Files   []string `json:"files,omitempty"`
	// Credentials are the credential files, relative to the area, by the environment variables through which the
	// application finds them.
	Credentials map[string]string `json:"credentials,omitempty"`
	// Env is added to the environment of the application.
	Env map[string]string `json:"env,omitempty"`
	// Outputs are glob patterns below the job's directory. Required are further patterns; for each of them a local job
	// must leave a file. Optional are further patterns that need not match a file.
	Outputs  []string `json:"outputs,omitempty"`
	Required []string `json:"outputs_required,omitempty"`
	Optional []string `json:"outputs_optional,omitempty"`
	// Result is how the job reports its end: jjm.ResultGLF or jjm.ResultExit.
	Result string `json:"result"`
	// Mode is GBS_MODE: Production or Test; "" means Production.
	Mode string `json:"mode,omitempty"`
	// Grace is the time that the application has to end after SIGTERM; 0 means 30 s. Heartbeat is the time between two
	// heartbeats of the wrapper; 0 means 30 s (decision R25).
	Grace     jjm.Duration `json:"grace,omitzero"`
	Heartbeat jjm.Duration `json:"heartbeat,omitzero"`
	// CPUTime is the largest processor time of a process, in whole seconds; 0 means no limit.
	CPUTime jjm.Duration `json:"cpu_time,omitzero"`
	// MaxOutputBytes is the largest total size of the outputs of one attempt; 0 means no limit.
	MaxOutputBytes int64 `json:"max_output_bytes,omitempty"`
}

// maxJob is the largest size of job.json in bytes.
const maxJob = 16 << 20

// WriteJob writes job.json, and creates the grid job's folder if it is missing.
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

// ReadJob returns the content of job.json. The error is of kind jjm.Gone if the file does not exist.
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
