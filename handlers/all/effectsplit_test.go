package all_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"jjm/handlers"
	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

// splitterTrials returns trials of the settings of splitters. The key of a trial is SPLITTER/KEY if the trial is for
// one splitter, and otherwise KEY. A setting in a table has TABLE.KEY as its KEY.
func splitterTrials() map[string]trial {
	estimates := keys{"timePerEvent": 12.0, "sizePerEvent": 30.0, "memoryRequirement": 2000.0}
	pieces := keys{"pieces": []keys{{"lfn": "/a", "first": 0, "count": 10}}}
	merge := func(v any) trial { return trial{value: v, files: small(), with: keys{"min_merge_size": 100}} }
	return map[string]trial{
		"events_per_job":                        {value: 7},
		"EventAwareLumiBased/events_per_job":    {value: 7, with: keys{"splitOnRun": false}},
		"events_per_lumi":                       {value: 3, files: madeUp()},
		"Pieces/events_per_job":                 {value: 7, files: madeUp(), with: keys{"pieces": madeUpPieces()}},
		"Pieces/events_per_lumi":                {value: 3, files: madeUp(), with: keys{"pieces": madeUpPieces()}},
		"lumis_per_job":                         {value: 3},
		"files_per_job":                         {value: 2},
		"jobs_per_group":                        {value: 1, with: keys{"files_per_job": 1}},
		"total_files":                           {value: 2},
		"total_lumis":                           {value: 2},
		"total_events":                          {value: 10},
		"job_limit":                             {value: 1, refuses: true},
		"halt_job_on_file_boundaries":           {value: true},
		"LumiBased/halt_job_on_file_boundaries": {value: true, with: keys{"lumis_per_job": 100}},
		"splitOnRun":                            {value: false},
		"LumiBased/splitOnRun":                  {value: false, with: keys{"lumis_per_job": 100}},
		"respect_run_boundaries":                {value: true, with: keys{"files_per_job": 10}},
		"applyLumiCorrection":                   {value: true},
		"without_lumis":                         {value: "whole", files: append(fixture(), jjm.File{LFN: "/n", Events: 9})},
		"job_time_limit":                        {value: 10.0, with: keys{"performance": estimates}},
		"allowCreationFailure":                  {value: false, with: keys{"job_time_limit": 10.0, "performance": estimates}},
		"max_events_per_lumi":                   {value: 5, with: keys{"legacy_max_events_per_lumi": true}},
		"legacy_max_events_per_lumi":            {value: true, with: keys{"max_events_per_lumi": 5}},
		"runs":                                  {value: []string{"1"}, along: keys{"lumis": []string{"1,2"}}},
		"lumis":                                 {value: []string{"1,2"}, along: keys{"runs": []string{"1"}}},
		"runWhitelist":                          {value: []int{1}},
		"performance.timePerEvent":              {value: 12.0},
		"performance.sizePerEvent":              {value: 30.0},
		"performance.memoryRequirement":         {value: 2000.0},
		"include_parents":                       {value: true},
		"deterministicPileup":                   {value: true},
		"lheInputFiles":                         {value: true, files: madeUp()},
		"Pieces/lheInputFiles":                  {value: true, files: madeUp(), with: keys{"pieces": madeUpPieces()}},
		"production":                            {value: true},
		"siteWhitelist":                         {value: []string{"near"}},
		"siteBlacklist":                         {value: []string{"near"}},
		"trustSitelists":                        {value: true, with: keys{"siteWhitelist": []string{"near"}}},
		"min_merge_size":                        {value: 100, files: small(), with: keys{"max_merge_size": 2500}, open: true},
		"max_merge_size":                        merge(1500),
		"max_merge_events":                      merge(50),
		"max_merge_files":                       merge(2),
		"merge_across_runs":                     merge(false),
		"max_wait_time":                         {value: 1, files: small(), open: true},
		"JEDIMerge/files_per_job":               {value: 1, files: small()},
		"JEDIMerge/max_merge_files":             {value: 1, files: small()},
		"JEDIMerge/max_merge_size":              {value: 1500, files: small()},
		"JEDIMerge/max_merge_events":            {value: 50, files: small()},
		"files_per_subjob":                      {value: 2},
		"maxFiles":                              {value: 3},
		"trim":                                  {value: false, with: keys{"maxFiles": 3, "files_per_subjob": 2}},
		"filesPerJob":                           {value: 2},
		"file_bunch_size":                       {value: 2},
		"event_bunch_size":                      {value: 7},
		"pieces":                                {value: []keys{{"lfn": "/b", "first": 0, "count": 10}}, with: pieces},
		"allow_incomplete": {value: true, pileup: 3, with: keys{"task": keys{"rule": "NF=1"}},
			refuses: true},
		"scouts":             {value: true},
		"chunks_to_wait":     {value: 1, with: keys{"task": keys{"rule": "NF=1"}}, open: true},
		"random_seed":        {value: true},
		"random_seed_offset": {value: 5, with: keys{"random_seed": true}},
	}
}

