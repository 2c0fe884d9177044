package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/gatekeeper"
	"jjm/internal/jjm"
)

// core carries out a verb of scripts/jjm-submit, jjm-lookup and jjm-kill, and returns the exit code. It prints only
// lines KEY=value; docs/GATEKEEPERS.md lists the keys.
func core(p *process, verb string, args []string) int {
	var err error
	switch verb {
	case "submit":
		err = p.coreSubmit(args)
	case "lookup":
		err = p.coreLookup(args)
	case "kill":
		err = p.coreKill(args)
	default:
		err = jjm.Errorf(jjm.Invalid, "core: unknown verb %.40q: want submit, lookup or kill", verb)
	}
	if err != nil {
		p.say("%s: %v", verb, err)
	}
	return codeOf(err)
}

// submission is the command line of the verb submit. Its flags set the fields.
type submission struct {
	key      string
	anew     bool
	patience time.Duration
	proxy    string // proxy and token are paths of files
	token    string
	origin   jjm.Origin
}

func (s *submission) flags() *flag.FlagSet {
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&s.key, "key", "", "")
	fs.BoolVar(&s.anew, "anew-after-cancel", false, "")
	fs.DurationVar(&s.patience, "patience", 0, "")
	fs.StringVar(&s.origin.Gatekeeper, "gatekeeper", "", "")
	fs.StringVar(&s.origin.Job, "gatekeeper-job", "", "")
	fs.StringVar(&s.proxy, "proxy", "", "")
	fs.StringVar(&s.token, "token", "", "")
	fs.StringVar(&s.origin.Subject, "subject", "", "")
	fs.StringVar(&s.origin.Issuer, "issuer", "", "")
	fs.StringVar(&s.origin.VO, "vo", "", "")
	fs.StringVar(&s.origin.SubmitHost, "submit-host", "", "")
	return fs
}

func (p *process) coreSubmit(args []string) error {
	var s submission
	fs := s.flags()
	if err := fs.Parse(args); err != nil {
		return jjm.Errorf(jjm.Invalid, "%w", err)
	}
	if fs.NArg() != 1 {
		return jjm.Errorf(jjm.Invalid, "want one job file, or - for standard input")
	}
	job, err := p.readJob(fs.Arg(0))
	if err != nil {
		return err
	}
	job.Key, job.Anew = s.key, s.anew
	files := proxyFile(s.proxy)
	if s.token != "" {
		files = append(files, credentialFile{Kind: jjm.TokenKind, File: s.token})
	}
	if err := addCredentials(&job, files); err != nil {
		return err
	}
	if len(s.origin.Fields()) > 0 {
		job.Origin = &s.origin
	}
	client := p.client()
	submit := client.Submit
	if s.patience > 0 {
		submit = func(ctx context.Context, job gatekeeper.Job) (gatekeeper.Receipt, error) {
			return gatekeeper.Persist(ctx, s.patience, job, client.Submit)
		}
	}
	r, err := submit(context.Background(), job)
	if err != nil {
		return err
	}
	p.line("HANDLE", string(r.Handle))
	p.line("ID", number(int64(r.ID)))
	p.line("EXISTED", flag01(r.Existed))
	p.line("SPOOLED", flag01(r.Spooled))
	return nil
}

// readJob reads a job file, or standard input if path is "-". The error is of kind Invalid if it cannot be read or is
// too long.
func (p *process) readJob(path string) (gatekeeper.Job, error) {
	var f = p.in
	job := gatekeeper.Job{Name: "stdin"}
	base := "."
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return job, jjm.Errorf(jjm.Invalid, "job file: %w", err)
		}
		defer file.Close()
		f, job.Name, base = file, filepath.Base(path), filepath.Dir(path)
	}
	text, err := io.ReadAll(io.LimitReader(f, jjm.MaxJobFile+1))
	switch {
	case err != nil:
		return job, jjm.Errorf(jjm.Invalid, "job file: %w", err)
	case len(text) > jjm.MaxJobFile:
		return job, jjm.Errorf(jjm.Invalid, "job file: longer than %d bytes", jjm.MaxJobFile)
	}
	job.Text = string(text)
	job.BaseDir, err = filepath.Abs(base)
	return job, err
}

