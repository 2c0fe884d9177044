package sge

import (
	"context"
	"encoding/xml"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"jjm/internal/jjm"
)

// site holds the settings of a Grid Engine that a probe found.
type site struct {
	maxTasks   int // max_aj_tasks: the largest number of tasks in one array; 0 for no limit
	slots      int
	maxCores   int // the largest number of slots of one host
	flushEvery time.Duration
	accounting bool
	// noRerun and noAppError are set if exit codes 99 and 100 have no special meaning.
	noRerun, noAppError bool
	probed              bool
}

// flushTime returns the longest time between the end of a task and its record: 15 s by default (sge_conf(5)).
func (s site) flushTime() time.Duration {
	if !s.probed {
		return 15 * time.Second
	}
	return s.flushEvery
}

// exitCodesHarmless reports whether exit codes of applications can neither rerun jobs nor put them into the error
// state.
func (s site) exitCodesHarmless() bool { return s.noRerun && s.noAppError }

// Probe queries the configuration and the hosts.
func (a *Adapter) Probe(ctx context.Context) error {
	text, err := a.show(ctx, "qconf", "-sconf")
	if err != nil {
		return a.wrap(err, "probe")
	}
	s, err := parseConf(text)
	if err != nil {
		return a.wrap(jjm.Errorf(jjm.Busy, "qconf -sconf: %w", err), "probe")
	}
	text, err = a.show(ctx, "qhost", "-q", "-xml")
	if err != nil {
		return a.wrap(err, "probe")
	}
	if s.slots, s.maxCores, err = parseHosts(text, a.cfg.Queue); err != nil {
		return a.wrap(jjm.Errorf(jjm.Busy, "qhost -q -xml: %w", err), "probe")
	}
	if !s.accounting {
		a.env.Warn("this Grid Engine keeps no accounting: only their wrappers report how jobs ended", "cluster", a.name,
			"remedy", "set accounting=true in reporting_params (qconf -mconf)")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.site, a.known = s, true
	return nil
}

// parseConf parses the output of qconf -sconf, which has lines "name value"; a backslash at the end continues a line.
func parseConf(text []byte) (site, error) {
	whole := strings.ReplaceAll(string(text), "\\\n", " ")
	conf := map[string]string{}
	for line := range strings.Lines(whole) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			conf[name] = strings.TrimSpace(value)
		}
	}
	s := site{probed: true, flushEvery: 15 * time.Second}
	n, err := strconv.Atoi(conf["max_aj_tasks"])
	if err != nil || n < 0 {
		return site{}, fmt.Errorf("max_aj_tasks %.40q is not a number of 0 or more", conf["max_aj_tasks"])
	}
	s.maxTasks = n
	reporting := params(conf["reporting_params"])
	s.accounting = reporting["accounting"] != "false"
	// The default of accounting_flush_time is flush_time.
	for _, name := range []string{"flush_time", "accounting_flush_time"} {
		if d, ok := clock(reporting[name]); ok {
			s.flushEvery = d
		}
	}
	master := params(conf["qmaster_params"])
	s.noRerun, s.noAppError = isTrue(master, "FORBID_RESCHEDULE"), isTrue(master, "FORBID_APPERROR")
	return s, nil
}

// params parses "name=value" words with blanks or commas between them. Names of qmaster_params may be in upper or lower
// case.
func params(text string) map[string]string {
	out := map[string]string{}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' }) {
		name, value, _ := strings.Cut(word, "=")
		out[name] = value
	}
	return out
}

func isTrue(params map[string]string, name string) bool {
	for n, v := range params {
		if strings.EqualFold(n, name) {
			return v == "" || v == "1" || strings.EqualFold(v, "true")
		}
	}
	return false
}

// clock parses "00:00:15".
func clock(text string) (time.Duration, bool) {
	parts := strings.Split(text, ":")
	if len(parts) != 3 {
		return 0, false
	}
	total := 0
	for _, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 || n > 1_000_000 {
			return 0, false
		}
		total = total*60 + n
	}
	return time.Duration(total) * time.Second, true
}

// parseHosts parses the output of qhost -q -xml. It returns the slots of all hosts and the slots of the largest host.
// Only the largest queue of a host counts, because the queues of one host may overlap; queues that are down or disabled
// do not count. queue may contain wildcards, and a host after "@"; "" means every queue.
func parseHosts(text []byte, queue string) (slots, largest int, err error) {
	var doc struct {
		XMLName xml.Name `xml:"qhost"`
		Hosts   []struct {
			Queues []struct {
				Name   string `xml:"name,attr"`
				Values []struct {
					Name  string `xml:"name,attr"`
					Value string `xml:",chardata"`
				} `xml:"queuevalue"`
			} `xml:"queue"`
		} `xml:"host"`
	}
	if err := decodeXML(text, "qhost", &doc); err != nil {
		return 0, 0, err
	}
	queue, _, _ = strings.Cut(queue, "@")
	for _, h := range doc.Hosts {
		most := 0
		for _, q := range h.Queues {
			if fits, _ := path.Match(queue, q.Name); queue != "" && !fits {
				continue
			}
			n, usable := 0, true
			for _, v := range q.Values {
				switch v.Name {
				case "slots":
					n, _ = strconv.Atoi(strings.TrimSpace(v.Value))
				case "state_string":
					usable = !strings.ContainsAny(v.Value, "udDE")
				}
			}
			if usable {
				most = max(most, n)
			}
		}
		slots, largest = slots+most, max(largest, most)
	}
	return slots, largest, nil
}
