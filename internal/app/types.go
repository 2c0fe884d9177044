package app

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"jjm/handlers"
	handlersall "jjm/handlers/all"
	"jjm/handlers/declared"
	"jjm/handlers/external"
	"jjm/internal/engine/floor/jobtype"
	"jjm/internal/jjm"
)

// checkTypes returns the problems of the folder of job types and of its files.
func (c *Config) checkTypes() jjm.Problems {
	if !filepath.IsAbs(c.JobTypes) {
		if !filepath.IsAbs(c.State) && c.JobTypes == filepath.Join(c.State, ownTypes) {
			return nil // the problem is reported for the key state
		}
		return jjm.Problems{{Field: "job_types", Text: fmt.Sprintf("%q: want an absolute path", c.JobTypes)}}
	}
	_, problems := c.Types()
	return problems
}

// describe runs the program of a type as this account, to get its description.
func describe(p handlers.Program) (handlers.Ran, error) {
	return jobtype.RunProgram(context.Background(), p)
}

// ownTypes is the name of the default folder of job types, below the state folder.
const ownTypes = "job-types.d"

// Types returns the job types of the site: those of jjm, those that its folder declares, and those of further files.
// The problems are all mistakes in the files; types without mistakes are returned all the same.
func (c *Config) Types(further ...string) (handlers.Registry, jjm.Problems) {
	own := handlersall.Registry()
	all := maps.Clone(own)
	if problems := typeFiles(c.JobTypes, os.Geteuid()); len(problems) > 0 {
		return all, problems
	}
	more, problems := declared.Load(c.JobTypes, own, describe)
	if strangers := typePrograms(more, c.JobTypes, os.Geteuid()); len(strangers) > 0 {
		return all, append(problems, strangers...)
	}
	maps.Copy(all, handlers.NewRegistry(more...))
	for _, path := range further {
		h, mistakes := declared.Read(path, describe)
		switch {
		case len(mistakes) > 0:
			problems = append(problems, mistakes...)
		case own[h.Type()] != nil:
			problems = append(problems, jjm.Problem{Where: filepath.Base(path), Field: "name",
				Text: fmt.Sprintf("%q is the name of a type of jjm itself: choose another", h.Type())})
		default:
			all[h.Type()] = h // it may replace a type of the site, as a newer version
		}
	}
	return all, problems
}

// Untold returns the reason for each type of the registry whose program does not describe it.
func Untold(types handlers.Registry) (problems jjm.Problems) {
	for _, name := range types.Types() {
		problems = append(problems, handlers.Learn(types[name])...)
	}
	return problems
}

// askTypes asks the programs of job types for their descriptions until all have answered. Because it runs in the
// background, a slow program delays nothing else, and a program that was repaired becomes usable.
func (a *App) askTypes(ctx context.Context, types handlers.Registry) {
	logged := map[string]bool{}
	for {
		problems := Untold(types)
		for _, p := range problems {
			if !logged[p.Text] {
				a.log.Error("a job type cannot be used", "error", p.Text)
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
