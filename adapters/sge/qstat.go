package sge

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"jjm/adapters"
	"jjm/internal/jjm"
)

// entry is one line of qstat: tasks of one array in one state.
type entry struct {
	tag       jjm.Tag
	bulk      int64
	tasks     []span
	letters   string
	state     jjm.BatchState
	host      string
	submitted jjm.Time // only for waiting tasks, because qstat shows only one time
	started   jjm.Time // only for other tasks
}

// xmlJob is a job_list element of qstat -xml.
type xmlJob struct {
	Number    string `xml:"JB_job_number"`
	Name      string `xml:"JB_name"`
	Owner     string `xml:"JB_owner"`
	State     string `xml:"state"`
	Submitted string `xml:"JB_submission_time"`
	Started   string `xml:"JAT_start_time"`
	Queue     string `xml:"queue_name"`
	Tasks     string `xml:"tasks"`
}

// parseListing parses the output of qstat -xml for one user, with times in UTC. It omits jobs whose name is not a tag,
// and jobs that are not arrays, because they do not belong to jjm. It returns an error for an incomplete listing.
func parseListing(text []byte, user string) (entries []entry, unread []adapters.Unread, err error) {
	var doc struct {
		XMLName xml.Name `xml:"job_info"`
		Running []xmlJob `xml:"queue_info>job_list"`
		Pending []xmlJob `xml:"job_info>job_list"`
	}
	if err := decodeXML(text, "job_info", &doc); err != nil {
		return nil, nil, err
	}
	for _, j := range append(doc.Running, doc.Pending...) {
		tag := jjm.Tag(strings.TrimSpace(j.Name))
		if !tag.Valid() || strings.TrimSpace(j.Tasks) == "" || j.Owner != user || strings.TrimSpace(j.State) == "z" {
			continue
		}
		e, err := toEntry(tag, j)
		if err != nil {
			u := adapters.Unread{Tag: tag, Index: -1, Text: fmt.Sprintf("qstat: job %.40q (%s): %v", j.Number, tag, err)}
			if e.bulk > 0 {
				u.ID = strconv.FormatInt(e.bulk, 10)
			}
			unread = append(unread, u)
			continue
		}
		entries = append(entries, e)
	}
	return entries, unread, nil
}

func toEntry(tag jjm.Tag, j xmlJob) (entry, error) {
	number, err := strconv.ParseInt(strings.TrimSpace(j.Number), 10, 64)
	e := entry{tag: tag, bulk: number, letters: strings.TrimSpace(j.State)}
	if err != nil || number < 1 {
		return e, fmt.Errorf("no number")
	}
	if e.tasks, err = parseTasks(strings.TrimSpace(j.Tasks)); err != nil {
		return e, err
	}
	if e.state, err = batchState(e.letters); err != nil {
		return e, err
	}
	if _, host, ok := strings.Cut(strings.TrimSpace(j.Queue), "@"); ok {
		e.host = host
	}
	if e.submitted, err = parseTime(j.Submitted); err != nil {
		return e, err
	}
	e.started, err = parseTime(j.Started)
	return e, err
}

// parseTime parses a time of qstat -xml in UTC; 0 for "".
func parseTime(text string) (jjm.Time, error) {
	if text = strings.TrimSpace(text); text == "" {
		return 0, nil
	}
	t, err := time.Parse("2006-01-02T15:04:05", text)
	if err != nil {
		return 0, fmt.Errorf("time %.40q: want 2006-01-02T15:04:05", text)
	}
	return jjm.At(t), nil
}

// decodeXML parses a complete document with the given root. It returns an error if a banner surrounds the document, or
// its end is missing.
func decodeXML(text []byte, root string, doc any) error {
	text = bytes.TrimSpace(text)
	if !bytes.HasPrefix(text, []byte("<?xml")) || !bytes.HasSuffix(text, []byte("</"+root+">")) {
		return fmt.Errorf("not a whole XML document of %s: %.200q", root, text)
	}
	if err := xml.Unmarshal(printable(text), doc); err != nil {
		return fmt.Errorf("XML of %s: %w", root, err)
	}
	return nil
}

// printable replaces characters that XML forbids: names of jobs may contain any byte, and Grid Engine prints names
// unchanged.
func printable(text []byte) []byte {
	clean := utf8.Valid(text)
	for _, c := range text {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' {
			clean = false
			break
		}
	}
	if clean {
		return text
	}
	return bytes.Map(func(r rune) rune {
		if r == utf8.RuneError || r < ' ' && r != '\n' && r != '\t' && r != '\r' {
			return '?'
		}
		return r
	}, text)
}

// unescape reverses Grid Engine's own form of "<" in XML.
func unescape(text string) string { return strings.ReplaceAll(text, "%lt;", "<") }

// qstat lists the living jobs of a user, as whole arrays and parts of arrays. It also returns the unreadable jobs.
func (a *Adapter) qstat(ctx context.Context, owner jjm.Owner) ([]entry, []adapters.Unread, error) {
	text, err := a.show(ctx, "qstat", "-xml", "-u", owner.User)
	if err != nil {
		return nil, nil, err
	}
	entries, unread, err := parseListing(text, owner.User)
	if err != nil {
		return nil, nil, jjm.Errorf(jjm.Busy, "qstat -xml -u %s: %w", owner.User, err)
	}
	return entries, unread, nil
}

// show runs a command that changes nothing and returns its output. If the command fails or complains, the error is of
// kind Busy. Times are in UTC, because local times are ambiguous when daylight saving ends.
func (a *Adapter) show(ctx context.Context, argv ...string) ([]byte, error) {
	cli := a.cfg.CLI
	cli.Env = maps.Clone(cli.Env)
	if cli.Env == nil {
		cli.Env = map[string]string{}
	}
	cli.Env["TZ"] = "UTC"
	out, err := cli.Run(ctx, nil, argv...)
	switch {
	case err != nil:
		return nil, adapters.AsBusy(err)
	case out.Exit != 0 || len(bytes.TrimSpace(out.Stderr)) != 0:
		return nil, jjm.Errorf(jjm.Busy, "%s: exit %d: %s", strings.Join(argv, " "), out.Exit, brief(out.Stderr, out.Stdout))
	}
	return out.Stdout, nil
}

// wrap adds the cluster's name and the attempted action to an error, and keeps its kind.
func (a *Adapter) wrap(err error, format string, args ...any) error {
	kind := jjm.KindOf(err)
	if kind == jjm.Unclassified {
		kind = jjm.Internal
	}
	return jjm.Errorf(kind, "sge %s: %s: %w", a.name, fmt.Sprintf(format, args...), err)
}
