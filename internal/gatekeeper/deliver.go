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

	"jjm/internal/api/client"
	"jjm/internal/api/wire"
	"jjm/internal/jjm"
)

// Delivery is a file of a grid job and the place where a gatekeeper wants it.
type Delivery struct {
	// Name is "stdout", "stderr", the name of an output file, or [WholeTar]. For an output file only the last element of
	// the name is compared.
	Name string `json:"name"`
	// To is the absolute path of the copy. Its folder must exist.
	To string `json:"to"`
}

// WholeTar is the Name of the tar with all outputs.
const WholeTar = "*.tar"

// Absent is a file that the grid job did not create. An empty file was delivered instead, so that programs that wait
// for the file can continue. Why is the reason.
type Absent struct {
	Delivery
	Why string
}

// Deliverer copies the files of finished grid jobs to the places that gatekeepers request. It reads the tar through the
// daemon. If the daemon does not answer, it reads the tar file itself, if the owner may read the file.
type Deliverer struct {
	Client *Client
	// Owner is the account that will own the copies if the process is root. nil means the account of the process.
	Owner *jjm.Owner
}

// DeliverEach delivers the files of a grid job that is over. l is the answer of the lookup of the grid job.
//
// If there are several local jobs, their files with the same name are joined in the order of the local jobs. The call
// may be repeated, also after ctx ended it. A repeated call does not write the tar again; if the grid job has only one
// local job, it does not write any file again that was already delivered.
//
// A copy appears only when it is complete. A link, a pipe or another file in its place is replaced and not followed.
// For a file that the grid job did not create, DeliverEach delivers an empty file and lists the file in the result. If
// DeliverEach returns an error, some files may have been delivered; the call must be repeated.
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
	err = asOwner{owner: d.Owner}.do(func() error {
		left := slices.DeleteFunc(slices.Clone(wants), func(w Delivery) bool {
			return w.Name == WholeTar && !tarTime(l).IsZero() && isDelivered(w.To, size, tarTime(l))
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

// tarTime returns the time that the copies of the tar get. A later call recognises a copy by this time. The result is
// zero if the grid job has no end time.
func tarTime(l wire.Lookup) time.Time {
	if l.Usage == nil || l.Usage.Ended == 0 {
		return time.Time{}
	}
	return l.Usage.Ended.Time()
}

// open returns the tar and its size. It reads the tar through the daemon. If the daemon does not answer and the lookup
// names the tar file, it reads the file itself; the error is of kind Busy if the file cannot be opened either.
func (d *Deliverer) open(ctx context.Context, l wire.Lookup) (io.ReadCloser, int64, error) {
	ref := l.ID.String()
	// a gatekeeper never sees a later generation
	first := wire.OutputRequest{One: wire.OneRef(ref), Wanted: wire.Wanted{Generation: 1}}
	a, src, err := client.Open(ctx, d.Client.daemon(), wire.VerbOutput(), first)
	if err == nil || !undecided(err) || l.Tar == "" {
		return src, a.Bytes, err
	}
	f, size, terr := d.openTar(l.Tar)
	if terr != nil {
		return nil, 0, jjm.Errorf(jjm.Busy, "%w; and %w", err, terr)
	}
	return f, size, nil
}

// openTar opens the tar file with the rights of its owner, because the owner can replace
// the folders on its path.
func (d *Deliverer) openTar(name string) (f *os.File, size int64, err error) {
	err = asOwner{owner: d.Owner}.do(func() error {
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

// deliver reads the tar once and writes all copies.
func deliver(ctx context.Context, src io.Reader, l wire.Lookup, wants []Delivery) ([]Absent, error) {
	copies, src, err := wholeTars(src, wants)
	defer copies.discard()
	if err != nil {
		return nil, err
	}
	plan := newPlan(l, wants)
	defer plan.discard()
	tr := tar.NewReader(ctxReader{ctx, src})
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
	if err := copies.publish(ctx, src, tarTime(l)); err != nil {
		return nil, err
	}
	return plan.publish()
}

// tars are copies of a tar that is being read.
type tars []*file

// wholeTars creates the requested copies of the tar. The returned reader reads src and also writes all bytes to each
// copy. wholeTars returns the copies even with an error, so that the caller can discard them.
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

// publish reads the bytes after the last entry, and sets the time and the final name of the copies.
func (c tars) publish(ctx context.Context, src io.Reader, when time.Time) error {
	if len(c) == 0 {
		return nil
	}
	if _, err := io.Copy(io.Discard, ctxReader{ctx, src}); err != nil {
		return err
	}
	for i, f := range c {
		c[i] = nil
		if err := f.publish(0o644, when); err != nil {
			return err
		}
	}
	return nil
}

// discard removes the copies that have no final name yet.
func (c tars) discard() {
	for _, f := range c {
		if f != nil {
			f.discard()
		}
	}
}

// ctxReader reads until ctx ends.
type ctxReader struct {
	ctx context.Context
	io.Reader
}

func (t ctxReader) Read(p []byte) (int, error) {
	if err := t.ctx.Err(); err != nil {
		return 0, jjm.Errorf(jjm.Busy, "not everything was delivered in time: %w", err)
	}
	return t.Reader.Read(p)
}

// extraction holds the wanted files of a tar, and copies the entries of the tar to them.
type extraction struct {
	id       string               // id of the grid job
	oneLocal bool                 // the grid job has one local job
	by       map[string][]*target // by the last element of the wanted name
	all      []*target
}

// target is one wanted file.
type target struct {
	Delivery
	f         *file
	newest    time.Time // the latest time of the entries that were copied
	delivered bool      // an earlier call delivered the file
}

// newPlan returns an extraction of the wanted files. It leaves out wanted copies of the whole tar, which [wholeTars]
// makes.
func newPlan(l wire.Lookup, wants []Delivery) *extraction {
	p := &extraction{id: l.ID.String(), oneLocal: l.Counts.Total == 1, by: map[string][]*target{}}
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

// take copies one entry to all files that want it.
func (p *extraction) take(h *tar.Header, r io.Reader) error {
	name, ok := p.nameOf(h.Name)
	targets := p.by[name]
	if !ok || h.Typeflag != tar.TypeReg || len(targets) == 0 {
		return nil
	}
	var out []io.Writer
	for _, t := range targets {
		if t.delivered = p.oneLocal && isDelivered(t.To, h.Size, h.ModTime); t.delivered {
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

// nameOf returns the name that the local job gave to a collected file. The entry of a collected file is
// STEM/STEM.GRID.N.NAME, and a stem contains no dot. nameOf returns false for any other entry.
func (p *extraction) nameOf(entry string) (string, bool) {
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

// publish gives the files their final names. It creates an empty file for each absent file.
func (p *extraction) publish() ([]Absent, error) {
	var absent []Absent
	for _, t := range p.all {
		var err error
		switch {
		case t.f != nil:
			err = t.f.publish(0o644, t.newest)
			t.f = nil
		case !t.delivered:
			absent = append(absent, Absent{t.Delivery, "the grid job did not create this file"})
			err = createEmpty(t.To)
		}
		if err != nil {
			return nil, err
		}
	}
	return absent, nil
}

// discard removes the files that have no final name yet.
func (p *extraction) discard() {
	for _, t := range p.all {
		if t.f != nil {
			t.f.discard()
		}
	}
}

// CreateEmpty creates empty files for deliveries, unless the files exist. Gatekeepers that stream standard output need
// the file from the start of the job. The error is of kind Invalid if a path is not absolute.
func (d *Deliverer) CreateEmpty(wants []Delivery) error {
	return asOwner{owner: d.Owner}.do(func() error {
		for _, w := range wants {
			if !filepath.IsAbs(w.To) {
				return jjm.Errorf(jjm.Invalid, "deliver to %.200q: want an absolute path", w.To)
			}
			if err := createEmpty(w.To); err != nil {
				return err
			}
		}
		return nil
	})
}

// Final reports whether the grid job of a lookup is over.
func Final(l wire.Lookup) bool {
	var s jjm.GridStatus
	return l.Error == nil && s.UnmarshalText([]byte(l.Status)) == nil && s.Final()
}

// IsUnreachable reports whether err means that no daemon answered.
func IsUnreachable(err error) bool { return client.IsUnreachable(err) }
