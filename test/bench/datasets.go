package main

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

const (
	// smallParts and largeParts are the numbers of files in a part. Measurements with smallParts mainly depend on the
	// number of parts, and measurements with largeParts on the number of files.
	smallParts, largeParts = 5, 100
	// feedPeakMB is the most memory that a daemon may use while it splits a dataset of a million files.
	feedPeakMB = 1200
	// linearLimit limits the CPU time per file of a large dataset, as a multiple of the CPU time per file of a dataset
	// with a tenth of the files.
	linearLimit = 2
)

// fed holds the cost of one dataset: how long a daemon took to add its files and to split them into parts.
type fed struct {
	// added is the time until all files were added, made the time until all parts were stored, both from the first
	// request.
	added, made time.Duration
	cpu         time.Duration // CPU time of the daemon
	peakMB      float64
}

// datasets measures how fast files become parts, on a real daemon whose embedded cluster is paused so that local jobs
// use no CPU. It also processes one dataset completely, up to the tar.
func (b *bench) datasets() error {
	var last float64 // CPU time per file
	for i, n := range b.size.datasets {
		f, err := b.growingDataset(n)
		if err != nil {
			return err
		}
		alone, err := b.cut(split.MinFileBased, n)
		if err != nil {
			return err
		}
		what := fmt.Sprintf("%d files, %d per part, cut as they come: ", n, smallParts)
		b.beside("datasets", what+"files per second, from add to parts", rate(n, f.made), "", split.MinFileBased+" alone",
			rate(n, alone.CPU), 0)
		last = b.perFile(what, n, f, last, b.size.datasets[max(i-1, 0)])
	}
	n := b.size.feed
	f, err := b.standingDataset(n)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("%d files, %d per part, cut when all are there: ", n, largeParts)
	b.tell("datasets", what+"files per second, added", rate(n, f.added), "")
	b.tell("datasets", what+"files per second, from the grid job to parts", rate(n, f.made-f.added), "")
	b.perFile(what, n, f, last, b.size.datasets[len(b.size.datasets)-1])
	b.target("datasets", what+"peak memory of the daemon", f.peakMB, "MB", feedPeakMB)
	return b.wholeDataset(b.size.datasets[0])
}

// perFile adds the CPU time per file, compared with the CPU time per file of a smaller dataset.
func (b *bench) perFile(what string, n int, f fed, last float64, of int) float64 {
	each := float64(f.cpu.Microseconds()) / float64(n)
	if last == 0 {
		b.tell("datasets", what+"CPU of the daemon per file", each, "us")
	} else {
		b.beside("datasets", what+"CPU of the daemon per file", each, "us", fmt.Sprintf("%d files", of), last, linearLimit)
	}
	return each
}

func rate(n int, d time.Duration) float64 { return float64(n) / d.Seconds() }

// growingDataset measures how fast files become parts while further files are still added.
func (b *bench) growingDataset(n int) (fed, error) {
	return b.feed(n, func(d *realDaemon, f *fed) error {
		first := min(n, wire.MaxFiles)
		if err := d.addFiles(b, 0, first); err != nil {
			return err
		}
		id, err := d.reads(b, smallParts)
		if err == nil {
			err = d.addFiles(b, first, n)
		}
		if err != nil {
			return err
		}
		f.added = time.Since(d.began)
		return d.untilMade(b, id, n/smallParts)
	})
}

// standingDataset measures how fast files become parts if all files were added before.
func (b *bench) standingDataset(n int) (fed, error) {
	return b.feed(n, func(d *realDaemon, f *fed) error {
		if err := d.addFiles(b, 0, n); err != nil {
			return err
		}
		f.added = time.Since(d.began)
		id, err := d.reads(b, largeParts)
		if err != nil {
			return err
		}
		return d.untilMade(b, id, n/largeParts)
	})
}

