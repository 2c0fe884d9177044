package pbs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// recorded returns the output of a command, as recorded on a host with OpenPBS 23.06.06.
func recorded(t testing.TB, name string) run.Output {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	var out run.Output
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		var n int
		if k, _ := fmt.Sscanf(string(line), "### exit: %d", &n); k == 1 {
			out.Exit = n
		}
		if k, _ := fmt.Sscanf(string(line), "### stdout (%d bytes):", &n); k == 1 {
			out.Stdout, text = text[:n], text[n:]
		}
		if k, _ := fmt.Sscanf(string(line), "### stderr (%d bytes):", &n); k == 1 {
			out.Stderr, text = text[:n], text[n:]
		}
	}
	return out
}

func TestParseJSON_ReadsWhatWasRecorded(t *testing.T) {
	raws, err := parseJSON(recorded(t, "exit7_json").Stdout)
	if err != nil || len(raws) != 1 {
		t.Fatalf("%d jobs, error %v", len(raws), err)
	}
	want := raw{
		id: "31.pbshost", name: "exit7", owner: "jjmuser@pbshost", state: "F", substate: "93", exit: "7",
		ctime: "Sat Nov 21 01:16:25 2026", stime: "Sat Nov 21 01:16:26 2026", end: "Sat Nov 21 01:16:28 2026",
		mtime: "Sat Nov 21 01:16:28 2026", history: "1795223788", host: "pbshost/0", holds: "n", runs: "1",
		comment: "Job run at Sat Nov 21 at 01:16 on (pbshost:ncpus=1) and failed", rerunnable: "True", cpu: "00:00:00", mem: "7192kb",
	}
	if diff := cmp.Diff(want, raws[0], cmp.AllowUnexported(raw{})); diff != "" {
		t.Error(diff)
	}
	raws, err = parseJSON(recorded(t, "json_HEAD_sample").Stdout) // written by a later PBS, with tabs
	if err != nil || len(raws) != 1 || raws[0].name != "js_nan" || raws[0].state != "H" || raws[0].holds != "u" {
		t.Errorf("%+v, error %v", raws, err)
	}
	raws, err = parseJSON(recorded(t, "qstat_unknown_json").Stdout) // the output has no member Jobs and no last newline
	if err != nil || len(raws) != 0 {
		t.Errorf("%+v, error %v", raws, err)
	}
}

// wrapped returns a listing of one job around recorded lines.
func wrapped(lines string) []byte {
	return []byte(
		"{\n    \"timestamp\":1795223807,\n    \"pbs_version\":\"23.06.06\",\n    \"pbs_server\":\"pbshost\",\n    \"Jobs\":{\n" +
			"        \"9.pbshost\":{\n            \"Job_Name\":\"jabc1\",\n            \"Job_Owner\":\"jjmuser@pbshost\",\n" +
			"            \"job_state\":\"Q\",\n" + lines)
}

func TestParseJSON_ReadsWhatIsNotQuiteJSON(t *testing.T) {
	for _, name := range []string{"jsonraw_js_num", "jsonraw_js_back", "jsonraw_js_badutf", "jsonraw_js_nl",
		"jsonraw_js_quote"} {
		text, _, _ := bytes.Cut(recorded(t, name).Stdout, []byte("    Variable_List = "))
		raws, err := parseJSON(wrapped(string(text)))
		if err != nil || len(raws) != 1 || raws[0].name != "jabc1" || raws[0].damaged {
			t.Errorf("%s: %+v, error %v", name, raws, err)
		}
	}
	tail := "            \"project\":\"p\"\n        }\n    }\n}\n"
	tests := []struct {
		name, lines string
		damaged     bool
	}{
		{"nan", "            \"A\":nan,\n", false},
		{"a bare +5 and .5", "            \"A\":+5,\n            \"B\":.5,\n", false},
		{"a backslash at the end", "            \"Account_Name\":\"he \\\"q\\\" \\\",\n", false},
		{"an unknown escape", "            \"Account_Name\":\"a \\ b\",\n", false},
		{"not UTF-8", "            \"Account_Name\":\"\xff\xfe\x01\",\n", false},
		{"a line of its own", "            \"Account_Name\":\"two\nlines\",\n", true},
	}
	for _, tt := range tests {
		raws, err := parseJSON(wrapped(tt.lines + tail))
		if err != nil || len(raws) != 1 || raws[0].damaged != tt.damaged {
			t.Errorf("%s: %+v, error %v", tt.name, raws, err)
		}
	}
}

