package main

import (
	"fmt"
	"slices"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/work/split"
)

const (
	// smallParts and largeParts are the numbers of files in a part. Measurements with smallParts mainly depend on the
	// number of parts, and measurements with largeParts on the number of files.
	smallParts, largeParts = 5, 100
	// feedPeakMB is the most memory that a daemon may use while it cuts a dataset of a million files.
	feedPeakMB = 1200
	// linearLimit limits the CPU time per file of a large dataset, as a multiple of the CPU time per file of a dataset
	// with a tenth of the files.
	linearLimit = 2
)

// fed holds the cost of one dataset: how long a daemon took to add its files and to cut them into parts.
type fed struct {
	// added is the time until all files were added, made the time until all parts were stored, both from the first
	// request.
	added, made time.Duration
	each        float64 // CPU time of the daemon per file, in microseconds
	peakMB      float64
}

// datasets measures how fast files become parts, on a real daemon whose embedded cluster is paused so that local jobs
// use no CPU. It also processes one dataset completely, up to the tar.
func datasets(b *bench) {
	few, many, most := b.size.datasets[0], b.size.datasets[1], b.size.feed
	small, large := b.growing(few), b.growing(many)
	b.tell(growingName(few)+"CPU of the daemon per file", small.each, "us")
	b.beside(growingName(many)+"CPU of the daemon per file", large.each, "us", fmt.Sprintf("%d files", few), small.each,
		linearLimit)
	f := b.feed(most, most, largeParts)
	what := fmt.Sprintf("%d files, %d per part, cut when all are there: ", most, largeParts)
	b.tell(what+"files per second, added", rate(most, f.added), "")
	b.tell(what+"files per second, from the grid job to parts", rate(most, f.made-f.added), "")
	b.beside(what+"CPU of the daemon per file", f.each, "us", fmt.Sprintf("%d files", many), large.each, linearLimit)
	b.target(what+"peak memory of the daemon", f.peakMB, "MB", feedPeakMB)
	b.onDaemon(b.dir, "", nil, func(d *daemon) {
		began := time.Now()
		d.addFiles(0, few)
		d.dataset(wire.Dataset{Do: wire.DatasetClose})
		d.finish(readsText(largeParts))
		b.tell(fmt.Sprintf("%d files, %d per part, /bin/true: files per second, from add to the tar", few, largeParts),
			rate(few, time.Since(began)), "")
	})
}

func growingName(n int) string {
	return fmt.Sprintf("%d files, %d per part, cut as they come: ", n, smallParts)
}

// growing measures the cutting of files while files are still added, and compares it with the splitter alone.
func (b *bench) growing(n int) fed {
	f := b.feed(n, min(n, wire.MaxFiles), smallParts)
	alone := b.cut(slices.IndexFunc(workloads(), func(l workload) bool { return l.name == split.MinFileBased }), n)
	b.beside(growingName(n)+"files per second, from add to parts", rate(n, f.made), "", split.MinFileBased+" alone",
		rate(n, alone.CPU), 0)
	return f
}

func rate(n int, d time.Duration) float64 { return float64(n) / d.Seconds() }

// feed adds n files to a dataset of a separate daemon with a paused cluster. After the first files it submits a grid
// job that reads the dataset.
func (b *bench) feed(n, first, perPart int) (f fed) {
	b.say("  %d files", n)
	b.onDaemon(b.dir, "", nil, func(d *daemon) {
		d.pause()
		before, began := timesOf(d.pid()), time.Now()
		d.addFiles(0, first)
		f.added = time.Since(began)
		id := d.submit(readsText(perPart))
		d.addFiles(first, n)
		d.until(id, "all local jobs are made", func(c wire.Counts) bool { return c.Total >= n/perPart })
		f.made = time.Since(began)
		f.each = float64(timesOf(d.pid()).minus(before).own.Microseconds()) / float64(n)
		f.peakMB = d.peakMB()
	})
	return f
}

// pause pauses the daemon's only cluster.
func (d *daemon) pause() {
	clusters := request(d, wire.VerbClusters(), wire.ClustersRequest{}).Clusters
	request(d, wire.VerbOrder(), wire.OrderRequest{Order: &wire.Order{Verb: jjm.OrderPause, Kind: jjm.OrderCluster,
		Name: clusters[0].Name, Reason: "only the cutting is measured"}})
}

// addFiles adds the files from..to-1 to the dataset.
func (d *daemon) addFiles(from, to int) {
	for ; from < to; from += wire.MaxFiles {
		files := make([]jjm.File, min(wire.MaxFiles, to-from))
		for i := range files {
			files[i] = jjm.File{LFN: fmt.Sprintf("/store/data/bench/%07d.root", from+i), Size: 2_000_000, Events: 100}
		}
		d.dataset(wire.Dataset{Do: wire.DatasetAdd, Files: files})
	}
}

// dataset sends a request about the dataset.
func (d *daemon) dataset(do wire.Dataset) {
	do.Name = "raw"
	request(d, wire.VerbDataset(), wire.DatasetRequest{Dataset: &do})
}

// readsText returns a job file that reads the dataset.
func readsText(perPart int) string {
	return fmt.Sprintf("type = \"reprocess\"\nname = \"bench\"\nresult = \"exit\"\n[[datasets]]\nname = \"raw\"\n"+
		"[split]\nby = %q\nparams = { files_per_job = %d }\n[params]\ncommand = [\"/bin/true\"]\n", split.MinFileBased,
		perPart)
}
