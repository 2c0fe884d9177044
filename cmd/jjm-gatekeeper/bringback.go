package main

import (
	"context"
	"errors"
	"os"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/gatekeeper"
	"jjm/internal/gatekeeper/blahp"
	"jjm/internal/jjm"
	"jjm/internal/sys/run"
)

// bringWithin is how long a status call itself delivers the files of a job. If it takes longer, for example for a large
// tar, a background process continues, and the gatekeeper sees the job as running meanwhile. blahpd and Globus 2 end a
// script after 30 s.
const bringWithin = 8 * time.Second

// bringBack delivers the files of a job that is over to the places that its memo lists (jjm.Origin). The error is of
// kind Busy if another process delivers them, or if a background process continues the delivery.
func (p *process) bringBack(client *gatekeeper.Client, l wire.Lookup) error {
	unlock, free := p.tryLock(l.Handle)
	if !free {
		return jjm.Errorf(jjm.Busy, "the files of grid job %v are being brought", l.ID)
	}
	ctx, cancel := context.WithTimeout(context.Background(), bringWithin)
	defer cancel()
	err := p.bringAll(ctx, client, l)
	unlock()
	if err != nil && late(ctx) {
		return jjm.Errorf(jjm.Busy, "%w", errors.Join(err, p.inBackground("blahp", "deliver", string(l.Handle))))
	}
	return err
}

// bringAll delivers the files of a job until ctx ends. It prints a message for each file that does not exist. If the
// job has no tar, it creates empty files for standard output and error.
func (p *process) bringAll(ctx context.Context, client *gatekeeper.Client, l wire.Lookup) error {
	wants, err := blahp.ParseWants(l.Memo)
	if err != nil || len(wants) == 0 {
		return err
	}
	mover := gatekeeper.Deliverer{Client: client}
	if l.Tar == "" { // the job ended before any file could be collected
		return mover.CreateEmpty(standard(wants))
	}
	absent, err := mover.DeliverEach(ctx, l, wants)
	for _, a := range absent {
		p.say("%s of grid job %v: %s", a.Name, l.ID, a.Why)
	}
	return err
}

// inBackground starts another process of this program. This process outlives its parent, and inherits no file
// descriptors, because blahpd waits until all descriptors of a script are closed.
func (p *process) inBackground(args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	_, err = run.Detach(run.Detached{Argv: append([]string{self}, args...), Dir: "/", Env: os.Environ()})
	return err
}

// deliver is the work of the background process: it delivers the files of the job in args, and returns the exit code.
// If a file cannot be delivered, the next status call tries again.
func (p *process) deliver(args []string) int {
	if len(args) != 1 {
		p.say("deliver: want one job")
		return exitUsage
	}
	h, ok := jjm.ParseHandle(args[0])
	unlock, free := p.tryLock(h)
	if !ok || !free {
		return exitNo
	}
	defer unlock()
	ctx, client := context.Background(), p.client()
	l := client.Lookup(ctx, args[0])[0]
	err := p.bringFinal(ctx, client, l)
	if err != nil {
		p.say("deliver: %v", err)
	}
	return codeOf(err)
}

// bringFinal delivers the files of a grid job if it is over.
func (p *process) bringFinal(ctx context.Context, client *gatekeeper.Client, l wire.Lookup) error {
	if err := l.Error.Err(); err != nil || !gatekeeper.Final(l) {
		return err
	}
	return p.bringAll(ctx, client, l)
}
