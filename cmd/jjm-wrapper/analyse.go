package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"jjm/internal/formats/glf"
	"jjm/internal/jjm"
)

// The limits of the output of the type's command, in bytes.
const (
	maxAnswer = 64 << 10 // standard output
	maxStderr = 1 << 10  // standard error, quoted in the result
)

// The files of the type's command, in the attempt's folder.
const (
	questionName  = "analyse.json"
	complaintName = "analyse.stderr"
)

// question is the JSON object that the job type's command reads from its standard input. The command judges an attempt
// after the application has ended (docs/JOB-TYPES.md), and writes its answer, an opinion, to its standard output.
type question struct {
	Protocol int         `json:"protocol"` // always 1
	Verb     string      `json:"verb"`     // always "analyse"
	Part     *jjm.Part   `json:"part"`
	Result   *jjm.Result `json:"result"`
}

// analyse runs the job type's command that judges the attempt, and returns the command's opinion. It returns nil if the
// type has no such command, if the command has no opinion, or if the wrapper was told to end the attempt. If the
// command fails, the type's decision is not known; the opinion is then to hold the local job.
func (a *attempt) analyse(signals *signalBox) *jjm.Opinion {
	if len(a.assign.Analyse) == 0 || signals.ending() {
		return nil
	}
	op, err := a.askCommand(signals)
	switch {
	case signals.ending():
		return nil
	case err != nil:
		op = &jjm.Opinion{Action: jjm.Hold, Text: fmt.Sprintf("its command %s failed: %v",
			clip(glf.JoinArgs(a.assign.Analyse), 256), err)}
	case op == nil:
		return nil
	}
	a.logLine(glf.Info, fmt.Sprintf("the job type says %s: %s", op.Action, op.Text))
	return op
}

// askCommand runs the type's command to its end and parses its answer; nil means that the command has no opinion. The
// command may run as long as an application may run between SIGTERM and SIGKILL. The error says what was wrong with the
// command or its answer.
func (a *attempt) askCommand(signals *signalBox) (*jjm.Opinion, error) {
	files, answers, err := a.analyseFiles()
	if err != nil {
		closeAll(files)
		return nil, err
	}
	defer answers.Close()
	pid, _, err := a.launch(a.assign.Analyse, files)
	closeAll(files)
	if err != nil {
		return nil, err
	}
	read := make(chan []byte, 1)
	go func() { read <- readAnswer(answers, signals) }()
	var late atomic.Bool
	timer := time.AfterFunc(a.grace(), func() {
		late.Store(true)
		signals.send(syscall.SIGKILL)
	})
	exit, _ := a.finish(pid, signals)
	timer.Stop()
	_ = answers.SetReadDeadline(now().Add(stragglerTime)) // a process that could not be killed may keep the other end open
	switch text := <-read; {
	case late.Load():
		return nil, fmt.Errorf("it did not end within %s", jjm.HowLong(a.grace()))
	case len(text) > maxAnswer:
		return nil, fmt.Errorf("it writes more than %d KiB: make the answer shorter", maxAnswer>>10)
	case exit != 0:
		return nil, fmt.Errorf("it ended with exit code %d%s", exit, a.stderrTail())
	default:
		return readOpinion(text)
	}
}

// analyseFiles opens the standard files of the type's command: a file with the question, the writing end of a pipe, and
// a file for standard error. answers is the reading end of the pipe. After an error, files are the files that it
// opened, which the caller must close.
func (a *attempt) analyseFiles() (files []*os.File, answers *os.File, err error) {
	seen := a.result
	var logErr error
	seen.GLF, logErr = a.log.text()
	fit(&seen)
	text, err := json.Marshal(question{1, "analyse", &a.assign.Part, &seen})
	if err := errors.Join(logErr, err); err != nil {
		return nil, nil, err
	}
	asked, err := a.ask(append(text, '\n'))
	if err != nil {
		return nil, nil, err
	}
	answers, write, err := os.Pipe()
	if err != nil {
		return []*os.File{asked}, nil, err
	}
	complaints, err := a.makeAnew(complaintName)
	if err != nil {
		return []*os.File{asked, answers, write}, nil, err
	}
	return []*os.File{asked, write, complaints}, answers, nil
}

// ask writes the question to a file in the attempt's folder, and returns this file, positioned at its beginning.
func (a *attempt) ask(text []byte) (*os.File, error) {
	f, err := a.makeAnew(questionName)
	if err != nil {
		return nil, err
	}
	_, err = f.Write(text)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// readAnswer reads the command's answer until the command and all its children have closed the pipe. If the answer is
// longer than maxAnswer, it kills the command and returns one byte more than maxAnswer.
func readAnswer(answers io.Reader, signals *signalBox) []byte {
	text, _ := io.ReadAll(io.LimitReader(answers, maxAnswer+1))
	if len(text) > maxAnswer {
		signals.send(syscall.SIGKILL)
	}
	return text
}

// stderrTail returns the end of the command's standard error for an error message, or a note that the command wrote
// nothing. It returns "" if the file cannot be read.
func (a *attempt) stderrTail() string {
	f, err := a.openRegular(complaintName)
	if err != nil {
		return ""
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, end-maxStderr), maxStderr))
	if words := strings.Fields(strings.ToValidUTF8(string(text), "?")); err == nil && len(words) > 0 {
		return ": " + strings.Join(words, " ")
	}
	return ", and says nothing on its standard error"
}

// readOpinion parses the answer of the type's command. It returns nil for the answer {}, which means no opinion, and an
// error for an answer that is not an opinion.
func readOpinion(text []byte) (*jjm.Opinion, error) {
	const form = `want {"action": ..., "text": ...}, or {} for no opinion`
	op := &jjm.Opinion{}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(op); err != nil {
		return nil, fmt.Errorf("its answer %.80q: %w: "+form, text, err)
	}
	if dec.More() {
		return nil, fmt.Errorf("its answer goes on behind the JSON object: " + form)
	}
	op.Text = clip(strings.Join(strings.Fields(op.Text), " "), 4<<10)
	switch {
	case op.Action == "" && op.Text == "" && op.RetryArgs == nil:
		return nil, nil
	case op.Text == "":
		return nil, errors.New("its answer has no text: why, for people")
	case op.RetryArgs != nil && op.Action != jjm.Retry:
		return nil, fmt.Errorf("its answer has retry_args, which mean nothing unless action is %s", jjm.Retry)
	}
	for _, known := range []jjm.Action{jjm.Complete, jjm.Retry, jjm.Hold, jjm.Fail} {
		if op.Action == known {
			return op, nil
		}
	}
	return nil, fmt.Errorf("its answer has action %.40q: want %s, %s, %s or %s", op.Action, jjm.Complete, jjm.Retry,
		jjm.Hold, jjm.Fail)
}
