package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/renameio/v2"

	"jjm/internal/api/wire"
	"jjm/internal/gatekeeper"
	"jjm/internal/gatekeeper/arc"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
	"jjm/internal/sys/wary"
)

// This file carries out the verb "arc scan". A-REX, the gatekeeper of ARC, runs the script scan-jjm-job again and again
// to learn which of its jobs have ended. A-REX keeps its files about a job in a control folder: job.ID.status has the
// job's state, job.ID.local its owner and its credentials, and job.ID.grami the description that A-REX made of the job,
// to which jjm adds the id of its grid job. The file job.ID.lrms_done, which jjm writes, reports the end of the job.

const (
	// Files are delivered for at most arcDeliverers jobs at the same time, and for at most arcOfOwner jobs of one owner.
	// Therefore an owner waits for others only if the file systems of sixteen owners hang.
	arcOfOwner    = 2
	arcDeliverers = 32
	// arcScanAgain is the pause between two passes of a scan that still delivers files. It is as long as the pause between
	// A-REX's own scans.
	arcScanAgain = 10 * time.Second
	// gmKick is a program of A-REX. It makes A-REX look at a job immediately.
	gmKick = "/usr/lib/arc/gm-kick"
)

// arcEntry is a job for whose end A-REX waits: the job as its grami describes it, the control folder with its files,
// and its owner.
type arcEntry struct {
	arc.Job
	control     string
	owner       *jjm.Owner
	delegations *delegations // the credentials that A-REX keeps for the jobs of the control folder
}

func (e *arcEntry) file(ending string) string {
	return filepath.Join(e.control, "job."+e.GridID+ending)
}

// open opens the file job.ID with this ending in the control folder. The folder belongs to A-REX, but the user owns
// some files in it, and can mount a file system on these files. Therefore open does not cross a mount.
func (e *arcEntry) open(ending string) (*os.File, error) {
	return wary.Open(e.control, "job."+e.GridID+ending, os.O_RDONLY)
}

func (e *arcEntry) read(ending string) ([]byte, error) {
	f, err := e.open(ending)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readJobFile(f)
}

// ownerOf returns the account that owns the file job.ID with this ending. If root owns it, the error is of kind Denied,
// because the user must own it.
func (e *arcEntry) ownerOf(ending string) (*jjm.Owner, error) {
	f, err := e.open(ending)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Uid == 0 {
		return nil, jjm.Errorf(jjm.Denied, "%s belongs to root: want the user's", f.Name())
	}
	return &jjm.Owner{UID: int(st.Uid), GID: int(st.Gid)}, nil
}

// readGramiOf reads and parses the grami of a job.
func readGramiOf(e *arcEntry) (arc.Job, error) {
	text, err := e.read(".grami")
	if err != nil {
		return arc.Job{}, jjm.Errorf(jjm.Invalid, "grami: %w", err)
	}
	return parseGrami(text)
}

// arcScan reports the ended jobs of the control folders dirs to A-REX, after it delivered their files to their session
// folders. It looks up up to arcAtOnce jobs in one request. If a delivery fails, the next scan tries again, without a
// time limit, as long as A-REX waits for the job. While files are being delivered, arcScan looks for further ended jobs
// at each arcScanAgain, so that a large tar does not delay other jobs. It returns when no files are being delivered.
func (p *process) arcScan(dirs []string) error {
	if len(dirs) == 0 {
		return jjm.Errorf(jjm.Invalid, "want A-REX's control folder")
	}
	s := &scan{p: p, busy: map[string]bool{}, owners: map[int]chan struct{}{}, places: make(chan struct{}, arcDeliverers),
		idle: make(chan struct{}, 1)}
	for {
		if err := s.pass(dirs); err != nil {
			return err
		}
		if !s.rest(arcScanAgain) {
			return nil
		}
	}
}

// scan is the state of one run of arcScan, which handles each job in a goroutine.
type scan struct {
	p      *process
	mu     sync.Mutex
	busy   map[string]bool       // the jobs on which a goroutine works, by A-REX's id
	owners map[int]chan struct{} // for each uid a semaphore with arcOfOwner places
	places chan struct{}
	idle   chan struct{} // signalled when a job leaves busy
}

// rest waits for the pause between two passes, and returns true. As soon as no goroutine works on a job any longer, it
// returns false.
func (s *scan) rest(pause time.Duration) bool {
	t := time.NewTimer(pause)
	defer t.Stop()
	for s.working() {
		select {
		case <-t.C:
			return true
		case <-s.idle:
		}
	}
	return false
}

