package all_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"jjm/handlers"
	"jjm/internal/jjm"
	"jjm/internal/work/split"
	"jjm/internal/work/split/jedi"
)

// jediJob returns a job file with pile-up, over files of two groups and six lumi blocks. rule and task are settings of
// the splitter, attributes are those of the pile-up, and request is the job's request.
func jediJob(rule, task, records, attributes, request string) string {
	var master, pileup []string
	for i := range 12 {
		master = append(master, fmt.Sprintf("{ lfn = \"m%02d\", events = %d, size = %d, group = \"g%d\", "+
			"lumis = [{ run = 1, first = %d, last = %d }] }", i, 100+10*(i%2), 1<<30, i/5, i/2, i/2))
		pileup = append(pileup, fmt.Sprintf("{ lfn = \"p%02d\", events = 50, size = 1000 }", i))
	}
	return "type = \"reprocess\"\n[request]\nwalltime = \"10h\"\nscratch_mb = 20000\n" + request +
		"\n[[datasets]]\nname = \"raw\"\nfiles = [" + strings.Join(master, ", ") + "]\n" +
		"[[datasets]]\nname = \"pileup\"\nsecondary = true\nattributes = \"" + attributes + "\"\nfiles = [" +
		strings.Join(pileup, ", ") + "]\n[split]\nby = \"JEDI\"\n[split.params]\nallow_incomplete = true\nrecords = {" +
		records + "}\n" +
		"[split.params.task]\nrule = \"" + rule + "\"\n" + task + "\n[params]\ncommand = [\"reco\", \"{files}\"]\n"
}

