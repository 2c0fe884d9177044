package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/gatekeeper"
	"jjm/internal/gatekeeper/gram"
	"jjm/internal/jjm"
)

// This file carries out the requests of Globus GRAM5. Globus's job manager calls the Perl module scripts/gram/jjm.pm
// for a job, and the module runs "jjm-gatekeeper gram VERB" with the description of the job, in RSL (Resource
// Specification Language), on standard input.

// The errors of the GRAM protocol that jjm reports (globus_gram_protocol_error_t).
const (
	gramDenied       = 7   // GLOBUS_GRAM_PROTOCOL_ERROR_AUTHORIZATION
	gramFailed       = 17  // ..._JOB_EXECUTION_FAILED
	gramNoResources  = 3   // ..._NO_RESOURCES
	gramProxy        = 30  // ..._OPENING_USER_PROXY
	gramCancelFailed = 31  // ..._JOB_CANCEL_FAILED
	gramStdout       = 73  // ..._OPENING_STDOUT
	gramStageOut     = 155 // ..._STAGE_OUT_FAILED
)

// gramPatience is how long a submission that cannot be stored is retried. A job manager does not repeat a submission
// itself. jjm.pm waits 25 s for this program.
const gramPatience = 18 * time.Second

// gramAnswer is the answer to scripts/gram/jjm.pm, which reads the lines JOB_ID, JOB_STATE, ERROR, MESSAGE and CANCEL.
// Lines without a value are left out. An answer without lines means that nothing new is known.
type gramAnswer struct {
	id      string
	state   jjm.GRAM
	code    int
	message string
	cancel  bool
}

// gramFailure returns the answer with a GRAM error code and a message.
func gramFailure(code int, format string, args ...any) gramAnswer {
	return gramAnswer{code: code, message: fmt.Sprintf(format, args...)}
}

// gramLanguage carries out a verb of GRAM5, and returns the exit code. It reads the description of the job from
// standard input.
func gramLanguage(p *process, verb string, _ []string) int {
	verbs := map[string]func(gramTask) (gramAnswer, error){
		"submit": p.gramSubmit, "poll": p.gramPoll, "cancel": p.gramCancel, "deliver": p.gramDeliver,
	}
	do := verbs[verb]
	if do == nil {
		p.say("gram: unknown verb %.40q: want submit, poll or cancel", verb)
		return exitUsage
	}
	job, err := p.gramJob()
	var a gramAnswer
	switch {
	case err != nil && verb == "submit":
		a = gramFailure(gramFailed, "%v", err)
	case err == nil:
		a, err = do(job)
	}
	if err != nil {
		p.say("gram %s: %v", verb, err)
	}
	p.gramLines(a)
	return codeOf(err)
}

// gramLines prints an answer. The message is printed in ASCII, because Globus clients get it.
func (p *process) gramLines(a gramAnswer) {
	p.line("JOB_ID", a.id)
	p.line("JOB_STATE", number(int64(a.state)))
	p.line("ERROR", number(int64(a.code)))
	p.line("MESSAGE", asciiText(a.message))
	if a.cancel {
		p.line("CANCEL", "accepted")
	}
}

// asciiText returns a text in ASCII: an ellipsis becomes three dots, and other characters are escaped as in Go strings.
func asciiText(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '…':
			b.WriteString("...")
		case r >= ' ' && r <= '~':
			b.WriteRune(r)
		default:
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return b.String()
}

// gramTask is the job of a request, and the RSL that describes it.
type gramTask struct {
	gram.Job
	rsl string
}

// gramJob reads and parses the description of the job from standard input. The error is of kind Busy if it cannot be
// read.
func (p *process) gramJob() (gramTask, error) {
	text, err := io.ReadAll(io.LimitReader(p.in, jjm.MaxJobFile+1))
	if err != nil {
		return gramTask{}, jjm.Errorf(jjm.Busy, "read the description: %w", err)
	}
	d, err := gram.ParseRSL(string(text))
	if err != nil {
		return gramTask{}, err
	}
	job, err := gram.Read(d)
	return gramTask{Job: job, rsl: string(text)}, err
}

// gramSubmit submits the job, and creates the files for its standard output and error.
func (p *process) gramSubmit(job gramTask) (gramAnswer, error) {
	// GRAM streams both files while the job runs. If a file is missing, GRAM fails the job.
	for _, name := range []string{job.Stdout, job.Stderr} {
		if err := createIfMissing(name); err != nil {
			return gramFailure(gramStdout, "%v", err), err
		}
	}
	asked, err := job.Demand.Job(readFile)
	if err != nil {
		return gramFailure(gramFailed, "%v", err), err
	}
	asked.Key, asked.Origin = "gram-"+job.Key, gramOrigin(job)
	if err := addCredentials(&asked, proxyFile(job.Proxy)); err != nil {
		return gramFailure(gramProxy, "%v", err), err
	}
	r, err := gatekeeper.Persist(context.Background(), gramPatience, asked, p.client().Submit)
	if err != nil {
		return gramRefusal(err), err
	}
	return gramAnswer{id: string(r.Handle), state: jjm.GRAMUnsubmitted}, nil
}

