package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"jjm/internal/jjm"
)

// This file keeps notes about jobs. They are files below the home folder of the job's account, for gatekeepers that
// have no folder of their own for a job. One note names the files of the job's credentials; it contains no secret. The
// other note is a lock.

// notes is the name of the folder of notes, below the home folder.
const notes = ".jjm-gatekeeper"

// maxNote is the greatest length of a note, in bytes.
const maxNote = 64 << 10

// noteOf returns the path of a job's note, and creates the folder of the notes. It returns an error if the handle is
// not valid, or if $HOME is not an absolute path.
func (p *process) noteOf(h jjm.Handle) (string, error) {
	if _, ok := jjm.ParseHandle(string(h)); !ok {
		return "", jjm.Errorf(jjm.Invalid, "%.80q is no job of jjm", h)
	}
	home := p.getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", errors.New("$HOME is no absolute path")
	}
	dir := filepath.Join(home, notes)
	return filepath.Join(dir, string(h)), os.MkdirAll(dir, 0o700)
}

// lockEnding is added to the path of a job's note, which is then the path of its lock.
const lockEnding = ".lock"

// tryLock locks the delivery of a job's files, and returns the function that unlocks it. free is false while another
// process has the lock. If the lock cannot be created, for example without a home folder, tryLock locks nothing and
// returns true, because two deliveries at the same time do no harm.
func (p *process) tryLock(h jjm.Handle) (unlock func(), free bool) {
	name, err := p.noteOf(h)
	var f *os.File
	if err == nil {
		f, err = os.OpenFile(name+lockEnding, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	}
	if err != nil {
		return func() {}, true
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		_ = f.Close()
		return nil, false
	}
	return func() { _ = f.Close() }, true
}

// removeNotes removes the notes of a job that is over.
func (p *process) removeNotes(h jjm.Handle) {
	if name, err := p.noteOf(h); err == nil {
		_, _ = os.Remove(name), os.Remove(name+lockEnding) // they need not exist
	}
}
