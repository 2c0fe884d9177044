package condor

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// states returns the reports of a recorded listing, by tag.
func states(t *testing.T, name, source string) map[jjm.Tag]jjm.Report {
	t.Helper()
	out := recorded(t, name)
	if err := checkAnswer(source, out); err != nil {
		t.Fatal(err)
	}
	records, _, err := parseTable(out.Stdout)
	if err != nil {
		t.Fatal(err)
	}
	found := map[jjm.Tag]jjm.Report{}
	for _, r := range records {
		found[r.tag] = report(r, source)
	}
	return found
}

// at is a time in the recordings, in seconds.
func at(s int64) jjm.Time { return jjm.Time(s * 1000) }

func TestReports_OfRecordedQueue(t *testing.T) {
	const host = "jjmpool.localdomain"
	done := jjm.Report{Host: host, Submitted: at(1795310431), Started: at(1795310431), Ended: at(1795310431)}
	with := func(r jjm.Report, tag jjm.Tag, id string, change func(r *jjm.Report)) jjm.Report {
		r.Tag, r.ID, r.Source = tag, id, sourceQueue
		change(&r)
		return r
	}
	waits := jjm.Report{Submitted: at(1795310431)}
	want := map[jjm.Tag]jjm.Report{
		"rok": with(done, "rok", "57.0", func(r *jjm.Report) { r.State, r.RSSKB = jjm.BatchEndedOK, 4568 }),
		"rseven": with(done, "rseven", "58.0", func(r *jjm.Report) {
			r.State, r.Exit, r.RSSKB = jjm.BatchEndedFailed, 7, 4620
		}),
		"rsig": with(done, "rsig", "59.0", func(r *jjm.Report) {
			r.State, r.Exit, r.Signal, r.RSSKB = jjm.BatchEndedFailed, 137, 9, 4624
		}),
		"rrun": with(done, "rrun", "60.0", func(r *jjm.Report) { r.State, r.Ended, r.RSSKB = jjm.BatchRunning, 0, 1580 }),
		"rheld": with(waits, "rheld", "61.0", func(r *jjm.Report) {
			r.State, r.Hold, r.Reason = jjm.BatchHold, "15/0", "submitted on hold at user's request"
		}),
		"ridle": with(waits, "ridle", "62.0", func(r *jjm.Report) { r.State, r.Reason = jjm.BatchQueued, "no match found" }),
		"rmemory": with(done, "rmemory", "64.0", func(r *jjm.Report) {
			r.State, r.Started, r.Ended, r.RSSKB = jjm.BatchRunning, at(1795310433), 0, 201608
		}),
		"rstubborn": with(done, "rstubborn", "68.0", func(r *jjm.Report) { // ended; its processes are still alive
			r.State, r.Reason, r.RSSKB = jjm.BatchRunning, "being removed", 3320
			r.Submitted, r.Started, r.Ended = at(1795310432), at(1795310433), 0
		}),
		"routput": with(done, "routput", "70.0", func(r *jjm.Report) {
			r.State, r.Hold = jjm.BatchHold, "7/2"
			r.Reason = "Error from slot1_8@jjmpool.localdomain: Failed to open '/nonexistent/x' as standard output: No such file or directory (errno 2)"
			r.Submitted, r.Started, r.Ended = at(1795310432), at(1795310433), 0
		}),
	}
	if diff := cmp.Diff(want, states(t, "q_states", sourceQueue)); diff != "" {
		t.Error(diff)
	}
}

