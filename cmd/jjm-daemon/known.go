package main

import (
	"context"
	"os"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// daemonPlace holds the flags for the place of the daemon. All commands that need the daemon have these flags.
type daemonPlace struct {
	Socket string `placeholder:"PATH" help:"The daemon's socket is at this path."`
	State  string `placeholder:"DIR" help:"The daemon keeps its state in this folder."`
}

// known holds the daemon's answers about the datasets of a job file. lies has the absolute paths of the files that
// local jobs of this site made.
type known struct {
	open bool // the dataset that is processed is open: more files may be added
	lies map[fileOf]string
}

// fileOf identifies a file of a part by its LFN and by the list that contains it: of is the name of a secondary
// dataset, or jjm.OwnFiles, as in [jjm.PartInput.Renamed].
type fileOf struct{ of, lfn string }

// files requests the files of a dataset from the daemon, and returns them. The error is of kind Invalid, also if no
// daemon answers.
func (k *known) files(at daemonPlace, d *jjm.DatasetInput) (files []jjm.File, err error) {
	daemon := &client.Client{Socket: client.Place{State: at.State, Socket: at.Socket, Getenv: os.Getenv}.SocketPath()}
	of := jjm.OwnFiles
	if d.Secondary {
		of = d.Name
	}
	if k.lies == nil {
		k.lies = map[fileOf]string{}
	}
	for from := int64(0); ; {
		a, err := client.Call(context.Background(), daemon, wire.VerbDataset(),
			wire.DatasetRequest{Dataset: &wire.Dataset{Do: wire.DatasetFiles, Name: d.Name, From: from}})
		if err != nil {
			return nil, jjm.Errorf(jjm.Invalid, "%w; so the files of %q are not known: name a list of them with --files LIST",
				err, d.Name)
		}
		for i := range a.Datasets.Files {
			f := &a.Datasets.Files[i]
			files = append(files, f.File)
			if f.Lies != "" {
				k.lies[fileOf{of, f.LFN}] = f.Lies
			}
		}
		for _, set := range a.Datasets.Shown {
			k.open = k.open || !d.Secondary && set.Closed == 0
		}
		if from = a.Datasets.Next; from == 0 {
			return files, nil
		}
	}
}

// lying returns a part in which the paths of files replace their LFNs, for the files that local jobs of this site made.
func (k *known) lying(part *jjm.Part) *jjm.Part {
	if part.Input == nil || len(k.lies) == 0 {
		return part
	}
	out := *part
	out.Input = part.Input.Renamed(func(of, lfn string) string {
		if path := k.lies[fileOf{of, lfn}]; path != "" {
			return path
		}
		return lfn
	})
	return &out
}
