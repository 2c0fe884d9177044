package sge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// key identifies one task permanently. The tag is part of it, because numbers of jobs are reused: after 9 999 999 and,
// measured on 8.1.9, after a crash of the qmaster.
type key struct {
	tag  jjm.Tag
	bulk int64
	task int32 // number of the task, from 1
}

func (k key) id() string { return fmt.Sprintf("%d.%d", k.bulk, k.task) }

// keyOf returns the key of the task that a reference names, and false if the reference cannot name a task.
func keyOf(r adapters.Ref) (key, bool) {
	bulk, task, found := strings.Cut(r.ID, ".")
	n, err := strconv.ParseInt(bulk, 10, 64)
	if err != nil || n < 1 || found != (r.Index < 0) {
		return key{}, false
	}
	if !found {
		return key{r.Tag, n, r.Index + 1}, true
	}
	i, err := strconv.ParseInt(task, 10, 32)
	return key{r.Tag, n, int32(i)}, err == nil && i > 0
}

// span is a range of tasks, with a step.
type span struct{ first, last, step int32 }

// maxTasks is the largest number of tasks that one line of qstat may list. The default limit for an array
// (max_aj_tasks) is 75 000, and sites that raise it stay far below maxTasks.
const maxTasks = 10_000_000

// parseTasks parses the tasks in a line of qstat: "7", "7,10", "1-10:3", "2-5:1,9".
func parseTasks(text string) ([]span, error) {
	var spans []span
	total := int64(0)
	for part := range strings.SplitSeq(text, ",") {
		body, step, stepped := strings.Cut(part, ":")
		first, last, ranged := strings.Cut(body, "-")
		if !ranged {
			last = first
		}
		if !stepped {
			step = "1"
		}
		var n [3]int64
		for i, word := range []string{first, last, step} {
			v, err := strconv.ParseInt(word, 10, 32)
			if err != nil || v < 1 {
				return nil, fmt.Errorf("tasks %.80q: want 7, 7-9 or 7-9:2, with commas between", text)
			}
			n[i] = v
		}
		if total += (n[1]-n[0])/n[2] + 1; n[1] < n[0] || total > maxTasks {
			return nil, fmt.Errorf("tasks %.80q: not a range of up to %d", text, maxTasks)
		}
		spans = append(spans, span{int32(n[0]), int32(n[1]), int32(n[2])})
	}
	return spans, nil
}

// each calls f with every task of the spans.
func each(spans []span, f func(task int32)) {
	for _, s := range spans {
		for t := int64(s.first); t <= int64(s.last); t += int64(s.step) {
			f(int32(t))
		}
	}
}

// taskSets groups tasks by bulk. It returns one text for each set, in order, in the form that the commands take:
// "42.1-100".
func taskSets(keys []key) []string {
	byBulk := map[int64][]int32{}
	for _, k := range keys {
		byBulk[k.bulk] = append(byBulk[k.bulk], k.task)
	}
	var sets []string
	bulks := make([]int64, 0, len(byBulk))
	for b := range byBulk {
		bulks = append(bulks, b)
	}
	slices.Sort(bulks)
	for _, b := range bulks {
		for _, s := range spansOf(byBulk[b]) {
			if s.first == s.last {
				sets = append(sets, fmt.Sprintf("%d.%d", b, s.first))
			} else {
				sets = append(sets, fmt.Sprintf("%d.%d-%d", b, s.first, s.last))
			}
		}
	}
	return sets
}

// spansOf joins neighbouring tasks into spans.
func spansOf(tasks []int32) []span {
	tasks = slices.Compact(slices.Sorted(slices.Values(tasks)))
	var spans []span
	for _, t := range tasks {
		if n := len(spans); n > 0 && spans[n-1].last+1 == t {
			spans[n-1].last = t
		} else {
			spans = append(spans, span{t, t, 1})
		}
	}
	return spans
}