// cutParts returns the parts of a job file's work as JSON.
func cutParts(t *testing.T, text string) string {
	t.Helper()
	doc, h, problems := check("job.toml", text, handlers.Site{})
	if problems != nil {
		t.Fatalf("%v\n%s", problems, text)
	}
	cut, err := handlers.SplitBy(h, &doc.Spec, handlers.Site{})
	if err != nil {
		t.Fatal(err)
	}
	cut.Work, _ = handlers.Inline(&doc.Spec)
	s, err := split.Get(cut.Splitter)
	if err != nil {
		t.Fatal(err)
	}
	parts, _, _, err := s.Cut(cut.Work, split.Limits{}, cut.Params, split.Carry{})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for i := range parts {
		parts[i].Input.Estimate = jjm.Estimate{} // a changed estimate alone is not an effect
	}
	out, err := json.Marshal(parts)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// variant is a pair of job files that differ in one word or key: with has it, without lacks it.
type variant struct{ with, without string }

// jediWords returns a pair of job files for each word that docs/SPLITTERS.md lists for split rules and for attributes
// of datasets.
func jediWords() map[string]variant {
	rule := func(word string) variant {
		return variant{jediJob(word, "", "", "", ""), jediJob("", "", "", "", "")}
	}
	attribute := func(word, others string) variant {
		return variant{jediJob("NF=2", "", "", strings.Trim(others+","+word, ","), ""), jediJob("NF=2", "", "", others, "")}
	}
	// The numbers are chosen so that each word changes the local jobs.
	return map[string]variant{
		"NF": rule("NF=2"), "NG": rule("NG=3"), "MF": rule("MF=3"), "GB": rule("GB=1"), "RL": rule("RL=1"),
		"NE": {jediJob("NE=150", "", "events_per_job = 50", "", ""), jediJob("", "", "events_per_job = 50", "", "")},
		"MW": {jediJob("MW=1", "wall_time = 1", "", "", ""), jediJob("", "wall_time = 1", "", "", "")},
		"er": {jediJob("NE=100", "", "real_events = true, events_per_job = 50", "er=2", ""),
			jediJob("NE=100", "", "real_events = true, events_per_job = 50", "", "")},
		"repeat": attribute("repeat", "ratio=2"), "nosplit": attribute("nosplit", ""), "ratio": attribute("ratio=2", ""),
		"np": attribute("np=5", ""), "ru": attribute("ru", "np=5"), "of": attribute("of=3", ""),
	}
}

// jediKeys returns a pair of job files for each key of the tables task and records.
func jediKeys() map[string]variant {
	task := func(key, with, others string) variant {
		return variant{jediJob("", others+"\n"+key+" = "+with, "", "", ""), jediJob("", others, "", "", "")}
	}
	hs06 := func(key, with, without string) variant {
		all := map[string]string{"hs06": "true", "core_power": "10", "cpu_time": "500", "efficiency": "100"}
		text := func(value string) string {
			all[key] = value
			var lines []string
			for k, v := range all {
				lines = append(lines, k+" = "+v)
			}
			slices.Sort(lines)
			return jediJob("", strings.Join(lines, "\n"), "", "", "")
		}
		return variant{text(with), text(without)}
	}
	records := func(key, with, others string) variant {
		return variant{jediJob("", "", others+key+" = "+with, "", ""),
			jediJob("", "", strings.TrimSuffix(strings.TrimSpace(others), ","), "", "")}
	}
	return map[string]variant{
		"task.rule":          {jediJob("NF=2", "", "", "", ""), jediJob("", "", "", "", "")},
		"task.out_per_mb":    task("out_per_mb", "4000000", ""),
		"task.out_per_event": task("out_per_event", "true", "out_per_mb = 40000000"),
		"task.work_size":     task("work_size", "9000000000", ""),
		"task.hs06":          {hs06("efficiency", "100", "100").with, jediJob("", "", "", "", "")},
		"task.core_power":    hs06("core_power", "20", "10"),
		"task.cpu_time":      hs06("cpu_time", "500", "100"),
		"task.efficiency":    hs06("efficiency", "100", "50"),
		"task.base_wall":     hs06("base_wall", "20000", "0"),
		"task.wall_time":     task("wall_time", "10", ""),
		"task.copies":        task("copies", "3", "wall_time = 10"),

		"records.events_per_job":   records("events_per_job", "50", ""),
		"records.events_per_range": records("events_per_range", "50", ""),
		"records.target_events":    records("target_events", "40", ""),
		"records.events_per_file":  records("events_per_file", "70", "events_per_job = 50, "),
		"records.real_events":      records("real_events", "true", "events_per_job = 50, "),
		"records.skip_short":       records("skip_short", "true", "events_per_file = 110, events_per_job = 40, "),
		"records.respect_lb":       records("respect_lb", "true", "real_events = true, events_per_job = 330, "),
		"records.offset":           records("offset", "2", ""),
		"records.max_files":        records("max_files", "3", ""),
		"records.max_events":       records("max_events", "150", "real_events = true, events_per_job = 50, "),
		"records.order_by":         records("order_by", "\"eventsAlignment\"", "real_events = true, events_per_job = 55, "),
	}
}

// differ checks that the two job files of each variant result in different local jobs.
func differ(t *testing.T, variants map[string]variant) {
	t.Helper()
	for word, v := range variants {
		if cutParts(t, v.with) == cutParts(t, v.without) {
			t.Errorf("%s changes no local job", word)
		}
	}
}

// Every word that the page lists for split rules and attributes must change the input of local jobs.
func TestJEDI_EveryWordChangesLocalJobs(t *testing.T) {
	words := jediWords()
	differ(t, words)
	_, text, _ := strings.Cut(page(t, "SPLITTERS.md"), "### JEDI\n")
	text, _, _ = strings.Cut(text, "<!-- params JEDI -->")
	text = strings.Join(strings.Fields(text), " ")
	_, attributes, _ := strings.Cut(text, "attributes (")
	attributes, _, _ = strings.Cut(attributes, ")")
	for _, m := range regexp.MustCompile("`([a-z]+)").FindAllStringSubmatch(attributes, -1) {
		if _, tried := words[m[1]]; !tried {
			t.Errorf("nothing shows what the attribute %s changes", m[1])
		}
	}
	_, rules, _ := strings.Cut(text, "JEDI's split rule:")
	rules, _, _ = strings.Cut(rules, "Other words")
	named := regexp.MustCompile(`\b[A-Z]{2}\b`).FindAllString(rules, -1)
	for _, word := range named {
		if _, tried := words[word]; !tried && word != "GB" {
			t.Errorf("nothing shows what the word %s of the rule changes", word)
		}
	}
	if len(named) < 7 {
		t.Errorf("the page names the words %v of the rule", named)
	}
	for word := range words {
		if strings.ToUpper(word) == word && jedi.CheckRule(word+"=x") == nil {
			t.Errorf("%s=x is accepted", word)
		}
	}
}

// Every key of the tables task and records must change the input of local jobs.
func TestJEDI_EveryKeyChangesLocalJobs(t *testing.T) {
	keys := jediKeys()
	differ(t, keys)
	refused := []string{"records.first_event"}
	limits := []string{"records.max_records"} // this key only refuses job files, which another test shows
	for name, of := range map[string]reflect.Type{"task": reflect.TypeFor[jedi.Task](),
		"records": reflect.TypeFor[jedi.RecordRules]()} {
		for f := range of.NumField() {
			key, _, _ := strings.Cut(of.Field(f).Tag.Get("json"), ",")
			if key = name + "." + key; strings.HasSuffix(key, ".-") || slices.Contains(refused, key) ||
				slices.Contains(limits, key) {
				continue
			}
			if _, tried := keys[key]; !tried {
				t.Errorf("nothing shows what %s changes", key)
			}
		}
	}
}

// Settings that would change nothing are refused. The error about an unknown word names the nearest known word.
func TestJEDI_WhatChangesNothingIsRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{jediJob("XX=7", "", "", "", ""), `split.params.task.rule: unknown word "XX": known are GB, MF, MW, NE, NF, NG, RL`},
		{jediJob("NFF=7", "", "", "", ""), `did you mean "NF"?`},
		{jediJob("NF=0", "", "", "", ""), "NF=0: want a whole number from 1 to"},
		{jediJob("NF=", "", "", "", ""), "NF=: want a whole number"},
		{jediJob("NF=2.5", "", "", "", ""), "NF=2.5: want a whole number"},
		{jediJob("NF=-1", "", "", "", ""), "NF=-1: want a whole number"},
		{jediJob("NF=1,NF=2", "", "", "", ""), "NF is there twice"},
		{jediJob("GB=5", "", "", "", ""), "from 1 to 4"},
		{jediJob("RL=2", "", "", "", ""), "RL=2: want 1"},
		{jediJob("ZF=2", "", "", "", ""), "how outputs are merged is said in [merge]"},
		{jediJob("DY=1,MX=9", "", "", "", ""), "say with NE how many events"},
		{jediJob("NF=2,OM=1", "", "", "", ""), "split.params.task.rule: OM: it puts all files into one job"},
		{jediJob("RR=1", "", "", "", ""), "split.params.task.rule: RR: it keeps scouts from having one file each: leave out"},
		{jediJob("MX=9", "", "", "", ""), "split.params.task.rule: MX: it goes with DY, which is not carried out"},
		{jediJob("EI=9", "", "", "", ""), "split.params.task.rule: EI: how many events a file has is said in records"},
		{jediJob("TN=2", "", "", "", ""), "split.params.task.rule: TN: jjm does not learn from scouts"},
		{jediJob("", "hs06 = true", "", "", ""), "split.params.task.core_power: hs06 counts in HS06 seconds"},
		{jediJob("", "cpu_time = 5", "", "", ""), "split.params.task.cpu_time: changes nothing without hs06"},
		{jediJob("", "out_per_event = true", "", "", ""), "changes nothing without out_per_mb"},
		{jediJob("", "work_size = -5", "", "", ""), "split.params.task.work_size: want a number from 0 on"},
		{jediJob("", "", "first_event = 7", "", ""),
			"split.params.records.first_event: events are counted within their files"},
		{jediJob("", "", "", "ratoi=2", ""), `datasets[1].attributes: unknown word "ratoi": did you mean "ratio"?`},
		{jediJob("", "", "", "ratio=0", ""), "ratio=0: want a number above 0"},
		{jediJob("", "", "", "repeat=1", ""), "repeat takes no number"},
		{jediJob("", "", "", "rd", ""), "never at random"},
		{jediJob("", "", "", "ps", ""), "datasets[1].attributes: ps: jjm makes such datasets itself"},
		{jediJob("", "", "", "an", ""), "datasets[1].attributes: an: it is about outputs"},
		{jediJob("", "", "", "tr", ""), "datasets[1].attributes: tr: it is about outputs"},
		{jediJob("", "", "", "mo", ""), "datasets[1].attributes: mo: it is about outputs"},
		{jediJob("", "", "", "ic", ""), "datasets[1].attributes: ic: files are not matched by their indices"},
		{jediJob("", "", "", "cc", ""), "datasets[1].attributes: cc: files are not matched by their parents"},
		{jediJob("", "", "", "repeat,manytime", ""), "datasets[1].attributes: manytime: it says how long copies"},
		{jediJob("", "", "", "cvmfs", ""), "datasets[1].attributes: cvmfs: jjm brings no files of datasets"},
		{jediJob("", "", "", "er=2", ""), "datasets[1].attributes: er counts events of ranges"},
		{strings.Replace(jediJob("", "", "", "repeat", ""), "secondary = true\n", "", 1), "secondary = true"},
	} {
		_, _, problems := check("job.toml", c.text, handlers.Site{})
		if !strings.Contains(fmt.Sprint(problems), c.want) {
			t.Errorf("%v\nwant %s", problems, c.want)
		}
	}
}

