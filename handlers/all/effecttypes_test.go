package all_test

import (
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"

	"jjm/handlers"
	"jjm/handlers/all"
	"jjm/internal/formats/jobfile"
)

// typeTrials returns trials of the settings of the job types. The key of a trial is TYPE/KEY if the trial is for one
// type, and otherwise KEY. The field with contains the params of a valid job file.
func typeTrials() map[string]trial {
	mc := keys{"command": []string{"mc"}, "events": 1000}
	events := keys{"command": []string{"run"}, "events": 10, "events_per_job": 5}
	cdf := keys{"command": []string{"mc"}, "sections": 3, "events_per_section": 10}
	seed := func(with keys) trial {
		return trial{value: 5, with: merged(with, keys{"command": []string{"run", "{seed}"}})}
	}
	command := []string{"other"}
	return map[string]trial{
		"montecarlo/command":               {value: command, with: mc},
		"montecarlo/events":                {value: 600, with: mc},
		"montecarlo/first_event":           {value: 11, with: mc},
		"montecarlo/cpu_per_event":         {value: 60.0, with: mc},
		"montecarlo/events_per_job":        {value: 100, with: mc},
		"montecarlo/outputs_per_phase":     {value: "many", with: merged(mc, keys{"max_events_per_output": 50})},
		"montecarlo/max_events_per_output": {value: 50, with: mc},
		"montecarlo/seed_offset":           seed(mc),

		"cdfmc/command":            {value: command, with: cdf},
		"cdfmc/sections":           {value: 2, with: cdf},
		"cdfmc/events_per_section": {value: 7, with: cdf},
		"cdfmc/first_section":      {value: 2, with: merged(cdf, keys{"command": []string{"mc", "{section}"}})},
		"cdfmc/seed_offset":        seed(cdf),

		"script/command":        {value: command, with: events},
		"script/count":          {value: 3, with: keys{"command": []string{"run"}}},
		"script/args":           {value: [][]string{{"a"}, {"b"}}, with: keys{"command": []string{"run"}}},
		"script/args_file":      {value: "rows", with: keys{"command": []string{"run"}}},
		"script/events":         {value: 20, with: events},
		"script/first_event":    {value: 11, with: events},
		"script/events_per_job": {value: 2, with: events},
		"script/seed_offset":    seed(events),

		"concat/output":         {value: "other", with: keys{"output": "large"}},
		"passthrough/command":   {value: command, with: keys{"command": []string{"run"}}},
		"reprocess/command":     {value: command, with: keys{"command": []string{"run"}}},
		"reprocess/seed_offset": seed(keys{}),
	}
}

// typeJob returns the text of a job file of a type.
func typeJob(t *testing.T, typ string, reads bool, params keys) string {
	t.Helper()
	job := keys{"type": typ, "params": params}
	if reads {
		job["datasets"] = []keys{{"name": "raw", "files": fixture()}}
	}
	text, err := json.Marshal(job)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// typeEffect processes a job file as the product does, on a site that chooses sizes by CPU
// time and whose inputs are lists of three rows.
func typeEffect(t *testing.T, text string) (e effect) {
	t.Helper()
	site := handlers.Site{RecommendedCPU: 3600, MaxCPU: 7200,
		Open: func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("a\nb\nc\n")), nil }}
	doc, problems := jobfile.Parse("job.json", []byte(text))
	spec := &doc.Spec
	h, err := all.Registry().Get(spec.Type)
	if err != nil {
		t.Fatal(err)
	}
	problems = append(problems, handlers.Examine(h, spec, site)...)
	if len(problems) > 0 {
		return effect{Refused: problems.Error()}
	}
	cut, err := handlers.SplitBy(h, spec, site)
	if err != nil {
		t.Fatal(err)
	}
	work := cut.Work
	if h.Describe().Reads {
		work, _ = handlers.Inline(spec)
	}
	if e.Assignments, err = assignments(spec, cut.Splitter, work, cut.Params, h.Command); err != nil {
		t.Fatal(err)
	}
	return e
}

func TestEffect_EverySettingOfAJobTypeHasAnEffect(t *testing.T) {
	trials := typeTrials()
	for typ, h := range all.Registry() {
		d := h.Describe()
		for _, p := range d.Params {
			c, tried := trials[typ+"/"+p.Name]
			if !tried {
				t.Errorf("%s: no value to try %s with", typ, p.Name)
				continue
			}
			delete(trials, typ+"/"+p.Name)
			without := typeEffect(t, typeJob(t, typ, d.Reads, c.with))
			changed := typeEffect(t, typeJob(t, typ, d.Reads, merged(c.with, keys{p.Name: c.value})))
			switch {
			case without.Refused+changed.Refused != "":
				t.Errorf("%s: %s: refused without or with it: %q %q", typ, p.Name, without.Refused, changed.Refused)
			case len(without.Assignments) == 0 || reflect.DeepEqual(without, changed):
				t.Errorf("%s: %s = %v changes nothing", typ, p.Name, c.value)
			}
		}
	}
	for name := range trials {
		t.Errorf("%s is no setting", name)
	}
}