func (s *scan) working() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.busy) > 0
}

// pass looks up every job for which A-REX waits. For a job that is over or unknown to jjm it starts arcEnd, and for any
// other job arcRenew.
func (s *scan) pass(dirs []string) error {
	var waiting []*arcEntry
	for _, dir := range dirs {
		delegated := &delegations{control: dir}
		names, err := filepath.Glob(filepath.Join(dir, "processing", "job.*.status"))
		if err != nil {
			return err
		}
		for _, name := range names {
			e, err := s.p.arcEntry(dir, name)
			if err != nil {
				s.p.say("arc scan: %v", err)
			}
			if e != nil {
				e.delegations = delegated
				waiting = append(waiting, e)
			}
		}
	}
	client := s.p.client()
	for at := 0; at < len(waiting); at += arcAtOnce {
		some := waiting[at:min(at+arcAtOnce, len(waiting))]
		ids := make([]string, len(some))
		for i, e := range some {
			ids[i] = e.ID
		}
		for i, l := range client.Lookup(context.Background(), ids...) {
			switch {
			case gatekeeper.Final(l) || jjm.KindOf(l.Error.Err()) == jjm.Gone:
				s.start(some[i], func() error { return s.p.arcEnd(some[i], l) })
			case l.Error == nil:
				s.start(some[i], func() error { s.p.arcRenew(client, some[i]); return nil })
			}
		}
	}
	return nil
}

// arcEntry reads a job from the files of the control folder; status is the path of its status file. It returns nil
// without an error if A-REX does not wait for the end of the job, or if the job is not submitted to jjm yet. The error
// is of kind Denied if the grami names the job of another owner.
func (p *process) arcEntry(control, status string) (*arcEntry, error) {
	word, err := os.ReadFile(status)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // A-REX moved the job to its next state
	}
	if err != nil {
		return nil, err
	}
	switch strings.TrimSpace(strings.TrimPrefix(string(word), "PENDING:")) {
	case "INLRMS", "CANCELING":
	default:
		return nil, nil
	}
	id := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(status), "job."), ".status")
	e := &arcEntry{control: control, Job: arc.Job{GridID: id}}
	if _, err := os.Stat(e.file(".lrms_done")); err == nil {
		return nil, nil
	}
	if e.owner, err = e.ownerOf(".local"); err != nil {
		return nil, err
	}
	if e.Job, err = readGramiOf(e); err != nil && e.ID == "" {
		return nil, fmt.Errorf("job %s: %w", id, err)
	}
	if e.GridID = id; e.ID == "" {
		return nil, nil // the submission is not over
	}
	// The user can write the grami, so it must not make root act on the job of another user.
	if own := string(jjm.HandleOf(e.owner.UID, "arc-"+id)); e.ID != own {
		return nil, jjm.Errorf(jjm.Denied, "job %s: its grami says jobid %.40q: want %s, the job of its owner", id, e.ID, own)
	}
	e.Proxy = e.file(".proxy")
	return e, nil
}

// start runs do in a goroutine, as soon as the job's owner and the whole scan have a free place. It does nothing if a
// goroutine already works on the job.
func (s *scan) start(e *arcEntry, do func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[e.GridID] {
		return
	}
	s.busy[e.GridID] = true
	mine := s.owners[e.owner.UID]
	if mine == nil {
		mine = make(chan struct{}, arcOfOwner)
		s.owners[e.owner.UID] = mine
	}
	go func() {
		mine <- struct{}{}
		s.places <- struct{}{}
		if err := do(); err != nil {
			s.p.say("arc scan: job %s: %v", e.GridID, err)
		}
		<-s.places
		<-mine
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.busy, e.GridID)
		select {
		case s.idle <- struct{}{}:
		default:
		}
	}()
}

