package xmldb

import (
	"jjm/internal/jjm"
	"jjm/xmldb/head"
	"jjm/xmldb/internal/xmltext"
)

// maxChange is the largest size of a text in a change, in bytes.
const maxChange = 2 << 10

// PublishHistory writes the changes of a grid job, oldest first: as many of the latest changes as fit into
// head.MaxHistory. Publish must have written the record before. older is set if there were changes before these. The
// file has no foreign content. The errors are of the same kinds as the errors of Publish.
func (db *DB) PublishHistory(grid jjm.GridID, changes []jjm.JournalEntry, older bool) error {
	st := db.lock(grid)
	defer db.unlock(grid, st)
	b := appendHistory(grid, changes, older, jjm.At(db.now()))
	_, _, err := db.replace(grid.String(), head.HistoryFile, b, func() bool { return true })
	if err != nil {
		return jjm.Errorf(diskKind(err), "publish history of grid job %d in %s: %w%s", grid, db.dir, err, remedy(err))
	}
	return nil
}

// appendHistory encodes the latest changes that fit.
func appendHistory(grid jjm.GridID, changes []jjm.JournalEntry, older bool, written jjm.Time) []byte {
	lines := make([][]byte, 0, len(changes))
	size := 512 // size of the document around the changes
	for i := len(changes) - 1; i >= 0; i-- {
		line := appendChange(nil, &changes[i])
		if size += len(line); size > head.MaxHistory {
			older = true
			break
		}
		lines = append(lines, line)
	}
	b := append([]byte(prologue), `<history schemaVersion="`+SchemaVersion+`"`...)
	b = xmltext.Int(b, "gridjob", int64(grid))
	b = xmltext.Time(b, "written", written)
	b = append(xmltext.Flag(b, truncated, older), '>')
	for i := len(lines) - 1; i >= 0; i-- {
		b = append(b, lines[i]...)
	}
	return append(b, "\n</history>\n"...)
}

// appendChange appends the element of a change, on a separate line.
func appendChange(b []byte, e *jjm.JournalEntry) []byte {
	b = xmltext.Int(append(b, "\n<change"...), "seq", e.Seq)
	b = xmltext.Time(b, "time", e.Time)
	if e.First >= 0 {
		b = xmltext.Int(b, "first", int64(e.First))
		b = xmltext.Int(b, "last", int64(e.Last))
	}
	for _, a := range [...]struct{ name, text string }{{"from", e.From}, {"to", e.To}, {"source", e.Source},
		{"actor", e.Actor}} {
		text, _ := xmltext.Cut(a.text, maxChange)
		b = xmltext.OptAttr(b, a.name, text)
	}
	cause, _ := xmltext.Cut(e.Cause, maxChange)
	if cause == "" {
		return append(b, "/>"...)
	}
	return append(xmltext.Text(append(b, '>'), cause), "</change>"...)
}
