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

// inName is the name of the folder of the boxes, below the spool.
const inName = "in"

// maxFallbacks is the largest number of boxes that an account may have under other names than its plain name.
const maxFallbacks = 8

// boxName returns the plain name of an account's box.
func boxName(uid int) string { return "u" + strconv.Itoa(uid) }

// parseBox parses the name of a box: u1003, or u1003.RANDOM. plain is set for the plain name, u1003.
func parseBox(s string) (uid int, plain, ok bool) {
	number, _, more := strings.Cut(strings.TrimPrefix(s, "u"), ".")
	uid, err := strconv.Atoi(number)
	ok = err == nil && uid >= 0 && (s == boxName(uid) || strings.HasPrefix(s, boxName(uid)+"."))
	return uid, !more, ok
}

// In is the open folder of the boxes.
type In struct{ dir *os.File }

// Open opens the folder of the boxes in the spool at dir. The error wraps fs.ErrNotExist if there is no spool.
func Open(dir string) (*In, error) {
	f, err := os.OpenFile(filepath.Join(dir, inName), os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	return &In{f}, nil
}

// Close closes the folder.
func (in *In) Close() error { return in.dir.Close() }

// Changed returns the time at which a box was last added or removed; see [Box.Changed].
func (in *In) Changed() (at time.Time, settled bool) { return changed(in.dir) }

// Box opens the box of an account under its plain name. The error wraps fs.ErrNotExist if there is no such box, and is
// a [*Rejected] if another account has taken the name.
func (in *In) Box(uid int) (*Box, error) { return openBox(in.dir, boxName(uid), uid) }

// Named opens a box of an account under another name than the plain name. It returns the same errors as Box.
func (in *In) Named(name string, uid int) (*Box, error) { return openBox(in.dir, name, uid) }

// BoxesOf opens the boxes of an account: the box under its plain name, or the boxes under other names that the account
// made because the plain name was taken. It searches the whole folder only if the account has no box under the plain
// name. If there are no boxes, it returns none and no error.
func (in *In) BoxesOf(uid int) ([]*Box, error) {
	b, err := in.Box(uid)
	var bad *Rejected
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

// Each calls fn with each box that an account may see: its own boxes, or, for root (uid 0), all boxes. For an account,
// Each stops at an error of fn and returns this error. For root, it ignores errors of fn and skips boxes that cannot be
// opened, so that one account cannot hide the boxes of another.
func (in *In) Each(uid int, fn func(*Box) error) error {
	if uid == 0 {
		return in.eachBox(fn)
	}
	boxes, err := in.BoxesOf(uid)
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

// eachBox calls fn with all boxes and skips boxes that cannot be opened now. It ignores errors of fn.
func (in *In) eachBox(fn func(*Box) error) error {
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

// closeAll closes boxes.
func closeAll(boxes []*Box) {
	for _, b := range boxes {
		_ = b.Close()
	}
}

// make creates a box for the caller's account, under its plain name if that name is free. The new folder inherits the
// group of the folder "in". A daemon that is not root is a member of this group and can therefore read and remove
// entries.
func (in *In) make(uid int) (*Box, error) {
	name := boxName(uid)
	err := unix.Mkdirat(int(in.dir.Fd()), name, 0o700)
	if errors.Is(err, fs.ErrExist) {
		if b, err := in.Box(uid); err == nil {
			return b, nil // another process of the account made it
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

// shared reports whether the daemon reads the boxes through its group.
func (in *In) shared() bool {
	info, err := in.dir.Stat()
	return err == nil && info.Mode()&fs.ModeSetgid != 0
}

// random returns a random word, for names that others cannot predict.
func random() (string, error) {
	var word [8]byte
	if _, err := rand.Read(word[:]); err != nil {
		return "", err
	}
	return hex.EncodeToString(word[:]), nil
}

// Found is a box that Survey found.
type Found struct {
	Name string
	UID  int
}

// Survey reads the next names of the folder; names is their approximate number. done is set when it reaches the end;
// the next call then starts from the beginning. It calls found for each box and removes everything else. It calls
// failed for each name that it could not remove. A folder that is not empty cannot be removed; if it has the plain name
// of another account, it is renamed. The error means that the folder cannot be read.
func (in *In) Survey(names int, found func(Found), failed func(name string, err error)) (done bool, err error) {
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
			in.inspect(e, found, failed)
		}
	}
	return false, nil
}

// movedPrefix begins the new names of folders that were renamed because they had the plain name of another account's
// box.
const movedPrefix = ".strange-"

// inspect handles one name for Survey: it passes a box to found, and removes everything else.
func (in *In) inspect(e fs.DirEntry, found func(Found), failed func(string, error)) {
	uid, plain, ok := parseBox(e.Name())
	if ok && e.IsDir() {
		b, err := in.Named(e.Name(), uid)
		if err == nil {
			_ = b.Close()
			found(Found{e.Name(), uid})
			return
		}
		var bad *Rejected
		if !errors.As(err, &bad) {
			failed(e.Name(), err)
			return
		}
	}
	err := removeAt(in.dir, e.Name())
	if err != nil && ok && plain {
		err = errors.Join(err, in.rename(e.Name()))
	}
	if err != nil {
		failed(e.Name(), err)
	}
}

// Free takes the plain name of an account's box away from another account that uses the name: it removes that account's
// folder, or renames the folder if it is not empty.
func (in *In) Free(uid int) error {
	if err := removeAt(in.dir, boxName(uid)); err != nil {
		return in.rename(boxName(uid))
	}
	return nil
}

// rename renames a folder to a random name that is not the name of a box.
func (in *In) rename(name string) error {
	word, err := random()
	if err != nil {
		return err
	}
	return unix.Renameat(int(in.dir.Fd()), name, int(in.dir.Fd()), movedPrefix+word)
}
