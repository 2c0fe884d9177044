package main

import (
	"context"
	"encoding/json"
	"os"

	"jjm/internal/gatekeeper"
	"jjm/internal/jjm"
)

// credentialFile is a file in which a gatekeeper keeps a credential of a job, and renews it. The stamp identifies the
// content that jjm got last.
type credentialFile struct {
	Kind  string           `json:"kind"`
	File  string           `json:"file"`
	Stamp gatekeeper.Stamp `json:"stamp,omitempty"`
}

// proxyFile returns a list with the file of a proxy. If name is "", the list is empty.
func proxyFile(name string) []credentialFile {
	if name == "" {
		return nil
	}
	return []credentialFile{{Kind: jjm.ProxyKind, File: name}}
}

// addCredentials reads files with credentials, and adds the credentials to the job to be submitted.
func addCredentials(job *gatekeeper.Job, files []credentialFile) error {
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

// noteCredentials writes the note that names the files of a job's credentials, so that later calls can renew them. If
// this fails, it prints the error: the job still runs, but its credentials are not renewed.
func (p *process) noteCredentials(h jjm.Handle, files []credentialFile) {
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

func writeNote(name string, files []credentialFile) error {
	text, err := json.Marshal(files)
	if err != nil {
		return err
	}
	return replace(name, string(text))
}

// renew sends those of the job's credentials to jjm whose files have changed since jjm got them. The job's note names
// the files. renew prints errors.
func (p *process) renew(client *gatekeeper.Client, h jjm.Handle) {
	name, err := p.noteOf(h)
	if err != nil || !exists(name) {
		return
	}
	text, err := readFile(name)
	var files []credentialFile
	if err == nil {
		err = json.Unmarshal(text[:min(len(text), maxNote)], &files)
	}
	if err != nil {
		p.say("note %s: %v", name, err)
		return
	}
	changed := false
	for i, f := range files {
		stamp, err := client.Refresh(context.Background(), string(h), f.Kind, f.File, nil, f.Stamp)
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
