package jedi

import (
	"slices"
	"strconv"
	"strings"
)

// Task holds the settings of a task that determine the size of its jobs.
type Task struct {
	// Rule is the split rule, such as "NF=3,MW=20"; docs/SPLITTERS.md lists its words.
	Rule string `json:"rule,omitempty"`
	// OutPerMB is the size of the output in bytes per MB of input, or per event if OutPerEvent is set. WorkSize is the
	// disk space in bytes that each job needs besides its input and output.
	OutPerMB    float64 `json:"out_per_mb,omitempty"`
	OutPerEvent bool    `json:"out_per_event,omitempty"`
	WorkSize    float64 `json:"work_size,omitempty"`
	// HS06 selects how the run time is estimated. If HS06 is set, CPUTime is used, in HS06 seconds per event. Otherwise
	// Walltime is used, in seconds per MB of input. BaseWall is added for each job, in seconds. Efficiency is the CPU
	// efficiency in percent.
	HS06 bool `json:"hs06,omitempty"`
	// CorePower is the HS06 value of a core, used if the queue does not state its own.
	CorePower  float64 `json:"core_power,omitempty"`
	CPUTime    float64 `json:"cpu_time,omitempty"`
	Walltime   float64 `json:"wall_time,omitempty"`
	BaseWall   float64 `json:"base_wall,omitempty"`
	Efficiency float64 `json:"efficiency,omitempty"`
	// Copies is the number of event-service jobs that share the work; 0 = one.
	Copies float64 `json:"copies,omitempty"`
}

// WorkSize returns the value of Task.WorkSize for a task that requests a number of bytes: JEDI adds 300 MB to the
// request.
func WorkSize(bytes float64) float64 { return bytes + 300*mb }

// number returns the value of a word of the split rule, for instance 3 for "NF" in "NF=3,MW=20". It returns nil if the
// rule does not have the word, or if the value is no whole number.
func (t *Task) number(token string) *int64 {
	for _, word := range strings.Split(t.Rule, ",") {
		name, text, _ := strings.Cut(strings.TrimSpace(word), "=")
		if name != token {
			continue
		}
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return &n
		}
	}
	return nil
}

// Queue is a queue of a cluster that may get jobs of a task.
type Queue struct {
	Name string
	// MaxDirMB is the disk space of a worker in MB; nil = unknown. MaxTime and MinTime are in seconds, 0 = no bound.
	MaxDirMB         *float64
	MaxTime, MinTime float64
	Cores, CorePower float64
	DirectIO         bool
	// Weight is proportional to the probability that the queue is drawn. A queue with weight 0 first gets one bunch as a
	// trial.
	Weight float64
	// Queued, Assigned and Cap are numbers of jobs; nil = unknown.
	Queued, Assigned, Cap *int64

	tried bool
}

// hasRoom reports whether the queue accepts more jobs.
func (q *Queue) hasRoom() bool { return q.Cap == nil || q.Queued == nil || *q.Cap > *q.Queued }

// Bunch is a group of jobs for one queue.
type Bunch struct {
	Queue string
	Jobs  []Job
}

// The numbers of jobs of a normal bunch and of a bunch of scouts, the first jobs of a task.
const (
	bunchSize  = 25
	scoutBunch = 2
)

// Options are the options of Bunches.
type Options struct {
	// Scouts is set for the first jobs of a task, Merging for jobs that merge outputs.
	Scouts, Merging bool
	// Fields, unless nil, are the positions of the LFN's fields that are equal for all files of a job.
	Fields []int
	// inMB reproduces a defect of the public code in Rules.OutPerByte, for tests that compare with recorded results of
	// that code.
	inMB bool
}

// Bunches cuts the whole chunk into jobs, bunch by bunch. It draws the queue of each bunch with a probability in
// proportion to the queue's weight, and updates the weights and counts of the queues. random returns numbers from 0 to
// below 1.
func (c *Chunk) Bunches(t *Task, queues []*Queue, o Options, random func() float64) []Bunch {
	var out []Bunch
	size := bunchSize
	if o.Scouts && !o.Merging {
		size = scoutBunch
	}
	var avoid []string
	for c.Master.Unused() {
		q := draw(queues, avoid, size, random)
		if q == nil {
			break
		}
		avoid = nil
		rules := t.Rules(q, o)
		b := Bunch{Queue: q.Name}
		for len(b.Jobs) < size {
			before := c.positions()
			job, ok := c.Next(&rules)
			if !ok {
				break
			}
			if len(job.Master) == 0 { // this queue needs longer jobs than the rest allows
				c.goBack(before)
				avoid = []string{q.Name}
				break
			}
			b.Jobs = append(b.Jobs, job)
		}
		if len(b.Jobs) > 0 {
			out = append(out, b)
		}
	}
	return out
}

func (c *Chunk) positions() []int {
	at := []int{c.Master.Used}
	for _, d := range c.Secondary {
		at = append(at, d.Used)
	}
	return at
}

func (c *Chunk) goBack(at []int) {
	c.Master.Used = at[0]
	for i, d := range c.Secondary {
		d.Used = at[i+1]
	}
}

// draw chooses a queue with a probability in proportion to its weight. It lowers the weight by the jobs that the queue
// will get.
func draw(queues []*Queue, avoid []string, jobs int, random func() float64) *Queue {
	var fresh, able []*Queue
	total := 0.0
	for _, q := range queues {
		switch {
		case slices.Contains(avoid, q.Name):
		case q.Weight == 0 && !q.tried:
			fresh = append(fresh, q)
		case q.Weight != 0 && q.hasRoom():
			able = append(able, q)
			total += q.Weight
		}
	}
	if len(fresh) > 0 {
		q := fresh[0]
		if len(fresh) > 1 {
			q = fresh[int(random()*float64(len(fresh)))]
		}
		q.tried = true
		return q
	}
	if len(able) == 0 {
		return nil
	}
	at := random() * total
	q := able[len(able)-1] // used if rounding errors leave a rest of the drawn number
	for _, one := range able {
		if at -= one.Weight; at <= 0 {
			q = one
			break
		}
	}
	if q.Queued != nil && q.Assigned != nil {
		before := *q.Queued
		now, assigned := before+int64(jobs), *q.Assigned+int64(jobs)
		q.Queued, q.Assigned = &now, &assigned
		q.Weight *= float64(before+1) / float64(now+1)
	}
	return q
}
