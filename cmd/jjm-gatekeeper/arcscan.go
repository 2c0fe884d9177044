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

const (
	// The files of at most arcDeliverers jobs are delivered at the same time, and of at most arcOfOwner jobs of one owner.
	// So other owners wait only if the file systems of sixteen owners hang.
	arcOfOwner    = 2
	arcDeliverers = 32
	// arcScanAgain is the pause between two passes of a scan that still delivers files. It is as long as the pause between
	// A-REX's own scans.
	arcScanAgain = 10 * time.Second
	// gmKick is A-REX's program that makes A-REX look at a job immediately.
	gmKick = "/usr/lib/arc/gm-kick"
)

// arcEntry is a job whose end A-REX waits for.
type arcEntry struct {
	arc.Job
	control     string
	owner       *jjm.Owner
	delegations *delegations // of the control folder
}

func (e *arcEntry) file(ending string) string {
	return filepath.Join(e.control, "job."+e.GridID+ending)
}

// open opens a file of the control folder. The folder belongs to A-REX, but the user owns some files in it and can
// mount a file system on these files. Therefore open does not cross a mount.
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

// ownerOf returns the account that owns a file of the control folder.
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

// readGramiOf reads and parses the description that A-REX made of a job.
func readGramiOf(e *arcEntry) (arc.Job, error) {
	text, err := e.read(".grami")
	if err != nil {
		return arc.Job{}, jjm.Errorf(jjm.Invalid, "grami: %w", err)
	}
	return parseGrami(text)
}

// arcScan reports ended jobs to A-REX after their files were delivered to the session folders. All jobs are looked up
// in one request. A failed delivery is tried again at the next scan, without a time limit, as long as A-REX waits for
// the job. The scan continues while files are being delivered, so that a large tar does not delay other jobs.
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

// scan is the state of one run of scan-jjm-job.
type scan struct {
	p      *process
	mu     sync.Mutex
	busy   map[string]bool       // by A-REX's id: jobs on which a goroutine works
	owners map[int]chan struct{} // by uid: a semaphore of arcOfOwner places
	places chan struct{}
	idle   chan struct{} // signalled when a job leaves busy
}

// rest waits until the pause is over and returns true. If no files are being delivered any longer, it returns false
// immediately.
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

// pass handles every job once.
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

// arcEntry reads a job by its status file. It returns nil if A-REX does not wait for the end of the job.
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

// start runs do in the background when the owner of the job and the scan have a free place. It does nothing if a
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

// arcEnd delivers the files of a job that is over and reports its end to A-REX. A lock on the grami prevents two
// processes from delivering the files at the same time: the scan of an A-REX that died may still run.
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

// arcBring delivers the job's files to its session folder.
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

// arcRenew sends the job's proxy to jjm if A-REX has received a newer proxy. The stamp of the proxy that jjm has is in
// the grami, which the user owns.
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

// arcForeign reports credentials that the job's user names in job.ID.local but that A-REX does not keep for this job.
// The report goes to A-REX's log and the grid job's history, once for each change.
func (p *process) arcForeign(client *gatekeeper.Client, e *arcEntry) {
	local, err := e.read(".local")
	if err != nil {
		return // the next pass finds the reason when it reads the owner of this file
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

// proxyNow returns the file with the newest proxy of the job, and its owner. If a client delegates a proxy again, the
// proxy is in A-REX's own store, where A-REX notes the job (arcrenew, 6.17). A job without a delegation in the store
// has the proxy with which it was submitted, and which the user owns. The id in job.ID.local is not used, because the
// user owns this file and could write the id of another user's credential.
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

// overwrite writes a text to a new or existing file. It uses no temporary file, because the account may not be
// permitted to create a file in the folder.
func overwrite(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// replace replaces a file atomically.
func replace(name, text string) error {
	return renameio.WriteFile(name, []byte(text), 0o600, renameio.WithTempDir(filepath.Dir(name)))
}
