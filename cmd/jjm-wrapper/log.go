package main

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"

	"jjm/internal/formats/glf"
	"jjm/sandbox"
)

// logFile is the GBS log file of the attempt. It is opened again for each line, because the application may have
// removed the file or replaced it by a FIFO.
type logFile struct {
	root *os.Root // nil until the attempt's folder exists
	// unwritten are the lines that could not be written to the file. The result nevertheless contains them.
	unwritten strings.Builder
}

// logLine appends a record of the wrapper to the log. It keeps a record that cannot be written for the result.
func (a *attempt) logLine(keyword, data string) {
	line := glf.FormatLine(now(), keyword, data)
	if a.log.root == nil {
		a.log.unwritten.WriteString(line)
		return
	}
	if err := appendLine(a.log.root, sandbox.GLFName, line); err != nil {
		a.log.unwritten.WriteString(line)
		a.note(err)
	}
}

// opener opens files by name: an *os.Root, or plainFiles in the helper gbs_log.
type opener interface {
	OpenFile(name string, flag int, perm os.FileMode) (*os.File, error)
}

// appendLine appends a line to a regular file with a single write, and creates a missing file. If the last line of the
// file has no newline, it writes a newline first.
func appendLine(dir opener, name, line string) error {
	f, err := dir.OpenFile(name, os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = &os.PathError{Op: "append to", Path: name, Err: errors.New("is not a regular file")}
	default:
		_, err = io.WriteString(f, missingNewline(f, info.Size())+line)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// missingNewline returns a newline if the last line of a file of this size lacks it, otherwise "".
func missingNewline(f io.ReaderAt, size int64) string {
	last := make([]byte, 1)
	if n, _ := f.ReadAt(last, max(0, size-1)); n == 1 && last[0] != '\n' {
		return "\n"
	}
	return ""
}

// text returns the log for the result: the beginning and the end of the file if the file is longer than glf.MaxFile,
// and the lines that could not be written to it. After an error, it returns the text that it has.
func (l *logFile) text() (string, error) {
	if l.root == nil {
		return l.unwritten.String(), nil
	}
	f, err := l.root.OpenFile(sandbox.GLFName, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
	if err != nil {
		return l.unwritten.String(), err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return l.unwritten.String(), err
	}
	if !info.Mode().IsRegular() {
		return l.unwritten.String(), &os.PathError{Op: "read", Path: sandbox.GLFName,
			Err: errors.New("is not a regular file")}
	}
	text, err := sandbox.HeadTail(f, glf.MaxFile)
	if l.unwritten.Len() > 0 && text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + l.unwritten.String(), err
}

// readLog parses the log, which contains the records of the application and of the wrapper. It notes an error, and then
// parses the readable part.
func (a *attempt) readLog() glf.Log {
	text, err := a.log.text()
	a.note(err)
	return glf.Parse([]byte(text))
}
