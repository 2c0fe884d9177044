package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"jjm/handlers/all"
)

// splits writes a job file and other files into a new folder, and runs "split --preview" on the job file.
func splits(t *testing.T, text string, files map[string]string, flags ...string) (code int, out, errs string) {
	t.Helper()
	t.Setenv("JJM_CONFIG", "")
	dir := t.TempDir()
	config := filepath.Join(dir, "jjm.toml")
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, text := range map[string]string{config: "state = \"" + dir + "/state\"\n[engine]\nmax_local_jobs = 1000\n",
		filepath.Join(dir, "job.toml"): text} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, f := range flags {
		flags[i] = strings.ReplaceAll(f, "DIR", dir)
	}
	var o, e bytes.Buffer
	code = run(append([]string{"split", "--preview", filepath.Join(dir, "job.toml"), "--config", config}, flags...), &o,
		&e)
	return code, o.String(), e.String()
}

func TestSplit_EveryTypeIsPreviewed(t *testing.T) {
	for name, h := range all.Registry() {
		code, out, errs := splits(t, h.Describe().Example, map[string]string{"mc.sh": ""})
		if code != exitOK || !strings.Contains(out, name+" makes ") || !strings.Contains(out, "$ ") {
			t.Errorf("%s: exit %d\n%s%s", name, code, out, errs)
		}
	}
}

const reprocess = `type = "reprocess"
[split]
by = "LumiBased"
params = { lumis_per_job = 3 }
[[datasets]]
name = "raw"
%s
[params]
command = ["reco", "{lumis}", "{files}"]
`

const table = "lfn,events,locations,lumis\na,10,here,1:1-4\nb,5,,\nc,10,here,1:5-6 2:1\n"

// A part without files, as GenericSplitter makes, is described without the word "of".
func TestSplit_PartsWithoutFiles(t *testing.T) {
	const job = "type = \"script\"\n[split]\nby = \"GenericSplitter\"\nparams = { attribute = \"backend.queue\", " +
		"values = [\"short\"] }\n[params]\ncommand = [\"x\"]\n"
	code, out, errs := splits(t, job, nil)
	if code != exitOK || !strings.HasPrefix(out, "0: row 0\n") {
		t.Errorf("exit %d %s\n%s", code, errs, out)
	}
}

// The command of a part is printed as a shell reads it, like that of jjm submit --dry-run.
func TestSplit_TheCommandReadsBackInAShell(t *testing.T) {
	const job = "type = \"script\"\n[params]\ncommand = [\"sh\", \"-c\", \"cat a >b && echo {serial}\"]\n"
	code, out, errs := splits(t, job, nil)
	if want := "   $ sh -c 'cat a >b && echo 1'\n"; code != exitOK || !strings.Contains(out, want) {
		t.Errorf("exit %d %s\n%s, want %s", code, errs, out, want)
	}
}

func TestSplit_FilesOfADataset(t *testing.T) {
	want := `0: lumis 0-2 of a, sections 1:1-3, at here
   $ reco 1:1-3 a
1: lumis 3-5 of a c, sections 1:4-6, at here
   $ reco 1:4-6 a c
and 1 more
reprocess makes 3 local jobs: cut by LumiBased, as the job file says
`
	code, out, errs := splits(t, fmt.Sprintf(reprocess, `from = "raw.csv"`), map[string]string{"raw.csv": table},
		"--limit", "2")
	if !strings.HasPrefix(out, strings.TrimSuffix(want, "\n")) || code != exitOK {
		t.Errorf("exit %d %s\n%s", code, errs, cmp.Diff(want, out))
	}
	// With --files, which replaces facts that only the daemon knows, the preview is the same.
	_, again, _ := splits(t, fmt.Sprintf(reprocess, ""), map[string]string{"raw.csv": table}, "--limit", "2", "--files",
		"DIR/raw.csv")
	if diff := cmp.Diff(out, again); diff != "" {
		t.Error(diff)
	}
	code, out, errs = splits(t, fmt.Sprintf(reprocess, `from = "raw.csv"`), map[string]string{"raw.csv": table}, "--json",
		"--limit", "0")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if code != exitOK || len(lines) != 4 || !strings.HasPrefix(lines[3], `{"jobs":3,"units":7,"splitter":"LumiBased"`) {
		t.Errorf("exit %d %s\n%s", code, errs, out)
	}
}

