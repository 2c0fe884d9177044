package notify

import (
	"bytes"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"strings"
	"time"
	"unicode"

	"jjm/internal/jjm"
)

// maxCauses is the largest number of causes in an event.
const maxCauses = 5

// Event describes the end of a generation of a grid job. It is sent to the site's program as JSON, and is the content
// of mails.
type Event struct {
	// Event is the key of the event: the same after every repetition, and different for every other event.
	Event      string         `json:"event"`
	Job        int64          `json:"job"`
	Generation int            `json:"generation"`
	Name       string         `json:"name"`
	Type       string         `json:"type"`
	User       string         `json:"user"`
	Status     string         `json:"status"`
	Message    string         `json:"message"`
	Exit       int            `json:"exit"`
	Ended      string         `json:"ended"` // RFC 3339, UTC
	Counts     map[string]int `json:"counts"`
	Causes     []jjm.Cause    `json:"causes"`
	// Notify are the addresses in the job file.
	Notify []string `json:"notify"`
}

// EventOf returns the event for the end of a generation. job is the grid job at that end, message is the message for
// people, and key is the key of the event.
func EventOf(job jjm.GridJob, message, key string) Event {
	e := Event{Event: key, Job: int64(job.ID), Generation: job.Generation, Name: job.Spec.Name, Type: job.Spec.Type,
		User: job.Owner.User, Status: job.Status.String(), Message: message, Exit: job.Exit,
		Ended: job.Ended.Time().UTC().Format(time.RFC3339), Counts: map[string]int{}, Causes: []jjm.Cause{},
		Notify: job.Spec.Notify}
	for state, n := range job.Counts {
		if n > 0 {
			e.Counts[jjm.State(state).String()] = n
		}
	}
	for _, c := range job.Causes {
		if c.Text != "" && len(e.Causes) < maxCauses {
			e.Causes = append(e.Causes, c)
		}
	}
	return e
}

// CallVersion is the version of the form of [Call]. It changes if a reader of an earlier form could misunderstand the
// new form; an additional key does not change it.
const CallVersion = 1

// Call describes a change of a grid job's status. It is sent to servers as JSON.
type Call struct {
	Version int `json:"version"`
	// Event is the key of the event, as in [Event].
	Event      string `json:"event"`
	Job        int64  `json:"job"`
	Generation int    `json:"generation"`
	Name       string `json:"name"`
	Type       string `json:"type"`
	User       string `json:"user"`
	// Previous and Status are the statuses before and after the change.
	Previous string `json:"previous"`
	Status   string `json:"status"`
	Time     string `json:"time"` // RFC 3339, UTC
	// End is set if the status is final.
	End *CallEnd `json:"end,omitempty"`
}

// CallEnd is the end of a generation of a grid job.
type CallEnd struct {
	Message string         `json:"message"`
	Exit    int            `json:"exit"`
	Counts  map[string]int `json:"counts"`
	Causes  []jjm.Cause    `json:"causes"`
}

// CallEnd returns the end that the event describes, in the form for a Call.
func (e Event) CallEnd() *CallEnd {
	return &CallEnd{Message: e.Message, Exit: e.Exit, Counts: e.Counts, Causes: e.Causes}
}

// Mail returns the message about an event for one address (RFC 5322). The headers contain no text of the job beside
// its name, which is encoded; texts of the job are in the body. from may be empty.
func (e Event) Mail(from, to string) ([]byte, error) {
	var b bytes.Buffer
	header := func(name, value string) { fmt.Fprintf(&b, "%s: %s\n", name, value) }
	if from != "" {
		header("From", from)
	}
	header("To", to)
	header("Subject", mime.QEncoding.Encode("utf-8", fmt.Sprintf("jjm: grid job %d %s: %s", e.Job,
		cut(line(e.Name), maxName), e.Status)))
	header("Message-ID", "<"+e.Event+"@jjm.invalid>")
	header("JJM-Event", e.Event)
	header("Auto-Submitted", "auto-generated")
	header("MIME-Version", "1.0")
	header("Content-Type", "text/plain; charset=utf-8")
	header("Content-Transfer-Encoding", "quoted-printable")
	b.WriteString("\n")
	w := quotedprintable.NewWriter(&b)
	if _, err := w.Write([]byte(e.text())); err != nil {
		return nil, err
	}
	err := w.Close()
	return bytes.ReplaceAll(b.Bytes(), []byte("\r\n"), []byte("\n")), err // sendmail reads lines of this system
}

// The maximum lengths of texts of a job in a message, in bytes.
const (
	maxName = 64
	maxText = 1000
)

// text returns the body of a message.
func (e Event) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Grid job %d (%s) of %s has ended: %s.\n\n", e.Job, cut(line(e.Name), maxName), line(e.User), e.Status)
	if e.Generation > 1 {
		fmt.Fprintf(&b, "Generation: %d\n", e.Generation)
	}
	fmt.Fprintf(&b, "Message:    %s\nExit code:  %d\nEnded:      %s\n", cut(line(e.Message), maxText), e.Exit, e.Ended)
	if len(e.Causes) > 0 {
		b.WriteString("\nCauses:\n")
	}
	for _, c := range e.Causes {
		on := ""
		if c.Host != "" {
			on = " on " + cut(line(c.Host), maxName)
		}
		fmt.Fprintf(&b, "  %s: %s, such as %s%s\n", cut(line(c.Text), maxText), jjm.Count(c.Jobs, "local job"), c.First, on)
	}
	fmt.Fprintf(&b, "\nMore: jjm status %d; jjm why %d\n", e.Job, e.Job)
	return b.String()
}

// line returns a text as one line that no mail program and no terminal interprets.
func line(s string) string {
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, " "))
}

// cut shortens a text that is longer than most bytes. It cuts between two characters.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
