package gatekeeper

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"jjm"
	"jjm/gate/client"
	"jjm/wire"
)

// Delivery is a file of a grid job that a gatekeeper wants at a place.
type Delivery struct {
	// Name is "stdout", "stderr", the name of an output file, or [WholeTar]. An
	// output is found by the last element of its name.
	Name string `json:"name"`
	// To is the absolute path where it is to be. Its folder must be there.
	To string `json:"to"`
}

// WholeTar as the name of a Delivery means the output tar itself.
const WholeTar = "*.tar"

// Absent is a file that the grid job did not leave. An empty one was delivered
// in its place, so that what waits for it goes on.
type Absent struct {
	Delivery
	Why string
}

// Deliverer brings the files of finished grid jobs to where gatekeepers want
// them: through the daemon, or while it is away from the tar itself if the
// process may read that.
type Deliverer struct {
	Door *Door
	// Owner is whose files they become, for a process that is root; nil: whoever
	// runs it.
	Owner *jjm.Owner
}

// DeliverEach delivers the files of a grid job that is over; l is its lookup.
// Of several local jobs the files of one name are put one after another, in the
// order of the local jobs. A file that is there from an earlier call is not
// written again, so the call may be repeated, also after it was cut off by ctx.
//
// A file appears at its place complete, and where somebody put a link, a pipe
// or another's file, that is replaced and not followed. What the grid job did
// not leave is delivered empty and listed. After an error the list tells
// nothing, and some files may be there: call again.
func (d *Deliverer) DeliverEach(ctx context.Context, l wire.Lookup, wants []Delivery) ([]Absent, error) {
	if len(wants) == 0 {
		return nil, nil
	}
	src, size, err := d.open(ctx, l)
	if err != nil {
		return nil, fmt.Errorf("output of grid job %v: %w", l.ID, err)
	}
	defer src.Close()
	var absent []Absent
	err = carry{owner: d.Owner}.do(func() error {
		left := slices.DeleteFunc(slices.Clone(wants), func(w Delivery) bool {
			return w.Name == WholeTar && !tarTime(l).IsZero() && there(w.To, size, tarTime(l))
		})
		if len(left) == 0 {
			return nil
		}
		absent, err = deliver(ctx, src, l, left)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("output of grid job %v: %w", l.ID, err)
	}
	return absent, nil
}

// tarTime is the time that copies of the tar get, by which they are known again;
// zero if the grid job tells none.
func tarTime(l wire.Lookup) time.Time {
	if l.Usage == nil || l.Usage.Ended == 0 {
		return time.Time{}
	}
	return l.Usage.Ended.Time()
}

// open returns the tar and its size.
func (d *Deliverer) open(ctx context.Context, l wire.Lookup) (io.ReadCloser, int64, error) {
	ref := l.ID.String()
	a, src, err := client.Open(ctx, d.Door.daemon(), wire.VerbOutput(), wire.OutputRequest{One: wire.Of(ref)})
	if err == nil || !unclear(err) || l.Tar == "" {
		return src, a.Bytes, err
	}
	f, size, terr := d.openTar(l.Tar)
	if terr != nil {
		return nil, 0, jjm.Errorf(jjm.Busy, "%w; and %w", err, terr)
	}
	return f, size, nil
}

// openTar opens the tar itself with the rights of its owner: the folders that lead
// to it are the owner's, who may have put anything in their place.
func (d *Deliverer) openTar(name string) (f *os.File, size int64, err error) {
	err = carry{owner: d.Owner}.do(func() error {
		if f, err = os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0); err != nil {
			return err
		}
		info, err := f.Stat()
		if err != nil {
			_ = f.Close()
			return err
		}
		if !info.Mode().IsRegular() {
			_ = f.Close()
			return fmt.Errorf("%s is not a file", name)
		}
		size = info.Size()
		return nil
	})
	return f, size, err
}

// deliver reads the tar once.
func deliver(ctx context.Context, src io.Reader, l wire.Lookup, wants []Delivery) ([]Absent, error) {
	copies, src, err := wholeTars(src, wants)
	defer copies.drop()
	if err != nil {
		return nil, err
	}
	plan := newPlan(l, wants)
	defer plan.drop()
	tr := tar.NewReader(timely{ctx, src})
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = plan.take(h, tr)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := copies.settle(ctx, src, tarTime(l)); err != nil {
		return nil, err
	}
	return plan.settle()
}

// tars are copies of a tar that is being read.
type tars []*file

// wholeTars begins the copies of the tar that are wanted: what is read is written
// to each. What was begun is given also with an error.
func wholeTars(src io.Reader, wants []Delivery) (tars, io.Reader, error) {
	var copies tars
	for _, w := range wants {
		if w.Name != WholeTar {
			continue
		}
		f, err := create(w.To)
		if err != nil {
			return copies, nil, err
		}
		copies, src = append(copies, f), io.TeeReader(src, f)
	}
	return copies, src, nil
}

