package dataset

import (
	"context"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"

	"jjm/internal/api/wire"
	"jjm/internal/engine/floor/base"
	"jjm/internal/jjm"
	"jjm/internal/storage/store"
	"jjm/internal/work/catalogue"
)

// sourceActor is the actor of marks that a comparison with a source made. No account can
// have this name.
const sourceActor = "(source)"

// sight holds the results of earlier looks at one source. A look is one reading of a source, whose files are compared
// with the files of the dataset.
type sight struct {
	// missed are the files that the last look did not find.
	missed map[string]bool
	// listed are hashes of the LFNs that a program has ever listed. Only these files are compared, because the program
	// says nothing about other files of the dataset.
	listed map[uint64]bool
}

// sights holds the sights of all sources since the daemon started.
type sights struct {
	seed maphash.Seed
	mu   sync.Mutex
	of   map[Source]*sight // mu guards the map; fair.Keyed lets only one look at a time use a sight
}

func newSights() *sights { return &sights{seed: maphash.MakeSeed(), of: map[Source]*sight{}} }

func (ss *sights) get(s Source) *sight {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if ss.of[s] == nil {
		ss.of[s] = &sight{missed: map[string]bool{}, listed: map[uint64]bool{}}
	}
	return ss.of[s]
}

func (ss *sights) forget(s Source) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	delete(ss.of, s)
}

// remembers adds the files that a program listed to the sight, and makes the look cover all files that the program ever
// listed. It does nothing for a look into a folder, which already has a Covers function.
func (ss *sights) remembers(si *sight, look *catalogue.Look) {
	if look.Covers != nil {
		return
	}
	for lfn := range look.Files {
		si.listed[maphash.String(ss.seed, lfn)] = true
	}
	look.Covers = func(lfn string) bool { return si.listed[maphash.String(ss.seed, lfn)] }
}

// comparer compares datasets with their sources, and marks the files that differ.
type comparer struct {
	b      *base.Base
	marks  marker
	sights *sights
}

// found is the outcome of a comparison, by LFN.
type found struct {
	lost, broken, back []string
	why                map[string]string // the reasons for lost and broken
	missing            map[string]bool   // the files that this look did not find
	there              int               // number of files found
}

// compare marks the files of a dataset by a look at its source (jedi.md 23):
//
//	missing at two looks in a row                   lost
//	found, but of another size or checksum          broken
//	found as recorded, and marked by a comparison   ready again
//
// If none of the files is found, nothing is marked and the error is of kind Busy: the file
// system may not be mounted.
func (cp *comparer) compare(ctx context.Context, s Source, set store.Dataset, look catalogue.Look) error {
	si := cp.sights.get(s)
	cp.sights.remembers(si, &look)
	f, err := cp.judge(ctx, si, set, look)
	if err != nil {
		return err
	}
	if f.there == 0 && len(f.missing) > 0 {
		return jjm.Errorf(jjm.Busy, "nothing is there of its %s: is the file system mounted? None is marked as lost; "+
			"if they are lost, use jjm dataset mark", jjm.Count(len(f.missing), "file"))
	}
	si.missed = f.missing
	for _, m := range []struct {
		state jjm.FileState
		files []string
	}{{jjm.FileLost, f.lost}, {jjm.FileBroken, f.broken}, {jjm.FileReady, f.back}} {
		for some := range slices.Chunk(m.files, cp.b.Chunk()) {
			if err := cp.remark(ctx, set, m.state, some, f.why); err != nil {
				return err
			}
		}
	}
	return nil
}

// judge compares each file of a dataset with a look at its source, and returns the outcome. It skips files that a
// person marked.
func (cp *comparer) judge(ctx context.Context, si *sight, set store.Dataset, look catalogue.Look) (*found, error) {
	marks, err := cp.b.Store.Marks(ctx, set.ID)
	if err != nil {
		return nil, err
	}
	ours, err := cp.b.Store.MarkedBy(ctx, set.ID, sourceActor)
	if err != nil {
		return nil, err
	}
	f := &found{why: map[string]string{}, missing: map[string]bool{}}
	err = cp.b.Store.Files(ctx, set.ID, 0, 0, func(n int64, file jjm.File) error {
		state, why, ok := look.Judge(&file)
		_, marked := marks[n]
		switch {
		case !ok || marked && !(ours[n] && state == jjm.FileReady):
			return ctx.Err()
		case marked:
			f.back = append(f.back, file.LFN)
		case state == jjm.FileBroken:
			f.broken, f.why[file.LFN] = append(f.broken, file.LFN), why
		case state == jjm.FileLost:
			f.missing[file.LFN] = true
			if si.missed[file.LFN] {
				f.lost, f.why[file.LFN] = append(f.lost, file.LFN), why
			}
			return ctx.Err()
		}
		f.there++
		return ctx.Err()
	})
	return f, err
}

// remark marks files with state, or with FileReady removes the marks that a comparison
// made.
func (cp *comparer) remark(ctx context.Context, set store.Dataset, state jjm.FileState, files []string,
	why map[string]string) error {
	d := wire.Dataset{Name: set.Name, LFNs: files, State: state.String(), Reason: "as it was again"}
	if state != jjm.FileReady {
		d.Reason = fmt.Sprintf("%s: %s", files[0], why[files[0]])
		if len(files) > 1 {
			d.Reason += fmt.Sprintf("; and %d more", len(files)-1)
		}
	}
	by := wire.Caller{User: sourceActor, UID: set.UID}
	if state == jjm.FileReady {
		return cp.marks.unmark(ctx, by, set, d, &wire.Datasets{})
	}
	return cp.marks.markAll(ctx, by, set, d, &wire.Datasets{})
}
