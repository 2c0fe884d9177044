package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"jjm"
)

// Gatekeepers that have no folder of their own for a job get notes: files per job,
// below the home folder of its account. One names the files of the job's
// credentials; there is nothing secret in it. The other is a lock.

// notes is the folder of notes, below the home folder.
const notes = ".jjm-gatekeeper"

// maxNote bounds a note, in bytes.
const maxNote = 64 << 10

// noteOf is the note of a job; its folder is made.
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

// lockEnding is that of a job's lock.
const lockEnding = ".lock"

// alone takes the right to bring the files of a job; free is false while another
// process has it. Without a home folder everybody has it: bringing them twice does
// no harm.
func (p *process) alone(h jjm.Handle) (unlock func(), free bool) {
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

// forget removes the notes of a job that is over.
func (p *process) forget(h jjm.Handle) {
	if name, err := p.noteOf(h); err == nil {
		_, _ = os.Remove(name), os.Remove(name+lockEnding) // there may be none
	}
}