// Too few secondary files are reported with numbers, unless the job file allows too few files.
func TestJEDI_TooFewSecondaryFilesAreReported(t *testing.T) {
	for _, c := range []struct{ rule, records, attributes, want string }{
		{"NF=2", "", "ratio=2", "dataset pileup has 12 of the 24 files that local jobs need of it"},
		{"NF=2", "", "np=3", "dataset pileup has 12 of the 18 files"},
		{"NE=110", "real_events = true, events_per_job = 110", "er=2", "events that local jobs need of it"},
		{"NF=2", "", "", ""}, {"NF=2", "", "np=2", ""}, {"NF=2", "", "ratio=2,repeat", ""}, {"NF=2", "", "np=3,ru", ""},
		{"NF=2", "", "nosplit", ""}, {"NF=2", "", "of=1", "dataset pileup has 11 of the 12 files"},
	} {
		text := jediJob(c.rule, "", c.records, c.attributes, "")
		strict := strings.Replace(text, "allow_incomplete = true\n", "", 1)
		for file, want := range map[string]string{text: "", strict: c.want} {
			_, _, problems := check("job.toml", file, handlers.Site{})
			if got := fmt.Sprint(problems); want == "" && problems != nil || !strings.Contains(got, want) {
				t.Errorf("%s %s: %s, want %q", c.rule, c.attributes, got, want)
			}
		}
	}
}
