package engine_test

import (
	"archive/tar"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"jjm/internal/api/wire"
	"jjm/internal/jjm"
	"jjm/internal/testkit/adaptertest"
	"jjm/sandbox"
)

// observed holds all effects of a job file that can be seen from outside: the requests to the batch system, the inputs
// of wrappers and applications, and the files that exist at the end. It excludes what jjm itself writes about a job:
// log, record, manifest, status and the output of --dry-run.
type observed struct {
	Refused  string
	Attempts map[string]attempt
	Job      sandbox.Job
	Packed   []string
	Status   string
	Exit     int
	Files    map[string]string
	Datasets map[string][]string
	// Further holds additional observations of a trial.
	Further string
}

// attempt holds the properties of an attempt that its batch system and its wrapper see.
type attempt struct {
	Cluster string
	Request jjm.Request
	Given   sandbox.Assignment
}

// watcher records attempts when they start.
type watcher struct {
	mu       sync.Mutex
	attempts map[jjm.AttemptID]attempt
}

// watch returns a watcher that records all attempts of the world from now on.
func (w *world) watch() *watcher {
	seen := &watcher{attempts: map[jjm.AttemptID]attempt{}}
	w.play = func(id jjm.AttemptID, job adaptertest.SimJob) adaptertest.Play {
		given, err := w.areaOf(job).ReadAssignment(job.Tag, job.Index)
		if err != nil {
			w.t.Error(err)
		}
		given.Grid = 0
		seen.mu.Lock()
		defer seen.mu.Unlock()
		seen.attempts[id] = attempt{Request: job.Request, Given: given}
		return adaptertest.Play{}
	}
	return seen
}

// observe returns the effects of a grid job that has ended or makes no more progress.
func (w *world) observe(seen *watcher, id jjm.GridID) (o observed) {
	w.t.Helper()
	l := w.lookup(id)
	o.Status, o.Exit, o.Attempts = l.Status, l.Exit, map[string]attempt{}
	at := map[int32]string{}
	for _, l := range w.locals(id) {
		at[l.ID.N] = l.Cluster
	}
	seen.mu.Lock()
	for a, one := range seen.attempts {
		if a.Grid == id {
			one.Cluster = at[a.N]
			o.Attempts[fmt.Sprintf("%d#%d", a.N, a.Attempt)] = one
		}
	}
	seen.mu.Unlock()
	if job, err := w.area(owner(alice)).ReadJob(id); err == nil {
		o.Packed = w.packed(job.Package)
		job.Grid, job.Package = 0, ""
		o.Job = job
	}
	if l.Status == "done" || l.Status == "finished" || l.Status == "failed" {
		o.Files = w.collected(id)
	}
	o.Datasets = w.datasetFiles()
	return o
}

// packed returns the names, modes and contents of the files in a package (the packed inputs of a grid job).
func (w *world) packed(name string) (all []string) {
	w.t.Helper()
	if name == "" {
		return nil
	}
	root := filepath.Join(w.area(owner(alice)).Root(), "packages", filepath.Base(name))
	w.must(filepath.Walk(root, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all = append(all, fmt.Sprint(strings.TrimPrefix(path, root), " ", info.Mode(), " ", string(text)))
		return err
	}))
	slices.Sort(all)
	return all
}

// collected returns the files that local jobs made, from the tar of a grid job.
func (w *world) collected(id jjm.GridID) map[string]string {
	w.t.Helper()
	files := map[string]string{}
	r, _, _, err := w.engine.Output(context.Background(), wire.Caller{Admin: true}, all(id), wire.Wanted{})
	w.must(err)
	defer r.Close()
	for in := tar.NewReader(r); ; {
		h, err := in.Next()
		if err == io.EOF {
			return files
		}
		w.must(err)
		text, err := io.ReadAll(in)
		w.must(err)
		base := filepath.Base(h.Name)
		own := slices.Contains([]string{"jjm.log", "report.html"}, base) || strings.HasSuffix(base, "manifest.json") ||
			strings.Contains(h.Name, "record/")
		switch {
		case own: // jjm itself writes these files
		case strings.HasSuffix(base, ".glf"):
			files[h.Name] = "with the times of the run"
		default:
			files[h.Name] = string(text)
		}
	}
}

// datasetFiles returns the files of all of alice's datasets.
func (w *world) datasetFiles() map[string][]string {
	w.t.Helper()
	out := map[string][]string{}
	all, err := w.engine.Dataset(context.Background(), alice, wire.Dataset{Do: wire.DatasetShow})
	w.must(err)
	for _, d := range all.Shown {
		if d.Container != d.Name {
			out[d.Name] = w.filesIn(d.Name)
		}
	}
	return out
}

// text returns the observations as a text that can be compared.
func (o observed) text(t *testing.T) string {
	t.Helper()
	out, err := json.MarshalIndent(o, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// settle lets time pass until the grid job is over, or for an hour.
func (w *world) settle(id jjm.GridID) {
	for range 60 {
		w.pass(time.Minute)
		if w.allFinal([]jjm.GridID{id}) {
			w.final(time.Hour, id)
			return
		}
	}
}
