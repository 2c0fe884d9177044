package wire

// VerbModels is the verb "models": it shows the models of job files of the site.
func VerbModels() Verb[ModelsRequest, ModelsAnswer] {
	return Verb[ModelsRequest, ModelsAnswer]{About{Name: "models", MaxBytes: maxShort,
		Help: "The models of job files, with their files."}}
}

// ModelsRequest has no members except the common members of requests.
type ModelsRequest struct{ Head }

// Check accepts every request.
func (ModelsRequest) Check() error { return nil }

// ModelsAnswer is the answer of "models".
type ModelsAnswer struct {
	Reply
	Models []Model `json:"models,omitempty"`
}

// Model is a named set of defaults for job files.
type Model struct {
	Name string `json:"name"`
	// Type is the job type that the model sets, "" if it leaves the type to job files.
	Type string `json:"type,omitempty"`
	// File is the path of the model's file, "" for the default model without a file; Text is its content.
	File string `json:"file,omitempty"`
	Text string `json:"text,omitempty"`
	// Problems are the mistakes that make the model unusable.
	Problems []string `json:"problems,omitempty"`
}
