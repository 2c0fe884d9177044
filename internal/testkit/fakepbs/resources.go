package main

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The forms of values of resources.
var (
	numberForm = regexp.MustCompile(`^\d+$`)
	sizeForm   = regexp.MustCompile(`^(\d+)([kmgt]?)[bw]?$`)
	timeForm   = regexp.MustCompile(`^\d+(:\d+){0,2}$`)
	anyForm    = regexp.MustCompile(``)
)

// known maps resources to the forms of their values.
var known = map[string]*regexp.Regexp{
	"mem": sizeForm, "ncpus": numberForm, "ngpus": numberForm, "place": anyForm, "qos": anyForm, "scratch": sizeForm,
	"select": anyForm, "walltime": timeForm,
}

// setResources sets what a list of -l says.
func (j *job) setResources(list string) *refusal {
	for item := range strings.SplitSeq(list, ",") {
		name, value, _ := strings.Cut(item, "=")
		form, ok := known[name]
		switch {
		case !ok:
			return &refusal{code: 15035, text: "Unknown resource Resource_List." + name}
		case !form.MatchString(value):
			return &refusal{code: 15014, text: "Illegal attribute or resource value Resource_List." + name}
		}
		j.resources[name] = value
		if no := j.limits.read(name, value); no != nil {
			return no
		}
	}
	return nil
}

// read takes what a resource limits; select does that for its only chunk.
func (l *limits) read(name, value string) *refusal {
	switch name {
	case "walltime":
		l.walltime = seconds(value)
	case "mem":
		l.memory = size(value)
	case "ncpus":
		l.cores = number(value)
	case "select":
		for _, item := range strings.Split(value, ":")[1:] {
			name, value, _ := strings.Cut(item, "=")
			if known[name] == nil {
				return &refusal{code: 15035, text: "Unknown resource: " + name}
			}
			if no := l.read(name, value); no != nil {
				return no
			}
		}
	}
	return nil
}

// addDefaults adds what the server adds to every job.
func (j *job) addDefaults() {
	l, r := j.limits, j.resources
	r["nodect"] = "1"
	r["ncpus"] = cmp.Or(r["ncpus"], strconv.Itoa(l.cores))
	r["place"] = cmp.Or(r["place"], "pack")
	r["select"] = cmp.Or(r["select"], fmt.Sprintf("1:ncpus=%d", l.cores))
	if l.memory > 0 {
		r["mem"] = cmp.Or(r["mem"], sizeText(l.memory))
	}
	if l.walltime > 0 {
		r["walltime"] = clock(time.Duration(l.walltime) * time.Second)
	}
}

// vnode returns what the job takes of the node.
func (l limits) vnode() string {
	s := fmt.Sprintf("%s:ncpus=%d", server, l.cores)
	if l.memory > 0 {
		s += fmt.Sprintf(":mem=%dkb", l.memory>>10)
	}
	return s
}

func seconds(value string) (n int) {
	for part := range strings.SplitSeq(value, ":") {
		n = n*60 + number(part)
	}
	return n
}

func size(value string) int64 {
	m := sizeForm.FindStringSubmatch(value)
	if m == nil {
		return 0
	}
	return int64(number(m[1])) << (10 * max(0, strings.Index(" kmgt", m[2])))
}

func sizeText(n int64) string {
	if n%(1<<20) == 0 {
		return fmt.Sprintf("%dmb", n>>20)
	}
	return fmt.Sprintf("%dkb", n>>10)
}

// clock writes a duration as PBS does, "00:05:00".
func clock(d time.Duration) string {
	s := int(d.Seconds())
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
}
