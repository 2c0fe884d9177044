package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"jjm/internal/jjm"
)

// opened is an FS that records the names of the files that are opened through it. It is remote, so that all files are
// opened through it.
type opened struct {
	FS
	names []string
}

func (o *opened) Remote() {}

func (o *opened) OpenFile(name string, flag int, perm os.FileMode) (*os.File, error) {
	o.names = append(o.names, name)
	return o.FS.OpenFile(name, flag, perm)
}

// flooded returns an area with a bulk of ten positions, and its FS. The folders of the bulk contain strange files
// without a position; strange is their number.
func flooded(t *testing.T, strange int) (*Area, *opened) {
	t.Helper()
	a := newBulk(t, 10)
	for _, sub := range []string{"done", "progress"} {
		for i := range strange {
			name := filepath.Join(a.Root(), BulkDir(tag), sub, fmt.Sprintf("%d.json", 10+i))
			if i%2 == 0 {
				name = strings.TrimSuffix(name, ".json")
			}
			if err := os.WriteFile(name, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, pos := range []int32{2, 7} {
		if err := errors.Join(a.PutResult(resultAt(pos)),
			a.PutProgress(tag, pos, jjm.Progress{Phase: "sim", Done: 1}, 1000)); err != nil {
			t.Fatal(err)
		}
	}
	o := &opened{FS: a.fs}
	a.fs = o
	return a, o
}

func TestLook_OpensFilesOfPositionsOnly(t *testing.T) {
	for name, strange := range map[string]int{"some": 100, "a flood": 2*maxStrange + 100} {
		t.Run(name, func(t *testing.T) {
			a, o := flooded(t, strange)
			var got []int32
			next, problems, err := a.Results(t.Context(), tag, Look{N: 10, Skip: func(pos int32) bool { return pos == 7 }},
				func(r *jjm.Result) bool { got = append(got, r.Pos); return true })
			if err != nil || next != All || len(problems) != 1 || len(got) != 1 || got[0] != 2 {
				t.Errorf("results %v, next %d, %v, %v", got, next, problems, err)
			}
			ps, next, err := a.Progress(t.Context(), tag, Look{N: 10}, time.Time{})
			if err != nil || next != All || len(ps) != 2 {
				t.Errorf("progress %v, next %d, %v", ps, next, err)
			}
			if len(o.names) > 2+2*10 {
				t.Errorf("%d files were opened for 10 positions: %q...", len(o.names), o.names[:20])
			}
		})
	}
}

func TestLook_EndsInTimeAndContinuesWhereItStopped(t *testing.T) {
	a := newBulk(t, 10)
	for pos := range int32(10) {
		if err := a.PutResult(resultAt(pos)); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[int32]bool{}
	look := Look{N: 10, From: 4}
	for range 5 { // each call reads two results
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		next, _, err := a.Results(ctx, tag, look, func(r *jjm.Result) bool {
			seen[r.Pos] = true
			if n++; n == 2 {
				cancel()
			}
			return true
		})
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		look.From = next
	}
	if len(seen) != 10 {
		t.Errorf("seen %v", seen)
	}
	n := 0
	next, _, err := a.Results(t.Context(), tag, Look{N: 10, From: 9}, func(*jjm.Result) bool { n++; return n < 3 })
	if err != nil || n != 3 || next != 1 {
		t.Errorf("%d taken, next %d, %v", n, next, err)
	}
}

// The test uses a sparse file, which can have any size and takes no space.
func TestReadResult_RefusesBySizeBeforeItReads(t *testing.T) {
	a := newBulk(t, 1)
	name := filepath.Join(a.Root(), BulkDir(tag), "done/0.json")
	if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Truncate(name, 1<<40)); err != nil {
		t.Fatal(err)
	}
	_, err := a.ReadResult(tag, 0)
	mustNot(t, "a sparse result", err, jjm.Invalid)
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if r, err := a.ReadResult(tag, 0); r != nil || err != nil {
		t.Errorf("none: %v, %v", r, err)
	}
	if _, err := newArea(t).ReadResult(tag, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no bulk: %v", err)
	}
}

func TestRemoveBulk_EndsWithItsContextAndIsRepeated(t *testing.T) {
	a := newBulk(t, 3)
	deep := filepath.Join(a.Root(), BulkDir(tag), "done", strings.Repeat("d/", mostDeep+5))
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	mustNot(t, "after the end", a.RemoveBulk(ctx, tag), jjm.Busy)
	for range 2 {
		if err := a.RemoveBulk(t.Context(), tag); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Lstat(filepath.Join(a.Root(), BulkDir(tag))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
}
