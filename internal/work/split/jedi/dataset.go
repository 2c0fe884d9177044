package jedi

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"jjm/internal/jjm"
)

// Dataset is an input dataset of a task, and the position up to which its records are used.
type Dataset struct {
	Name    string
	Records []Record
	// Used is the position of the next record.
	Used int
	Attributes
}

// Attributes determine how many files of a secondary dataset a job gets.
type Attributes struct {
	// Repeat starts again with the first file at the end of the dataset. NoSplit adds all files to every job. Reusable
	// starts again if fewer files are left than a job needs.
	Repeat, NoSplit, Reusable bool
	// PerJob is the number of files of each job, 0 = by Ratio.
	PerJob int64
	// Ratio is the number of secondary files for each file of the master dataset. Whole is set if Ratio was written
	// without a decimal point.
	Ratio float64
	Whole bool
	// Events is the number of secondary events for each event of the job, 0 = not by events.
	Events float64
	// Offset is the number of files to skip at the beginning.
	Offset int
	// Pseudo is set if the dataset has no real files.
	Pseudo bool
}

// Sequence is the name of the dataset of sequence numbers. Each job gets one number.
const Sequence = jjm.SequenceDataset

var (
	ratioWords  = regexp.MustCompile(`ratio=(\d+(?:\.\d+)*)`)
	eventWords  = regexp.MustCompile(`er=(\d+(?:\.\d+)*)`)
	perJobWords = regexp.MustCompile(`np=(\d+)`)
	offsetWords = regexp.MustCompile(`of=(\d+)`)
)

// ParseAttributes parses attributes in JEDI's notation, such as "repeat,ratio=2" or "np=3,ru".
// Words that do not influence the cutting are ignored.
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

// filesFor returns the number of secondary files for n files of the master dataset, by Ratio.
func (a *Attributes) filesFor(n int64) int64 {
	return int64(math.Ceil(float64(n) * a.Ratio))
}

// next returns at most n records from the current position on, without marking them as used.
func (d *Dataset) next(n int64) []Record {
	rest := d.Records[min(d.Used, len(d.Records)):]
	return rest[:max(0, min(n, int64(len(rest))))]
}

// around returns n records from the current position on. After the last record it continues with the first; it
// returns each record at most once.
func (d *Dataset) around(n int64) []Record {
	batch := slices.Clone(d.next(n))
	again := min(n, int64(len(d.Records))) - int64(len(batch))
	return append(batch, d.Records[:max(0, again)]...)
}

// Unused reports whether records are left.
func (d *Dataset) Unused() bool { return d.Used < len(d.Records) }
