package main

import (
	"context"
	"encoding/json"
	"os"
	"syscall"
	"time"

	"jjm/internal/gatekeeper"
	"jjm/internal/gatekeeper/globus2"
	"jjm/internal/jjm"
)

// globus2Patience is how long a submission that cannot be stored is retried. Globus 2 ends its scripts after 30 s.
const globus2Patience = 20 * time.Second

// globus2Language carries out a verb of scripts/globus2/globus-script-jjm-VERB. Globus 2's job manager reads only the
// last line of the output. Therefore the last line always is one that it understands, also after an error, and the exit
// code is 0, except for an unknown verb.
func globus2Language(p *process, verb string, args []string) int {
	verbs := map[string]func(globus2.Grami) (string, error){
		"submit": p.globus2Submit, "poll": p.globus2Poll, "rm": p.globus2Remove, "signal": p.globus2Signal,
	}
	do := verbs[verb]
	if do == nil {
		p.say("globus2: unknown verb %.40q: want submit, poll, rm or signal", verb)
		return exitUsage
	}
	grami, err := readGlobusGrami(args)
	answer := globus2.Error(globus2.Failed)
	if err == nil {
		answer, err = do(grami)
	}
	if err != nil {
		p.say("globus2 %s: %v", verb, err)
	}
	_, _ = p.out.WriteString(answer)
	return exitOK
}

// readGlobusGrami reads the file of arguments with which Globus 2 describes a job.
func readGlobusGrami(args []string) (globus2.Grami, error) {
	if len(args) != 1 {
		return nil, jjm.Errorf(jjm.Invalid, "want the path of one file of arguments")
	}
	f, err := os.OpenFile(args[0], os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, jjm.Errorf(jjm.Invalid, "file of arguments: %w", err)
	}
	defer f.Close()
	return globus2.Parse(f)
}

// globus2Submit submits a job, creates the files for its standard output and error, and returns the line with its id.
func (p *process) globus2Submit(g globus2.Grami) (string, error) {
	asked, err := g.Job()
	if err != nil {
		return globus2.Error(globus2.Invalid), err
	}
	var job gatekeeper.Job
	if asked.JobFile != "" {
		job, err = p.readJob(asked.JobFile)
	} else {
		job.BaseDir = asked.Plain.Folder
		job.Name, job.Text, err = asked.Plain.File()
	}
	if err != nil {
		return globus2.Error(globus2.Invalid), err
	}
	if err := addCredentials(&job, proxyFile(asked.Proxy)); err != nil {
		return globus2.Error(globus2.OpenProxy), err
	}
	memo, err := json.Marshal(asked.Wants)
	if err != nil {
		return globus2.Error(globus2.Failed), err
	}
	host, _ := os.Hostname() // only information for people
	job.Key, job.Origin = asked.Key, &jjm.Origin{Gatekeeper: "globus2 " + host, Job: g["uniq_id"], Memo: string(memo)}
	client := p.client()
	mover := gatekeeper.Deliverer{Client: client}
	if err := mover.CreateEmpty(asked.Streamed); err != nil {
		return globus2.Error(globus2.Failed), err
	}
	r, err := gatekeeper.Persist(context.Background(), globus2Patience, job, client.Submit)
	if err != nil {
		return globus2.Error(globus2.ErrorOf(err)), err
	}
	p.noteCredentials(r.Handle, proxyFile(asked.Proxy))
	return globus2.Submitted(r.Handle), nil
}

// globus2Poll returns the line with the state of the job. It reports that a job is over only after standard output and
// error are in the files from which Globus streams them. If the state is temporarily unknown, it returns pending, which
// does not change Globus's state of the job.
func (p *process) globus2Poll(g globus2.Grami) (string, error) {
	client := p.client()
	l := client.Lookup(context.Background(), g["job_id"])[0]
	err := l.Error.Err()
	switch jjm.KindOf(err) {
	case jjm.Gone, jjm.Denied, jjm.Invalid:
		return globus2.Error(globus2.ErrorOf(err)), err
	}
	switch {
	case err != nil:
		return globus2.State(jjm.GRAMPending), err
	case !gatekeeper.Final(l):
		p.renew(client, jjm.Handle(g["job_id"]))
		return globus2.State(l.GRAM), nil
	}
	if err := p.bringBack(client, l); err != nil {
		if jjm.KindOf(err) == jjm.Busy {
			return globus2.State(jjm.GRAMActive), err
		}
		return globus2.Error(globus2.Failed), err
	}
	p.removeNotes(jjm.Handle(g["job_id"]))
	if l.GRAM == jjm.GRAMFailed {
		return globus2.Error(globus2.Failed), jjm.Errorf(jjm.Conflict, "%s", l.Message)
	}
	return globus2.State(l.GRAM), nil
}

// globus2Remove stores the request to kill the job, and returns the line with its present state. An unknown job is
// reported as done. A later poll reports the end when all files are collected.
func (p *process) globus2Remove(g globus2.Grami) (string, error) {
	client := p.client()
	err := client.Kill(context.Background(), g["job_id"])[0].Error.Err()
	if err != nil && jjm.KindOf(err) != jjm.Gone {
		return globus2.Error(globus2.CancelFailed), err
	}
	l := client.Lookup(context.Background(), g["job_id"])[0]
	switch {
	case l.Error != nil && l.Error.Kind == jjm.Gone:
		return globus2.State(jjm.GRAMDone), nil
	case l.Error != nil:
		return globus2.State(jjm.GRAMActive), nil
	case gatekeeper.Final(l):
		return globus2.State(jjm.GRAMDone), nil
	}
	return globus2.State(l.GRAM), nil
}

// globus2Signal refuses every signal, because jjm does not suspend single jobs for gatekeepers.
func (p *process) globus2Signal(globus2.Grami) (string, error) {
	return globus2.Error(globus2.NoSignal), jjm.Errorf(jjm.Invalid, "jjm takes no signals for jobs")
}
