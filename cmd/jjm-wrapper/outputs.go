package main

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"jjm"
	"jjm/glf"
	"jjm/sandbox"
)

// wanted is a file to collect, or the reason why it cannot be collected.
type wanted struct {
	// name is the path below the attempt's folder; for a file that is to be copied there, the path of the copy.
	name string
	// from is the absolute path of a file to copy, or "".
	from   string
	absent string
}

// inWork returns the name that the application knows.
func (w wanted) inWork() string { return strings.TrimPrefix(w.name, sandbox.WorkName+"/") }

// outputNames returns the files to collect (decision R24): those that match the patterns, those that SUCCEEDED names,
// and those of RETURN_FILE. Each file is in the list once. asked are the patterns with their files, the required ones
// first.
func (a *attempt) outputNames(said glf.Log) (list []wanted, asked []pattern) {
	l := lister{a: a, seen: map[string]bool{}}
	if a.root == nil {
		return nil, nil
	}
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
					l.file(name)
				}
			}
		}
	}
	for _, name := range said.Returns {
		l.file(name)
	}
	for _, name := range said.Ignored {
		l.add(wanted{name: name, absent: "RETURN_FILE wants an absolute path"})
	}
	return l.list, asked
}

// pattern is a pattern of outputs, and the names of the files that match it.
type pattern struct {
	text     string
	required bool
	names    []string
}

// unmet returns the patterns of which no file was collected, in their order. outputs[i] belongs to files[i].
func unmet(asked []pattern, files []wanted, outputs []jjm.Output) (all []jjm.Unmet) {
	absent := map[string]string{} // by the name of the file
	for i, w := range files {
		absent[w.name] = outputs[i].Absent
	}
	for _, ask := range asked {
		why := noMatch
		for _, name := range ask.names {
			if why = absent[name]; why == "" {
				break
			}
		}
		if why != "" && len(all) < jjm.MaxUnmet {
			all = append(all, jjm.Unmet{Pattern: clip(ask.text, maxPattern), Why: clip(why, maxPattern),
				Required: ask.required})
		}
	}
	return all
}

// maxPattern limits the text of a pattern, and of its reason, in a result, in bytes.
const maxPattern = 200

// noMatch is the reason why a pattern has no output.
const noMatch = "no file matches this pattern"

// lister collects the list of outputs.
type lister struct {
	a    *attempt
	list []wanted
	seen map[string]bool // names and absolute paths
}

// add appends a file that is not in the list yet.
func (l *lister) add(w wanted) {
	key := w.name
	if w.from != "" {
		key = w.from
	}
	if !l.seen[key] {
		l.seen[key] = true
		l.list = append(l.list, w)
	}
}

// file adds one file by name. A relative name is below work/.
func (l *lister) file(name string) {
	if !path.IsAbs(name) {
		clean := path.Join(sandbox.WorkName, name)
		if !filepath.IsLocal(clean) || !strings.HasPrefix(clean, sandbox.WorkName+"/") {
			l.add(wanted{name: name, absent: "not below the job's directory"})
			return
		}
		l.add(wanted{name: clean})
		return
	}
	if below, ok := strings.CutPrefix(path.Clean(name), l.a.dir+"/"); ok {
		l.add(wanted{name: below})
		return
	}
	l.add(wanted{name: path.Join(sandbox.ReturnedName, path.Base(name)), from: path.Clean(name)})
}

// match adds the files that match a glob pattern, and returns their names. If none matches, it adds the pattern with
// the reason. A pattern without meta characters is a name.
func (l *lister) match(p string) (names []string) {
	clean := path.Clean(p)
	take := func(name, absent string) {
		l.add(wanted{name: name, absent: absent})
		names = append(names, name)
	}
	if p == "" || !fs.ValidPath(clean) || clean == "." {
		take(p, "not a pattern below the job's directory")
		return names
	}
	below := path.Join(sandbox.WorkName, clean)
	if !strings.ContainsAny(clean, `*?[\`) {
		if _, err := l.a.root.Lstat(below); errors.Is(err, fs.ErrNotExist) {
			take(below, cause(err))
		} else {
			take(below, "")
		}
		return names
	}
	work, err := l.a.root.OpenRoot(sandbox.WorkName)
	if err != nil {
		take(below, cause(err))
		return names
	}
	defer work.Close()
	matches, err := fs.Glob(work.FS(), clean)
	switch {
	case err != nil:
		take(below, err.Error())
	case len(matches) == 0:
		take(below, noMatch)
	}
	for _, m := range matches {
		if !l.a.isInput(m) {
			take(path.Join(sandbox.WorkName, m), "")
		}
	}
	return names
}

// isInput reports whether a file in work/ is still the link to an input.
func (a *attempt) isInput(name string) bool {
	target, err := a.root.Readlink(sandbox.WorkName + "/" + name)
	return err == nil && target == a.inputTarget(name)
}
