package jedi

import (
	"slices"
	"strconv"
	"strings"
)

// Task is what a task says about its jobs.
type Task struct {
	// Rule is the split rule: "NF=3,MW=7200".
	Rule string `json:"rule,omitempty"`
	// The output, in bytes for each MB of input or for each event, and the work
	// space.
	OutPerMB    float64 `json:"out_per_mb,omitempty"`
	OutPerEvent bool    `json:"out_per_event,omitempty"`
	WorkSize    float64 `json:"work_size,omitempty"`
	// CPUTime is in HS06 seconds for each event, with HS06; Walltime in seconds
	// for each MB otherwise.
	HS06 bool `json:"hs06,omitempty"`
	// CorePower is how many HS06 a core has, where the queue does not say.
	CorePower  float64 `json:"core_power,omitempty"`
	CPUTime    float64 `json:"cpu_time,omitempty"`
	Walltime   float64 `json:"wall_time,omitempty"`
	BaseWall   float64 `json:"base_wall,omitempty"`
	Efficiency float64 `json:"efficiency,omitempty"`
	// Copies is by how many event-service jobs the work is shared; 0 = none.
	Copies float64 `json:"copies,omitempty"`
}

// WorkSize is the work space of a task that asks for so many bytes: 300 MB more.
func WorkSize(bytes float64) float64 { return bytes + 300*mb }

// number returns a number of the split rule, nil if it is not there.
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
	// MaxDirMB is the disk of a worker; nil = not known. MaxTime and MinTime are
	// in seconds, 0 = no bound.
	MaxDirMB         *float64
	MaxTime, MinTime float64
	Cores, CorePower float64
	DirectIO         bool
	// Weight is what the draw is by; 0 asks for one bunch at once, to find out.
	Weight float64
	// Queued, Assigned and Cap are jobs; nil = not known.
	Queued, Assigned, Cap *int64

	tried bool
}

// takes says whether the queue takes more jobs.
func (q *Queue) takes() bool { return q.Cap == nil || q.Queued == nil || *q.Cap > *q.Queued }

// Bunch is jobs for one queue.
type Bunch struct {
	Queue string
	Jobs  []Job
}

// The number of jobs for which a queue is chosen.
const (
	bunch      = 25
	scoutBunch = 2
)

// Options of Bunches.
type Options struct {
	// Scouts are the first jobs of a task; Merging jobs merge outputs.
	Scouts, Merging bool
	// Fields, where not nil, are the fields that the files of a job share.
	Fields []int
	// inMB repeats the public defect of Rules.OutPerByte.
	inMB bool
}

// Bunches cuts the whole chunk into jobs, bunch by bunch, each for a queue drawn
// by weight. The queues' weights and counts change with what they get. random
// gives numbers from 0 to below 1.
func (c *Chunk) Bunches(t *Task, queues []*Queue, o Options, random func() float64) []Bunch {
	var out []Bunch
	size := bunch
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
			if len(job.Master) == 0 { // too little for this queue
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

// draw chooses a queue with a probability in proportion to its weight, and
// lowers that by the jobs that it will get.
func draw(queues []*Queue, avoid []string, jobs int, random func() float64) *Queue {
	var fresh, able []*Queue
	total := 0.0
	for _, q := range queues {
		switch {
		case slices.Contains(avoid, q.Name):
		case q.Weight == 0 && !q.tried:
			fresh = append(fresh, q)
		case q.Weight != 0 && q.takes():
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
	q := able[len(able)-1] // should rounding leave something of the number
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