// settle reads what follows the last entry, and gives the copies their time and
// names.
func (c tars) settle(ctx context.Context, src io.Reader, when time.Time) error {
	if len(c) == 0 {
		return nil
	}
	if _, err := io.Copy(io.Discard, timely{ctx, src}); err != nil {
		return err
	}
	for i, f := range c {
		c[i] = nil
		if err := f.settle(0o644, when); err != nil {
			return err
		}
	}
	return nil
}

// drop removes those that have no name yet.
func (c tars) drop() {
	for _, f := range c {
		if f != nil {
			f.drop()
		}
	}
}

// timely reads until ctx ends.
type timely struct {
	ctx context.Context
	io.Reader
}

func (t timely) Read(p []byte) (int, error) {
	if err := t.ctx.Err(); err != nil {
		return 0, jjm.Errorf(jjm.Busy, "not all delivered in time: %w", err)
	}
	return t.Reader.Read(p)
}

// plan is what becomes of the entries of one tar.
type plan struct {
	id  string // of the grid job
	one bool   // it has one local job
	by  map[string][]*target
	all []*target
}

// target is one wanted file.
type target struct {
	Delivery
	f      *file
	newest time.Time
	kept   bool // it is there already
}

func newPlan(l wire.Lookup, wants []Delivery) *plan {
	p := &plan{id: l.ID.String(), one: l.Counts.Total == 1, by: map[string][]*target{}}
	for _, w := range wants {
		if w.Name == WholeTar {
			continue
		}
		t := &target{Delivery: w}
		p.all = append(p.all, t)
		name := path.Base(w.Name)
		p.by[name] = append(p.by[name], t)
	}
	return p
}

// take copies one entry to where it is wanted.
func (p *plan) take(h *tar.Header, r io.Reader) error {
	name, ok := p.nameOf(h.Name)
	targets := p.by[name]
	if !ok || h.Typeflag != tar.TypeReg || len(targets) == 0 {
		return nil
	}
	var out []io.Writer
	for _, t := range targets {
		if t.kept = p.one && there(t.To, h.Size, h.ModTime); t.kept {
			continue
		}
		if t.f == nil {
			f, err := create(t.To)
			if err != nil {
				return err
			}
			t.f = f
		}
		if h.ModTime.After(t.newest) {
			t.newest = h.ModTime
		}
		out = append(out, t.f)
	}
	if len(out) == 0 {
		return nil
	}
	_, err := io.Copy(io.MultiWriter(out...), r)
	return err
}

// nameOf returns the own name of a collected file: STEM/STEM.GRID.N.NAME, where
// the stem holds no dot.
func (p *plan) nameOf(entry string) (string, bool) {
	_, rest, ok := strings.Cut(path.Base(entry), "."+p.id+".")
	if !ok {
		return "", false
	}
	n, name, ok := strings.Cut(rest, ".")
	if _, err := strconv.ParseUint(n, 10, 31); err != nil || !ok {
		return "", false
	}
	return name, true
}

// settle names the files, and makes empty ones of those that are absent.
func (p *plan) settle() ([]Absent, error) {
	var absent []Absent
	for _, t := range p.all {
		var err error
		switch {
		case t.f != nil:
			err = t.f.settle(0o644, t.newest)
			t.f = nil
		case !t.kept:
			absent = append(absent, Absent{t.Delivery, "the grid job left no such file"})
			err = touch(t.To)
		}
		if err != nil {
			return nil, err
		}
	}
	return absent, nil
}

// drop removes what was begun and not settled.
func (p *plan) drop() {
	for _, t := range p.all {
		if t.f != nil {
			t.f.drop()
		}
	}
}

// Empty makes the files of deliveries empty where nothing is yet: gatekeepers
// that stream standard output want it there from the start.
func (d *Deliverer) Empty(wants []Delivery) error {
	return carry{owner: d.Owner}.do(func() error {
		for _, w := range wants {
			if !filepath.IsAbs(w.To) {
				return jjm.Errorf(jjm.Invalid, "deliver to %.200q: want an absolute path", w.To)
			}
			if err := touch(w.To); err != nil {
				return err
			}
		}
		return nil
	})
}

// Final reports whether a lookup tells of a grid job that is over for good.
func Final(l wire.Lookup) bool {
	var s jjm.GridStatus
	return l.Error == nil && s.UnmarshalText([]byte(l.Status)) == nil && s.Final()
}

// IsAway reports whether an error says that the daemon did not answer.
func IsAway(err error) bool { return client.IsUnreachable(err) }
