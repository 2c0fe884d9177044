package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/gatekeeper"
	"jjm/internal/gatekeeper/gram"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// This file delivers the files of a GRAM job that is over to the places that GRAM expects. A poll does this; if it
// takes too long, a background process continues ("jjm-gatekeeper gram deliver"). Marks, which are empty files in the
// job manager's folder of the job, tell later polls what was done.

// gramBringWithin is how long a poll itself delivers files. If it takes longer, a background process delivers them,
// because a job manager uses only five processes to poll all jobs of a user.
const gramBringWithin = 8 * time.Second

// The files that jjm keeps in the job manager's own folder of a job.
const (
	delivered = "jjm-delivered" // the job's files were delivered to the places that GRAM expects
	cancelled = "jjm-cancelled" // a cancel was requested
	lockFile  = "jjm-lock"      // locked by the process that delivers the files
	rslFile   = "jjm-description"
	proxyMark = "jjm-proxy" // the stamp of the proxy that jjm has
)

// gramMark creates a mark, one of the files above, in the job manager's folder of a job. It does nothing if the job has
// no folder.
func gramMark(job gram.Job, name string) error {
	if job.Folder == "" {
		return nil
	}
	return os.WriteFile(filepath.Join(job.Folder, name), nil, 0o600)
}

// gramMarked reports whether a job has a mark.
func gramMarked(job gram.Job, name string) bool {
	_, err := os.Stat(filepath.Join(job.Folder, name))
	return job.Folder != "" && err == nil
}

// gramEnd delivers the files of a job that is over, and returns how the job ended. While the files are not delivered,
// it reports the job as active, because GRAM stages the files out as soon as it sees the end. If the delivery can never
// succeed, or if it fails after a cancel, gramEnd reports the job as failed, with the error.
func (p *process) gramEnd(job gramTask, l wire.Lookup) (gramAnswer, error) {
	wait := gramAnswer{state: jjm.GRAMActive}
	if gramMarked(job.Job, delivered) {
		return gramFinal(l), nil
	}
	unlock, free := gramTryLock(job.Job)
	if !free {
		return wait, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), gramBringWithin)
	defer cancel()
	err := p.bring(ctx, job.Job, l)
	unlock()
	switch {
	case err == nil:
		return gramFinal(l), nil
	case permanent(err), gramMarked(job.Job, cancelled) && !late(ctx):
		a := gramFinal(l)
		return gramAnswer{state: jjm.GRAMFailed, code: gramStageOut,
			message: fmt.Sprintf("%s: %v", joined(l.Status, a.message), err)}, err
	case late(ctx):
		return wait, errors.Join(err, p.background(job))
	}
	return wait, err
}

func late(ctx context.Context) bool { return ctx.Err() != nil }

// gramTryLock locks the delivery of a job's files, and returns the function that unlocks it. free is false while
// another process has the lock. If the lock cannot be created, gramTryLock locks nothing and returns true, because two
// deliveries at the same time do no harm.
func gramTryLock(job gram.Job) (unlock func(), free bool) {
	if job.Folder == "" {
		return func() {}, true
	}
	f, err := os.OpenFile(filepath.Join(job.Folder, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return func() {}, true // two deliveries at the same time do no harm
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, false
	}
	return func() { _ = f.Close() }, true
}

// bring delivers the files of a job and marks the job as delivered. It prints a message for each file that does not
// exist.
func (p *process) bring(ctx context.Context, job gram.Job, l wire.Lookup) error {
	if job.Summary() {
		if err := os.WriteFile(job.Stdout, []byte(summary(l)), 0o600); err != nil {
			return err
		}
	}
	d := gatekeeper.Deliverer{Client: p.client()}
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

// background starts a process that continues the delivery after this process has ended. It does nothing for a job
// without a folder.
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

// gramDeliver is the work of the background process. If a file cannot be delivered, the next poll tries again.
// gramDeliver does nothing if the job is not over, or while another process delivers the files.
func (p *process) gramDeliver(job gramTask) (gramAnswer, error) {
	unlock, free := gramTryLock(job.Job)
	if !free {
		return gramAnswer{}, nil
	}
	defer unlock()
	ctx := context.Background()
	l := p.client().Lookup(ctx, job.ID)[0]
	if err := l.Error.Err(); err != nil || !gatekeeper.Final(l) {
		return gramAnswer{}, err
	}
	return gramAnswer{}, p.bring(ctx, job.Job, l)
}
