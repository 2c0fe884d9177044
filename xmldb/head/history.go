package head

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"jjm/internal/jjm"
)

// HistoryFile is the name of the file with the latest changes of a grid job, within the grid job's folder; MaxHistory
// is the largest size of this file in bytes.
const (
	HistoryFile = "history.xml"
	MaxHistory  = 512 << 10
)

// History holds the latest changes of a grid job, according to its record.
type History struct {
	// Changes are the latest changes, oldest first. Older is set if there were earlier changes.
	Changes []jjm.JournalEntry
	Older   bool
	Written jjm.Time
}

// ReadHistory reads the changes of a grid job. The error is of kind Gone if its record has none, Denied if the caller
// may not read it, and Internal if the file is not a history.
func ReadHistory(dir string, grid jjm.GridID) (History, error) {
	path := filepath.Join(dir, grid.String(), HistoryFile)
	data, err := readFile(path, MaxHistory)
	if errors.Is(err, fs.ErrNotExist) {
		text := fmt.Sprintf("there is no history of grid job %d in %s", grid, dir)
		return History{}, jjm.Errorf(jjm.Gone, "%w", missing{text, err})
	}
	if err != nil {
		return History{}, jjm.Errorf(kind(err), "read history of grid job %d: %w", grid, err)
	}
	h, err := parseHistory(data, grid)
	if err != nil {
		return History{}, jjm.Errorf(jjm.Internal, "read history of grid job %d: %s: %w", grid, path, err)
	}
	return h, nil
}

// parseHistory reads the document of the history of a grid job.
func parseHistory(data []byte, grid jjm.GridID) (h History, err error) {
	p := parser{d: xml.NewDecoder(bytes.NewReader(data))}
	root, err := p.start("history")
	if err != nil {
		return h, err
	}
	a := attrs(root)
	if of := jjm.GridID(p.int(a, "history", "gridjob")); of != grid {
		return h, fmt.Errorf("the file is the history of grid job %d", of)
	}
	h.Older, h.Written = a["truncated"] == "true", p.time(a, "history", "written")
	err = p.children(func(e xml.StartElement) error {
		if e.Name.Local != "change" {
			return p.d.Skip()
		}
		change, err := p.change(grid, e)
		h.Changes = append(h.Changes, change)
		return err
	})
	if err != nil {
		return h, err
	}
	return h, p.err
}

// change reads one change to its end.
func (p *parser) change(grid jjm.GridID, e xml.StartElement) (c jjm.JournalEntry, err error) {
	a := attrs(e)
	c = jjm.JournalEntry{Seq: p.int(a, "change", "seq"), Time: p.time(a, "change", "time"), Grid: grid, First: -1,
		Last: -1, From: a["from"], To: a["to"], Source: a["source"], Actor: a["actor"]}
	if a["first"] != "" {
		c.First, c.Last = p.int32(a, "change", "first"), p.int32(a, "change", "last")
	}
	return c, p.text(&c.Cause)
}
