package main

import (
	"cmp"
	"fmt"
	"strings"

	"jjm/internal/api/plain"
	"jjm/internal/api/wire"
)

// datasetFile is a file of a dataset in the output of --json.
type datasetFile struct {
	Dataset string `json:"dataset"`
	wire.DatasetFile
}

// printFiles prints the files of datasets. It asks for and prints one page of files after the other, because a dataset
// may have very many.
func (d *showDatasets) printFiles(c *cli, sets []wire.DatasetState) error {
	for _, set := range sets {
		for from, more := int64(0), true; more; {
			got, err := d.send(c, wire.Dataset{Do: wire.DatasetFiles, Name: set.Name, From: from, All: true})
			if err != nil {
				return err
			}
			if err := d.printPage(c, set.Name, got.Files); err != nil {
				return err
			}
			from = got.Next
			more = from != 0
		}
	}
	return nil
}

// printPage prints some files of a dataset, as a table or as JSON.
func (d *showDatasets) printPage(c *cli, set string, files []wire.DatasetFile) error {
	if !d.JSON && len(files) > 0 {
		return c.filesTable(set, files)
	}
	for _, f := range files {
		if err := c.printJSON(datasetFile{Dataset: set, DatasetFile: f}); err != nil {
			return err
		}
	}
	return nil
}

func (c *cli) filesTable(set string, files []wire.DatasetFile) error {
	rows := [][]string{{"DATASET", "FILE", "EVENTS", "BYTES", "MARK", "READ BY", "REASON"}}
	for _, f := range files {
		var readers []string
		for _, r := range f.Readers {
			readers = append(readers, fmt.Sprintf("%s %s", r.Grid, r.State))
		}
		rows = append(rows, []string{set, f.LFN, fmt.Sprint(f.Events), fmt.Sprint(f.Size), f.State,
			cmp.Or(strings.Join(readers, ", "), "-"), cmp.Or(plain.Printable(f.Reason), "-")})
	}
	return c.table(rows, "DATASET", "FILE", "READ BY", "REASON")
}
