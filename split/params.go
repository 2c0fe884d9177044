package split

import "jjm/split/jedi"

// Params are the settings of all the splitters; docs/SPLITTERS.md says what
// each reads. Begin with Defaults: zero is a value of its own. The words are
// those of the systems that the splitters come from.
type Params struct {
	// EventsPerJob is the size of a part, in events.
	EventsPerJob int64 `json:"events_per_job,omitempty"`
	// EventsPerLumi is the size of a generated section; AsEventsPerJob: one
	// section for each part.
	EventsPerLumi int64 `json:"events_per_lumi,omitempty"`
	// LumisPerJob is the size of a part, in luminosity sections.
	LumisPerJob int64 `json:"lumis_per_job,omitempty"`
	// FilesPerJob is the size of a part, in files.
	FilesPerJob int64 `json:"files_per_job,omitempty"`
	// JobsPerGroup closes a job group when it has one part more than that; 0 = never.
	JobsPerGroup int64 `json:"jobs_per_group,omitempty"`

	// TotalFiles, TotalLumis and TotalEvents end a cut; 0 = not.
	TotalFiles  int64 `json:"total_files,omitempty"`
	TotalLumis  int64 `json:"total_lumis,omitempty"`
	TotalEvents int64 `json:"total_events,omitempty"`
	// JobLimit refuses to make more parts in one cut; 0 = not.
	JobLimit int64 `json:"job_limit,omitempty"`

	// HaltOnFiles and SplitOnRun begin a new part with each file and run.
	HaltOnFiles bool `json:"halt_job_on_file_boundaries,omitempty"`
	SplitOnRun  bool `json:"splitOnRun,omitempty"`
	// RespectRuns does so for the splitters that take whole files, by the lowest
	// run of each.
	RespectRuns bool `json:"respect_run_boundaries,omitempty"`
	// LumiCorrection processes a section once only, however many files hold it.
	LumiCorrection bool `json:"applyLumiCorrection,omitempty"`

	// JobTimeLimit is how long a part with a single section may take, in
	// seconds; AllowCreationFailure says whether it is then createfailed.
	JobTimeLimit         float64 `json:"job_time_limit,omitempty"`
	AllowCreationFailure bool    `json:"allowCreationFailure,omitempty"`
	// MaxEventsPerLumi is deprecated and effective only with LegacyMaxEvents
	// (decision R28).
	MaxEventsPerLumi int64 `json:"max_events_per_lumi,omitempty"`
	LegacyMaxEvents  bool  `json:"legacy_max_events_per_lumi,omitempty"`

	// Runs and Lumis are the good sections: for each run the text "a,b,c,d",
	// sections a to b and c to d. RunWhitelist restricts the runs further.
	Runs         []string `json:"runs,omitempty"`
	Lumis        []string `json:"lumis,omitempty"`
	RunWhitelist []uint32 `json:"runWhitelist,omitempty"`

	// Performance is what estimates are made from.
	Performance Performance `json:"performance,omitzero"`
	// IncludeParents adds the merged ancestors of the files to read.
	IncludeParents bool `json:"include_parents,omitempty"`
	// DeterministicPileup tells each part how many pile-up events to skip.
	DeterministicPileup bool `json:"deterministicPileup,omitempty"`
	// Production says that the parts generate: all are of run 1.
	Production bool `json:"production,omitempty"`

	// The site lists, and whether they alone say where a part may run.
	SiteWhitelist  []string `json:"siteWhitelist,omitempty"`
	SiteBlacklist  []string `json:"siteBlacklist,omitempty"`
	TrustSitelists bool     `json:"trustSitelists,omitempty"`

	// MinMergeSize and MaxMergeSize are in bytes; MaxWaitTime is in seconds.
	MinMergeSize    int64 `json:"min_merge_size,omitempty"`
	MaxMergeSize    int64 `json:"max_merge_size,omitempty"`
	MaxMergeEvents  int64 `json:"max_merge_events,omitempty"`
	MaxMergeFiles   int64 `json:"max_merge_files,omitempty"` // 0 = any number
	MergeAcrossRuns bool  `json:"merge_across_runs,omitempty"`
	MaxWaitTime     int64 `json:"max_wait_time,omitempty"`

	// Of Ganga's splitters. Args has a list of arguments for each part; Append
	// adds them to those of the job.
	Args   []any `json:"args,omitempty"`
	Append bool  `json:"append,omitempty"`
	// Attribute and Values, or MultiAttrs, are the job fields that differ.
	Attribute  string           `json:"attribute,omitempty"`
	Values     []any            `json:"values,omitempty"`
	MultiAttrs map[string][]any `json:"multi_attrs,omitempty"`
	// FilesPerSubjob is GangaDatasetSplitter's and FilesPerSplit SplitByFiles'
	// number of files of a part; MaxFiles bounds the files, -1 = all. Trim
	// shortens the last part to that bound.
	FilesPerSubjob int64 `json:"files_per_subjob,omitempty"`
	FilesPerSplit  int64 `json:"filesPerJob,omitempty"`
	MaxFiles       int64 `json:"maxFiles,omitempty"`
	Trim           bool  `json:"trim,omitempty"`
	// FileBunchSize files are read together, EventBunchSize events of them go to
	// a part; 0 = all.
	FileBunchSize  int64 `json:"file_bunch_size,omitempty"`
	EventBunchSize int64 `json:"event_bunch_size,omitempty"`
	// NumberOfJobs parts of EventsPerSubjob events follow FirstEventNumber.
	EventsPerSubjob  int64 `json:"eventsPerJob,omitempty"`
	NumberOfJobs     int64 `json:"numberOfJobs,omitempty"`
	FirstEventNumber int64 `json:"firstEventNumber,omitempty"`

	// Pieces are the parts that the splitter of that name makes.
	Pieces []Piece `json:"pieces,omitempty"`

	// Of JEDI's. Task has the split rule and what estimates are made from;
	// Records says how files are cut into ranges of events. Scouts are the first
	// jobs of a task.
	Task    jedi.Task        `json:"task,omitzero"`
	Records jedi.RecordRules `json:"records,omitzero"`
	Scouts  bool             `json:"scouts,omitempty"`
	// AllowIncomplete lets jobs have fewer secondary files than they should once there
	// are no more.
	AllowIncomplete bool `json:"allow_incomplete,omitempty"`
	// ChunksToWait is how many jobs an open dataset waits for.
	ChunksToWait int64 `json:"chunks_to_wait,omitempty"`
	// RandomSeed gives each part a seed, from 1 + RandomSeedOffset on.
	RandomSeed       bool  `json:"random_seed,omitempty"`
	RandomSeedOffset int64 `json:"random_seed_offset,omitempty"`
}

// AsEventsPerJob as EventsPerLumi makes sections of the size of a part.
const AsEventsPerJob = -1

// Performance is what one event is expected to need.
type Performance struct {
	TimePerEvent float64 `json:"timePerEvent,omitempty"`      // seconds
	SizePerEvent float64 `json:"sizePerEvent,omitempty"`      // KB
	Memory       float64 `json:"memoryRequirement,omitempty"` // MB, of the whole part
}

// Defaults are the settings of a splitter where nothing else is said.
func Defaults(name string) (Params, error) {
	var p Params
	s, err := find(name)
	if err == nil && s.defaults != nil {
		s.defaults(&p)
	}
	return p, err
}