// keysOf returns the JSON names of the fields of a struct.
func keysOf[T any]() (names []string) {
	for field := range reflect.TypeFor[T]().Fields() {
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if key != "-" {
			names = append(names, key)
		}
	}
	return names
}

// setting is a setting that a splitter reads: name is the name of its trial, put inserts
// its value.
type setting struct {
	name string
	put  func(p keys, value any)
}

// settingsOf returns the settings of a splitter. The keys of a table count as single settings.
func settingsOf(t *testing.T, by string) (all []setting) {
	t.Helper()
	known, err := split.Settings(by)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range known {
		if key == "task" || key == "records" {
			continue // see TestJEDI_EveryKeyChangesLocalJobs
		}
		if key != "performance" {
			all = append(all, setting{key, func(p keys, v any) { p[key] = v }})
			continue
		}
		for _, name := range keysOf[split.Performance]() {
			all = append(all, setting{key + "." + name, func(p keys, v any) {
				old, _ := p[key].(keys)
				p[key] = merged(old, keys{name: v})
			}})
		}
	}
	return all
}

// The test asks each splitter for its settings, so that it covers new settings. Splitters that read no files are left
// out, because job files cannot name them.
func TestEffect_EverySettingOfASplitterHasAnEffect(t *testing.T) {
	trials := splitterTrials()
	used := map[string]bool{}
	for _, by := range split.Names() {
		if unit, err := split.Unit(by); err != nil || unit == jjm.UnitEvent || unit == jjm.UnitRow {
			_, _, problems := handlers.SplitOf(&jjm.Spec{Split: &jjm.Splitting{By: by}}, split.FileBased, nil)
			if len(problems) == 0 {
				t.Errorf("a job file may name %s, and its settings are not tried", by)
			}
			continue
		}
		for _, s := range settingsOf(t, by) {
			key := s.name
			if _, own := trials[by+"/"+key]; own {
				key = by + "/" + key
			}
			c, tried := trials[key]
			if !tried {
				t.Errorf("%s: no value to try %s with", by, s.name)
				continue
			}
			used[key] = true
			c.with = fitting(t, by, c.with)
			c.try(t, s.name, by, func(p keys) { s.put(p, c.value) })
		}
	}
	for name := range trials {
		if !used[name] {
			t.Errorf("%s is no setting", name)
		}
	}
}

// fitting returns those further keys of a trial that the splitter reads. The splitter Pieces always needs the key
// pieces; if the trial lacks this key, fitting adds one piece.
func fitting(t *testing.T, by string, with keys) keys {
	t.Helper()
	known, err := split.Settings(by)
	if err != nil {
		t.Fatal(err)
	}
	out := keys{}
	for key, value := range with {
		if slices.Contains(known, key) {
			out[key] = value
		}
	}
	if _, said := out["pieces"]; by == split.Pieces && !said {
		out["pieces"] = []keys{{"lfn": "/a", "first": 0, "count": 10}}
	}
	return out
}
