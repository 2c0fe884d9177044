package local

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"jjm/internal/jjm"
	"jjm/internal/sys/run"
	"jjm/internal/sys/wary"
)

// job is the state of one job. It is small, because the adapter stores as many jobs as the site runs in a day.
type job struct {
	state    jjm.BatchState
	endAsked endCause
	signal   uint8
	exit     uint8
	restarts int32
	started  jjm.Time
	ended    jjm.Time
	cpuMS    int64
	rssKB    int64
	reason   string
}

// endCause is the reason for ending a job before it is done; both bits may be set.
type endCause uint8

const (
	byCancel   endCause = 1 << iota // a cancel was requested
	byWalltime                      // the walltime is over
)

// proc is a job that is running or is being started.
type proc struct {
	b   *bulk
	pos int32
	// pid is 0 until it is known. born is the earliest and latest possible start time of the process, in milliseconds
	// since the machine's boot: pid and start time together identify one process. boot is the id of the boot in which
	// the process was started.
	pid  int
	born [2]int64
	boot string
	// p is nil until the process runs, and while the process cannot be found.
	p *run.Process
	// deadline is the end of the job's walltime; killAt is the time at which KILL follows TERM. 0 means never.
	deadline, killAt jjm.Time
}

// bulk is a spool entry and its jobs. Adapter.mu guards it.
type bulk struct {
	entry
	dir   string
	jobs  []job
	procs map[int32]*proc
	need  int // number of cores for each job

	queued    int // number of waiting jobs
	next      int // no job before this position waits
	alive     int // number of jobs that have not ended
	lastEnd   jjm.Time
	inWaiting bool // whether the bulk is in the queue of its account

	log        *os.File // opened at the first write, together with locks and out
	locks      *os.File // shows whether another process holds a lock
	out        *os.File // standard output and error of the jobs; nil for none
	size       int64    // size of the log in bytes
	logKept    bool     // whether the name of the log survives a loss of power
	unsynced   bool     // whether the log has ends of cancelled waiting jobs that may not survive a loss of power
	torn       bool     // whether the log ends in the middle of a line
	bootLogged bool     // whether the log names the boot for the next lines
	boot       string
	pending    []byte // lines that could not be written yet

	identity *identity
}

func newBulk(e entry, dir, boot string) *bulk {
	b := &bulk{
		entry: e, dir: dir, boot: boot, jobs: make([]job, e.N), procs: map[int32]*proc{},
		need: max(1, e.Request.Cores), queued: e.N, alive: e.N,
	}
	for i := range b.jobs {
		b.jobs[i].state = jjm.BatchQueued
	}
	return b
}

// name returns the batch id of a job.
func (b *bulk) name(pos int32) string {
	return strconv.FormatInt(b.ID, 10) + "_" + strconv.Itoa(int(pos))
}

func (b *bulk) endRecord(pos int32) string {
	return filepath.Join(b.dir, endName(pos))
}

// endName returns the path of an end record below the folder of its bulk.
func endName(pos int32) string { return "end/" + strconv.Itoa(int(pos)) }

// ended reports whether a job left an end record, valid or invalid.
func (b *bulk) ended(pos int32) bool {
	d, err := wary.In(b.dir)
	if err != nil {
		return !errors.Is(err, os.ErrNotExist)
	}
	defer d.Close()
	_, err = d.Lstat(endName(pos))
	return !errors.Is(err, os.ErrNotExist)
}

// set changes the state of a job and updates the bulk's counters.
func (b *bulk) set(pos int32, s jjm.BatchState) {
	j := &b.jobs[pos]
	if j.state == jjm.BatchQueued {
		b.queued--
	}
	if j.state.Alive() {
		b.alive--
	}
	j.state = s
	if s == jjm.BatchQueued {
		b.queued++
		b.next = min(b.next, int(pos))
	}
	if s.Alive() {
		b.alive++
	} else {
		b.lastEnd = max(b.lastEnd, j.ended)
	}
}

// first returns the position of the next job to start. The bulk must have queued jobs.
func (b *bulk) first() int32 {
	for b.jobs[b.next].state != jjm.BatchQueued {
		b.next++
	}
	return int32(b.next)
}

// openLog opens the log and the file of locks.
func (b *bulk) openLog() error {
	if b.log != nil {
		return nil
	}
	log, err := os.OpenFile(filepath.Join(b.dir, "log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	locks, err := os.OpenFile(filepath.Join(b.dir, "locks"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		log.Close()
		return err
	}
	b.log, b.locks = log, locks
	return nil
}

// append writes lines to the log, after the lines that earlier calls could not write. If it fails and happened is true,
// it keeps the lines for the next call, because they report events that have already happened. If it fails and happened
// is false, it drops the lines; the caller then must not act.
func (b *bulk) append(happened bool, lines ...[]byte) error {
	text := append([]byte(nil), b.pending...)
	for _, l := range lines {
		text = append(text, l...)
	}
	if len(text) == 0 {
		return nil
	}
	if happened {
		b.pending = text
	}
	if err := b.openLog(); err != nil {
		return jjm.Errorf(jjm.Busy, "open the log of spool entry %d: %w", b.ID, err)
	}
	if !b.bootLogged {
		text = append(lineBoot(b.boot), text...)
	}
	if b.torn {
		text = append([]byte("\n"), text...)
	}
	n, err := b.log.Write(text)
	if err != nil {
		if n > 0 {
			b.torn = b.log.Truncate(b.size) != nil || b.torn
		}
		return jjm.Errorf(jjm.Busy, "write the log of spool entry %d: %w", b.ID, err)
	}
	b.size += int64(n)
	b.torn, b.bootLogged, b.pending = false, true, nil
	return nil
}

// idle closes the files of a bulk unless the bulk has running jobs or lines to write.
func (b *bulk) idle() {
	if len(b.procs) == 0 && len(b.pending) == 0 {
		b.closeFiles()
	}
}

func (b *bulk) closeFiles() {
	for _, f := range []**os.File{&b.log, &b.locks, &b.out} {
		if *f != nil {
			(*f).Close()
			*f = nil
		}
	}
}

// takeLock returns a read-only descriptor that holds the lock of a job; the job inherits the descriptor.
func (b *bulk) takeLock(pos int32) (*os.File, error) {
	f, err := os.Open(filepath.Join(b.dir, "locks"))
	if err != nil {
		return nil, err
	}
	if err := holdByte(f, int64(pos)); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock job %s: %w", b.name(pos), err)
	}
	return f, nil
}

// lockHeld reports whether a living process holds the lock of the job. It returns true if the lock cannot be checked.
func (b *bulk) lockHeld(pos int32) bool {
	if b.openLog() != nil {
		return true
	}
	return byteHeld(b.locks, int64(pos))
}

// makeEnd creates the folder for the end records. If chown is set, the folder is given to the owner of the jobs.
func (b *bulk) makeEnd(chown bool) error {
	end := filepath.Join(b.dir, "end")
	err := os.Mkdir(end, 0o700)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil || !chown {
		return err
	}
	if err = os.Chown(end, b.Owner.UID, b.Owner.GID); err != nil {
		_ = os.Remove(end)
	}
	return err
}
