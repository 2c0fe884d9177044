package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"jjm/handlers"
	"jjm/internal/app"
	"jjm/internal/formats/jobfile"
	"jjm/internal/formats/shellwords"
	"jjm/internal/jjm"
	"jjm/internal/policy/plan"
	"jjm/internal/work/catalogue"
	"jjm/internal/work/split"
)

// splitJob is the command "jjm split", which shows how a job file would be split.
type splitJob struct {
	File    string `arg:"" help:"The job file."`
	Preview bool   `help:"Print the local jobs that it would make; submit nothing."`
	Files   string `help:"The files of a dataset that only the daemon or a program knows: JSON lines, or CSV." placeholder:"LIST"`
	Limit   int    `help:"Print at most this many local jobs (default: 20; 0 = all)." default:"20"`
	JSON    bool   `name:"json" help:"One JSON object per local job, then one with the sums."`
	Type    string `help:"A file that declares the job type, which the site need not have." placeholder:"TYPE.toml"`
	Config  string `help:"Configuration file (default: $$JJM_CONFIG, else ${config}, else none)." placeholder:"FILE"`

	daemonPlace

	known known
}

// Help returns the text of --help below the usage.
func (splitJob) Help() string {
	return `Nothing is stored or submitted. Files are read as this account. If the configuration
says which storages the clusters can read, the preview shows where each local job
may run. No daemon is needed, unless the job file reads a dataset whose files it does
not list, such as the output dataset of another grid job: the daemon is asked for
these, or --files lists them. The commands then name each file by the path at which
it lies. The preview does not know whether a cluster can satisfy the request, nor the
files that outputs of grid jobs were made from.

Exit code 0, 5 if the job file is wrong, or 4 if the program of its type did not end in its
time.

Example:
  $ jjm split --preview job.toml --limit 5`
}

// Run splits the job file and prints the local jobs.
func (s *splitJob) Run(stdout io.Writer) error {
	if !s.Preview || s.Limit < 0 {
		return &exit{exitUsage, fmt.Errorf("want: jjm split --preview JOBFILE, and --limit 0 or more")}
	}
	config, _, err := app.Load(s.Config, os.Getenv)
	if err != nil {
		return err
	}
	doc, wrong, err := s.read(config.Model)
	if err != nil {
		return err
	}
	site := handlers.Site{RecommendedCPU: config.Engine.RecommendedCPU, MaxCPU: config.Engine.MaxCPU,
		MaxLocalJobs: config.Engine.MaxLocalJobs, Open: s.open, Run: runProgram}
	p := &preview{out: bufio.NewWriter(stdout), json: s.JSON, limit: s.Limit, spec: &doc.Spec, known: &s.known}
	if p.handler, err = ready(&config, s.Type, site, &doc, wrong); err != nil {
		return err
	}
	cut, err := handlers.SplitBy(p.handler, &doc.Spec, site)
	if err != nil {
		return err
	}
	readers, problems := candidates(config.Readers(), &doc.Spec, &cut)
	if len(problems) > 0 {
		return doc.Locate(problems).Err()
	}
	if len(doc.Spec.Datasets) > 0 {
		if cut, err = s.files(&doc.Spec, site, cut, readers); err != nil {
			return err
		}
	}
	if err := p.print(cut); err != nil {
		return err
	}
	return p.out.Flush()
}

// ready completes a job file with the plan of its job type, and returns the type. wrong are the mistakes that were
// found in the text of the job file. If there are mistakes, the error has these mistakes and the mistakes that only the
// type can find. If a file that declares a type has mistakes, the error has only these.
func ready(config *app.Config, file string, site handlers.Site, doc *jobfile.Doc, wrong jjm.Problems) (handlers.Handler,
	error) {
	if doc.Incomplete {
		return nil, wrong.Err()
	}
	h, err := typeOf(config, file, &doc.Spec)
	var mistakes jjm.Problems
	switch {
	case errors.As(err, &mistakes):
		return nil, err // about the files that declare types
	case err != nil:
		mistakes = jjm.Problems{{Field: "type", Text: strings.TrimPrefix(err.Error(), "type: ")}}
	default:
		mistakes = typeMistakes(h, site, &doc.Spec)
	}
	return h, doc.Locate(append(wrong, wrong.Unsaid(mistakes)...)).Err()
}

// typeMistakes completes a job file with the plan of its job type, and returns the mistakes that the type finds in it.
func typeMistakes(h handlers.Handler, site handlers.Site, spec *jjm.Spec) jjm.Problems {
	planned, mistakes := handlers.Ready(h, spec, site)
	*spec = *planned
	if spec.Merge != nil {
		_, more := handlers.MergeCutting(spec)
		mistakes = append(mistakes, more...)
	}
	return mistakes
}

