package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/gatekeeper"
	"jjm/internal/gatekeeper/arc"
	"jjm/internal/jjm"
)

// arcPatience is how long a submission that cannot be stored is retried. A-REX fails the job at the first refusal, and
// waits ten minutes for a script.
const arcPatience = 3 * time.Minute

// arcLanguage carries out a verb of A-REX, the gatekeeper of ARC, and returns the exit code. A-REX's scripts for batch
// systems call submit, cancel and scan; scripts/arc/JJMmod.pm calls info. Of the first three, A-REX reads only the exit
// code, and stores standard error with the job.
func arcLanguage(p *process, verb string, args []string) int {
	verbs := map[string]func([]string) error{
		"submit": p.arcSubmit, "cancel": p.arcCancel, "scan": p.arcScan, "info": p.arcInfo}
	do := verbs[verb]
	if do == nil {
		p.say("arc: unknown verb %.40q: want submit, cancel, scan or info", verb)
		return exitUsage
	}
	if len(args) > 1 && args[0] == "--config" {
		args = args[2:]
	}
	if err := do(args); err != nil {
		p.say("arc %s: %v", verb, err)
		return max(codeOf(err), exitNo)
	}
	return exitOK
}

// readGrami reads and parses the grami of a job: the file in which A-REX describes the job.
func readGrami(name string) (arc.Job, error) {
	text, err := readFile(name)
	if err != nil {
		return arc.Job{}, jjm.Errorf(jjm.Invalid, "grami: %w", err)
	}
	return parseGrami(text)
}

func parseGrami(text []byte) (arc.Job, error) {
	g, err := arc.ParseGrami(string(text))
	if err != nil {
		return arc.Job{}, err
	}
	return arc.Read(g)
}

// arcSubmit submits the job of a grami, and appends jjm's id of the job to the grami.
func (p *process) arcSubmit(args []string) error {
	if len(args) != 1 {
		return jjm.Errorf(jjm.Invalid, "want the job's grami")
	}
	job, err := readGrami(args[0])
	if err != nil {
		return err
	}
	asked, err := job.Demand.Job(readFile)
	if err != nil {
		return err
	}
	asked.Key, asked.Origin = "arc-"+job.GridID, arcOrigin(job)
	if exists(job.Proxy) { // a job that was submitted with a token has no proxy
		if err := addCredentials(&asked, proxyFile(job.Proxy)); err != nil {
			return err
		}
	}
	r, err := gatekeeper.Persist(context.Background(), arcPatience, asked, p.client().Submit)
	if err != nil {
		return err
	}
	if job.ID == string(r.Handle) {
		return nil // otherwise A-REX would submit a job again that jjm already has
	}
	return appendTo(args[0], fmt.Sprintf("joboption_jobid=%s\n", r.Handle))
}

// arcOrigin returns the origin of the job: the gatekeeper, and what A-REX's file job.ID.local says about the user and
// the client.
func arcOrigin(job arc.Job) *jjm.Origin {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	o := &jjm.Origin{Gatekeeper: "arc " + host, Job: job.URL}
	text, err := readFile(filepath.Join(job.ControlDir, "job."+job.GridID+".local"))
	if err != nil {
		return o // the origin is only information for people
	}
	for line := range strings.Lines(string(text)) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), "="); name {
		case "subject":
			o.Subject = value
		case "voms":
			o.VO = value
		case "clientname":
			o.SubmitHost = value
		}
	}
	return o
}

// arcCancel stores the request to kill the job of a grami. An unknown job counts as cancelled.
func (p *process) arcCancel(args []string) error {
	if len(args) != 1 {
		return jjm.Errorf(jjm.Invalid, "want the job's grami")
	}
	job, err := readGrami(args[0])
	if err != nil && job.GridID == "" {
		return err
	}
	if job.ID == "" {
		// The submission was interrupted, but jjm may have stored the job.
		job.ID = string(jjm.HandleOf(os.Geteuid(), "arc-"+job.GridID))
	}
	err = p.client().Kill(context.Background(), job.ID)[0].Error.Err()
	if jjm.KindOf(err) == jjm.Gone {
		return nil
	}
	return err
}

// arcInfo prints the states of the jobs ids and the load of the site, as lines job.ID.NAME=VALUE and
// cluster.NAME=VALUE. scripts/arc/JJMmod.pm reads them.
func (p *process) arcInfo(ids []string) error {
	client := p.client()
	for at := 0; at < len(ids); at += arcAtOnce {
		some := ids[at:min(at+arcAtOnce, len(ids))]
		for i, l := range client.Lookup(context.Background(), some...) {
			p.arcJobInfo(some[i], l)
		}
	}
	all, err := client.Clusters(context.Background())
	if err != nil {
		return err
	}
	var slots, running, queued, healthy int
	for _, c := range all {
		slots, running = slots+c.Slots, running+c.Running
		queued += c.Queued + c.Waiting
		if c.Healthy {
			healthy = 1
		}
	}
	for _, f := range []struct {
		name string
		n    int
	}{{"slots", slots}, {"running", running}, {"queued", queued}, {"healthy", healthy}} {
		p.line("cluster."+f.name, strconv.Itoa(f.n))
	}
	return nil
}

// arcAtOnce is the greatest number of jobs in one lookup.
const arcAtOnce = 1000

// arcJobInfo prints the state and the usage of one job. It prints nothing if the state is not known.
func (p *process) arcJobInfo(id string, l wire.Lookup) {
	if l.Error != nil {
		return // the state is not known now
	}
	status := "Q"
	switch {
	case gatekeeper.Final(l):
		status = "EXECUTED"
	case l.GRAM == jjm.GRAMActive:
		status = "R"
	case l.GRAM == jjm.GRAMSuspended:
		status = "S"
	}
	p.line("job."+id+".status", status)
	p.line("job."+id+".comment", "LRMS: jjm "+l.Status)
	if u := l.Usage; u != nil {
		p.line("job."+id+".node", u.Host)
		p.line("job."+id+".walltime", number(u.WallMS/1000))
		p.line("job."+id+".cputime", number((u.UserMS+u.SysMS)/1000))
		p.line("job."+id+".cpus", number(int64(u.Processors)))
		p.line("job."+id+".mem", number(u.MaxRSSKB))
	}
}
