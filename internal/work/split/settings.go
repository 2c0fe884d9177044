package split

import (
	"slices"

	"jjm/internal/formats/nearest"

	"jjm/internal/jjm"
)

// settings returns, by splitter, the keys of Params that it reads.
func settings() map[string][]string {
	sites := []string{"production", "siteWhitelist", "siteBlacklist", "trustSitelists"}
	walk := slices.Concat(sites, []string{"halt_job_on_file_boundaries", "splitOnRun", "applyLumiCorrection", "job_limit",
		"runs", "lumis",
		"runWhitelist", "without_lumis", "performance", "include_parents", "deterministicPileup"})
	merge := slices.Concat(sites, []string{"min_merge_size", "max_merge_size", "max_merge_events"})
	return map[string][]string{
		ByEvents: {"events_per_job"},
		ByRows:   nil,
		EventBased: slices.Concat(sites,
			[]string{"events_per_job", "events_per_lumi", "performance", "include_parents", "deterministicPileup",
				"lheInputFiles"}),
		FileBased: slices.Concat(sites,
			[]string{"files_per_job", "jobs_per_group", "total_files", "respect_run_boundaries", "runs", "lumis",
				"performance", "include_parents"}),
		MinFileBased: slices.Concat(sites,
			[]string{"files_per_job", "jobs_per_group", "respect_run_boundaries", "include_parents"}),
		LumiBased: slices.Concat(walk, []string{"lumis_per_job", "total_lumis"}),
		EventAwareLumiBased: slices.Concat(walk,
			[]string{"events_per_job", "total_events", "job_time_limit", "allowCreationFailure",
				"max_events_per_lumi", "legacy_max_events_per_lumi"}),
		ParentlessMergeBySize: slices.Concat(merge, []string{"max_merge_files", "merge_across_runs", "max_wait_time"}),
		WMBSMergeBySize:       merge,
		JEDIMerge: slices.Concat(sites,
			[]string{"files_per_job", "max_merge_files", "max_merge_size", "max_merge_events"}),
		SiblingProcessingBased: slices.Concat(sites, []string{"files_per_job"}),
		ArgSplitter:            {"args", "append"},
		GenericSplitter:        {"attribute", "values", "multi_attrs"},
		GaussSplitter:          {"eventsPerJob", "numberOfJobs", "firstEventNumber"},
		GangaDatasetSplitter:   {"files_per_subjob", "maxFiles", "trim"},
		SplitByFiles:           {"filesPerJob", "maxFiles"},
		LHCbDataSplitter:       {"file_bunch_size", "event_bunch_size"},
		Pieces: slices.Concat(sites,
			[]string{"pieces", "events_per_job", "events_per_lumi", "performance", "include_parents", "deterministicPileup",
				"lheInputFiles"}),
		JEDI: {"task", "records", "scouts", "allow_incomplete", "chunks_to_wait", "random_seed",
			"random_seed_offset"},
	}
}

// Settings returns the keys of Params that a splitter reads, sorted. It returns the error of Get if the splitter is
// unknown.
func Settings(name string) ([]string, error) {
	m, err := find(name)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(slices.Values(settings()[m.name])), nil
}

// Unit returns the unit of the parts that a splitter makes. It returns the error of Get if the splitter is unknown.
func Unit(name string) (string, error) {
	m, err := find(name)
	if err != nil {
		return "", err
	}
	return m.unit, nil
}

// foreign returns the settings of WMCore's splitters that only configure other components of WMCore, and the reason why
// each has no effect in jjm.
func foreign() map[string]string {
	return map[string]string{
		"trustPUSitelists": "it has WMCore read pile-up from afar, and jjm does not look where pile-up is: leave it out",
	}
}

// CheckSettings returns an error of kind Invalid for a key that a splitter does not read. The error names a similar key
// that the splitter reads.
func CheckSettings(name string, keys []string) error {
	known, err := Settings(name)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if slices.Contains(known, key) {
			continue
		}
		if why := foreign()[key]; why != "" {
			return jjm.Errorf(jjm.Invalid, "split by %s: it does not read %s: %s", name, key, why)
		}
		hint := ""
		if near := nearest.Of(key, known); near != "" {
			hint = ": did you mean " + near + "?"
		}
		return jjm.Errorf(jjm.Invalid, "split by %s: it does not read %.60q%s", name, key, hint)
	}
	return nil
}
