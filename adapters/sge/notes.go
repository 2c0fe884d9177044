package sge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/renameio/v2"

	"jjm/internal/jjm"
)

// notes stores jjm's own cancels, because Grid Engine does not record them: a task that waited leaves no record at all,
// and the record of a running task looks as if the job had killed itself. A note is written and synced before qdel
// runs, so it does not prove that the task was cancelled. It counts only if the task is neither listed nor recorded, or
// if the task's record shows that a signal ended it.
type notes struct {
	path string
	keep time.Duration

	mu   sync.Mutex
	made map[key]note
}

// note is the cancel of one task.
type note struct {
	user      string
	at        jjm.Time
	submitted jjm.Time
	// started is 0 if the task still waited when it was cancelled.
	started jjm.Time
}

// noteLine is a line of the file: tasks of one array that were cancelled together.
type noteLine struct {
	At        jjm.Time `json:"at"`
	User      string   `json:"user"`
	Tag       jjm.Tag  `json:"tag"`
	Job       int64    `json:"job"`
	Tasks     string   `json:"tasks"`
	Submitted jjm.Time `json:"submitted,omitempty"`
	Started   jjm.Time `json:"started,omitempty"`
}

// openNotes reads the file, and rewrites it without lines older than keep.
func openNotes(path string, keep time.Duration) (*notes, error) {
	n := &notes{path: path, keep: keep, made: map[key]note{}}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return n, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the notes of cancels: %w", err)
	}
	oldest := jjm.At(time.Now().Add(-keep))
	var kept []byte
	for line := range bytes.Lines(text) {
		l, err := parseNote(line)
		if err != nil || l.At < oldest { // qdel never ran for an incomplete line
			continue
		}
		n.take(l)
		kept = append(append(kept, bytes.TrimSpace(line)...), '\n')
	}
	if !bytes.Equal(kept, text) {
		if err := renameio.WriteFile(path, kept, 0o600, renameio.WithTempDir(filepath.Dir(path))); err != nil {
			return nil, fmt.Errorf("shorten the notes of cancels: %w", err)
		}
	}
	return n, nil
}

func parseNote(line []byte) (noteLine, error) {
	var l noteLine
	if err := json.Unmarshal(line, &l); err != nil {
		return l, err
	}
	if !l.Tag.Valid() || l.Job < 1 {
		return l, fmt.Errorf("want a tag and a job number")
	}
	_, err := parseTasks(l.Tasks)
	return l, err
}

func (n *notes) take(l noteLine) {
	spans, err := parseTasks(l.Tasks)
	if err != nil {
		return
	}
	each(spans, func(task int32) {
		k := key{l.Tag, l.Job, task}
		if _, had := n.made[k]; !had { // the first cancel counts
			n.made[k] = note{l.User, l.At, l.Submitted, l.Started}
		}
	})
}

// add writes notes. If it returns nil, the notes are on disk.
func (n *notes) add(lines []noteLine) error {
	if len(lines) == 0 {
		return nil
	}
	text := []byte{'\n'} // ends a line that a full disk may have cut short
	for _, l := range lines {
		line, err := json.Marshal(l)
		if err != nil {
			return err
		}
		text = append(append(text, line...), '\n')
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	f, err := os.OpenFile(n.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	for _, l := range lines {
		n.take(l)
	}
	return nil
}

// all returns the notes of a user. It forgets all notes older than keep.
func (n *notes) all(user string, now time.Time) map[key]note {
	n.mu.Lock()
	defer n.mu.Unlock()
	oldest := jjm.At(now.Add(-n.keep))
	maps.DeleteFunc(n.made, func(_ key, t note) bool { return t.at < oldest })
	out := map[key]note{}
	for k, t := range n.made {
		if t.user == user {
			out[k] = t
		}
	}
	return out
}

// report returns the end of a cancelled task that left no record.
func (t note) report(k key) jjm.Report {
	return jjm.Report{
		Tag: k.tag, Index: k.task - 1, ID: k.id(), State: jjm.BatchCancelled, Source: "jjm", Reason: "cancelled by jjm",
		Submitted: t.submitted, Started: t.started, Ended: t.at,
	}
}
