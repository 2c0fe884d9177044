// Package accounting writes the accounting log of BLAH. From this log a site's accounting (for example the blah parser
// of APEL) learns the person and the organisation to which a job of the batch system belongs. There is one line for
// each attempt that was in a batch system, with the batch system's real id.
//
// The package promises that each line is written exactly once, even after the last daemon was killed: [Open] finds the
// existing lines in the files. The caller decides which attempts have ended.
package accounting

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"jjm/internal/jjm"
)

// Entry is an attempt that has ended.
type Entry struct {
	// Seq is the number of the entry. Numbers increase within one store.
	Seq     int64
	Attempt jjm.AttemptID
	Owner   string      // the local account
	Origin  *jjm.Origin // nil if nothing is known about the sender of the grid job
	Queue   string      // "" is the default queue of the batch system
	Cluster string
	// Batch is the batch system's id, "" if the attempt never was in a batch system; such an entry gets no line. Submitted
	// is the time when the batch system accepted the job. If the time is unknown (0), the line has the time of the end
	// instead.
	Batch     string
	Submitted jjm.Time
	Ended     jjm.Time
}

// Line formats an entry like blahpd (the fields are defined by EGEE's BLAH accounting log). ce names the computing
// element: "ce.example.org:9619/ce.example.org". store is the identity of jjm's store; Open uses it to distinguish the
// lines of its store from the lines of other stores.
func Line(e Entry, ce, store string) string {
	o := e.Origin
	if o == nil {
		o = &jjm.Origin{}
	}
	when := e.Submitted
	if when == 0 {
		when = e.Ended
	}
	queue := e.Queue
	if queue == "" {
		queue = "default"
	}
	job := o.Job
	if job == "" {
		job = e.Attempt.Grid.String()
	}
	return fmt.Sprintf(
		`"timestamp=%s" "userDN=%s" "userFQAN=%s" "ceID=%s-%s-%s" "jobID=%s" "lrmsID=%s" "localUser=%s" "originBy=%s" "clientID=%s"`+"\n",
		when.Time().Format("2006-01-02 15:04:05"), plain(o.Subject), plain(o.VO), plain(ce), plain(e.Cluster), plain(queue),
		plain(job), plain(e.Batch), plain(e.Owner), originBy(o), client(e, store))
}

// originBy returns the source of userDN, userFQAN and jobID: "administrator" if the origin is trusted, "account" if the
// submitting account stated it.
func originBy(o *jjm.Origin) string {
	if o.Verified {
		return "administrator"
	}
	return "account"
}

// client returns jjm's own name of the attempt: STORE.SEQ.GRID.LOCAL.ATTEMPT.
func client(e Entry, store string) string {
	return fmt.Sprintf("%s.%d.%s.%d", plain(store), e.Seq, e.Attempt.LocalID, e.Attempt.Attempt)
}

// plain replaces the characters that would end the quotes or the line.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '"':
			return '\''
		case unicode.IsControl(r), r == '\u2028', r == '\u2029', r == utf8.RuneError:
			return ' '
		}
		return r
	}, s)
}

// Log appends to the files PATH-YYYYMMDD, one file for each day in UTC, like blahpd. Only one goroutine may use it.
type Log struct {
	path, ce, store string
	last            int64
}

// maxTail is the number of bytes that are read at the end of a file to find the last entry. This part of a file
// contains some hundred lines.
const maxTail = 256 << 10

// Open opens the log and determines which entries are in the files. done is the Seq of the last entry that was written
// according to the store. Open reads the two newest files, even if they are old, because the last daemon may have
// stopped days ago.
func Open(path, ce, store string, done int64) (*Log, error) {
	l := &Log{path: path, ce: ce, store: store, last: done}
	names, err := filepath.Glob(escaped(path) + "-" + strings.Repeat("[0-9]", 8))
	if err != nil {
		return nil, fmt.Errorf("accounting log %s: %w", path, err)
	}
	for _, name := range names[max(len(names)-2, 0):] { // sorted by their day
		seq, err := l.lastIn(name)
		if err != nil {
			return nil, fmt.Errorf("accounting log: find the last line (accounting.blah names the file): %w", err)
		}
		l.last = max(l.last, seq)
	}
	return l, nil
}

// escaped quotes the characters that have a meaning in a pattern.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

func (l *Log) file(day time.Time) string { return l.path + "-" + day.UTC().Format("20060102") }

// Last returns the Seq of the last entry that was written, or that needs no line.
func (l *Log) Last() int64 { return l.last }

// lastIn returns the Seq of the last entry of this store in a file, 0 if the file has no such entry.
func (l *Log) lastIn(name string) (int64, error) {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	text := make([]byte, min(info.Size(), maxTail))
	if _, err := f.ReadAt(text, info.Size()-int64(len(text))); err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	var last int64
	for line := range bytes.Lines(text) {
		_, rest, ok := bytes.Cut(line, []byte(`"clientID=`+plain(l.store)+"."))
		if !ok || !bytes.HasSuffix(line, []byte("\"\n")) {
			continue // a line of another store, or a line that a crash cut off
		}
		number, _, _ := bytes.Cut(rest, []byte("."))
		if n, err := strconv.ParseInt(string(number), 10, 64); err == nil {
			last = max(last, n)
		}
	}
	return last, nil
}

// Append writes the entries that are not in the files yet, and syncs them to the disk. After an error it may be called
// again with the same entries.
func (l *Log) Append(now time.Time, entries []Entry) error {
	var text []byte
	last := l.last
	for _, e := range entries {
		if e.Seq <= last {
			continue
		}
		last = e.Seq
		if e.Batch != "" {
			text = append(text, Line(e, l.ce, l.store)...)
		}
	}
	if len(text) > 0 {
		if err := l.write(l.file(now), text); err != nil {
			return fmt.Errorf("accounting log: append %d bytes (accounting.blah names the file): %w", len(text), err)
		}
	}
	l.last = last
	return nil
}

// write appends the text completely or not at all.
func (l *Log) write(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return err
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	begin := end
	if end > 0 { // end the last line, which a crash may have cut off
		var b [1]byte
		if _, err := f.ReadAt(b[:], end-1); err != nil {
			return err
		}
		if b[0] != '\n' {
			text = append([]byte("\n"), text...)
		}
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return errors.Join(err, f.Truncate(begin))
	}
	d, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