// The test reads the listings of a recorded session.
func TestReport_DeletedWhileWaiting(t *testing.T) {
	text := string(recorded(t, "deleted_waiting_subjob").Stdout)
	listings := regexp.MustCompile(`(?ms)^\{\n.*?^\}\n`).FindAllString(text, -1)
	cancelled, held, ok := jjm.BatchCancelled, jjm.BatchHold, jjm.BatchEndedOK
	want := []map[string]jjm.BatchState{
		{"92[1]": cancelled},
		{"92[0]": held, "92[1]": cancelled, "92[2]": held, "92[3]": held},
		{"92[0]": ok, "92[1]": cancelled, "92[2]": ok, "92[3]": ok},
		{"93[0]": cancelled, "93[1]": cancelled, "93[2]": cancelled},
		{"94": cancelled},
	}
	if len(listings) != len(want) {
		t.Fatalf("%d listings in the recording, want %d", len(listings), len(want))
	}
	for i, listing := range listings {
		raws, err := parseJSON([]byte(listing))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]jjm.BatchState{}
		for _, r := range raws {
			j, is := jobOf(r, openpbs)
			if is && j.isTask() {
				rep := j.report(openpbs, time.UTC)
				got[rep.ID] = rep.State
				if rep.State == cancelled && (rep.Started != 0 || rep.Exit != 0 || rep.Host != "") {
					t.Errorf("listing %d: one that never ran: %+v", i, rep)
				}
			}
		}
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Errorf("listing %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestParseJSON_NamesMayLookLikeNumbers(t *testing.T) {
	text := strings.Replace(string(recorded(t, "exit7_json").Stdout), `"Job_Name":"exit7"`, `"Job_Name":12345`, 1)
	raws, err := parseJSON([]byte(text))
	if err != nil || raws[0].name != "12345" {
		t.Errorf("%+v, error %v", raws, err)
	}
}

func TestParseJSON_ACutListingIsAnError(t *testing.T) {
	text := bytes.TrimSpace(recorded(t, "exit7_json").Stdout)
	for i := range len(text) {
		if raws, err := parseJSON(text[:i]); err == nil {
			t.Fatalf("cut after %d of %d bytes: %+v", i, len(text), raws)
		}
	}
	for _, bad := range []string{"", "{}", "[]\n", "{\n}\n", string(text) + "\nmore\n", "null"} {
		if raws, err := parseJSON([]byte(bad)); jjm.KindOf(err) != jjm.Busy {
			t.Errorf("%q: %+v, error %v", bad, raws, err)
		}
	}
	if raws, err := parseJSON(append([]byte("Welcome!\n\n"), text...)); err != nil || len(raws) != 1 {
		t.Errorf("after a banner: %+v, error %v", raws, err)
	}
}

func TestCheckClean_AServerThatIsDownIsAnError(t *testing.T) {
	out := recorded(t, "down_qstat_json")
	if _, err := parseJSON(out.Stdout); err != nil {
		t.Errorf("what it prints is valid: %v", err)
	}
	if raws, err := parseListing(out, []string{"qstat"}, parseJSON); jjm.KindOf(err) != jjm.Busy {
		t.Errorf("%+v, error %v", raws, err)
	}
}

const torqueXML = `<Data><Job><Job_Id>25[3].pbshost</Job_Id><Job_Name>jabcd-3</Job_Name><Job_Owner>me@pbshost</Job_Owner>` +
	`<resources_used><cput>00:01:00</cput><mem>2048kb</mem></resources_used><job_state>C</job_state><queue>batch</queue>` +
	`<ctime>1795223785</ctime><exec_host>n1/0</exec_host><Hold_Types>n</Hold_Types><mtime>1795223799</mtime>` +
	`<Variable_List>A=&lt;&amp;,B=` + "\x01\xff" +
	`</Variable_List><exit_status>-11</exit_status><start_time>1795223786</start_time>` +
	`<start_count>2</start_count><comp_time>1795223799</comp_time><job_array_id>3</job_array_id></Job></Data>` + "\n"

func TestParseXML_ReadsTorque(t *testing.T) {
	raws, err := parseXML([]byte(torqueXML))
	if err != nil || len(raws) != 1 {
		t.Fatalf("%+v, error %v", raws, err)
	}
	j, ok := jobOf(raws[0], torque)
	if !ok {
		t.Fatal("no job")
	}
	want := jjm.Report{
		Tag: "jabcd", Index: 3, ID: "25[3]", State: jjm.BatchTimeout, Host: "n1", Source: "qstat", Restarts: 1,
		Submitted: jjm.At(time.Unix(1795223785, 0)), Started: jjm.At(time.Unix(1795223786, 0)),
		Ended: jjm.At(time.Unix(1795223799, 0)),
		CPUms: 60000, RSSKB: 2048,
	}
	if diff := cmp.Diff(want, j.report(torque, time.UTC)); diff != "" {
		t.Error(diff)
	}
	text := strings.TrimSpace(torqueXML)
	for i := 1; i < len(text); i++ {
		if raws, err := parseXML([]byte(text[:i])); err == nil {
			t.Fatalf("cut after %d bytes: %+v", i, raws)
		}
	}
	if raws, err := parseXML([]byte("Welcome!\n" + torqueXML)); err != nil || len(raws) != 1 {
		t.Errorf("after a banner: %+v, error %v", raws, err)
	}
	for _, bad := range []string{"<html></html>", torqueXML + "x", torqueXML + torqueXML, "garbage"} {
		if raws, err := parseXML([]byte(bad)); jjm.KindOf(err) != jjm.Busy {
			t.Errorf("%.30q: %+v, error %v", bad, raws, err)
		}
	}
}

func TestParsePlain_ReadsLimits(t *testing.T) {
	server := parsePlain([]byte(
		"Server: pbshost\n    server_state = Active\n    default_queue = limitq\n    max_array_size = 20000\n    job_history_enable = True\n\n"))
	q := parsePlain([]byte(
		"Queue: limitq\n    queue_type = Execution\n    max_queued = [u:PBS_GENERIC=2],\n\t[o:PBS_ALL=50]\n    resources_max.walltime = 01:00:00\n"))
	nodes := parsePlain(recorded(t, "nodes_plain").Stdout)
	got := limitsOf(server, q, nodes, "", "ann")
	want := limits{
		array: 20000, queued: 2, slots: 8, cores: 8, memoryMB: 16 << 10, defaultQueue: "limitq",
		queues: map[string]queueLimits{"limitq": {walltime: time.Hour, queued: 2}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(limits{}, queueLimits{})); diff != "" {
		t.Error(diff)
	}
	if noHistory(openpbs, server, q, "") {
		t.Error("there is a history")
	}
	for _, state := range []string{"down", "offline", "free,offline", "state-unknown,down", "stale", ""} {
		if takesJobs(state) {
			t.Errorf("a node that is %q is counted", state)
		}
	}
}

func TestParseID(t *testing.T) {
	tests := []struct {
		text, want string
		ok         bool
	}{
		{"25", "25", true}, {"25.pbshost", "25", true}, {"25[].pbshost.site.org", "25[]", true},
		{"25[3].pbshost", "25[3]", true},
		{"", "", false}, {"x", "", false}, {"25[", "", false}, {"25[a]", "", false}, {"-5", "", false}, {"25[-1]", "", false},
	}
	for _, tt := range tests {
		id, ok := parseID(tt.text)
		if ok != tt.ok || ok && id.String() != tt.want {
			t.Errorf("%q: %v, %v", tt.text, id, ok)
		}
	}
	for text, want := range map[string]int{"0-99": 100, "0-9:3": 4, "1-6%2": 6, "1,3,5-7": 5, "7": 1, "": 0, "x": 0,
		"9-1": 0, "1-9:0": 0} {
		if n := countIndices(text); n != want {
			t.Errorf("%q: %d members, want %d", text, n, want)
		}
	}
	for text, want := range map[string]int64{"7192kb": 7192, "16gb": 16 << 20, "100mb": 100 << 10, "2048b": 2,
		"1mw": 8 << 10, "x": 0, "-5kb": 0} {
		if n := kilobytes(text); n != want {
			t.Errorf("%q: %d KiB, want %d", text, n, want)
		}
	}
}

func FuzzParseJSON(f *testing.F) {
	for _, name := range []string{"exit7_json", "json_HEAD_sample", "down_qstat_json", "json_HEAD_unknown"} {
		f.Add(recorded(f, name).Stdout)
	}
	f.Add(wrapped("            \"A\":{\n    \"B\":[\n}\n]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		raws, err := parseJSON(text)
		if err != nil && jjm.KindOf(err) != jjm.Busy {
			t.Errorf("kind of %v", err)
		}
		sound(t, raws, openpbs)
	})
}

func FuzzParseXML(f *testing.F) {
	f.Add([]byte(torqueXML))
	f.Add([]byte("<Data><Job><Job_Id>1.h</Job_Id></Job><Job/></Data>"))
	f.Fuzz(func(t *testing.T, text []byte) {
		raws, err := parseXML(text)
		if err != nil && jjm.KindOf(err) != jjm.Busy {
			t.Errorf("kind of %v", err)
		}
		sound(t, raws, torque)
	})
}

// sound checks that the reports of all jobs that could be parsed are plausible.
func sound(t *testing.T, raws []raw, d dialect) {
	for _, r := range raws {
		j, ok := jobOf(r, d)
		if !ok {
			continue
		}
		report := j.report(d, time.UTC)
		if report.Index < 0 || report.ID == "" || report.Restarts < 0 || report.CPUms < 0 || report.RSSKB < 0 {
			t.Errorf("%+v", report)
		}
		if report.State.Alive() && (report.Exit != 0 || report.Signal != 0 || report.Ended != 0) {
			t.Errorf("alive: %+v", report)
		}
	}
}

func FuzzParsePlain(f *testing.F) {
	f.Add(recorded(f, "nodes_plain").Stdout)
	f.Add(recorded(f, "qstat_B").Stdout)
	f.Fuzz(func(t *testing.T, text []byte) {
		list := parsePlain(text)
		l := limitsOf(list, list, list, "", "ann")
		if l.array < 1 || l.slots < 0 || l.queued < 0 || l.memoryMB < 0 {
			t.Errorf("%+v", l)
		}
	})
}

func FuzzComplaints(f *testing.F) {
	f.Add([]byte(
		"qdel: Unknown Job Id 999999\nqdel: Job has finished 25[3].pbshost\nqdel: Unauthorized Request  18.pbshost\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		by, _ := complaints(text)
		for operand := range by {
			if _, ok := parseID(operand); !ok && !strings.Contains(operand, "[") {
				t.Errorf("operand %q", operand)
			}
		}
	})
}

// The test reads the limits on queued jobs from the settings of a server and its queues. A limit for one account
// replaces the generic limit of the same queue.
func TestLimitsOf_EveryQueue(t *testing.T) {
	server := parsePlain([]byte("Server: h\n    default_queue = workq\n    max_queued = [u:PBS_GENERIC=100]\n\n"))
	queues := parsePlain([]byte("Queue: workq\n    max_queued = [u:PBS_GENERIC=50]\n\n" +
		"Queue: short\n    max_queued = [u:PBS_GENERIC=10], [o:PBS_ALL=40]\n    max_array_size = 6\n\n" +
		"Queue: long\n    max_queued = [u:PBS_GENERIC=10],\n\t[u:ann=30], [g:PBS_GENERIC=1]\n\n" +
		"Queue: torque\n    max_queuable = 8\n    max_user_queuable = 9\n\n" +
		"Queue: free\n    queue_type = Execution\n\n"))
	for who, want := range map[string]map[string]queueLimits{
		"ann": {"workq": {queued: 50}, "short": {queued: 10, array: 6}, "long": {queued: 30}, "torque": {queued: 8},
			"free": {}},
		"bob": {"workq": {queued: 50}, "short": {queued: 10, array: 6}, "long": {queued: 10}, "torque": {queued: 8},
			"free": {}},
	} {
		l := limitsOf(server, queues, nil, "", who)
		if diff := cmp.Diff(want, l.queues, cmp.AllowUnexported(queueLimits{})); diff != "" {
			t.Errorf("%s:\n%s", who, diff)
		}
		if l.server != 100 || l.queued != 50 {
			t.Errorf("%s: server %d, default queue %d", who, l.server, l.queued)
		}
	}
	for text, want := range map[string]int{"": 0, "[u:PBS_GENERIC=7]": 7, "[o:PBS_ALL=5],[u:PBS_GENERIC=7]": 5,
		"[o:PBS_ALL=5],[u:ann=9]": 5, "[u:ann=9],[u:PBS_GENERIC=2]": 9, "[u:ann=0],[u:PBS_GENERIC=2]": 0, "[g:x=1]": 0} {
		if got := userLimit(text, "ann"); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// The size of a bulk is checked against the limits of the queue that the bulk names, or of the default queue if it
// names none.
func TestCheckSize_OfTheBulksQueue(t *testing.T) {
	a := &Adapter{limits: limits{server: 100, defaultQueue: "workq", queues: map[string]queueLimits{
		"workq": {queued: 50}, "short": {queued: 10, array: 6}, "free": {}}}}
	for _, tt := range []struct {
		queue string
		fits  int
	}{{"", 50}, {"short", 6}, {"free", 100}, {"unknown", 100}} {
		b := adapters.Bulk{N: tt.fits, Request: jjm.Request{Queue: tt.queue}}
		if err := a.checkSize(b); err != nil {
			t.Errorf("%d jobs in queue %q: %v", b.N, tt.queue, err)
		}
		b.N++
		if err := a.checkSize(b); !adapters.IsTooMany(err) || !adapters.IsNotAsked(err) || jjm.KindOf(err) != jjm.Busy {
			t.Errorf("%d jobs in queue %q: %v", b.N, tt.queue, err)
		}
	}
	if err := new(Adapter).checkSize(adapters.Bulk{N: 1000}); err != nil {
		t.Errorf("before a probe: %v", err)
	}
}