// typeOf returns the job type that a job file names. file, if it is not "", declares a job type in addition to the
// types of the site. The error is of type jjm.Problems if a file that declares types has mistakes.
func typeOf(config *app.Config, file string, spec *jjm.Spec) (handlers.Handler, error) {
	var further []string
	if file != "" {
		further = append(further, file)
	}
	types, problems := config.Types(further...)
	if len(problems) > 0 {
		return nil, problems.Err()
	}
	return types.Registry.Get(spec.Type)
}

// candidates returns those of the site's clusters that a job file may use. It also returns the problems of the job file
// that depend on the site: in its list of clusters, and in its splitter's settings.
func candidates(site []plan.Reader, spec *jjm.Spec, cut *handlers.Cutting) ([]plan.Reader, jjm.Problems) {
	names := make([]string, len(site))
	for i, r := range site {
		names[i] = r.Name
	}
	clusters, problems := plan.Candidates(spec.Clusters, names)
	problems = append(problems, plan.CheckSiteLists("split.params", &cut.Params, names, clusters)...)
	if spec.Merge != nil {
		merge, _ := handlers.MergeCutting(spec) // Run reported its problems
		problems = append(problems, plan.CheckSiteLists("merge.split.params", &merge.Params, names, clusters)...)
	}
	return slices.DeleteFunc(slices.Clone(site), func(r plan.Reader) bool {
		return !slices.Contains(clusters, r.Name)
	}), problems
}

// read reads and parses the job file. model finds the models of the site. wrong are the mistakes in the text of the job
// file; the error means that the file could not be read.
func (s *splitJob) read(model func(string) (jobfile.Model, jjm.Problems)) (doc jobfile.Doc, wrong jjm.Problems,
	err error) {
	f, err := os.Open(s.File)
	if err != nil {
		return doc, nil, &exit{exitUsage, fmt.Errorf("job file: %w", err)}
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, jjm.MaxJobFile+1))
	if err != nil {
		return doc, nil, fmt.Errorf("job file: %w", err)
	}
	doc, wrong = jobfile.ParseGiven(s.File, text, jobfile.Given{Model: model})
	return doc, wrong, nil
}

// path returns a path of the job file. Relative paths begin at the folder of the job file.
func (s *splitJob) path(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Dir(s.File) + "/" + path
}

func (s *splitJob) open(path string) (io.ReadCloser, error) { return os.Open(s.path(path)) }

// files returns cut with the files of the datasets added to its work. readers are the clusters that may be used, with
// the storages that each can read. It returns an error if the files of a dataset are not known, or if there would be
// too many parts.
func (s *splitJob) files(spec *jjm.Spec, site handlers.Site, cut handlers.Cutting,
	readers []plan.Reader) (handlers.Cutting, error) {
	cut.Work.Closed = true
	if cut.Splitter == split.WMBSMergeBySize {
		return cut, jjm.Problems{{Field: "split.by",
			Text: cut.Splitter + " needs to know which local jobs made the files and how they ended, which is the daemon's knowledge: there is no preview of it"}}.Err()
	}
	for i := range spec.Datasets {
		d := &spec.Datasets[i]
		files, err := s.filesOf(d)
		if err != nil {
			return cut, fmt.Errorf("datasets[%d]: %w", i, err)
		}
		if d.Secondary {
			cut.Work.Secondary = append(cut.Work.Secondary, split.Stream{Files: files,
				Dataset: jjm.Dataset{Name: d.Name, Attributes: d.Attributes, Closed: !d.Open}})
			continue
		}
		cut.Work.Files, cut.Work.Closed = files, !d.Open && d.Watch == "" && !s.known.open
	}
	cut.Work.Sites = plan.Sites(readers, &cut.Params, cut.Work.Files)
	cut.Params = plan.Heeded(cut.Params, readers)
	whole, problems := site.Cut(cut, "split", "give each part more, or process fewer files")
	return whole, problems.Err()
}