func TestReports_OfRecordedHistory(t *testing.T) {
	got := states(t, "history_states", sourceHistory)
	want := map[jjm.Tag]jjm.BatchState{
		"rlimit": jjm.BatchTimeout, "revict": jjm.BatchAborted, "rkilled": jjm.BatchCancelled, "rcancel": jjm.BatchCancelled,
		"rstubborn": jjm.BatchCancelled, "rmemory": jjm.BatchOOM,
		// A policy whose reason mentions memory removed both jobs. The second job did not exceed its memory.
		"rpolremove": jjm.BatchOOM, "rharmless": jjm.BatchAborted,
	}
	for tag, state := range want {
		if r := got[tag]; r.State != state || r.Ended == 0 || r.Reason == "" || r.Exit != 0 || r.Signal != 0 {
			t.Errorf("%s: %+v, want %v", tag, r, state)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d jobs, want %d", len(got), len(want))
	}
	if r := got["rmemory"]; r.RSSKB != 201608 || !strings.Contains(r.Reason, "memory usage exceeded request_memory") {
		t.Errorf("without evidence: %+v", r)
	}
}

// The end time of a job is the same in all its records, from the queue and from the history.
func TestReport_TheTimeOfAnEndDoesNotChange(t *testing.T) {
	tests := map[string][]record{
		"completed": {{status: completed, entered: 100}},
		"at its limit, on hold, then removed": {
			{status: held, hold: 47, entered: 100, vacated: 100}, {status: removed, lastHold: 47, entered: 130, vacated: 100}},
		"cancelled at work": {{status: removed, entered: 102, vacated: 102}},
		"cancelled in wait": {{status: removed, entered: 90}},
		"evicted":           {{status: removed, entered: 130, vacated: 100}},
	}
	for name, records := range tests {
		for _, source := range []string{sourceQueue, sourceHistory} {
			for _, r := range records {
				want := at(100)
				switch name {
				case "cancelled at work":
					want = at(102)
				case "cancelled in wait":
					want = at(90)
				}
				if got := report(r, source); got.Ended != want {
					t.Errorf("%s, %s: ended at %v, want %v", name, source, got.Ended, want)
				}
			}
		}
	}
	attached := record{status: removed, host: "h", entered: 101}
	if got := report(attached, sourceQueue); got.Ended != 0 || got.State != jjm.BatchRunning {
		t.Errorf("still at work: %+v", got)
	}
}

func TestState_LimitsAndReasons(t *testing.T) {
	tests := map[string]struct {
		r    record
		want jjm.BatchState
	}{
		"out of memory":          {record{status: held, hold: 34}, jjm.BatchOOM},
		"out of memory, just so": {record{status: held, hold: 34, host: "h"}, jjm.BatchRunning},
		"execute time":           {record{status: held, hold: 47}, jjm.BatchTimeout},
		"by a policy":            {record{status: held, hold: 26}, jjm.BatchHold},
		"removed after memory":   {record{status: removed, lastHold: 34, text: "over its limit: x"}, jjm.BatchOOM},
		"memory, by the machine": {record{status: held, hold: 21, holdSub: 102, overMemory: true}, jjm.BatchOOM},
		"the same, removed": {record{status: removed, lastHold: 21, overMemory: true, text: "over its limit: x"},
			jjm.BatchOOM},
		"held by the machine": {record{status: held, hold: 21, holdSub: 101}, jjm.BatchHold},
		"removed by a person": {record{status: removed, lastHold: 15, text: "enough (by user ann)"},
			jjm.BatchCancelled},
		"removed by a policy": {record{status: removed, lastHold: -1,
			text: "The system macro SYSTEM_PERIODIC_REMOVE expression 'x' evaluated to TRUE"}, jjm.BatchAborted},
		"removed, nobody knows why":   {record{status: removed}, jjm.BatchCancelled},
		"transferring output":         {record{status: transferring}, jjm.BatchRunning},
		"suspended":                   {record{status: suspended}, jjm.BatchSuspended},
		"ended by a signal":           {record{status: completed, bySignal: true, signal: 11}, jjm.BatchEndedFailed},
		"evicted, not yet removed":    {record{status: idle, starts: 1}, jjm.BatchQueued},
		"exit 0":                      {record{status: completed}, jjm.BatchEndedOK},
		"exit 255":                    {record{status: completed, exit: 255}, jjm.BatchEndedFailed},
		"held by our own submission":  {record{status: held, hold: 15}, jjm.BatchHold},
		"removed while still at work": {record{status: removed, host: "h", lastHold: 15}, jjm.BatchRunning},
	}
	for name, tt := range tests {
		if got := state(tt.r, sourceQueue); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func TestMerge_TheHistoryCounts(t *testing.T) {
	queue := []record{
		{jobID: jobID{5, 0}, tag: "a", status: running}, {jobID: jobID{5, 1}, tag: "a", status: running},
		{jobID: jobID{6, 0}, tag: "NOT ONE", status: idle},
	}
	history := []record{
		{jobID: jobID{5, 0}, tag: "a", status: completed}, {jobID: jobID{5, 1}, tag: "old", status: completed},
		{jobID: jobID{5, 0}, tag: "a", status: completed},
	}
	var got []string
	for _, r := range merge(queue, history) {
		got = append(got, fmt.Sprint(r.Tag, " ", r.ID, " ", r.State))
	}
	if diff := cmp.Diff([]string{"a 5.0 OK", "old 5.1 OK", "a 5.1 RUNNING"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestCheckAnswer_TroubleIsBusy(t *testing.T) {
	for _, name := range []string{"down_q", "down_q_af", "frozen_q", "q_bad_constraint", "hist_bad"} {
		if err := checkAnswer("condor_q", recorded(t, name)); jjm.KindOf(err) != jjm.Busy {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if err := checkAnswer("condor_q", run.Output{Stderr: []byte("SECMAN:2007: x\n")}); jjm.KindOf(err) != jjm.Busy {
		t.Errorf("exit 0 and a complaint: error %v", err)
	}
	if err := checkAnswer("condor_q", run.Output{Stderr: []byte("\nWARNING: config source is odd\n")}); err != nil {
		t.Errorf("a warning: error %v", err)
	}
}

func TestParseTable_AnAnswerWithoutHeadingIsAnError(t *testing.T) {
	for _, name := range []string{"q_none", "history_none"} {
		if got, _, err := parseTable(recorded(t, name).Stdout); err != nil || len(got) != 0 {
			t.Errorf("%s: %v, error %v", name, got, err)
		}
	}
	whole := recorded(t, "q_states").Stdout
	first := bytes.IndexByte(whole, '\n') + 1
	bad := map[string][]byte{
		"nothing":                   nil,
		"garbage":                   []byte("x7\x01\xff <no> {\"an\": answer\n\n42 |"),
		"another format":            recorded(t, "q_af").Stdout,
		"json":                      recorded(t, "q_json_proj").Stdout,
		"empty json":                recorded(t, "q_empty_json").Stdout,
		"no heading":                whole[first:],
		"a heading cut off":         whole[:first-1],
		"cut within a line":         whole[:len(whole)-10],
		"cut before a line end":     whole[:len(whole)-1],
		"cut, and a line end":       append(append([]byte{}, whole[:len(whole)-40]...), '\n'),
		"a heading without its end": bytes.Replace(whole, []byte("\t"+markEnd+"\n\""), []byte("\n\""), 1),
		"glued":                     bytes.Replace(whole, []byte("\n"), []byte(" "), 1),
	}
	for name, text := range bad {
		if got, _, err := parseTable(text); err == nil {
			t.Errorf("%s: %d jobs", name, len(got))
		}
	}
	for name, tt := range map[string]struct {
		text         []byte
		read, unread int
	}{
		"two headings":          {append(append([]byte{}, whole[:first]...), whole...), 9, 1},
		"a status beyond all":   {bytes.Replace(whole, []byte("\t4  "), []byte("\t9  "), 1), 8, 1},
		"a number that is none": {bytes.Replace(whole, []byte("\t57 "), []byte("\tabc "), 1), 8, 1},
		"one without a cluster": {bytes.Replace(whole, []byte("\t57 "), []byte("\tundefined "), 1), 8, 1},
	} {
		got, unread, err := parseTable(tt.text)
		if err != nil || len(got) != tt.read || len(unread) != tt.unread {
			t.Errorf("%s: %d jobs, unread %+v, error %v", name, len(got), unread, err)
		}
	}
	banner := append([]byte("Welcome!\n\n"), whole...)
	if got, _, err := parseTable(append(banner, "Bye.\n"...)); err != nil || len(got) != 9 {
		t.Errorf("with a banner: %d jobs, error %v", len(got), err)
	}
}

func TestParseTable_FreeTextIsNotTakenForFields(t *testing.T) {
	line := func(text string) []byte {
		fields := make([]string, len(columns))
		for i := range fields {
			fields[i] = "0"
		}
		fields[0], fields[3], fields[4], fields[5] = markBegin, "5", `"ann"`, `"a"`
		fields[len(fields)-2], fields[len(fields)-1] = `"`+text+`"`, markEnd
		return []byte(strings.Join(columns[:], "\t") + "\n" + strings.Join(fields, "\t") + "\n")
	}
	for text, want := range map[string]string{
		"a\tb":             "a\tb",
		`say \"hi\"`:       `say "hi"`,
		`ends in \`:        `ends in \`,
		"\t\"jjm-end\"\t4": "\t\"jjm-end\"\t4",
		"  ":               "",
		"\xff":             "?",
	} {
		got, _, err := parseTable(line(text))
		if err != nil || len(got) != 1 || got[0].text != strings.TrimSpace(want) {
			t.Errorf("%q: %+v, error %v", text, got, err)
		}
	}
}

// A damaged record makes only its own job unreadable. The Unread has the job's tag if the tag can be parsed.
func TestParseTable_ADamagedRecordCostsItself(t *testing.T) {
	lines := strings.SplitAfter(string(recorded(t, "q_states").Stdout), "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool { return !strings.Contains(l, markEnd) })
	rapid.Check(t, func(t *rapid.T) {
		all := slices.Clone(lines)
		at := rapid.IntRange(1, len(all)-1).Draw(t, "line")
		without, _, err := parseTable([]byte(strings.Join(slices.Delete(slices.Clone(all), at, at+1), "")))
		if err != nil {
			t.Fatal(err)
		}
		fields := strings.Split(all[at], "\t")
		damage := rapid.SampledFrom([]string{"", "abc", "undefined", "-5", "1e99", "\xff"})
		fields[rapid.IntRange(1, len(fields)-2).Draw(t, "field")] = damage.Draw(t, "word")
		all[at] = strings.Join(fields, "\t")
		got, unread, err := parseTable([]byte(strings.Join(all, "")))
		if err != nil || len(got)+len(unread) != len(without)+1 {
			t.Fatalf("%q: %d jobs, unread %+v, error %v", all[at], len(got), unread, err)
		}
		for _, r := range without {
			if !slices.Contains(got, r) {
				t.Fatalf("%q cost %+v", all[at], r)
			}
		}
	})
}

func FuzzParseTable(f *testing.F) {
	for _, name := range []string{"q_states", "q_none", "history_states", "q_af", "q_json_proj"} {
		f.Add(recorded(f, name).Stdout)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		records, _, err := parseTable(text)
		if err != nil {
			return
		}
		if n := bytes.Count(text, []byte(markBegin)); n < len(records)+1 {
			t.Errorf("%d jobs of %d lines", len(records), n)
		}
		for _, r := range merge(records, nil) {
			if !r.Tag.Valid() || r.Index < 0 || r.ID == "" || r.State == jjm.BatchUnknown || r.State.Ended() != (r.Ended != 0) &&
				r.Ended != 0 {
				t.Errorf("%+v", r)
			}
		}
	})
}

func BenchmarkParseTable_TenThousandJobs(b *testing.B) {
	out := recorded(b, "q_states").Stdout
	heading, rest, _ := bytes.Cut(out, []byte("\n"))
	text := append(append([]byte{}, heading...), '\n')
	for range 1250 {
		text = append(text, rest...)
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		records, _, err := parseTable(text)
		if err != nil || len(merge(records, nil)) != 10_000 {
			b.Fatal(len(records), err)
		}
	}
}
