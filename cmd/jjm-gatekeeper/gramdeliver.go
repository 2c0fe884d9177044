package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"jjm"
	"jjm/gatekeeper"
	"jjm/gatekeeper/gram"
	"jjm/run"
	"jjm/wire"
)

// gramQuick is how long a poll itself brings files. What takes longer is done in
// the background: a job manager polls all jobs of a user with five processes.
const gramQuick = 8 * time.Second

// The files that are kept in the job manager's own folder of a job.
const (
	delivered = "jjm-delivered" // its files are where GRAM expects them
	cancelled = "jjm-cancelled" // a cancel was asked for
	lockFile  = "jjm-lock"      // held by who brings the files
	rslFile   = "jjm-description"
	proxyMark = "jjm-proxy" // which content of the proxy's file jjm has
)

// gramMark makes one of them.
func gramMark(job gram.Job, name string) error {
	if job.Folder == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(job.Folder, name), nil, 0o600)
}

func gramMarked(job gram.Job, name string) bool {
	_, err := os.Stat(filepath.Join(job.Folder, name))
	return job.Folder != "" && err == nil
}

// gramEnd brings the files of a job that is over and says how it ended. Until
// they are there the job is active: GRAM stages them out at once when it ends.
func (p *process) gramEnd(job gramTask, l wire.Lookup) (gramAnswer, error) {
	wait := gramAnswer{state: jjm.GRAMActive}
	if gramMarked(job.Job, delivered) {
		return gramFinal(l), nil
	}
	unlock, free := gramLock(job.Job)
	if !free {
		return wait, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), gramQuick)
	defer cancel()
	err := p.bring(ctx, job.Job, l)
	unlock()
	switch {
	case err == nil:
		return gramFinal(l), nil
	case hopeless(err), gramMarked(job.Job, cancelled) && !late(ctx):
		a := gramFinal(l)
		return gramAnswer{state: jjm.GRAMFailed, code: gramStageOut,
			message: fmt.Sprintf("%s: %v", joined(l.Status, a.message), err)}, err
	case late(ctx):
		return wait, errors.Join(err, p.background(job))
	}
	return wait, err
}

func late(ctx context.Context) bool { return ctx.Err() != nil }

// gramLock takes the right to bring the files of a job.
func gramLock(job gram.Job) (unlock func(), free bool) {
	if job.Folder == "" {
		return func() {}, true
	}
	f, err := os.OpenFile(filepath.Join(job.Folder, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return func() {}, true // bringing them twice does no harm
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, false
	}
	return func() { _ = f.Close() }, true
}

// bring delivers the files and notes that they are there.
func (p *process) bring(ctx context.Context, job gram.Job, l wire.Lookup) error {
	if job.Summary() {
		if err := os.WriteFile(job.Stdout, []byte(summary(l)), 0o600); err != nil {
			return err
		}
	}
	d := gatekeeper.Deliverer{Door: p.door()}
	absent, err := d.DeliverEach(ctx, l, job.Deliveries())
	if err != nil {
		return err
	}
	for _, a := range absent {
		p.say("gram: %s: %s", a.To, a.Why)
	}
	if err := gramMark(job, delivered); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// background goes on bringing the files in a process of its own.
func (p *process) background(job gramTask) error {
	if job.Folder == "" {
		return nil
	}
	name := filepath.Join(job.Folder, rslFile)
	if err := os.WriteFile(name, []byte(job.rsl), 0o600); err != nil {
		return err
	}
	rsl, err := os.Open(name)
	if err != nil {
		return err
	}
	defer rsl.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	_, err = run.Detach(run.Detached{Argv: []string{self, "gram", "deliver"}, Dir: "/", Env: os.Environ(), Stdin: rsl})
	return err
}

// gramDeliver is the process in the background. What it cannot bring the next
// poll tries again.
func (p *process) gramDeliver(job gramTask) (gramAnswer, error) {
	unlock, free := gramLock(job.Job)
	if !free {
		return gramAnswer{}, nil
	}
	defer unlock()
	ctx := context.Background()
	l := p.door().Lookup(ctx, job.ID)[0]
	if err := l.Error.Err(); err != nil || !gatekeeper.Final(l) {
		return gramAnswer{}, err
	}
	return gramAnswer{}, p.bring(ctx, job.Job, l)
}