// Two files contain the same luminosity sections. The arguments that a command gets never make it process a section of
// a file that another part owns, or read a file twice.
func TestSplit_SharedSectionsAreToldOnce(t *testing.T) {
	for _, c := range []struct{ params, command, want string }{
		{"lumis_per_job = 5", `"{lumis}", "{files}"`,
			"$ reco 1:1-5 A\n|$ reco 1:6-6 A\n|$ reco 1:1-3,1:7-8 B\n|$ reco 1:9-10 B\n"},
		{"lumis_per_job = 5", `"{files}"`, "sections 1:1-5\n|sections 1:6-6 of A, sections 1:1-3,1:7-7 of B\n"},
		{"lumis_per_job = 5, applyLumiCorrection = true", `"{lumis}", "{files}"`,
			"$ reco 1:1-5 A B\n|$ reco 1:6-10 A B\n"},
	} {
		text := strings.Replace(fmt.Sprintf(reprocess, `from = "raw.csv"`), "lumis_per_job = 3", c.params, 1)
		text = strings.Replace(text, `"{lumis}", "{files}"`, c.command, 1)
		code, out, errs := splits(t, text, map[string]string{"raw.csv": "lfn,events,lumis\nA,60,1:1-6\nB,70,1:1-3 1:7-10\n"})
		for _, want := range strings.Split(c.want, "|") {
			if code != exitOK || !strings.Contains(out, want) {
				t.Errorf("%s, %s: exit %d %s\n%s\nwant %q", c.params, c.command, code, errs, out, want)
			}
		}
	}
}

func TestSplit_AWatchedFolderAsItIs(t *testing.T) {
	text := strings.Replace(fmt.Sprintf(reprocess, `watch = "*.root"`), `by = "LumiBased"
params = { lumis_per_job = 3 }`, `by = "FileBased"
params = { files_per_job = 1 }`, 1)
	code, out, errs := splits(t, text, map[string]string{"b.root": "x", "a.root": "xx", "c.txt": ""})
	if code != exitOK || strings.Count(out, ".root\n   $ reco") != 2 ||
		strings.Index(out, "a.root") > strings.Index(out, "b.root") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
}

// The preview shows the number of merges, as far as it is known before local jobs run.
func TestSplit_TellsOfMerges(t *testing.T) {
	merge := "result = \"exit\"\noutputs = [\"o\"]\n" +
		strings.Replace(fmt.Sprintf(reprocess, `from = "raw.csv"`), "lumis_per_job = 3",
			"lumis_per_job = 3, performance = {sizePerEvent = %s}", 1) + "[merge]\nconcat = true\nfiles = 2\nbytes = 150000\n"
	for _, c := range []struct{ text, want, json string }{
		{strings.Replace(merge, "%s", "0.0", 1),
			"their 3 outputs make up to 3 merges, and at least 2: at most 2 files and 150000 bytes go into one\n",
			`"outputs":3,"least":2,"most":3,"text"`},
		{strings.Replace(merge, "%s", "12.0", 1), "; about 2 if they are as large as estimated\n", `"estimated":2,`},
		{strings.Replace(strings.Replace(merge, "%s", "0.0", 1), `["o"]`, `["*"]`, 1),
			"how many merges that makes is known once the outputs are", `"merge":{"splitter":"ParentlessMergeBySize","text"`},
		{strings.Replace(strings.Replace(merge, "%s", "0.0", 1), `from =`, "open = true\nfrom =", 1),
			"so far make up to 3 merges, and more come", `outputs so far`},
	} {
		code, out, errs := splits(t, c.text, map[string]string{"raw.csv": table}, "--limit", "1")
		if code != exitOK || !strings.Contains(out, c.want) {
			t.Errorf("exit %d %s\n%s\nwant %q", code, errs, out, c.want)
		}
		if _, out, errs = splits(t, c.text, map[string]string{"raw.csv": table}, "--json"); !strings.Contains(out, c.json) {
			t.Errorf("%s%s\nwant %q", errs, out, c.json)
		}
	}
	if _, out, errs := splits(t, strings.Replace(merge, "%s", "0.0", 1)+"split = { by = \"None\" }\n",
		map[string]string{"raw.csv": table}); !strings.Contains(errs, "merge.split.by") || out != "" {
		t.Errorf("%s%s", out, errs)
	}
}

func TestSplit_SaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name, text string
		code       int
		want       string
	}{
		{"a key", "type = \"script\"\ncomand = 1\n", exitInvalid, "job.toml:2: comand: unknown key"},
		{"a setting", "type = \"script\"\n[params]\ncommand = [\"{x}\"]\n", exitInvalid,
			"job.toml:3: params.command[0]: unknown placeholder"},
		{"a type", "type = \"scrpt\"\n", exitInvalid,
			"job.toml:1: type: unknown job type \"scrpt\": did you mean \"script\"? this site knows "},
		{"a key and a type", "comand = 1\ntype = \"scrpt\"\n", exitInvalid, "2 problems\n"},
		{"a key, and what only the type knows", "type = \"script\"\ncomand = 1\n[params]\ncommand = [\"{x}\"]\ncount = \"5\"\n",
			exitInvalid, "3 problems\n"},
		{"no type", "name = \"x\"\n", exitInvalid, "type: is missing: name the job type"},
		{"no dataset", "type = \"reprocess\"\n[params]\ncommand = [\"x\"]\n", exitInvalid, "datasets: is missing"},
		{"unknown files", fmt.Sprintf(reprocess, ""), exitInvalid, "name a list of them with --files"},
		{"no list", fmt.Sprintf(reprocess, `from = "none.csv"`), exitInvalid, "no such file"},
		{"a wrong list", fmt.Sprintf(reprocess, `from = "bad.csv"`), exitInvalid, "bad.csv:2: events"},
		{"twice in a list", fmt.Sprintf(reprocess, `from = "twice.csv"`), exitInvalid, "is there twice"},
		{"too many", "type = \"montecarlo\"\n[params]\ncommand = [\"x\"]\nevents = 1001\nevents_per_job = 1\n", exitInvalid,
			"would make 1001 local jobs, and this site allows 1000"},
		{"too many files", fmt.Sprintf(reprocess, `from = "many.csv"`), exitInvalid, "would make 1334 local jobs"},
	} {
		code, out, errs := splits(t, c.text,
			map[string]string{"bad.csv": "lfn,events\na,x\n", "twice.csv": "lfn\na\na\n", "many.csv": "lfn,lumis\na,1:1-4000\n"})
		if code != c.code || !strings.Contains(errs, c.want) || out != "" {
			t.Errorf("%s: exit %d, want %d\n%s%s\nwant %q", c.name, code, c.code, out, errs, c.want)
		}
	}
}

