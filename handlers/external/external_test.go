package external

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"jjm/handlers"
	"jjm/internal/jjm"
	"jjm/internal/testkit/handlertest"
)

const about = `{"protocol": 1, "summary": "a scan", "settings": [{"name": "n", "type": "whole number", "required": true,
 "min": 1, "help": "how many"}], "example": "type = \"scan\"\n[params]\nn = 3\n"}`

// program simulates the program of a job type: it has a reply for each verb.
type program struct {
	replies map[string]string
	ran     handlers.Ran // the result of every run, without its output
	err     error
	jobs    int // number of local jobs in the plan; 0 if the plan ignores the limit of the site

	mu    sync.Mutex
	asked []request
}

func (p *program) call(c handlers.Program) (handlers.Ran, error) {
	var r request
	if err := json.Unmarshal(c.Stdin, &r); err != nil {
		return handlers.Ran{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r)
	ran := p.ran
	ran.Stdout = []byte(p.replies[r.Verb])
	if r.Site != nil && r.Site.MaxLocalJobs < p.jobs {
		ran.Stdout = []byte(`{"problems": [{"field": "params.n", "text": "too many"}]}`)
	}
	return ran, p.err
}

// newType returns a type whose program file exists, and a site that runs p instead of the file.
func newType(t *testing.T, p *program) (*Type, handlers.Site) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "scan.py")
	if err := os.WriteFile(path, []byte("x"), 0o700); err != nil {
		t.Fatal(err)
	}
	return New("scan", path, p.call), handlers.Site{Run: p.call}
}

func plans(text string) *program {
	return &program{replies: map[string]string{"describe": about, "plan": text}}
}

func job(n any) *jjm.Spec { return &jjm.Spec{Type: "scan", Params: map[string]any{"n": n}} }

// A type of a program passes the conformance suite of all job types, whatever its plan says about local jobs.
func TestConformance(t *testing.T) {
	for name, c := range map[string]struct {
		plan string
		good handlertest.Good
	}{
		"events": {`{"plan": {"events": {"first": 5, "count": 10, "per_job": 3}, "command": ["run"], "env": {"A": "{serial}"}}}`,
			handlertest.Good{Parts: 4, Units: 10}},
		"rows": {`{"plan": {"rows": [["a", "{b}"], ["c"]], "command": ["run", "{args}"], "why": ["two"]}}`,
			handlertest.Good{Parts: 2, Units: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			p := plans(c.plan)
			p.jobs = c.good.Parts
			h, site := newType(t, p)
			handlertest.Run(t, h, site, c.good)
		})
	}
	reads := strings.Replace(about, `"settings"`, `"reads": true, "settings"`, 1)
	reads = strings.Replace(reads, `n = 3\n`,
		`n = 3\n[[datasets]]\nname = \"d\"\nfiles = [{lfn = \"a\"}, {lfn = \"b\"}]\n`, 1)
	p := plans(
		`{"plan": {"files": {"splitter": "FileBased", "params": {"files_per_job": 1}}, "command": ["run", "{files}"]}}`)
	p.replies["describe"] = reads
	t.Run("files", func(t *testing.T) {
		h, site := newType(t, p)
		handlertest.Run(t, h, site, handlertest.Good{Parts: 2})
	})
}

// Describe runs no program. So a program that hangs delays users of its type, but not people who read the descriptions
// of types.
func TestDescribe_WaitsForNoProgram(t *testing.T) {
	asked, answer := make(chan bool), make(chan bool)
	h := New("scan", "/x/scan.py", func(handlers.Program) (handlers.Ran, error) {
		asked <- true
		<-answer
		return handlers.Ran{Stdout: []byte(about)}, nil
	})
	if d := h.Describe(); !strings.Contains(d.Summary, "has not said yet") {
		t.Errorf("not asked: %+v", d)
	}
	learned := make(chan jjm.Problems)
	go func() { learned <- h.Learn() }()
	<-asked
	if d := h.Describe(); !strings.Contains(d.Summary, "has not said yet") {
		t.Errorf("while it is asked: %+v", d)
	}
	close(answer)
	if problems := <-learned; len(problems) > 0 {
		t.Fatal(problems)
	}
	if d := h.Describe(); d.Summary != "a scan" {
		t.Errorf("%+v", d)
	}
}