// feed starts a separate daemon with a paused cluster, calls do, and measures the daemon.
func (b *bench) feed(n int, do func(*realDaemon, *fed) error) (f fed, err error) {
	b.say("  %d files", n)
	d, err := b.startDaemon(b.dir)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	if err := d.pause(b); err != nil {
		return f, err
	}
	before, err := timesOf(d.pid())
	if err != nil {
		return f, err
	}
	d.began = time.Now()
	if err := do(d, &f); err != nil {
		return f, err
	}
	f.made = time.Since(d.began)
	after, err := timesOf(d.pid())
	if err != nil {
		return f, err
	}
	f.cpu = after.minus(before).own
	f.peakMB, err = peakMB(strconv.Itoa(d.pid()))
	return f, err
}

// pause pauses the daemon's only cluster.
func (d *realDaemon) pause(b *bench) error {
	a, err := client.Call(b.ctx, &d.client, wire.VerbClusters(), wire.ClustersRequest{})
	if err != nil {
		return err
	}
	order := &wire.Order{Verb: jjm.OrderPause, Kind: jjm.OrderCluster, Name: a.Clusters[0].Name,
		Reason: "only the cutting is measured"}
	_, err = client.Call(b.ctx, &d.client, wire.VerbOrder(), wire.OrderRequest{Order: order})
	return err
}

// wholeDataset processes a dataset up to its tar, with local jobs that do nothing.
func (b *bench) wholeDataset(n int) (err error) {
	d, err := b.startDaemon(b.dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	began := time.Now()
	if err := d.addFiles(b, 0, n); err != nil {
		return err
	}
	_, err = client.Call(b.ctx, &d.client, wire.VerbDataset(),
		wire.DatasetRequest{Dataset: &wire.Dataset{Do: wire.DatasetClose, Name: "raw"}})
	if err != nil {
		return err
	}
	status, err := d.runJob(b.ctx, readsText(largeParts))
	if err != nil {
		return err
	}
	if status != jjm.Done.String() {
		return fmt.Errorf("the grid job is %s", status)
	}
	b.tell("datasets", fmt.Sprintf("%d files, %d per part, /bin/true: files per second, from add to the tar", n,
		largeParts), rate(n, time.Since(began)), "")
	return nil
}

// addFiles adds the files from..to-1 to the dataset.
func (d *realDaemon) addFiles(b *bench, from, to int) error {
	for ; from < to; from += wire.MaxFiles {
		files := make([]jjm.File, min(wire.MaxFiles, to-from))
		for i := range files {
			files[i] = jjm.File{LFN: fmt.Sprintf("/store/data/bench/%07d.root", from+i), Size: 2_000_000, Events: 100}
		}
		_, err := client.Call(b.ctx, &d.client, wire.VerbDataset(),
			wire.DatasetRequest{Dataset: &wire.Dataset{Do: wire.DatasetAdd, Name: "raw", Files: files}})
		if err != nil {
			return err
		}
	}
	return nil
}

// readsText returns a job file that reads the dataset.
func readsText(perPart int) string {
	return fmt.Sprintf("type = \"reprocess\"\nname = \"bench\"\nresult = \"exit\"\n[[datasets]]\nname = \"raw\"\n"+
		"[split]\nby = %q\nparams = { files_per_job = %d }\n[params]\ncommand = [\"/bin/true\"]\n", split.MinFileBased,
		perPart)
}

// reads submits a job file that reads the dataset.
func (d *realDaemon) reads(b *bench, perPart int) (jjm.GridID, error) {
	a, err := client.Call(b.ctx, &d.client, wire.VerbSubmit(),
		wire.SubmitRequest{Submit: &wire.Submit{Name: "job.toml", Text: readsText(perPart), BaseDir: d.state}})
	if err != nil {
		return 0, err
	}
	return a.Submit.ID, nil
}

// untilMade waits until a grid job has its local jobs.
func (d *realDaemon) untilMade(b *bench, id jjm.GridID, parts int) error {
	return until(b.ctx, fmt.Sprintf("%d local jobs are made", parts), 10*time.Minute, func() (bool, error) {
		a, err := client.Call(b.ctx, &d.client, wire.VerbLookup(), wire.LookupRequest{Many: wire.Refs(id.String())})
		if err != nil {
			return false, err
		}
		return a.Lookup[0].Counts.Total >= parts, a.Lookup[0].Error.Err()
	})
}
