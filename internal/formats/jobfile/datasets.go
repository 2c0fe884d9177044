package jobfile

import (
	"fmt"
	"path"
	"reflect"
	"strings"

	"jjm/internal/jjm"
	"jjm/internal/work/catalogue"
)

// The limits of datasets in a job file. 10 000 inline files need fewer keys than a text may have; more files must be in
// a separate list.
const (
	maxDatasets     = 100
	maxInline       = 10_000
	maxProgramWords = 100
	maxProgramWord  = 4096
	maxSpans        = 10_000
)

// attributesForm is the form of JEDI's attributes.
var attributesForm = formOf(`^[a-z][a-z0-9_=.,]*$`, 255)

// datasets checks the datasets that the job reads, and the dataset that it fills.
func (c *checker) datasets(s *jjm.Spec) {
	if len(s.Datasets) > maxDatasets {
		c.problem("datasets", "%d datasets are too many: at most %d", len(s.Datasets), maxDatasets)
		return
	}
	first, masters := map[string]int{}, 0
	for i := range s.Datasets {
		d := &s.Datasets[i]
		field := fmt.Sprintf("datasets[%d]", i)
		if wrong := jjm.CheckDatasetName(d.Name); wrong != "" {
			c.problem(field+".name", "%s", wrong)
		} else if j, ok := first[d.Name]; ok {
			c.problem(field+".name", "%.60q is also the name of datasets[%d]", d.Name, j)
		} else {
			first[d.Name] = i
		}
		if !d.Secondary {
			if masters++; masters == 2 {
				c.problem(field, "is a second dataset whose files are to be processed: want secondary = true in all but one")
			}
		}
		c.dataset(field, d)
	}
	c.outputDataset(s.OutputDataset, first)
}

// outputDataset checks the dataset for the outputs. read has the indices of the datasets that the job reads, by name.
func (c *checker) outputDataset(name string, read map[string]int) {
	if name == "" {
		return
	}
	if wrong := jjm.CheckDatasetName(name); wrong != "" {
		c.problem("output_dataset", "%s", wrong)
	}
	if i, ok := read[name]; ok {
		c.problem("output_dataset", "%.60q is read by the same job (datasets[%d]), which would never end", name, i)
	}
}

// dataset checks one dataset that the job reads, mainly the source of its files.
func (c *checker) dataset(field string, d *jjm.DatasetInput) {
	if d.Attributes != "" && !attributesForm.matches(d.Attributes) {
		c.problem(field+".attributes", "%.60q: want JEDI's words separated by commas, such as repeat,ratio=2", d.Attributes)
	}
	var sources []string
	if d.Files != nil {
		sources = append(sources, "files")
		c.inline(field+".files", d.Files)
	}
	if d.From != "" {
		sources = append(sources, "from")
		c.listPath(field+".from", d.From)
	}
	if d.Watch != "" {
		sources = append(sources, "watch")
		if _, _, err := catalogue.SplitWatch(d.Watch); err != nil {
			c.problem(field+".watch", "%v", err)
		}
	}
	if d.Program != nil {
		sources = append(sources, "program")
		c.program(field+".program", d.Program)
	}
	if d.Incremental && d.Program == nil {
		c.problem(field+".incremental", "is for files listed by a program: give program, or leave it out")
	}
	if d.Container != "" {
		sources = append(sources, "container")
		if wrong := jjm.CheckDatasetName(d.Container); wrong != "" {
			c.problem(field+".container", "%s", wrong)
		}
	}
	if len(sources) > 1 {
		c.problem(field+"."+sources[1], "give only one of %s", strings.Join(sources, ", "))
	}
}

// listPath checks the path of a list.
func (c *checker) listPath(field, name string) {
	switch {
	case len(name) > maxPath:
		c.problem(field, "%d bytes are too long: at most %d", len(name), maxPath)
	case strings.Contains(name, "://"):
		c.problem(field, "%.40q is a URL: want a local file", name)
	}
}

// program checks a command that prints files.
func (c *checker) program(field string, words []string) {
	switch {
	case len(words) == 0 || words[0] == "":
		c.problem(field, `is empty: want the words of a command, such as ["catalogue", "--files"]`)
	case len(words) > maxProgramWords:
		c.problem(field, "%d words are too many: at most %d", len(words), maxProgramWords)
	}
	for i, w := range words[:min(len(words), maxProgramWords)] {
		if len(w) > maxProgramWord {
			c.problem(fmt.Sprintf("%s[%d]", field, i), "%d bytes are too long: at most %d", len(w), maxProgramWord)
		}
	}
}