func (p *process) coreLookup(args []string) error {
	if err := checkRefs(args, true); err != nil {
		return err
	}
	var first error
	for i, l := range p.client().Lookup(context.Background(), args...) {
		p.line("REF", args[i])
		p.answer(l)
		if l.Error != nil && first == nil {
			first = l.Error.Err()
		}
	}
	return first
}

// answer prints the status of one grid job. If the lookup has an error, it prints only ERROR and MESSAGE, so that no
// reader mistakes an error for a state.
func (p *process) answer(l wire.Lookup) {
	if l.Error != nil {
		p.line("ERROR", l.Error.Kind.String())
		p.line("MESSAGE", l.Error.Text)
		return
	}
	p.line("HANDLE", string(l.Handle))
	p.line("ID", number(int64(l.ID)))
	p.line("STATUS", l.Status)
	p.line("GRAM", strconv.Itoa(int(l.GRAM)))
	p.line("CODE", strconv.Itoa(l.Code))
	p.line("FINAL", flag01(gatekeeper.Final(l)))
	p.line("EXIT", strconv.Itoa(l.Exit))
	p.line("STALE", flag01(l.Stale))
	p.line("JOBS", strconv.Itoa(l.Counts.Total))
	p.line("COMPLETED", strconv.Itoa(l.Counts.Completed))
	p.line("TAR", l.Tar)
	if u := l.Usage; u != nil {
		p.line("BATCH", u.Batch)
		p.line("HOST", u.Host)
		p.line("WALL_MS", strconv.FormatInt(u.WallMS, 10))
		p.line("USER_MS", strconv.FormatInt(u.UserMS, 10))
		p.line("SYS_MS", strconv.FormatInt(u.SysMS, 10))
		p.line("MAX_RSS_KB", strconv.FormatInt(u.MaxRSSKB, 10))
		p.line("PROCESSORS", strconv.Itoa(u.Processors))
		p.line("STARTED", u.Started.String())
		p.line("ENDED", u.Ended.String())
	}
	p.line("MESSAGE", l.Message)
}

func (p *process) coreKill(args []string) error {
	if err := checkRefs(args, false); err != nil {
		return err
	}
	var first error
	for _, k := range p.client().Kill(context.Background(), args...) {
		p.line("REF", k.Ref)
		switch {
		case k.Error != nil:
			p.line("ERROR", k.Error.Kind.String())
			p.line("MESSAGE", k.Error.Text)
			if first == nil {
				first = k.Error.Err()
			}
		case k.NoChange:
			p.line("KILL", "no-change")
		default:
			p.line("KILL", "accepted")
		}
	}
	return first
}

// checkRefs returns an error of kind Invalid if there are no references, or if a reference is neither an id nor a
// handle. If grid is set, it also refuses references to local jobs.
func checkRefs(refs []string, grid bool) error {
	if len(refs) == 0 {
		return jjm.Errorf(jjm.Invalid, "want at least one id or handle")
	}
	var errs []error
	for _, s := range refs {
		text := s
		if _, rest, ok := jjm.CutHandle(s); ok {
			text = "1" + rest
		}
		ref, err := jjm.ParseRef(text)
		switch {
		case err != nil:
			errs = append(errs, jjm.Errorf(jjm.Invalid, "%.80q: want the id or the handle of a grid job", s))
		case grid && ref.Locals:
			errs = append(errs, jjm.Errorf(jjm.Invalid, "%.80q: want a grid job, not some of its local jobs", s))
		}
	}
	return errors.Join(errs...)
}

// line prints KEY=value, or nothing if value is empty.
func (p *process) line(key, value string) {
	if value != "" {
		_, _ = p.out.WriteString(key + "=" + oneLine(value) + "\n")
	}
}

func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func flag01(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
