package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/work/catalogue"
)

// dataset are the commands about datasets.
type dataset struct {
	Add    addFiles       `cmd:"" help:"Add the files of a list; creates the dataset if it does not exist." example:"jjm dataset add raw files.jsonl"`
	Close  closeDataset   `cmd:"" help:"Say that no more files will come." example:"jjm dataset close raw"`
	Mark   markFiles      `cmd:"" help:"Mark files as unreadable, or as readable again." example:"jjm dataset mark raw f1 f2 lost --reason 'disk 7 is gone'"`
	Remove removeDatasets `cmd:"" help:"Remove datasets, so that their names are free again." example:"jjm dataset remove raw"`
	Show   showDatasets   `cmd:"" help:"Show one dataset, or all." example:"jjm dataset show raw"`
}

// datasets holds the flags that all commands about datasets share.
type datasets struct {
	UID  int  `name:"uid" placeholder:"UID" default:"-1" help:"For administrators: datasets of the account with this uid."`
	JSON bool `name:"json" help:"One JSON object per line."`

	place
}

// addFiles adds files to a dataset.
type addFiles struct {
	datasets
	Container string `placeholder:"NAME" help:"If the dataset does not exist, create it in this container, whose name job files may use for all its datasets."`
	Name      string `arg:"" name:"NAME" help:"The dataset."`
	File      string `arg:"" name:"FILE" help:"JSON lines or, if its name ends in .csv, CSV with a header; - is standard input."`
}

// closeDataset closes a dataset.
type closeDataset struct {
	datasets
	Name string `arg:"" name:"NAME" help:"The dataset."`
}

// markFiles marks files of a dataset.
type markFiles struct {
	datasets
	Reason string   `placeholder:"WHY" help:"Why the files are unreadable, or readable again. A mark needs a reason."`
	Dry    bool     `name:"dry-run" help:"Change nothing; show what would be done."`
	Name   string   `arg:"" name:"NAME" help:"The dataset."`
	Words  []string `arg:"" name:"LFN... STATE" help:"The files, then missing, lost, broken or ready."`
}

// removeDatasets removes datasets.
type removeDatasets struct {
	datasets
	Dry   bool     `name:"dry-run" help:"Change nothing; show what would be done."`
	Names []string `arg:"" name:"NAME" help:"The datasets."`
}

// showDatasets shows datasets.
type showDatasets struct {
	datasets
	Files bool   `help:"The files: the mark of each, and its state for each grid job that reads it."`
	Name  string `arg:"" optional:"" name:"NAME" help:"The dataset, or the container, whose datasets are shown; none: all."`
}

// Help returns the text of --help below the usage.
func (*addFiles) Help() string {
	return "Files that the dataset has already stay as they are. A list with a mistake adds nothing. It prints NAME " +
		"and how many files were new."
}

// Help returns the text of --help below the usage.
func (*closeDataset) Help() string {
	return "The grid jobs that read the dataset end once all of it is processed. It prints NAME closed, or NAME " +
		"no-change."
}

// Help returns the text of --help below the usage.
func (*markFiles) Help() string {
	return "jjm makes no more local jobs for unreadable files, and a grid job that lacks some ends as finished, not " +
		"done. A local job that owns such a file goes on if it was submitted, and if it completes, the file " +
		"counts as processed. If it was not submitted, it gives its files back, and another local job does the " +
		"others. The state ready removes marks: grid jobs that are still being cut process the files then; for " +
		"other grid jobs a recovery does (jjm verify --recovery). --reason is needed. It prints LFN STATE for " +
		"each file, then the local jobs that own it."
}

// Help returns the text of --help below the usage.
func (*removeDatasets) Help() string {
	return "This removes the list: the names of the files, their marks, and the dataset's place in its container. The " +
		"files on disk are never touched. The name is free again immediately. A dataset stays, with the reason, " +
		"while a grid job that is not over reads or fills it, while a grid job that has read it is not removed (jjm " +
		"remove), or while another dataset has files of it. After a dataset that a grid job filled is removed, jjm " +
		"remove can remove that grid job and its outputs. The name of a container removes only the container: its " +
		"datasets stay. It prints a line for each name: NAME removed, N files, or NAME error KIND TEXT. Datasets " +
		"are removed in the order of the names. For the owner and administrators."
}

// Run carries out jjm dataset add.
func (d *addFiles) Run(c *cli) error { return d.add(c, d.Name, d.File) }

// Run carries out jjm dataset close.
func (d *closeDataset) Run(c *cli) error { return d.close(c, d.Name) }

// lossReason is the error text about a missing reason for the loss or the return of files.
const lossReason = "--reason is missing: say why, for those who read it later"

