package all

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/adapters/condor"
	"jjm/adapters/sge"
	"jjm/adapters/slurm"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
	"jjm/internal/testkit/await"
	"jjm/internal/testkit/programs"
)

// smallSlurm imitates the answers of Slurm that the adapter needs.
type smallSlurm struct {
	config, sinfo, squeueHead, sacctHead string
	// tag is the tag of the only array, whose jobs wait; held is set if the owner holds these jobs.
	tag          jjm.Tag
	held, absent bool
}

func (s *smallSlurm) answer(argv []string) run.Output {
	switch argv[0] {
	case "sbatch":
		return printed("7\n")
	case "sinfo":
		return printed("%s", s.sinfo)
	case "sacct":
		return printed("%s\n", s.sacctHead)
	case "squeue":
		text := s.squeueHead + "\n"
		for i := 0; i < 5 && !s.absent; i++ {
			reason := "Priority"
			if s.held {
				reason = "JobHeldUser"
			}
			text += fmt.Sprintf("7|7|%d|PENDING|0|0|1795282563|N/A|N/A|n/a|%s|n|%s|r|\n", i, s.tag, reason)
		}
		return printed("%s", text)
	}
	if argv[0] == "sacctmgr" && strings.Contains(strings.Join(argv, " "), " user=") {
		return printed("grid|u|||normal|||\n")
	}
	switch strings.Join(argv[1:min(len(argv), 3)], " ") {
	case "ping":
		return printed("Slurmctld(primary) at h is UP\n")
	case "show config":
		return printed("%s", s.config)
	}
	if argv[1] == "token" {
		return printed("SLURM_JWT=x\n")
	}
	return printed("")
}

func driveSlurm(t *testing.T, n *notebook) {
	firstLine := func(text string) string { line, _, _ := strings.Cut(text, "\n"); return line }
	s := &smallSlurm{
		config: strings.Replace(recorded(t, "slurm", "testdata", "config.txt"), "AccountingStorageEnforce = none",
			"AccountingStorageEnforce = limits", 1),
		sinfo:      recorded(t, "slurm", "testdata", "sinfo.txt"),
		squeueHead: firstLine(recorded(t, "slurm", "testdata", "squeue.txt")),
		sacctHead:  firstLine(recorded(t, "slurm", "testdata", "sacct.txt")), tag: tagOf(t, "many"),
	}
	n.answer = s.answer
	rest := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprint(w, `{"job_id":7}`)
	}))
	t.Cleanup(rest.Close)
	byREST := n.open(t, "slurm", adapters.Env{}, func(c any) { c.(*slurm.Config).Rest = rest.URL })
	byREST.submit(s.tag, 5, jjm.Request{})

	d := n.open(t, "slurm", adapters.Env{}, func(c any) {})
	d.owner.UID = os.Geteuid() // root may submit its own jobs
	d.probe()
	await.True(t, "the limits of accounting are asked for, beside the probe", func() bool {
		return slices.ContainsFunc(n.commands(), func(argv []string) bool {
			return strings.Join(argv, " ") == "scontrol -o show partition"
		})
	})
	r := everything()
	r.Queue, r.QOS = "short", "high"
	jobs := d.submit(s.tag, 5, r)
	d.list(time.Now().Add(-time.Hour))
	d.find(s.tag, tagOf(t, "gone"))
	d.account(jobs...)
	d.control(adapters.HoldJobs, jobs...)
	d.control(adapters.HoldJobs, jobs[1], jobs[3])
	d.control(adapters.Cancel, jobs[1], jobs[3])
	s.held = true
	d.control(adapters.Release, jobs...)
}

// smallCondor imitates the answers of HTCondor that the adapter needs.
type smallCondor struct {
	user string
	tag  jjm.Tag
	// status is the JobStatus of the five jobs; 0 if there are no jobs.
	status int
	left   bool // whether the jobs left the queue and are in the history
}

func (c *smallCondor) answer(argv []string) run.Output {
	switch argv[0] {
	case "condor_submit":
		return printed("7.0 - 7.4\n")
	case "condor_config_val":
		return printed("Not defined: MAX_JOBS_PER_SUBMISSION\n100\n1000\nfalse\n")
	case "condor_status":
		return printed("TotalSlotCpus\n16\n")
	case "condor_q", "condor_history":
		if columns := slices.Index(argv, "-af:htV"); columns >= 0 {
			return printed("%s", c.table(argv[columns+1:], argv[0] == "condor_history"))
		}
		return printed("ClusterId ProcId QDate\n7 4 1795282563\n")
	}
	return printed("")
}