// arcEnd delivers the files of a job that is over, and then reports its end to A-REX. If the files can never be
// delivered, it reports a failed job; other errors of the delivery are returned, and the job is not reported. A lock on
// the grami prevents two processes from delivering at the same time, because a scan may still run that an earlier
// process of A-REX started.
func (p *process) arcEnd(e *arcEntry, l wire.Lookup) error {
	lock, err := e.open(".grami")
	if err != nil {
		return err
	}
	defer lock.Close()
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return nil
	}
	code, message := arc.Exit(l)
	if l.Error == nil {
		switch err := p.arcBring(e, l); {
		case err == nil:
		case permanent(err):
			code, message = max(code, 1), joined(message, err.Error())
		default:
			return err
		}
	}
	if err := e.asOwner(func() error { return overwrite(e.Directory+".diag", arc.Diag(l, code)) }); err != nil {
		p.say("arc scan: job %s: accounting: %v", e.GridID, err)
	}
	if err := replace(e.file(".lrms_done"), arc.Done(code, oneLine(message))); err != nil {
		return err
	}
	_, err = run.Run(context.Background(),
		run.Cmd{Argv: []string{gmKick, "-j", e.GridID, e.file(".local")}, Env: os.Environ()})
	return err
}

func (e *arcEntry) asOwner(fn func() error) error { return gatekeeper.As(e.owner, fn) }

// arcBring delivers the files of a job to its session folder, and prints a message for each file that does not exist. A
// job that is not a plain job gets a summary as its standard output.
func (p *process) arcBring(e *arcEntry, l wire.Lookup) error {
	d := gatekeeper.Deliverer{Client: p.client(), Owner: e.owner}
	absent, err := d.DeliverEach(context.Background(), l, e.Deliveries())
	if err != nil {
		return err
	}
	for _, a := range absent {
		p.say("arc scan: job %s: %s: %s", e.GridID, a.To, a.Why)
	}
	if !e.Summary() {
		return nil
	}
	return e.asOwner(func() error { return replace(e.Stdout, summary(l)) })
}

// arcRenew sends the job's proxy to jjm if A-REX has received a newer proxy. It notes in the grami, which the user
// owns, the stamp of the proxy that jjm has.
func (p *process) arcRenew(client *gatekeeper.Client, e *arcEntry) {
	p.arcForeign(client, e)
	file, keeper, err := e.proxyNow()
	if err != nil {
		p.say("arc scan: job %s: its newer proxy: %v", e.GridID, err)
	}
	if !exists(file) {
		return
	}
	stamp, err := client.Refresh(context.Background(), e.ID, jjm.ProxyKind, file, keeper, gatekeeper.Stamp(e.ProxyStamp))
	if err != nil {
		p.say("arc scan: job %s: %v", e.GridID, err)
		return
	}
	if string(stamp) == e.ProxyStamp {
		return
	}
	err = e.asOwner(func() error { return appendTo(e.file(".grami"), arc.ProxyStampLine(string(stamp))) })
	if err != nil {
		p.say("arc scan: job %s: note which proxy it has: %v", e.GridID, err)
	}
}

// arcForeign reports the credentials that the job's user names in job.ID.local although A-REX does not keep them for
// this job. It writes a report to A-REX's log and to the history of the grid job, once for each change of these
// credentials.
func (p *process) arcForeign(client *gatekeeper.Client, e *arcEntry) {
	local, err := e.read(".local")
	if err != nil {
		return // the next pass reads the owner of this file and reports the same error
	}
	kept, known := e.delegations.credentialsOf(e.GridID)
	text := arc.Remark(e.GridID, arc.ForeignDelegations(string(local), kept))
	if !known || text == "" {
		return
	}
	news, err := client.Remark(context.Background(), e.ID, text)
	if err != nil {
		p.say("arc scan: job %s: tell of it: %v", e.GridID, err)
	}
	if news || err != nil {
		p.say("arc scan: %s", text)
	}
}

// proxyNow returns the file with the newest proxy of the job, and the account that owns the file. If a client delegates
// a proxy again, A-REX writes the new proxy into its own store (arcrenew, ARC 6.17); keeper is then nil, because A-REX
// owns the file. A job without a credential in the store has the proxy with which it was submitted, and the user owns
// that file. proxyNow does not use the id of the credential in job.ID.local, because the user owns this file and could
// write the id of another user's credential into it.
func (e *arcEntry) proxyNow() (file string, keeper *jjm.Owner, err error) {
	if file, err = e.delegations.newest(e.GridID); file != "" || err != nil {
		return file, nil, err
	}
	return e.Proxy, e.owner, nil
}

// appendTo appends a line to an existing file.
func appendTo(name, line string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}

// overwrite writes a text to a file, which it creates if it is missing. It does not write a temporary file first,
// because the account may not be permitted to create files in the folder.
func overwrite(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// replace replaces a file atomically, or creates it.
func replace(name, text string) error {
	return renameio.WriteFile(name, []byte(text), 0o600, renameio.WithTempDir(filepath.Dir(name)))
}
