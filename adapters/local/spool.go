package local

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"unicode/utf8"

	"jjm/adapters"
	"jjm/internal/jjm"
	"jjm/internal/sys/wary"
)

// maxEntry is the largest size of a bulk file, in bytes. It is several times the size of the longest word of a command
// line (128 KiB, execve(2)).
const maxEntry = 1 << 20

// maxLog is the largest size of a bulk's log that is read, in bytes. The log of a thousand jobs that run once has less
// than 300 KiB.
const maxLog = 64 << 20

// entry is the content of a bulk file.
type entry struct {
	Version   int         `json:"v"`
	ID        int64       `json:"id"`
	Tag       jjm.Tag     `json:"tag"`
	Owner     jjm.Owner   `json:"owner"`
	Request   jjm.Request `json:"request"`
	N         int         `json:"n"`
	Argv      []string    `json:"argv"`
	Dir       string      `json:"dir"`
	Log       string      `json:"log,omitempty"`
	Submitted jjm.Time    `json:"submitted"`
}

// check returns an error for the first mistake in an entry.
func (e *entry) check() error {
	bad := func(field, format string, args ...any) error {
		return jjm.Errorf(jjm.Invalid, "%s: %s", field, fmt.Sprintf(format, args...))
	}
	switch {
	case !e.Tag.Valid():
		return bad("tag", "%.40q: want 1 to %d of [a-z0-9], the first a letter", string(e.Tag), jjm.MaxTag)
	case e.N < 1 || e.N > MaxBulk:
		return bad("n", "%d jobs: want 1 to %d", e.N, MaxBulk)
	case len(e.Argv) == 0 || !filepath.IsAbs(e.Argv[0]):
		return bad("argv", "%.80q: want a command with an absolute path", e.Argv)
	case !filepath.IsAbs(e.Dir):
		return bad("dir", "%.80q: want an absolute path", e.Dir)
	case e.Log != "" && !filepath.IsAbs(e.Log):
		return bad("log", "%.80q: want an absolute path, or none", e.Log)
	case e.Owner.UID < 0 || e.Owner.GID < 0:
		return bad("owner", "uid %d, gid %d: want numbers from 0", e.Owner.UID, e.Owner.GID)
	case e.Request.Cores < 0 || e.Request.MemoryMB < 0 || e.Request.Walltime < 0:
		return bad("request", "%d cores, %d MiB of memory, %v of walltime: want no negative numbers", e.Request.Cores,
			e.Request.MemoryMB, e.Request.Walltime)
	case e.Request.Queue != "":
		return bad("queue", "%.40q: this cluster has no queues; leave it out", e.Request.Queue)
	}
	for _, word := range append([]string{e.Dir, e.Log}, e.Argv...) {
		if strings.ContainsRune(word, 0) || !utf8.ValidString(word) {
			return bad("argv", "%.80q: want UTF-8 text without NUL characters", word)
		}
	}
	return nil
}

// parseEntry parses a bulk file.
func parseEntry(text []byte) (entry, error) {
	var e entry
	if len(text) > maxEntry {
		return e, jjm.Errorf(jjm.Invalid, "longer than %d bytes", maxEntry)
	}
	if err := json.Unmarshal(text, &e); err != nil {
		return e, jjm.Errorf(jjm.Invalid, "not a bulk file: %w", err)
	}
	if e.Version != 1 {
		return e, jjm.Errorf(jjm.Invalid, "v: %d: this jjm reads version 1", e.Version)
	}
	if e.ID < 1 {
		return e, jjm.Errorf(jjm.Invalid, "id: %d: want a number from 1", e.ID)
	}
	return e, e.check()
}

func (a *Adapter) folder(id int64) string { return filepath.Join(a.dir, strconv.FormatInt(id, 10)) }

// openToOwners makes a folder passable for other users, who need it to reach their end records. It changes nothing if
// this daemon can run only jobs of its own account.
func (a *Adapter) openToOwners(dir string) error {
	if a.uid != 0 {
		return nil
	}
	return os.Chmod(dir, 0o711)
}

// store creates a spool entry. If it returns nil, the entry survives a loss of power. If store is interrupted at any
// point, the entry exists as a whole or not at all. The error is of kind Ambiguous if the entry exists but may not
// survive a loss of power; it has any other kind only if the entry does not exist.
func (a *Adapter) store(e *entry) error {
	text, err := json.Marshal(e)
	if err != nil {
		return jjm.Errorf(jjm.Internal, "write spool entry %d: %w", e.ID, err)
	}
	if len(text) > maxEntry {
		return jjm.Errorf(jjm.Invalid, "argv: the bulk takes %d bytes: want at most %d", len(text), maxEntry)
	}
	final := a.folder(e.ID)
	temp := final + ".new"
	err = errors.Join(os.RemoveAll(temp), os.Mkdir(temp, 0o700), a.openToOwners(temp))
	if err == nil {
		err = writeSynced(filepath.Join(temp, "bulk.json"), text)
	}
	if err == nil {
		err = syncFolder(temp)
	}
	if err == nil {
		err = os.Rename(temp, final)
	}
	if err != nil {
		_ = os.RemoveAll(temp) // if this fails, the next start removes the remaining files
		return jjm.Errorf(jjm.Busy, "write spool entry %d; the entry was not kept; "+
			"make room on the disk, or make the spool writable: %w", e.ID, err)
	}
	if err := syncFolder(a.dir); err != nil {
		return jjm.Errorf(jjm.Ambiguous, "spool entry %d is written but may not survive a loss of power: %w", e.ID, err)
	}
	return nil
}