// twoClusters is a configuration with two clusters. One of them can read only the storage "here".
const twoClusters = `state = "/nowhere"
[[cluster]]
name = "near"
kind = "local"
storages = ["here"]
[[cluster]]
name = "far"
kind = "local"
storages = ["there", "here"]
`

// If the configuration says which storages the clusters can read, the preview shows where each local job may run, and
// which local jobs cannot run anywhere.
func TestSplit_SaysWhereLocalJobsMayRun(t *testing.T) {
	text := `type = "reprocess"
clusters = "any"
[split]
by = "FileBased"
params = { files_per_job = 1, include_parents = true }
[[datasets]]
name = "raw"
from = "raw.csv"
[params]
command = ["reco", "{files}", "{parents}"]
`
	want := `0: file 0 of a, at here, on far near, reads 2 parents along
   $ reco a p q
1: file 1 of b, at there, on far
   $ reco b
2: file 2 of c, at tape, createfailed 71101: no cluster may run this: the grid job may use none that can read from tape and that the site lists allow
   $ reco c
reprocess makes 3 local jobs: cut by FileBased, as the job file says
1 of them must not be submitted: createfailed
`
	files := map[string]string{"raw.csv": "lfn,locations,parents\na,here,p q\nb,there,\nc,tape,\n",
		"site.toml": twoClusters}
	code, out, errs := splits(t, text, files, "--config", "DIR/site.toml")
	if diff := cmp.Diff(want, out); diff != "" || code != exitOK {
		t.Errorf("exit %d %s\n%s", code, errs, diff)
	}
}

// The preview refuses the same job files as the daemon, with the same errors.
func TestSplit_RefusesWhatSubmissionRefuses(t *testing.T) {
	job := "type = \"reprocess\"\n%s\n[split]\nby = \"%s\"\nparams = { %s }\n[[datasets]]\nname = \"raw\"\nfiles = [{lfn = \"a\"}]\n[params]\ncommand = [\"reco\"]\n"
	for _, c := range []struct{ clusters, by, params, want string }{
		{`cluster = "nowhere"`, "FileBased", "", `job.toml:2: cluster: unknown cluster "nowhere": this site has near, far`},
		{`cluster = "any"`, "FileBased", `siteWhitelist = ["here"]`,
			`split.params.siteWhitelist[0]: unknown cluster "here": this site has near, far`},
		{``, "FileBased", `siteBlacklist = ["near"]`,
			`split.params.siteBlacklist: leaves none of the clusters that the grid job may use, near`},
		{``, "WMBSMergeBySize", ``, `split.by: WMBSMergeBySize needs to know which local jobs made the files`},
	} {
		code, out, errs := splits(t, fmt.Sprintf(job, c.clusters, c.by, c.params),
			map[string]string{"site.toml": twoClusters}, "--config", "DIR/site.toml")
		if code != exitInvalid || !strings.Contains(errs, c.want) || out != "" {
			t.Errorf("%s %s: exit %d\n%s%s\nwant %q", c.by, c.params, code, out, errs, c.want)
		}
	}
}

// The command of each part contains the luminosity sections to which the events that it generates belong.
func TestSplit_MadeUpSectionsReachTheCommand(t *testing.T) {
	code, out, errs := splits(t, `type = "reprocess"
[[datasets]]
name = "production"
files = [{ lfn = "MCFakeFile-1", events = 250, lumis = [{ run = 1, first = 5, last = 5 }] }]
[split]
by = "EventBased"
params = { events_per_job = 100, events_per_lumi = 40, production = true }
[params]
command = ["make", "{first_event}", "{events}", "{lumis}"]
`, nil)
	for _, want := range []string{"$ make 0 100 1:5-7\n", "$ make 100 100 1:8-10\n", "$ make 200 50 1:11-12\n"} {
		if code != exitOK || !strings.Contains(out, want) {
			t.Errorf("exit %d, no %q in\n%s%s", code, want, out, errs)
		}
	}
}
