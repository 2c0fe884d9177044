package spool

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// inName is the folder of the boxes.
const inName = "in"

// maxFallbacks is how many boxes an account may have beside the one of its name.
const maxFallbacks = 8

// boxName is the name of an account's box.
func boxName(uid int) string { return "u" + strconv.Itoa(uid) }

// parseBox reads the name of a box: u1003 or u1003.RANDOM.
func parseBox(s string) (uid int, plain, ok bool) {
	number, _, more := strings.Cut(strings.TrimPrefix(s, "u"), ".")
	uid, err := strconv.Atoi(number)
	ok = err == nil && uid >= 0 && (s == boxName(uid) || strings.HasPrefix(s, boxName(uid)+"."))
	return uid, !more, ok
}

// In is the folder of the boxes, open.
type In struct{ dir *os.File }

// Open opens the folder of the boxes of a spool.
func Open(dir string) (*In, error) {
	f, err := os.OpenFile(filepath.Join(dir, inName), os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	return &In{f}, nil
}

// Close lets go of the folder.
func (in *In) Close() error { return in.dir.Close() }

// Changed is when a box last came or went; see [Box.Changed].
func (in *In) Changed() (at time.Time, settled bool) { return changed(in.dir) }

// Box opens the box of an account by its plain name. The error wraps
// fs.ErrNotExist if it has none, and is a [Strange] if somebody else has the name.
func (in *In) Box(uid int) (*Box, error) { return openBox(in.dir, boxName(uid), uid) }

// Named opens the box of an account by another name.
func (in *In) Named(name string, uid int) (*Box, error) { return openBox(in.dir, name, uid) }

// Mine opens the boxes of an account: the one of its name, or those it had to make
// under others. Only an account that does not have the first is searched for.
func (in *In) Mine(uid int) ([]*Box, error) {
	b, err := in.Box(uid)
	var bad *Strange
	switch {
	case err == nil:
		return []*Box{b}, nil
	case !errors.As(err, &bad) && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	if _, err := in.dir.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	var boxes []*Box
	for len(boxes) < maxFallbacks {
		names, err := in.dir.Readdirnames(chunk)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			closeAll(boxes)
			return nil, err
		}
		for _, name := range names {
			if !strings.HasPrefix(name, boxName(uid)+".") || len(boxes) == maxFallbacks {
				continue
			}
			if b, err := in.Named(name, uid); err == nil {
				boxes = append(boxes, b)
			}
		}
	}
	return boxes, nil
}

// Each calls fn with the boxes of an account; root's, uid 0, are all there are.
func (in *In) Each(uid int, fn func(*Box) error) error {
	if uid == 0 {
		return in.every(fn)
	}
	boxes, err := in.Mine(uid)
	if err != nil {
		return err
	}
	defer closeAll(boxes)
	for _, b := range boxes {
		if err := fn(b); err != nil {
			return err
		}
	}
	return nil
}

// every calls fn with all boxes; one that cannot be read now is passed over.
func (in *In) every(fn func(*Box) error) error {
	for {
		names, err := in.dir.Readdirnames(chunk)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, name := range names {
			uid, _, ok := parseBox(name)
			if !ok {
				continue
			}
			b, err := in.Named(name, uid)
			if err != nil {
				continue
			}
			_ = fn(b)
			_ = b.Close()
		}
	}
}

func closeAll(boxes []*Box) {
	for _, b := range boxes {
		_ = b.Close()
	}
}

// make makes a box for the caller's account, under its plain name if that is free.
// The daemon reads and removes entries as root, or as a member of the group that
// the boxes have from "in".
func (in *In) make(uid int) (*Box, error) {
	name := boxName(uid)
	err := unix.Mkdirat(int(in.dir.Fd()), name, 0o700)
	if errors.Is(err, fs.ErrExist) {
		if b, err := in.Box(uid); err == nil {
			return b, nil // made by another process
		}
		word, werr := random()
		if werr != nil {
			return nil, werr
		}
		name += "." + word
		err = unix.Mkdirat(int(in.dir.Fd()), name, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("make the box %s: %w", name, err)
	}
	b, err := in.Named(name, uid)
	if err != nil {
		return nil, err
	}
	if in.shared() {
		err = b.dir.Chmod(0o770)
	}
	if serr := in.dir.Sync(); err == nil {
		err = serr
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// shared reports whether the daemon comes to the entries by its group.
func (in *In) shared() bool {
	info, err := in.dir.Stat()
	return err == nil && info.Mode()&fs.ModeSetgid != 0
}

func random() (string, error) {
	var word [8]byte
	if _, err := rand.Read(word[:]); err != nil {
		return "", err
	}
	return hex.EncodeToString(word[:]), nil
}

// Found is a box that a survey came upon.
type Found struct {
	Name string
	UID  int
}

// Survey goes on with reading what lies in the folder, some names at most, for the
// daemon. Boxes are told to found; the rest is removed, and what cannot be is told
// to strange: a folder that is not empty loses the name that belongs to another
// account. done reports that the end was reached, and the next call begins anew.
func (in *In) Survey(names int, found func(Found), strange func(name string, err error)) (done bool, err error) {
	for range max(names/chunk, 1) {
		all, err := in.dir.ReadDir(chunk)
		if errors.Is(err, io.EOF) {
			_, err := in.dir.Seek(0, io.SeekStart)
			return true, err
		}
		if err != nil {
			return false, fmt.Errorf("spool: %w", err)
		}
		for _, e := range all {
			in.judge(e, found, strange)
		}
	}
	return false, nil
}

// strangeBox begins the names of folders that lost another one.
const strangeBox = ".strange-"

func (in *In) judge(e fs.DirEntry, found func(Found), report func(string, error)) {
	uid, plain, ok := parseBox(e.Name())
	if ok && e.IsDir() {
		b, err := in.Named(e.Name(), uid)
		if err == nil {
			_ = b.Close()
			found(Found{e.Name(), uid})
			return
		}
		var bad *Strange
		if !errors.As(err, &bad) {
			report(e.Name(), err)
			return
		}
	}
	err := removeAt(in.dir, e.Name())
	if err != nil && ok && plain {
		err = errors.Join(err, in.rename(e.Name()))
	}
	if err != nil {
		report(e.Name(), err)
	}
}

// Free takes the plain name of an account away from whoever else has it.
func (in *In) Free(uid int) error {
	if err := removeAt(in.dir, boxName(uid)); err != nil {
		return in.rename(boxName(uid))
	}
	return nil
}

func (in *In) rename(name string) error {
	word, err := random()
	if err != nil {
		return err
	}
	return unix.Renameat(int(in.dir.Fd()), name, int(in.dir.Fd()), strangeBox+word)
}