// filesOf returns the files of a dataset: from the job file, from --files, from the list or the folder that the job
// file names, or from the daemon. The error is of kind Invalid if only a program of the site knows the files.
func (s *splitJob) filesOf(d *jjm.DatasetInput) (files []jjm.File, err error) {
	seen := map[string]bool{}
	list := func(name string, r io.Reader) error {
		_, err := catalogue.Read(name, r, func(f jjm.File) error {
			if seen[f.LFN] {
				return jjm.Errorf(jjm.Invalid, "%s: %.60q is there twice", name, f.LFN)
			}
			seen[f.LFN] = true
			files = append(files, f)
			return nil
		})
		return err
	}
	name, path := d.From, s.path(d.From)
	switch {
	case d.Files != nil:
		return catalogue.Expand(d.Files, math.MaxInt, regular)
	case !d.Secondary && s.Files != "":
		name, path = s.Files, s.Files
	case d.Watch != "":
		return s.listing(d.Watch)
	case d.From == "" && d.Program == nil && d.Container == "":
		return s.known.files(s.daemonPlace, d)
	case d.From == "":
		return nil, jjm.Errorf(jjm.Invalid,
			"the files of %q are known to the daemon or its program only: name a list of them with --files LIST", d.Name)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, jjm.Errorf(jjm.Invalid, "list of files: %w", err)
	}
	defer func() { _ = f.Close() }()
	return files, list(name, f)
}

// inline replaces the datasets of a job file by lists of the files that they have now, for a test of a job type. It
// returns an error if only a daemon or a program knows the files of a dataset.
func (s *splitJob) inline(spec *jjm.Spec) error {
	for i := range spec.Datasets {
		d := &spec.Datasets[i]
		if d.Files == nil && d.From == "" && d.Watch == "" {
			return fmt.Errorf("datasets[%d]: only the daemon or a program knows the files of %q: for a test, list them with "+
				"files or from", i, d.Name)
		}
		files, err := s.filesOf(d)
		if err != nil {
			return fmt.Errorf("datasets[%d]: %w", i, err)
		}
		d.From, d.Watch, d.Open = "", "", false
		d.Files = make([]jjm.Listed, len(files))
		for j := range files {
			d.Files[j].File = files[j]
		}
	}
	return nil
}

// listing returns the files that a watched folder contains now. watch is the folder with a pattern of file names.
func (s *splitJob) listing(watch string) ([]jjm.File, error) {
	folder, pattern, err := catalogue.SplitWatch(watch)
	if err != nil {
		return nil, err
	}
	if folder, err = filepath.Abs(s.path(folder)); err != nil {
		return nil, err
	}
	entries, err := regular(folder)
	if err != nil {
		return nil, jjm.Errorf(jjm.Invalid, "watch: %w", err)
	}
	files, _, _ := catalogue.Listed(folder, pattern, entries, math.MaxInt64)
	return files, nil
}

// regular returns the regular files of a folder.
func regular(folder string) ([]catalogue.Entry, error) {
	found, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var entries []catalogue.Entry
	for _, e := range found {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			entries = append(entries, catalogue.Entry{Name: e.Name(), Size: info.Size(), Modified: jjm.At(info.ModTime())})
		}
	}
	return entries, nil
}

// preview prints the first parts while they are cut, and counts all of them.
type preview struct {
	out     *bufio.Writer
	json    bool
	limit   int
	spec    *jjm.Spec
	handler handlers.Handler
	made    int
	units   int64
	failed  int
	tally   *split.Tally
	outlook *handlers.Outlook // the expected merges of the outputs; nil before the first part
	known   *known
}

// print cuts the work into parts, and prints the first parts and the sums over all parts.
func (p *preview) print(cut handlers.Cutting) error {
	splitter, err := split.Get(cut.Splitter)
	if err != nil {
		return err
	}
	c, err := splitter.Start(cut.Work, cut.Params, split.From(p.spec.FirstSerial))
	if err != nil {
		return err
	}
	if p.tally, err = split.NewTally(cut.Splitter, cut.Params); err != nil {
		return err
	}
	for more := true; more; {
		var parts []jjm.Part
		var left split.Left
		parts, left, _ = c.Next(split.Limits{MaxParts: 5000})
		for i := range parts {
			if err := p.part(&parts[i]); err != nil {
				return err
			}
		}
		if more = left.More; !more {
			return p.end(&cut, &left)
		}
	}
	return nil
}

// partJSON is the JSON object that --json prints for one part.
type partJSON struct {
	Local   int      `json:"local"`
	Part    jjm.Part `json:"part"`
	Command []string `json:"command"`
}

// part counts one part. It prints the part, unless p.limit parts were already printed.
func (p *preview) part(part *jjm.Part) error {
	n := p.made
	p.made++
	p.units += part.Count
	if err := p.tally.Add(part); err != nil {
		return err
	}
	if part.Failure() != nil {
		p.failed++
	}
	if p.limit > 0 && n >= p.limit {
		p.outlook.Add(part)
		return nil
	}
	cmd, err := handlers.CommandForeseen(p.handler, p.spec, p.known.lying(part), n)
	if err != nil {
		return err
	}
	if p.outlook == nil {
		p.outlook = handlers.NewOutlook(p.spec, cmd)
	}
	p.outlook.Add(part)
	if p.json {
		return p.object(partJSON{n, *part, cmd.Argv})
	}
	_, err = fmt.Fprintf(p.out, "%d: %s\n   $ %s\n", n, printable(partText(part)), printable(shellwords.Join(cmd.Argv)))
	return err
}

