package main

import (
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"jjm/glf"
	"jjm/sandbox"
)

// wanted is a file to collect, or the reason why it cannot be.
type wanted struct {
	// name is its path below the attempt's folder; of a file to copy there,
	// the path that it will have.
	name string
	// from is the absolute path to copy from, or "".
	from   string
	absent string
}

// inWork is the name as the application knows it.
func (w wanted) inWork() string { return strings.TrimPrefix(w.name, sandbox.WorkName+"/") }

// outputNames lists the files to collect (decision R24): those that the
// patterns match, those that SUCCEEDED names, and those of RETURN_FILE. Each
// file is listed once.
func (a *attempt) outputNames(said glf.Log) []wanted {
	l := lister{a: a, seen: map[string]bool{}}
	if a.root == nil {
		return nil
	}
	lists := [][]string{a.job.Outputs, a.assign.Outputs}
	if a.assign.Merge {
		lists = lists[1:]
	}
	for _, patterns := range lists {
		for _, p := range patterns {
			l.pattern(p)
		}
	}
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
	return l.list
}

// lister makes the list.
type lister struct {
	a    *attempt
	list []wanted
	seen map[string]bool // of names and of absolute paths
}

// add takes in a file unless it is in the list.
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

// file takes in one file by name: from work/ if it is relative.
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

// pattern takes in the files that match a glob pattern; one without match is
// told, one without meta characters is a name.
func (l *lister) pattern(p string) {
	clean := path.Clean(p)
	if p == "" || !fs.ValidPath(clean) || clean == "." {
		l.add(wanted{name: p, absent: "not a pattern below the job's directory"})
		return
	}
	if !strings.ContainsAny(clean, `*?[\`) {
		l.add(wanted{name: path.Join(sandbox.WorkName, clean)})
		return
	}
	work, err := l.a.root.OpenRoot(sandbox.WorkName)
	if err != nil {
		l.add(wanted{name: path.Join(sandbox.WorkName, clean), absent: cause(err)})
		return
	}
	defer work.Close()
	matches, err := fs.Glob(work.FS(), clean)
	if err != nil {
		l.add(wanted{name: path.Join(sandbox.WorkName, clean), absent: err.Error()})
		return
	}
	n := len(l.list)
	for _, m := range matches {
		if !l.a.isInput(m) {
			l.add(wanted{name: path.Join(sandbox.WorkName, m)})
		}
	}
	if len(matches) == 0 && len(l.list) == n {
		l.add(wanted{name: path.Join(sandbox.WorkName, clean), absent: "no file matches this pattern"})
	}
}

// isInput reports whether a file in work/ is still the link to an input.
func (a *attempt) isInput(name string) bool {
	target, err := a.root.Readlink(sandbox.WorkName + "/" + name)
	return err == nil && target == a.inputTarget(name)
}
