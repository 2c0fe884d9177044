package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/formats/shellwords"
	"jjm/internal/gatekeeper"
	"jjm/internal/gatekeeper/blahp"
	"jjm/internal/jjm"
)

// This file carries out the requests of HTCondor's blahpd, which runs the scripts scripts/blahp/jjm_VERB.sh for grid
// universe jobs.

const (
	// blahpPatience is how long a submission or a cancel that cannot be stored is retried. blahpd ends its scripts after
	// 30 s (blah_child_poll_timeout), holds the job at the first failure of a submission, and tries a cancel only once.
	blahpPatience = 20 * time.Second
)

// blahpLanguage carries out a verb of scripts/blahp/jjm_VERB.sh, and returns the exit code. Errors of single jobs are
// in the lines about these jobs.
func blahpLanguage(p *process, verb string, args []string) int {
	p.getenv = blahConfig(p.getenv)
	switch verb {
	case "submit":
		if err := p.blahpSubmit(args); err != nil {
			p.say("%v", err)
			return 1
		}
	case "status":
		p.blahpStatus(args)
	case "cancel":
		p.blahpControl(args, p.blahpCancel)
	case "hold", "resume":
		return p.blahpNoHold(verb)
	case "ping":
		return p.blahpPing()
	case "deliver": // not a verb of blahpd: inBackground calls it
		return p.deliver(args)
	default:
		p.say("blahp: unknown verb %.40q", verb)
		return exitUsage
	}
	return exitOK
}

// blahpSubmit submits a job that options describe, and prints the line with its id. It also creates the files for
// standard output and error.
func (p *process) blahpSubmit(args []string) error {
	folder, err := os.Getwd()
	if err != nil {
		folder = ""
	}
	o, err := blahp.ParseOptions(args, folder)
	if err != nil {
		return err
	}
	lists, err := readLists(o)
	if err != nil {
		return err
	}
	if o.Requirements != "" {
		defer os.Remove(o.Requirements) // blahpd expects the script to remove the file
	}
	asked, err := blahp.Translate(o, lists)
	if err != nil {
		return err
	}
	asked.Origin.SubmitHost, _ = os.Hostname()
	client := p.client()
	files := blahpCredentials(asked)
	job, err := p.blahpJob(asked)
	if err == nil {
		err = addCredentials(&job, files)
	}
	if err != nil {
		return err
	}
	job.Key, job.Anew, job.Origin = o.Key, true, &asked.Origin
	mover := gatekeeper.Deliverer{Client: client}
	if err := mover.CreateEmpty(standard(asked.Wants)); err != nil {
		return err // the job must fail now, and not when results of many hours of work must be delivered
	}
	r, err := gatekeeper.Persist(context.Background(), blahpPatience, job, client.Submit)
	if err != nil {
		return err
	}
	p.noteCredentials(r.Handle, files)
	_, err = p.out.WriteString(blahp.Submitted(r.Handle, time.Now()))
	return err
}

// blahpCredentials returns the files of a job's credentials. If the file of the token exists, it also calls
// asked.WithToken.
func blahpCredentials(asked *blahp.Job) []credentialFile {
	files := proxyFile(asked.Proxy)
	if asked.Token != "" && exists(asked.Token) {
		asked.WithToken()
		files = append(files, credentialFile{Kind: jjm.TokenKind, File: asked.Token})
	}
	return files
}

// blahpJob returns the job to submit: the content of the job file that the options name or, if they name none, a job
// file for the program that they name.
func (p *process) blahpJob(asked *blahp.Job) (gatekeeper.Job, error) {
	if asked.JobFile != "" {
		return p.readJob(asked.JobFile)
	}
	name, text, err := asked.Plain.File()
	return gatekeeper.Job{Name: name, Text: text, BaseDir: asked.Plain.Folder}, err
}

// standard returns those of the deliveries that are of standard output and standard error.
func standard(wants []gatekeeper.Delivery) []gatekeeper.Delivery {
	var out []gatekeeper.Delivery
	for _, w := range wants {
		if w.Name == "stdout" || w.Name == "stderr" {
			out = append(out, w)
		}
	}
	return out
}

// readLists reads the files that the options name: the lists of inputs, of outputs and of their new names, and the
// requirements.
func readLists(o *blahp.Options) (blahp.Lists, error) {
	var l blahp.Lists
	var requirements []string
	for _, f := range []struct {
		option, path string
		into         *[]string
	}{{"-I", o.Inputs, &l.Inputs}, {"-O", o.Outputs, &l.Outputs}, {"-R", o.Remaps, &l.Remaps},
		{"-C", o.Requirements, &requirements}} {
		if f.path == "" {
			continue
		}
		file, err := os.Open(f.path)
		if errors.Is(err, os.ErrNotExist) && f.option == "-C" {
			continue // an earlier call, which blahpd repeats, has removed the file
		}
		if err != nil {
			return l, jjm.Errorf(jjm.Invalid, "option %s: %w", f.option, err)
		}
		*f.into, err = blahp.Lines(file)
		_ = file.Close()
		if err != nil {
			return l, jjm.Errorf(jjm.Invalid, "option %s: %s: %w", f.option, f.path, err)
		}
	}
	l.Requirements = blahp.Requirements(requirements)
	return l, nil
}

