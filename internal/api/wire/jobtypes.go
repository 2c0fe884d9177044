package wire

// VerbJobTypes is the verb "job-types": it documents the job types of the site.
func VerbJobTypes() Verb[JobTypesRequest, JobTypesAnswer] {
	return Verb[JobTypesRequest, JobTypesAnswer]{About{Name: "job-types", MaxBytes: maxShort,
		Help: "The job types of the site, and their settings."}}
}

// JobTypesRequest has no members except the common members of requests.
type JobTypesRequest struct{ Head }

// Check accepts every request.
func (JobTypesRequest) Check() error { return nil }

// JobTypesAnswer is the answer of "job-types".
type JobTypesAnswer struct {
	Reply
	JobTypes []JobType `json:"job_types,omitempty"`
}

// JobType is the documentation of one job type.
type JobType struct {
	Type    string     `json:"type"`
	Summary string     `json:"summary"`
	Result  string     `json:"result"`
	Params  []JobParam `json:"params"`
	Example string     `json:"example"`
	// Cut is the splitter that cuts the files of a job, with its settings, for people; "" for types that read no files.
	Cut string `json:"cut,omitempty"`
	// Off is set if the type accepts no new jobs. File is the file to repair, Problems are all mistakes in the file,
	// and Remedy is advice to the administrator.
	Off      bool     `json:"off,omitempty"`
	File     string   `json:"file,omitempty"`
	Problems []string `json:"problems,omitempty"`
	Remedy   string   `json:"remedy,omitempty"`
}

// JobParam is the documentation of one setting of a job type.
type JobParam struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Unit     string `json:"unit,omitempty"`
	Default  string `json:"default,omitempty"`
	Required bool   `json:"required,omitempty"`
	Help     string `json:"help"`
}
