package all_test

import (
	"encoding/json"

	"jjm/handlers"
	"jjm/handlers/all"
	"jjm/internal/formats/jobfile"
	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

// Golden rows test the product: each becomes the text of a job file, which is parsed, checked and cut as in the daemon.
// The row also has the facts that a job file does not contain and the site knows: the clock, which cluster can read
// which storage, and the ends of other grid jobs.

// goldenJob is the job file of a golden row over the files of one dataset.
type goldenJob struct {
	by     string
	params map[string]json.RawMessage
	files  []jjm.File
	open   bool
	// first is the number of the first part; 0 means 1.
	first int64
	// request are the keys of the table request, and along are the secondary datasets.
	request map[string]any
	along   []jjm.DatasetInput
}

// text returns the job file as JSON.
func (g *goldenJob) text() (string, error) {
	raw := jjm.DatasetInput{Name: "raw", Open: g.open, Files: []jjm.Listed{}}
	for _, f := range g.files {
		f.Added = 0 // only the site sets this time
		raw.Files = append(raw.Files, jjm.Listed{File: f})
	}
	job := map[string]any{"type": "reprocess", "params": map[string]any{"command": []string{"reco"}},
		"split": map[string]any{"by": g.by, "params": g.params}, "datasets": append([]jjm.DatasetInput{raw}, g.along...)}
	if g.first > 1 {
		job["first_serial"] = g.first
	}
	if g.request != nil {
		job["request"] = g.request
	}
	text, err := json.Marshal(job)
	return string(text), err
}

// goldenCut is what the check and the cut of a golden row's job file result in.
type goldenCut struct {
	spec   *jjm.Spec
	params split.Params
	work   split.Work
	parts  []jjm.Part
	left   split.Left
}

// cutText checks a job file and cuts its work. The function site adds the facts that only the site knows, and may
// change the settings of the cut. The error is that of the check or of the cut.
func cutText(text string, site func(*split.Work, *split.Params)) (c goldenCut, err error) {
	doc, problems := jobfile.Parse("job.json", []byte(text))
	c.spec = &doc.Spec
	h, err := all.Registry().Get(c.spec.Type)
	if err != nil {
		return c, err
	}
	if problems = append(problems, problems.Unsaid(handlers.Examine(h, c.spec, handlers.Site{}))...); len(problems) > 0 {
		return c, doc.Locate(problems).Err()
	}
	cut, err := handlers.SplitBy(h, c.spec, handlers.Site{})
	if err != nil {
		return c, err
	}
	c.params, c.work = cut.Params, cut.Work
	if h.Describe().Reads {
		c.work, _ = handlers.Inline(c.spec)
		c.work.Closed = !c.spec.Datasets[0].Open
	}
	if site != nil {
		site(&c.work, &c.params)
	}
	s, err := split.Get(cut.Splitter)
	if err != nil {
		return c, err
	}
	c.parts, c.left, _, err = s.Cut(c.work, split.Limits{}, c.params, split.From(c.spec.FirstSerial))
	return c, err
}