// The program plans a grid job once, at the submission. A later change of the program does not change the plan, and
// making commands does not run the program.
func TestPlan_IsMadeOnce(t *testing.T) {
	p := plans(
		`{"plan": {"rows": [["a"], ["b"]], "command": ["run", "{args}"], "inputs": [{"path": "x"}, {"path": "/y"},
		{"path": "https://h/z?v=1", "credential_file": "token"}]}}`)
	h, site := newType(t, p)
	spec, problems := handlers.Planned(h, job(int64(2)), site)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if last := p.asked[len(p.asked)-1]; last.Verb != "plan" || last.Settings["n"] != 2.0 || last.Protocol != 1 {
		t.Errorf("asked %+v", last)
	}
	p.err = errors.New("gone")
	cut, err := h.Split(spec, site)
	if err != nil || cut.Jobs != 2 || !strings.Contains(strings.Join(cut.Why, " "), "SHA-256 2d711642b726b044") {
		t.Errorf("%+v %v", cut, err)
	}
	c, err := h.Command(spec, &jjm.LocalJob{Part: jjm.Part{Unit: jjm.UnitRow, Count: 1, Args: []string{"b"}}})
	if err != nil || !slices.Equal(c.Argv, []string{"run", "b"}) {
		t.Errorf("%q %v", c.Argv, err)
	}
	inputs, err := h.Prepare(spec, site)
	if err != nil || inputs[0].Path != filepath.Join(filepath.Dir(h.path), "x") || inputs[1].Path != "/y" {
		t.Errorf("%v %v", inputs, err)
	}
	all, err := handlers.Inputs(h, spec, site)
	if token := filepath.Join(filepath.Dir(h.path), "token"); err != nil || len(all) != 3 || all[0].Name != "x" ||
		all[2].Name != "z" || all[2].Path != "https://h/z?v=1" || all[2].CredentialFile != token {
		t.Errorf("%v %v", all, err)
	}
	asked := len(p.asked)
	if _, problems := handlers.Planned(h, spec, site); len(problems) != 1 {
		t.Errorf("a plan of somebody's own: %v", problems)
	}
	spec.Recovers = 3
	if again, problems := handlers.Planned(h, spec, site); len(problems) > 0 || again != spec || len(p.asked) != asked {
		t.Errorf("a recovery: %v", problems)
	}
}

// The record names the program that planned the grid job, also if the work of the plan consists of files.
func TestPlan_OfFilesSaysWhoPlanned(t *testing.T) {
	p := plans(`{"plan": {"files": {"splitter": "FileBased"}, "command": ["run"], "why": ["small files"]}}`)
	p.replies["describe"] = strings.Replace(about, `"settings"`, `"reads": true, "settings"`, 1)
	h, site := newType(t, p)
	spec := job(int64(2))
	spec.Datasets = []jjm.DatasetInput{{Name: "d"}}
	spec, problems := handlers.Planned(h, spec, site)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	cut, err := h.Split(spec, site)
	why := strings.Join(cut.Why, "; ")
	if err != nil || !strings.Contains(why, "small files; planned by scan.py, SHA-256 2d71") ||
		!strings.Contains(why, "cut by") {
		t.Errorf("%q %v", why, err)
	}
}

// A plan also contains the meaning of exit codes, and the phase of the application that is shown as progress.
func TestPlan_EndsAndProgress(t *testing.T) {
	p := plans(`{"plan": {"events": {"count": 10, "per_job": 5}, "command": ["run"], "progress": "simulate", "ends":
 [{"exit_codes": [3], "action": "complete", "text": "nothing passed"}]}}`)
	h, site := newType(t, p)
	spec, problems := handlers.Planned(h, job(int64(2)), site)
	if problems = append(problems, h.Check(spec, site)...); len(problems) > 0 {
		t.Fatal(problems)
	}
	p.err = errors.New("gone")
	op := h.Analyse(spec, nil, &jjm.Result{Exit: 3})
	if op == nil || op.Action != jjm.Complete || op.Text != "exit code 3: nothing passed" {
		t.Errorf("%+v", op)
	}
	if op := h.Analyse(spec, nil, &jjm.Result{Exit: 4}); op != nil {
		t.Errorf("%+v", op)
	}
	l := &jjm.LocalJob{Part: jjm.Part{Unit: jjm.UnitEvent, Count: 5}}
	said := []jjm.AppPhase{{Progress: jjm.Progress{Phase: "simulate", Done: 2}, Ended: 1},
		{Progress: jjm.Progress{Phase: "copy", Done: 1}, Ended: 2}}
	if got := h.Progress(spec, l, said); got != (jjm.Progress{Phase: "simulate", Done: 2, Total: 5}) {
		t.Errorf("%+v", got)
	}
	if got := h.Progress(spec, l, said[1:]); got.Phase != "copy" {
		t.Errorf("before it began: %+v", got)
	}
	if got := h.Progress(job(int64(2)), l, said); got.Phase != "copy" {
		t.Errorf("without a plan: %+v", got)
	}
}