// Run carries out jjm dataset mark.
func (d *markFiles) Run(c *cli) error {
	last := len(d.Words) - 1
	if last < 1 {
		return usage("want NAME LFN... missing|lost|broken|ready; see jjm dataset mark --help")
	}
	if d.Reason == "" && !d.Dry {
		return usage(lossReason)
	}
	return d.mark(c, d.Name, d.Words[:last], d.Words[last])
}

// Run carries out jjm dataset remove.
func (d *removeDatasets) Run(c *cli) error {
	all := results[wire.RemovedDataset]{c: c, command: "dataset remove",
		ask: func(names []string) ([]wire.RemovedDataset, error) {
			got, err := d.send(c, wire.Dataset{Do: wire.DatasetRemove, Names: names, DryRun: d.Dry})
			if err != nil {
				return nil, err
			}
			return got.Removed, nil
		},
		outcome: func(one wire.RemovedDataset) *wire.Error { return one.Error },
		show: func(one wire.RemovedDataset) error {
			if d.JSON {
				return c.printJSON(one)
			}
			_, err := fmt.Fprintln(c.out, removedText(&one, d.Dry))
			return err
		}}
	return all.of(inChunks(d.Names))
}

// removedText returns the line about one name: its error or, if it was removed, the number of files of the dataset or
// of datasets in the container. If dry is set, the line says what would be removed.
func removedText(one *wire.RemovedDataset, dry bool) string {
	done := "removed"
	if dry {
		done = "would be removed"
	}
	switch {
	case one.Error != nil:
		return fmt.Sprintf("%s error %s %s", field(one.Name), one.Error.Kind, plain.Printable(one.Error.Text))
	case one.Container:
		return fmt.Sprintf("%s %s, a container; its %s not", field(one.Name), done, jjm.Count(one.Datasets, "dataset"))
	}
	return fmt.Sprintf("%s %s, %s", field(one.Name), done, jjm.Count(one.Files, "file"))
}

// Help returns the text of --help below the usage.
func (*showDatasets) Help() string {
	return "The mark of a file is ready if it has none, else missing, lost or broken. READ BY names the grid jobs that cut " +
		"the dataset into local jobs, each with the state of the file for it: ready, picked, finished, failed, a mark, " +
		"or dropped (docs/WORDS.md)."
}

// Run carries out jjm dataset show.
func (d *showDatasets) Run(c *cli) error { return d.show(c, d.Name) }

// send sends an operation on datasets to the daemon, with the account of --uid, and returns the result. If root gets an
// error of kind Gone without --uid, the error says that --uid may be missing.
func (d *datasets) send(c *cli, w wire.Dataset) (*wire.Datasets, error) {
	if d.UID >= 0 {
		w.UID = &d.UID
	}
	a, err := ask(c, d.place, wire.VerbDataset(), wire.DatasetRequest{Dataset: &w})
	if jjm.KindOf(err) == jjm.Gone && d.UID < 0 && os.Getuid() == 0 {
		err = fmt.Errorf("%w; add --uid for a dataset of another account", err)
	}
	return a.Datasets, err
}

// maxBatch is the approximate length, in bytes, of the files in one request: a quarter of the longest request line,
// because JSON needs more bytes than a line of the list.
const maxBatch = wire.MaxRequest / 4

// add sends the files of the list file, in several requests if there are many, and prints how many files were new.
func (d *addFiles) add(c *cli, name, file string) error {
	files, err := readList(c, file)
	if err != nil {
		return err
	}
	added := 0
	for first := true; first || len(files) > 0; first = false {
		n, bytes := 0, 0
		for n < len(files) && n < wire.MaxFiles && bytes < maxBatch {
			bytes += len(catalogue.Line(files[n]))
			n++
		}
		got, err := d.send(c, wire.Dataset{Do: wire.DatasetAdd, Name: name, Container: d.Container, Files: files[:n]})
		if err != nil {
			if added > 0 {
				err = fmt.Errorf("added before, which does no harm: %s: %w", jjm.Count(added, "file"), err)
			}
			return err
		}
		added, files = added+got.Added, files[n:]
	}
	if d.JSON {
		return c.printJSON(map[string]any{"name": name, "added": added})
	}
	_, err = fmt.Fprintf(c.out, "%s %d new\n", field(name), added)
	return err
}

// readList reads and parses the whole list of files before anything is sent. So if the list has a mistake, no file is
// added. The name - means standard input.
func readList(c *cli, file string) ([]jjm.File, error) {
	var r io.Reader = c.in
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, usage("%w", err)
		}
		defer func() { _ = f.Close() }()
		r = f
	} else {
		file = "standard input"
	}
	var files []jjm.File
	_, err := catalogue.Read(file, r, func(f jjm.File) error {
		files = append(files, f)
		return nil
	})
	return files, err
}

