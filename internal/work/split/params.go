package split

import "jjm/internal/work/split/jedi"

// Params are the settings of all splitters together; docs/SPLITTERS.md says which ones each
// splitter reads. Start with Defaults, because zero is a valid value. The keys are the keys of the
// systems that the splitters come from.
type Params struct {
	// EventsPerJob is the size of a part in events.
	EventsPerJob int64 `json:"events_per_job,omitempty"`
	// EventsPerLumi is the size of a generated section in events. AsEventsPerJob makes one
	// section per part.
	EventsPerLumi int64 `json:"events_per_lumi,omitempty"`
	// LumisPerJob is the size of a part in luminosity sections.
	LumisPerJob int64 `json:"lumis_per_job,omitempty"`
	// FilesPerJob is the size of a part in files.
	FilesPerJob int64 `json:"files_per_job,omitempty"`
	// JobsPerGroup closes a job group when it has JobsPerGroup+1 parts, as in WMCore; 0 =
	// never.
	JobsPerGroup int64 `json:"jobs_per_group,omitempty"`

	// TotalFiles, TotalLumis and TotalEvents end the cutting after so many; 0 = no limit.
	TotalFiles  int64 `json:"total_files,omitempty"`
	TotalLumis  int64 `json:"total_lumis,omitempty"`
	TotalEvents int64 `json:"total_events,omitempty"`
	// JobLimit is the most parts of one cut; more are an error; 0 = no limit.
	JobLimit int64 `json:"job_limit,omitempty"`

	// HaltOnFiles and SplitOnRun start a new part with each file and each run.
	HaltOnFiles bool `json:"halt_job_on_file_boundaries,omitempty"`
	SplitOnRun  bool `json:"splitOnRun,omitempty"`
	// RespectRuns starts a new part with each run for the splitters of whole files, by the
	// lowest run of each file.
	RespectRuns bool `json:"respect_run_boundaries,omitempty"`
	// LumiCorrection puts a section into one part only, however many files hold it.
	LumiCorrection bool `json:"applyLumiCorrection,omitempty"`

	// JobTimeLimit is the most seconds for a part with a single section. AllowCreationFailure
	// makes a longer one createfailed.
	JobTimeLimit         float64 `json:"job_time_limit,omitempty"`
	AllowCreationFailure bool    `json:"allowCreationFailure,omitempty"`
	// MaxEventsPerLumi is deprecated and has an effect only with LegacyMaxEvents (decision
	// R28).
	MaxEventsPerLumi int64 `json:"max_events_per_lumi,omitempty"`
	LegacyMaxEvents  bool  `json:"legacy_max_events_per_lumi,omitempty"`

	// Runs and Lumis are the good sections: for each run a text "a,b,c,d", sections a to b and
	// c to d. RunWhitelist restricts the runs further.
	Runs         []string `json:"runs,omitempty"`
	Lumis        []string `json:"lumis,omitempty"`
	RunWhitelist []uint32 `json:"runWhitelist,omitempty"`

	// WithoutLumis is the treatment of files without sections: WithoutSkip leaves them out, WithoutWhole cuts them as
	// wholes; "" leaves them out although the job file does not ask for it.
	WithoutLumis string `json:"without_lumis,omitempty"`

	// Performance is the basis of estimates.
	Performance Performance `json:"performance,omitzero"`
	// IncludeParents adds the merged ancestors of the files to what a part reads.
	IncludeParents bool `json:"include_parents,omitempty"`
	// DeterministicPileup sets in each part how many pile-up events to skip.
	DeterministicPileup bool `json:"deterministicPileup,omitempty"`
	// LHEInputFiles is passed on to parts that generate events: the application reads LHE files.
	LHEInputFiles bool `json:"lheInputFiles,omitempty"`
	// Production says that the parts generate events; all are of run 1.
	Production bool `json:"production,omitempty"`

	// The site lists, and whether they alone determine where a part may run.
	SiteWhitelist  []string `json:"siteWhitelist,omitempty"`
	SiteBlacklist  []string `json:"siteBlacklist,omitempty"`
	TrustSitelists bool     `json:"trustSitelists,omitempty"`

	// MinMergeSize and MaxMergeSize are in bytes, MaxWaitTime in seconds.
	MinMergeSize    int64 `json:"min_merge_size,omitempty"`
	MaxMergeSize    int64 `json:"max_merge_size,omitempty"`
	MaxMergeEvents  int64 `json:"max_merge_events,omitempty"`
	MaxMergeFiles   int64 `json:"max_merge_files,omitempty"` // 0 = any number
	MergeAcrossRuns bool  `json:"merge_across_runs,omitempty"`
	MaxWaitTime     int64 `json:"max_wait_time,omitempty"`

	// Args, for Ganga's splitters, has a list of arguments for each part. Append makes handlers add them to the job's
	// arguments instead of replacing these.
	Args   []any `json:"args,omitempty"`
	Append bool  `json:"append,omitempty"`
	// Attribute and Values, or MultiAttrs, are the job fields that differ between parts.
	Attribute  string           `json:"attribute,omitempty"`
	Values     []any            `json:"values,omitempty"`
	MultiAttrs map[string][]any `json:"multi_attrs,omitempty"`
	// FilesPerSubjob (GangaDatasetSplitter) and FilesPerSplit (SplitByFiles) are the files of a
	// part. MaxFiles is the most files of all parts, -1 = all. Trim makes the last part smaller
	// to keep exactly to MaxFiles.
	FilesPerSubjob int64 `json:"files_per_subjob,omitempty"`
	FilesPerSplit  int64 `json:"filesPerJob,omitempty"`
	MaxFiles       int64 `json:"maxFiles,omitempty"`
	Trim           bool  `json:"trim,omitempty"`
	// FileBunchSize files are read together; a part has EventBunchSize events of them, 0 = all.
	FileBunchSize  int64 `json:"file_bunch_size,omitempty"`
	EventBunchSize int64 `json:"event_bunch_size,omitempty"`
	// NumberOfJobs parts of EventsPerSubjob events each begin after FirstEventNumber.
	EventsPerSubjob  int64 `json:"eventsPerJob,omitempty"`
	NumberOfJobs     int64 `json:"numberOfJobs,omitempty"`
	FirstEventNumber int64 `json:"firstEventNumber,omitempty"`

	// Pieces are the parts that the splitter Pieces makes.
	Pieces []Piece `json:"pieces,omitempty"`

	// Task is for JEDI: the split rule and the basis of estimates. Records says how files are cut into ranges of
	// events. Scouts cuts for the first jobs of a task.
	Task    jedi.Task        `json:"task,omitzero"`
	Records jedi.RecordRules `json:"records,omitzero"`
	Scouts  bool             `json:"scouts,omitempty"`
	// AllowIncomplete lets jobs have fewer secondary files than the attributes ask for once no
	// more come.
	AllowIncomplete bool `json:"allow_incomplete,omitempty"`
	// ChunksToWait is how many jobs an open dataset must have input for before any is made.
	ChunksToWait int64 `json:"chunks_to_wait,omitempty"`
	// RandomSeed gives each part a seed; the first is 1 + RandomSeedOffset.
	RandomSeed       bool  `json:"random_seed,omitempty"`
	RandomSeedOffset int64 `json:"random_seed_offset,omitempty"`
}

// The values of WithoutLumis.
const (
	WithoutSkip  = "skip"  // they are left out
	WithoutWhole = "whole" // each is a part of its own
)

// AsEventsPerJob as EventsPerLumi makes sections as large as a part.
const AsEventsPerJob = -1

// Performance is the expected need of one event.
type Performance struct {
	TimePerEvent float64 `json:"timePerEvent,omitempty"`      // seconds
	SizePerEvent float64 `json:"sizePerEvent,omitempty"`      // KB
	Memory       float64 `json:"memoryRequirement,omitempty"` // MB, of the whole part
}

// Defaults returns the default settings of a splitter. Its error is the error of Get.
func Defaults(name string) (Params, error) {
	var p Params
	s, err := find(name)
	if err == nil && s.defaults != nil {
		s.defaults(&p)
	}
	return p, err
}
