package split

import "jjm/internal/work/split/jedi"

// Params are the settings of all splitters together; docs/SPLITTERS.md lists the settings that each splitter reads.
// Begin with Defaults, because zero is a valid value. The keys are the keys of the systems from which the splitters
// were taken.
type Params struct {
	// EventsPerJob is the size of a part in events.
	EventsPerJob int64 `json:"events_per_job,omitempty"`
	// EventsPerLumi is the size of a generated section in events. With AsEventsPerJob each part has one section.
	EventsPerLumi int64 `json:"events_per_lumi,omitempty"`
	// LumisPerJob is the size of a part in luminosity sections.
	LumisPerJob int64 `json:"lumis_per_job,omitempty"`
	// FilesPerJob is the size of a part in files.
	FilesPerJob int64 `json:"files_per_job,omitempty"`
	// JobsPerGroup closes a job group when the group has JobsPerGroup+1 parts, as in WMCore; 0 = never.
	JobsPerGroup int64 `json:"jobs_per_group,omitempty"`

	// TotalFiles, TotalLumis and TotalEvents are the numbers of files, sections and events after which the cutting ends; 0
	// = no limit.
	TotalFiles  int64 `json:"total_files,omitempty"`
	TotalLumis  int64 `json:"total_lumis,omitempty"`
	TotalEvents int64 `json:"total_events,omitempty"`
	// JobLimit is the maximum number of parts of one cut, 0 = no limit. More parts are an error.
	JobLimit int64 `json:"job_limit,omitempty"`

	// HaltOnFiles and SplitOnRun start a new part with each file and each run.
	HaltOnFiles bool `json:"halt_job_on_file_boundaries,omitempty"`
	SplitOnRun  bool `json:"splitOnRun,omitempty"`
	// RespectRuns, for splitters of whole files, starts a new part with each run. The lowest run of a file counts.
	RespectRuns bool `json:"respect_run_boundaries,omitempty"`
	// LumiCorrection puts a section into only one part, even if several files have the section.
	LumiCorrection bool `json:"applyLumiCorrection,omitempty"`

	// JobTimeLimit is the maximum time of a part with a single section, in seconds. With AllowCreationFailure a longer
	// part becomes createfailed.
	JobTimeLimit         float64 `json:"job_time_limit,omitempty"`
	AllowCreationFailure bool    `json:"allowCreationFailure,omitempty"`
	// MaxEventsPerLumi is deprecated and has an effect only with LegacyMaxEvents (decision
	// R28).
	MaxEventsPerLumi int64 `json:"max_events_per_lumi,omitempty"`
	LegacyMaxEvents  bool  `json:"legacy_max_events_per_lumi,omitempty"`

	// Runs and Lumis are the good sections. Lumis has for each run a text "a,b,c,d", which means the sections a to b and c
	// to d. RunWhitelist restricts the runs further.
	Runs         []string `json:"runs,omitempty"`
	Lumis        []string `json:"lumis,omitempty"`
	RunWhitelist []uint32 `json:"runWhitelist,omitempty"`

	// WithoutLumis is the treatment of files without sections. WithoutSkip leaves such files out; WithoutWhole makes a
	// part of each such file. "" also leaves such files out, but does not count as a request of the job file.
	WithoutLumis string `json:"without_lumis,omitempty"`

	// Performance contains the figures from which the run time and the size of parts are estimated.
	Performance Performance `json:"performance,omitzero"`
	// IncludeParents adds the merged ancestors of the files to the files that a part reads.
	IncludeParents bool `json:"include_parents,omitempty"`
	// DeterministicPileup sets for each part the number of pile-up events to skip.
	DeterministicPileup bool `json:"deterministicPileup,omitempty"`
	// LHEInputFiles is copied to parts that generate events. It means that the application reads LHE files.
	LHEInputFiles bool `json:"lheInputFiles,omitempty"`
	// Production means that the parts generate events, all of run 1.
	Production bool `json:"production,omitempty"`

	// SiteWhitelist and SiteBlacklist are lists of clusters. A part never runs on a cluster of the black list, and, if
	// there is a white list, runs only on clusters of the white list. With TrustSitelists the two lists alone determine
	// where a part may run; otherwise the cluster must also be able to read the part's files.
	SiteWhitelist  []string `json:"siteWhitelist,omitempty"`
	SiteBlacklist  []string `json:"siteBlacklist,omitempty"`
	TrustSitelists bool     `json:"trustSitelists,omitempty"`

	// MinMergeSize and MaxMergeSize are sizes in bytes. MaxWaitTime is in seconds.
	MinMergeSize    int64 `json:"min_merge_size,omitempty"`
	MaxMergeSize    int64 `json:"max_merge_size,omitempty"`
	MaxMergeEvents  int64 `json:"max_merge_events,omitempty"`
	MaxMergeFiles   int64 `json:"max_merge_files,omitempty"` // in files; 0 = any number
	MergeAcrossRuns bool  `json:"merge_across_runs,omitempty"`
	MaxWaitTime     int64 `json:"max_wait_time,omitempty"`

	// Args, for Ganga's splitters, has a list of arguments for each part. With Append, handlers add these arguments to the
	// job's arguments; otherwise they replace the job's arguments.
	Args   []any `json:"args,omitempty"`
	Append bool  `json:"append,omitempty"`
	// Attribute and Values, or MultiAttrs, set the job fields that differ between parts.
	Attribute  string           `json:"attribute,omitempty"`
	Values     []any            `json:"values,omitempty"`
	MultiAttrs map[string][]any `json:"multi_attrs,omitempty"`
	// FilesPerSubjob (GangaDatasetSplitter) and FilesPerSplit (SplitByFiles) are the numbers of files of a part. MaxFiles
	// is the maximum number of files of all parts together, -1 = all. Trim makes the last part smaller, so that MaxFiles
	// is not exceeded.
	FilesPerSubjob int64 `json:"files_per_subjob,omitempty"`
	FilesPerSplit  int64 `json:"filesPerJob,omitempty"`
	MaxFiles       int64 `json:"maxFiles,omitempty"`
	Trim           bool  `json:"trim,omitempty"`
	// FileBunchSize is the number of files that are read together. EventBunchSize is the number of their events that a
	// part has, 0 = all.
	FileBunchSize  int64 `json:"file_bunch_size,omitempty"`
	EventBunchSize int64 `json:"event_bunch_size,omitempty"`
	// NumberOfJobs is the number of parts, EventsPerSubjob the number of events of each part. The event numbers begin
	// after FirstEventNumber.
	EventsPerSubjob  int64 `json:"eventsPerJob,omitempty"`
	NumberOfJobs     int64 `json:"numberOfJobs,omitempty"`
	FirstEventNumber int64 `json:"firstEventNumber,omitempty"`

	// Pieces are the parts that the splitter Pieces makes.
	Pieces []Piece `json:"pieces,omitempty"`

	// Task is for JEDI: the split rule and the basis of estimates. Records are the rules by which files are cut into
	// ranges of events. Scouts is set for the first jobs of a task.
	Task    jedi.Task        `json:"task,omitzero"`
	Records jedi.RecordRules `json:"records,omitzero"`
	Scouts  bool             `json:"scouts,omitempty"`
	// AllowIncomplete permits jobs with fewer secondary files than the attributes require, if no more files will come.
	AllowIncomplete bool `json:"allow_incomplete,omitempty"`
	// ChunksToWait is the number of jobs for which an open dataset must have input before the first job is made.
	ChunksToWait int64 `json:"chunks_to_wait,omitempty"`
	// RandomSeed assigns a seed to each part; the first seed is 1 + RandomSeedOffset.
	RandomSeed       bool  `json:"random_seed,omitempty"`
	RandomSeedOffset int64 `json:"random_seed_offset,omitempty"`
}

// The values of WithoutLumis.
const (
	WithoutSkip  = "skip"  // files without sections are left out
	WithoutWhole = "whole" // each file without sections is a separate part
)

// AsEventsPerJob, as the value of EventsPerLumi, makes sections as large as a part.
const AsEventsPerJob = -1

// Performance is what the jobs are expected to need: time and space for each event, and memory.
type Performance struct {
	TimePerEvent float64 `json:"timePerEvent,omitempty"`      // in seconds
	SizePerEvent float64 `json:"sizePerEvent,omitempty"`      // in KB
	Memory       float64 `json:"memoryRequirement,omitempty"` // in MB, of the whole part
}

// Defaults returns the default settings of a splitter. It returns the error of Get if the splitter is unknown.
func Defaults(name string) (Params, error) {
	var p Params
	s, err := find(name)
	if err == nil && s.defaults != nil {
		s.defaults(&p)
	}
	return p, err
}
