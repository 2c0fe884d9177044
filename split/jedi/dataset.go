package jedi

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"jjm"
)

// Dataset is an input dataset of a task and how far it was used.
type Dataset struct {
	Name    string
	Records []Record
	// Used is the position of the next record.
	Used int
	Attributes
}

// Attributes say how a secondary dataset goes with the master.
type Attributes struct {
	// Repeat begins anew at the end; NoSplit gives all files to every job;
	// Reusable begins anew when fewer files are left than a job needs.
	Repeat, NoSplit, Reusable bool
	// PerJob files go to each job, 0 = by ratio.
	PerJob int64
	// Ratio is how many files go with a file of the master; Whole says that it
	// was written without a decimal point.
	Ratio float64
	Whole bool
	// Events is how many secondary events go with an event, 0 = not by events.
	Events float64
	// Offset skips files, at the beginning.
	Offset int
	// Pseudo says that there are no real files.
	Pseudo bool
}

// Sequence names the dataset of sequence numbers: one for each job.
const Sequence = jjm.SequenceDataset

var (
	ratioWords  = regexp.MustCompile(`ratio=(\d+(?:\.\d+)*)`)
	eventWords  = regexp.MustCompile(`er=(\d+(?:\.\d+)*)`)
	perJobWords = regexp.MustCompile(`np=(\d+)`)
	offsetWords = regexp.MustCompile(`of=(\d+)`)
)

// ParseAttributes reads attributes as JEDI writes them: "repeat,ratio=2",
// "np=3,ru". What it does not know does not matter for cutting.
func ParseAttributes(name, text string) Attributes {
	words := strings.Split(text, ",")
	a := Attributes{Repeat: strings.Contains(text, "repeat"), NoSplit: strings.Contains(text, "nosplit"),
		Reusable: slices.Contains(words, "ru"), Pseudo: slices.Contains(words, "ps"), Ratio: 1, Whole: true}
	if m := ratioWords.FindStringSubmatch(text); m != nil {
		if x, err := strconv.ParseFloat(m[1], 64); err == nil {
			a.Ratio, a.Whole = x, !strings.Contains(m[1], ".")
		}
	}
	if m := eventWords.FindStringSubmatch(text); m != nil {
		a.Events, _ = strconv.ParseFloat(m[1], 64)
	}
	if m := perJobWords.FindStringSubmatch(text); m != nil {
		a.PerJob, _ = strconv.ParseInt(m[1], 10, 32)
	} else if name == Sequence {
		a.PerJob = 1
	}
	if m := offsetWords.FindStringSubmatch(text); m != nil && name != Sequence {
		a.Offset, _ = strconv.Atoi(m[1])
	}
	return a
}

// with is how many files go with n files of the master.
func (a *Attributes) with(n int64) int64 {
	return int64(math.Ceil(float64(n) * a.Ratio))
}

// next returns at most n records from the present one on, without using them.
func (d *Dataset) next(n int64) []Record {
	rest := d.Records[min(d.Used, len(d.Records)):]
	return rest[:max(0, min(n, int64(len(rest))))]
}

// Unused says whether records are left.
func (d *Dataset) Unused() bool { return d.Used < len(d.Records) }
