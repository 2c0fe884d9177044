package wire

// VerbJobTypes documents the job types of the site.
func VerbJobTypes() Verb[JobTypesRequest, JobTypesAnswer] {
	return Verb[JobTypesRequest, JobTypesAnswer]{About{Name: "job-types", MaxBytes: maxShort,
		Help: "The job types of the site, and their settings."}}
}

// JobTypesRequest takes nothing.
type JobTypesRequest struct{ Head }

// Check implements Request.
func (JobTypesRequest) Check() error { return nil }

// JobTypesAnswer answers job-types.
type JobTypesAnswer struct {
	Reply
	JobTypes []JobType `json:"job_types,omitempty"`
}

// JobType documents a job type.
type JobType struct {
	Type    string     `json:"type"`
	Summary string     `json:"summary"`
	Result  string     `json:"result"`
	Params  []JobParam `json:"params"`
	Example string     `json:"example"`
}

// JobParam documents one setting.
type JobParam struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Unit     string `json:"unit,omitempty"`
	Default  string `json:"default,omitempty"`
	Required bool   `json:"required,omitempty"`
	Help     string `json:"help"`
}