// createIfMissing creates an empty file, unless the file exists or name is "".
func createIfMissing(name string) error {
	if name == "" {
		return nil
	}
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NONBLOCK, 0o600) // a pipe must not block
	if err != nil {
		return err
	}
	return f.Close()
}

// readFile reads a regular file that may be as long as a job file. It never waits for the other end of a pipe.
func readFile(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", name)
	}
	return readJobFile(f)
}

// readJobFile reads an open file. It returns an error if the file is longer than jjm.MaxJobFile.
func readJobFile(f *os.File) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(f, jjm.MaxJobFile+1))
	if err != nil {
		return text, err
	}
	if len(text) > jjm.MaxJobFile {
		return text, fmt.Errorf("%s is longer than %d bytes", f.Name(), jjm.MaxJobFile)
	}
	return text, nil
}

// gramOrigin returns the origin of the job: the gatekeeper with its host, and GRAM's id of the job. The daemon finds
// the user's subject in the proxy.
func gramOrigin(job gramTask) *jjm.Origin {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return &jjm.Origin{Gatekeeper: "gram5 " + host, Job: job.Contact}
}

// gramRefusal returns the answer for a refused submission: the GRAM error code that fits the kind of the error, and its
// text.
func gramRefusal(err error) gramAnswer {
	switch jjm.KindOf(err) {
	case jjm.Denied:
		return gramFailure(gramDenied, "%v", err)
	case jjm.Busy, jjm.Ambiguous:
		return gramFailure(gramNoResources, "%v: submit it again", err)
	}
	return gramFailure(gramFailed, "%v", err)
}

// gramCancel stores the request to kill the job. It also marks the job as cancelled, so that a later poll does not
// report the job as active when its files cannot be delivered. An unknown job counts as cancelled.
func (p *process) gramCancel(job gramTask) (gramAnswer, error) {
	if err := gramMark(job.Job, cancelled); err != nil {
		p.say("gram cancel: %v", err)
	}
	err := p.client().Kill(context.Background(), job.ID)[0].Error.Err()
	switch {
	case jjm.KindOf(err) == jjm.Gone, err == nil:
		return gramAnswer{cancel: true}, nil
	default:
		return gramFailure(gramCancelFailed, "%v", err), err
	}
}

// gramPoll returns the state of the job. If the job is over, it delivers the files first (see gramEnd). If the state is
// temporarily unknown, the answer is empty.
func (p *process) gramPoll(job gramTask) (gramAnswer, error) {
	l := p.client().Lookup(context.Background(), job.ID)[0]
	err := l.Error.Err()
	switch {
	case jjm.KindOf(err) == jjm.Gone:
		return gramAnswer{state: jjm.GRAMFailed, code: gramFailed, message: err.Error()}, nil
	case err != nil:
		return gramAnswer{}, err // the state is temporarily unknown
	case !gatekeeper.Final(l):
		p.gramRenew(job.Job)
		return gramAnswer{state: l.GRAM}, nil
	}
	return p.gramEnd(job, l)
}

// gramRenew sends the proxy of the job to jjm if its file has changed since jjm got it. When the user renews a proxy,
// the job manager writes the new proxy to the file of each job of the user.
func (p *process) gramRenew(job gram.Job) {
	if job.Proxy == "" || job.Folder == "" {
		return
	}
	mark := filepath.Join(job.Folder, proxyMark)
	seen, _ := os.ReadFile(mark) // a missing file means that no renewal was noted yet
	stamp, err := p.client().Refresh(context.Background(), job.ID, jjm.ProxyKind, job.Proxy, nil, gatekeeper.Stamp(seen))
	if err != nil {
		p.say("gram: %v", err)
		return
	}
	if string(stamp) == string(seen) {
		return
	}
	if err := os.WriteFile(mark, []byte(stamp), 0o600); err != nil {
		p.say("gram: %v", err)
	}
}

// gramFinal returns the answer for a job that is over and whose files are delivered: done, or failed with the GRAM
// error code, the message and the exit code.
func gramFinal(l wire.Lookup) gramAnswer {
	if l.GRAM != jjm.GRAMFailed {
		return gramAnswer{state: jjm.GRAMDone}
	}
	code := l.Code
	if code == 0 {
		code = gramFailed
	}
	return gramAnswer{state: jjm.GRAMFailed, code: code, message: joined(l.Message, "exit code "+strconv.Itoa(l.Exit))}
}

// summary returns the text that is delivered as the standard output of a grid job that is not a plain job: the id, the
// status and the message of the grid job.
func summary(l wire.Lookup) string {
	return fmt.Sprintf("grid job %v: %s\n", l.ID, oneLine(joined(l.Status, l.Message)))
}

// joined joins two texts by a colon. If one of them is empty, it returns the other text.
func joined(text, more string) string {
	switch {
	case text == "":
		return more
	case more == "":
		return text
	}
	return text + ": " + more
}

// permanent reports whether an error of a delivery will occur again at every repetition. If the daemon did not answer,
// it returns false.
func permanent(err error) bool {
	switch jjm.KindOf(err) {
	case jjm.Gone, jjm.Denied:
		return true
	case jjm.Busy, jjm.Ambiguous:
		return false
	}
	return !gatekeeper.IsUnreachable(err) && (errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission))
}