func (p *preview) object(v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = p.out.Write(append(text, '\n'))
	}
	return err
}

// end prints the sums over all parts, and the files that no local job processes.
func (p *preview) end(cut *handlers.Cutting, left *split.Left) error {
	if p.outlook == nil {
		p.outlook = handlers.NewOutlook(p.spec, handlers.Command{})
	}
	merges, err := p.outlook.Merges(len(p.spec.Datasets) > 0 && !cut.Work.Closed)
	if err != nil {
		return err
	}
	out := p.tally.Left(&cut.Work, left.Dropped)
	if p.json {
		sums := struct {
			Jobs         int      `json:"jobs"`
			Units        int64    `json:"units"`
			Splitter     string   `json:"splitter"`
			Why          []string `json:"why"`
			CreateFailed int      `json:"createfailed"`
			Dropped      int      `json:"dropped"`
			Waiting      int      `json:"waiting"`
			WaitsFor     string   `json:"waits_for,omitempty"`

			Left jjm.LeftList `json:"left,omitempty"`

			Merge *jjm.MergeOutlook `json:"merge,omitempty"`
		}{p.made, p.units, cut.Splitter, cut.Why, p.failed, len(left.Dropped), left.Waiting, left.Why, out, merges}
		return p.object(sums)
	}
	say := func(format string, args ...any) { fmt.Fprintf(p.out, "%s\n", printable(fmt.Sprintf(format, args...))) }
	if n := p.made - p.limit; p.limit > 0 && n > 0 {
		say("and %d more", n)
	}
	say("%s makes %s: %s", p.spec.Type, jjm.Count(p.made, "local job"), strings.Join(cut.Why, "; "))
	if merges != nil {
		say("%s", merges.Text)
	}
	if p.failed > 0 {
		say("%d of them must not be submitted: createfailed", p.failed)
	}
	for _, l := range out {
		say("%s%s", l, map[bool]string{false: "; the grid job will not be done"}[l.Asked])
	}
	if left.Waiting > 0 {
		say("waiting: %s: %s", jjm.Count(left.Waiting, "file"), left.Why)
	}
	return nil
}

// maxNamed is the greatest number of files of a part whose names are printed.
const maxNamed = 5

// sectionsText returns the luminosity sections that a part processes, as text. If a single list for all files would
// contain sections that the part does not own, it returns a list for each file.
func sectionsText(in *jjm.PartInput) string {
	if lumis := in.LumiText(); lumis != "" {
		return ", sections " + lumis
	}
	text := ""
	for i, lfn := range in.Files[:min(maxNamed, len(in.Files))] {
		if lumis := in.LumisOf(i); lumis != "" {
			text += ", sections " + lumis + " of " + lfn
		}
	}
	return text
}

// filesText returns " of " and the first files of a part, "" if the part has none, as a row that has only settings.
func filesText(lfns []string) string {
	if len(lfns) == 0 {
		return ""
	}
	named := lfns[:min(maxNamed, len(lfns))]
	text := " of " + strings.Join(named, " ")
	if len(lfns) > len(named) {
		text += fmt.Sprintf(" and %d more", len(lfns)-len(named))
	}
	return text
}

// partText describes a part for people: its units, its files, and where its local job may run.
func partText(p *jjm.Part) string {
	text := p.Units()
	in := p.Input
	if in == nil {
		return text
	}
	text += filesText(in.Files) + sectionsText(in)
	if in.Mask.Events != (jjm.Span{}) {
		text += fmt.Sprintf(", told events %d+%d", in.Mask.Events.First, in.Mask.Events.Count)
	}
	if in.Place != nil && len(in.Place.Storages) > 0 {
		text += ", at " + strings.Join(in.Place.Storages, " ")
	}
	if in.Place != nil && len(in.Place.Clusters) > 0 {
		text += ", on " + strings.Join(in.Place.Clusters, " ")
	}
	if in.More != nil && len(in.More.Parents) > 0 {
		text += fmt.Sprintf(", reads %d parents along", len(in.More.Parents))
	}
	if f := p.Failure(); f != nil {
		text += fmt.Sprintf(", createfailed %d: %s", f.Code, f.Reason)
	}
	return text
}