// blahpStatus prints a line with the state of each job in args, in their order.
func (p *process) blahpStatus(args []string) {
	var refs []string
	for _, a := range args {
		if !strings.HasPrefix(a, "-") { // -w and -n request data that are always printed
			refs = append(refs, a)
		}
	}
	handles, known := make([]jjm.Handle, len(refs)), []string{}
	for i, ref := range refs {
		if h, ok := blahp.ParseID(ref); ok {
			handles[i] = h
			known = append(known, string(h))
		}
	}
	client := p.client()
	answers := client.Lookup(context.Background(), known...)
	for i, h := range handles {
		if h == "" {
			_, _ = p.out.WriteString(blahp.ErrorLine(jjm.Errorf(jjm.Invalid, "%.80q is no job of jjm", refs[i])))
			continue
		}
		l := answers[0]
		answers = answers[1:]
		_, _ = p.out.WriteString(p.blahpState(client, h, l))
	}
}

// blahpState returns the line with the state of one job; l is the answer of its lookup. It reports a job as completed
// only after the files of the job were delivered to the places that HTCondor expects. If the state is temporarily
// unknown, it reports the job as idle.
func (p *process) blahpState(client *gatekeeper.Client, h jjm.Handle, l wire.Lookup) string {
	switch kind := jjm.KindOf(l.Error.Err()); {
	case l.Error != nil && (kind == jjm.Gone || kind == jjm.Denied || kind == jjm.Invalid):
		return blahp.ErrorLine(l.Error.Err())
	case l.Error != nil:
		// The state is temporarily unknown. An error would be counted: after five errors HTCondor holds the job.
		p.say("%v", l.Error.Err())
		return blahp.Status(h, blahp.Idle, wire.Lookup{})
	}
	status := blahp.JobStatus(l)
	if status != blahp.Completed {
		p.renew(client, h)
		return blahp.Status(h, status, l)
	}
	err := p.bringBack(client, l)
	switch {
	case err == nil:
		p.removeNotes(h)
		return blahp.Status(h, status, l)
	case jjm.KindOf(err) == jjm.Busy || jjm.KindOf(err) == jjm.Ambiguous || gatekeeper.IsUnreachable(err):
		p.say("%v", err)
		return blahp.Status(h, blahp.Running, wire.Lookup{})
	}
	return blahp.ErrorLine(err)
}

// blahpControl calls do for each job in args, and prints a line with the result for each.
func (p *process) blahpControl(args []string, do func(jjm.Handle) error) {
	for i, a := range args {
		h, ok := blahp.ParseID(a)
		err := jjm.Errorf(jjm.Invalid, "%.80q is no job of jjm", a)
		if ok {
			err = do(h)
		}
		_, _ = p.out.WriteString(blahp.Controlled(i, len(args), err))
	}
}

// blahpNoHold refuses the verbs hold and resume, because jjm would have to report a held job with status 5, and
// HTCondor cancels jobs with this status. The refusal has an exit code, because blahpd counts every answer without an
// exit code as success (HTCondor 23.9), and then appends the unchanged state to the job's id.
func (p *process) blahpNoHold(verb string) int {
	_, _ = p.out.WriteString(blahp.Controlled(0, 1,
		fmt.Errorf("HTCondor cannot %s a job of jjm: use jjm pause and jjm resume on the site", verb)))
	return 1
}

// blahpCancel stores the request to kill a job. It retries for up to blahpPatience, because HTCondor requests a cancel
// only once. An unknown job counts as cancelled.
func (p *process) blahpCancel(h jjm.Handle) error {
	p.removeNotes(h)
	client := p.client()
	var err error
	for end := time.Now().Add(blahpPatience); ; time.Sleep(time.Second) {
		err = client.Kill(context.Background(), string(h))[0].Error.Err()
		switch jjm.KindOf(err) {
		case jjm.Busy, jjm.Ambiguous, jjm.Internal, jjm.Unclassified:
		case jjm.Gone:
			return nil
		default:
			return err
		}
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}

// blahpPing prints whether submissions would be accepted now, and returns the exit code.
func (p *process) blahpPing() int {
	if err := p.client().Ping(context.Background()); err != nil {
		_, _ = fmt.Fprintf(p.out, "1 %s\n", oneLine(err.Error()))
		return 1
	}
	_, _ = p.out.WriteString("0 No error\n")
	return exitOK
}

// blahConfig returns getenv with the settings of the file blah.config, which blahpd's scripts read too. The settings
// jjm_state, jjm_socket, jjm_records and jjm_spool replace the environment variables with the same names in capitals if
// these are not set.
func blahConfig(getenv func(string) string) func(string) string {
	path := getenv("BLAHPD_CONFIG_LOCATION")
	if path == "" {
		path = filepath.Join("/", getenv("GLITE_LOCATION"), "etc/blah.config")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		text, _ = os.ReadFile("/etc/blah.config")
	}
	settings := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if ok && strings.HasPrefix(name, "jjm_") {
			if words, err := shellwords.Split(value); err == nil && len(words) == 1 {
				settings[strings.ToUpper(name)] = words[0]
			}
		}
	}
	return func(name string) string {
		if v := getenv(name); v != "" {
			return v
		}
		return settings[name]
	}
}