// table returns the heading and the lines of the jobs.
func (c *smallCondor) table(columns []string, history bool) string {
	text := strings.Join(columns, "\t") + "\n"
	if history != c.left {
		return text
	}
	for i := 0; i < 5 && c.status > 0; i++ {
		fields := slices.Clone(columns)
		for k, name := range columns {
			value, known := map[string]string{"ClusterId": "7", "ProcId": fmt.Sprint(i), "JobStatus": fmt.Sprint(c.status),
				"Owner": `"` + c.user + `"`, "JJMTag": `"` + string(c.tag) + `"`, "QDate": "1795282563",
				"EnteredCurrentStatus": fmt.Sprint(time.Now().Unix())}[name]
			switch {
			case known:
				fields[k] = value
			case !strings.HasPrefix(name, `"`): // a mark is a constant, which stays unchanged
				fields[k] = "undefined"
			}
		}
		text += strings.Join(fields, "\t") + "\n"
	}
	return text
}

func driveCondor(t *testing.T, n *notebook) {
	c := &smallCondor{tag: tagOf(t, "many")}
	n.answer = c.answer
	now := time.Now()
	d := n.open(t, "condor", adapters.Env{Now: func() time.Time { return now }}, func(any) {})
	c.user = d.owner.User
	d.probe()
	jobs := d.submit(c.tag, 5, jjm.Request{Cores: 1})
	c.status = 5
	d.list(now.Add(-time.Hour))
	d.control(adapters.Release, jobs...)
	c.status = 1
	d.control(adapters.HoldJobs, jobs...)
	d.control(adapters.Cancel, jobs[1], jobs[3])
	c.status, c.left = 4, true
	d.find(c.tag, tagOf(t, "gone"))
	d.account(jobs...)
	for range 6 { // later scans stop at a record that two earlier scans have read
		now = now.Add(time.Minute)
		d.list(now.Add(-time.Hour))
	}
	driveCondorAsOwners(t, n)
}

// driveCondorAsOwners records the commands with which the adapter proves that commands ignore the owner's
// configuration. The daemon runs these commands itself and ignores the runner, so a script records them.
func driveCondorAsOwners(t *testing.T, n *notebook) {
	bin := t.TempDir()
	said := filepath.Join(bin, "said")
	script := "#!/bin/sh\necho \"condor_config_val $*\" >>" + adapters.Quote(said) + "\n" +
		"case $1 in -config) printf 'Configuration source:\\n\\t/etc/condor/condor_config\\n';; *) echo ignored;; esac\n"
	if err := programs.WriteScript(filepath.Join(bin, "condor_config_val"), script); err != nil {
		t.Fatal(err)
	}
	n.open(t, "condor", adapters.Env{Owners: true}, func(into any) { into.(*condor.Config).Bin = bin }).probe()
	text, err := os.ReadFile(said)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		n.note(strings.Fields(line))
	}
}

// smallSGE imitates the answers of Grid Engine that the adapter needs.
type smallSGE struct {
	conf, hosts, details, user string
	tag                        jjm.Tag
	letters                    string // the state of the array of five tasks
}

func (s *smallSGE) answer(argv []string) run.Output {
	switch {
	case argv[0] == "qconf":
		return printed("%s", s.conf)
	case argv[0] == "qhost":
		return printed("%s", s.hosts)
	case argv[0] == "qsub":
		return printed("7.1-5:1\n")
	case argv[0] == "qstat" && has(argv, "-j"):
		return printed("%s", s.details)
	case argv[0] == "qstat":
		return printed("<?xml version='1.0'?>\n<job_info><queue_info></queue_info><job_info><job_list state=\"pending\">"+
			"<JB_job_number>7</JB_job_number><JB_name>%s</JB_name><JB_owner>%s</JB_owner><state>%s</state>"+
			"<JAT_start_time></JAT_start_time><queue_name></queue_name><tasks>1-5:1</tasks></job_list></job_info></job_info>\n",
			s.tag, s.user, s.letters)
	}
	return printed("")
}

func driveSGE(t *testing.T, n *notebook) {
	s := &smallSGE{conf: recorded(t, "sge", "testdata", "qconf_sconf.txt"),
		hosts:   recorded(t, "sge", "testdata", "qhost_xml.xml"),
		details: recorded(t, "sge", "testdata", "qstat_j_unknown_xml.xml"), tag: tagOf(t, "many"), letters: "hqw"}
	n.answer = s.answer
	accounting := filepath.Join(t.TempDir(), "accounting")
	if err := os.WriteFile(accounting, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	d := n.open(t, "sge", adapters.Env{}, func(into any) {
		c := into.(*sge.Config)
		c.PE, c.ScratchResource, c.Accounting = "smp", "scratch", accounting
	})
	s.user = d.owner.User
	d.probe()
	jobs := d.submit(s.tag, 5, everything())
	d.list(time.Now().Add(-time.Hour))
	d.find(s.tag)
	d.account(jobs...)
	d.control(adapters.Release, jobs...)
	s.letters = "Eqw"
	d.control(adapters.Release, jobs...)
	s.letters = "qw"
	d.control(adapters.HoldJobs, jobs[1:3]...)
	d.control(adapters.Cancel, jobs[1], jobs[3])
}
