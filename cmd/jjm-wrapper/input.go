package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"jjm/internal/jjm"
)

// The files beside work/ that list the application's input.
const (
	inputName       = "input.json"
	inputFilesName  = "input.files"
	parentFilesName = "input.parents"
)

// maxVariable is the greatest length, in bytes, of the value of an environment variable that jjm sets. It is below the
// limit of execve(2) (MAX_ARG_STRLEN, 128 KiB).
const maxVariable = 96 << 10

// input is the content of input.json: a description of the input of the part, for applications that need more than the
// environment variables.
type input struct {
	Unit   string `json:"unit"`
	Serial int64  `json:"serial"`
	// Streams are the values of the placeholders of the job file's streams, by the names of the streams.
	Streams map[string][]string `json:"streams,omitempty"`
	*jjm.PartInput
}

// writeInput writes the files that describe the input of a part: input.files with the names of the part's files, one
// per line, input.parents with the names of the parent files, if there are any, and input.json with the whole input.
// They are beside work/, where they cannot collide with the job's inputs. If the part reads no files, writeInput writes
// nothing.
func (a *attempt) writeInput() error {
	part := &a.assign.Part
	if part.Input == nil {
		return nil
	}
	text, err := json.Marshal(input{part.Unit, part.Serial, part.Streams, part.Input})
	if err != nil {
		return err
	}
	if err := a.writeBeside(inputName, append(text, '\n')); err != nil {
		return err
	}
	if parents := parentsOf(part.Input); len(parents) > 0 {
		if err := a.writeBeside(parentFilesName, lines(parents)); err != nil {
			return err
		}
	}
	return a.writeBeside(inputFilesName, lines(part.Input.Files))
}

// parentsOf returns the names of the parent files of a part's files, which the application reads too.
func parentsOf(in *jjm.PartInput) []string {
	if in.More == nil {
		return nil
	}
	return in.More.Parents
}

// lines returns names as text with one name per line.
func lines(names []string) []byte {
	if len(names) == 0 {
		return nil
	}
	return []byte(strings.Join(names, "\n") + "\n")
}

func (a *attempt) writeBeside(name string, text []byte) error {
	f, err := a.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := f.Write(text); err != nil {
		_ = f.Close() // the first error is returned
		return err
	}
	return f.Close()
}

// inputVariables returns the environment variables about the files that the part reads, or nil if it reads none. A list
// of sections that is too long for a variable is only in input.json.
func (a *attempt) inputVariables() map[string]string {
	in := a.assign.Part.Input
	if in == nil {
		return nil
	}
	events := in.EventSpan()
	env := map[string]string{
		"JJM_INPUT":       filepath.Join(a.dir, inputName),
		"JJM_INPUT_FILES": filepath.Join(a.dir, inputFilesName),
		"JJM_FIRST_EVENT": strconv.FormatInt(events.First, 10),
		"JJM_EVENTS":      strconv.FormatInt(events.Count, 10),
	}
	if len(parentsOf(in)) > 0 {
		env["JJM_PARENT_FILES"] = filepath.Join(a.dir, parentFilesName)
	}
	if text := in.LumiText(); text != "" && len(text) <= maxVariable {
		env["JJM_LUMIS"] = text
	}
	return env
}
