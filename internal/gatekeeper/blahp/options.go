// Package blahp translates jobs for blahpd, through which HTCondor and HTCondor-CE submit jobs to batch systems. It
// parses the command line of the submit script and writes the answers of all scripts. It does nothing else.
//
// The parsed text comes from the submitter of the job and is not trusted: no part of it is ever passed to a shell.
package blahp

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"jjm/internal/formats/shellwords"
	"jjm/internal/jjm"
)

// letters are the options of blahp's own scripts, in the form of getopts(1) (blah_common_submit_functions.sh of
// HTCondor 23.9).
const letters = "a:i:o:e:c:s:v:V:dw:q:n:N:z:h:g:G:M:P:S:r:p:l:x:u:j:T:I:O:R:C:D:m:A:t:"

// Options is the command line of the submit script.
type Options struct {
	Command, Stdin, Stdout, Stderr string
	// Folder is the job's absolute folder on the submit side.
	Folder string
	// Stage is false if the command is a path on the worker.
	Stage bool
	// Arguments and Env are the program's arguments and environment.
	Arguments []string
	Env       map[string]string
	Queue     string
	Project   string
	// Key is the name of the run directory. A repeated submission of the job has the same name.
	Key           string
	Proxy         string
	Subject       string
	MemoryMB      int64
	Seconds       int64
	GPUs          int64
	GPUMode       string
	GPUModel      string
	MICs          int64
	WholeNodes    bool
	Processes     int64 // -n
	Hosts         int64 // -h
	PerHost       int64 // -S
	CoresOfANode  int64 // -N
	Extra         string
	Inputs        string // the names of files with lists
	Outputs       string
	Remaps        string
	Requirements  string
	problems      jjm.Problems
	classicalEnvs string
}

// ParseOptions parses the command line. Relative paths refer to folder, or to the folder of the option -w. The error is
// of kind Invalid and contains all problems.
func ParseOptions(args []string, folder string) (*Options, error) {
	o := &Options{Folder: folder, Stage: true}
	rest, err := getopt(args, o.set)
	if err != nil {
		return nil, err
	}
	if o.Command == "" {
		o.bad("-c", "is missing: the command to run")
	}
	if !strings.HasPrefix(o.Folder, "/") {
		o.bad("-w", "%.80q: want an absolute path", o.Folder)
	}
	if o.Arguments, err = shellwords.Split(strings.Join(rest, " ")); err != nil {
		o.bad("arguments", "%v", err)
	}
	if o.Env == nil && o.classicalEnvs != "" {
		o.Env = o.environment("-v", strings.Split(o.classicalEnvs, ";"))
	}
	return o, o.problems.Err()
}

// bad adds a problem with an option.
func (o *Options) bad(field, format string, args ...any) {
	o.problems = append(o.problems, jjm.Problem{Field: field, Text: fmt.Sprintf(format, args...)})
}

// getopt parses options like getopts(1) of the shell, and calls set for each option. The options end with "--" or with
// the first word that is not an option; rest are the words after that. The error is of kind Invalid if an option is
// unknown or lacks its value.
func getopt(args []string, set func(letter byte, value string)) (rest []string, err error) {
	for len(args) > 0 {
		word := args[0]
		if word == "--" {
			return args[1:], nil
		}
		if len(word) < 2 || word[0] != '-' {
			return args, nil
		}
		args = args[1:]
		for i := 1; i < len(word); i++ {
			at := strings.IndexByte(letters, word[i])
			if at < 0 || word[i] == ':' {
				return nil, jjm.Errorf(jjm.Invalid, "unknown option -%c", word[i])
			}
			if at+1 >= len(letters) || letters[at+1] != ':' {
				set(word[i], "")
				continue
			}
			value := word[i+1:]
			if value == "" {
				if len(args) == 0 {
					return nil, jjm.Errorf(jjm.Invalid, "option -%c: its value is missing", word[i])
				}
				value, args = args[0], args[1:]
			}
			set(word[i], value)
			break
		}
	}
	return nil, nil
}