// A mistake of a program is reported with the program's path and last output, and affects only one job.
func TestPlan_ReportsWhatAProgramDoesWrong(t *testing.T) {
	for want, p := range map[string]*program{
		"is not a JSON object: it printed something besides its reply, which begins \"hello\\n{}\"": plans("hello\n{}"),
		"it printed nothing":                   plans(" "),
		"want print(json.dumps(reply))":        plans("{'protocol': 1}"),
		"is not a JSON object: unexpected EOF": plans("{"),
		"rows[0][0]: want text in quotes, got the number 1 (and at 79 more places)": plans(`{"plan": {"command": ["x"], "rows": [` +
			strings.Repeat("[1, 1],", 39) + `[1, 1]]}}`),
		"plan.env.A: unknown placeholder": plans(`{"plan": {"rows": [["a"]], "command": ["x"], "env": {"A": "{x}"}}}`),
		"plan.command[1]: unknown":        plans(`{"plan": {"rows": [["a"]], "command": ["x", "{x}"]}}`),
		"protocol: is missing: add \"protocol\": 1": {replies: map[string]string{
			"describe": strings.Replace(about, `"protocol": 1, `, "", 1)}},
		"goes on after":            plans(`{} {}`),
		"did you mean \"plan\"":    plans(`{"paln": {}}`),
		"neither problems nor":     plans(`{}`),
		"exactly one of":           plans(`{"plan": {"command": ["x"]}}`),
		"want a command":           plans(`{"plan": {"rows": [["a"]]}}`),
		"rows: want at least":      plans(`{"plan": {"rows": [], "command": ["x"]}}`),
		"want count and per_job":   plans(`{"plan": {"events": {"count": 5}, "command": ["x"]}}`),
		"unknown placeholder":      plans(`{"plan": {"rows": [["a"]], "command": ["{x}"]}}`),
		"ends[0].action":           plans(`{"plan": {"rows": [["a"]], "command": ["x"], "ends": [{"exit_codes": [3], "text": "x"}]}}`),
		"plan.analyse[0]: unknown": plans(`{"plan": {"rows": [["a"]], "command": ["x"], "analyse": ["{x}"]}}`),
		"want the name of a phase": plans(`{"plan": {"rows": [["a"]], "command": ["x"], "progress": "a b"}}`),
		"unknown splitter":         plans(`{"plan": {"files": {"splitter": "Fyle"}, "command": ["x"]}}`),
		"params.n: too few":        plans(`{"problems": [{"field": "params.n", "text": "too\n few"}]}`),
		"params: is wrong":         plans(`{"problems": [{"field": "", "text": " "}]}`),
		"exit code 3: no such way": {replies: map[string]string{"describe": about},
			ran: handlers.Ran{Exit: 3, Stderr: []byte("no such way\n")}},
		"not run":           {replies: map[string]string{"describe": about}, err: errors.New("not run")},
		"writes more than":  {replies: map[string]string{"describe": about}, ran: handlers.Ran{Truncated: true}},
		"this jjm speaks 1": {replies: map[string]string{"describe": strings.Replace(about, "1", "2", 1)}},
		"settings[0].help":  {replies: map[string]string{"describe": strings.Replace(about, "how many", "", 1)}},
	} {
		h, site := newType(t, p)
		spec, problems := handlers.Planned(h, job(int64(2)), site)
		if len(problems) == 0 {
			problems = h.Check(spec, site)
		}
		got := problems.Error()
		if len(problems) != 1 || !strings.Contains(got, want) || strings.Contains(got, "jjm_") ||
			strings.Contains(got, ": :") {
			t.Errorf("%v, want %q", problems, want)
		}
	}
	h, site := newType(t, plans("{}"))
	if _, problems := handlers.Planned(h, job("two"), site); len(problems) != 1 || problems[0].Field != "params.n" {
		t.Errorf("a bad setting: %v", problems)
	}
	if problems := h.Check(job(int64(2)), site); len(problems) != 1 {
		t.Errorf("without a plan: %v", problems)
	}
}

func FuzzReplies(f *testing.F) {
	f.Add(about, `{"plan": {"rows": [["a"]], "command": ["x"]}}`)
	f.Add(about, `{"plan": {"events": {"count": 5, "per_job": 2}, "command": ["{seed}"]}}`)
	f.Add(about, `{"plan": {"rows": [["a"]], "command": ["x"], "progress": "p", "ends": [{"exit_codes": [3], "action": "retry",
 "text": "x", "retry_args": ["a"]}]}}`)
	path := filepath.Join(f.TempDir(), "scan.py") // shared, because a file for each input would take most of the time
	if err := os.WriteFile(path, []byte("x"), 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, describe, plan string) {
		p := &program{replies: map[string]string{"describe": describe, "plan": plan}}
		h, site := New("scan", path, p.call), handlers.Site{Run: p.call}
		spec, problems := handlers.Planned(h, job(int64(2)), site)
		if len(problems) > 0 || len(h.Check(spec, site)) > 0 {
			return
		}
		if _, err := h.Split(spec, site); err != nil {
			t.Fatalf("Check accepts what Split refuses: %v", err)
		}
		if _, err := h.Command(spec, &jjm.LocalJob{}); err != nil {
			t.Fatal(err)
		}
		op := h.Analyse(spec, nil, &jjm.Result{Exit: 3})
		known := []jjm.Action{jjm.Complete, jjm.Retry, jjm.Hold, jjm.Fail}
		if op != nil && (!slices.Contains(known, op.Action) || op.Text == "") {
			t.Fatalf("Check accepts ends that say %+v", op)
		}
		said := []jjm.AppPhase{{Progress: jjm.Progress{Phase: "p", Done: 1}}}
		if got := h.Progress(spec, &jjm.LocalJob{}, said); got.Phase != "p" {
			t.Fatalf("of the only phase is shown %+v", got)
		}
	})
}
