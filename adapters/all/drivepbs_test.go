package all

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"jjm/adapters"
	"jjm/adapters/pbs"
	"jjm/internal/sys/run"
)

// smallPBS imitates the answers of OpenPBS or Torque that the adapter needs.
type smallPBS struct {
	torque, noHistory, tooMuch bool

	user string
	jobs []smallJob
}

type smallJob struct {
	seq, n   int
	tag      string
	state    string
	released bool
}

func (j smallJob) id() string {
	if j.n > 1 {
		return strconv.Itoa(j.seq) + "[]"
	}
	return strconv.Itoa(j.seq)
}

// answer returns the output of a command; the notebook calls it.
func (p *smallPBS) answer(argv []string) run.Output {
	switch argv[0] {
	case "qsub":
		j := smallJob{seq: len(p.jobs) + 101, n: 1, tag: after(argv, "-N"), state: "H"}
		_, last, array := strings.Cut(after(argv, "-J")+after(argv, "-t"), "-")
		if array {
			j.n, _ = strconv.Atoi(last)
			j.n++
		}
		p.jobs = append(p.jobs, j)
		return printed("%s.h\n", j.id())
	case "qstat":
		return p.qstat(argv)
	case "qselect":
		var text strings.Builder
		for _, j := range p.jobs {
			if over := has(argv, "-x"); over == (j.state == "F") && (after(argv, "-N") == "" || after(argv, "-N") == j.tag) {
				fmt.Fprintf(&text, "%s.h\n", j.id())
			}
		}
		return printed("%s", text.String())
	case "pbsnodes":
		return printed("n1\n     state = free\n     resources_available.ncpus = 64\n     np = 64\n" +
			"     resources_available.mem = 64gb\n     status = physmem=67108864kb\n\n")
	}
	return printed("")
}

func (p *smallPBS) qstat(argv []string) run.Output {
	switch {
	case has(argv, "--version") && p.torque:
		return printed("Version: 6.1.2\n")
	case has(argv, "--version"):
		return printed("pbs_version = 23.06.06\n")
	case has(argv, "-B"):
		return printed("Server: h\n    job_history_enable = %v\n    keep_completed = 100\n    total_jobs = 0\n", !p.noHistory)
	case has(argv, "-Q"):
		return printed("Queue: q\n    enabled = True\n")
	case p.torque:
		return printed("%s", p.xml(has(argv, "-t")))
	}
	var ids []string
	for _, w := range argv[1:] {
		if w[0] >= '0' && w[0] <= '9' {
			seq, _, _ := strings.Cut(w, "[")
			ids = append(ids, seq)
		}
	}
	if p.tooMuch && ids == nil {
		return run.Output{Signal: 9, Exit: 137}
	}
	if p.noHistory && has(argv, "-x") {
		return run.Output{Stderr: []byte("qstat: server h not configured to maintain job history\n")}
	}
	out := printed("%s", p.json(ids, has(argv, "-x"), has(argv, "-t")))
	for _, id := range ids {
		if !slices.ContainsFunc(p.jobs, func(j smallJob) bool { return strconv.Itoa(j.seq) == id }) {
			out.Stderr, out.Exit = fmt.Appendf(out.Stderr, "qstat: Unknown Job Id %s.h\n", id), 153
		}
	}
	return out
}

// each calls f with each job that a listing shows.
func (p *smallPBS) each(ids []string, past, members bool, f func(id string, index int, j smallJob)) {
	for _, j := range p.jobs {
		if ids != nil && !slices.Contains(ids, strconv.Itoa(j.seq)) || !past && j.state == "F" {
			continue
		}
		f(j.id(), -1, j)
		for i := 0; i < j.n && members && j.n > 1; i++ {
			f(fmt.Sprintf("%d[%d]", j.seq, i), i, j)
		}
	}
}

func (p *smallPBS) json(ids []string, past, members bool) string {
	var jobs []string
	p.each(ids, past, members, func(id string, index int, j smallJob) {
		lines := []string{`"Job_Name":"` + j.tag + `"`, `"Job_Owner":"` + p.user + `@h"`, `"job_state":"` + j.state + `"`,
			`"Rerunable":"False"`, `"ctime":"` + time.Now().UTC().Format(time.ANSIC) + `"`}
		if !j.released {
			lines = append(lines, `"Hold_Types":"u"`)
		}
		if j.state == "F" {
			lines = append(lines, `"substate":92`, `"Exit_status":0`, `"exec_host":"n1/0"`, `"run_count":1`)
		}
		switch {
		case index >= 0:
			lines = append(lines, fmt.Sprintf(`"array_id":"%d[].h"`, j.seq), fmt.Sprintf(`"array_index":%d`, index))
		case j.n > 1:
			lines = append(lines, `"array":"True"`, fmt.Sprintf(`"array_indices_submitted":"0-%d"`, j.n-1))
		}
		jobs = append(jobs, `"`+id+".h\":{\n"+strings.Join(lines, ",\n")+"\n}")
	})
	return "{\n\"timestamp\":1,\n\"pbs_version\":\"23.06.06\",\n\"pbs_server\":\"h\",\n\"Jobs\":{\n" + strings.Join(jobs, ",\n") +
		"\n}\n}\n"
}