// inline checks files, and wildcards for files, in the job file itself.
func (c *checker) inline(field string, files []jjm.Listed) {
	if len(files) > maxInline {
		c.problem(field, "%d files are too many: at most %d in a job file (from = names a list of them)", len(files),
			maxInline)
		return
	}
	first := map[string]int{}
	for i := range files {
		at := fmt.Sprintf("%s[%d]", field, i)
		if files[i].Wildcard != "" {
			c.wildcard(at, &files[i])
			continue
		}
		for _, p := range files[i].Problems() {
			c.problem(at+"."+p.Field, "%s", p.Text)
		}
		if j, ok := first[files[i].LFN]; ok {
			c.problem(at+".lfn", "%.60q is the LFN of %s[%d] too", files[i].LFN, field, j)
			continue
		}
		first[files[i].LFN] = i
	}
}

// wildcard checks an entry that stands for all files matching a wildcard.
func (c *checker) wildcard(field string, entry *jjm.Listed) {
	if _, _, err := catalogue.SplitWildcard(entry.Wildcard); err != nil {
		c.problem(field+".wildcard", "%v", err)
	}
	if !reflect.ValueOf(entry.File).IsZero() {
		c.problem(field, "a wildcard has no other keys: give the facts of a file in an entry with its lfn")
	}
}

// splitting checks that a table for the splitter says something: which splitter, or settings of the type's own one. The
// splitter itself checks its settings.
func (c *checker) splitting(s *jjm.Splitting) {
	if s != nil && s.By == "" && len(s.Params) == 0 {
		c.problem("split", `is empty: name a splitter, such as by = "FileBased", or give params`)
	}
}

// recovery checks the keys of a recovery.
func (c *checker) recovery(s *jjm.Spec) {
	if s.OnlyFrom != "" {
		c.listPath("only_from", s.OnlyFrom)
		if s.Only != nil {
			c.problem("only_from", "give only one of only, only_from")
		}
		for i, in := range s.Inputs { // only_from is packed together with the inputs
			if in.Name == path.Base(s.OnlyFrom) && in.Path != s.OnlyFrom {
				c.problem(fmt.Sprintf("inputs[%d].name", i),
					"%.40q is also the name of the list of only_from: give one of them another name", in.Name)
			}
		}
	}
	if s.Recovers < 0 || s.Recovers > maxNumber {
		c.problem("recovers", "%d is not a grid job: want its number, such as 17", int64(s.Recovers))
	}
	if s.RecoversGeneration < 0 || s.RecoversGeneration > maxNumber {
		c.problem("recovers_generation", "%d is no generation: want 1 or more", s.RecoversGeneration)
	} else if s.RecoversGeneration > 0 && s.Recovers == 0 {
		c.problem("recovers_generation", "needs recovers: give the grid job that this generation belongs to")
	}
	if s.RecoversNumber < 0 || s.RecoversNumber > maxNumber {
		c.problem("recovers_number", "%d is no number of a recovery: want 1 or more", s.RecoversNumber)
	} else if s.RecoversNumber > 0 && s.Recovers == 0 {
		c.problem("recovers_number", "needs recovers: give the grid job whose recoveries are counted")
	}
	if len(s.Only) > maxSpans {
		c.problem("only", "%d ranges are too many: at most %d", len(s.Only), maxSpans)
		return
	}
	next := int64(0)
	for i, span := range s.Only {
		field := fmt.Sprintf("only[%d]", i)
		switch {
		case span.Count < 1 || span.Count > maxNumber || span.First < 0 || span.First > maxNumber:
			c.problem(field, "first %d, count %d: want a first number from 0 on and a count from 1 on, up to %d", span.First,
				span.Count, int64(maxNumber))
			return
		case span.First < next:
			c.problem(field, "begins with %d, and the one before ends with %d: want ranges in ascending order that do not overlap",
				span.First, next-1)
		}
		next = span.Last() + 1
	}
	if s.FirstSerial < 0 || s.FirstSerial > maxNumber {
		c.problem("first_serial", "%d is out of range: want 1 to %d", s.FirstSerial, int64(maxNumber))
	}
}

// maxNumber is 2^53. A JSON number up to 2^53 is exact.
const maxNumber = 1 << 53
