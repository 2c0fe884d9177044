// Package remote fetches the inputs of grid jobs that are on servers, before they are packed. It fetches one input at a
// time for a grid job and a few at a time for an account, each in a child process with the account's rights (package
// fetch). A slow or hostile server delays the grid job that names it. Other grid jobs of the account may have to wait
// for their turn, but not grid jobs of other accounts.
//
// Fetched files stay in the work area until they are packed: neither a stop nor a crash of the daemon loses them. Once
// a grid job has its package, no input is fetched for it again.
//
// The package also sends changes of grid jobs to the servers that job files name ([Inputs.Call]), by the same rules.
package remote

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"jjm/internal/engine/floor/areas"
	"jjm/internal/engine/floor/base"
	"jjm/internal/engine/floor/fair"
	"jjm/internal/engine/floor/state"
	"jjm/internal/formats/weburl"
	"jjm/internal/jjm"
	"jjm/internal/sys/fetch"
)

// Open opens a file with its owner's rights. A relative path starts at the folder base.
type Open func(owner jjm.Owner, base, path string) (io.ReadCloser, error)

// Inputs fetches the inputs of grid jobs that are on servers. Its methods may be called from many goroutines.
type Inputs struct {
	b     *base.Base
	s     *state.State
	areas *areas.Areas
	open  Open
	work  *fair.Keyed[jjm.GridID]

	mu        sync.Mutex // never held during I/O
	downloads map[jjm.GridID]*download
}

// download is the state of the inputs of one grid job.
type download struct {
	id     jjm.GridID
	owner  jjm.Owner
	base   string
	wanted []want

	// The lock of Inputs guards waits, failure, over and stop.
	waits   string // what the grid job waits for, for people; "" when fetching is over
	failure error  // why an input cannot be fetched
	over    bool   // all inputs are fetched
	stop    context.CancelFunc

	// Only run uses at, have and tries: the index of the present input, the total bytes of the inputs before it, and the
	// tries of the present input.
	at    int
	have  int64
	tries fetch.Tries
}

// want is an input to fetch.
type want struct {
	field string // the name of the input in texts for people
	in    jjm.Input
}

// patience is how long one run may use its place among all accounts before another run may start.
const patience = 2 * time.Second

// New returns an Inputs. Nothing is fetched until Run is called.
func New(s *state.State, as *areas.Areas, open Open) *Inputs {
	is := &Inputs{b: s.B, s: s, areas: as, open: open, downloads: map[jjm.GridID]*download{}}
	is.work = fair.Apart(s.B.Conf().Fetch.ParallelPerUser, patience, s.Accounts.Of, is.run)
	return is
}

// Run fetches until ctx ends.
func (is *Inputs) Run(ctx context.Context) { is.work.Run(ctx) }

// Bring starts to fetch the inputs of a grid job that are on servers, and does not wait. The grid job is woken when its
// state changes. there is true if all inputs are fetched and can be packed. The error is of kind Invalid if an input
// cannot be fetched.
func (is *Inputs) Bring(job *jjm.GridJob, inputs []jjm.Input) (there bool, err error) {
	wanted := wantedOf(&job.Spec, inputs)
	if len(wanted) == 0 {
		return true, nil
	}
	is.mu.Lock()
	defer is.mu.Unlock()
	e := is.downloads[job.ID]
	if e == nil {
		e = &download{id: job.ID, owner: job.Owner, base: job.BaseDir, wanted: wanted,
			waits: wanted[0].about("waits to be fetched")}
		is.downloads[job.ID] = e
		is.work.Kick(job.ID)
	}
	return e.over, e.failure
}

// wantedOf returns the inputs that are on servers, each URL once.
func wantedOf(spec *jjm.Spec, inputs []jjm.Input) (wanted []want) {
	seen := map[string]bool{}
	for i, in := range inputs {
		if !weburl.Is(in.Path) || seen[in.Path] {
			continue
		}
		seen[in.Path] = true
		field := fmt.Sprintf("inputs[%d]", i)
		if i >= len(spec.Inputs) {
			field = fmt.Sprintf("input %.100q of the job type", in.Name)
		}
		wanted = append(wanted, want{field, in})
	}
	return wanted
}

// about returns a text about the input, with its name and URL.
func (w *want) about(text string) string {
	return fmt.Sprintf("%s: %s: %s", w.field, weburl.Shown(w.in.Path), text)
}

// Waits describes the input that a grid job waits for; "" if none of its inputs is being fetched.
func (is *Inputs) Waits(id jjm.GridID) string {
	is.mu.Lock()
	defer is.mu.Unlock()
	if e := is.downloads[id]; e != nil {
		return e.waits
	}
	return ""
}

// Stop stops fetching for a grid job, and returns false if nothing was being fetched. The bytes fetched so far stay,
// and Bring continues with them.
func (is *Inputs) Stop(id jjm.GridID) (any bool) {
	is.mu.Lock()
	defer is.mu.Unlock()
	e := is.downloads[id]
	if e == nil {
		return false
	}
	if e.stop != nil {
		e.stop()
	}
	delete(is.downloads, id)
	return true
}

// Forget removes the fetched files of a grid job that has its package, or is over.
func (is *Inputs) Forget(job *jjm.GridJob) {
	if any := is.Stop(job.ID); !any && len(wantedOf(&job.Spec, job.Spec.Inputs)) == 0 {
		return
	}
	ar, err := is.areas.Of(job.Owner)
	if err == nil {
		err = ar.RemoveFetched(job.ID)
	}
	if err != nil {
		is.b.Log.Warn("fetched inputs stay until the grid job is removed", "job", job.ID, "error", err)
	}
}

// Packed returns the function that opens inputs for packing: the fetched file if the path is a URL, and the result of
// next for other paths.
func (is *Inputs) Packed(ar *areas.Area, id jjm.GridID,
	next func(path string) (io.ReadCloser, error)) func(path string) (io.ReadCloser, error) {
	return func(path string) (io.ReadCloser, error) {
		if !weburl.Is(path) {
			return next(path)
		}
		f, err := ar.OpenFetched(id, path)
		if jjm.KindOf(err) == jjm.Gone { // the file was removed: it is fetched again
			is.Stop(id)
			return nil, jjm.Errorf(jjm.Busy, "what was fetched is gone: %w", err)
		}
		return f, err
	}
}
