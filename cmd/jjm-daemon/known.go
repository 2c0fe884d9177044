package main

import (
	"context"
	"os"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// daemonPlace holds the flags for the place of the daemon, as in all commands.
type daemonPlace struct {
	Socket string `placeholder:"PATH" help:"The daemon's socket is at this path."`
	State  string `placeholder:"DIR" help:"The daemon keeps its state in this folder."`
}

// known holds the daemon's answers about the files of a job file's datasets.
type known struct {
	open bool // more files may be added to the dataset that is processed
	lies map[fileOf]string
}

// fileOf identifies a file of a part in the same way as [jjm.PartInput.Renamed]: by the kind of file or the secondary
// dataset, and by the LFN.
type fileOf struct{ of, lfn string }

// files requests the files of a dataset from the daemon.
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

// lying returns a part in which the names of files that local jobs made are replaced by their paths.
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
