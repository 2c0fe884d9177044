package main

import (
	"context"
	"encoding/json"
	"os"

	"jjm"
	"jjm/gatekeeper"
)

// handed is a file in which a gatekeeper keeps a credential of a job, and which
// content of it jjm has.
type handed struct {
	Kind  string           `json:"kind"`
	File  string           `json:"file"`
	Stamp gatekeeper.Stamp `json:"stamp,omitempty"`
}

// proxyFile names the file of a proxy; there is none if name is "".
func proxyFile(name string) []handed {
	if name == "" {
		return nil
	}
	return []handed{{Kind: jjm.ProxyKind, File: name}}
}

// hand reads the credentials of a job that is to be submitted.
func hand(job *gatekeeper.Job, files []handed) error {
	for _, f := range files {
		c, err := gatekeeper.ReadCredential(f.Kind, f.File, nil)
		if err != nil {
			return err
		}
		job.Credentials = append(job.Credentials, c)
	}
	return nil
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// note remembers from which files a job's credentials came. Without it they are
// not renewed, and the job runs all the same.
func (p *process) note(h jjm.Handle, files []handed) {
	if len(files) == 0 {
		return
	}
	name, err := p.noteOf(h)
	if err == nil {
		err = writeNote(name, files)
	}
	if err != nil {
		p.say("note the credentials of %s: %v", h, err)
	}
}

func writeNote(name string, files []handed) error {
	text, err := json.Marshal(files)
	if err != nil {
		return err
	}
	return replace(name, string(text))
}

// renew hands on what has changed in the files that a note names.
func (p *process) renew(door *gatekeeper.Door, h jjm.Handle) {
	name, err := p.noteOf(h)
	if err != nil || !exists(name) {
		return
	}
	text, err := readFile(name)
	var files []handed
	if err == nil {
		err = json.Unmarshal(text[:min(len(text), maxNote)], &files)
	}
	if err != nil {
		p.say("note %s: %v", name, err)
		return
	}
	changed := false
	for i, f := range files {
		stamp, err := door.Refresh(context.Background(), string(h), f.Kind, f.File, nil, f.Stamp)
		if err != nil {
			p.say("%v", err)
		}
		changed = changed || stamp != f.Stamp
		files[i].Stamp = stamp
	}
	if changed {
		if err := writeNote(name, files); err != nil {
			p.say("note %s: %v", name, err)
		}
	}
}