func writeSynced(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// loadSpool reads the spool. It removes entries that a crash left incomplete, sets unreadable entries aside, and
// records the entries that were set aside before.
func (a *Adapter) loadSpool() error {
	names, err := os.ReadDir(a.dir)
	if err != nil {
		return jjm.Errorf(jjm.Busy, "read the spool: %w", err)
	}
	if text, err := os.ReadFile(filepath.Join(a.dir, "next")); err == nil {
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
			a.next = n
		} else {
			a.env.Warn("the spool's counter cannot be read", "text", fmt.Sprintf("%.40q", text))
		}
	}
	for _, d := range names {
		number, ending, _ := strings.Cut(d.Name(), ".")
		id, err := strconv.ParseInt(number, 10, 64)
		if err != nil || id < 1 || strconv.FormatInt(id, 10) != number {
			continue
		}
		a.next = max(a.next, id+1)
		path := filepath.Join(a.dir, d.Name())
		switch ending {
		case "new", "gone":
			a.removing.Go(func() { a.removeFolder(d.Name()) })
		case "":
			b, err := a.read(id)
			if err != nil {
				a.setAside(id, path, err)
				continue
			}
			a.load(b)
		default:
			if strings.HasSuffix(ending, "bad") {
				a.noteAside(id, path)
			}
		}
	}
	sort.Slice(a.order, func(i, k int) bool { return a.order[i].ID < a.order[k].ID })
	return nil
}

// read reads one entry and replays its log.
func (a *Adapter) read(id int64) (*bulk, error) {
	text, err := readBounded(filepath.Join(a.folder(id), "bulk.json"), maxEntry)
	if err != nil {
		return nil, err
	}
	e, err := parseEntry(text)
	if err != nil {
		return nil, fmt.Errorf("bulk.json: %w", err)
	}
	if e.ID != id {
		return nil, fmt.Errorf("bulk.json: it belongs to entry %d", e.ID)
	}
	if other := a.tags[e.Tag]; other != nil {
		return nil, fmt.Errorf("bulk.json: tag %s is also that of entry %d", e.Tag, other.ID)
	}
	log, err := readBounded(filepath.Join(a.folder(id), "log"), maxLog)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	b := newBulk(e, a.folder(id), a.boot)
	if bad := b.replay(log); bad > 0 {
		a.env.Warn("lines of a spool entry's log cannot be read and are skipped", "batch", e.ID, "lines", bad)
	}
	b.withdrawCancelled(jjm.At(a.env.Now()))
	b.size = int64(len(log))
	b.torn = len(log) > 0 && !bytes.HasSuffix(log, []byte("\n"))
	return b, nil
}

// readBounded returns the text of a regular file. It returns an error if the file is longer than limit.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a plain file", path)
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return text, err
	}
	if int64(len(text)) > limit {
		return text, fmt.Errorf("%s: longer than %d bytes", path, limit)
	}
	return text, nil
}

// load adds a bulk to memory. The caller holds a.mu, or is New.
func (a *Adapter) load(b *bulk) {
	if b.need > a.config.Slots {
		a.env.Warn("a bulk asks for more cores than the cluster has now; each of its jobs runs alone",
			"batch", b.ID, "tag", b.Tag, "cores", b.need)
		b.need = a.config.Slots
	}
	a.bulks[b.ID] = b
	a.tags[b.Tag] = b
	a.order = append(a.order, b)
	for _, p := range b.procs {
		a.procs[p] = struct{}{}
		a.take(b, b.need)
	}
	if len(b.pending) > 0 {
		a.unwritten[b] = struct{}{}
	}
	a.enqueue(b)
}

// remove forgets an entry permanently. The caller holds a.mu.
func (a *Adapter) remove(b *bulk) error {
	next := filepath.Join(a.dir, "next")
	_ = os.Remove(next + ".new")
	if err := writeSynced(next+".new", []byte(strconv.FormatInt(a.next, 10)+"\n")); err != nil {
		return err
	}
	if err := os.Rename(next+".new", next); err != nil {
		return err
	}
	if err := syncFolder(a.dir); err != nil {
		return err
	}
	// The first step renames the folder to a name that no start reads: a partly removed entry would look as if its jobs
	// had never run.
	gone := b.dir + ".gone"
	if err := os.Rename(b.dir, gone); err != nil {
		return err
	}
	a.crashPoint("local.purging")
	b.closeFiles()
	delete(a.bulks, b.ID)
	delete(a.tags, b.Tag)
	i := sort.Search(len(a.order), func(i int) bool { return a.order[i].ID >= b.ID })
	a.order = append(a.order[:i], a.order[i+1:]...)
	a.removing.Go(func() { a.removeFolder(filepath.Base(gone)) })
	return nil
}

// removeFolder removes a folder of the spool. The caller runs it in the background, because it may take long: part of
// the folder belongs to an owner, who may have put any number of files there. The next start of the adapter removes any
// remaining files.
func (a *Adapter) removeFolder(name string) {
	d, err := wary.In(a.dir)
	if err == nil {
		defer d.Close()
		err = d.RemoveAll(name)
	}
	if err != nil {
		a.env.Warn("an old spool entry could not be removed", "path", filepath.Join(a.dir, name), "error", err)
	}
}

// newEntry returns the entry for a bulk.
func newEntry(id int64, now jjm.Time, b adapters.Bulk) entry {
	return entry{
		Version: 1, ID: id, Tag: b.Tag, Owner: b.Owner, Request: b.Request, N: b.N,
		Argv: b.Argv, Dir: b.Dir, Log: b.Log, Submitted: now,
	}
}
