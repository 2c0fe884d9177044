// Package accounting writes the accounting log of BLAH, by which a site's
// accounting (APEL's blah parser, for one) ties what the batch system accounts
// to the person and the organisation: one line for each attempt that was in a
// batch system, with the batch system's real id.
//
// A line is written exactly once: [Log] finds out at its start which ones are in
// the file, whatever ended the last daemon.
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

	"jjm"
)

// Entry is one attempt that has ended.
type Entry struct {
	// Seq numbers the entries of one store, upwards.
	Seq     int64
	Attempt jjm.AttemptID
	Owner   string      // the local account
	Origin  *jjm.Origin // nil if nothing is known of who sent the grid job
	Queue   string      // "" is the batch system's default queue
	Cluster string
	// Batch is the batch system's id, "" of an attempt that was never in one, which
	// gets no line. Submitted is when the batch system got it, 0 if that is not
	// known: the line then has the time of its end.
	Batch     string
	Submitted jjm.Time
	Ended     jjm.Time
}

// Line writes an entry in the format of blahpd (the fields are those of EGEE's
// BLAH accounting log). ce names the computing element:
// "ce.example.org:9619/ce.example.org". store is the nonce of jjm's store: by it
// Open knows its own lines from those of another store.
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

// originBy says whose word userDN, userFQAN and jobID are.
func originBy(o *jjm.Origin) string {
	if o.Verified {
		return "administrator"
	}
	return "account"
}

// client is jjm's own name of the attempt: STORE.SEQ.GRID.LOCAL.ATTEMPT.
func client(e Entry, store string) string {
	return fmt.Sprintf("%s.%d.%s.%d", plain(store), e.Seq, e.Attempt.LocalID, e.Attempt.Attempt)
}

// plain keeps a text within its quotes and its line.
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

// Log appends to PATH-YYYYMMDD, a file a day of UTC, as blahpd does. One goroutine
// uses it.
type Log struct {
	path, ce, store string
	last            int64
}

// maxTail is how much of a file's end is read to find the last entry: some
// hundred lines.
const maxTail = 256 << 10

// Open finds which entries are there. done is the Seq of the last one that the
// store knows as written. It reads the two newest files, however old they are: the daemon that
// wrote them may have been away for days.
func Open(path, ce, store string, done int64) (*Log, error) {
	l := &Log{path: path, ce: ce, store: store, last: done}
	names, err := filepath.Glob(escaped(path) + "-" + strings.Repeat("[0-9]", 8))
	if err != nil {
		return nil, fmt.Errorf("accounting log %s: %w", path, err)
	}
	for _, name := range names[max(len(names)-2, 0):] { // in the order of their days
		seq, err := l.lastIn(name)
		if err != nil {
			return nil, fmt.Errorf("accounting log: find the last line (accounting.blah names the file): %w", err)
		}
		l.last = max(l.last, seq)
	}
	return l, nil
}

// escaped quotes what a pattern would not take as itself.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

func (l *Log) file(day time.Time) string { return l.path + "-" + day.UTC().Format("20060102") }

// Last is the Seq of the last entry that was written or needs no line.
func (l *Log) Last() int64 { return l.last }

// lastIn finds the last entry of this store in a file.
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
			continue // another's, or one that was cut off by a crash
		}
		number, _, _ := bytes.Cut(rest, []byte("."))
		if n, err := strconv.ParseInt(string(number), 10, 64); err == nil {
			last = max(last, n)
		}
	}
	return last, nil
}

// Append writes the entries that are not there yet and syncs them to disk. After
// an error the same entries can be given again.
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

// write appends whole lines or nothing.
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
	if end > 0 { // a line that a crash cut off ends here
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
