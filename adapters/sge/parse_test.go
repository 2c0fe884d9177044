package sge

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/internal/jjm"
)

func recorded(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// tagged removes the "_" from the names of jobs in a recorded output. The names then have the form of tags.
func tagged(text []byte) []byte { return []byte(strings.ReplaceAll(string(text), "jjm_", "jjm")) }

func at(t testing.TB, text string) jjm.Time {
	t.Helper()
	when, err := time.Parse(time.DateTime, text)
	if err != nil {
		t.Fatal(err)
	}
	return jjm.At(when)
}

func TestListing_PartsOfAnArrayKeepTheirStates(t *testing.T) {
	got, _, err := parseListing(tagged(recorded(t, "qstat_xml.xml")), "jjmuser")
	if err != nil {
		t.Fatal(err)
	}
	began := at(t, "2026-11-21 01:03:57")
	want := []entry{
		{tag: "jjmarr", bulk: 9, tasks: []span{{1, 1, 1}}, letters: "r", state: jjm.BatchRunning, host: "localhost",
			started: began},
		{tag: "jjmarr", bulk: 9, tasks: []span{{4, 4, 1}}, letters: "t", state: jjm.BatchStarting, host: "localhost",
			started: began},
		{tag: "jjmarr", bulk: 9, tasks: []span{{7, 7, 1}, {10, 10, 1}}, letters: "qw", state: jjm.BatchQueued,
			submitted: began},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(entry{}, span{})); d != "" {
		t.Error(d)
	}
}

func TestListing_JobsThatAreNotJJMsAreLeftOut(t *testing.T) {
	// The recorded names contain "_", so they are not tags, and the listings contain none of jjm's jobs.
	for _, name := range []string{"qstat_xml.xml", "qstat_mixed_xml.xml", "qstat_h.xml"} {
		if got, _, err := parseListing(recorded(t, name), "jjmuser"); err != nil || len(got) != 0 {
			t.Errorf("%s: %+v, error %v", name, got, err)
		}
	}
	if got, _, err := parseListing(tagged(recorded(t, "qstat_xml.xml")), "other"); err != nil || len(got) != 0 {
		t.Errorf("another user's: %+v, error %v", got, err)
	}
	// The listing omits zombies, because they have ended, and jobs without tasks, because they are not arrays.
	got, _, err := parseListing(tagged(recorded(t, "qstat_xml_all.xml")), "jjmuser")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range got {
		if e.tag != "jjmarr" || e.state != jjm.BatchRunning {
			t.Errorf("%+v", e)
		}
	}
}

func TestListing_AnIncompleteOneIsAnErrorAndADamagedJobIsNot(t *testing.T) {
	whole := tagged(recorded(t, "qstat_xml.xml"))
	for _, text := range [][]byte{nil, []byte("\n"), whole[:len(whole)/2], whole[:len(whole)-5],
		append([]byte("Welcome!\n"), whole...), append(append([]byte{}, whole...), "bye"...),
		recorded(t, "qstat_j_unknown_xml.xml")} {
		if got, _, err := parseListing(text, "jjmuser"); err == nil {
			t.Errorf("%.60q gave %d entries", text, len(got))
		}
	}
	good, _, err := parseListing(whole, "jjmuser")
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range [][2]string{
		{"<state>qw</state>", "<state>Zq</state>"}, {"<tasks>7,10</tasks>", "<tasks>7,x</tasks>"},
		{"<tasks>7,10</tasks>", "<tasks>1-99999999999</tasks>"}, {"T01:03:57</JB", "T25:03:57</JB"},
		{"<JB_job_number>9<", "<JB_job_number>nine<"},
	} {
		text := strings.ReplaceAll(string(whole), change[0], change[1])
		if text == string(whole) {
			t.Fatalf("%q is not in the recording", change[0])
		}
		got, unread, err := parseListing([]byte(text), "jjmuser")
		if err != nil || len(got)+len(unread) != len(good) || len(unread) == 0 || unread[0].Tag != "jjmarr" {
			t.Errorf("%q gave %+v, unread %+v, error %v", change[1], got, unread, err)
		}
	}
}

func TestListing_BytesThatXMLForbidsDoNoHarm(t *testing.T) {
	text := strings.Replace(string(tagged(recorded(t, "qstat_xml.xml"))), "<JB_name>jjmarr",
		"<JB_name>a%lt;b\x01\xff&amp;c", 1)
	got, _, err := parseListing([]byte(text), "jjmuser")
	if err != nil || len(got) != 2 {
		t.Errorf("%+v, error %v", got, err)
	}
}

func TestTasks_RangesOfAllForms(t *testing.T) {
	for text, want := range map[string][]int32{
		"7": {7}, "7,10": {7, 10}, "1-10:3": {1, 4, 7, 10}, "2-4:1,9": {2, 3, 4, 9}, "1-2": {1, 2},
	} {
		spans, err := parseTasks(text)
		var got []int32
		each(spans, func(task int32) { got = append(got, task) })
		if err != nil || !cmp.Equal(got, want) {
			t.Errorf("%q: %v, error %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "-1", "3-1", "1-3:0", "1,", "a", "1-2-3", "2147483648", "1-2147483647"} {
		if got, err := parseTasks(text); err == nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestState_GravestLetterCounts(t *testing.T) {
	for letters, want := range map[string]jjm.BatchState{
		"qw": jjm.BatchQueued, "hqw": jjm.BatchHold, "hRwq": jjm.BatchHold, "Rq": jjm.BatchQueued, "Eqw": jjm.BatchHold,
		"Ehqw": jjm.BatchHold, "t": jjm.BatchStarting, "Rt": jjm.BatchStarting, "r": jjm.BatchRunning, "Rr": jjm.BatchRunning,
		"hr": jjm.BatchRunning, "dr": jjm.BatchRunning, "dt": jjm.BatchStarting, "s": jjm.BatchSuspended,
		"S": jjm.BatchSuspended,
		"T": jjm.BatchSuspended, "ts": jjm.BatchSuspended, "RS": jjm.BatchSuspended, "dqw": jjm.BatchQueued,
	} {
		if got, err := batchState(letters); err != nil || got != want {
			t.Errorf("%s: %v, error %v, want %v", letters, got, err, want)
		}
	}
	for _, letters := range []string{"", "?", "Q", "d", "r!"} {
		if got, err := batchState(letters); err == nil {
			t.Errorf("%q: %v", letters, got)
		}
	}
}

func TestDetail_TellsSubmissionAndErrors(t *testing.T) {
	got, err := parseDetail(recorded(t, "qstat_j_eqw_xml.xml"))
	if err != nil || len(got) != 1 {
		t.Fatalf("%+v, error %v", got, err)
	}
	d := got[0]
	if d.bulk != 11 || d.name != "jjm_eqw" || d.submitted != at(t, "2026-11-21 01:03:59") ||
		d.pending != "Job is in error state" ||
		!strings.Contains(d.errors[1], `can't open output file "/nonexistent/dir/"`) {
		t.Errorf("%+v", d)
	}
}

// The text is what qstat -j printed two seconds after "qmod -f -rj 102.2"; it is not XML.
func TestDetail_OfARescheduledTask(t *testing.T) {
	got, err := parseDetail(recorded(t, "qstat_j_rerun_xml.xml"))
	if err != nil || len(got) != 1 {
		t.Fatalf("%+v, error %v", got, err)
	}
	want := `cannot run on host "localhost" until clean up of a previous run has finished`
	if d := got[0]; d.bulk != 102 || d.name != "jtestsn" || d.submitted == 0 || d.pending != want {
		t.Errorf("%+v", d)
	}
}

func TestDetail_MessagesMayHoldMarks(t *testing.T) {
	good := string(recorded(t, "qstat_j_eqw_xml.xml"))
	for said, want := range map[string]string{
		"job-array task <1730.9> was rescheduled":  "job-array task <1730.9> was rescheduled",
		"a < b && b > c; &lt;x&gt; &#60; &amp; &c": "a < b && b > c; <x> < & &c",
		"</djob_info> <?xml <!-- ]]>":              "</djob_info> <?xml <!-- ]]>",
		"%lt;x>":                                   "<x>",
	} {
		text := strings.Replace(good, "Job is in error state", said, 1)
		got, err := parseDetail([]byte(text))
		if err != nil || len(got) != 1 || got[0].pending != want {
			t.Errorf("%q: %+v, error %v", said, got, err)
		}
	}
}

func TestRepair_WhatIsXMLStays(t *testing.T) {
	for _, file := range []string{"qstat_j_eqw_xml.xml", "qstat_j_unknown_xml.xml", "qstat_mixed_xml.xml",
		"qstat_xml_all.xml", "qhost_xml.xml"} {
		if text := string(recorded(t, file)); repair(text) != text {
			t.Errorf("%s: %s", file, cmp.Diff(text, repair(text)))
		}
	}
	for text, want := range map[string]string{
		`<a b="1" c='2'/><x:y/><!-- <1.2> -->`:   `<a b="1" c='2'/><x:y/><!-- <ulong_sublist> -->`,
		"<1730.9><x>1</x></1730.9>":              "<ulong_sublist><x>1</x></ulong_sublist>",
		"<job ids>1</job ids><>":                 "<ulong_sublist>1</ulong_sublist><>",
		"<MES_message>a<b":                       "<MES_message>a<b",
		"<QIM_message>a</QIM_message><b c>1</b>": "<QIM_message>a</QIM_message><ulong_sublist>1</b>",
	} {
		if got := repair(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// A second repair changes nothing, and XML with messages of plain text keeps its meaning.
func FuzzRepair(f *testing.F) {
	_, messages, _ := strings.Cut(string(recorded(f, "qstat_j_rerun_xml.xml")), "</djob_info>")
	f.Add(messages)
	f.Add("<QIM_message>task <1730.9> & &lt;</QIM_message><job ids></job ids>")
	f.Fuzz(func(t *testing.T, text string) {
		once := repair(text)
		if again := repair(once); again != once {
			t.Errorf("%q became %q, then %q", text, once, again)
		}
		if !strings.Contains(text, "_message>") && !strings.Contains(text, "<!") && xmlValid(text) && once != text {
			t.Errorf("good XML %q became %q", text, once)
		}
	})
}

// xmlValid reports whether a text of ASCII is XML.
func xmlValid(text string) bool {
	d := xml.NewDecoder(strings.NewReader(text))
	for {
		_, err := d.Token()
		if err != nil {
			return errors.Is(err, io.EOF) && strings.IndexFunc(text, func(r rune) bool { return r > 126 }) < 0
		}
	}
}

func TestDetail_AJobThatIsGoneIsNoTrouble(t *testing.T) {
	if got, err := parseDetail(recorded(t, "qstat_j_unknown_xml.xml")); err != nil || len(got) != 0 {
		t.Errorf("%+v, error %v", got, err)
	}
	if got, err := parseDetail([]byte("<unknown_jobs")); err == nil {
		t.Errorf("half an answer gave %+v", got)
	}
}

func TestProbe_ReadsLimitsAndHosts(t *testing.T) {
	s, err := parseConf(recorded(t, "qconf_sconf.txt"))
	want := site{maxTasks: 75000, accounting: true, probed: true}
	if err != nil || s != want {
		t.Errorf("%+v, error %v", s, err)
	}
	changed := strings.NewReplacer("accounting_flush_time=00:00:00", "", "flush_time=00:00:01", "flush_time=00:01:05",
		"accounting=true", "accounting=false").Replace(string(recorded(t, "qconf_sconf.txt"))) +
		"qmaster_params   forbid_reschedule=1,FORBID_APPERROR\n"
	s, err = parseConf([]byte(changed))
	want = site{maxTasks: 75000, flushEvery: 65 * time.Second, noRerun: true, noAppError: true, probed: true}
	if err != nil || s != want {
		t.Errorf("%+v, error %v", s, err)
	}
	if _, err := parseConf([]byte("hello world\n")); err == nil {
		t.Error("a greeting was taken for a configuration")
	}
	slots, most, err := parseHosts(recorded(t, "qhost_xml.xml"), "")
	if err != nil || slots != 4 || most != 4 {
		t.Errorf("%d slots, %d of one host, error %v", slots, most, err)
	}
	if slots, _, err := parseHosts(recorded(t, "qhost_xml.xml"), "long.q"); err != nil || slots != 0 {
		t.Errorf("%d slots of another queue, error %v", slots, err)
	}
}

func FuzzParseListing(f *testing.F) {
	for _, name := range []string{"qstat_xml.xml", "qstat_mixed_xml.xml", "qstat_xml_all.xml", "qstat_xml_r.xml",
		"qstat_h.xml"} {
		f.Add(tagged(recorded(f, name)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, _, err := parseListing(text, "jjmuser")
		for _, e := range entries {
			if err != nil || !e.tag.Valid() || e.bulk < 1 || len(e.tasks) == 0 || !e.state.Alive() {
				t.Errorf("%+v, error %v", e, err)
			}
		}
	})
}

func FuzzParseDetail(f *testing.F) {
	f.Add(recorded(f, "qstat_j_eqw_xml.xml"))
	f.Add(recorded(f, "qstat_j_unknown_xml.xml"))
	f.Add(recorded(f, "qstat_j_rerun_xml.xml"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if details, err := parseDetail(text); err != nil && details != nil {
			t.Errorf("%+v, error %v", details, err)
		}
	})
}

func FuzzParseTasks(f *testing.F) {
	for _, seed := range []string{"7", "7,10", "1-10:3", "3-1", "1-99999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		spans, err := parseTasks(text)
		if err != nil {
			return
		}
		n := 0
		each(spans, func(task int32) {
			if n++; task < 1 {
				t.Fatalf("%q has task %d", text, task)
			}
		})
		if n == 0 || n > maxTasks {
			t.Errorf("%q has %d tasks", text, n)
		}
	})
}

func FuzzProbe(f *testing.F) {
	f.Add(recorded(f, "qconf_sconf.txt"))
	f.Add(recorded(f, "qhost_xml.xml"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, err := parseConf(text); err == nil && (s.maxTasks < 0 || s.flushEvery < 0) {
			t.Errorf("%+v", s)
		}
		_, _, _ = parseHosts(text, "all.q")
	})
}