func (d *closeDataset) close(c *cli, name string) error {
	got, err := d.send(c, wire.Dataset{Do: wire.DatasetClose, Name: name})
	if err != nil {
		return err
	}
	if d.JSON {
		return c.printJSON(map[string]any{"name": name, "changed": got.Changed})
	}
	word := "no-change"
	if got.Changed {
		word = "closed"
	}
	_, err = fmt.Fprintf(c.out, "%s %s\n", field(name), word)
	return err
}

// mark sets the state of files, which marks them as unreadable or removes their marks, and prints the effect on each
// file. It then prints which grid jobs lack files.
func (d *markFiles) mark(c *cli, name string, lfns []string, state string) error {
	got, err := d.send(c, wire.Dataset{Do: wire.DatasetMark, Name: name, LFNs: lfns, State: state, Reason: d.Reason,
		DryRun: d.Dry})
	if err != nil {
		return err
	}
	lacking := map[jjm.GridID]bool{}
	for _, m := range got.Marked {
		if d.JSON {
			err = c.printJSON(m)
		} else {
			_, err = fmt.Fprintln(c.out, markedText(&m))
		}
		if err != nil {
			return err
		}
		for _, id := range m.Without {
			lacking[id] = true
		}
	}
	for _, id := range slices.Sorted(maps.Keys(lacking)) {
		c.say("grid job %s does without some of them: once it is over, jjm verify %s --recovery FILE writes a job file that does the rest", id, id)
	}
	return nil
}

// markedText returns the line about one file: its state, the local jobs that own it or gave it back, and the grid jobs
// that can process it again or continue without it.
func markedText(m *wire.MarkedFile) string {
	text := field(m.LFN) + " " + m.State
	if m.Before {
		text += " no-change"
	}
	for _, owners := range []struct {
		word   string
		locals []string
	}{{"owned by", m.Locals}, {"given back by", m.Back}} {
		if len(owners.locals) > 0 {
			text += " " + owners.word + " " + strings.Join(owners.locals, " ")
		}
	}
	for _, readers := range []struct {
		word  string
		grids []jjm.GridID
	}{{"again in", m.Again}, {"not in", m.Without}} {
		for i, id := range readers.grids {
			if i == 0 {
				text += " " + readers.word
			}
			text += " " + id.String()
		}
	}
	return text
}

func (d *showDatasets) show(c *cli, name string) error {
	got, err := d.send(c, wire.Dataset{Do: wire.DatasetShow, Name: name})
	if err != nil {
		return err
	}
	if d.Files {
		return d.printFiles(c, got.Shown)
	}
	if d.JSON {
		for _, s := range got.Shown {
			if err := c.printJSON(s); err != nil {
				return err
			}
		}
		return nil
	}
	if len(got.Shown) == 0 {
		_, err := c.out.WriteString("no datasets\n")
		return err
	}
	if err := c.datasetTable(got.Shown); err != nil {
		return err
	}
	return c.readers(got.Shown)
}

func (c *cli) datasetTable(all []wire.DatasetState) error {
	rows := [][]string{{"NAME", "UID", "FILES", "EVENTS", "BYTES", "STATE", "CONTAINER"}}
	for _, s := range all {
		state := "open"
		if s.Closed != 0 {
			state = "closed " + plain.Stamp(s.Closed)
		}
		rows = append(rows, []string{s.Name, fmt.Sprint(s.UID), fmt.Sprint(s.Files), fmt.Sprint(s.Events),
			fmt.Sprint(s.Bytes), state, cmp.Or(s.Container, "-")})
	}
	return c.table(rows, "NAME", "CONTAINER")
}

// readers prints, for each dataset, the datasets from which a container got its files, and the grid jobs that read the
// dataset.
func (c *cli) readers(sets []wire.DatasetState) error {
	for _, s := range sets {
		for _, o := range s.Origins {
			if _, err := fmt.Fprintf(c.out, "has %s of %s\n", jjm.Count(o.Files, "file"), o.Name); err != nil {
				return err
			}
		}
		for _, r := range s.Readers {
			if _, err := fmt.Fprintf(c.out, "read by %s (%s)%s\n", r.Grid, r.Status, inputText(r.Input)); err != nil {
				return err
			}
		}
	}
	return nil
}

// inputText returns how much of a dataset a grid job has processed. For a dataset that the grid job only reads in
// addition to its master dataset, it returns ": comes along".
func inputText(in wire.Input) string {
	if !in.Master {
		return ": comes along"
	}
	n := in.Counts
	text := fmt.Sprintf(": %d of %s finished, %d failed, %d in work", n.Finished, jjm.Count(n.ToBeUsed, "file"), n.Failed,
		n.Used-n.Finished-n.Failed)
	if n.ToBeUsed < n.Files {
		text += fmt.Sprintf(", %d left out", n.Files-n.ToBeUsed)
	}
	return text
}
