package all_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"jjm/handlers"
	"jjm/internal/formats/glf"
	"jjm/internal/formats/jobfile"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/work/split"
)

// retryTrials returns a trial for each key of [retry]: a legal value that is not the default, and the other keys
// without which the key has no effect.
func retryTrials() map[string]trial {
	return map[string]trial{"max_time_early_fails": {value: 10}, "max_retry_early": {value: 3},
		"max_retry_late_handled": {value: 2}, "max_retry_late_unhandled": {value: 4},
		"on_exit": {value: []int{75}, with: keys{"max_retry_early": 20}}}
}

// Every key of [retry] must change the number of retries.
func TestEffect_EveryKeyOfRetryChangesAttempts(t *testing.T) {
	job := func(result string, retry keys) string {
		text, err := json.Marshal(keys{"type": "montecarlo", "result": result, "retry": retry,
			"params": keys{"command": []string{"mc"}, "events": 10}})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	lives := func(result string, retry keys) string {
		var all []string
		for _, lasts := range []time.Duration{time.Minute, 7 * time.Minute, time.Hour} {
			for _, says := range []string{"", glf.Retry} {
				e := end{lasts: lasts, says: says, exit: 3}
				all = append(all, fmt.Sprintf("%s %q: %d", lasts, says, retries(t, job(result, retry), e)))
			}
		}
		return strings.Join(all, "; ")
	}
	trials := retryTrials()
	for _, f := range reflect.VisibleFields(reflect.TypeFor[jjm.Retries]()) {
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous {
			continue
		}
		c, tried := trials[key]
		result := jjm.ResultGLF
		if key == "on_exit" { // refused with every other result
			result = jjm.ResultExit
		}
		if !tried {
			t.Errorf("no value to try retry.%s with", key)
			continue
		}
		with := lives(result, merged(c.with, keys{key: c.value}))
		if without := lives(result, merged(keys{}, c.with)); without == with {
			t.Errorf("retry.%s = %v changes nothing: %s", key, c.value, with)
		}
	}
}

// mergeTrials returns a trial for each key of [merge]: a legal value that is not the default, and the other keys of the
// table without which the key has no effect.
func mergeTrials() map[string]trial {
	concat := keys{"concat": true}
	return map[string]trial{
		"command":  {value: []string{"hadd", "{output}", "{files}"}},
		"concat":   {value: true},
		"output":   {value: "other.root", with: concat},
		"files":    {value: 2, with: concat},
		"bytes":    {value: 2500, with: merged(concat, keys{"split": keys{"params": keys{"min_merge_size": 100}}})},
		"events":   {value: 50, with: concat},
		"max_wait": {value: "1s", with: merged(concat, keys{"bytes": 1_000_000})},
		"attempts": {value: 1, with: concat},
		"apart":    {value: []string{jjm.ApartPriority}, with: merged(concat, keys{"split": keys{"by": split.JEDIMerge}})},
		"split":    {value: keys{"params": keys{"min_merge_size": 100}}, with: merged(concat, keys{"bytes": 1_000_000})},
	}
}

// mergeEffect returns the effect of a table [merge] on six outputs of 1000 bytes and 40 events: the merges and their
// commands, first for an open and then for a closed step, and whether a merge that failed twice is retried. refused
// contains the problems of a job file that is refused.
func mergeEffect(t *testing.T, merge keys) (effect []string, refused string) {
	t.Helper()
	text, err := json.Marshal(keys{"type": "montecarlo", "params": keys{"command": []string{"mc"}, "events": 10},
		"merge": merge})
	if err != nil {
		t.Fatal(err)
	}
	doc, problems := jobfile.Parse("job.json", text)
	cut, more := handlers.MergeCutting(&doc.Spec)
	if problems = append(problems, more...); len(problems) > 0 {
		return nil, problems.Error()
	}
	s, err := split.Get(cut.Splitter)
	if err != nil {
		t.Fatal(err)
	}
	for _, closed := range []bool{false, true} {
		w := split.Work{Closed: closed, Now: 10_000}
		for i := range 6 {
			w.Files = append(w.Files, handlers.Mergeable(jjm.File{LFN: fmt.Sprint("out", i), Size: 1000, Events: 40,
				Added: 1000}, int64(i)))
			w.Files[i].Group = plan.ApartOf(doc.Spec.Merge.Apart).Key(plan.Made{Priority: i % 2})
		}
		parts, _, _, err := s.Cut(w, split.Limits{}, cut.Params, split.Carry{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range parts {
			cmd, err := handlers.MergeCommand(doc.Spec.Merge, &jjm.LocalJob{Part: parts[i]})
			if err != nil {
				t.Fatal(err)
			}
			effect = append(effect, fmt.Sprint(closed, parts[i].Input.Files, cmd))
		}
	}
	again := plan.GiveBack(plan.GiveBackFacts{State: jjm.Failed, Result: jjm.ResultExit, Before: 1,
		Attempts: doc.Spec.Merge.Attempts})
	return append(effect, fmt.Sprint("again: ", again)), ""
}

// Every key of [merge] must change which files are merged, how they are merged, or whether a failed merge is retried.
func TestEffect_EveryKeyOfMergeChangesMerges(t *testing.T) {
	trials := mergeTrials()
	of := reflect.TypeFor[jjm.Merge]()
	for i := range of.NumField() {
		key, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		c, tried := trials[key]
		if !tried {
			t.Errorf("no value to try merge.%s with", key)
			continue
		}
		with, refused := mergeEffect(t, merged(c.with, keys{key: c.value}))
		if refused != "" {
			t.Errorf("merge.%s = %v is refused: %s", key, c.value, refused)
		}
		without, _ := mergeEffect(t, merged(keys{}, c.with)) // with holds command or concat, which are required
		if reflect.DeepEqual(with, without) {
			t.Errorf("merge.%s = %v changes nothing: %v", key, c.value, with)
		}
	}
}
