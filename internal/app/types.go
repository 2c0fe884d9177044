package app

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"jjm/handlers"
	handlersall "jjm/handlers/all"
	"jjm/handlers/declared"
	"jjm/handlers/external"
	"jjm/internal/engine/floor/jobtype"
	"jjm/internal/jjm"
	"jjm/internal/sys/rights"
)

// checkTypes returns the problems of the folder of job types that make all of its files unreadable. It does not return
// mistakes in a single file, because such a mistake turns off only the type of the file.
func (c *Config) checkTypes() jjm.Problems {
	if !filepath.IsAbs(c.JobTypes) {
		if !filepath.IsAbs(c.State) && c.JobTypes == filepath.Join(c.State, ownTypes) {
			return nil // the problem is reported for the key state
		}
		return jjm.Problems{{Field: "job_types", Text: fmt.Sprintf("%q: want an absolute path", c.JobTypes)}}
	}
	return typeFolder(c.JobTypes, os.Geteuid())
}

// describe runs the program of a type as this account, and returns the description that the program prints.
func describe(p handlers.Program) (handlers.Ran, error) {
	return jobtype.RunProgram(context.Background(), p)
}

// ownTypes is the name of the default folder of job types, below the state folder.
const ownTypes = "job-types.d"

// Types holds the job types of the site, and the mistakes in the files that declare types.
type Types struct {
	// Registry contains all job types by name. It also contains types that are off, that is, that accept no jobs because
	// their files have mistakes.
	Registry handlers.Registry
	// Off are the files with mistakes that are not in the Registry, because their names belong to other types.
	Off []handlers.Off
	// Loose are the mistakes in the folder of job types that do not belong to a single type.
	Loose jjm.Problems
}

// Mistakes returns all mistakes in the folder of job types.
func (t Types) Mistakes() (problems jjm.Problems) {
	for _, off := range t.filesOff() {
		for _, p := range off.Why {
			if !slices.Contains(problems, p) { // a file that several types read
				problems = append(problems, p)
			}
		}
	}
	return append(problems, t.Loose...)
}

// filesOff returns all types that are off because of mistakes in their files, including Off.
func (t Types) filesOff() []handlers.Off {
	files := handlers.Registry{}
	for name, h := range t.Registry {
		if _, off := h.(*declared.OffType); off {
			files[name] = h
		}
	}
	return files.AllOff(t.Off...)
}

// Types returns the job types of the site: jjm's own types, the types that its folder declares, and the types of
// further files. The problems are the problems of the folder as a whole, and all mistakes in the further files.
func (c *Config) Types(further ...string) (Types, jjm.Problems) {
	own := handlersall.Registry()
	out := Types{Registry: maps.Clone(own)}
	if problems := typeFolder(c.JobTypes, os.Geteuid()); len(problems) > 0 {
		return out, problems
	}
	loaded, err := declared.Folder{Dir: c.JobTypes, Known: own, Call: describe, Held: c.heldType}.Load()
	if err != nil {
		return out, jjm.Problems{{Field: "job_types", Text: err.Error()}}
	}
	maps.Copy(out.Registry, loaded.Types)
	out.Off, out.Loose = loaded.Off, loaded.Loose
	var problems jjm.Problems
	for _, path := range further {
		h, mistakes := declared.Read(path, describe)
		switch {
		case len(mistakes) > 0:
			problems = append(problems, mistakes...)
		case own[h.Type()] != nil:
			problems = append(problems, Taken(path, h.Type())...)
		default:
			out.Registry[h.Type()] = h // the file may declare a newer version of a type of the site
		}
	}
	return out, problems
}

// heldType returns the reason why the daemon must not trust a file of a job type, because others can change it.
func (c *Config) heldType(path string) error {
	return rights.Held(path, holdersOf(c.JobTypes, os.Geteuid()))
}

// Taken returns the problem of a file that declares a type of jjm itself, nil if jjm has no type of that name.
func Taken(path, name string) jjm.Problems {
	if handlersall.Registry()[name] == nil {
		return nil
	}
	return jjm.Problems{{Where: filepath.Base(path), Field: "name",
		Text: fmt.Sprintf("%q is the name of a type of jjm itself: choose another", name)}}
}

// Untold asks the programs of job types for descriptions. It returns one problem for each type whose program does not
// describe the type. Types whose files have mistakes are left out.
func Untold(types handlers.Registry) (problems jjm.Problems) {
	for _, name := range types.Types() {
		if _, off := types[name].(*declared.OffType); !off {
			problems = append(problems, handlers.Learn(types[name])...)
		}
	}
	return problems
}

// warnOff logs a warning about each file of a job type that has mistakes, with all its mistakes.
func (a *App) warnOff(types Types) {
	for _, off := range types.filesOff() {
		a.log.Warn("a job type is off: its file has mistakes, and all other types work", "type", off.Type, "file", off.File,
			"mistakes", oneLine(off.Why))
	}
	if len(types.Loose) > 0 {
		a.log.Warn("the folder of job types has mistakes that turn no type off", "mistakes", oneLine(types.Loose))
	}
}

// oneLine returns problems as one line.
func oneLine(problems jjm.Problems) string {
	texts := make([]string, len(problems))
	for i, p := range problems {
		texts[i] = p.String()
	}
	return strings.Join(texts, "; ")
}

// askTypes asks the programs of job types for their descriptions until all have answered. It runs in the background,
// so that a slow program delays nothing else and a repaired program becomes usable.
func (a *App) askTypes(ctx context.Context, types handlers.Registry) {
	logged := map[string]bool{}
	for {
		problems := Untold(types)
		for _, p := range problems {
			if !logged[p.Text] {
				a.log.Error("a job type is off until its program describes it", "error", p.Text)
			}
			logged[p.Text] = true
		}
		if len(problems) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(external.AskAgain):
		}
	}
}
