package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"jjm/internal/formats/glf"
	"jjm/internal/jjm"
	"jjm/sandbox"
)

// This file decides which files are outputs of the attempt: a lister collects a list of wanted files. The job file and
// the assignment contain patterns of outputs; the application's log names further files by its records SUCCEEDED and
// RETURN_FILE.

// wanted is a file to collect, or the reason why it cannot be collected.
type wanted struct {
	// name is the path below the attempt's folder. If the file will be copied into the folder, name is the path of the
	// copy.
	name string
	// from is the absolute path of a file to copy, or "".
	from   string
	absent string
	left   jjm.LeftReason // reason why the file is left out, see jjm.Output
	// optional is set if only optional patterns match the file.
	optional bool
}

// inWork returns the name by which the application knows the file: the path relative to work/.
func (w wanted) inWork() string { return strings.TrimPrefix(w.name, sandbox.WorkName+"/") }

// outputNames returns the files to collect (decision R24): the files that match the patterns, and the files that the
// records SUCCEEDED and RETURN_FILE of the application's log name. Each file is in the list only once. asked contains
// each pattern and name, except optional patterns, with the files that belong to it. The required patterns come first.
func (l *lister) outputNames(said glf.Log) (list []wanted, asked []pattern) {
	a := l.a
	ask := func(required bool, patterns []string) {
		for _, p := range patterns {
			asked = append(asked, pattern{p, required, l.match(p)})
		}
	}
	shared := a.job
	if a.assign.Merge {
		shared = sandbox.Job{}
	}
	ask(true, shared.Required)
	ask(true, a.assign.Required)
	ask(false, shared.Outputs)
	ask(false, a.assign.Outputs)
	for _, t := range said.Terminals {
		if t.Keyword == glf.Succeeded {
			for _, name := range glf.SplitArgs(t.Data) {
				if name != "-" {
					asked = append(asked, pattern{text: name, names: []string{l.file(name)}})
				}
			}
		}
	}
	for _, name := range said.Returns {
		asked = append(asked, pattern{text: name, names: []string{l.file(name)}})
	}
	for _, name := range said.Ignored {
		l.add(wanted{name: name, absent: "RETURN_FILE wants an absolute path"})
	}
	l.optional = true
	for _, p := range slices.Concat(shared.Optional, a.assign.Optional) {
		l.match(p)
	}
	return l.list, asked
}

// pattern is a pattern of outputs, or the name of an output in the log, with the names of its files in the list of
// wanted files.
type pattern struct {
	text     string
	required bool
	names    []string
}

// unmet returns the patterns and names for which no file was collected, in their order. outputs[i] is the result of
// collecting files[i]. It returns at most jjm.MaxUnmet entries; the last entry then counts the others.
func unmet(asked []pattern, files []wanted, outputs []jjm.Output) (all []jjm.Unmet) {
	at := map[string]*jjm.Output{} // the outputs by the names of the files
	for i, w := range files {
		at[w.name] = &outputs[i]
	}
	for _, ask := range asked {
		u := jjm.Unmet{Pattern: clip(ask.text, maxPattern), Why: noMatch, Required: ask.required}
		met := false
		for _, name := range ask.names {
			o := at[name]
			if met = o == nil || o.Absent == ""; met {
				break
			}
			if u.Left == "" {
				u.Why, u.Left = clip(o.Absent, maxPattern), o.Left
			}
		}
		if !met {
			all = append(all, u)
		}
	}
	if more := len(all) - jjm.MaxUnmet; more > 0 {
		all = all[:jjm.MaxUnmet]
		last := &all[jjm.MaxUnmet-1]
		last.Pattern, last.Patterns = fmt.Sprintf("%s and %d more", last.Pattern, more), int64(more)+1
	}
	return all
}

// maxPattern is the greatest length, in bytes, of a pattern in a result, and of the reason why it has no output.
const maxPattern = 200

// noMatch is the reason for a pattern that no file matches.
const noMatch = "no file matches this pattern"

// lister makes the list of the files to collect.
type lister struct {
	a    *attempt
	glob globbing
	list []wanted
	seen map[string]bool // the files in list: their names, or the absolute paths of files to copy
	// optional is set while optional patterns are matched.
	optional bool
	// blind is set if the file system hangs. Then no file is examined, and all files are left out.
	blind bool
}

// add appends a file, unless the file is already in the list.
func (l *lister) add(w wanted) {
	key := w.name
	if w.from != "" {
		key = w.from
	}
	if !l.seen[key] {
		l.seen[key] = true
		w.optional = l.optional
		if l.blind && w.absent == "" {
			w.absent, w.left = overdue, jjm.LeftTime
		}
		l.list = append(l.list, w)
	}
}

// file adds the file that the application's log names, and returns its name in the list. A relative name is below
// work/. A file outside of the attempt's folder must have an absolute name, and will be copied to returned/.
func (l *lister) file(name string) string {
	w := wanted{name: name}
	clean := path.Join(sandbox.WorkName, name)
	below, inside := strings.CutPrefix(path.Clean(name), l.a.dir+"/")
	switch {
	case path.IsAbs(name) && inside:
		w.name = below
	case path.IsAbs(name):
		w.name, w.from = path.Join(sandbox.ReturnedName, path.Base(name)), path.Clean(name)
	case filepath.IsLocal(clean) && strings.HasPrefix(clean, sandbox.WorkName+"/"):
		w.name = clean
	default:
		w.absent = "not below the job's directory"
	}
	l.add(w)
	return w.name
}

// match adds the files that match a glob pattern, and returns their names in the list. If no file matches, it adds the
// pattern itself with the reason, unless the pattern is optional. A pattern without meta characters is the name of a
// file.
func (l *lister) match(p string) (names []string) {
	clean := path.Clean(p)
	take := func(name, absent string) {
		l.take(wanted{name: name, absent: absent}, &names)
	}
	if p == "" || !fs.ValidPath(clean) || clean == "." {
		take(p, "not a pattern below the job's directory")
		return names
	}
	below := path.Join(sandbox.WorkName, clean)
	if l.blind {
		take(below, "")
		return names
	}
	if !hasMeta(clean) {
		switch _, err := l.a.lstat(below); {
		case !errors.Is(err, fs.ErrNotExist):
			take(below, "")
		case !l.optional:
			take(below, cause(err))
		}
		return names
	}
	l.glob.looked, l.glob.unread, l.glob.stopped = 0, nil, ""
	matches, err := l.glob.match(clean)
	for _, m := range matches {
		if !l.a.isInput(m) {
			take(path.Join(sandbox.WorkName, m), "")
		}
	}
	for _, w := range l.glob.unread {
		l.take(w, &names)
	}
	switch {
	case err != nil:
		l.take(wanted{name: below, absent: cause(err), left: l.glob.stopped}, &names)
	case len(matches)+len(l.glob.unread) == 0 && !l.optional:
		take(below, noMatch)
	}
	return names
}

// take adds a file to the list, and its name to names, the names that belong to the pattern being matched.
func (l *lister) take(w wanted, names *[]string) {
	l.add(w)
	*names = append(*names, w.name)
}

// isInput reports whether a name in work/ is the link to an input that the wrapper made, and so no output.
func (a *attempt) isInput(name string) bool {
	target, err := a.root.Readlink(sandbox.WorkName + "/" + name)
	return err == nil && target == a.inputTarget(name)
}