// set handles one option. It ignores options for blahp's own proxy renewal, scratch files and debugging.
func (o *Options) set(letter byte, value string) {
	texts := map[byte]*string{'c': &o.Command, 'i': &o.Stdin, 'o': &o.Stdout, 'e': &o.Stderr, 'w': &o.Folder,
		'q': &o.Queue, 'A': &o.Project, 'D': &o.Key, 'x': &o.Proxy, 'u': &o.Subject, 'G': &o.GPUMode, 'M': &o.GPUModel,
		'a': &o.Extra, 'I': &o.Inputs, 'O': &o.Outputs, 'R': &o.Remaps, 'C': &o.Requirements, 'v': &o.classicalEnvs}
	numbers := map[byte]*int64{'m': &o.MemoryMB, 't': &o.Seconds, 'g': &o.GPUs, 'P': &o.MICs,
		'n': &o.Processes, 'h': &o.Hosts, 'S': &o.PerHost, 'N': &o.CoresOfANode}
	switch {
	case texts[letter] != nil:
		*texts[letter] = value
	case numbers[letter] != nil:
		o.number(numbers[letter], letter, value)
	case letter == 's':
		o.Stage = o.yesNo(letter, value)
	case letter == 'z':
		o.WholeNodes = o.yesNo(letter, value)
	case letter == 'j' && o.Key == "":
		o.Key = value
	case letter == 'V':
		words, err := shellwords.Split(value)
		if err != nil {
			o.bad("-V", "%v", err)
			return
		}
		o.Env = o.environment("-V", words)
	}
}

// number stores the value of an option that is a whole number of 0 or more. Any other value is a problem.
func (o *Options) number(n *int64, letter byte, text string) {
	v, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if text != "" && (err != nil || v < 0) {
		o.bad("-"+string(letter), "%.40q: want a whole number", text)
		return
	}
	*n = v
}

// yesNo returns the value of an option that is yes or no. An empty value means no; any other value is a problem.
func (o *Options) yesNo(letter byte, text string) bool {
	switch strings.ToLower(text) {
	case "yes", "true":
		return true
	case "no", "false", "":
		return false
	}
	o.bad("-"+string(letter), "%.40q: want yes or no", text)
	return false
}

// environment parses words of the form NAME=value. Any other word is a problem.
func (o *Options) environment(field string, words []string) map[string]string {
	env := map[string]string{}
	for _, w := range words {
		name, value, ok := strings.Cut(w, "=")
		if w == "" {
			continue
		}
		if !ok || name == "" {
			o.bad(field, "%.40q: want NAME=value", w)
			continue
		}
		env[name] = value
	}
	return env
}

// maxLines is the maximum number of lines of a list of files, and maxList the maximum number of bytes.
const (
	maxLines = 10_000
	maxList  = 1 << 20
)

// Lines reads a list of files, one name per line. It keeps empty lines, because line n of the remaps (the option -R)
// belongs to line n of the outputs. The error is of kind Invalid if the list is too long.
func Lines(r io.Reader) ([]string, error) {
	var out []string
	sc := bufio.NewScanner(io.LimitReader(r, maxList+1))
	sc.Buffer(nil, maxList)
	size := 0
	for sc.Scan() {
		line := strings.TrimRight(sc.Text(), "\r")
		size += len(line) + 1
		if out = append(out, line); len(out) > maxLines || size > maxList {
			return nil, jjm.Errorf(jjm.Invalid, "a list of files has more than %d lines or %d bytes", maxLines, maxList)
		}
	}
	return out, sc.Err()
}

// Requirements parses the lines name='value' of the file that the option -C names, and returns the values by the names
// in lower case. It skips lines of another form, as other readers of the file do.
func Requirements(lines []string) map[string]string {
	out := map[string]string{}
	for _, line := range lines {
		name, quoted, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		words, err := shellwords.Split(quoted)
		if err == nil && len(words) == 1 {
			out[strings.ToLower(strings.TrimSpace(name))] = words[0]
		}
	}
	return out
}