func (p *smallPBS) xml(members bool) string {
	if len(p.jobs) == 0 {
		return ""
	}
	text := "<Data>"
	p.each(nil, true, members, func(id string, index int, j smallJob) {
		if members && j.n > 1 && index < 0 {
			return
		}
		text += "<Job><Job_Id>" + id + ".h</Job_Id><Job_Name>" + j.tag + "</Job_Name><Job_Owner>" + p.user +
			"@h</Job_Owner><job_state>" + j.state + "</job_state><ctime>1795282563</ctime><Hold_Types>u</Hold_Types>"
		if index < 0 && j.n > 1 {
			text += fmt.Sprintf("<job_array_request>0-%d</job_array_request>", j.n-1)
		}
		text += "</Job>"
	})
	return text + "</Data>\n"
}

// openPBS returns a driver of a new PBS adapter whose commands are answered by p.
func openPBS(t *testing.T, n *notebook, p *smallPBS) *driver {
	d := n.open(t, "pbs", adapters.Env{Now: n.now}, func(into any) {
		c := into.(*pbs.Config)
		c.Scratch, c.QOSResource = "scratch", "qos"
	})
	p.user = d.owner.User
	n.answer = p.answer
	return d
}

func drivePBS(t *testing.T, n *notebook) {
	drivePBSLife(t, n)
	drivePBSByID(t, n)
	drivePBSTorque(t, n)
}

// drivePBSLife runs a plain job and an array from submission to end, without any fault.
func drivePBSLife(t *testing.T, n *notebook) {
	p := &smallPBS{}
	d := openPBS(t, n, p)
	d.probe()
	all := everything()
	all.QOS = "high"
	one, many := d.submit(tagOf(t, "one"), 1, all), d.submit(tagOf(t, "many"), 5, all)
	d.list(time.Now().Add(-time.Hour))
	both := append(slices.Clone(one), many...)
	d.control(adapters.Release, both...)
	d.control(adapters.Release, many[0]) // the adapter first lists the members of the array
	d.control(adapters.Cancel, both...)
	d.control(adapters.Cancel, one[0], many[1], many[3])
	gone := adapters.Ref{Tag: tagOf(t, "gone"), ID: "999", Index: 0}
	d.control(adapters.Release, gone) // the adapter looks up this job by id
	for i := range p.jobs {
		p.jobs[i].state, p.jobs[i].released = "Q", true
	}
	d.control(adapters.HoldJobs, both...)
	for i := range p.jobs {
		p.jobs[i].state = "F"
	}
	d.list(time.Now().Add(-time.Hour))
	d.list(time.Now().Add(-time.Hour))
	d.account(both...)
	var dozen []adapters.Ref // more bulks than the adapter looks up by id
	for i := range 12 {
		tag := tagOf(t, fmt.Sprintf("o%c", 'a'+i))
		p.jobs = append(p.jobs, smallJob{seq: 200 + i, n: 1, tag: string(tag), state: "F"})
		dozen = append(dozen, adapters.Ref{Tag: tag, ID: strconv.Itoa(200 + i)})
	}
	d = openPBS(t, n, p) // a new adapter, as after a restart of the daemon
	d.find(tagOf(t, "xb"))
	d.find(tagOf(t, "xb"), tagOf(t, "xc"), tagOf(t, "xd"))
	d.account(dozen...)
	d.list(time.Now().Add(-time.Hour))
}

// drivePBSByID makes the adapter run the commands that it uses if a listing of all jobs is too large, and if the server
// keeps no history.
func drivePBSByID(t *testing.T, n *notebook) {
	for _, noHistory := range []bool{false, true} {
		p := &smallPBS{noHistory: noHistory}
		d := openPBS(t, n, p)
		d.probe()
		jobs := d.submit(tagOf(t, "many"), 5, everything())
		p.tooMuch = true
		for range 3 { // the first listing is too large, which changes the later listings
			_, _ = d.a.List(d.ctx, d.owner, time.Now().Add(-time.Hour))
		}
		_, _ = d.a.Control(d.ctx, d.owner, adapters.Release, jobs)
		_, _ = d.a.Control(d.ctx, d.owner, adapters.Cancel, jobs[1:2])
		d.account(jobs...)
	}
}

func drivePBSTorque(t *testing.T, n *notebook) {
	p := &smallPBS{torque: true}
	d := openPBS(t, n, p)
	d.list(time.Now())
	d.probe()
	r := everything()
	r.Project = ""
	one, many := d.submit(tagOf(t, "one"), 1, r), d.submit(tagOf(t, "many"), 5, r)
	both := append(slices.Clone(one), many...)
	d.list(time.Now())
	d.find(tagOf(t, "many"))
	d.control(adapters.Release, both...)
	d.control(adapters.Release, many[0])
	d.control(adapters.Cancel, both...)
	d.control(adapters.Cancel, many[1], many[3])
	for i := range p.jobs {
		p.jobs[i].state = "Q"
	}
	d.control(adapters.HoldJobs, both...)
	d.control(adapters.HoldJobs, many[1], many[3])
}
