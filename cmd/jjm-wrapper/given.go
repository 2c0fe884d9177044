package main

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"jjm/internal/jjm"
	"jjm/sandbox"
)

// maxGone is the greatest number of unreadable files that a result names.
const maxGone = 1000

// linkGiven links the files that other local jobs made and that this part reads (Assignment.Given). The links are in a
// folder beside work/, where they cannot collide with outputs. If a file is missing, or is not the file that the local
// job made, linkGiven adds it to the Gone files of the result and returns an error, so that the application is not
// started.
func (a *attempt) linkGiven() error {
	if len(a.assign.Given) == 0 {
		return nil
	}
	if err := a.root.Mkdir(sandbox.InName, 0o700); err != nil {
		return err
	}
	for _, g := range a.assign.Given {
		if !filepath.IsLocal(g.Link) || path.Clean(g.Link) != g.Link || !filepath.IsLocal(g.Path) {
			return fmt.Errorf("file %.100q: want a name", g.Link)
		}
		link := path.Join(sandbox.InName, g.Link)
		if err := a.root.MkdirAll(path.Dir(link), 0o700); err != nil {
			return err
		}
		up := strings.Count(sandbox.AttemptDir(a.assign.AttemptID())+"/"+link, "/")
		if err := a.root.Symlink(strings.Repeat("../", up)+g.Path, link); err != nil {
			return err
		}
		is, why, err := a.area.CheckMade(g.Path, g.Size)
		if err != nil {
			return err
		}
		if is != jjm.FileReady && len(a.result.Gone) < maxGone {
			a.result.Gone = append(a.result.Gone, jjm.GoneFile{Link: g.Link, Why: why})
		}
	}
	if gone := a.result.Gone; len(gone) > 0 {
		return fmt.Errorf("%d of the files to read cannot be read, such as %s: %s", len(gone), gone[0].Link, gone[0].Why)
	}
	return nil
}
