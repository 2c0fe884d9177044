package command

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// ids describes the ids of a batch system's bulks and jobs.
type ids struct {
	bulk  *regexp.Regexp // matches a bulk's id
	form  template       // form of a job's id: BATCH_JOB_ID, and ARRAY_INDEX if there are arrays
	job   *regexp.Regexp // matches a job's id, according to form
	start *regexp.Regexp // matches an id that begins with the id of a bulk; group 1 is the bulk's id
	first int64          // index of the first job in an array
}

const nameIndex = "ARRAY_INDEX"

func (i ids) arrays() bool { return i.form.has(nameIndex) }

// write returns the id of a job from the id of its bulk and from index, the job's index in the batch system.
func (i ids) write(bulk, index string) string {
	return i.form.fill(values{words: map[string]string{nameBulkID: bulk, nameIndex: index}}, "")
}

// id returns the id of the job at a position (from 0) of its bulk.
func (i ids) id(bulk string, position int32) string {
	return i.write(bulk, strconv.FormatInt(int64(position)+i.first, 10))
}

// read splits a job's id into the id of its bulk and the job's position in the bulk, from 0. If the id does not have
// the form of a job's id, read returns an error and position -1; bulk is then the id at the beginning of the text, if
// the text begins with the id of a bulk, otherwise "".
func (i ids) read(id string) (bulk string, position int32, err error) {
	m := i.job.FindStringSubmatch(id)
	if m == nil {
		if m = i.start.FindStringSubmatch(id); m != nil {
			bulk = m[1]
		}
		return bulk, -1, fmt.Errorf("id %.60q is not of the form %s", id, i.form.text)
	}
	if !i.arrays() {
		return m[i.job.SubexpIndex(nameBulkID)], 0, nil
	}
	n, err := strconv.ParseInt(m[i.job.SubexpIndex(nameIndex)], 10, 32)
	bulk = m[i.job.SubexpIndex(nameBulkID)]
	if err != nil || n < i.first {
		return bulk, -1, fmt.Errorf("id %.60q: want an index from %d", id, i.first)
	}
	return bulk, int32(n - i.first), nil
}

// idExpression returns a regular expression that matches the ids of jobs. Its named groups capture the names in form.
func idExpression(form template, bulk string) string {
	var s strings.Builder
	seen := map[string]bool{}
	for _, p := range form.parts {
		switch p.name {
		case nameBulkID:
			s.WriteString(group(nameBulkID, bulk, seen))
		case nameIndex:
			s.WriteString(group(nameIndex, `[0-9]+`, seen))
		default:
			s.WriteString(regexp.QuoteMeta(p.literal))
		}
	}
	return s.String()
}

// anyID returns a regular expression that matches the ids that commands print, of single jobs and of whole bulks. It
// has no named groups.
func anyID(form template, bulk string) string {
	var s strings.Builder
	for _, p := range form.parts {
		switch p.name {
		case nameBulkID:
			s.WriteString(`(?:` + bulk + `)`)
		case nameIndex:
			s.WriteString(`[0-9]+`)
		default:
			s.WriteString(regexp.QuoteMeta(p.literal))
		}
	}
	return `(?:` + s.String() + `|` + bulk + `)`
}

// shell returns two sh(1) expressions for the script of a job: the job's index and its id. They use the variables of
// the job's environment.
func (i ids) shell(idVariable, indexVariable string) (index, id string) {
	id = `"` + i.write("${"+idVariable+"}", "${"+indexVariable+"}") + `"`
	switch {
	case !i.arrays():
		return "0", id
	case i.first == 0:
		return `"$` + indexVariable + `"`, id
	}
	return fmt.Sprintf("$((%s - %d))", indexVariable, i.first), id
}
